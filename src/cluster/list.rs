//! All objects of a kind, page by page, as bytes: at no time is there more than a page of them.
//!
//! Not here: what is in a page (`scan`). Used by `transom scan` and `transom doctor`.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use anyhow::{Error, anyhow};
use axum::http::Request;
use kube::Client;
use kube::Error as KubeError;
use kube::core::Request as Requests;
use kube::core::params::ListParams;

use super::trouble::{code, innermost};
use crate::scan::Page;
use crate::scan::known::Known;
use crate::workload::Kind;

/// As many objects are asked for at a time: what kubectl asks for.
const LIMIT: u32 = 500;
/// How long a page may take. The API server itself gives up after 60 s.
const PATIENCE: Duration = Duration::from_secs(65);
/// So often a list is begun again without getting any further.
const ATTEMPTS: usize = 3;

/// What is listed.
#[derive(Clone, Debug)]
pub struct Resource {
    group: &'static str,
    plural: String,
    namespace: Option<String>,
    /// Nothing but metadata is asked for.
    metadata: bool,
}

impl Resource {
    /// Objects of a kind, in one namespace or in all of them.
    #[must_use]
    pub fn of(kind: Kind, namespace: Option<&str>) -> Self {
        Self {
            group: kind.group(),
            plural: format!("{}s", kind.name().to_lowercase()),
            namespace: namespace.map(str::to_owned),
            metadata: false,
        }
    }

    /// What facts are made of.
    #[must_use]
    pub fn known(kind: Known) -> Self {
        let (group, plural) = match kind {
            Known::Namespace => ("", "namespaces"),
            Known::RuntimeClass => ("node.k8s.io", "runtimeclasses"),
            Known::Node => ("", "nodes"),
        };
        Self {
            group,
            plural: plural.to_owned(),
            namespace: None,
            // The others have a node selector, and taints.
            metadata: kind == Known::Namespace,
        }
    }

    /// Objects of any kind that has a version v1, in one namespace or in all of them. `metadata` asks for nothing else.
    #[must_use]
    pub fn any(group: &'static str, plural: &str, namespace: Option<&str>, metadata: bool) -> Self {
        Self {
            group,
            plural: plural.to_owned(),
            namespace: namespace.map(str::to_owned),
            metadata,
        }
    }

    fn path(&self) -> String {
        let root = match self.group {
            "" => "/api/v1".to_owned(),
            group => format!("/apis/{group}/v1"),
        };
        let plural = &self.plural;
        match &self.namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
            None => format!("{root}/{plural}"),
        }
    }

    /// What went wrong with listing it, in one line.
    #[must_use]
    pub fn trouble(&self, error: &KubeError) -> String {
        self.trouble_to("list", error)
    }

    /// What went wrong with this verb, in one line.
    #[must_use]
    pub fn trouble_to(&self, verb: &str, error: &KubeError) -> String {
        let done = match verb {
            "list" => "listed",
            _ => "read",
        };
        match error {
            KubeError::Api(status) if status.code == 403 => {
                let place = match &self.namespace {
                    Some(namespace) => format!("--namespace {namespace}"),
                    None => "--all-namespaces".to_owned(),
                };
                format!(
                    "may not be {done}, so nothing of it is told: it takes the right to {verb} {self} (kubectl auth can-i {verb} {self} {place})"
                )
            }
            KubeError::Api(status) if status.code == 404 => {
                format!("cannot be {done}: the API server has no {self} of version v1")
            }
            KubeError::Api(status) => format!("cannot be {done}: {}", status.message.trim()),
            KubeError::Service(error) => format!("cannot be {done}: {}", innermost(error.as_ref())),
            error => format!("cannot be {done}: {error}"),
        }
    }
}

/// As RBAC and kubectl write it: `deployments.apps`.
impl Display for Resource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        match self.group {
            "" => Ok(()),
            group => write!(f, ".{group}"),
        }
    }
}

/// Lets all pages be seen, one after the other.
///
/// A list may take longer than the API server keeps its snapshot of it. Then it goes on with the objects as they
/// are by now, behind the last one that was seen.
///
/// # Errors
/// A page cannot be had, or read; those before it were seen.
pub async fn pages(
    client: &Client,
    resource: &Resource,
    selector: Option<&str>,
    mut see: impl FnMut(&Page<'_>),
) -> Result<(), KubeError> {
    let request = Requests::new(resource.path());
    let (mut token, mut last, mut is_behind) = (None, None::<String>, true);
    let mut attempts = 0;
    loop {
        let params = ListParams {
            label_selector: selector.map(str::to_owned),
            limit: Some(LIMIT),
            continue_token: token.take(),
            ..ListParams::default()
        };
        let request = match resource.metadata {
            true => request.list_metadata(&params),
            false => request.list(&params),
        };
        let request = request.map_err(KubeError::BuildRequest)?;
        let text = match get(client, request).await {
            Ok(text) => text,
            // Which it cannot say of a first page.
            Err(KubeError::Api(status))
                if status.code == 410 && last.is_some() && attempts < ATTEMPTS =>
            {
                attempts += 1;
                let fresh = status.metadata.and_then(|metadata| metadata.continue_);
                token = fresh.filter(|token| !token.is_empty());
                is_behind = token.is_some();
                continue;
            }
            Err(error) => return Err(error),
        };
        let mut page =
            Page::read(text.as_bytes()).map_err(|error| KubeError::Service(error.into()))?;
        if let Some(last) = last.as_deref().filter(|_| !is_behind) {
            page = page.after(last);
        }
        if let Some(key) = page.last_key() {
            (last, attempts) = (Some(key), 0);
        }
        see(&page);
        token = page.token().map(str::to_owned);
        if token.is_none() {
            return Ok(());
        }
    }
}

/// One object, as bytes; nothing if there is none of this name.
///
/// # Errors
/// It may not be read, or the API server does not answer.
pub async fn one(
    client: &Client,
    resource: &Resource,
    name: &str,
) -> Result<Option<String>, KubeError> {
    let request = Requests::new(resource.path()).get(name, &kube::api::GetParams::default());
    match get(client, request.map_err(KubeError::BuildRequest)?).await {
        Ok(text) => Ok(Some(text)),
        Err(error) if code(&error) == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn get(client: &Client, request: Request<Vec<u8>>) -> Result<String, KubeError> {
    let text = tokio::time::timeout(PATIENCE, client.request_text(request)).await;
    text.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        let why = anyhow!("the API server has not answered within {seconds} s");
        Err(KubeError::Service(why.into()))
    })
}

/// Whether there is no use in asking for anything else: nobody answers, or it is not known who asks.
#[must_use]
pub fn is_hopeless(error: &KubeError) -> bool {
    !matches!(error, KubeError::Api(status) if status.code != 401)
}

/// A sentence about an API server that cannot be asked.
#[must_use]
pub fn hopeless(error: KubeError) -> Error {
    match error {
        KubeError::Api(status) => anyhow!(
            "the API server does not know who asks: {}; log in again, or choose another --context",
            status.message
        ),
        KubeError::Service(error) => {
            anyhow!(
                "the API server cannot be asked: {}",
                innermost(error.as_ref())
            )
        }
        error => Error::new(error).context("the API server cannot be asked"),
    }
}
