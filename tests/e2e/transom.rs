//! Transom as its own program beside the API server, registered as examples/webhooks.yaml says.
//!
//! An installation sees only the namespaces that carry its label, so that tests do not meet each other's.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use hyper::Method;
use serde_json::{Value, json};

use crate::client;
use crate::cluster::Cluster;
use crate::eventually;
use crate::kubectl::Namespace;
use crate::ports::Port;
use crate::process::Process;

/// The label of a namespace that says which installation sees it.
pub(crate) const LABEL: &str = "e2e.transom.dev/installation";

const TERM: &str = "TERM";

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_transom");

/// What differs from the defaults.
#[derive(Default)]
pub(crate) struct Options<'a> {
    /// Keys of the configuration besides its head, as YAML.
    pub(crate) config: &'a str,
    /// Of both webhooks; Ignore if empty, as in examples/webhooks.yaml.
    pub(crate) failure_policy: &'a str,
    /// With the conditions that the program prints for its configuration.
    pub(crate) conditions: bool,
    /// The kubeconfig by which it watches whatever can be watched; without one it knows of no cluster.
    pub(crate) kubeconfig: Option<&'a Path>,
    /// It ends by SIGKILL.
    pub(crate) abrupt: bool,
}

pub(crate) struct Transom<'a> {
    cluster: &'a Cluster,
    name: &'static str,
    kubeconfig: Option<PathBuf>,
    process: Option<Process>,
    signal: &'static str,
    port: Port,
    pub(crate) admin_address: SocketAddr,
}

impl<'a> Transom<'a> {
    /// Starts Transom, registers it, and waits until the API server calls it.
    pub(crate) fn install(cluster: &'a Cluster, name: &'static str, options: &Options<'_>) -> Self {
        let directory = directory(cluster, name);
        std::fs::create_dir(&directory).unwrap();
        let (cert, key) = cluster.webhook_leaf();
        std::fs::write(directory.join("tls.crt"), cert).unwrap();
        std::fs::write(directory.join("tls.key"), key).unwrap();
        let config = format!(
            "apiVersion: transom.dev/v1alpha1\nkind: Config\n{}\n",
            options.config
        );
        std::fs::write(directory.join("config.yaml"), config).unwrap();
        let kubeconfig = options.kubeconfig.map(Path::to_owned);
        let signal = if options.abrupt { "KILL" } else { TERM };
        let port = Port::take();
        let (process, admin_address) = serve(&directory, &port, kubeconfig.as_deref(), signal);
        let transom = Self {
            cluster,
            name,
            kubeconfig,
            process: Some(process),
            signal,
            port,
            admin_address,
        };
        transom.register(options);
        transom
    }

    /// A namespace that this installation sees, with these labels besides.
    pub(crate) fn namespace(&self, name: &str, labels: &[(&str, &str)]) -> Namespace<'a> {
        let labels = [&[(LABEL, self.name)], labels].concat();
        self.cluster.namespace(name, &labels)
    }

    /// Ends the program; the registration stays.
    pub(crate) fn stop(&mut self) {
        self.process.take().unwrap().stop();
    }

    /// Starts the program again where the API server looks for it.
    pub(crate) fn start(&mut self) {
        let kubeconfig = self.kubeconfig.as_deref();
        let (process, admin_address) =
            serve(&self.directory(), &self.port, kubeconfig, self.signal);
        self.process = Some(process);
        self.admin_address = admin_address;
    }

    fn register(&self, options: &Options<'_>) {
        let examples = include_str!("../../examples/webhooks.yaml");
        let configurations: Vec<Value> = serde_saphyr::from_multiple(examples).unwrap();
        let namespace = self.namespace(&format!("install-{}", self.name), &[]);
        for mut configuration in configurations {
            configuration["metadata"]["name"] = json!(format!("transom-{}", self.name));
            let webhook = &mut configuration["webhooks"][0];
            let path = webhook["clientConfig"]["service"]["path"].take();
            let path = path.as_str().unwrap();
            webhook["clientConfig"] = self.cluster.client_config(self.port.number(), path);
            if options.conditions {
                webhook["matchConditions"] = self.conditions();
            }
            if !options.failure_policy.is_empty() {
                webhook["failurePolicy"] = json!(options.failure_policy);
            }
            let selector = webhook["namespaceSelector"]["matchExpressions"].as_array_mut();
            selector
                .unwrap()
                .push(json!({"key": LABEL, "operator": "In", "values": [self.name]}));
            namespace.create(&configuration.to_string());
        }
        self.wait_until_called(&namespace);
    }

    fn conditions(&self) -> Value {
        let file = self.directory().join("config.yaml");
        let args = ["config", "conditions", "--config"];
        let mut program = Command::new(PROGRAM);
        let output = program.args(args).arg(file).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_saphyr::from_slice(&output.stdout).unwrap()
    }

    fn directory(&self) -> PathBuf {
        directory(self.cluster, self.name)
    }

    /// The API server learns of webhooks a moment after they are created.
    fn wait_until_called(&self, namespace: &Namespace<'_>) {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
            "spec": {"os": {"name": "windows"}, "containers": [{"name": "a", "image": "a"}]},
        });
        let path = format!("/api/v1/namespaces/{}/pods?dryRun=All", namespace.name());
        eventually("both webhooks are called", || {
            let answer = self.cluster.api().ask(Method::POST, &path, Some(&pod));
            assert_eq!(answer.unwrap().0, 201);
            (self.calls("mutate") > 0 && self.calls("validate") > 0).then_some(())
        });
    }

    /// How many reviews this webhook has answered, by its metrics.
    pub(crate) fn calls(&self, webhook: &str) -> u64 {
        calls(self.admin_address, webhook)
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.process.as_ref().unwrap().log()
    }
}

