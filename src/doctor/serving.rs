//! The checks of what answers: the configuration in force, the certificate, the endpoints of the Service, and whether
//! there are enough of them for the failure policy.

use std::collections::BTreeSet;

use super::certificate::{Left, end_of_der};
use super::objects::{Deployment, Endpoint};
use super::snapshot::{Installation, known};
use super::{Check, Cluster, Few, Part, Told, Unasked, count, fail, ok, or_ok, warn};

pub(super) const CERTIFICATE: Check = Check {
    name: "certificate",
    looks_at: "the certificate that is served is one that each `caBundle` trusts, for 7 days more",
    helps: "[runbooks](runbooks.md#transomcertificateexpired)",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::Connection,
    ],
    run: certificate,
};

pub(super) const CONFIGURATION: Check = Check {
    name: "configuration",
    looks_at: "the configuration in the installation's ConfigMap, or that of `--config`, is valid",
    helps: "`transom config check FILE`",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::ConfigMap,
    ],
    run: configuration,
};

pub(super) const ENDPOINTS: Check = Check {
    name: "endpoints",
    looks_at: "the Service is there and has ready endpoints",
    helps: "the pods behind it: `kubectl describe pods`, `/readyz?verbose`",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::Service,
        Part::EndpointSlices,
    ],
    run: endpoints,
};

pub(super) const FAILURE_POLICY: Check = Check {
    name: "failure-policy",
    looks_at: "`failurePolicy: Fail` has two replicas or more, on two nodes or more, and a PodDisruptionBudget",
    helps: "`values-ha.yaml` of the chart, or `failurePolicy: Ignore`",
    needs: &[
        Part::MutatingWebhooks,
        Part::ValidatingWebhooks,
        Part::Service,
        Part::EndpointSlices,
        Part::Deployments,
        Part::Budgets,
    ],
    run: failure_policy,
};

/// As long before its end it should have been renewed; the alert has the same.
const SOON: i64 = 7;

fn certificate(cluster: &Cluster) -> Told {
    cluster.the_installation()?;
    let served = known(&cluster.served)?;
    let at = &served.at;
    let log = "look at the log of transom serve and at /readyz?verbose of its pods";
    let der = match &served.certificate {
        Ok(der) => der,
        // Behind the last semicolon it says what helps.
        Err(why) => {
            let (why, remedy) = why.rsplit_once("; ").unwrap_or((why, log));
            return Ok(vec![fail(why, remedy)]);
        }
    };
    let left = end_of_der(der).map(|end| Left::until(end, cluster.now));
    Ok(vec![match left {
        None | Some(Left::Nothing) => fail(format!("that of {at} has expired"), log),
        Some(Left::Days(days)) if days < SOON => warn(
            format!("that of {at} has {days} days left: it is not renewed"),
            log,
        ),
        Some(Left::Days(days)) => ok(format!(
            "that of {at} is trusted by the caBundle and has {days} days left"
        )),
    }])
}

fn configuration(cluster: &Cluster) -> Told {
    cluster.the_installation()?;
    Ok(vec![match known(&cluster.settings)? {
        Ok(settings) => ok(settings.origin.clone()),
        Err(why) => fail(
            format!("{why}: replicas go on with what they had, and no new one starts"),
            "mend it: transom config check FILE says what is wrong with a file, helm upgrade brings it in",
        ),
    }])
}

/// The ready endpoints of the Service, or why there is nothing to count.
fn ready(cluster: &Cluster) -> Result<Vec<&Endpoint>, Unasked> {
    let slices = known(&cluster.slices)?.iter();
    let endpoints = slices.flat_map(|slice| &slice.endpoints);
    Ok(endpoints
        .filter(|endpoint| endpoint.conditions.ready != Some(false))
        .collect())
}

/// The Service's name, with its namespace.
fn service_name(one: Installation<'_>) -> Result<String, Unasked> {
    let service = one.service().ok_or_else(|| {
        Unasked::Unread("reviews go to a URL: there is no Service to look at".to_owned())
    })?;
    Ok(format!("{}/{}", service.namespace, service.name))
}

fn endpoints(cluster: &Cluster) -> Told {
    let name = service_name(cluster.the_installation()?)?;
    let Some(service) = known(&cluster.service)? else {
        return Ok(vec![fail(
            format!("there is no Service {name}, to which reviews go"),
            "helm upgrade brings it back; webhook configurations without it: kubectl delete them",
        )]);
    };
    if service.spec.kind == "ExternalName" {
        let why = format!("Service {name} leads out of the cluster");
        return Err(Unasked::Unread(why));
    }
    // One that has addresses of two families is in two slices.
    let ready: BTreeSet<_> = ready(cluster)?.into_iter().map(identity).collect();
    Ok(vec![match ready.len() {
        0 => fail(
            format!("Service {name} has no ready endpoints: nobody answers the API server"),
            "kubectl get and describe the pods behind it, look at their log and at /readyz?verbose",
        ),
        some => ok(format!(
            "Service {name} has {}",
            count(some, "ready endpoint")
        )),
    }])
}

