//! The program, run as a user runs it.

use std::process::Output;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::apiserver::{
    ApiServer, CONFIG_MAPS, MUTATING, NAMESPACES, NODES, RUNTIME_CLASSES, SERVICES, VALIDATING,
    kubeconfig,
};
use crate::program;
use crate::sound::{deployment, entry, kyverno, node, replica, windows_taint};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/transom/endpointslices";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/transom/deployments";
const BUDGETS: &str = "/apis/policy/v1/namespaces/transom/poddisruptionbudgets";
const POLICIES: &str = "/apis/kyverno.io/v1/clusterpolicies";
const PODS_OF_OLD: &str = "/api/v1/namespaces/old/pods";

/// An API server, and the program beside it.
struct Place {
    server: ApiServer,
    directory: TempDir,
}

impl Place {
    /// With nodes and namespaces, and nothing else.
    async fn bare() -> Self {
        let server = ApiServer::new();
        let url = server.listen().await;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        std::fs::write(file, kubeconfig(&url)).unwrap();
        for name in ["kube-system", "transom", "shop"] {
            server.put(NAMESPACES, name, json!({}));
        }
        server.put(NODES, "linux-1", node("linux-1", "linux", &json!(null)));
        let windows = node("windows-1", "windows", &windows_taint());
        server.put(NODES, "windows-1", windows);
        Self { server, directory }
    }

    /// With an installation as the chart makes it.
    async fn installed() -> Self {
        let place = Self::bare().await;
        let server = &place.server;
        for (collection, name) in [(MUTATING, "mutate"), (VALIDATING, "validate")] {
            let entries = [entry(&format!("{name}.transom.dev"))];
            server.put(collection, "transom", json!({"webhooks": entries}));
        }
        let service = json!({"spec": {"type": "ClusterIP", "selector": {"app": "transom"}}});
        server.put(SERVICES, "transom", service);
        let slice = json!({"endpoints": [replica(1), replica(2)]});
        server.put(SLICES, "transom-1", slice);
        server.put(DEPLOYMENTS, "transom", deployment());
        let budget = json!({"spec": {"selector": {"matchLabels": {"app": "transom"}}}});
        server.put(BUDGETS, "transom", budget);
        place.configure("mode: enforce");
        place
    }

    fn configure(&self, config: &str) {
        let text = format!("apiVersion: transom.dev/v1alpha1\nkind: Config\n{config}\n");
        let map = json!({"data": {"config.yaml": text}});
        self.server.put(CONFIG_MAPS, "transom-config", map);
    }

    async fn doctor(&self, args: &[&str]) -> Told {
        let mut command = program::transom(self.directory.path());
        command.env_remove("KUBERNETES_SERVICE_HOST");
        command
            .args(["doctor", "--kubeconfig", "kubeconfig"])
            .args(args);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        Told(output.await.unwrap())
    }
}

struct Told(Output);

