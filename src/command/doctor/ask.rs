//! What `transom doctor` asks: the API server for each part of the snapshot, and the Service for its certificate.
//!
//! What may not be read is a part with a reason in it. Lists are read in pages, and of each object only that is kept
//! which a check looks at; of pods nothing but their number.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Error as KubeError};
use serde::de::DeserializeOwned;

use crate::authority::now;
use crate::cluster::list::{self, Resource};
use crate::cluster::trouble::code;
use crate::command::probe::ask::{Refused, Target, certificate};
use crate::config::{ConfigError, Written};
use crate::doctor::objects::{ConfigMap, EndpointSlice, Entry, Object, Service, Version};
use crate::doctor::{self, Asked, Census, Cluster, Installation, Part, Served, Settings, Source};
use crate::misplaced::Misplaced;
use crate::policy::{self, Policy};
use crate::workload::Kind;

/// Why a part was not read although nobody has refused it.
const NOT_ASKED: &str = "it was not asked for";

/// Whom to ask.
pub(super) struct Asker {
    pub(super) client: Client,
    /// Where the certificate is looked at.
    pub(super) connect_to: Option<String>,
}

/// The configuration of a file that somebody names.
///
/// # Errors
/// It cannot be read, or is not valid.
pub(super) fn configured(file: &Path) -> Result<Settings> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
    settings(&name, &bytes).map_err(|error| {
        let report = error.report(&name, &String::from_utf8_lossy(&bytes));
        anyhow!("the configuration cannot be used\n{}", report.trim_end())
    })
}

fn settings(name: &str, bytes: &[u8]) -> Result<Settings, ConfigError> {
    let written = Written::from_bytes(bytes)?;
    let policy = Policy::of(&written)?;
    let origin = format!("{name}: {}", policy::summary(&written, &policy));
    Ok(Settings { policy, origin })
}

impl Asker {
    /// Asks for all of it.
    ///
    /// # Errors
    /// Nobody answers, or the one who asks is not known.
    pub(super) async fn ask(
        &self,
        chosen: Option<String>,
        config: Option<Settings>,
    ) -> Result<Cluster> {
        let mut cluster = Cluster::unread(now(), NOT_ASKED);
        cluster.chosen = chosen;
        cluster.version = self.version().await?;
        cluster.groups = self.groups().await?;
        cluster.mutating = self.all(Part::MutatingWebhooks, None, None).await?;
        cluster.validating = self.all(Part::ValidatingWebhooks, None, None).await?;
        let namespaces = self.all::<Object>(Part::Namespaces, None, None).await?;
        cluster.namespaces = namespaces.map(|all| {
            let all = all.into_iter().map(|object| object.metadata);
            all.map(|meta| (meta.name, meta.labels)).collect()
        });
        cluster.nodes = self.all(Part::Nodes, None, None).await?;
        cluster.runtime_classes = self.all(Part::RuntimeClasses, None, None).await?;
        cluster.kyverno = self.all(Part::KyvernoPolicies, None, None).await?;
        self.ask_installation(&mut cluster).await?;
        cluster.settings = match config {
            Some(config) => Ok(Ok(config)),
            None => self.settings(&cluster).await?,
        };
        cluster.windows_pods = self.windows_pods(&cluster).await?;
        cluster.misplaced = self.misplaced(&cluster).await?;
        Ok(cluster)
    }

    /// What lies in the installation's own namespace.
    async fn ask_installation(&self, cluster: &mut Cluster) -> Result<()> {
        let Ok(Some(one)) = cluster.installation() else {
            return Ok(());
        };
        let served = self.served(one).await;
        if let Some(service) = one.service().cloned() {
            let (own, name) = (Some(service.namespace.as_str()), service.name.as_str());
            cluster.service = self.one::<Service>(Part::Service, own, name).await?;
            let of_service = format!("kubernetes.io/service-name={name}");
            let slices = self.all::<EndpointSlice>(Part::EndpointSlices, own, Some(&of_service));
            cluster.slices = slices.await?;
            cluster.deployments = self.all(Part::Deployments, own, None).await?;
            cluster.budgets = self.all(Part::Budgets, own, None).await?;
        } else {
            let why = "reviews go to a URL: there is no Service to look at";
            cluster.service = Err(why.to_owned());
            cluster.slices = Err(why.to_owned());
            cluster.deployments = Err(why.to_owned());
            cluster.budgets = Err(why.to_owned());
        }
        cluster.served = served;
        Ok(())
    }

