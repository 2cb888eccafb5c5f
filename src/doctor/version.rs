//! The check of the API server's version.

use super::snapshot::known;
use super::{Check, Cluster, Part, Told, fail, ok};

/// matchConditions are stable since then.
const LEAST: (u32, u32) = (1, 30);

pub(super) const KUBERNETES_VERSION: Check = Check {
    name: "kubernetes-version",
    looks_at: "the API server is of Kubernetes 1.30 or later, as `matchConditions` need it",
    helps: "upgrade the cluster",
    needs: &[Part::Version],
    run: kubernetes_version,
};

fn kubernetes_version(cluster: &Cluster) -> Told {
    let version = known(&cluster.version)?;
    // Some clouds write 36+.
    let number = |text: &str| text.trim_end_matches('+').parse::<u32>().ok();
    let (git, least) = (&version.git, format!("{}.{}", LEAST.0, LEAST.1));
    let is_enough = number(&version.major)
        .zip(number(&version.minor))
        .map(|version| version >= LEAST);
    Ok(vec![match is_enough {
        Some(true) => ok(format!("the API server is {git}")),
        Some(false) => fail(
            format!(
                "the API server is {git}: it does not know matchConditions of webhooks, or not all of them"
            ),
            format!("upgrade the cluster to {least} or later"),
        ),
        None => fail(
            format!("the API server tells its version as {git:?}"),
            format!("see whether it is {least} or later: kubectl version"),
        ),
    }])
}
