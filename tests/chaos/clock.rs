//! A clock that jumps, as libfaketime makes it do for the program alone: days ahead, and back again.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

use crate::apiserver::{ApiServer, MUTATING, kubeconfig};
use crate::client::{self, BOTH, connect};
use crate::program::transom;
use crate::scenario::{Size, block_on};
use crate::serve::Serve;

const SECRET: &str = "transom-ca";
const WEBHOOKS: &str = "transom";

const HOUR: i64 = 60 * 60;

/// Longer than a new CA waits before it signs.
const PATIENCE: Duration = Duration::from_secs(180);

/// Names the library, where it is in another place than Debian's.
const VARIABLE: &str = "FAKETIME_LIBRARY";

/// Whatever time it is said to be, the certificate is one for that time, and of a CA that the API servers are told
/// to trust.
pub(crate) fn jumps(size: Size) {
    let Some(library) = library() else {
        println!(
            "SKIPPED: the clock jumps: there is no libfaketimeMT.so.1; install Debian's libfaketime, or say where it \
             is in {VARIABLE}"
        );
        return;
    };
    // In seconds from now. The last one is beyond two thirds of the CA's life, so that another comes.
    let jumps: &[i64] = size.of(&[3 * HOUR, 0], &[3 * HOUR, 0, 6 * HOUR, 3 * HOUR, 7 * HOUR]);
    block_on(async {
        let cluster = ApiServer::installed(SECRET, WEBHOOKS);
        let url = cluster.listen().await;
        let directory = tempfile::tempdir().unwrap();
        let clock = directory.path().join("clock");
        let file = directory.path().join("kubeconfig");
        fs::write(&file, kubeconfig(&url)).unwrap();
        set(&clock, 0);
        let mut program = transom(directory.path());
        program
            .env("KUBECONFIG", file)
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", &clock)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
        let flags = [
            "--ca-secret",
            SECRET,
            "--namespace",
            "transom",
            "--service",
            "transom",
            "--webhook-configuration",
            WEBHOOKS,
            "--ca-lifetime=10h",
            "--leaf-lifetime=90s",
            "--drain-seconds=0",
        ];
        let serve = tokio::task::block_in_place(|| Serve::start_as(directory, program, &flags));
        for &jump in jumps {
            set(&clock, jump);
            let began = Instant::now();
            while !is_good(&cluster, serve.address, jump).await {
                assert!(
                    began.elapsed() < PATIENCE,
                    "no certificate for {jump} s from now"
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            let bundle = bundle(&cluster);
            println!(
                "{:+} h: a certificate for that time after {:.1} s; {} CAs are trusted",
                jump / HOUR,
                began.elapsed().as_secs_f64(),
                bundle.matches("BEGIN").count()
            );
        }
        tokio::task::block_in_place(|| assert_eq!(serve.end("TERM").0, Some(0)));
    });
}

fn library() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return Some(named.into());
    }
    let architectures = fs::read_dir("/usr/lib").ok()?;
    let mut places = architectures.map_while(Result::ok);
    places.find_map(|place| {
        let library = place.path().join("faketime/libfaketimeMT.so.1");
        library.is_file().then_some(library)
    })
}

/// Says how far ahead the clock is, in seconds; at once, since it is read at any time.
fn set(clock: &Path, ahead: i64) {
    let new = clock.with_extension("new");
    fs::write(&new, format!("{ahead:+}\n")).unwrap();
    fs::rename(new, clock).unwrap();
}

fn bundle(cluster: &ApiServer) -> String {
    let object = cluster.get(MUTATING, WEBHOOKS).unwrap();
    let bundle = object["webhooks"][0]["clientConfig"]["caBundle"].as_str();
    String::from_utf8(STANDARD.decode(bundle.unwrap_or_default()).unwrap()).unwrap()
}

/// Whether an API server whose clock is so far ahead, too, shakes hands.
async fn is_good(cluster: &ApiServer, address: SocketAddr, ahead: i64) -> bool {
    let mut tls = client::client(&bundle(cluster), BOTH);
    tls.time_provider = Arc::new(Ahead(ahead));
    connect(address, "transom.transom.svc", tls).await.is_ok()
}

#[derive(Debug)]
struct Ahead(i64);

impl TimeProvider for Ahead {
    fn current_time(&self) -> Option<UnixTime> {
        let now = UnixTime::now().as_secs().checked_add_signed(self.0)?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(now)))
    }
}
