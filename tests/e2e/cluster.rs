//! A control plane with simulated nodes: etcd, the API server, the controllers, the scheduler and kwok, on loopback.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use hyper::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Authority, BOTH};
use crate::http::Server;
use crate::kubectl::Namespace;
use crate::ports::Port;
use crate::process::Process;
use crate::{PATIENCE, eventually};

/// What the directory that KUBEBUILDER_ASSETS names must hold.
const PROGRAMS: [&str; 8] = [
    "etcd",
    "helm",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubeconform",
    "kubectl",
    "kwok",
];

/// Namespace and name of the Service that leads to our own machine.
const LOOPBACK: &str = "loopback";

pub(crate) struct Cluster {
    // The order in which they end: who asks before who answers.
    kwok: Option<Process>,
    scheduler: Option<Process>,
    controllers: Option<Process>,
    api_server: Process,
    _etcd: Process,
    api: Server,
    etcd: Server,
    authority: Authority,
    assets: PathBuf,
    directory: TempDir,
    /// Of etcd, its peers, the API server and kwok.
    ports: [Port; 4],
}

impl Cluster {
    /// Which programs are missing, if any.
    pub(crate) fn missing(assets: &Path) -> Vec<&'static str> {
        let missing = PROGRAMS.iter().filter(|name| !assets.join(name).is_file());
        missing.copied().collect()
    }

    /// Starts everything and waits until the nodes are ready.
    pub(crate) fn start(assets: &Path) -> Self {
        Self::start_with(assets, &[])
    }

    /// The same, with more flags of the API server.
    pub(crate) fn start_with(assets: &Path, flags: &[&str]) -> Self {
        let mut cluster = Self::api_server_alone(assets, flags);
        let files = Files {
            directory: cluster.directory.path(),
            assets: &cluster.assets,
            authority: &cluster.authority,
        };
        let (controllers, scheduler) = (files.controllers(), files.scheduler());
        cluster.controllers = Some(controllers);
        cluster.scheduler = Some(scheduler);
        cluster.add_nodes();
        cluster
    }

    /// Starts etcd and the API server, whose only clients are the tests.
    pub(crate) fn api_server_alone(assets: &Path, flags: &[&str]) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("transom-e2e-")
            .tempdir()
            .unwrap();
        let authority = Authority::new();
        let files = Files {
            directory: directory.path(),
            assets,
            authority: &authority,
        };
        let ports = [(); 4].map(|()| Port::take());
        let [etcd_port, peer_port, api_port, _] = ports.each_ref().map(Port::number);
        files.write_certificates();

        let etcd = files.etcd(etcd_port, peer_port);
        let admin = authority.user("admin", "system:masters");
        let tls = Arc::new(authority.client_with(&admin, BOTH));
        let server = |port| Server {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            tls: Arc::clone(&tls),
        };
        files.kubeconfig("admin", &admin, api_port);
        for (file, user) in [
            ("controllers", "system:kube-controller-manager"),
            ("scheduler", "system:kube-scheduler"),
        ] {
            files.kubeconfig(file, &authority.user(user, "none"), api_port);
        }
        let mut api_server = files.api_server(api_port, etcd_port, flags);
        let api = server(api_port);
        let started = Instant::now();
        while !matches!(api.ask(Method::GET, "/readyz", None), Ok((200, _))) {
            api_server.must_run();
            let waited = started.elapsed() < PATIENCE;
            assert!(waited, "kube-apiserver:\n{}", api_server.end_of_log());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Self {
            kwok: None,
            scheduler: None,
            controllers: None,
            api_server,
            _etcd: etcd,
            etcd: server(etcd_port),
            api,
            authority,
            assets: assets.to_owned(),
            directory,
            ports,
        }
    }

    fn add_nodes(&mut self) {
        let path = self.directory.path();
        std::fs::write(path.join("stages.yaml"), include_str!("stages.yaml")).unwrap();
        let mut kwok = Command::new(self.program("kwok"));
        kwok.args([
            "--kubeconfig=admin.kubeconfig",
            "--config=stages.yaml",
            "--manage-all-nodes=true",
            "--node-ip=127.0.0.1",
            &format!("--server-address={}", self.ports[3].address()),
        ]);
        self.kwok = Some(Process::start(path, "kwok", &kwok, "KILL"));
        let cluster = self.namespace(LOOPBACK, &[]);
        cluster.create(include_str!("nodes.yaml"));
        // Several control planes may be starting at a time.
        let patience = format!("--timeout={}s", PATIENCE.as_secs());
        cluster.ok(&["wait", "--for=condition=Ready", "nodes", "--all", &patience]);
        cluster.create(&loopback().to_string());
    }

    /// What a cluster needs for [`Self::client_config`], if it has no controllers.
    pub(crate) fn add_loopback(&self) {
        self.post("/api/v1/namespaces", &namespace(LOOPBACK, &json!({})));
        let services = format!("/api/v1/namespaces/{LOOPBACK}/services");
        self.post(&services, &loopback());
    }

    /// Creates an object; it must succeed.
    pub(crate) fn post(&self, path: &str, object: &Value) {
        let (status, body) = self.api.ask(Method::POST, path, Some(object)).unwrap();
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&body));
    }

    /// The process of the API server.
    pub(crate) fn api_server(&self) -> u32 {
        self.api_server.id()
    }

    /// A new namespace of this name, with these labels; its default ServiceAccount is there.
    pub(crate) fn namespace(&self, name: &str, labels: &[(&str, &str)]) -> Namespace<'_> {
        let labels: serde_json::Map<_, _> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let object = namespace(name, &Value::Object(labels));
        let namespace = Namespace::new(self, name.to_owned());
        namespace.create(&object.to_string());
        eventually("the default ServiceAccount", || {
            namespace
                .kubectl(&["get", "serviceaccount", "default"])
                .succeeded()
                .then_some(())
        });
        namespace
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a kubeconfig for who has this token; the file.
    pub(crate) fn kubeconfig(&self, name: &str, token: &str) -> PathBuf {
        let config = kubeconfig(self.api.address.port(), &json!({"token": token}));
        let file = self.directory.path().join(format!("{name}.kubeconfig"));
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }

    /// The kubeconfig of an administrator.
    pub(crate) fn admin(&self) -> PathBuf {
        self.directory.path().join("admin.kubeconfig")
    }

    /// The same, for who finds the API server at another port of this machine.
    pub(crate) fn admin_at(&self, port: u16) -> PathBuf {
        let config = std::fs::read_to_string(self.admin()).unwrap();
        let mut config: Value = serde_json::from_str(&config).unwrap();
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://127.0.0.1:{port}"));
        let file = self
            .directory
            .path()
            .join(format!("admin-{port}.kubeconfig"));
        std::fs::write(&file, config.to_string()).unwrap();
        file
    }

    pub(crate) fn assets(&self) -> &Path {
        &self.assets
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.assets.join(name)
    }

    /// How the API server reaches a webhook at this port.
    pub(crate) fn client_config(&self, port: u16, path: &str) -> Value {
        use base64::Engine;
        let ca = base64::engine::general_purpose::STANDARD.encode(self.authority.pem());
        let service = json!({"namespace": LOOPBACK, "name": LOOPBACK, "port": port, "path": path});
        json!({"caBundle": ca, "service": service})
    }

    /// A new certificate for such a webhook, and its key.
    pub(crate) fn webhook_leaf(&self) -> (String, String) {
        let name = format!("{LOOPBACK}.{LOOPBACK}.svc");
        self.authority.leaf_for(&[&name])
    }

    /// The API server, asked as a cluster administrator.
    pub(crate) fn api(&self) -> &Server {
        &self.api
    }

    /// An object as it lies in etcd.
    pub(crate) fn stored(&self, resource: &str, namespace: &str, name: &str) -> Value {
        use base64::Engine;
        let base64 = base64::engine::general_purpose::STANDARD;
        let key = format!("/registry/{resource}/{namespace}/{name}");
        let request = json!({"key": base64.encode(key)});
        let answer = self.etcd.ask(Method::POST, "/v3/kv/range", Some(&request));
        let (status, body) = answer.unwrap();
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        let answer: Value = serde_json::from_slice(&body).unwrap();
        let value = answer["kvs"][0]["value"].as_str().unwrap();
        serde_json::from_slice(&base64.decode(value).unwrap()).unwrap()
    }

    /// How often the API server has asked webhooks, by their names and whether they refused.
    pub(crate) fn webhook_calls(&self) -> BTreeMap<(String, bool), u64> {
        let (status, body) = self.api.ask(Method::GET, "/metrics", None).unwrap();
        assert_eq!(status, 200);
        let mut calls = BTreeMap::new();
        for line in String::from_utf8(body).unwrap().lines() {
            let Some(line) = line.strip_prefix("apiserver_admission_webhook_request_total{") else {
                continue;
            };
            let (labels, count) = line.rsplit_once("} ").unwrap();
            let label = |name: &str| {
                let rest = labels.split_once(&format!("{name}=\"")).unwrap().1;
                rest.split_once('"').unwrap().0.to_owned()
            };
            let key = (label("name"), label("rejected") == "true");
            *calls.entry(key).or_default() += count.parse::<u64>().unwrap();
        }
        calls
    }

    /// The audit events of requests that changed something, in their order.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.directory.path().join("audit.log")).unwrap();
        // The last line may be half-written.
        let events = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        events.collect()
    }

    /// Keeps the logs, for a person to look at; where they are.
    pub(crate) fn keep_logs(&mut self) -> &Path {
        self.directory.disable_cleanup(true);
        self.directory.path()
    }
}

