//! Certificates that are swapped under a running server, good and bad ones.

use std::fs;
use std::sync::Arc;

use futures_util::future::join_all;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::client::{Authority, BOTH, connect};
use crate::load::{Call, Client, Load};
use crate::mount::mount;
use crate::replica::{Replica, mount_pair};
use crate::scenario::{Size, block_on};

const TAKEN: &str = "transom_certificate_reloads_total{result=\"success\"}";
const REFUSED: &str = "transom_certificate_reloads_total{result=\"failure\"}";

/// What comes before a good pair.
#[derive(Clone, Copy, Debug)]
enum Before {
    Nothing,
    /// The certificate's file is cut in the middle.
    Half,
    /// The new certificate with the old key.
    Mismatched,
    Expired,
}

/// Several servers at a time, as each looks at its files every two seconds.
pub(crate) fn swapped(size: Size) {
    let (servers, swaps, rate) = size.of((5, 1, 30.0), (10, 100, 300.0));
    block_on(async {
        let authority = Authority::new();
        let replicas: Vec<_> = (0..servers)
            .map(|_| Replica::start(&authority, &[]))
            .collect();
        let addresses: Vec<_> = replicas.iter().map(|one| one.serve.address).collect();
        let client = Client::new(authority.client(BOTH), &addresses)
            .dialling(3)
            .bounded();
        let client = Arc::new(client);
        let calls = Arc::new([Call::learn_known(&client, "patched pod").await]);
        let load = Load::start(&client, &(calls as _), rate);
        let all = replicas.iter().enumerate().map(async |(number, replica)| {
            let mut refused = 0;
            for swap in 0..swaps {
                refused += swap_once(replica, &authority, number + swap, swap + 1).await;
            }
            assert_eq!(replica.metric(REFUSED).await, refused);
            assert_eq!(replica.metric(TAKEN).await as usize, swaps);
            refused
        });
        let refused: u64 = join_all(all).await.iter().sum();
        let tally = load.end().await;
        println!(
            "{} swaps taken, {refused} bad pairs refused, by {servers} servers",
            servers * swaps
        );
        println!(
            "{} connections; {tally}",
            client.dialled.load(std::sync::atomic::Ordering::Relaxed)
        );
        tally.must_be_right();
    });
}

/// Swaps the pair until the new one is shown; how many bad ones came before.
async fn swap_once(replica: &Replica, authority: &Authority, turn: usize, taken: usize) -> u64 {
    let secret = replica.secret.path();
    let before = [
        Before::Nothing,
        Before::Half,
        Before::Mismatched,
        Before::Nothing,
        Before::Expired,
    ];
    let before = before[turn % before.len()];
    let new = match turn % 2 {
        0 => authority.leaf(),
        _ => authority.rsa_leaf(),
    };
    let refused = replica.metric(REFUSED).await;
    match before {
        Before::Nothing => {}
        Before::Half => fs::write(secret.join("tls.crt"), &new.0[..new.0.len() / 2]).unwrap(),
        Before::Mismatched => {
            let key = fs::read_to_string(secret.join("tls.key")).unwrap();
            // An RSA key is always the same one.
            let other = authority.leaf();
            mount(secret, &[("tls.crt", &other.0), ("tls.key", &key)]);
        }
        Before::Expired => mount_pair(secret, &authority.expired_leaf()),
    }
    let bad = u64::from(!matches!(before, Before::Nothing));
    replica.becomes(REFUSED, refused + bad).await;
    mount_pair(secret, &new);
    replica.becomes(TAKEN, taken as u64).await;
    let shaken = connect(replica.serve.address, "localhost", authority.client(BOTH)).await;
    let shaken = shaken.unwrap();
    let shown = &shaken.get_ref().1.peer_certificates().unwrap()[0];
    assert_eq!(
        *shown,
        CertificateDer::from_pem_slice(new.0.as_bytes()).unwrap()
    );
    bad
}
