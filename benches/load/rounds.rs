//! Rounds in which both servers have their turn, and what is made of them.

use serde::Serialize;

use crate::process::{BOTH, Which};

/// One figure of both servers.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) null: f64,
    pub(crate) transom: f64,
    /// The median of the rounds' ratios, Transom's over the null server's.
    pub(crate) ratio: f64,
}

/// What was seen in each round, by server.
#[derive(Default)]
pub(crate) struct Rounds([Vec<f64>; 2]);

impl Rounds {
    pub(crate) fn push(&mut self, which: Which, value: f64) {
        self.0[which as usize].push(value);
    }

    pub(crate) fn figure(&self) -> Figure {
        let [null, transom] = &self.0;
        let ratios = transom
            .iter()
            .zip(null)
            .map(|(transom, null)| transom / null);
        Figure {
            null: median(null.clone()),
            transom: median(transom.clone()),
            ratio: median(ratios.collect()),
        }
    }
}

/// Who has the first turn in this round: the one that comes second has a warmer machine.
pub(crate) fn turns(round: usize) -> [Which; 2] {
    let [first, second] = BOTH;
    match round % 2 {
        0 => [first, second],
        _ => [second, first],
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