    async fn version(&self) -> Result<Asked<Version>> {
        match self.client.apiserver_version().await {
            Ok(info) => Ok(Ok(Version {
                major: info.major,
                minor: info.minor,
                git: info.git_version,
            })),
            Err(error) if list::is_hopeless(&error) => Err(list::hopeless(error)),
            Err(error) => Ok(Err(format!("the API server does not tell: {error}"))),
        }
    }

    async fn groups(&self) -> Result<Asked<Vec<String>>> {
        match self.client.list_api_groups().await {
            Ok(list) => Ok(Ok(list
                .groups
                .into_iter()
                .map(|group| group.name)
                .collect())),
            Err(error) if code(&error) == Some(401) => Err(list::hopeless(error)),
            Err(error) => Ok(Err(format!(
                "the API server does not list its groups: {error}"
            ))),
        }
    }

    /// All objects of a part, with these labels, as far as a check looks at them.
    async fn all<T: DeserializeOwned>(
        &self,
        part: Part,
        namespace: Option<&str>,
        selector: Option<&str>,
    ) -> Result<Asked<Vec<T>>> {
        let mut found = Vec::new();
        for resource in resources(part, namespace) {
            let mut read = Ok(());
            let pages = list::pages(&self.client, &resource, selector, |page| {
                for item in page.items() {
                    match serde_json::from_str(item.get()) {
                        Ok(object) => found.push(object),
                        Err(error) => read = Err(KubeError::SerdeError(error)),
                    }
                }
            });
            match pages.await.and(read) {
                Ok(()) => {}
                // Nobody has installed it.
                Err(error) if code(&error) == Some(404) => {}
                Err(error) => return unread(&resource, "list", error),
            }
        }
        Ok(Ok(found))
    }

