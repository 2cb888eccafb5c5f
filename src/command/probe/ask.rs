//! One POST over a TLS connection of its own, with the trust of a webhook's caBundle and no other; or only the handshake:
//! for the certificate that is shown, or where who has none is to be turned away.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::Request;
use axum::http::header::{CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{AlertDescription, ClientConfig, RootCertStore};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// As the API server's default for a webhook.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of an answer. One of Transom to these questions has some hundreds.
const LARGEST: usize = 1 << 20;

/// Whom to ask.
pub(in crate::command) struct Target {
    /// The host and port to connect to.
    pub(in crate::command) dial: String,
    /// Whom the certificate must be for.
    pub(in crate::command) host: String,
    /// The path, with its slash.
    pub(in crate::command) path: String,
}

/// Why there is no answer.
pub(in crate::command) enum Refused {
    /// There is a server, but not one to be trusted.
    Untrusted(String),
    /// There is none, or it does not speak.
    Unreachable(String),
}

/// Sends a review and reads the whole answer: status and body.
pub(super) async fn ask(
    target: &Target,
    ca: &[u8],
    review: Vec<u8>,
) -> Result<(u16, Vec<u8>), Refused> {
    in_time(target, exchange(target, ca, review)).await
}

/// Sends nothing, since a server that wants a certificate says so after the handshake: it has to turn us away.
pub(super) async fn be_turned_away(target: &Target, ca: &[u8]) -> Result<(), Refused> {
    let turned_away = async {
        let mut stream = connect(target, ca).await?;
        match stream.read(&mut [0]).await {
            Err(error) if wants_certificate(&error) => Ok(()),
            Err(error) => Err(Refused::Unreachable(format!(
                "{} ended the connection: {error}; look at its log",
                target.dial
            ))),
            Ok(_) => Err(Refused::Untrusted(format!(
                "{} asks for no certificate; look at --tls-client-ca-file of transom serve",
                target.dial
            ))),
        }
    };
    in_time(target, turned_away).await
}

fn wants_certificate(error: &io::Error) -> bool {
    let alert = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
    let error = error.get_ref().and_then(|error| error.downcast_ref());
    error == Some(&alert)
}

/// The certificate that is shown, DER, if it is one to be trusted.
pub(in crate::command) async fn certificate(
    target: &Target,
    ca: &[u8],
) -> Result<Vec<u8>, Refused> {
    let stream = in_time(target, connect(target, ca)).await?;
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(<[_]>::first);
    // Without one there is no connection.
    Ok(shown.map(|shown| shown.to_vec()).unwrap_or_default())
}

async fn in_time<T>(
    target: &Target,
    asked: impl Future<Output = Result<T, Refused>>,
) -> Result<T, Refused> {
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    asked.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        Err(Refused::Unreachable(format!(
            "{} did not answer within {seconds} s; look at its pods, its log, and at network policies",
            target.dial
        )))
    })
}

async fn connect(target: &Target, ca: &[u8]) -> Result<TlsStream<TcpStream>, Refused> {
    let (config, name) = (trusting(ca)?, server_name(&target.host)?);
    let dial = &target.dial;
    let stream = TcpStream::connect(dial).await.map_err(|error| {
        Refused::Unreachable(format!(
            "cannot connect to {dial}: {error}; look at the Service, its endpoints, and at network policies"
        ))
    })?;
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect(name, stream).await;
    stream.map_err(|error| untrusted(target, &error))
}

async fn exchange(target: &Target, ca: &[u8], review: Vec<u8>) -> Result<(u16, Vec<u8>), Refused> {
    let stream = connect(target, ca).await?;
    // What hyper says is in the errors behind its own: an alert, for instance.
    let broken = |error: anyhow::Error| {
        Refused::Unreachable(format!(
            "{} ended the connection: {error:#}; look at its log, and at --client-certificate-required if it asks for one",
            target.dial
        ))
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| broken(error.into()))?;
    // It ends with the answer; what goes wrong is told there.
    tokio::spawn(connection);
    let request = Request::post(&target.path)
        .header(HOST, &target.host)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(review)))
        .map_err(|error| broken(error.into()))?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|error| broken(error.into()))?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => Refused::Untrusted(format!(
            "{} answered {status} with more than 1 MiB; is it Transom that answers there? look at the Service's \
             selector and at --connect-to",
            target.dial
        )),
        false => broken(anyhow::anyhow!(error)),
    })?;
    Ok((status, body.to_bytes().into()))
}

fn untrusted(target: &Target, error: &io::Error) -> Refused {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    let cause = error.get_ref().and_then(|error| error.downcast_ref());
    if let Some(rustls::Error::InvalidCertificate(cause)) = cause {
        let dial = &target.dial;
        match cause {
            Expired | ExpiredContext { .. } => {
                return Refused::Untrusted(format!(
                    "the certificate of {dial} has expired; look at the log of transom serve and at /readyz?verbose of its pods"
                ));
            }
            NotValidYet | NotValidYetContext { .. } => {
                return Refused::Untrusted(format!(
                    "the certificate of {dial} is not valid yet; look at the clocks of its node and of this machine"
                ));
            }
            _ => {}
        }
    }
    Refused::Untrusted(format!(
        "{} is not trusted as {}: {error}; the caBundle must be that of its certificate: look at /readyz?verbose and \
         the log of transom serve, or at whoever else writes the caBundle",
        target.dial, target.host
    ))
}

fn trusting(ca: &[u8]) -> Result<ClientConfig, Refused> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(ca).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(Refused::Untrusted(
            "there is no CA certificate to trust: nobody has filled in the caBundle yet; look at the log of \
             transom serve"
                .to_owned(),
        ));
    }
    let config = ClientConfig::builder().with_root_certificates(roots);
    Ok(config.with_no_client_auth())
}

fn server_name(host: &str) -> Result<ServerName<'static>, Refused> {
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| Refused::Untrusted(format!("no certificate can be for {host}")))
}
