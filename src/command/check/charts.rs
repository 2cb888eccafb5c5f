//! Helm charts and kustomizations in directories: what is rendered before it is a manifest.
//!
//! Without `--helm` nothing is run. With it, `helm template` renders each chart; helm follows links in a chart.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::check::output::{name, several, shown, shown_in};

/// As many charts or kustomizations are named.
const NAMED: usize = 10;
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What was found in directories.
#[derive(Default)]
pub(super) struct Charts {
    /// How many templates each chart has.
    charts: BTreeMap<PathBuf, usize>,
    kustomizations: Vec<PathBuf>,
    /// Whether a directory holds a chart.
    known: BTreeMap<PathBuf, bool>,
}

impl Charts {
    /// The chart that a file is a template of; for subcharts, the one that contains them.
    pub(super) fn template(&mut self, file: &Path) -> Option<PathBuf> {
        let templates = file
            .ancestors()
            .skip(1)
            .filter(|path| path.file_name() == Some(OsStr::new("templates")));
        let parents: Vec<_> = templates.filter_map(Path::parent).collect();
        let mut chart = parents.into_iter().find(|path| self.is_chart(path))?;
        while let Some(above) = chart.parent().filter(|above| above.ends_with("charts"))
            && let Some(above) = above.parent()
            && self.is_chart(above)
        {
            chart = above;
        }
        *self.charts.entry(chart.to_owned()).or_default() += 1;
        Some(chart.to_owned())
    }

    fn is_chart(&mut self, directory: &Path) -> bool {
        if let Some(known) = self.known.get(directory) {
            return *known;
        }
        let is_chart = directory.join("Chart.yaml").is_file();
        self.known.insert(directory.to_owned(), is_chart);
        is_chart
    }

    /// Notes the directory of a kustomization.
    pub(super) fn kustomization(&mut self, file: &Path) {
        let is_one = file.file_name().and_then(OsStr::to_str);
        if is_one.is_some_and(|name| KUSTOMIZATIONS.contains(&name)) {
            let directory = file.parent().filter(|path| *path != Path::new(""));
            self.kustomizations
                .push(directory.unwrap_or_else(|| Path::new(".")).to_owned());
        }
    }

    /// A line each, with the command that renders it.
    pub(super) fn notes(&self, is_rendered: bool) -> String {
        let charts = self.charts.iter().filter(|_| !is_rendered).map(|(chart, templates)| {
            let templates = several(*templates, "template");
            let argument = argument(chart);
            format!(
                "{}: note: a Helm chart, {templates} not checked; run helm template {argument} | transom check -, or \
                 use --helm\n",
                name(&path(chart)),
            )
        });
        let kustomizations = self.kustomizations.iter().map(|directory| {
            format!(
                "{}: note: a kustomization, its files are checked as they are; to check what it builds, run kubectl \
                 kustomize {} | transom check -\n",
                name(&path(directory)),
                argument(directory),
            )
        });
        limited(charts.collect(), "Helm charts are")
            + &limited(kustomizations.collect(), "kustomizations are")
    }
}

fn limited(lines: Vec<String>, what: &str) -> String {
    let more = lines.len().saturating_sub(NAMED);
    let mut out: String = lines.into_iter().take(NAMED).collect();
    if more > 0 {
        out += &format!("note: {more} more {what} not named\n");
    }
    out
}

fn path(path: &Path) -> String {
    let path = path
        .strip_prefix(".")
        .ok()
        .filter(|rest| *rest != Path::new(""))
        .unwrap_or(path);
    path.display().to_string()
}

/// A path as an argument that a shell can be given.
fn argument(path: &Path) -> String {
    let text = self::path(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-');
    let text = if text.starts_with('-') {
        format!("./{text}")
    } else {
        text
    };
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", shown(&text).replace('\'', r"'\''")),
    }
}

/// What `helm template` makes of a chart, or why it makes nothing.
pub(super) fn render(chart: &Path, values: &[PathBuf], largest: u64) -> Result<Vec<u8>, String> {
    let mut command = Command::new("helm");
    command.arg("template");
    for file in values {
        command.arg("--values").arg(file);
    }
    command.arg("--").arg(chart);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "helm is not in the PATH; install it, or run without --helm".to_owned()
        }
        _ => format!("helm cannot be started: {error}"),
    })?;
    output(child, largest)
}

fn output(mut child: Child, largest: u64) -> Result<Vec<u8>, String> {
    /// Charts render in a second or so.
    const PATIENCE: Duration = Duration::from_secs(60);
    let reader = |pipe: Option<Box<dyn Read + Send>>, most: u64| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is missing, and the exit code says so.
            let _ = pipe.map(|pipe| pipe.take(most).read_to_end(&mut bytes));
            bytes
        })
    };
    let out = child
        .stdout
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let errors = child
        .stderr
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let (out, errors) = (reader(out, largest + 1), reader(errors, 64 << 10));
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(10)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("helm did not end within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("helm cannot be waited for: {error}")),
        }
    };
    let out = out.join().unwrap_or_default();
    let errors = errors.join().unwrap_or_default();
    if !status.success() {
        let errors = String::from_utf8_lossy(&errors);
        let first = errors
            .lines()
            .find(|line| line.starts_with("Error"))
            .or_else(|| errors.lines().next());
        let first = shown_in(first.unwrap_or("it gives no reason"), 300);
        return Err(format!("helm cannot render the chart: {first}"));
    }
    if out.len() as u64 > largest {
        return Err("the rendered chart is larger than 256 MiB".to_owned());
    }
    Ok(out)
}
