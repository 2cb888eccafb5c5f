//! The signals that ask a server to end, as a channel.
//!
//! What they mean is decided in `Server::run`; tests send into such a channel themselves.

use std::io;

use tokio::sync::mpsc;

/// Names of signals as they come: SIGTERM, SIGINT (Ctrl-C).
///
/// # Errors
/// The operating system does not let us listen.
#[cfg(unix)]
pub fn listen() -> io::Result<mpsc::Receiver<&'static str>> {
    use tokio::signal::unix::{SignalKind, signal};

    let (sender, receiver) = mpsc::channel(2);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if sender.send(name).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// Names of signals as they come: Ctrl-C.
///
/// # Errors
/// The operating system does not let us listen.
#[cfg(not(unix))]
pub fn listen() -> io::Result<mpsc::Receiver<&'static str>> {
    let (sender, receiver) = mpsc::channel(2);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && sender.send("Ctrl-C").await.is_ok() {}
    });
    Ok(receiver)
}
