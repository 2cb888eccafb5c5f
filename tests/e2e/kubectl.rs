//! What a user does, with the program that users have: kubectl, in a namespace of its own.

use std::fmt;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use hyper::Method;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::{eventually, windows_pod};

pub(crate) struct Namespace<'a> {
    cluster: &'a Cluster,
    name: String,
    /// Where the manifests are that a test writes, so that the file names in messages are always the same.
    files: tempfile::TempDir,
}

impl<'a> Namespace<'a> {
    pub(crate) fn new(cluster: &'a Cluster, name: String) -> Self {
        let files = tempfile::tempdir_in(cluster.directory()).unwrap();
        Self {
            cluster,
            name,
            files,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where commands are run.
    pub(crate) fn files(&self) -> &std::path::Path {
        self.files.path()
    }

    /// Writes a manifest for a later command.
    pub(crate) fn file(&self, name: &str, content: &str) {
        std::fs::write(self.files.path().join(name), content).unwrap();
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> Told {
        self.run(args, "", &[])
    }

    /// kubectl with an editor, which is a command line.
    pub(crate) fn edit(&self, args: &[&str], editor: &str) -> Told {
        self.run(args, "", &[("KUBE_EDITOR", editor)])
    }

    /// A command that must succeed; what it printed.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let told = self.kubectl(args);
        assert!(told.succeeded(), "{told}");
        told.stdout
    }

    /// Creates the objects of a manifest, which must succeed.
    pub(crate) fn create(&self, manifest: &str) -> Told {
        let told = self.run(&["create", "-f", "-"], manifest, &[]);
        assert!(told.succeeded(), "{told}");
        told
    }

    /// An object as the API server shows it.
    pub(crate) fn get(&self, args: &[&str]) -> Value {
        let json = self.ok(&[&["get", "-o", "json"], args].concat());
        serde_json::from_str(&json).unwrap()
    }

    /// Writes a manifest and applies it, as a user does.
    pub(crate) fn apply(&self, file: &str, manifest: &str) -> Told {
        self.file(file, manifest);
        self.kubectl(&["apply", "-f", file])
    }

    /// The status and the object, or why not, of a pod that is not to stay; asked without kubectl.
    pub(crate) fn dry_run(&self, pod: &Value) -> (u16, Value) {
        let path = format!("/api/v1/namespaces/{}/pods?dryRun=All", self.name);
        let answer = self.cluster.api().ask(Method::POST, &path, Some(pod));
        let (status, body) = answer.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    /// Waits until a Windows pod is admitted here, and patched.
    pub(crate) fn wait_until_patched(&self) {
        let pod = windows_pod("probe");
        eventually("a Windows pod is admitted and patched", || {
            let (status, pod) = self.dry_run(&pod);
            (status == 201 && pod["spec"]["os"]["name"] == "windows").then_some(())
        });
    }

    /// The pods with this label `app`.
    pub(crate) fn pods(&self, app: &str) -> Vec<Value> {
        let list = self.get(&["pods", "-l", &format!("app={app}")]);
        list["items"].as_array().unwrap().clone()
    }

    fn run(&self, args: &[&str], input: &str, environment: &[(&str, &str)]) -> Told {
        let mut child = Command::new(self.cluster.program("kubectl"))
            .args(args)
            .args(["--namespace", &self.name])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.cluster.directory())
            .env("KUBECONFIG", self.cluster.admin())
            .envs(environment.iter().copied())
            .current_dir(self.files.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        Told::new(args, &child.wait_with_output().unwrap())
    }
}

/// What kubectl printed, as a terminal shows it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    command: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Told {
    fn new(args: &[&str], output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command: args.join(" "),
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ kubectl {}", self.command)?;
        write!(f, "{}{}", self.stderr, self.stdout)?;
        match self.code {
            Some(0) => Ok(()),
            Some(code) => writeln!(f, "[exit code {code}]"),
            None => writeln!(f, "[killed]"),
        }
    }
}
