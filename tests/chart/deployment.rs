//! The Deployment and what belongs to it: flags that the program knows, ports, probes, volumes, security.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};
use serde_json::{Value, json};
use transom::cli::{Cli, Command, ServeArgs};

use super::helm::{Manifests, NAMESPACE, SILENT, cases, helm};

fn pod(manifests: &Manifests) -> &Value {
    &manifests.one("Deployment")["spec"]["template"]["spec"]
}

fn container(manifests: &Manifests) -> &Value {
    let containers = pod(manifests)["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    &containers[0]
}

fn arguments(container: &Value) -> Vec<&str> {
    let arguments = container["args"].as_array().unwrap();
    arguments.iter().map(|a| a.as_str().unwrap()).collect()
}

/// What comes after `flag=`.
fn argument<'m>(container: &'m Value, flag: &str) -> Option<&'m str> {
    let mut arguments = arguments(container).into_iter();
    arguments.find_map(|argument| argument.strip_prefix(flag)?.strip_prefix('='))
}

/// The variables of the environment as the flags that they stand for, with the values that a kubelet gives them.
fn environment(container: &Value) -> Vec<String> {
    let mut command = Cli::command();
    command.build();
    let serve = command.find_subcommand("serve").unwrap();
    let variables = container["env"].as_array().into_iter().flatten();
    let flags = variables.map(|variable| {
        assert_eq!(
            variable["valueFrom"]["fieldRef"]["fieldPath"],
            "metadata.namespace"
        );
        let name = variable["name"].as_str().unwrap();
        let mut flags = serve.get_arguments();
        let flag = flags.find(|flag| flag.get_env().is_some_and(|env| env == name));
        match flag.and_then(|flag| flag.get_long()) {
            Some(long) => format!("--{long}={NAMESPACE}"),
            None => name.to_owned(),
        }
    });
    flags.collect()
}

fn parsed(container: &Value) -> ServeArgs {
    let written = arguments(container).into_iter().map(str::to_owned);
    let all = written.chain(environment(container));
    let cli = Cli::try_parse_from(["transom".to_owned()].into_iter().chain(all));
    match cli.unwrap_or_else(|error| panic!("{error}")).command {
        Command::Serve(args) => *args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_program_knows_its_flags() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let container = container(&rendered);
        let args = parsed(container);
        let ports = container["ports"].as_array().unwrap();
        let port = |name: &str| ports.iter().find(|port| port["name"] == name).unwrap();
        assert_eq!(port("webhook")["containerPort"], args.bind.port(), "{case}");
        assert_eq!(port("admin")["containerPort"], args.admin_bind.port());
        assert_eq!(args.bind.ip(), args.admin_bind.ip());
        assert_eq!(args.bind.is_ipv6(), case == "ipv6");
        assert!(args.bind.ip().is_unspecified());
        let drain = if case == "everything-on" { 30 } else { 15 };
        assert_eq!(args.drain_seconds, drain);
        // What is in flight then has 10 s.
        let grace = pod(&rendered)["terminationGracePeriodSeconds"].as_u64();
        assert!(grace.unwrap() > drain + 10, "{case}");
    }
    let rendered = helm.ci("everything-on");
    assert_eq!(parsed(container(&rendered)).max_connections, 4096);
}

