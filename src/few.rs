//! Lists of names that stay short.

use std::fmt::{self, Display, Formatter};

/// Some names, and how many there are besides: `a, b and 12 more`.
pub(crate) struct Few<'n, T>(pub(crate) &'n [T]);

impl<T: Display> Display for Few<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        for (i, name) in self.0.iter().take(SHOWN).enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name}")?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
