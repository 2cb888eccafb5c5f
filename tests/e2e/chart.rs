//! The chart, installed by Helm in the cluster.
//!
//! Simulated nodes run no containers: the replicas run beside the API server, with the arguments of the Deployment,
//! the ConfigMap, the token of the ServiceAccount and the Service's name; the Service itself is made to lead to
//! them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::Cluster;
use crate::eventually;
use crate::kubectl::Namespace;
use crate::process::Process;
use crate::transom::{LABEL, PROGRAM, calls, start};

/// Of release, namespace, and of all that the chart names.
const NAME: &str = "transom";
pub(crate) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/transom");

pub(crate) struct Release<'a> {
    cluster: &'a Cluster,
    pub(crate) namespace: Namespace<'a>,
    balancer: Balancer,
    kubeconfig: PathBuf,
    replicas: Vec<Replica>,
}

struct Replica {
    process: Process,
    address: SocketAddr,
    admin_address: SocketAddr,
}

impl<'a> Release<'a> {
    /// `helm install`, for the namespaces that are made by [`Self::namespace`], and two replicas started at once.
    pub(crate) fn install(cluster: &'a Cluster, values: &Value) -> Self {
        let namespace = cluster.namespace(NAME, &[]);
        let balancer = Balancer::start();
        let mut all = json!({"service": {"port": balancer.port()}, "drainSeconds": 1});
        for webhook in ["mutating", "validating"] {
            all["webhook"][webhook]["namespaceSelector"]["matchLabels"] = json!({LABEL: NAME});
        }
        json_patch::merge(&mut all, values);
        namespace.file("values.yaml", &all.to_string());
        let mut release = Self {
            cluster,
            namespace,
            balancer,
            kubeconfig: PathBuf::new(),
            replicas: Vec::new(),
        };
        release.helm(&["install", NAME, CHART, "--values=values.yaml", "--wait"]);
        let token = release.namespace.ok(&["create", "token", NAME]);
        release.kubeconfig = cluster.kubeconfig("replica", token.trim());
        let external = r#"{"spec":{"type":"ExternalName","externalName":"localhost",
            "clusterIP":null,"clusterIPs":null,"ipFamilies":null,"ipFamilyPolicy":null}}"#;
        let patch = ["patch", "service", NAME, "--type=merge", "-p", external];
        release.namespace.ok(&patch);
        let replicas: Vec<_> = std::thread::scope(|scope| {
            let starting = [0, 1].map(|number| {
                scope.spawn({
                    let release = &release;
                    move || release.replica(number)
                })
            });
            starting.map(|replica| replica.join().unwrap()).into()
        });
        release.replicas = replicas;
        release.balance();
        release
    }

    /// A namespace that the release sees, with these labels besides.
    pub(crate) fn watched(&self, name: &str, labels: &[(&str, &str)]) -> Namespace<'a> {
        let labels = [&[(LABEL, NAME)], labels].concat();
        self.cluster.namespace(name, &labels)
    }

    /// Helm in the release's namespace; it must succeed.
    pub(crate) fn helm(&self, args: &[&str]) -> String {
        let output = Command::new(self.cluster.program("helm"))
            .args(args)
            .args(["--namespace", NAME])
            .current_dir(self.namespace.files())
            .env("HOME", self.cluster.directory())
            .env(
                "KUBECONFIG",
                self.cluster.directory().join("admin.kubeconfig"),
            )
            .output()
            .unwrap();
        told(&output)
    }

    /// Starts a replica as the Deployment says.
    fn replica(&self, number: usize) -> Replica {
        let directory = self.cluster.directory().join(format!("replica-{number}"));
        std::fs::create_dir_all(&directory).unwrap();
        let config = self.namespace.get(&["configmap", "transom-config"]);
        let config = config["data"]["config.yaml"].as_str().unwrap();
        std::fs::write(directory.join("config.yaml"), config).unwrap();
        let deployment = self.namespace.get(&["deployment", NAME]);
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let mut program = Command::new(PROGRAM);
        for argument in container["args"].as_array().unwrap() {
            let argument = argument.as_str().unwrap();
            // Where it listens, and where its files are, is the machine's.
            program.arg(match argument.split_once('=') {
                Some((flag @ ("--bind" | "--admin-bind"), _)) => format!("{flag}=127.0.0.1:0"),
                Some(("--config", "/etc/transom/config.yaml")) => "--config=config.yaml".to_owned(),
                _ => argument.to_owned(),
            });
        }
        program.env("TRANSOM_NAMESPACE", NAME);
        program.env("KUBECONFIG", &self.kubeconfig);
        let (process, [address, admin_address]) = start(&directory, "transom", &program);
        Replica {
            process,
            address,
            admin_address,
        }
    }

    /// As a Deployment replaces a pod: a new one is ready before an old one gets no more connections and ends.
    pub(crate) fn restart(&mut self, number: usize) {
        let new = self.replica(number);
        let old = std::mem::replace(&mut self.replicas[number], new);
        self.balance();
        assert_eq!(old.process.stop(), Some(0));
    }

    /// All replicas end, and there is nobody behind the Service.
    pub(crate) fn stop(&mut self) {
        self.balancer.lead_to(Vec::new());
        for replica in self.replicas.drain(..) {
            assert_eq!(replica.process.stop(), Some(0));
        }
    }

    fn balance(&self) {
        let addresses = self.replicas.iter().map(|replica| replica.address);
        self.balancer.lead_to(addresses.collect());
    }

    /// `transom probe` of each replica by itself, trusting what the webhook configurations say.
    pub(crate) fn probe(&self) {
        for replica in &self.replicas {
            let address = replica.address.to_string();
            let mut program = Command::new(PROGRAM);
            program
                .args([
                    "probe",
                    "--webhook-configuration",
                    NAME,
                    "--connect-to",
                    &address,
                ])
                .env(
                    "KUBECONFIG",
                    self.cluster.directory().join("admin.kubeconfig"),
                );
            // The caBundle may still be on its way.
            eventually("transom probe", || {
                program.output().unwrap().status.success().then_some(())
            });
        }
    }

    /// How many reviews all replicas have answered.
    pub(crate) fn calls(&self, webhook: &str) -> u64 {
        let count = |replica: &Replica| calls(replica.admin_address, webhook);
        self.replicas.iter().map(count).sum()
    }
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{stdout}{}", text(&output.stderr));
    stdout
}
