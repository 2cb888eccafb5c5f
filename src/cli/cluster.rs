//! The flags of `transom serve` that are about the cluster it runs in.

use clap::Args;
use k8s_openapi::jiff::SignedDuration;

/// Where the CA is that replicas share, what is watched, and what is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "In a cluster")]
pub struct ClusterArgs {
    /// Secret that holds our own CA: turns self-managed certificates on
    ///
    /// The first replica fills it, all sign their own short-lived certificates with what is in it, and the CA is put
    /// into the caBundle of the webhook configurations. See certs/README.md.
    #[arg(
        long,
        env = "TRANSOM_CA_SECRET",
        value_name = "NAME",
        requires_all = ["namespace", "service", "webhook_configuration"],
        conflicts_with = "tls_cert_file"
    )]
    pub ca_secret: Option<String>,

    /// Namespace of that Secret and of the Service: Transom's own
    #[arg(long, env = "TRANSOM_NAMESPACE", value_name = "NAME")]
    pub namespace: Option<String>,

    /// Service by which API servers call; the certificate is for its DNS names
    #[arg(long, env = "TRANSOM_SERVICE", value_name = "NAME")]
    pub service: Option<String>,

    /// Name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration that get the caBundle
    ///
    /// As long as there is neither, they are waited for; one of them is enough.
    #[arg(long, env = "TRANSOM_WEBHOOK_CONFIGURATION", value_name = "NAME")]
    pub webhook_configuration: Option<String>,

    /// How long our own CA is valid, such as 8760h; it is replaced when two thirds of that have passed
    ///
    /// At least three times --leaf-lifetime.
    #[arg(
        long,
        env = "TRANSOM_CA_LIFETIME",
        value_name = "DURATION",
        default_value = "8760h",
        value_parser = seconds
    )]
    pub ca_lifetime: i64,

    /// How long a certificate that our own CA has signed is valid; it is replaced when two thirds have passed
    ///
    /// At least 10s. So short a life is for tests.
    #[arg(
        long,
        env = "TRANSOM_LEAF_LIFETIME",
        value_name = "DURATION",
        default_value = "720h",
        value_parser = seconds
    )]
    pub leaf_lifetime: i64,

    /// Watch the labels of namespaces: transom.dev/mode and its like
    ///
    /// Without it, the configuration alone decides. A namespace that is not known yet is asked for, and until there is
    /// an answer it is in mode warn at most.
    #[arg(long, env = "TRANSOM_WATCH_NAMESPACES")]
    pub watch_namespaces: bool,

    /// Watch RuntimeClasses: one with a node selector for an OS is evidence in templates
    ///
    /// Pods need no such knowledge, since the API server merges the node selector into them.
    #[arg(long, env = "TRANSOM_WATCH_RUNTIME_CLASSES")]
    pub watch_runtime_classes: bool,

    /// Watch nodes: which OS a node is for that a pod names, their builds (WIN603), their taints
    ///
    /// With placement.learnTaints of the configuration, the taints that all Windows nodes share are tolerated.
    #[arg(long, env = "TRANSOM_WATCH_NODES")]
    pub watch_nodes: bool,

    /// Tell the owners of pods by Warning events what was refused, or would be if it were new
    ///
    /// Of pods and other objects that controllers make: their users see no answer. An event has the reason
    /// TransomDenied or TransomWarned; nothing is told of a dry run. Takes the right to create and patch
    /// events.events.k8s.io, and sideEffects: NoneOnDryRun in the webhook configurations.
    #[arg(long, env = "TRANSOM_EVENTS")]
    pub events: bool,
}

fn seconds(text: &str) -> Result<i64, String> {
    match text
        .parse::<SignedDuration>()
        .map(|duration| duration.as_secs())
    {
        Ok(seconds) if seconds >= 10 => Ok(seconds),
        Ok(_) => Err("it would always be renewed; give 10s or more, such as 720h".to_owned()),
        Err(error) => Err(format!("{error}; give a duration such as 720h or 90m")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_durations_with_their_unit() {
        assert_eq!(seconds("720h"), Ok(30 * 24 * 60 * 60));
        assert_eq!(seconds("1h30m"), Ok(90 * 60));
        assert_eq!(seconds("10s"), Ok(10));
        for text in ["9s", "0s", "-1h", "720", "soon", ""] {
            let error = seconds(text).unwrap_err();
            assert!(error.contains("; give "), "{text}: {error}");
        }
    }
}
