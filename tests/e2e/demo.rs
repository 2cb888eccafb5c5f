//! The story of `proof` for a person to watch, in kubectl's own words: `just demo`.

use std::io::{IsTerminal, Read};

use serde_json::json;

use crate::chart::Release;
use crate::cluster::Cluster;
use crate::kubectl::Namespace;
use crate::proof::{manifest, settle};
use crate::transom::LABEL;

/// One name for the builds of all Windows releases, so that any Windows node will do.
const IMAGE: &str = "mcr.microsoft.com/dotnet/framework/aspnet:4.8";

pub(crate) fn play(cluster: &Cluster) {
    let shop = cluster.namespace("shop", &[(LABEL, "transom")]);
    say(
        "A cluster with two Linux and two Windows nodes. The Windows nodes are tainted, as KEP-116 has it.",
    );
    let labels = "kubernetes.io/os,node.kubernetes.io/windows-build";
    show(&shop, &["get", "nodes", "-L", labels]);

    say(
        "A Deployment of a Windows image, as charts write it: nothing says that it is for Windows.",
    );
    write(&shop, "web.yaml", &manifest("web", IMAGE));
    say(
        "Without Transom it is accepted, and its pods go to Linux nodes, where they can never run.",
    );
    roll_out(&shop, "web");
    show(&shop, &["delete", "-f", "web.yaml", "--wait"]);

    say("Transom is installed.");
    println!("$ helm install transom charts/transom --namespace transom");
    let mut release = Release::install(cluster, "transom", &json!({}));
    release.probe();
    settle(&shop);

    say("The same manifest again: the pods are given what they lack, and land on Windows nodes.");
    roll_out(&shop, "web");
    let jsonpath =
        "-o=jsonpath={range .items[*]}{.spec.os}{\"  \"}{.spec.nodeSelector}{\"\\n\"}{end}";
    show(&shop, &["get", "pods", "-l=app=web", jsonpath]);

    say("A Deployment for Linux beside it is left alone.");
    shop.file("proxy.yaml", &manifest("proxy", "nginx:1.29"));
    roll_out(&shop, "proxy");

    say("What Windows cannot honour is refused where it is applied, with reason and remedy.");
    let root = manifest("root", IMAGE).replace(
        "    spec:\n      containers",
        "    spec:\n      securityContext: {runAsUser: 1000}\n      containers",
    );
    write(&shop, "root.yaml", &root);
    show(&shop, &["apply", "-f", "root.yaml"]);

    if std::io::stdin().is_terminal() {
        let kubeconfig = cluster.admin();
        let kubectl = cluster.program("kubectl");
        println!("\nThe cluster is yours until you press Enter:\n");
        println!("  export KUBECONFIG={}", kubeconfig.display());
        println!("  {} --namespace shop get pods", kubectl.display());
        let _ = std::io::stdin().read(&mut [0]);
    }
    release.stop();
}

fn roll_out(namespace: &Namespace<'_>, name: &str) {
    show(namespace, &["apply", "-f", &format!("{name}.yaml")]);
    show(
        namespace,
        &["rollout", "status", &format!("deployment/{name}")],
    );
    let app = format!("-l=app={name}");
    let columns = "-o=custom-columns=NAME:.metadata.name,STATUS:.status.phase,NODE:.spec.nodeName";
    show(namespace, &["get", "pods", &app, columns]);
}

fn write(namespace: &Namespace<'_>, file: &str, manifest: &str) {
    namespace.file(file, manifest);
    println!("$ cat {file}\n{}", manifest.trim());
}

fn say(text: &str) {
    println!("\n# {text}\n");
}

fn show(namespace: &Namespace<'_>, args: &[&str]) {
    print!("{}", namespace.kubectl(args));
}
