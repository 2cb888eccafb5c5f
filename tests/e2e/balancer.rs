//! What a Service does in life: connections to one port go to the replicas in turn.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub(crate) struct Balancer {
    port: u16,
    backends: Arc<Mutex<Vec<SocketAddr>>>,
    cut: Arc<Notify>,
    _runtime: tokio::runtime::Runtime,
}

impl Balancer {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime
            .block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        let backends = Arc::new(Mutex::new(Vec::<SocketAddr>::new()));
        let all = Arc::clone(&backends);
        let cut = Arc::new(Notify::new());
        let ends = Arc::clone(&cut);
        runtime.spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let next = {
                    let mut all = all.lock().unwrap();
                    if all.is_empty() {
                        continue;
                    }
                    all.rotate_left(1);
                    all[0]
                };
                let ends = Arc::clone(&ends);
                tokio::spawn(async move {
                    if let Ok(mut replica) = TcpStream::connect(next).await {
                        tokio::select! {
                            _ = tokio::io::copy_bidirectional(&mut client, &mut replica) => {}
                            () = ends.notified() => {}
                        }
                    }
                });
            }
        });
        Self {
            port,
            backends,
            cut,
            _runtime: runtime,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// New connections go to these; those that are open stay.
    pub(crate) fn lead_to(&self, backends: Vec<SocketAddr>) {
        *self.backends.lock().unwrap() = backends;
    }

    /// Ends the open connections: who comes again is led anew.
    pub(crate) fn cut(&self) {
        self.cut.notify_waiters();
    }
}