    /// The object of this name, if there is one.
    async fn one<T: DeserializeOwned>(
        &self,
        part: Part,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Asked<Option<T>>> {
        let Some(resource) = resources(part, namespace).pop() else {
            return Ok(Ok(None));
        };
        let object = list::one(&self.client, &resource, name).await;
        let object = object.and_then(|object| {
            let read = object.map(|text| serde_json::from_str(&text));
            read.transpose().map_err(KubeError::SerdeError)
        });
        match object {
            Ok(object) => Ok(Ok(object)),
            Err(error) => unread(&resource, "get", error),
        }
    }

    /// The configuration that the replicas have: of their ConfigMap, or the defaults where nothing is installed or
    /// nothing is given to them.
    async fn settings(&self, cluster: &Cluster) -> Result<Asked<Result<Settings, String>>> {
        let defaults = |why: &str| {
            let policy = Policy::default();
            let origin = format!("the defaults: {why}");
            Ok(Ok(Ok(Settings { policy, origin })))
        };
        // What the chart would install.
        let chart = || {
            let mut written = Written::default();
            written.config.placement.learn_taints = true;
            let policy = Policy::of(&written).unwrap_or_default();
            let origin = "the defaults of the chart".to_owned();
            Ok(Ok(Ok(Settings { policy, origin })))
        };
        let one = match cluster.installation() {
            Ok(Some(one)) => one,
            Ok(None) => return chart(),
            Err(why) => return Ok(Err(unknown(&why))),
        };
        let Some(service) = one.service() else {
            return defaults("reviews go to a URL, and --config is not given");
        };
        if let (Err(why), _) | (_, Err(why)) = (&cluster.service, &cluster.deployments) {
            return Ok(Err(unknown(why)));
        }
        let (name, key) = match doctor::watched_config(cluster) {
            Ok(Source::ConfigMap { name, key }) => (name, key),
            Ok(Source::Defaults) => return defaults("the replicas are given no --config"),
            Err(why) => return Ok(Err(unknown(&why))),
        };
        let own = Some(service.namespace.as_str());
        let map = match self.one::<ConfigMap>(Part::ConfigMap, own, &name).await? {
            Ok(map) => map.unwrap_or_default(),
            Err(why) => return Ok(Err(unknown(&why))),
        };
        let name = format!("ConfigMap {}/{name}", service.namespace);
        let Some(text) = map.data.get(&key) else {
            return Ok(Ok(Err(format!("there is no {key} in {name}"))));
        };
        let read = settings(&name, text.as_bytes());
        Ok(Ok(read.map_err(|error| {
            format!("{name} is not valid: {}", error.line())
        })))
    }

    /// How many Windows pods there are where Transom does not look, by namespace.
    async fn windows_pods(&self, cluster: &Cluster) -> Result<Asked<BTreeMap<String, usize>>> {
        /// For more namespaces it is quicker to read all pods.
        const FEW: usize = 20;
        let Some(mut census) = Census::of(cluster) else {
            return Ok(Err(NOT_ASKED.to_owned()));
        };
        let namespaces = census.namespaces().to_vec();
        let places = match namespaces.len() {
            0..=FEW => namespaces.into_iter().map(Some).collect(),
            _ => vec![None],
        };
        for place in places {
            let resource = Resource::of(Kind::Pod, place);
            let pages = list::pages(&self.client, &resource, None, |page| {
                page.items().for_each(|pod| census.count(pod.get()));
            });
            if let Err(error) = pages.await {
                return unread(&resource, "list", error);
            }
        }
        Ok(Ok(census.counts()))
    }

    /// Workloads with pods on nodes of the wrong operating system.
    async fn misplaced(&self, cluster: &Cluster) -> Result<Asked<Vec<Misplaced>>> {
        let Some(mut search) = cluster.misplaced_search() else {
            return Ok(Err(NOT_ASKED.to_owned()));
        };
        for kind in [Kind::DaemonSet, Kind::Pod] {
            let resource = Resource::of(kind, None);
            let pages = list::pages(&self.client, &resource, None, |page| {
                for item in page.items() {
                    match kind {
                        Kind::DaemonSet => search.daemon_set(item.get()),
                        _ => _ = search.pod(item.get()),
                    }
                }
            });
            if let Err(error) = pages.await {
                return unread(&resource, "list", error);
            }
        }
        Ok(Ok(search.finish().collect()))
    }

    /// The certificate that is shown to the API server: by the Service's name in a pod, else where somebody says. Each
    /// caBundle has to trust it.
    async fn served(&self, one: Installation<'_>) -> Asked<Served> {
        let mut bundles = BTreeSet::new();
        let mut served = Err("no webhook is asked about anything".to_owned());
        for entry in one.asking() {
            let config = &entry.client_config;
            let bundle = config.ca_bundle.as_deref().unwrap_or_default();
            if !bundles.insert(bundle) {
                continue;
            }
            let target = self.target(entry)?;
            let bundle = STANDARD.decode(bundle).unwrap_or_default();
            let shown = certificate(&target, &bundle).await;
            let certificate = shown.map_err(|refused| match refused {
                Refused::Unreachable(why) if self.connect_to.is_some() => {
                    let why = why.split_once("; ").map_or(&*why, |(why, _)| why);
                    format!("{why}; is there what --connect-to names? kubectl port-forward takes a moment")
                }
                Refused::Untrusted(why) | Refused::Unreachable(why) => why,
            });
            let at = target.dial;
            let is_bad = certificate.is_err();
            served = Ok(Served { at, certificate });
            if is_bad {
                break;
            }
        }
        served
    }

    /// Where to look at the certificate of an entry.
    fn target(&self, entry: &Entry) -> Asked<Target> {
        let config = &entry.client_config;
        let mut target = match (&config.service, &config.url) {
            (Some(service), _) => {
                let port = service.port.map(u64::from);
                let is_inside = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
                if self.connect_to.is_none() && !is_inside {
                    let port = port.unwrap_or(443);
                    return Err(format!(
                        "not looked at from outside of the cluster: kubectl port-forward --namespace {} service/{} 8443:{port}, and \
                         transom doctor --connect-to localhost:8443",
                        service.namespace, service.name
                    ));
                }
                Target::of_service(&service.name, &service.namespace, port)
            }
            (None, Some(url)) => Target::of_url(url).map_err(|error| format!("{error:#}"))?,
            (None, None) => return Err(format!("{} has neither service nor url", entry.name)),
        };
        if let Some(connect_to) = &self.connect_to {
            target.dial.clone_from(connect_to);
        }
        Ok(target)
    }
}

/// Why the configuration is not known.
fn unknown(why: &str) -> String {
    format!("the configuration is not known (--config FILE gives it): {why}")
}

/// Where a part lies in the API.
fn resources(part: Part, namespace: Option<&str>) -> Vec<Resource> {
    let (group, plurals) = part.resources().unwrap_or_default();
    // Of namespaces nothing but their labels is looked at.
    let metadata = part == Part::Namespaces;
    let plurals = plurals.iter();
    plurals
        .map(|plural| Resource::any(group, plural, namespace, metadata))
        .collect()
}

/// A part that could not be read.
///
/// # Errors
/// There is no use in asking for anything else.
fn unread<T>(resource: &Resource, verb: &str, error: KubeError) -> Result<Asked<T>> {
    // Somebody has answered when asked for the version: what goes wrong here says nothing of the rest.
    if code(&error) == Some(401) {
        return Err(list::hopeless(error));
    }
    let why = resource.trouble_to(verb, &error);
    Ok(Err(format!("{resource} {why}")))
}
