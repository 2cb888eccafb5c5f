//! A real Prometheus reads the metrics of the replicas, evaluates the alerts and answers the queries of the dashboard.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::chart::{CHART, Release, helm};
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::ports::Port;
use crate::process::Process;
use crate::queries::{queries, rules, text};
use crate::{eventually, windows_pod};

tests![a_prometheus_reads_the_metrics_and_answers_alerts_and_dashboard];

const NAME: &str = "transom-metrics";

/// Series that only grow when something else happens than reviews.
const SELDOM: [&str; 3] = [
    "transom_ca_writes_total",
    "transom_ca_bundle_writes_total",
    "transom_cluster_errors_total",
];

/// Alerts that a busy machine may raise.
const BUSY: [&str; 3] = [
    "TransomNamespacesUnknown",
    "TransomSlow",
    "TransomTLSHandshakesFailing",
];

fn a_prometheus_reads_the_metrics_and_answers_alerts_and_dashboard(cluster: &Cluster) {
    if Command::new("prometheus")
        .arg("--version")
        .output()
        .is_err()
    {
        println!(
            "SKIPPED: a scrape by Prometheus: there is no prometheus in PATH; Debian's package prometheus has it"
        );
        return;
    }
    let release = Release::install(cluster, NAME, &json!({}));
    let namespace = release.watched("metrics", &[]);
    namespace.wait_until_patched();
    let mut prometheus = Prometheus::start(&release);

    // Nothing is wrong with any target.
    let targets = eventually("each replica is read", || {
        prometheus.process.must_run();
        let targets = prometheus.get("/api/v1/targets")?["activeTargets"].take();
        let is_read = |target: &Value| target["health"] != "unknown";
        let all = targets.as_array().unwrap();
        (all.len() == 2 && all.iter().all(is_read)).then(|| all.clone())
    });
    for target in targets {
        assert_eq!(target["health"], "up", "{target}");
        assert_eq!(target["lastError"], "", "{target}");
    }
    // Prometheus 3 would not read it, older ones go on and say so.
    let log = prometheus.process.log();
    assert!(!log.contains("content type"), "{log}");

    // Every query has an answer, and all that count reviews count these.
    let mut unanswered: Vec<_> = queries()
        .into_iter()
        .map(|(query, _)| {
            let query = query.replace("$__rate_interval", "1m");
            query.replace("$namespace", NAME)
        })
        .collect();
    let count = unanswered.len();
    unanswered.retain(|query| {
        let is_seldom = SELDOM.iter().any(|series| query.contains(series));
        if is_seldom {
            prometheus.query(query);
        }
        !is_seldom
    });
    assert_eq!(count - unanswered.len(), SELDOM.len());
    eventually("every query of the dashboard has data", || {
        review(&namespace);
        unanswered.retain(|query| {
            let samples = prometheus.query(query);
            let values = samples.iter().map(|sample| &sample["value"][1]);
            let mut known = values.filter(|value| *value != "NaN");
            known.next().is_none()
        });
        unanswered.is_empty().then_some(())
    });

    // Every alert is evaluated, and nothing is wrong.
    for rule in rules() {
        let (name, wrong) = (text(&rule, "alert"), prometheus.query(text(&rule, "expr")));
        assert!(
            wrong.is_empty() || BUSY.contains(&name),
            "{name}: {wrong:?}"
        );
    }
    let evaluated = eventually("every alert is evaluated", || {
        let groups = prometheus.get("/api/v1/rules")?["groups"].take();
        let groups = groups.as_array().unwrap().iter();
        let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
        let rules: Vec<Value> = rules.cloned().collect();
        let is_known = |rule: &Value| rule["health"] != "unknown";
        (!rules.is_empty() && rules.iter().all(is_known)).then_some(rules)
    });
    assert_eq!(evaluated.len(), rules().len());
    for rule in evaluated {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
}

/// One that is patched, one that is repaired, and one that is refused.
fn review(namespace: &Namespace<'_>) {
    let mut repaired = windows_pod("repaired");
    repaired["spec"]["containers"][0]["securityContext"] =
        json!({"allowPrivilegeEscalation": false});
    let mut refused = windows_pod("refused");
    refused["spec"]["hostPID"] = json!(true);
    let pods = [windows_pod("patched"), repaired, refused];
    let answers = pods.map(|pod| namespace.dry_run(&pod).0);
    assert_eq!(answers, [201, 201, 403]);
}

struct Prometheus {
    process: Process,
    port: Port,
}

impl Prometheus {
    /// With what the operator makes of the chart's ServiceMonitor and Service; the replicas are on loopback.
    fn start(release: &Release<'_>) -> Self {
        let endpoint = endpoint(release);
        let replicas = release.replicas().iter().enumerate();
        let targets = replicas.map(|(number, replica)| {
            let labels = json!({
                "namespace": NAME, "service": NAME, "endpoint": endpoint["port"], "container": "transom",
                "pod": format!("{NAME}-{number}"),
            });
            json!({"targets": [replica.admin_address.to_string()], "labels": labels})
        });
        let config = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [Path::new(CHART).join("files/alerts.yaml")],
            "scrape_configs": [{
                "job_name": NAME, "metrics_path": endpoint["path"], "static_configs": targets.collect::<Value>(),
            }],
        });
        let directory = release.cluster.directory().join("prometheus");
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("prometheus.yml"), config.to_string()).unwrap();
        let port = Port::take();
        let mut program = Command::new("prometheus");
        program.args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            "--log.level=debug",
            &format!("--web.listen-address={}", port.address()),
        ]);
        let process = Process::start(&directory, "prometheus", &program, "KILL");
        Self { process, port }
    }

    /// The data of an answer; nothing while nobody listens.
    fn get(&self, path: &str) -> Option<Value> {
        // Of HTTP 1.0, so that the end of the answer is that of the connection.
        let mut stream = TcpStream::connect(self.port.address()).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (_, body) = answer.split_once("\r\n\r\n")?;
        // It says in plain words that it is starting.
        let mut body: Value = serde_json::from_str(body).ok()?;
        assert_eq!(body["status"], "success", "{path}: {body}");
        Some(body["data"].take())
    }

    /// The samples that a query has at this moment.
    fn query(&self, expression: &str) -> Vec<Value> {
        let mut path = "/api/v1/query?query=".to_owned();
        for byte in expression.bytes() {
            write!(path, "%{byte:02X}").unwrap();
        }
        let data = self.get(&path).unwrap();
        assert_eq!(data["resultType"], "vector", "{expression}: {data}");
        data["result"].as_array().unwrap().clone()
    }
}

/// What the ServiceMonitor says, after a look at whether the Service leads there.
fn endpoint(release: &Release<'_>) -> Value {
    let set = "metrics.serviceMonitor.enabled=true";
    let args = ["template", NAME, CHART, "--namespace", NAME, "--set", set];
    let rendered = helm(release.cluster, release.namespace.files(), &args).unwrap();
    let rendered: Vec<Value> = serde_saphyr::from_multiple(&rendered).unwrap();
    let one = |kind: &str| {
        rendered
            .iter()
            .find(|object| object["kind"] == kind)
            .unwrap()
    };
    let endpoint = one("ServiceMonitor")["spec"]["endpoints"][0].clone();
    let ports = one("Service")["spec"]["ports"].as_array().unwrap();
    let port = ports.iter().find(|port| port["name"] == endpoint["port"]);
    assert_eq!(port.unwrap()["targetPort"], "admin", "{ports:?}");
    endpoint
}
