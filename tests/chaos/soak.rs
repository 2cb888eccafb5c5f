//! Calls of all sizes at a steady rate, for long: no errors, and nothing that grows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::{Authority, BOTH};
use crate::load::{Call, Client, Load};
use crate::proc;
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// How many of a hundred calls have which body.
const MIX: [(&str, usize); 8] = [
    ("allowed pod", 20),
    ("patched pod", 20),
    ("Linux pod", 20),
    ("denied Deployment", 10),
    ("UPDATE of a pod", 15),
    ("6 containers", 10),
    ("146 containers", 4),
    ("1 MB of containers", 1),
];

/// What `just soak MINUTES RATE` says.
fn setting(name: &str, default: u32) -> u32 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

pub(crate) fn soak(size: Size) {
    let (time, rate, sampled) = size.of(
        (3, 100, 1),
        (
            setting("SOAK_MINUTES", 30) * 60,
            setting("SOAK_RATE", 1000),
            10,
        ),
    );
    let time = Duration::from_secs(time.into());
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, &[]);
        let client = Client::new(authority.client(BOTH), &[replica.serve.address]);
        let client = Arc::new(client.dialling(10_000).bounded());
        let mut calls = Vec::new();
        for (name, count) in MIX {
            for _ in 0..count {
                calls.push(Call::learn_known(&client, name).await);
            }
        }
        let bytes: usize = calls.iter().map(|call| call.body.len()).sum();
        let idle = proc::kilobytes(replica.id(), "VmRSS").unwrap();
        let load = Load::start(&client, &calls.into(), rate.into());
        let (began, cpu) = (Instant::now(), proc::cpu(replica.id()));
        let mut samples = Vec::new();
        while began.elapsed() < time {
            tokio::time::sleep(Duration::from_secs(sampled)).await;
            let rss = proc::kilobytes(replica.id(), "VmRSS").unwrap();
            let hours = began.elapsed().as_secs_f64() / 3600.0;
            samples.push((hours, rss as f64, proc::descriptors(replica.id()) as f64));
        }
        let cpu = proc::cpu(replica.id()) - cpu;
        let tally = load.end().await;
        println!(
            "{rate} calls a second for {:.1} minutes, {:.1} kB on average, {} connections: {tally}",
            began.elapsed().as_secs_f64() / 60.0,
            bytes as f64 / 100_000.0,
            client.dialled.load(std::sync::atomic::Ordering::Relaxed),
        );
        println!(
            "idle {idle} kB; CPU of the server: {:.0} s",
            cpu.as_secs_f64()
        );
        told(
            "RSS in kB",
            samples.iter().map(|&(hours, rss, _)| (hours, rss)),
        );
        told(
            "descriptors",
            samples.iter().map(|&(hours, _, open)| (hours, open)),
        );
        tally.must_be_right();
        replica.end();
    });
}

/// First, last and most of what was sampled, and how much it grows in an hour, by least squares.
fn told(name: &str, samples: impl Iterator<Item = (f64, f64)>) {
    let all: Vec<_> = samples.collect();
    let most = all.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    println!(
        "{name}, {} samples: first {:.0}, last {:.0}, most {most:.0}; {:+.1} an hour, {:+.1} in the second half",
        all.len(),
        all[0].1,
        all[all.len() - 1].1,
        slope(&all),
        slope(&all[all.len() / 2..]),
    );
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over = points.iter().map(|point| (point.0 - x) * (point.1 - y));
    let under = points.iter().map(|point| (point.0 - x).powi(2));
    over.sum::<f64>() / under.sum::<f64>()
}