fn directory(cluster: &Cluster, name: &str) -> PathBuf {
    cluster.directory().join(format!("transom-{name}"))
}

/// Starts the program with what is in `directory`; it, and where it listens for its operators.
fn serve(
    directory: &Path,
    port: &Port,
    kubeconfig: Option<&Path>,
    signal: &str,
) -> (Process, SocketAddr) {
    let mut program = Command::new(PROGRAM);
    program.args([
        "serve",
        "--config=config.yaml",
        "--tls-cert-file=tls.crt",
        "--tls-private-key-file=tls.key",
        "--log-format=json",
        "--drain-seconds=0",
        "--admin-bind=127.0.0.1:0",
        &format!("--bind={}", port.address()),
    ]);
    if let Some(kubeconfig) = kubeconfig {
        program.env("KUBECONFIG", kubeconfig).args([
            "--watch-namespaces",
            "--watch-runtime-classes",
            "--watch-nodes",
        ]);
    }
    let (process, [_, admin_address]) = start_to_end_by(signal, directory, "transom", &program);
    (process, admin_address)
}

/// Starts the program, which logs JSON, and waits until it is ready.
pub(crate) fn start(directory: &Path, name: &str, program: &Command) -> (Process, [SocketAddr; 2]) {
    start_to_end_by(TERM, directory, name, program)
}

fn start_to_end_by(
    signal: &str,
    directory: &Path,
    name: &str,
    program: &Command,
) -> (Process, [SocketAddr; 2]) {
    let log = directory.join(format!("{name}.log"));
    let before = std::fs::read_to_string(log).unwrap_or_default();
    let mut process = Process::start(directory, name, program, signal);
    let addresses = eventually("transom serve is ready", || {
        process.must_run();
        let log = process.log();
        let events = log[before.len()..].lines();
        let mut events = events.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ready = events.find(|event| {
            let message = event["message"].as_str().unwrap_or_default();
            message.starts_with("ready:")
        })?;
        Some(
            ["address", "admin_address"].map(|name| ready[name].as_str().unwrap().parse().unwrap()),
        )
    });
    (process, addresses)
}

/// How many reviews this webhook of the program has answered, by its metrics.
pub(crate) fn calls(admin_address: SocketAddr, webhook: &str) -> u64 {
    let labels = format!("webhook=\"{webhook}\"");
    metric(admin_address, "transom_admission_requests_total", &labels)
}

/// The sum of a metric's lines with these labels.
pub(crate) fn metric(admin_address: SocketAddr, name: &str, labels: &str) -> u64 {
    let metrics = admin(admin_address, "/metrics");
    let counted = metrics.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with('{') && rest.contains(labels))
    });
    let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
    counted.map(count).sum()
}

/// What the program tells its operators at this path.
pub(crate) fn admin(address: SocketAddr, path: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(client::admin(address, path))
}
