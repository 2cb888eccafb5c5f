//! `transom serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::Targets;

use super::{ClusterArgs, ProfileArg};

/// Flags of `transom serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Address and port for /mutate and /validate (HTTPS); port 0 takes a free one
    ///
    /// For IPv6 write brackets: `[::]:8443`.
    #[arg(
        long,
        env = "TRANSOM_BIND",
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8443"
    )]
    pub bind: SocketAddr,

    /// Address and port for /livez, /readyz, /metrics and /version (plain HTTP)
    ///
    /// Anybody who reaches it can read the metrics: keep it inside the cluster.
    #[arg(
        long,
        env = "TRANSOM_ADMIN_BIND",
        value_name = "ADDRESS",
        default_value = "0.0.0.0:8080"
    )]
    pub admin_bind: SocketAddr,

    /// Configuration file (YAML, apiVersion transom.dev/v1alpha1, kind Config); without it, the defaults
    ///
    /// Read again when its bytes change; one that is not valid is refused and the old one is kept.
    #[arg(long, env = "TRANSOM_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The profile.
    #[command(flatten)]
    pub profile: ProfileArg,

    /// Certificate chain to serve (PEM, leaf first), such as tls.crt of a mounted Secret
    ///
    /// Read again when its bytes change; a pair that does not match is refused and the old one is kept.
    #[arg(
        long,
        env = "TRANSOM_TLS_CERT_FILE",
        value_name = "FILE",
        requires = "tls_private_key_file"
    )]
    pub tls_cert_file: Option<PathBuf>,

    /// Private key of that certificate (PEM: PKCS#8, SEC1 or PKCS#1), such as tls.key
    #[arg(
        long,
        env = "TRANSOM_TLS_PRIVATE_KEY_FILE",
        value_name = "FILE",
        requires = "tls_cert_file"
    )]
    pub tls_private_key_file: Option<PathBuf>,

    /// CA certificates of clients (PEM): only who presents a certificate of one of them gets in (mTLS)
    ///
    /// Read again when its bytes change, like the serving pair. An API server presents a certificate only if
    /// its --admission-control-config-file says so; see certs/README.md. The admin port stays open to all.
    #[arg(long, env = "TRANSOM_TLS_CLIENT_CA_FILE", value_name = "FILE")]
    pub tls_client_ca_file: Option<PathBuf>,

    /// How log lines look; they go to stderr
    #[arg(
        long,
        env = "TRANSOM_LOG_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub log_format: LogFormat,

    /// What is logged: a level, or levels by module, such as info,transom=debug
    ///
    /// Levels: error, warn, info, debug, trace, off.
    #[arg(
        long,
        env = "TRANSOM_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
    )]
    pub log_level: Targets,

    /// Seconds to go on answering after SIGTERM, while /readyz already fails
    ///
    /// Longer than it takes until no API server sends anything here any more; together with 10 s for the
    /// requests in flight it must stay below the pod's terminationGracePeriodSeconds (30 by default).
    #[arg(
        long,
        env = "TRANSOM_DRAIN_SECONDS",
        value_name = "SECONDS",
        default_value_t = 15
    )]
    pub drain_seconds: u64,

    /// Largest review that is read, in bytes; a larger one is answered 413
    ///
    /// The default is 7 MiB: an object has at most 3 MiB and an UPDATE carries two of them.
    #[arg(
        long,
        env = "TRANSOM_MAX_BODY_BYTES",
        value_name = "BYTES",
        default_value_t = 7_340_032,
        value_parser = bytes
    )]
    pub max_body_bytes: usize,

    /// Most bytes of reviews that are being read or answered at a time; above it, the answer is 503
    ///
    /// With Retry-After, so that the API server tries again within the webhook's timeout. At least
    /// --max-body-bytes. The default is 64 MiB.
    #[arg(
        long,
        env = "TRANSOM_MAX_INFLIGHT_BYTES",
        value_name = "BYTES",
        default_value_t = 67_108_864
    )]
    pub max_inflight_bytes: usize,

    /// Most connections to /mutate and /validate at a time; above it, an idle one is closed for each new one
    ///
    /// Half-open ones go first, then the one that is idle longest, after a second at the earliest; while there is
    /// none, new ones wait. Each takes a file descriptor: where the operating system allows fewer, fewer are served, and
    /// the log says so. The admin port has a limit of its own.
    #[arg(
        long,
        env = "TRANSOM_MAX_CONNECTIONS",
        value_name = "N",
        default_value_t = 1024,
        value_parser = connections
    )]
    pub max_connections: u32,

    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

fn bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("no review is that small; give a number such as 7340032".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}; give a number such as 7340032")),
    }
}

fn connections(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("with no connection nothing could be answered; give 1 or more".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}; give a number such as 1024")),
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One readable line an event
    #[default]
    Plain,
    /// One JSON object a line
    Json,
}
