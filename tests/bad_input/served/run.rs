//! The program, a client that reads whatever comes, and the comparison of an answer with what it should be.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Bad, Certificate, Connection, Then, Want, post};
use crate::client::{Authority, BOTH, PATIENCE, REVIEW, connect};
use crate::common::config;
use crate::proc;
use crate::serve::Serve;

/// What the program may take at most, in kB. It was built without optimisation, and glibc keeps what it had.
const BUDGET: u64 = 150 * 1024;

/// TCP, with or without TLS.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection; reads are buffered.
type Open = BufReader<Box<dyn Stream>>;

/// Two programs, one of which wants certificates of its clients.
pub(super) struct Table {
    _directory: TempDir,
    authority: Authority,
    clients: Authority,
    open: Serve,
    mutual: Serve,
}

/// An answer, or what there was of one.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: String,
    closes: bool,
}

impl Table {
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (authority, clients) = (Authority::new(), Authority::new());
        let (certificate, key) = authority.leaf();
        let write = |name: &str, content: &str| {
            let path = directory.path().join(name);
            fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let certificate = write("tls.crt", &certificate);
        let key = write("tls.key", &key);
        let settings = write("config.yaml", &config(super::fields::POLICY));
        let ca = write("clients.crt", &clients.pem());
        let flags = [
            "--tls-cert-file",
            &certificate,
            "--tls-private-key-file",
            &key,
            "--config",
            &settings,
            // A million keys need as much.
            "--max-body-bytes",
            "16777216",
        ];
        let mutual = [&flags[..], &["--tls-client-ca-file", &ca]].concat();
        Self {
            open: Serve::start(&flags),
            mutual: Serve::start(&mutual),
            _directory: directory,
            authority,
            clients,
        }
    }

    /// Holds each row against the program, those that take their time all at once. What it had of memory before
    /// and had at most, in kB, where that can be told.
    pub(super) fn hold(self, rows: &[Bad], slow: &[Bad]) -> Option<[u64; 2]> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let before = proc::kilobytes(self.open.id(), "VmRSS");
        let failures = runtime.block_on(async {
            let (mut failures, late) = tokio::join!(self.in_turn(rows), self.at_once(slow));
            failures.extend(late);
            if let Err(problem) = good(&mut self.https().await).await {
                failures.push(format!("at the end, {problem}"));
            }
            failures
        });
        crate::common::assert_none(&failures);
        let most = |program: &Serve| proc::kilobytes(program.id(), "VmHWM");
        let most = most(&self.open)?.max(most(&self.mutual)?);
        assert!(most < BUDGET, "{most} kB are more than {BUDGET} kB");
        Some([before?, most])
    }

    /// One after the other, and a good review after each.
    async fn in_turn(&self, rows: &[Bad]) -> Vec<String> {
        let mut failures = Vec::new();
        let mut witness = self.https().await;
        let mut kept = None;
        for row in rows {
            // A connection is used for what comes next, as long as it lives.
            let connection = match (kept.take(), row.connection) {
                (Some(kept), Connection::Https) => Ok(kept),
                _ => self.dial(row.connection).await,
            };
            match held(row, connection).await {
                Ok(left) => kept = left,
                Err(problem) => failures.push(format!("{}: {problem}", row.name)),
            }
            if let Err(problem) = good(&mut witness).await {
                failures.push(format!("{}: afterwards, {problem}", row.name));
                witness = self.https().await;
            }
        }
        failures
    }

    async fn at_once(&self, rows: &[Bad]) -> Vec<String> {
        let all = rows.iter().map(async |row| {
            let held = held(row, self.dial(row.connection).await).await;
            held.err().map(|problem| format!("{}: {problem}", row.name))
        });
        let all = futures_util::future::join_all(all).await;
        all.into_iter().flatten().collect()
    }

    async fn https(&self) -> Open {
        self.dial(Connection::Https).await.unwrap()
    }

    async fn dial(&self, connection: Connection) -> Result<Open, String> {
        let (address, config) = match connection {
            Connection::Tcp | Connection::TcpThenEnd => {
                let tcp = TcpStream::connect(self.open.address).await.unwrap();
                return Ok(BufReader::new(Box::new(tcp)));
            }
            Connection::Https | Connection::HttpsThenEnd => {
                (self.open.address, self.authority.client(BOTH))
            }
            Connection::Offering(protocol) => {
                let mut config = self.authority.client(BOTH);
                config.alpn_protocols = vec![protocol.into()];
                (self.open.address, config)
            }
            Connection::Mutual(certificate) => {
                let pair = match certificate {
                    Certificate::None => None,
                    Certificate::OfAnotherCa => Some(Authority::new().client_leaf()),
                    Certificate::Expired => Some(self.clients.expired_client_leaf()),
                    Certificate::OfAServer => Some(self.clients.leaf()),
                };
                let config = match pair {
                    None => self.authority.client(BOTH),
                    Some(pair) => self.authority.client_with(&pair, BOTH),
                };
                (self.mutual.address, config)
            }
        };
        let stream = connect(address, "localhost", config).await;
        match stream {
            Ok(stream) => Ok(BufReader::new(Box::new(stream))),
            Err(error) => Err(format!("no handshake: {error}")),
        }
    }
}

