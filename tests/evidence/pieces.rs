//! The pieces of evidence: for Windows, for Linux, hints, and what means nothing.

use crate::common::{OS, merge, object_of, pod_metadata_mut};
use crate::{BETA, BUILD, OS_SKU, container, expression, image, preferred, required};
use serde_json::{Value, json};
use transom::os::Source;

/// A piece of evidence: what is merged into the pod's metadata and spec.
pub(crate) struct Piece {
    pub(crate) what: &'static str,
    pub(crate) metadata: Value,
    pub(crate) spec: Value,
    pub(crate) source: Source,
}

fn piece(what: &'static str, source: Source, spec: Value) -> Piece {
    let metadata = json!({});
    Piece {
        what,
        metadata,
        spec,
        source,
    }
}

fn on_metadata(what: &'static str, source: Source, metadata: Value) -> Piece {
    Piece {
        what,
        metadata,
        spec: json!({}),
        source,
    }
}

impl Piece {
    pub(crate) fn of(&self, kind: &str) -> Value {
        let mut object = object_of(kind, self.spec.clone());
        merge(pod_metadata_mut(&mut object), &self.metadata);
        object
    }
}

/// What makes a pod a Windows pod: decisive and acting evidence.
pub(crate) fn windows() -> Vec<Piece> {
    use Source::*;
    vec![
        piece("os.name", OsField, json!({"os": {"name": "windows"}})),
        piece(
            "selector",
            NodeSelector,
            json!({"nodeSelector": {OS: "windows"}}),
        ),
        piece(
            "beta selector",
            NodeSelector,
            json!({"nodeSelector": {BETA: "windows"}}),
        ),
        piece(
            "windowsOptions of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}}}),
        ),
        piece(
            "gMSA of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "a"}}}),
        ),
        piece(
            "gMSA's text",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {"gmsaCredentialSpec": "{}"}}}),
        ),
        piece(
            "windowsOptions of a container",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {"runAsUserName": "a"}}})),
        ),
        piece(
            "hostProcess false is set, too",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {"hostProcess": false}}})),
        ),
        piece(
            "build selector",
            Build,
            json!({"nodeSelector": {BUILD: "10.0.20348"}}),
        ),
        piece(
            "build by required affinity",
            Build,
            required(json!([expression(BUILD, "In", &["10.0.20348"])])),
        ),
        piece(
            "AKS release selector",
            Build,
            json!({"nodeSelector": {OS_SKU: "Windows2025"}}),
        ),
        piece(
            "AKS releases by required affinity",
            Build,
            required(json!([expression(
                OS_SKU,
                "In",
                &["Windows2022", "Windows2025"]
            )])),
        ),
        piece(
            "some build",
            Build,
            required(json!([expression(BUILD, "Exists", &[])])),
        ),
        piece(
            "required affinity",
            RequiredAffinity,
            required(json!([expression(OS, "In", &["windows"])])),
        ),
        piece(
            "required affinity to the old label",
            RequiredAffinity,
            required(json!([expression(BETA, "In", &["windows"])])),
        ),
        piece(
            "every term",
            RequiredAffinity,
            required(json!([
                expression(OS, "In", &["windows"]),
                expression(BETA, "In", &["windows"])
            ])),
        ),
        piece(
            "certain tag",
            CertainImage,
            image("registry.example/app:1-ltsc2022"),
        ),
        piece(
            "nanoserver",
            CertainImage,
            image("registry.example/app:nanoserver-1809"),
        ),
        piece("ltsc2019", CertainImage, image("app:ltsc2019")),
        piece(
            "ltsc-2019",
            CertainImage,
            image("app:3.2-windows-ltsc-2019"),
        ),
        piece(
            "servercore",
            CertainImage,
            image("gcr.io/datadoghq/agent:7-servercore"),
        ),
        piece(
            "nanoserver of long ago",
            CertainImage,
            image("microsoft/nanoserver"),
        ),
        piece(
            "a mirror",
            CertainImage,
            image("registry.corp/mcr.microsoft.com/windows/server:1"),
        ),
        piece(
            "a mirror's project",
            CertainImage,
            image("registry.corp:5000/mcr/windows/servercore:1"),
        ),
        piece(
            "the .NET Framework on a mirror",
            CertainImage,
            image("registry.corp/mcr.microsoft.com/dotnet/framework/aspnet:4.8"),
        ),
        piece("ltsc2025", CertainImage, image("app:v1.ltsc2025")),
        piece(
            "windowsservercore",
            CertainImage,
            image("registry.example:5000/app:4-windowsservercore"),
        ),
        piece(
            "certain repository",
            CertainImage,
            image("mcr.microsoft.com/windows:20H2"),
        ),
        piece(
            "below a certain repository",
            CertainImage,
            image("mcr.microsoft.com/windows/servercore@sha256:0123"),
        ),
        piece(
            "the .NET Framework",
            CertainImage,
            image("mcr.microsoft.com/dotnet/framework/runtime:4.8"),
        ),
        piece(
            "an init container's image",
            CertainImage,
            json!({"initContainers": [{"name": "i", "image": "app:nanoserver"}]}),
        ),
        on_metadata(
            "the annotation",
            Declared,
            json!({"annotations": {"transom.dev/os": "windows"}}),
        ),
    ]
}