impl Drop for Cluster {
    /// One that belongs to a test alone.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the logs are kept in {}", self.keep_logs().display());
        }
    }
}

/// What the programs are started with.
struct Files<'a> {
    directory: &'a Path,
    assets: &'a Path,
    authority: &'a Authority,
}

impl Files<'_> {
    fn write_certificates(&self) {
        let (cert, key) = self.authority.leaf();
        self.write("server.crt", &cert);
        self.write("server.key", &key);
        let (cert, key) = self.authority.user("kube-apiserver", "none");
        self.write("client.crt", &cert);
        self.write("client.key", &key);
        self.write("ca.crt", &self.authority.pem());
        let key = rcgen::KeyPair::generate().unwrap();
        self.write("accounts.key", &key.serialize_pem());
        self.write("accounts.pub", &key.public_key_pem());
        self.write("audit.yaml", include_str!("audit.yaml"));
    }

    fn kubeconfig(&self, name: &str, (cert, key): &(String, String), port: u16) {
        use base64::Engine;
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let user = json!({
            "client-certificate-data": base64(cert),
            "client-key-data": base64(key),
        });
        let config = kubeconfig(port, &user);
        self.write(&format!("{name}.kubeconfig"), &config.to_string());
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.directory.join(name), content).unwrap();
    }

    fn etcd(&self, port: u16, peer_port: u16) -> Process {
        self.run(
            "etcd",
            &[
                "--data-dir=etcd",
                &format!("--listen-client-urls=https://127.0.0.1:{port}"),
                &format!("--advertise-client-urls=https://127.0.0.1:{port}"),
                &format!("--listen-peer-urls=http://127.0.0.1:{peer_port}"),
                &format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}"),
                &format!("--initial-cluster=default=http://127.0.0.1:{peer_port}"),
                "--cert-file=server.crt",
                "--key-file=server.key",
                // What etcd shows itself, where it asks on behalf of a JSON request.
                "--client-cert-file=client.crt",
                "--client-key-file=client.key",
                "--client-cert-auth",
                "--trusted-ca-file=ca.crt",
                // Nobody needs the data after a crash.
                "--unsafe-no-fsync",
            ],
        )
    }

    fn api_server(&self, port: u16, etcd_port: u16, more: &[&str]) -> Process {
        let flags = [
            &format!("--etcd-servers=https://127.0.0.1:{etcd_port}"),
            "--etcd-cafile=ca.crt",
            "--etcd-certfile=client.crt",
            "--etcd-keyfile=client.key",
            // So that a test can read what is stored.
            "--storage-media-type=application/json",
            &format!("--secure-port={port}"),
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // No address of ours may become an endpoint: loopback is none.
            "--endpoint-reconciler-type=none",
            "--tls-cert-file=server.crt",
            "--tls-private-key-file=server.key",
            "--client-ca-file=ca.crt",
            "--authorization-mode=RBAC",
            "--allow-privileged",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-account-signing-key-file=accounts.key",
            "--service-account-key-file=accounts.pub",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--audit-policy-file=audit.yaml",
            "--audit-log-path=audit.log",
        ];
        self.run("kube-apiserver", &[flags.as_slice(), more].concat())
    }

    fn controllers(&self) -> Process {
        self.run(
            "kube-controller-manager",
            &[
                "--kubeconfig=controllers.kubeconfig",
                "--leader-elect=false",
                "--secure-port=0",
                // Each controller asks as itself, as everywhere: Transom knows them by these names.
                "--use-service-account-credentials",
                "--service-account-private-key-file=accounts.key",
                "--root-ca-file=ca.crt",
                // Simulated nodes have no kubelet that renews a lease: without this all of them, and the pods on
                // them, are told to be not ready every 50 seconds.
                "--node-monitor-grace-period=1h",
            ],
        )
    }

    fn scheduler(&self) -> Process {
        self.run(
            "kube-scheduler",
            &[
                "--kubeconfig=scheduler.kubeconfig",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        )
    }

    fn run(&self, name: &str, args: &[&str]) -> Process {
        let mut program = Command::new(self.assets.join(name));
        program.args(args);
        Process::start(self.directory, name, &program, "KILL")
    }
}

/// A Namespace with these labels.
pub(crate) fn namespace(name: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels},
    })
}

/// The API server finds webhooks through a Service: this one leads to our own machine.
fn loopback() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": LOOPBACK},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    })
}

/// A kubeconfig, beside the CA's certificate, for the API server at this port and this user.
fn kubeconfig(port: u16, user: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "clusters": [{"name": "e2e", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": "ca.crt",
        }}],
        "users": [{"name": "e2e", "user": user}],
    })
}
