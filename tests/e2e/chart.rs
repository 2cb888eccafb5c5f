//! The chart, installed by Helm in the cluster.
//!
//! Simulated nodes run no containers: the replicas run beside the API server, with the arguments of the Deployment,
//! the ConfigMap, the token of the ServiceAccount and the Service's name; the Service itself is made to lead to
//! them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::balancer::Balancer;
use crate::cluster::Cluster;
use crate::eventually;
use crate::kubectl::Namespace;
use crate::process::Process;
use crate::transom::{LABEL, PROGRAM, calls, start};

pub(crate) const CHART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/charts/transom");

pub(crate) const CONFIGURATIONS: [&str; 2] = [
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
];

pub(crate) struct Release<'a> {
    pub(crate) cluster: &'a Cluster,
    /// Of release, namespace, and of all that the chart names: it contains "transom".
    name: &'static str,
    pub(crate) namespace: Namespace<'a>,
    balancer: Balancer,
    kubeconfig: PathBuf,
    replicas: Vec<Replica>,
}

pub(crate) struct Replica {
    process: Process,
    pub(crate) address: SocketAddr,
    pub(crate) admin_address: SocketAddr,
}

impl<'a> Release<'a> {
    /// `helm install`, for the namespaces that are made by [`Self::watched`], and the replicas started at once.
    pub(crate) fn install(cluster: &'a Cluster, name: &'static str, values: &Value) -> Self {
        let mut release = Self::prepare(cluster, name, values, Balancer::start());
        release.deploy();
        release
    }

    /// What there is before `helm install`: the namespace, which admits only what Pod Security finds no fault with, and the
    /// values.
    pub(crate) fn prepare(
        cluster: &'a Cluster,
        name: &'static str,
        values: &Value,
        balancer: Balancer,
    ) -> Self {
        let restricted = ("pod-security.kubernetes.io/enforce", "restricted");
        let namespace = cluster.namespace(name, &[restricted]);
        let mut all = json!({"service": {"port": balancer.port()}, "drainSeconds": 1});
        for webhook in ["mutating", "validating"] {
            all["webhook"][webhook]["namespaceSelector"]["matchLabels"] = json!({LABEL: name});
        }
        json_patch::merge(&mut all, values);
        namespace.file("values.yaml", &all.to_string());
        Self {
            cluster,
            name,
            namespace,
            balancer,
            kubeconfig: PathBuf::new(),
            replicas: Vec::new(),
        }
    }

    /// `helm install`, and the replicas started at once.
    pub(crate) fn deploy(&mut self) {
        self.helm(&[
            "install",
            self.name,
            CHART,
            "--values=values.yaml",
            "--wait",
        ]);
        let token = self.namespace.ok(&["create", "token", self.name]);
        self.kubeconfig = self.cluster.kubeconfig(self.name, token.trim());
        self.lead_here();
        self.start();
    }

