//! The few lines on stdout that greet whoever tries Transom without a cluster.
//!
//! In a cluster, with a certificate from files, nothing is printed: the log says what there is to say.
//! Called by `Server::bind`.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

/// Says what is listening and how to try it; `mutual` if clients need a certificate, too. A stdout that
/// nobody reads is no reason not to serve.
pub(super) fn print(address: SocketAddr, admin: SocketAddr, ca_file: &Path, mutual: bool) {
    let text = text(address, admin, ca_file, mutual);
    let _ = writeln!(io::stdout().lock(), "{text}");
}

fn text(address: SocketAddr, admin: SocketAddr, ca_file: &Path, mutual: bool) -> String {
    let (port, ca) = (address.port(), ca_file.display());
    // The certificate is for localhost, wherever that is.
    let connect = match address.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => String::new(),
        _ => format!("--connect-to localhost:{port}:{address} "),
    };
    let client = match mutual {
        true => "--cert CLIENT.crt --key CLIENT.key ",
        false => "",
    };
    format!(
        "\
Transom {version} listens on https://{address} (reviews) and http://{admin} (health, metrics).
Its certificate is a throw-away one; {ca} lets clients trust it. Try it:

  curl {connect}--cacert {ca} {client}-H 'Content-Type: application/json' --data-binary @examples/review.json https://localhost:{port}/mutate
",
        version = env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curl_line_has_the_port_that_was_taken() {
        let address = SocketAddr::from(([0, 0, 0, 0], 4711));
        let admin = SocketAddr::from(([0, 0, 0, 0], 4712));
        let text = text(address, admin, Path::new("certs/ca.crt"), false);
        assert!(text.contains("curl --cacert certs/ca.crt "));
        assert!(text.contains("https://localhost:4711/mutate\n"));
    }

    #[test]
    fn the_curl_line_goes_where_the_server_listens() {
        let address = SocketAddr::from(([10, 0, 0, 5], 8443));
        let text = text(address, address, Path::new("certs/ca.crt"), false);
        assert!(text.contains("curl --connect-to localhost:8443:10.0.0.5:8443 --cacert"));
    }

    #[test]
    fn the_curl_line_has_a_client_certificate_if_one_is_asked_for() {
        let address = SocketAddr::from(([0, 0, 0, 0], 8443));
        let text = text(address, address, Path::new("certs/ca.crt"), true);
        assert!(text.contains("curl --cacert certs/ca.crt --cert CLIENT.crt --key CLIENT.key -H"));
    }
}