/// What makes a pod a Linux pod.
pub(crate) fn linux() -> Vec<Piece> {
    use Source::*;
    vec![
        piece("os.name", OsField, json!({"os": {"name": "linux"}})),
        piece(
            "selector",
            NodeSelector,
            json!({"nodeSelector": {OS: "linux"}}),
        ),
        piece(
            "beta selector",
            NodeSelector,
            json!({"nodeSelector": {BETA: "linux"}}),
        ),
        piece(
            "required affinity",
            RequiredAffinity,
            required(json!([expression(OS, "In", &["linux"])])),
        ),
        piece(
            "not on Windows",
            RequiredAffinity,
            required(json!([expression(OS, "NotIn", &["windows"])])),
        ),
        on_metadata(
            "the annotation",
            Declared,
            json!({"annotations": {"transom.dev/os": "linux"}}),
        ),
    ]
}

/// What may mean Windows.
pub(crate) fn hints() -> Vec<Piece> {
    use Source::*;
    let toleration = |key: &str, value: &str| json!({"tolerations": [{"key": key, "operator": "Equal", "value": value}]});
    let host_path = |path: &str| json!({"volumes": [{"name": "v", "hostPath": {"path": path}}]});
    vec![
        piece(
            "empty windowsOptions of the pod",
            WindowsOptions,
            json!({"securityContext": {"windowsOptions": {}}}),
        ),
        piece(
            "empty windowsOptions of a container",
            WindowsOptions,
            container(json!({"securityContext": {"windowsOptions": {}}})),
        ),
        piece(
            "preferred affinity",
            PreferredAffinity,
            preferred(expression(OS, "In", &["windows"])),
        ),
        on_metadata("label", PodLabel, json!({"labels": {OS: "windows"}})),
        piece(
            "tag win",
            ImageHint,
            image("registry.example/app:win-3.1.28"),
        ),
        piece(
            "tag windows",
            ImageHint,
            image("registry.example/app:windows-2022-3.1.0"),
        ),
        piece(
            "tag windows-amd64",
            ImageHint,
            image("whoami:windows-amd64-2.0.1"),
        ),
        piece("tag windows-hp", ImageHint, image("app:v1-windows-hp")),
        piece("tag win64", ImageHint, image("app:1-win64")),
        piece("tag windows2022", ImageHint, image("app:1-windows2022")),
        piece(
            "tag hostprocess",
            ImageHint,
            image("app:v1-calico-hostprocess"),
        ),
        piece(
            "the tools of SIG Windows",
            ImageHint,
            image("sigwindowstools/kube-proxy:v1.36.0"),
        ),
        piece(
            "the .NET Framework in a mirror's project",
            ImageHint,
            image("registry.corp/mcr/dotnet/framework/aspnet:4.8"),
        ),
        piece(
            "repository windows",
            ImageHint,
            image("registry.example/windows-app:1"),
        ),
        piece("repository iis", ImageHint, image("registry.example/iis:1")),
        piece(
            "C:\\ in a command",
            WindowsText,
            container(json!({"command": ["C:\\app.exe"]})),
        ),
        piece(
            "cmd.exe",
            WindowsText,
            container(json!({"command": ["cmd.exe", "/c", "dir"]})),
        ),
        piece(
            "powershell.exe in the arguments",
            WindowsText,
            container(json!({"args": ["-c", "powershell.exe"]})),
        ),
        piece(
            "working directory",
            WindowsText,
            container(json!({"workingDir": "c:\\app"})),
        ),
        piece(
            "mount path",
            WindowsText,
            container(json!({"volumeMounts": [{"name": "v", "mountPath": "C:\\data"}]})),
        ),
        piece("pipe", WindowsText, host_path("\\\\.\\pipe\\docker_engine")),
        piece("drive", WindowsText, host_path("C:\\logs")),
        piece("KEP-116's taint", Toleration, toleration("os", "Win1809")),
        piece("EKS's taint", Toleration, toleration("os", "windows")),
        piece("OpenShift's taint", Toleration, toleration("os", "Windows")),
        piece(
            "GKE's taint",
            Toleration,
            toleration("node.kubernetes.io/os", "windows"),
        ),
        piece(
            "another taint",
            Toleration,
            toleration("kubernetes.io/os", "windows"),
        ),
        piece(
            "the label's key with a capital letter",
            Toleration,
            toleration("kubernetes.io/os", "Windows"),
        ),
        piece(
            "Azure Local's taint",
            Toleration,
            toleration("sku", "Windows"),
        ),
        piece(
            "Azure Local's other taint",
            Toleration,
            toleration("node.kubernetes.io/os", "Windows"),
        ),
        piece(
            "GCE's taint",
            Toleration,
            toleration("node.kubernetes.io/os", "win1809"),
        ),
        piece(
            "EKS modules' taint",
            Toleration,
            toleration("OS", "Windows"),
        ),
    ]
}

