//! The rotation of the CA as a pure function: what is in the Secret, what is known, the time → what to write.
//!
//! There is no clock here, no Secret and no API server: `cluster::certs` asks, again and again, and does what
//! it is told. All replicas ask the same question of the same Secret, so they come to the same answer, and
//! the Secret's resourceVersion decides who writes it.
//!
//! ```text
//! nothing ──Created──► ca ──Introduced──► ca + next ──Promoted──► next as ca, the old one's
//!                      ▲                  (both trusted)          certificate as previous
//!                      └────────────────Pruned─────────────────── until it has expired
//! ```
//!
//! A leaf is signed by `ca` alone. `next` is promoted when the API servers have had its certificate for a
//! while, and a former CA is trusted until it has expired, so that at no time a leaf is shown that an API
//! server does not trust.

use crate::authority::{Authority, Certificate};

/// How long CAs and leafs live, in seconds. Both are replaced when two thirds of that have passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Of a CA.
    pub ca: i64,
    /// Of a leaf.
    pub leaf: i64,
}

/// What the Secret holds once it is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Signs the leafs.
    pub ca: Authority,
    /// Will sign them; until then it is only trusted.
    pub next: Option<Authority>,
    /// Have signed some that may still be shown.
    pub previous: Vec<Certificate>,
}

/// Why the Secret is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It held no CA that can be used, and there was none in memory.
    Created,
    /// It held none, or something that is none besides; what is in memory or was readable is written back.
    Restored,
    /// Somebody has put another CA in; the one before stays trusted.
    Remembered,
    /// Two thirds of the CA's life have passed: another one is to be trusted from now on.
    Introduced,
    /// The API servers trust it by now: it signs from now on.
    Promoted,
    /// A former CA has expired and needs not be trusted any longer.
    Pruned,
}

/// What is known when the question is asked.
#[derive(Clone, Copy, Debug)]
pub struct Known<'k> {
    /// What the Secret holds; `None` if that is no CA.
    pub found: Option<&'k Contents>,
    /// Whether there is something in the Secret, too, that is not understood.
    pub flawed: bool,
    /// What this replica held when it was last asked.
    pub memory: Option<&'k Contents>,
    /// Whether the API servers have had the certificates of `found` for long enough to trust them.
    pub settled: bool,
    /// In seconds since 1970.
    pub now: i64,
}

/// The leaf that is being shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The CA that has signed it.
    pub issuer: Certificate,
    /// Since when it is valid, in seconds since 1970.
    pub not_before: i64,
    /// When it expires, in seconds since 1970.
    pub not_after: i64,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::Created,
        Self::Restored,
        Self::Remembered,
        Self::Introduced,
        Self::Promoted,
        Self::Pruned,
    ];

    /// In lower case, for logs and labels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Restored => "restored",
            Self::Remembered => "remembered",
            Self::Introduced => "introduced",
            Self::Promoted => "promoted",
            Self::Pruned => "pruned",
        }
    }
}

impl Lifetimes {
    /// A year and thirty days.
    pub const DEFAULT: Self = Self {
        ca: 365 * 24 * 60 * 60,
        leaf: 30 * 24 * 60 * 60,
    };

    /// How long the webhook configurations must have held a CA before a leaf of it is shown, in seconds.
    ///
    /// API servers watch these objects and are late by milliseconds; a minute is for those that have lost
    /// their watch. CAs that live for less than an hour cannot wait that long.
    #[must_use]
    pub fn settling(self) -> i64 {
        (self.ca / 60).clamp(2, 60)
    }

    /// How often to look at all of it though nothing has happened, in seconds.
    #[must_use]
    pub fn poll(self) -> u64 {
        (self.leaf / 30).clamp(1, 60).unsigned_abs()
    }

    /// One that somebody has brought may live shorter than those that are made here: its own two thirds count then.
    fn ca_is_due(self, ca: &Certificate, now: i64) -> bool {
        Self::is_due(self.ca.min(ca.lifetime()), ca.not_after(), now)
    }

