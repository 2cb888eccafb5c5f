//! `transom probe`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `transom probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// Name of the MutatingWebhookConfiguration and ValidatingWebhookConfiguration to follow, as the API server does
    ///
    /// They are read through the Kubernetes API: with the kubeconfig, or in a pod with its ServiceAccount.
    #[arg(
        long,
        env = "TRANSOM_WEBHOOK_CONFIGURATION",
        value_name = "NAME",
        required_unless_present = "url"
    )]
    pub webhook_configuration: Option<String>,

    /// Connect to this instead of the Service's DNS name, such as the end of a port-forward
    ///
    /// The certificate must be for the Service all the same.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "url")]
    pub connect_to: Option<String>,

    /// Ask /mutate and /validate here, without any cluster
    #[arg(
        long,
        value_name = "https://HOST:PORT",
        requires = "ca_file",
        conflicts_with = "webhook_configuration"
    )]
    pub url: Option<String>,

    /// CA certificates (PEM) to trust with --url, and no others
    #[arg(long, value_name = "FILE", requires = "url")]
    pub ca_file: Option<PathBuf>,

    /// The configuration's mode is `off`: reviews are answered, and nothing is to be seen in the answers
    #[arg(long)]
    pub off: bool,

    /// Clients must present a certificate, and this one has none: it has to be turned away, after it has seen a
    /// certificate that it trusts
    #[arg(long, conflicts_with = "off")]
    pub client_certificate_required: bool,
}