/// What means nothing, however much it looks like evidence.
pub(crate) fn nothing() -> Vec<(&'static str, Value)> {
    vec![
        ("no evidence", json!({})),
        (
            "both in one term",
            required(json!([expression(OS, "In", &["linux", "windows"])])),
        ),
        (
            "terms are alternatives",
            required(json!([
                expression(OS, "In", &["windows"]),
                expression(OS, "In", &["linux"])
            ])),
        ),
        (
            "one term without the label",
            required(json!([
                expression(OS, "In", &["windows"]),
                expression("disk", "In", &["ssd"])
            ])),
        ),
        ("no terms", required(json!([]))),
        (
            "no build",
            required(json!([expression(BUILD, "DoesNotExist", &[])])),
        ),
        (
            "an AKS release of Linux",
            json!({"nodeSelector": {OS_SKU: "AzureLinux"}}),
        ),
        (
            "AKS releases of both systems",
            required(json!([expression(
                OS_SKU,
                "In",
                &["Windows2022", "Ubuntu"]
            )])),
        ),
        (
            "not an AKS release",
            required(json!([expression(OS_SKU, "NotIn", &["Windows2022"])])),
        ),
        (
            "the label, whatever it says",
            required(json!([expression(OS, "Exists", &[])])),
        ),
        ("a third system", json!({"nodeSelector": {OS: "freebsd"}})),
        (
            "preferred Linux",
            preferred(expression(OS, "In", &["linux"])),
        ),
        (
            "tolerates everything",
            json!({"tolerations": [{"operator": "Exists"}]}),
        ),
        (
            "tolerates RKE1's taint of Linux nodes",
            json!({"tolerations": [{"key": "cattle.io/os", "value": "linux"}]}),
        ),
        (
            "tolerates every value",
            json!({"tolerations": [{"key": "os", "operator": "Exists"}]}),
        ),
        ("nginx", image("nginx:1.27")),
        ("a word's end", image("team/hawaiis:1")),
        ("winter", image("app:1-winter")),
        ("Darwin", image("app:1-darwin-amd64")),
        (
            "a registry's name",
            image("windowsregistry.example.com/app:1"),
        ),
        (
            "Windows in a virtual machine",
            image("dockurr/windows:latest"),
        ),
        (
            "Windows in a virtual machine, on a mirror",
            image("registry.corp/docker.io/dockurr/windows:5"),
        ),
        ("a port", image("registry.example:1809/app")),
        (
            "the number of a CI build",
            image("registry.example/a:4.2.1809"),
        ),
        (
            "a runtime class that nobody knows",
            json!({"runtimeClassName": "windows"}),
        ),
        ("a node that nobody knows", json!({"nodeName": "windows-1"})),
        ("a pod of nothing", json!({"containers": []})),
    ]
}