    fn is_due(lifetime: i64, not_after: i64, now: i64) -> bool {
        now >= not_after - lifetime / 3
    }
}

impl Contents {
    /// A CA and nothing else.
    #[must_use]
    pub fn of(ca: Authority) -> Self {
        Self {
            ca,
            next: None,
            previous: Vec::new(),
        }
    }

    /// All that is to be trusted, in an order that a promotion does not change.
    #[must_use]
    pub fn bundle(&self) -> String {
        let mut all: Vec<_> = self.certificates().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(Certificate::pem).collect()
    }

    fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        let signers = [Some(&self.ca), self.next.as_ref()];
        let signers = signers.into_iter().flatten().map(Authority::certificate);
        signers.chain(&self.previous)
    }

    fn promoted(&self, next: Authority) -> Self {
        let former = self.ca.certificate().clone();
        Self {
            ca: next,
            next: None,
            previous: self.previous.iter().cloned().chain([former]).collect(),
        }
    }
}

/// What to write into the Secret, if anything, and why. Asked again until there is nothing: a step does one
/// thing. `make` makes a new CA.
///
/// # Errors
/// Those of `make`.
pub fn step<E>(
    known: Known<'_>,
    lifetimes: Lifetimes,
    make: impl FnOnce() -> Result<Authority, E>,
) -> Result<Option<(Contents, Cause)>, E> {
    let Known {
        found,
        flawed,
        memory,
        settled,
        now,
    } = known;
    let is_alive = |certificate: &Certificate| now < certificate.not_after();
    let is_usable = |contents: &&Contents| is_alive(contents.ca.certificate());
    let memory = memory.filter(is_usable);
    let Some(found) = found.filter(is_usable) else {
        // It may have slept through its own rotation.
        let next = found.and_then(|found| Some((found, found.next.clone()?)));
        if let Some((found, next)) = next.filter(|(_, next)| is_alive(next.certificate())) {
            return Ok(Some((found.promoted(next), Cause::Promoted)));
        }
        return Ok(Some(match memory {
            Some(memory) => (memory.clone(), Cause::Restored),
            None => (Contents::of(make()?), Cause::Created),
        }));
    };
    let mut contents = found.clone();
    let stranger = memory.map(|memory| memory.ca.certificate());
    let stranger = stranger.filter(|ca| found.certificates().all(|known| known != *ca));
    let cause = if let Some(ca) = stranger {
        contents.previous.push(ca.clone());
        Cause::Remembered
    } else if found.previous.iter().any(|former| !is_alive(former)) {
        contents.previous.retain(is_alive);
        Cause::Pruned
    } else if let Some(next) = found.next.clone().filter(|_| settled) {
        contents = found.promoted(next);
        Cause::Promoted
    } else if found.next.is_none() && lifetimes.ca_is_due(found.ca.certificate(), now) {
        contents.next = Some(make()?);
        Cause::Introduced
    } else if flawed {
        Cause::Restored
    } else {
        return Ok(None);
    };
    Ok(Some((contents, cause)))
}

/// Whether a new leaf is to be signed by this CA now. `settled` as in [`Known`].
#[must_use]
pub fn leaf_is_due(
    leaf: Option<&Leaf>,
    ca: &Certificate,
    settled: bool,
    now: i64,
    lifetimes: Lifetimes,
) -> bool {
    let Some(leaf) = leaf else {
        return true;
    };
    // The clock was far ahead when it was made.
    if now < leaf.not_before {
        return true;
    }
    if leaf.issuer != *ca {
        // One that nobody trusts any more cannot get worse.
        return settled || now >= leaf.not_after;
    }
    // One that ends with its CA would be no longer the second time.
    leaf.not_after < ca.not_after() && Lifetimes::is_due(lifetimes.leaf, leaf.not_after, now)
}

#[cfg(test)]
mod tests;