    /// The Service leads to our own machine.
    pub(crate) fn lead_here(&self) {
        let external = r#"{"spec":{"type":"ExternalName","externalName":"localhost",
            "clusterIP":null,"clusterIPs":null,"ipFamilies":null,"ipFamilyPolicy":null}}"#;
        let patch = [
            "patch",
            "service",
            self.name,
            "--type=merge",
            "-p",
            external,
        ];
        self.namespace.ok(&patch);
    }

    /// As many replicas as the Deployment wants, all at once.
    pub(crate) fn start(&mut self) {
        let deployment = self.namespace.get(&["deployment", self.name]);
        let wanted = deployment["spec"]["replicas"].as_u64().unwrap() as usize;
        self.replicas = std::thread::scope(|scope| {
            let release = &*self;
            let starting: Vec<_> = (0..wanted)
                .map(|number| scope.spawn(move || release.replica(number)))
                .collect();
            let replicas = starting.into_iter().map(|replica| replica.join().unwrap());
            replicas.collect()
        });
        self.balance();
    }

    /// A namespace that the release sees, with these labels besides.
    pub(crate) fn watched(&self, name: &str, labels: &[(&str, &str)]) -> Namespace<'a> {
        let labels = [&[(LABEL, self.name)], labels].concat();
        self.cluster.namespace(name, &labels)
    }

    /// Helm in the release's namespace; it must succeed.
    pub(crate) fn helm(&self, args: &[&str]) -> String {
        self.try_helm(args).unwrap_or_else(|told| panic!("{told}"))
    }

    /// Helm in the release's namespace: what it printed, or why it did not succeed.
    pub(crate) fn try_helm(&self, args: &[&str]) -> Result<String, String> {
        let args = [args, &["--namespace", self.name]].concat();
        helm(self.cluster, self.namespace.files(), &args)
    }

    /// Starts a replica as the Deployment says.
    fn replica(&self, number: usize) -> Replica {
        let directory = self
            .cluster
            .directory()
            .join(format!("{}-{number}", self.name));
        std::fs::create_dir_all(&directory).unwrap();
        let config = format!("{}-config", self.name);
        let config = self.namespace.get(&["configmap", &config]);
        let config = config["data"]["config.yaml"].as_str().unwrap();
        std::fs::write(directory.join("config.yaml"), config).unwrap();
        let deployment = self.namespace.get(&["deployment", self.name]);
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let mut program = Command::new(PROGRAM);
        for argument in container["args"].as_array().unwrap() {
            let argument = argument.as_str().unwrap();
            // Where it listens, and where its files are, is the machine's.
            program.arg(match argument.split_once('=') {
                Some((flag @ ("--bind" | "--admin-bind"), _)) => format!("{flag}=127.0.0.1:0"),
                Some(("--config", "/etc/transom/config.yaml")) => "--config=config.yaml".to_owned(),
                Some((flag @ "--tls-client-ca-file", "/client-ca/ca.crt")) => {
                    let file = self.mounted(&deployment, "client-ca", "ca.crt");
                    std::fs::write(directory.join("client-ca.crt"), file).unwrap();
                    format!("{flag}=client-ca.crt")
                }
                _ => argument.to_owned(),
            });
        }
        program.env("TRANSOM_NAMESPACE", self.name);
        program.env("KUBECONFIG", &self.kubeconfig);
        let (process, [address, admin_address]) = start(&directory, "transom", &program);
        Replica {
            process,
            address,
            admin_address,
        }
    }

    /// What the kubelet would find in a Secret that is a volume of the Deployment.
    fn mounted(&self, deployment: &Value, volume: &str, key: &str) -> Vec<u8> {
        use base64::Engine;
        let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array();
        let volume = volumes.unwrap().iter().find(|v| v["name"] == volume);
        let secret = volume.unwrap()["secret"]["secretName"].as_str().unwrap();
        let secret = self.namespace.get(&["secret", secret]);
        let base64 = base64::engine::general_purpose::STANDARD;
        base64
            .decode(secret["data"][key].as_str().unwrap())
            .unwrap()
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

    pub(crate) fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// The caBundle of each entry of both webhook configurations.
    pub(crate) fn bundles(&self) -> Vec<Value> {
        let configurations = CONFIGURATIONS.map(|kind| self.namespace.get(&[kind, self.name]));
        let entries = configurations
            .iter()
            .flat_map(|c| c["webhooks"].as_array().unwrap());
        entries
            .map(|entry| entry["clientConfig"]["caBundle"].clone())
            .collect()
    }

    /// All replicas get their share again.
    pub(crate) fn balance(&self) {
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
                    self.name,
                    "--connect-to",
                    &address,
                ])
                .env("KUBECONFIG", self.cluster.admin());
            // The caBundle may still be on its way.
            eventually("transom probe", || {
                program.output().unwrap().status.success().then_some(())
            });
        }
    }

    /// `helm test`, whose pod is played here: the program runs with its arguments and the token of its account, and as it
    /// ends, so does the pod.
    pub(crate) fn test(&self) -> Result<String, String> {
        std::thread::scope(|scope| {
            let helm = scope.spawn(|| self.try_helm(&["test", self.name]));
            let name = format!("{}-test", self.name);
            let pod = eventually("the pod of helm test runs", || {
                let get = ["get", "pod", &name, "-o", "json"];
                let pod: Value = serde_json::from_str(&self.namespace.kubectl(&get).stdout).ok()?;
                (pod["status"]["phase"] == "Running").then_some(pod)
            });
            let account = pod["spec"]["serviceAccountName"].as_str().unwrap();
            let token = self.namespace.ok(&["create", "token", account]);
            let args = pod["spec"]["containers"][0]["args"].as_array().unwrap();
            let output = Command::new(PROGRAM)
                .args(args.iter().map(|arg| arg.as_str().unwrap()))
                .arg(format!("--connect-to=localhost:{}", self.balancer.port()))
                .env("KUBECONFIG", self.cluster.kubeconfig(&name, token.trim()))
                .output()
                .unwrap();
            let phase = if output.status.success() {
                "Succeeded"
            } else {
                "Failed"
            };
            let status = json!({"status": {"phase": phase}}).to_string();
            let patch = [
                "patch",
                "pod",
                &name,
                "--subresource=status",
                "--type=merge",
                "-p",
                &status,
            ];
            self.namespace.ok(&patch);
            let told = String::from_utf8(output.stdout).unwrap();
            helm.join()
                .unwrap()
                .map(|_| told.clone())
                .map_err(|error| error + &told)
        })
    }

    /// What comes of it while there is nobody behind the Service.
    pub(crate) fn deserted<T>(&self, act: impl FnOnce() -> T) -> T {
        self.balancer.lead_to(Vec::new());
        let done = act();
        self.balance();
        done
    }

    /// All that the API server asks from here on is for this replica.
    pub(crate) fn lead_to(&self, number: usize) {
        self.balancer.lead_to(vec![self.replicas[number].address]);
        self.balancer.cut();
    }

    /// How many reviews each replica has answered, of the mutating and of the validating webhook.
    pub(crate) fn answered(&self) -> Vec<[u64; 2]> {
        let replicas = self.replicas.iter();
        let count = |replica: &Replica| {
            ["mutate", "validate"].map(|webhook| calls(replica.admin_address, webhook))
        };
        replicas.map(count).collect()
    }
}

/// Helm, run in this directory by who may do everything: what it printed, or why it did not succeed.
pub(crate) fn helm(cluster: &Cluster, directory: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new(cluster.program("helm"))
        .args(args)
        .current_dir(directory)
        .env("HOME", cluster.directory())
        .env("KUBECONFIG", cluster.admin())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stdout) + &text(&output.stderr)),
    }
}
