//! The configuration in force: what a file's bytes come to, at start and whenever they change.
//!
//! Not here: reading the file, and looking whether it has changed (`server::watch`).

use std::sync::Arc;

use anyhow::{Result, anyhow};
use ring::digest::{SHA256, digest};

use super::WebhookState;
use crate::config::{ConfigError, ProfileName, Written};
use crate::metrics::Metrics;
use crate::policy::Policy;

impl WebhookState {
    /// A webhook with the configuration of a file (its name and bytes), or else with the defaults.
    /// A profile wins over the file's, now and whenever the file changes.
    ///
    /// # Errors
    /// What is not understood to the letter, with its places.
    pub fn configured(
        file: Option<(&str, &[u8])>,
        profile: Option<ProfileName>,
        metrics: Arc<Metrics>,
    ) -> Result<Self> {
        let Some((name, bytes)) = file else {
            let mut written = Written::default();
            written.config.profile = profile.unwrap_or_default();
            let policy = Policy::of(&written)?;
            return Ok(Self {
                profile,
                ..Self::new(policy, metrics)
            });
        };
        let policy = policy(bytes, profile).map_err(|error| {
            let report = error.report(name, &String::from_utf8_lossy(bytes));
            anyhow!("the configuration cannot be used\n{}", report.trim_end())
        })?;
        metrics.config_in_force(&hash(bytes));
        Ok(Self {
            profile,
            ..Self::new(policy, metrics)
        })
    }

    /// Takes what the configuration file holds now. What is not understood is refused, and the
    /// old policy stays.
    ///
    /// # Errors
    /// Why it was refused, in one line.
    pub fn reload(&self, bytes: &[u8]) -> Result<()> {
        let policy = policy(bytes, self.profile).map_err(|error| anyhow!(error.line()))?;
        let hash = hash(bytes);
        self.policy.store(Arc::new(policy));
        self.metrics.config_in_force(&hash);
        tracing::info!(hash, "the configuration has changed and is in force");
        self.tell_what_is_learnt();
        Ok(())
    }
}

/// What a configuration file's bytes come to.
fn policy(bytes: &[u8], profile: Option<ProfileName>) -> Result<Policy, ConfigError> {
    let mut written = Written::from_bytes(bytes)?;
    written.config.profile = profile.unwrap_or(written.config.profile);
    Policy::of(&written)
}

/// Enough of SHA-256 to tell two configurations apart; what `sha256sum` prints starts with it.
fn hash(bytes: &[u8]) -> String {
    let hash = digest(&SHA256, bytes);
    let start = hash.as_ref().iter().take(6);
    start.map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
