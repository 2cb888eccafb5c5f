//! Configuration files that are swapped under a running server, valid and invalid ones.

use std::fs;
use std::sync::Arc;

use futures_util::future::join_all;

use crate::client::{Authority, BOTH};
use crate::load::{Answered, Call, Client, Load};
use crate::mount::mount;
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

const TAKEN: &str = "transom_config_reloads_total{result=\"success\"}";
const REFUSED: &str = "transom_config_reloads_total{result=\"failure\"}";

/// Each of them answers a flawed Deployment in another way.
const MODES: [&str; 2] = ["enforce", "audit"];

fn text(mode: &str, turn: usize) -> String {
    format!("# {turn}\napiVersion: transom.dev/v1alpha1\nkind: Config\nmode: {mode}\n")
}

/// Several servers at a time, as each looks at its file every two seconds.
pub(crate) fn swapped(size: Size) {
    let (servers, swaps, rate) = size.of((4, 2, 30.0), (10, 100, 300.0));
    block_on(async {
        let authority = Authority::new();
        let mounts: Vec<_> = (0..servers).map(|_| tempfile::tempdir().unwrap()).collect();
        let mut replicas = Vec::new();
        for directory in &mounts {
            mount(directory.path(), &[("config.yaml", &text(MODES[0], 0))]);
            let file = directory.path().join("config.yaml");
            let flags = ["--config", file.to_str().unwrap()];
            replicas.push(Replica::start(&authority, &flags));
        }
        let addresses: Vec<_> = replicas.iter().map(|one| one.serve.address).collect();
        let client = Arc::new(
            Client::new(authority.client(BOTH), &addresses)
                .dialling(20)
                .bounded(),
        );

        // What each mode answers, of a server of its own.
        let mut either = None;
        let mut answers = Vec::new();
        for mode in MODES {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("config.yaml");
            fs::write(&file, text(mode, 0)).unwrap();
            let one = Replica::start(&authority, &["--config", file.to_str().unwrap()]);
            let direct = Client::new(authority.client(BOTH), &[one.serve.address]);
            answers.push(Call::learn_known(&direct, "denied Deployment").await);
            match &mut either {
                None => either = Some(Call::learn_known(&direct, "denied Deployment").await),
                Some(call) => call.learn_another(&direct).await,
            }
        }
        let calls: Arc<[Call]> = Arc::new([either.unwrap()]);
        let load = Load::start(&client, &calls, rate);

        let all = replicas
            .iter()
            .zip(&mounts)
            .map(async |(replica, directory)| {
                let direct = Client::new(authority.client(BOTH), &[replica.serve.address]);
                {
                    let [mut taken, mut refused] = [0, 0];
                    for swap in 1..=swaps {
                        let path = directory.path();
                        let (old, new) = (MODES[(swap + 1) % 2], MODES[swap % 2]);
                        let good = text(new, swap);
                        let bad = match swap % 4 {
                            0 => Some(good.replace("mode", "mdoe")),
                            // In the middle of the last line.
                            1 => Some(good[..good.len() - 3].to_owned()),
                            2 => Some(String::new()),
                            _ => None,
                        };
                        if let Some(bad) = bad {
                            // Half a file is what somebody writes who does not swap.
                            match swap % 4 {
                                0 => mount(path, &[("config.yaml", &bad)]),
                                _ => fs::write(path.join("config.yaml"), &bad).unwrap(),
                            }
                            refused += 1;
                            replica.becomes(REFUSED, refused).await;
                            let kept = &answers[(swap + 1) % 2];
                            assert_eq!(direct.call(kept).await, Ok(Answered::Right), "{old}");
                        }
                        mount(path, &[("config.yaml", &good)]);
                        taken += 1;
                        replica.becomes(TAKEN, taken).await;
                        let now = &answers[swap % 2];
                        assert_eq!(direct.call(now).await, Ok(Answered::Right), "{new}");
                    }
                    refused
                }
            });
        let refused: u64 = join_all(all).await.iter().sum();
        let tally = load.end().await;
        println!(
            "{} swaps taken, {refused} bad files refused, by {servers} servers",
            servers * swaps
        );
        println!("{tally}");
        tally.must_be_right();
    });
}
