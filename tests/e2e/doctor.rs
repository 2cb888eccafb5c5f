//! `transom doctor` by the kubeconfig of an administrator: silent on a sound cluster, and naming each fault that is
//! planted in it, with what helps.

use std::process::Command;

use serde_json::{Value, json};

use crate::chart::{CHART, CONFIGURATIONS, Release};
use crate::cluster::Cluster;
use crate::eventually;
use crate::transom::PROGRAM;

tests![doctor_names_each_fault_and_is_silent_on_a_sound_cluster];

const MUTATING: &str = CONFIGURATIONS[0];
const VALIDATING: &str = CONFIGURATIONS[1];

fn doctor_names_each_fault_and_is_silent_on_a_sound_cluster(cluster: &Cluster) {
    // Nodes and RuntimeClasses belong to all namespaces, and with what other tests leave there is no sound cluster.
    let cluster = &Cluster::start(cluster.assets());
    let values = json!({
        "replicaCount": 2,
        "webhook": {"mutating": {"failurePolicy": "Fail"}, "validating": {"failurePolicy": "Fail"}},
        "podDisruptionBudget": {"enabled": true, "maxUnavailable": 1},
        "topologySpreadConstraints": [
            {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
        ],
    });
    let mut release = Release::install(cluster, "transom", &values);
    // The simulated pods are what is behind it, as in any cluster.
    let inside = r#"{"spec": {"type": "ClusterIP", "externalName": null}}"#;
    let patch = ["patch", "service", "transom", "--type=merge", "-p", inside];
    release.namespace.ok(&patch);
    let service = release.namespace.get(&["service", "transom"]);
    let mut patient = Patient {
        cluster,
        connect_to: Some(release.replicas()[0].address.to_string()),
        service: service["spec"]["ports"][0]["port"].to_string(),
        told: String::new(),
    };
    patient.must_be_sound("the chart is installed");

    faults_of_the_webhooks(&release, &mut patient);
    faults_of_the_replicas(&release, &mut patient);
    faults_of_nodes(&release, &mut patient);
    faults_of_namespaces(&release, &mut patient);
    faults_that_replicas_would_mend(&mut release, &mut patient);
    insta::assert_snapshot!("faults", patient.told);
}

fn faults_of_the_webhooks(release: &Release<'_>, patient: &mut Patient<'_>) {
    let later = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "zz-later"},
        "webhooks": [{
            "name": "later.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/"},
            "namespaceSelector": {"matchLabels": {"nobody": "here"}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        }],
    });
    release.namespace.create(&later.to_string());
    patient.must_be_sound("there is a later webhook, and ours is asked again");
    for (name, wanted, path, value) in [
        (
            "a long timeout",
            &["warn timeout"][..],
            "timeoutSeconds",
            json!(30),
        ),
        (
            "matchConditions of another version",
            &["warn match-conditions"],
            "matchConditions/0/expression",
            json!("false"),
        ),
        (
            "all namespaces are selected",
            &["fail exclusions", "fail exclusions"],
            "namespaceSelector",
            json!({}),
        ),
        (
            "a later webhook, and ours is not asked again",
            &["warn later-webhooks"],
            "reinvocationPolicy",
            json!("Never"),
        ),
    ] {
        let path = format!("/webhooks/0/{path}");
        let before = release.namespace.get(&[MUTATING, "transom"]);
        let before = before.pointer(&path).unwrap();
        let put = |value: &Value| put(release, MUTATING, &path, value);
        patient.fault(name, wanted, || put(&value), || put(before));
    }
    release.namespace.ok(&["delete", MUTATING, "zz-later"]);
}

/// Replaces a field of our own webhook configuration.
fn put(release: &Release<'_>, kind: &str, path: &str, value: &Value) {
    let patch = json!([{"op": "replace", "path": path, "value": value}]).to_string();
    let patch = ["patch", kind, "transom", "--type=json", "-p", &patch];
    release.namespace.ok(&patch);
}