#[test]
fn flags_follow_the_mode_of_tls() {
    let Some(helm) = helm() else { return };
    let managed = helm.ci("everything-on");
    let container_of = container(&managed);
    assert_eq!(argument(container_of, "--ca-secret"), Some("gate-ca"));
    assert_eq!(argument(container_of, "--service"), Some("gate"));
    assert_eq!(
        argument(container_of, "--webhook-configuration"),
        Some("gate")
    );
    assert_eq!(argument(container_of, "--tls-cert-file"), None);
    assert_eq!(managed.one("Secret")["metadata"]["name"], "gate-ca");
    assert_eq!(
        container_of["env"],
        json!([{"name": "TRANSOM_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}])
    );
    for (case, secret) in [
        ("cert-manager", "transom-tls"),
        ("existing-secret", "transom-certificate"),
    ] {
        let rendered = helm.ci(case);
        let container = container(&rendered);
        assert_eq!(argument(container, "--ca-secret"), None, "{case}");
        assert!(rendered.all("Secret").is_empty(), "{case}");
        let args = parsed(container);
        assert_eq!(args.tls_cert_file.unwrap().to_str(), Some("/tls/tls.crt"));
        assert_eq!(
            args.tls_private_key_file.unwrap().to_str(),
            Some("/tls/tls.key")
        );
        let volumes = pod(&rendered)["volumes"].as_array().unwrap();
        let tls = volumes
            .iter()
            .find(|volume| volume["name"] == "tls")
            .unwrap();
        assert_eq!(tls["secret"]["secretName"], secret);
    }
    let rendered = helm.ci("existing-secret");
    let clients = parsed(container(&rendered)).tls_client_ca_file;
    assert_eq!(clients.unwrap().to_str(), Some("/client-ca/ca.crt"));
}

/// Nothing in it that an upgrade, or a GitOps tool, would write over what the program has filled in.
#[test]
fn the_secret_of_the_ca_is_empty() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("default");
    let secret = rendered.one("Secret").as_object().unwrap();
    let keys: Vec<_> = secret.keys().collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata", "type"]);
}

#[test]
fn facts_are_watched_unless_that_is_off_and_events_are_written_if_that_is_on() {
    let Some(helm) = helm() else { return };
    let all = [
        "--watch-namespaces",
        "--watch-runtime-classes",
        "--watch-nodes",
        "--events",
    ];
    for (values, want) in [
        ("events: {enabled: true}", vec![0, 1, 2, 3]),
        ("{}", vec![0, 1, 2]),
        ("watchNamespaces: false", vec![1, 2]),
        ("watchRuntimeClasses: false", vec![0, 2]),
        ("watchNodes: false", vec![0, 1]),
        (SILENT, vec![]),
    ] {
        let rendered = helm.with(values).unwrap();
        let mut arguments = arguments(container(&rendered));
        arguments.retain(|argument| all.contains(argument));
        let want: Vec<_> = want.into_iter().map(|i| all[i]).collect();
        assert_eq!(arguments, want, "{values}");
    }
}

#[test]
fn every_file_that_is_read_is_mounted_as_a_directory() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let container = container(&rendered);
        let mounts = container["volumeMounts"].as_array().unwrap();
        let args = parsed(container);
        let files = [
            args.config,
            args.tls_cert_file,
            args.tls_private_key_file,
            args.tls_client_ca_file,
        ];
        for file in files.into_iter().flatten() {
            let directory = file.parent().unwrap().to_str().unwrap();
            let mount = mounts.iter().find(|m| m["mountPath"] == directory).unwrap();
            // A file that is mounted alone never changes.
            assert!(mount.get("subPath").is_none() && mount["readOnly"] == true);
        }
        let names = |list: &Value| -> BTreeSet<String> {
            let list = list.as_array().unwrap().iter();
            list.map(|item| item["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(
            names(&container["volumeMounts"]),
            names(&pod(&rendered)["volumes"])
        );
    }
}

#[test]
fn every_container_meets_pod_security_restricted() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let mut pods = vec![pod(&rendered)];
        pods.extend(rendered.all("Pod").into_iter().map(|pod| &pod["spec"]));
        for spec in pods {
            assert_eq!(spec["securityContext"]["runAsNonRoot"], true);
            assert_eq!(
                spec["securityContext"]["seccompProfile"]["type"],
                "RuntimeDefault"
            );
            let context = &spec["containers"][0]["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false);
            assert_eq!(context["readOnlyRootFilesystem"], true);
            assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
            let volumes = spec["volumes"].as_array();
            for volume in volumes.into_iter().flatten() {
                let kinds = ["secret", "configMap"];
                assert!(kinds.iter().any(|kind| volume.get(kind).is_some()));
            }
        }
    }
}

#[test]
fn probes_ask_the_admin_port() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("host-network");
    let container = container(&rendered);
    for (probe, path) in [("livenessProbe", "/livez"), ("readinessProbe", "/readyz")] {
        assert_eq!(
            container[probe]["httpGet"],
            json!({"path": path, "port": "admin"})
        );
    }
    assert_eq!(pod(&rendered)["hostNetwork"], true);
    assert_eq!(pod(&rendered)["dnsPolicy"], "ClusterFirstWithHostNet");
}

