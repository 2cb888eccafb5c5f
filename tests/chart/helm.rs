//! Helm itself: where it is, and what it makes of the chart.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use super::root;

/// What the chart is installed as.
pub(crate) const RELEASE: &str = "transom";
pub(crate) const NAMESPACE: &str = "transom";

/// Values with which nobody asks the API server anything.
pub(crate) const SILENT: &str = "{watchNamespaces: false, watchRuntimeClasses: false, watchNodes: false, tls: {mode: certManager}}";

/// A program of the directory `KUBEBUILDER_ASSETS`, or of the PATH.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let assets = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories = assets.into_iter().chain(std::env::split_paths(&path));
    directories.find_map(|directory| {
        let program = directory.join(name);
        program.is_file().then_some(program)
    })
}

/// Says what is not tested and why, past the capture of what tests print that pass.
pub(crate) fn skipped(why: &str) {
    let line = format!("SKIPPED: {why}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Helm, or a line that says once that it is missing.
pub(crate) fn helm() -> Option<Helm> {
    static HELM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = HELM.get_or_init(|| {
        let helm = program("helm");
        if helm.is_none() {
            skipped(
                "the chart: no helm in KUBEBUILDER_ASSETS or PATH; \
                 `go install helm.sh/helm/v4/cmd/helm@latest` makes it",
            );
        }
        helm
    });
    found.clone().map(Helm)
}

pub(crate) struct Helm(PathBuf);

impl Helm {
    fn run(&self, args: &[OsString]) -> Output {
        let mut command = Command::new(&self.0);
        command.current_dir(root("")).args(args);
        // No cluster is asked, whatever the user of this machine works with.
        command.env("KUBECONFIG", "/dev/null");
        command.output().unwrap()
    }

    /// What `helm template` prints, or why it does not.
    pub(crate) fn text(&self, args: &[&str]) -> Result<String, String> {
        // The oldest version, as nobody knows which one a Helm that was built from source takes for granted.
        let version = "--kube-version=1.30.0";
        let start = [
            "template",
            RELEASE,
            "charts/transom",
            version,
            "-n",
            NAMESPACE,
        ];
        let mut all: Vec<OsString> = start.map(OsString::from).into();
        all.extend(args.iter().map(OsString::from));
        let output = self.run(&all);
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap())
        } else {
            Err(String::from_utf8(output.stderr).unwrap())
        }
    }

    /// The objects, with one of charts/transom/ci; rendered once for all tests.
    pub(crate) fn ci(&self, case: &str) -> Arc<Manifests> {
        static RENDERED: Mutex<BTreeMap<String, Arc<Manifests>>> = Mutex::new(BTreeMap::new());
        if let Some(rendered) = RENDERED.lock().unwrap().get(case) {
            return Arc::clone(rendered);
        }
        let values = format!("charts/transom/ci/{case}.yaml");
        let text = self.text(&["-f", &values]);
        let text = text.unwrap_or_else(|error| panic!("{case}: {error}"));
        let rendered = Arc::new(Manifests::read(&text));
        let mut all = RENDERED.lock().unwrap();
        all.insert(case.to_owned(), Arc::clone(&rendered));
        rendered
    }

    /// The objects, with the chart's own values and these.
    pub(crate) fn with(&self, values: &str) -> Result<Manifests, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("values.yaml");
        std::fs::write(&file, values).unwrap();
        let text = self.text(&["-f", file.to_str().unwrap()])?;
        Ok(Manifests::read(&text))
    }

    /// What `helm lint --strict` has to say, if it is not content.
    pub(crate) fn lint(&self, values: &Path) -> Result<(), String> {
        let [lint, strict, chart, n, f] =
            ["lint", "--strict", "charts/transom", "-n", "-f"].map(OsString::from);
        let output = self.run(&[lint, strict, chart, n, NAMESPACE.into(), f, values.into()]);
        if output.status.success() {
            return Ok(());
        }
        let text = [output.stdout, output.stderr].concat();
        Err(String::from_utf8(text).unwrap())
    }
}

/// The files of charts/transom/ci, without their ending.
pub(crate) fn cases() -> Vec<String> {
    let files = std::fs::read_dir(root("charts/transom/ci")).unwrap();
    let mut cases: Vec<_> = files
        .map(|file| {
            let name = file.unwrap().file_name().into_string().unwrap();
            name.strip_suffix(".yaml").unwrap().to_owned()
        })
        .collect();
    cases.sort();
    assert!(cases.len() > 8, "{cases:?}");
    cases
}

/// What Helm rendered.
pub(crate) struct Manifests(pub(crate) Vec<Value>);

impl Manifests {
    pub(crate) fn read(text: &str) -> Self {
        let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
        Self(objects.into_iter().filter(|o| !o.is_null()).collect())
    }

    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|o| o["kind"] == kind).collect()
    }

    /// The only one of its kind that is no part of `helm test`.
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let found: Vec<_> = self.all(kind).into_iter().filter(|o| !is_test(o)).collect();
        let [one] = found[..] else {
            panic!("{} of {kind}", found.len());
        };
        one
    }

    /// The ConfigMap of the configuration; a dashboard has one, too.
    pub(crate) fn configuration(&self) -> &Value {
        let is_config = |o: &&&Value| o["data"].get("config.yaml").is_some();
        let maps = self.all("ConfigMap");
        maps.iter().find(is_config).unwrap()
    }

    /// The pod of `helm test`.
    pub(crate) fn test_pod(&self) -> &Value {
        let pods = self.all("Pod");
        assert!(pods.len() == 1 && is_test(pods[0]));
        pods[0]
    }
}

/// Whether only `helm test` makes this object.
pub(crate) fn is_test(object: &Value) -> bool {
    object["metadata"]["annotations"]["helm.sh/hook"] == "test"
}
