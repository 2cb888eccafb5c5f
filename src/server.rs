//! The server: two listeners, what they are bounded by, and how they end.
//!
//! It carries bytes to [`crate::webhook::answer`] and never looks into them. `main` binds it and runs it;
//! tests do the same with port 0, or call [`router`] without any socket.
//!
//! ```text
//! accept ─ connection::accept_forever   a task for each connection
//!   places    as many as Limits::connections, and which one is evicted for another
//!   tls       handshake; clients: who gets in
//!   guard     what a connection is doing, for how long it may, and when it may be evicted
//!   router    method, path, Content-Type, panic;  body  its size and time;  budget  all bodies together
//!     webhook::answer
//! watch       files that change underneath;  tls::reload  what TLS takes from them
//! ```

use std::future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::metrics::Metrics;
use crate::webhook::WebhookState;

pub mod admin;
mod banner;
mod body;
mod budget;
mod buffer;
pub mod certs;
mod connection;
pub mod descriptors;
mod guard;
mod listen;
mod places;
mod router;
pub mod signals;
pub mod tls;
pub mod watch;

pub use admin::{Condition, Health};
use connection::failures::Failures;
use connection::{Gate, Transport};
use listen::listen;
pub use router::{AppState, router};
use tls::Tls;
use tls::reload::{self, PairFiles};

/// How `transom serve` was asked to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where reviews are answered, over HTTPS.
    pub bind: SocketAddr,
    /// Where health and metrics are, over plain HTTP.
    pub admin_bind: SocketAddr,
    /// Where the certificate comes from.
    pub tls: TlsSource,
    /// CA certificates, PEM: only their clients get in. Without, everybody.
    pub client_ca: Option<PathBuf>,
    /// How often to look whether files have changed.
    pub poll: Duration,
    /// How long to go on answering after the first signal.
    pub drain: Duration,
    /// What bounds connections and bodies.
    pub limits: Limits,
}

/// Where the serving certificate comes from.
#[derive(Clone, Debug)]
pub enum TlsSource {
    /// Two PEM files, read again when they change.
    Files(PairFiles),
    /// A CA made in memory for this run.
    ThrowAway {
        /// Where its certificate is written, for clients.
        ca_file: PathBuf,
    },
    /// Somebody shows one later, by [`Server::tls`]; see [`Server::after`].
    Later,
}

/// How long a connection to the admin listener may rest: a kubelet dials anew for each probe, and
/// whoever holds idle connections must not keep it out.
const PROBE_IDLE: Duration = Duration::from_secs(5);

/// How many connections the admin listener serves at a time, however many there are for reviews.
const PROBES: u32 = 64;

/// How long a connection to the admin listener may be stuck or idle while others wait: a kubelet sends its request with
/// the end of the handshake, and is within the node. So a client takes `PROBES` connections 20 times a second to keep
/// probes waiting.
const PROBE_PATIENCE: Duration = Duration::from_millis(50);

/// What keeps one client, or many, from taking the server away from the others.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body in bytes.
    pub body_bytes: usize,
    /// The bytes of all bodies that are being read or answered at a time.
    pub inflight_bytes: usize,
    /// How long a body may take to arrive.
    pub body: Duration,
    /// How long a TLS handshake may take.
    pub handshake: Duration,
    /// How long a request's head may take, from its first byte.
    pub head: Duration,
    /// How long a connection may rest between requests. The API server keeps its own for 90 s and does
    /// not retry a POST when it finds one closed, so this must be longer.
    pub idle: Duration,
    /// How many connections are served at a time. Above it, one that is stuck or idle for longer than `patience` is
    /// evicted for each new one; while there is none, new ones wait.
    pub connections: u32,
    /// How long a connection may be stuck (half open, with a body that does not come, with a response that is not
    /// read) or idle once its slot or its bytes are needed.
    pub patience: Duration,
    /// How long requests in flight may take once the server is closing.
    pub closing: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 7 * 1024 * 1024,
            inflight_bytes: 64 * 1024 * 1024,
            body: Duration::from_secs(10),
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(180),
            connections: 1024,
            patience: Duration::from_secs(1),
            closing: Duration::from_secs(10),
        }
    }
}

impl Limits {
    fn check(&self) -> Result<()> {
        ensure!(
            self.inflight_bytes >= self.body_bytes,
            "--max-inflight-bytes {} is less than --max-body-bytes {}: the largest review could never be \
             read; raise the one or lower the other",
            self.inflight_bytes,
            self.body_bytes
        );
        Ok(())
    }
}

/// Both listeners, bound, with the certificate loaded; nothing is accepted before [`Server::run`].
pub struct Server {
    webhook: TcpListener,
    address: SocketAddr,
    admin: TcpListener,
    admin_address: SocketAddr,
    tls: Arc<Tls>,
    state: AppState,
    health: Arc<Health>,
    drain: Duration,
    prepared: BoxFuture<'static, ()>,
    /// They live as long as this server and its run: a dropped JoinSet ends its tasks.
    tasks: JoinSet<()>,
}

