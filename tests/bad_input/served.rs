//! A table of bad requests, each with its answer, held against the program over HTTPS. After each of them a
//! good review is answered, and at the end the program is no larger than it may be.
//!
//! The rows are made in a module for each class; here is what a row is, and that there are enough of them.

mod content;
mod envelope;
mod fields;
mod framing;
mod heads;
mod json;
mod large;
mod odd;
mod run;
mod slow;
mod transport;

use std::collections::{BTreeMap, BTreeSet};

use run::Table;

/// A bad request: a client's bytes, and what comes of them.
pub(crate) struct Bad {
    /// Class, flaw and endpoint: no other row has the same.
    pub(crate) name: String,
    pub(crate) connection: Connection,
    /// Made when they are sent: some are large. What follows the first is sent as long as the connection lives.
    pub(crate) bytes: Box<dyn Fn() -> Vec<u8> + Send>,
    /// The answers, in order.
    pub(crate) wants: Vec<Want>,
    /// What becomes of the connection.
    pub(crate) then: Then,
}

/// How the client comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connection {
    /// Over TLS.
    Https,
    /// Over TLS, and it says at the end that nothing more will come.
    HttpsThenEnd,
    /// Bytes on the port of HTTPS.
    Tcp,
    /// The same, and the client closes its side.
    TcpThenEnd,
    /// Over TLS, offering this protocol alone.
    Offering(&'static str),
    /// Over TLS with the certificate of …, where the webhook wants one of its own CA's.
    Mutual(Certificate),
}

/// Whose certificate a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certificate {
    None,
    OfAnotherCa,
    Expired,
    OfAServer,
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// A sentence in which this stands.
    Says(u16, String),
    /// What hyper answers by itself, without a word.
    Status(u16),
    /// A review's answer: allowed, no patch, with this uid.
    Allowed(String),
    /// A review's answer: denied with a message in which this stands, or in its warnings.
    Denied(String),
    /// A review's answer that does not say this.
    Without(String),
}

/// What becomes of the connection after the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A good review is answered over it.
    Serves,
    /// The server closes it.
    Closes,
}

/// The uid of most reviews in the table.
pub(crate) const UID: &str = "u-1";

pub(crate) const ENDPOINTS: [&str; 2] = ["mutate", "validate"];

impl Bad {
    /// A body that is sent as it should be.
    pub(crate) fn body(
        name: &str,
        endpoint: &str,
        body: impl Fn() -> Vec<u8> + Send + 'static,
        want: Want,
    ) -> Self {
        let path = format!("/{endpoint}");
        Self::bytes(
            name,
            endpoint,
            move || post(&path, &body()),
            vec![want],
            Then::Serves,
        )
    }

    /// Bytes over HTTPS.
    pub(crate) fn bytes(
        name: &str,
        endpoint: &str,
        bytes: impl Fn() -> Vec<u8> + Send + 'static,
        wants: Vec<Want>,
        then: Then,
    ) -> Self {
        Self {
            name: format!("{name} at /{endpoint}"),
            connection: Connection::Https,
            bytes: Box::new(bytes),
            wants,
            then,
        }
    }

    pub(crate) fn over(mut self, connection: Connection) -> Self {
        self.connection = connection;
        self
    }

    /// What stands before the first colon of its name.
    fn class(&self) -> &str {
        self.name.split(':').next().unwrap_or_default()
    }
}

impl Want {
    pub(crate) fn says(status: u16, text: impl Into<String>) -> Self {
        Self::Says(status, text.into())
    }

    pub(crate) fn allowed() -> Self {
        Self::Allowed(UID.to_owned())
    }

    /// What the object's flaws come to: /validate denies what it cannot read, /mutate leaves it alone.
    pub(crate) fn unreadable(endpoint: &str, text: impl Into<String>) -> Self {
        match endpoint {
            "mutate" => Self::allowed(),
            _ => Self::Denied(text.into()),
        }
    }
}

/// A POST of JSON with its length.
pub(crate) fn post(path: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// All rows; those that take as long as a limit of the server are in `slow`.
fn table() -> Vec<Bad> {
    [
        content::rows(),
        envelope::rows(),
        fields::rows(),
        framing::rows(),
        heads::rows(),
        json::rows(),
        large::rows(),
        odd::rows(),
        transport::rows(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[test]
fn the_table_has_more_than_two_hundred_names() {
    let rows: Vec<_> = table().into_iter().chain(slow::rows()).collect();
    let mut names = BTreeSet::new();
    let mut classes = BTreeMap::<&str, usize>::new();
    for row in &rows {
        assert!(names.insert(&row.name), "{} stands there twice", row.name);
        *classes.entry(row.class()).or_default() += 1;
    }
    for (class, count) in &classes {
        println!("| {class} | {count} |");
    }
    println!("{} bad requests by name", names.len());
    assert!(names.len() >= 200);
    // Without those that are made of the table of fields, too.
    let by_hand = rows.iter().filter(|row| !row.class().contains("field"));
    assert!(by_hand.count() >= 200);
    // The page tells how many there are.
    let page = include_str!("../../docs/reliability.md");
    let count = format!(
        "{},{:03} bad requests",
        names.len() / 1_000,
        names.len() % 1_000
    );
    assert!(
        page.contains(&count),
        "docs/reliability.md should have {count}"
    );
    for (class, count) in classes {
        let line = format!("| {class} | {count} |");
        assert!(
            page.contains(&line),
            "docs/reliability.md should have {line}"
        );
    }
}

#[test]
fn each_gets_its_answer_and_the_program_goes_on() {
    let memory = Table::start().hold(&table(), &slow::rows());
    if let Some([before, most]) = memory {
        println!("resident: {before} kB before, at most {most} kB");
    }
}
