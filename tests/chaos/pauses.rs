//! A process that stands still for a while, as on a machine that swaps, or is moved to another host.

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Authority, BOTH};
use crate::load::{Call, Client, Load};
use crate::replica::Replica;
use crate::scenario::{Size, block_on};

/// Calls wait, and none is lost: neither those that came before the pause, nor those of it.
pub(crate) fn stopped(size: Size) {
    // Not as long as a head or a body may take: half of one would be given up then, when the rest has not come yet.
    let (rounds, pause) = size.of((1, 2), (5, 8));
    block_on(async {
        let authority = Authority::new();
        let replica = Replica::start(&authority, &[]);
        let client = Client::new(authority.client(BOTH), &[replica.serve.address])
            .dialling(20)
            .bounded();
        let client = Arc::new(client);
        let calls = Arc::new([
            Call::learn_known(&client, "patched pod").await,
            Call::learn_known(&client, "padded").await,
        ]);
        let load = Load::start(&client, &(calls as _), 50.0);
        for _ in 0..rounds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            replica.serve.signal("STOP");
            tokio::time::sleep(Duration::from_secs(pause)).await;
            replica.serve.signal("CONT");
            // Until what has waited is answered.
            tokio::time::sleep(Duration::from_secs(pause)).await;
        }
        let tally = load.end().await;
        println!("{rounds} pauses of {pause} s; {tally}");
        tally.must_be_right();
        replica.end();
    });
}