impl Server {
    /// Takes both ports and loads or makes the certificate.
    ///
    /// # Errors
    /// Limits that contradict each other, a port that is taken, a certificate or a client CA that cannot be
    /// read or used, a CA file that cannot be written.
    pub async fn bind(
        options: Options,
        webhook: Arc<WebhookState>,
        metrics: Arc<Metrics>,
    ) -> Result<Self> {
        let Options {
            bind,
            admin_bind,
            tls,
            client_ca,
            poll,
            drain,
            limits,
        } = options;
        limits.check()?;
        let clients = client_ca.map(reload::load_client_ca).transpose()?;
        let (clients, client_ca) = clients.unzip();
        let (webhook_listener, address) = listen(bind, "--bind")?;
        let (admin, admin_address) = listen(admin_bind, "--admin-bind")?;
        // Only now: a second `transom serve` that finds its port taken must not replace the first's CA.
        let (identity, pair) = match tls {
            TlsSource::Files(files) => {
                let (identity, pair) = reload::load_pair(files, &metrics)?;
                (Some(identity), Some(pair))
            }
            TlsSource::ThrowAway { ca_file } => {
                let (ca, identity) = certs::throw_away().context("cannot make a certificate")?;
                certs::write_ca(&ca_file, &ca)?;
                metrics.certificate_expiry(identity.not_after());
                banner::print(address, admin_address, &ca_file, clients.is_some());
                (Some(identity), None)
            }
            TlsSource::Later => (None, None),
        };
        let tls = Arc::new(Tls::new(identity, clients.as_ref())?);
        let mut server = Self {
            webhook: webhook_listener,
            address,
            admin,
            admin_address,
            tls: Arc::clone(&tls),
            state: AppState {
                webhook,
                metrics: Arc::clone(&metrics),
                limits,
            },
            health: Arc::new(Health::default()),
            drain,
            prepared: future::ready(()).boxed(),
            tasks: JoinSet::new(),
        };
        if let Some(pair) = pair {
            let (tls, metrics) = (Arc::clone(&tls), Arc::clone(&metrics));
            server = server.with(reload::keep_pair(pair, poll, tls, metrics));
        }
        if let Some(ca) = client_ca {
            server = server.with(reload::keep_client_ca(ca, poll, tls, metrics));
        }
        Ok(server)
    }

    /// Does this, too, for as long as the server lives, such as looking at a file: [`watch::Watched::run`].
    #[must_use]
    pub fn with(mut self, task: impl Future<Output = ()> + Send + 'static) -> Self {
        self.tasks.spawn(task);
        self
    }

    /// Accepts reviews, and says that it is ready, only when this is done. Health and metrics do not wait.
    #[must_use]
    pub fn after(mut self, prepared: impl Future<Output = ()> + Send + 'static) -> Self {
        self.prepared = prepared.boxed();
        self
    }

    /// Where another certificate can be shown.
    #[must_use]
    pub fn tls(&self) -> Arc<Tls> {
        Arc::clone(&self.tls)
    }

    /// What `/readyz` tells.
    #[must_use]
    pub fn health(&self) -> Arc<Health> {
        Arc::clone(&self.health)
    }

    /// Where reviews are answered, with the port that was really taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where health and metrics are, with the port that was really taken.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.admin_address
    }

    /// Accepts until the first signal, drains, and returns once the last connection has ended.
    ///
    /// `signals` carries the names of signals; a closed channel counts as one.
    ///
    /// # Errors
    /// A second signal, which ends everything at once.
    pub async fn run(self, mut signals: mpsc::Receiver<&'static str>) -> Result<()> {
        let Self {
            webhook,
            address,
            admin,
            admin_address,
            tls,
            state,
            health,
            drain,
            prepared,
            mut tasks,
        } = self;
        let (metrics, limits) = (Arc::clone(&state.metrics), state.limits);
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let reviews = Gate::new(
            Transport::Tls(tls, Failures::new(Arc::clone(&metrics))),
            router(state),
            limits,
            Arc::clone(&health),
            Arc::clone(&metrics),
            stopped,
        );
        // Probed and scraped to the very end: it stops when this call does.
        let (_open, ended) = tokio::sync::watch::channel(false);
        let probes = Gate::new(
            Transport::Plain,
            admin::router(Arc::clone(&health), Arc::clone(&metrics)),
            admin_limits(limits),
            Arc::clone(&health),
            metrics,
            ended,
        );

        tasks.spawn(probes.accept_forever(admin));
        tokio::select! {
            () = prepared => {}
            signal = signals.recv() => {
                let signal = signal.unwrap_or("the end of the caller");
                tracing::info!("{signal}: ending before anything was served");
                return Ok(());
            }
        }
        tasks.spawn(Arc::clone(&reviews).accept_forever(webhook));
        health.ready();
        tracing::info!(%address, %admin_address, "ready: accepting admission reviews");

        let signal = signals.recv().await.unwrap_or("the end of the caller");
        health.drain();
        let seconds = drain.as_secs();
        tracing::info!("{signal}: /readyz fails now, answering for {seconds} s more");
        unless_aborted(&mut signals, tokio::time::sleep(drain)).await?;

        tracing::info!("closing: no new connections, idle ones close, requests in flight finish");
        stop.send_replace(true);
        let ended = tokio::time::timeout(limits.closing, reviews.ended());
        match unless_aborted(&mut signals, ended).await? {
            Ok(()) => tracing::info!("closed: every request in flight was answered"),
            Err(_) => tracing::warn!(
                "closed with requests in flight: they took longer than {} s",
                limits.closing.as_secs()
            ),
        }
        Ok(())
    }
}

/// The limits of the admin listener, where these are for reviews.
fn admin_limits(limits: Limits) -> Limits {
    Limits {
        idle: PROBE_IDLE.min(limits.idle),
        connections: PROBES,
        patience: PROBE_PATIENCE.min(limits.patience),
        ..limits
    }
}

/// Waits for `work`, but not beyond the next signal.
async fn unless_aborted<T>(
    signals: &mut mpsc::Receiver<&'static str>,
    work: impl Future<Output = T>,
) -> Result<T> {
    let second = async {
        match signals.recv().await {
            Some(signal) => signal,
            None => future::pending().await,
        }
    };
    tokio::select! {
        done = work => Ok(done),
        signal = second => bail!("a second signal ({signal}) came while draining: requests in flight were cut off"),
    }
}
