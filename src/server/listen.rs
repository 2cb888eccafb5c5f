//! Listening sockets, and what the kernel keeps for their connections.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use tokio::net::{TcpListener, TcpSocket};

/// How many connections the kernel keeps that are not accepted yet. The default of [`TcpListener::bind`] is 128; Linux
/// drops the SYN of those beyond it, and a client sends it again after 1, 3 and 7 s. Linux allows 4,096.
const WAITING: u32 = 1024;

/// The send buffer of a connection in bytes, and its receive buffer. Most responses and requests fit; Linux takes twice as
/// much for its bookkeeping.
#[cfg(target_os = "linux")]
const BUFFER_BYTES: usize = 64 * 1024;

/// How long the kernel keeps bytes that the client does not acknowledge: as long as a client may take to read a
/// response.
#[cfg(target_os = "linux")]
const UNSENT_MILLISECONDS: u32 = 10_000;

/// Takes a port; `flag` is what the user says it with.
///
/// # Errors
/// The port is taken or not allowed.
pub(super) fn listen(address: SocketAddr, flag: &str) -> Result<(TcpListener, SocketAddr)> {
    let listener = open(address).with_context(|| {
        format!("cannot listen on {address}: free that port or choose another with {flag}")
    })?;
    let bound = listener
        .local_addr()
        .with_context(|| format!("cannot tell the port that {flag} {address} took"))?;
    Ok((listener, bound))
}

fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As `TcpListener::bind` does: a port can be taken again while connections of the last process time out.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    bound_buffers(&socket)?;
    socket.listen(WAITING)
}

/// Bounds what the kernel keeps of requests and of responses that are not read, which a container's limit counts:
/// accepted connections inherit it. Without, Linux lets each connection have up to 6 MiB and 4 MiB, and tries for minutes
/// to send what a closed connection has left.
#[cfg(target_os = "linux")]
fn bound_buffers(socket: &TcpSocket) -> std::io::Result<()> {
    use rustix::net::sockopt::{
        set_socket_recv_buffer_size, set_socket_send_buffer_size, set_tcp_user_timeout,
    };

    set_socket_recv_buffer_size(socket, BUFFER_BYTES)?;
    set_socket_send_buffer_size(socket, BUFFER_BYTES)?;
    set_tcp_user_timeout(socket, UNSENT_MILLISECONDS)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn bound_buffers(_: &TcpSocket) -> std::io::Result<()> {
    Ok(())
}