/// What tells endpoints apart: the pod, or else the address.
fn identity(endpoint: &Endpoint) -> &str {
    let pod = endpoint.target_ref.as_ref().map(|pod| pod.name.as_str());
    let address = || endpoint.addresses.first().map(String::as_str);
    pod.or_else(address).unwrap_or_default()
}

fn failure_policy(cluster: &Cluster) -> Told {
    let one = cluster.the_installation()?;
    if !one.asking().any(|entry| entry.failure_policy == "Fail") {
        return Ok(vec![ok(
            "Ignore: while nobody answers, objects are admitted as they are",
        )]);
    }
    let name = service_name(one)?;
    let ready = ready(cluster)?;
    let pods: BTreeSet<_> = ready.iter().copied().map(identity).collect();
    let nodes: BTreeSet<_> = ready
        .iter()
        .filter_map(|e| e.node_name.as_deref())
        .collect();
    let deployment = cluster.deployment()?;
    let wanted = deployment.and_then(|deployment| deployment.spec.replicas);
    let wanted = wanted.unwrap_or_default();
    if pods.is_empty() && wanted > 1 {
        // There are enough of them; that none is ready is told of the endpoints.
        return Err(Unasked::Nothing);
    }
    let mut found = Vec::new();
    if pods.len() < 2 && wanted > 1 {
        found.push(warn(
            format!(
                "failurePolicy is Fail, and {} of {wanted} replicas is ready behind Service {name}: while none is, what is for \
                 Windows is refused",
                pods.len()
            ),
            "kubectl get and describe the pods behind it, look at their log and at /readyz?verbose",
        ));
    } else if pods.len() < 2 {
        found.push(warn(
            format!(
                "failurePolicy is Fail, with {} behind Service {name}: while none is ready, what is for Windows is refused",
                count(pods.len(), "replica")
            ),
            "replicaCount of 2 or more (values-ha.yaml of the chart has 3), or failurePolicy: Ignore",
        ));
    } else if nodes.len() == 1 {
        found.push(warn(
            format!(
                "failurePolicy is Fail, and all {} replicas are on {}: when it goes, what is for Windows is refused",
                pods.len(),
                Few(&nodes.iter().collect::<Vec<_>>())
            ),
            "topologySpreadConstraints, as values-ha.yaml of the chart has them",
        ));
    }
    if let Some(deployment) = deployment
        && !has_budget(cluster, deployment)?
    {
        found.push(warn(
            format!(
                "failurePolicy is Fail, and no PodDisruptionBudget is for Deployment {}: draining nodes may evict all replicas at once",
                deployment.metadata.name
            ),
            "podDisruptionBudget.enabled=true in the chart",
        ));
    }
    or_ok(found, || {
        let budget = match deployment {
            Some(_) => " and a PodDisruptionBudget",
            None => "; they are of no Deployment, so nothing is said of their PodDisruptionBudget",
        };
        format!(
            "Fail, with {} on {}{budget}",
            count(pods.len(), "replica"),
            count(nodes.len(), "node")
        )
    })
}

fn has_budget(cluster: &Cluster, deployment: &Deployment) -> Result<bool, Unasked> {
    let labels = &deployment.spec.template.metadata.labels;
    let mut budgets = known(&cluster.budgets)?.iter();
    Ok(budgets.any(|budget| {
        let selector = budget.spec.selector.as_ref();
        selector.is_some_and(|selector| selector.matches(labels))
    }))
}

/// Where the replicas have their configuration from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// They are given none.
    Defaults,
    /// A key of a ConfigMap.
    ConfigMap {
        /// The ConfigMap's name.
        name: String,
        /// The key in it.
        key: String,
    },
}

/// Where the replicas have their configuration from.
///
/// # Errors
/// It cannot be seen: who they are, or what their file is.
pub fn watched_config(cluster: &Cluster) -> Result<Source, String> {
    let deployment = cluster.deployment().map_err(|_| "it was not asked for");
    let deployment = deployment?.ok_or("no Deployment is behind the Service")?;
    let pod = &deployment.spec.template.spec;
    let mut containers = pod.containers.iter();
    let given = containers.find_map(|container| Some((container, container.value_of("--config")?)));
    let Some((container, file)) = given else {
        return Ok(Source::Defaults);
    };
    let mounted = container.volume_mounts.iter().find_map(|mount| {
        let directory = mount.mount_path.trim_end_matches('/');
        let key = file.strip_prefix(directory)?.strip_prefix('/')?;
        let volume = pod.volumes.iter().find(|v| v.name == mount.name)?;
        let name = volume.config_map.as_ref()?.name.clone();
        let key = key.to_owned();
        Some(Source::ConfigMap { name, key })
    });
    mounted.ok_or_else(|| format!("{file} is not of a ConfigMap"))
}