#[test]
fn the_service_leads_to_ports_and_pods_that_exist() {
    let Some(helm) = helm() else { return };
    for case in cases() {
        let rendered = helm.ci(&case);
        let spec = &rendered.one("Service")["spec"];
        let deployment = &rendered.one("Deployment")["spec"];
        assert_eq!(
            spec["selector"], deployment["selector"]["matchLabels"],
            "{case}"
        );
        let labels = &deployment["template"]["metadata"]["labels"];
        let selector = spec["selector"].as_object().unwrap();
        assert!(selector.iter().all(|(key, value)| labels[key] == *value));
        let targets: Vec<_> = spec["ports"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| &p["targetPort"])
            .collect();
        assert_eq!(targets, ["webhook", "admin"]);
    }
    let rendered = helm.ci("ipv6");
    assert_eq!(
        rendered.one("Service")["spec"]["ipFamilies"],
        json!(["IPv6"])
    );
}

#[test]
fn replicas_are_replaced_without_a_gap() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("default");
    let spec = &rendered.one("Deployment")["spec"];
    assert_eq!(spec["replicas"], 2);
    assert_eq!(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
    let rendered = helm.ci("ha");
    let spec = &rendered.one("Deployment")["spec"];
    assert_eq!(spec["replicas"], 3);
    let budget = &rendered.one("PodDisruptionBudget")["spec"];
    assert_eq!(budget["maxUnavailable"], 1);
    assert_eq!(budget["selector"], spec["selector"]);
    let spread = spec["template"]["spec"]["topologySpreadConstraints"]
        .as_array()
        .unwrap();
    for constraint in spread {
        assert_eq!(constraint["labelSelector"], spec["selector"]);
    }
}

#[test]
fn an_autoscaler_has_the_number_of_replicas_for_itself() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    let deployment = rendered.one("Deployment");
    assert!(deployment["spec"].get("replicas").is_none());
    let target = &rendered.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"];
    assert_eq!(target["name"], deployment["metadata"]["name"]);
    assert_eq!(
        rendered.one("PodDisruptionBudget")["spec"]["minAvailable"],
        "50%"
    );
}

#[test]
fn the_image_is_named_by_tag_or_digest() {
    let Some(helm) = helm() else { return };
    let image = |manifests: &Manifests| container(manifests)["image"].as_str().unwrap().to_owned();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        image(&helm.ci("default")),
        format!("localhost/transom:{version}")
    );
    let rendered = helm.ci("everything-on");
    let by_digest = image(&rendered);
    assert!(
        by_digest.starts_with("registry.example.com/transom@sha256:"),
        "{by_digest}"
    );
    assert_eq!(
        rendered.test_pod()["spec"]["containers"][0]["image"],
        by_digest
    );
}

#[test]
fn the_network_policy_lets_in_what_asks_and_out_what_is_asked() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    let spec = &rendered.one("NetworkPolicy")["spec"];
    assert_eq!(spec["ingress"][0]["ports"][0]["port"], "webhook");
    assert_eq!(
        spec["ingress"][0]["from"][0]["ipBlock"]["cidr"],
        "10.0.0.0/24"
    );
    assert_eq!(spec["ingress"][1]["ports"][0]["port"], "admin");
    assert_eq!(spec["egress"][0]["ports"][1]["port"], 6443);
    let silent = SILENT.replacen('{', "{networkPolicy: {enabled: true}, ", 1);
    let rendered = helm.with(&silent).unwrap();
    assert_eq!(rendered.one("NetworkPolicy")["spec"]["egress"], json!([]));
}

#[test]
fn restricts_egress_to_api_servers_and_dns_that_are_given() {
    let Some(helm) = helm() else { return };
    let egress = |values: &str| {
        let values = format!("networkPolicy: {{enabled: true, {values}}}");
        let rendered = helm.with(&values).unwrap();
        rendered.one("NetworkPolicy")["spec"]["egress"].clone()
    };
    let ports = |all: &[(u16, &str)]| {
        let all = all
            .iter()
            .map(|(port, protocol)| json!({"port": port, "protocol": protocol}));
        all.collect::<Vec<_>>()
    };
    let api_server = ports(&[(443, "TCP"), (6443, "TCP")]);
    let dns = ports(&[(53, "UDP"), (53, "TCP")]);
    assert_eq!(egress(""), json!([{"ports": api_server}, {"ports": dns}]));
    let values = "apiServerPorts: [6443], apiServerCIDRs: [10.0.0.10/32, 'fd00::/64'], dnsPorts: [53, 5353], \
        dnsTo: [{podSelector: {}}, {ipBlock: {cidr: 169.254.20.10/32}}]";
    let block = |cidr: &str| json!({"ipBlock": {"cidr": cidr}});
    assert_eq!(
        egress(values),
        json!([
            {"ports": ports(&[(6443, "TCP")]), "to": [block("10.0.0.10/32"), block("fd00::/64")]},
            {
                "ports": ports(&[(53, "UDP"), (53, "TCP"), (5353, "UDP"), (5353, "TCP")]),
                "to": [{"podSelector": {}}, block("169.254.20.10/32")],
            },
        ])
    );
}