fn faults_of_the_replicas(release: &Release<'_>, patient: &mut Patient<'_>) {
    let namespace = &release.namespace;
    let config = namespace.get(&["configmap", "transom-config"]);
    let text = config["data"]["config.yaml"].as_str().unwrap();
    let write = |text: &str| {
        let patch = json!({"data": {"config.yaml": text}}).to_string();
        let name = "transom-config";
        namespace.ok(&["patch", "configmap", name, "--type=merge", "-p", &patch]);
    };
    patient.fault(
        "a configuration that is misspelt",
        &[
            "skip match-conditions",
            "fail configuration",
            "skip tolerations",
            "skip untainted-nodes",
            "skip runtime-classes",
            "skip misplaced-pods",
            "skip pod-security",
            "skip modes",
            "skip coverage",
        ],
        || write(&text.replace("kind:", "mdoe: warn\nkind:")),
        || write(text),
    );

    let scale = |replicas: &str| {
        let replicas = format!("--replicas={replicas}");
        namespace.ok(&["scale", "deployment", "transom", &replicas]);
    };
    let none = ["fail endpoints", "warn failure-policy"];
    patient.fault("no replica", &none, || scale("0"), || scale("2"));
    let one = ["warn failure-policy"];
    patient.fault("one replica", &one, || scale("1"), || scale("2"));

    let name = ["poddisruptionbudget", "transom"];
    let budget = namespace.get(&name);
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "transom"}, "spec": budget["spec"],
    });
    patient.fault(
        "no PodDisruptionBudget",
        &["warn failure-policy"],
        || drop(namespace.ok(&[&["delete"], &name[..]].concat())),
        || drop(namespace.create(&budget.to_string())),
    );

    // Who answers there has the certificate of another CA.
    let api_server = patient.cluster.api().address.to_string();
    let at = patient.connect_to.replace(api_server);
    patient.look("a certificate of another CA", &["fail certificate"]);
    patient.connect_to = at;
}

fn faults_of_nodes(release: &Release<'_>, patient: &mut Patient<'_>) {
    let namespace = &release.namespace;
    let add = |taints: &Value| {
        let labels = json!({
            "kubernetes.io/os": "windows", "kubernetes.io/hostname": "windows-new",
            "node.kubernetes.io/windows-build": "10.0.26100",
        });
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "windows-new", "labels": labels},
            "spec": {"taints": taints},
        });
        namespace.create(&node.to_string());
    };
    let remove = || drop(namespace.ok(&["delete", "node", "windows-new"]));
    let team = json!([{"key": "team", "value": "shop", "effect": "NoSchedule"}]);
    let wanted = ["warn tolerations"];
    patient.fault(
        "a taint that is not tolerated",
        &wanted,
        || add(&team),
        remove,
    );
    let wanted = ["warn untainted-nodes"];
    patient.fault(
        "a node without a taint",
        &wanted,
        || add(&json!([])),
        remove,
    );

    let memory = |memory: &str| {
        let patch = json!({"status": {"allocatable": {"memory": memory}}}).to_string();
        let node = [
            "patch",
            "node",
            "windows-2022",
            "--subresource=status",
            "-p",
            &patch,
        ];
        namespace.ok(&node);
    };
    let default = format!("{}Mi", 256 * 1024 - 500);
    for (name, offered) in [
        ("no memory is reserved", "256Gi"),
        ("only the kubelet's default", &default),
    ] {
        let wanted = ["warn reserved-memory"];
        patient.fault(name, &wanted, || memory(offered), || memory("254Gi"));
    }

    let class = json!({
        "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "windows-1809"},
        "handler": "runhcs", "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows", "pool": "gone"}},
    });
    patient.fault(
        "a RuntimeClass without nodes",
        &["warn runtime-classes"],
        || drop(namespace.create(&class.to_string())),
        || drop(namespace.ok(&["delete", "runtimeclass", "windows-1809"])),
    );

    let taint = |taint: &str| {
        let nodes = ["taint", "nodes", "windows-2019", "windows-2022", taint];
        namespace.ok(&nodes);
    };
    // The chart has it learnt.
    taint("pool=windows:NoSchedule");
    patient.must_be_sound("all Windows nodes share a taint that names Windows");
    taint("pool=windows:NoSchedule-");
    patient.fault(
        "all Windows nodes share a taint that is for something else",
        &["fail tolerations"],
        || taint("maintenance=today:NoSchedule"),
        || taint("maintenance-"),
    );
}

