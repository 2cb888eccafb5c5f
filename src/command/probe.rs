//! `transom probe`: finds out whom to ask, asks, and says what came of it, a line each.
//!
//! The questions and what is thought of the answers are `probe`; the connection is `ask`.

pub(super) mod ask;

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use axum::http::Uri;

use crate::check::output::shown_in;
use crate::cli::ProbeArgs;
use crate::cluster::bundle::{Entry, Kind};
use crate::cluster::{self, trouble};
use crate::decision::Endpoint;
use crate::probe;
use ask::{PATIENCE, Refused, Target};

/// Characters of a line.
const LONGEST: usize = 2000;

/// What should come of asking.
#[derive(Clone, Copy)]
enum Expected {
    /// Something is seen in the answer.
    Judged,
    /// An answer in which nothing is seen.
    Nothing,
    /// No answer, for want of a certificate.
    TurnedAway,
}

/// One line of output.
enum Line {
    Good(String),
    /// It answered, but not as it should.
    Wrong(String),
    /// It could not be asked.
    Unasked(String),
}

pub(super) fn run(args: ProbeArgs) -> Result<ExitCode> {
    let lines = super::block_on(lines(args))?;
    let mut out = io::stdout().lock();
    let mut code = 0;
    for line in &lines {
        let (word, text, worth) = match line {
            Line::Good(text) => ("ok  ", text, 0),
            Line::Wrong(text) => ("fail", text, 1),
            Line::Unasked(text) => ("fail", text, 2),
        };
        // Names, certificates and answers of others are quoted in it.
        let text = shown_in(text, LONGEST);
        // A closed pipe does not change what was found.
        let _ = writeln!(out, "{word} {text}");
        code = code.max(worth);
    }
    Ok(ExitCode::from(code))
}

async fn lines(args: ProbeArgs) -> Result<Vec<Line>> {
    let ProbeArgs {
        webhook_configuration,
        connect_to,
        url,
        ca_file,
        off,
        client_certificate_required,
    } = args;
    let expected = match (off, client_certificate_required) {
        (_, true) => Expected::TurnedAway,
        (true, false) => Expected::Nothing,
        (false, false) => Expected::Judged,
    };
    if let (Some(url), Some(ca_file)) = (&url, &ca_file) {
        let ca = fs::read(ca_file).with_context(|| format!("cannot read {}", ca_file.display()))?;
        let mut lines = Vec::new();
        for endpoint in [Endpoint::Mutate, Endpoint::Validate] {
            let path = format!("/{}", endpoint.name());
            let target = Target::of_url(&format!("{}{path}", url.trim_end_matches('/')))?;
            lines.push(line(&path, endpoint, expected, &target, &ca).await);
        }
        return Ok(lines);
    }
    let name = webhook_configuration.context("give --webhook-configuration or --url")?;
    configured(&name, connect_to.as_deref(), expected).await
}

/// Asks each entry of the two webhook configurations of that name.
async fn configured(name: &str, connect_to: Option<&str>, expected: Expected) -> Result<Vec<Line>> {
    let client = cluster::client().await?;
    let mut lines = Vec::new();
    for (kind, endpoint) in Kind::ALL
        .into_iter()
        .zip([Endpoint::Mutate, Endpoint::Validate])
    {
        let api = kind.api(client.clone());
        let object = tokio::time::timeout(PATIENCE, api.get_opt(name)).await;
        let object = object.map_err(|_| {
            let seconds = PATIENCE.as_secs();
            anyhow!(
                "the API server did not show {} {name} within {seconds} s; look at the kubeconfig, at DNS, and at \
                 network policies",
                kind.name()
            )
        })?;
        let object = object.map_err(|error| trouble::trouble(error, "read", kind.name(), name))?;
        for entry in object.iter().flat_map(Entry::all) {
            let mut target = target(entry)?;
            if let Some(connect_to) = connect_to {
                target.dial = connect_to.to_owned();
            }
            lines.push(
                line(
                    entry.name(),
                    endpoint,
                    expected,
                    &target,
                    &entry.ca_bundle(),
                )
                .await,
            );
        }
    }
    if lines.is_empty() {
        lines.push(Line::Wrong(format!(
            "there is no webhook configuration {name} with an entry in it: no API server asks; install the chart, or \
             give the name that `kubectl get mutatingwebhookconfigurations` shows"
        )));
    }
    Ok(lines)
}

/// Where the API server would go for an entry.
fn target(entry: Entry<'_>) -> Result<Target> {
    let config = entry.client_config();
    if let Some(url) = config["url"].as_str() {
        return Target::of_url(url);
    }
    let service = &config["service"];
    let [name, namespace] = ["name", "namespace"].map(|key| service[key].as_str());
    let Some((name, namespace)) = name.zip(namespace) else {
        bail!("{} has neither a service nor a url", entry.name());
    };
    Ok(Target {
        path: service["path"].as_str().unwrap_or("/").to_owned(),
        ..Target::of_service(name, namespace, service["port"].as_u64())
    })
}

impl Target {
    /// As the API server calls a Service.
    pub(super) fn of_service(name: &str, namespace: &str, port: Option<u64>) -> Self {
        let host = format!("{name}.{namespace}.svc");
        Self {
            dial: format!("{host}:{}", port.unwrap_or(443)),
            host,
            path: "/".to_owned(),
        }
    }

    pub(super) fn of_url(url: &str) -> Result<Self> {
        let parsed: Uri = url.parse().with_context(|| format!("{url} is no URL"))?;
        let host = parsed
            .host()
            .filter(|_| parsed.scheme_str() == Some("https"));
        let host = host.ok_or_else(|| anyhow!("{url} is not https://HOST:PORT"))?;
        Ok(Self {
            dial: format!("{host}:{}", parsed.port_u16().unwrap_or(443)),
            host: host.trim_matches(['[', ']']).to_owned(),
            path: parsed.path().to_owned(),
        })
    }
}

async fn line(
    name: &str,
    endpoint: Endpoint,
    expected: Expected,
    target: &Target,
    ca: &[u8],
) -> Line {
    let is_off = matches!(expected, Expected::Nothing);
    let found = match expected {
        Expected::TurnedAway => ask::be_turned_away(target, ca)
            .await
            .map(|()| Ok("is trusted, and turns away who presents no certificate".to_owned())),
        Expected::Judged | Expected::Nothing => {
            let answer = ask::ask(target, ca, probe::review(endpoint)).await;
            answer.map(|(status, body)| probe::judge(endpoint, is_off, status, &body))
        }
    };
    match found {
        Ok(Ok(good)) => Line::Good(format!("{name}: {good}")),
        Ok(Err(fault)) => Line::Wrong(format!("{name}: {}; {}", fault.what, fault.remedy)),
        Err(Refused::Untrusted(why)) => Line::Wrong(format!("{name}: {why}")),
        Err(Refused::Unreachable(why)) => Line::Unasked(format!("{name}: {why}")),
    }
}