impl Told {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    /// The lines of a check.
    fn says(&self, check: &str) -> Vec<String> {
        let (text, name) = (self.stdout(), format!("  {check}: "));
        let lines = text.lines().filter(|line| line.contains(&name));
        lines.map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_without_transom_is_looked_at_all_the_same() {
    let place = Place::bare().await;
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 0, "{}", told.stderr());
    insta::assert_snapshot!("bare", told.stdout());
    assert_eq!(told.stderr(), "11 ok, 1 warn\n");
    assert_eq!(place.doctor(&["--fail-on", "warn"]).await.code(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_misplaced_pods_by_their_workload() {
    const DAEMON_SETS: &str = "/apis/apps/v1/daemonsets";
    const PODS: &str = "/api/v1/pods";
    let place = Place::bare().await;
    let spec = json!({
        "hostNetwork": true, "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "quay.io/prometheus/node-exporter:v1.10.2"}],
    });
    let set = json!({"spec": {"template": {"spec": spec}}});
    place.server.put_in(DAEMON_SETS, "kube-system", "ne", set);
    let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1", "controller": true}]);
    let pod = json!({
        "metadata": {"ownerReferences": owner},
        "spec": {"nodeName": "linux-1", "containers": [{"name": "main", "image": "mcr.microsoft.com/windows/servercore:ltsc2022"}]},
    });
    place.server.put_in(PODS, "shop", "db-0", pod);
    let told = place.doctor(&[]).await;
    assert_eq!(
        told.says("misplaced-pods"),
        [
            "warn  misplaced-pods: DaemonSet kube-system/ne: Linux image on Windows node windows-1",
            "warn  misplaced-pods: StatefulSet shop/db: Windows image on Linux node linux-1",
        ]
    );
    let text = told.stdout();
    for remedy in [
        "-> select kubernetes.io/os: linux in DaemonSet ne",
        "-> select kubernetes.io/os: windows in StatefulSet db",
    ] {
        assert!(text.contains(remedy), "{text}");
    }
    place.server.forbid(Method::GET, DAEMON_SETS);
    let said = place.doctor(&[]).await.says("misplaced-pods");
    assert!(
        said[0].starts_with("skip  misplaced-pods: daemonsets.apps may not be listed"),
        "{said:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_in_order_is_silent_but_for_the_certificate_that_is_out_of_reach() {
    let place = Place::installed().await;
    let told = place.doctor(&["-q", "--fail-on", "warn"]).await;
    assert_eq!(told.code(), 0, "{}{}", told.stdout(), told.stderr());
    assert_eq!(told.stderr(), "");
    insta::assert_snapshot!("quiet", told.stdout());
    let changes: Vec<_> = place.server.requests();
    assert!(
        changes.iter().all(|request| request.starts_with("GET ")),
        "{changes:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_with_its_remedy_and_by_the_exit_code() {
    let place = Place::installed().await;
    place.server.change(MUTATING, "transom", |object| {
        object["webhooks"][0]["clientConfig"]["caBundle"] = Value::Null;
    });
    place.server.put(
        NAMESPACES,
        "old",
        json!({"metadata": {"labels": {"transom.dev/mode": "off"}}}),
    );
    let pod = json!({"metadata": {"namespace": "old"}, "spec": {"nodeName": "windows-1", "containers": []}});
    place.server.put(PODS_OF_OLD, "a", pod);
    let standard = json!({"podSecurity": {"level": "restricted", "version": "v1.30"}});
    place
        .server
        .put(POLICIES, "restrict", kyverno(&standard, "Enforce"));
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 1);
    assert!(told.says("ca-bundle")[0].starts_with(
        "fail  ca-bundle: there is no CA certificate in the caBundle of mutate.transom.dev"
    ));
    assert!(
        told.says("coverage")[0]
            .starts_with("warn  coverage: old is in mode off and has 1 Windows pod")
    );
    assert!(told.says("kyverno")[0].starts_with("warn  kyverno: ClusterPolicy restrict asks"));
    assert!(told.stdout().contains("\n      -> "));

    let told = place.doctor(&["-o", "json"]).await;
    assert_eq!(told.code(), 1);
    let report: Value = serde_json::from_str(&told.stdout()).unwrap();
    assert_eq!(report["version"], "1");
    assert_eq!(report["summary"]["fail"], 1);
    let checks = report["checks"].as_array().unwrap();
    let bundle = checks
        .iter()
        .find(|check| check["name"] == "ca-bundle")
        .unwrap();
    assert_eq!(bundle["status"], "fail");
    assert!(bundle["remedy"].as_str().unwrap().contains("transom serve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_told_and_the_rest_goes_on() {
    let place = Place::installed().await;
    place.server.forbid(Method::GET, NODES);
    place.server.forbid(Method::GET, CONFIG_MAPS);
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 0, "{}", told.stdout());
    let nodes = "skip  windows-nodes: nodes may not be listed, so nothing of it is told: it takes the right to list nodes \
                 (kubectl auth can-i list nodes --all-namespaces)";
    assert_eq!(told.says("windows-nodes"), [nodes]);
    let config = &told.says("configuration")[0];
    assert!(
        config.contains("kubectl auth can-i get configmaps --namespace transom"),
        "{config}"
    );
    assert!(config.contains("--config FILE"), "{config}");
    assert!(told.says("endpoints")[0].starts_with("ok    "));
    // Who brings the configuration needs no right to read it.
    std::fs::write(
        place.directory.path().join("c.yaml"),
        "apiVersion: transom.dev/v1alpha1\nkind: Config\nmode: warn\n",
    )
    .unwrap();
    let told = place.doctor(&["--config", "c.yaml"]).await;
    assert!(
        told.says("configuration")[0].starts_with("ok    configuration: c.yaml"),
        "{}",
        told.stdout()
    );
    // Nor does anybody need to know whether Transom is there to look at the rest.
    place.server.forbid(Method::GET, MUTATING);
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 0, "{}", told.stdout());
    assert!(told.says("installation")[0].starts_with("skip  "));
    assert!(told.says("namespace-labels")[0].starts_with("ok    "));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_is_that_of_the_cluster() {
    let place = Place::installed().await;
    place.server.change(NODES, "windows-1", |node| {
        node["spec"]["taints"] = json!([{"key": "team", "value": "shop", "effect": "NoSchedule"}]);
    });
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 1);
    assert!(
        told.says("tolerations")[0].starts_with("fail  "),
        "{}",
        told.stdout()
    );
    place.configure("placement: {learnTaints: true, learnTaintKeys: [team]}");
    assert_eq!(place.doctor(&[]).await.code(), 0);
    place.configure("mdoe: warn");
    let told = place.doctor(&[]).await;
    assert_eq!(told.code(), 1);
    let config = &told.says("configuration")[0];
    assert!(
        config.contains("mdoe: unknown key; did you mean mode?"),
        "{config}"
    );
    place.server.delete(CONFIG_MAPS, "transom-config");
    let told = place.doctor(&[]).await;
    let config = &told.says("configuration")[0];
    assert!(
        config.contains("there is no config.yaml in ConfigMap transom/transom-config"),
        "{config}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_of_a_cluster_that_cannot_be_asked() {
    let place = Place::bare().await;
    place.server.down(true);
    let told = place.doctor(&[]).await;
    assert_eq!((told.code(), told.stdout()), (2, String::new()));
    assert!(told.stderr().contains("API server"), "{}", told.stderr());
    let told = place.doctor(&["--config", "missing.yaml"]).await;
    assert_eq!(told.code(), 2);
    assert!(
        told.stderr().contains("cannot read missing.yaml"),
        "{}",
        told.stderr()
    );
    std::fs::write(place.directory.path().join("c.yaml"), "mdoe: warn\n").unwrap();
    let told = place.doctor(&["--config", "c.yaml"]).await;
    assert_eq!(told.code(), 2);
    assert!(
        told.stderr().contains("did you mean mode?"),
        "{}",
        told.stderr()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_looked_at_where_somebody_says() {
    let place = Place::installed().await;
    // Nobody listens there.
    let told = place.doctor(&["--connect-to", "127.0.0.1:1"]).await;
    assert_eq!(told.code(), 1);
    let line = &told.says("certificate")[0];
    assert!(
        line.starts_with("fail  certificate: cannot connect to 127.0.0.1:1"),
        "{line}"
    );
    // The API server speaks no TLS.
    let url = place.server.listen().await;
    let told = place
        .doctor(&["--connect-to", url.trim_start_matches("http://")])
        .await;
    let line = &told.says("certificate")[0];
    assert!(
        line.contains("is not trusted as transom.transom.svc"),
        "{line}"
    );
}

/// As the chart would install it: with the taints that all Windows nodes share.
#[tokio::test(flavor = "multi_thread")]
async fn taints_are_looked_at_as_the_chart_would_have_it_before_it_is_installed() {
    let place = Place::bare().await;
    place.server.change(NODES, "windows-1", |node| {
        node["spec"]["taints"] = json!([{"key": "os", "value": "windows", "effect": "NoSchedule"}]);
    });
    let told = place.doctor(&[]).await;
    assert!(
        told.says("tolerations")[0].starts_with("ok    "),
        "{}",
        told.stdout()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn runtime_classes_are_held_against_nodes() {
    let place = Place::bare().await;
    let scheduling = json!({"nodeSelector": {"kubernetes.io/os": "windows", "pool": "gone"}});
    place.server.put(
        RUNTIME_CLASSES,
        "windows",
        json!({"scheduling": scheduling}),
    );
    let told = place.doctor(&[]).await;
    assert!(
        told.says("runtime-classes")[0]
            .starts_with("warn  runtime-classes: RuntimeClass windows leads")
    );
}