/// Sends a row's bytes, and compares what comes. The connection, if it goes on.
async fn held(row: &Bad, connection: Result<Open, String>) -> Result<Option<Open>, String> {
    let connection = match connection {
        Ok(connection) => connection,
        // Nobody has to be let in to be refused.
        Err(_) if row.wants.is_empty() => return Ok(None),
        Err(error) => return Err(error),
    };
    let told = timeout(PATIENCE, told(row, connection)).await;
    told.unwrap_or_else(|_| Err("nothing came of it".to_owned()))
}

async fn told(row: &Bad, connection: Open) -> Result<Option<Open>, String> {
    let bytes = (row.bytes)();
    let has_body = !bytes.starts_with(b"HEAD ");
    let (read, mut write) = tokio::io::split(connection);
    let ends = matches!(
        row.connection,
        Connection::HttpsThenEnd | Connection::TcpThenEnd
    );
    // The server may close before it has read all.
    let send = async {
        let sent = async {
            write.write_all(&bytes).await?;
            write.flush().await?;
            if ends { write.shutdown().await } else { Ok(()) }
        };
        let _ = sent.await;
        write
    };
    let mut read = BufReader::new(read);
    let receive = async {
        let mut closes = false;
        for want in &row.wants {
            let answer = answer(&mut read, has_body)
                .await
                .ok_or("the connection was closed")?;
            compare(want, &answer)?;
            closes = answer.closes;
        }
        match row.then {
            Then::Closes => closed(&mut read).await?,
            Then::Serves if closes => return Err("the answer is its last".to_owned()),
            Then::Serves => {}
        }
        Ok(read)
    };
    let (write, read) = tokio::join!(send, receive);
    let read = read?;
    if row.then == Then::Closes {
        return Ok(None);
    }
    if !read.buffer().is_empty() {
        return Err(format!(
            "and more: {}",
            String::from_utf8_lossy(read.buffer())
        ));
    }
    let mut connection = read.into_inner().unsplit(write);
    good(&mut connection).await?;
    Ok(Some(connection))
}

/// A good review is answered.
async fn good(connection: &mut Open) -> Result<(), String> {
    let exchange = async {
        let review = post("/validate", REVIEW.as_bytes());
        connection
            .write_all(&review)
            .await
            .map_err(|error| error.to_string())?;
        connection
            .flush()
            .await
            .map_err(|error| error.to_string())?;
        let answer = answer(connection, true)
            .await
            .ok_or("the connection was closed")?;
        compare(&Want::Allowed("4e1e8a5c".to_owned()), &answer)
    };
    let done = timeout(PATIENCE, exchange).await;
    let done = done.unwrap_or_else(|_| Err("there was no answer".to_owned()));
    done.map_err(|problem| format!("a good review was not served: {problem}"))
}

/// The next answer, if one comes. A `100 Continue` is none.
async fn answer(stream: &mut (impl AsyncRead + Unpin), has_body: bool) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    if status == 100 {
        return Box::pin(answer(stream, has_body)).await;
    }
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or(Some(0), |rest| rest.split('\r').next()?.parse().ok())?;
    let mut body = vec![0; if has_body { length } else { 0 }];
    stream.read_exact(&mut body).await.ok()?;
    Some(Answer {
        status,
        closes: head.contains("connection: close"),
        body: String::from_utf8(body).unwrap(),
    })
}

/// Nothing more comes but the end; a TLS alert may come before it.
async fn closed(stream: &mut (impl AsyncRead + Unpin)) -> Result<(), String> {
    let mut rest = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut rest).await;
    let is_alert = rest.first() == Some(&21) && rest.len() < 40;
    match rest.is_empty() || is_alert {
        true => Ok(()),
        false => Err(format!("and more: {:?}", String::from_utf8_lossy(&rest))),
    }
}

fn compare(want: &Want, answer: &Answer) -> Result<(), String> {
    let status = match want {
        Want::Says(status, _) | Want::Status(status) => *status,
        _ => 200,
    };
    let short: String = answer.body.chars().take(400).collect();
    if answer.status != status {
        return Err(format!("{} instead of {status}: {short}", answer.status));
    }
    let is_so = match want {
        Want::Status(_) => answer.body.is_empty(),
        Want::Says(_, text) => {
            answer.body.contains(text) && answer.body.trim_end().lines().count() == 1
        }
        Want::Allowed(uid) => {
            let response = response(&answer.body);
            response["allowed"] == true
                && response["uid"] == **uid
                && response.get("patch").is_none()
        }
        Want::Denied(text) => {
            let response = response(&answer.body);
            response["allowed"] == false
                && response["uid"] == super::UID
                && all(&response).contains(text)
        }
        Want::Without(text) => {
            let response = response(&answer.body);
            response["uid"] == super::UID && !all(&response).contains(text)
        }
    };
    match is_so {
        true => Ok(()),
        false => Err(format!("not {want:?}: {short}")),
    }
}

fn response(body: &str) -> Value {
    serde_json::from_str::<Value>(body).map_or(Value::Null, |mut review| review["response"].take())
}

/// What the response says, a line each.
fn all(response: &Value) -> String {
    let warnings = response["warnings"].as_array().into_iter().flatten();
    let lines = std::iter::once(&response["status"]["message"]).chain(warnings);
    let lines = lines.map(|line| line.as_str().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