#[test]
fn the_service_monitor_reads_the_port_of_the_service() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    let monitor = rendered.one("ServiceMonitor");
    assert_eq!(monitor["metadata"]["labels"]["release"], "prometheus");
    assert_eq!(
        monitor["spec"]["endpoints"][0],
        json!({"port": "metrics", "path": "/metrics", "interval": "30s", "scrapeTimeout": "10s"})
    );
    let service = rendered.one("Service");
    assert_eq!(
        monitor["spec"]["selector"]["matchLabels"],
        service["spec"]["selector"]
    );
    assert_eq!(service["spec"]["ports"][1]["name"], "metrics");
}

/// The alerts are those of the file, which tests/monitoring.rs tries.
#[test]
fn the_prometheus_rule_has_the_alerts_of_the_file() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    let rule = rendered.one("PrometheusRule");
    assert_eq!(rule["metadata"]["labels"]["release"], "prometheus");
    let file = super::read("charts/transom/files/alerts.yaml");
    let mut want: Value = serde_saphyr::from_str(&file).unwrap();
    for alert in want["groups"][0]["rules"].as_array_mut().unwrap() {
        alert["labels"]["team"] = "windows".into();
        let name = alert["alert"].as_str().unwrap().to_lowercase();
        alert["annotations"]["runbook_url"] =
            format!("https://runbooks.example.com/transom#{name}").into();
    }
    assert_eq!(rule["spec"], want);

    let values = "prometheusRule: {enabled: true, alertLabels: {severity: none}}";
    let rendered = helm.with(values).unwrap();
    let rules = &rendered.one("PrometheusRule")["spec"]["groups"][0]["rules"];
    for alert in rules.as_array().unwrap() {
        assert_eq!(alert["labels"], json!({"severity": "none"}));
    }
    assert!(helm.with("{}").unwrap().all("PrometheusRule").is_empty());
}

/// Alertmanager and its receivers resolve no relative URL.
#[test]
fn keeps_runbook_urls_absolute_or_absent() {
    let Some(helm) = helm() else { return };
    let values = |url: &str| {
        format!(
            "prometheusRule: {{enabled: true, runbookUrl: {}}}",
            json!(url)
        )
    };
    let urls = |values: &str| -> Vec<Value> {
        let rendered = helm.with(values).unwrap();
        let groups = &rendered.one("PrometheusRule")["spec"]["groups"];
        let rules = groups[0]["rules"].as_array().unwrap();
        let all = rules.iter().map(|rule| &rule["annotations"]["runbook_url"]);
        all.cloned().collect()
    };
    let absent = urls("prometheusRule: {enabled: true}");
    assert!(absent.len() > 10 && absent.iter().all(Value::is_null));
    let set = urls(&values("https://git.example.com/runbooks.md"));
    assert_eq!(
        set[0],
        json!("https://git.example.com/runbooks.md#transomabsent")
    );
    assert!(!set.iter().any(Value::is_null));
    for wrong in ["docs/runbooks.md", "/runbooks", "https://", "https://a/b#c"] {
        assert!(helm.with(&values(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn the_dashboard_is_found_by_the_sidecar_and_is_the_one_of_the_file() {
    let Some(helm) = helm() else { return };
    let rendered = helm.ci("everything-on");
    let maps = rendered.all("ConfigMap");
    let dashboard = maps
        .iter()
        .find(|m| m["data"].get("transom.json").is_some());
    let dashboard = dashboard.unwrap();
    let metadata = &dashboard["metadata"];
    assert_eq!(metadata["labels"]["grafana_dashboard"], "1");
    assert_eq!(metadata["annotations"]["grafana_folder"], "Kubernetes");
    let have: Value =
        serde_json::from_str(dashboard["data"]["transom.json"].as_str().unwrap()).unwrap();
    let want = super::read("charts/transom/files/dashboard.json");
    assert_eq!(have, serde_json::from_str::<Value>(&want).unwrap());
    assert_eq!(helm.with("{}").unwrap().all("ConfigMap").len(), 1);
}