fn faults_of_namespaces(release: &Release<'_>, patient: &mut Patient<'_>) {
    let shop = patient.cluster.namespace("shop", &[]);
    let label = |labels: &[&str]| {
        shop.ok(&[&["label", "namespace", "shop"], labels].concat());
    };
    patient.fault(
        "a mode that is misspelt",
        &["warn namespace-labels"],
        || label(&["transom.dev/mode=Enforce"]),
        || label(&["transom.dev/mode-"]),
    );
    let [level, version] =
        ["enforce", "enforce-version"].map(|key| format!("pod-security.kubernetes.io/{key}"));
    patient.fault(
        "an old version of Pod Security",
        &["warn pod-security"],
        || label(&[&format!("{level}=restricted"), &format!("{version}=v1.24")]),
        || label(&[&format!("{level}-"), &format!("{version}-")]),
    );
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old"},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [{"name": "main", "image": "registry.example/app:1"}],
        },
    });
    label(&["transom.dev/mode=off"]);
    patient.must_be_sound("a namespace is in mode off, and has no Windows pod");
    patient.fault(
        "a Windows pod in a namespace of mode off",
        &["warn coverage"],
        || drop(shop.create(&pod.to_string())),
        || drop(shop.ok(&["delete", "pod", "old", "--now"])),
    );
    label(&["transom.dev/mode-"]);
    patient.fault(
        "a Windows pod in a namespace that no selector lets in",
        &["warn coverage"],
        || drop(shop.create(&pod.to_string())),
        || drop(shop.ok(&["delete", "pod", "old", "--now"])),
    );

    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterpolicies.kyverno.io"},
        "spec": {
            "group": "kyverno.io", "scope": "Cluster",
            "names": {"kind": "ClusterPolicy", "plural": "clusterpolicies", "singular": "clusterpolicy"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let namespace = &release.namespace;
    namespace.create(&definition.to_string());
    let definition = "crd/clusterpolicies.kyverno.io";
    namespace.ok(&["wait", "--for=condition=Established", definition]);
    let policy = json!({
        "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "restricted"},
        "spec": {"rules": [{"name": "restricted", "validate": {
            "failureAction": "Enforce", "podSecurity": {"level": "restricted", "version": "v1.30"},
        }}]},
    });
    patient.fault(
        "a policy of Kyverno",
        &["warn kyverno"],
        || {
            eventually("the API of Kyverno's policies", || {
                let told = namespace.apply("policy.yaml", &policy.to_string());
                told.succeeded().then_some(())
            });
        },
        || drop(namespace.ok(&["delete", "clusterpolicy", "restricted"])),
    );
}

fn faults_that_replicas_would_mend(release: &mut Release<'_>, patient: &mut Patient<'_>) {
    // When it comes back, a replica fills it in.
    let upgrade = |enabled: &str| {
        let set = format!("--set=webhook.mutating.enabled={enabled}");
        release.helm(&["upgrade", "transom", CHART, "--values=values.yaml", &set]);
    };
    let wanted = ["warn webhook-pair"];
    patient.fault(
        "no mutating webhook",
        &wanted,
        || upgrade("false"),
        || upgrade("true"),
    );

    release.stop();
    patient.connect_to = None;
    let before = release.namespace.get(&[VALIDATING, "transom"]);
    let path = "/webhooks/0/clientConfig/caBundle";
    let bundle = before.pointer(path).unwrap();
    patient.fault(
        "no caBundle",
        &["fail ca-bundle", "skip certificate"],
        || put(release, VALIDATING, path, &json!("")),
        || put(release, VALIDATING, path, bundle),
    );
    let second = json!({
        "apiVersion": before["apiVersion"], "kind": before["kind"],
        "metadata": {"name": "second"}, "webhooks": before["webhooks"],
    });
    patient.fault(
        "two installations",
        &[
            "warn installation",
            "skip tolerations",
            "skip untainted-nodes",
            "skip runtime-classes",
            "skip misplaced-pods",
            "skip pod-security",
        ],
        || drop(release.namespace.create(&second.to_string())),
        || drop(release.namespace.ok(&["delete", VALIDATING, "second"])),
    );
    let nodes = ["delete", "nodes", "windows-2019", "windows-2022"];
    release.namespace.ok(&nodes);
    patient.look(
        "no Windows node",
        &["skip certificate", "warn windows-nodes"],
    );
    release.helm(&["uninstall", "transom", "--wait"]);
    let wanted = ["warn installation", "warn windows-nodes"];
    patient.look("nothing is installed", &wanted);
}

/// A cluster that is looked at.
struct Patient<'a> {
    cluster: &'a Cluster,
    connect_to: Option<String>,
    /// The port of the Service.
    service: String,
    /// What was said of each fault.
    told: String,
}

impl Patient<'_> {
    /// Plants a fault, looks, and takes it away again.
    fn fault(&mut self, name: &str, wanted: &[&str], plant: impl FnOnce(), undo: impl FnOnce()) {
        plant();
        self.look(name, wanted);
        undo();
        self.must_be_sound(&format!("no more of: {name}"));
    }

    /// This and nothing else is not in order. What is planted may take a moment to come through.
    fn look(&mut self, name: &str, wanted: &[&str]) {
        let mut last = String::new();
        let told = eventually(name, || {
            let (told, code) = self.examine();
            if told != last {
                println!("{name}:\n{told}");
            }
            let lines = told.lines().filter(|line| !line.starts_with(' '));
            let have: Vec<_> = lines
                .map(|line| line.split(": ").next().unwrap().replace("  ", " "))
                .collect();
            let is_bad = wanted.iter().any(|line| !line.starts_with("skip"));
            let is_so = have == wanted && code == i32::from(is_bad);
            last.clone_from(&told);
            is_so.then_some(told)
        });
        self.told.push_str(&format!("# {name}\n{told}\n"));
    }

    fn must_be_sound(&self, when: &str) {
        // The certificate is out of reach where nobody says where it is.
        let wanted = usize::from(self.connect_to.is_none());
        let mut last = String::new();
        eventually(when, || {
            let (told, code) = self.examine();
            if told != last {
                println!("{when}:\n{told}");
            }
            last.clone_from(&told);
            (told.lines().count() == wanted && code == 0).then_some(())
        });
    }

    /// What is not in order, and the exit code with `--fail-on warn`.
    fn examine(&self) -> (String, i32) {
        let mut program = Command::new(PROGRAM);
        let directory = self.cluster.directory();
        program
            .args(["doctor", "-q", "--fail-on", "warn", "--kubeconfig"])
            .arg(directory.join("admin.kubeconfig"))
            .current_dir(directory);
        if let Some(at) = &self.connect_to {
            program.args(["--connect-to", at]);
        }
        let output = program.output().unwrap();
        let mut told = String::from_utf8(output.stdout).unwrap();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(wrong.is_empty(), "{wrong}");
        // Ports are never the same.
        if let Some(at) = &self.connect_to {
            told = told.replace(at, "HOST:PORT");
        }
        told = told.replace(&self.service, "PORT");
        (told, output.status.code().unwrap())
    }
}
