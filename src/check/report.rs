//! What was found, as all formats tell it.

use super::Skipped;
use super::document::Document;
use super::known::Said;
use super::subject::{Note, Subject};
use crate::rules::Rule;
use crate::yaml::Place;

/// How a problem starts that is about a document without a Kubernetes object.
pub(super) const FOREIGN: &str = "not a Kubernetes object";

/// What all files came to, in the order in which they were given; or a cluster.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One for each file; of a cluster, one for each object that there is something to say of.
    pub files: Vec<FileReport>,
    /// Of a cluster: what was seen in it.
    pub cluster: Option<Seen>,
}

/// What was seen in a cluster, beside what there is to say of single objects.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// How many objects were judged.
    pub judged: usize,
    /// How many of these are for Windows.
    pub windows: usize,
    /// How many of these are let through by an exemption or the mode `off`.
    pub exempt: usize,
    /// Objects that count for what made them, such as the pods and ReplicaSets of a Deployment.
    pub owned: Skipped,
    /// Pods that have ended, and are not judged.
    pub finished: usize,
    /// Workloads with pods on nodes of the wrong operating system. Each is an oddity, too.
    pub misplaced: usize,
}

/// Where something comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A file.
    #[default]
    File,
    /// A cluster: there are no lines, and the name is that of an object, or of what was asked for.
    Cluster,
}

/// What one file came to, or one live object.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// What it is.
    pub source: Source,
    /// As it was given; `<stdin>` for what was piped in; of a live object, such as `Deployment shop/web`.
    pub name: String,
    /// What is in it, if it is text.
    pub text: String,
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// What kept documents from being read.
    pub problems: Vec<Problem>,
    /// What was read and is probably not meant: a key that stands there twice, a comment that
    /// silences nothing.
    pub oddities: Vec<Problem>,
    /// Objects of the kinds that are evaluated, and what they are taken for. Of a place that aliases repeat, ten.
    pub subjects: Vec<Subject>,
    /// How many of the evaluated objects target Windows.
    pub windows: usize,
    /// How many objects are exempt.
    pub exempt: usize,
    /// How many Windows objects nothing but the webhook keeps off Linux nodes.
    pub placed: usize,
    /// No notes are made of them.
    pub without_notes: bool,
    /// What the manifests say of the cluster.
    pub said: Said,
    /// How many objects were evaluated.
    pub judged: usize,
    /// Objects without a pod in them.
    pub skipped: Skipped,
    /// How many documents are no Kubernetes objects at all; each is a problem, too.
    pub foreign: usize,
}

/// A finding in a file.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// The case of the rule, an index into [`Rule::tiers`].
    pub tier: u8,
    /// What the cluster would do about it.
    pub severity: Severity,
    /// The path of the field, from the root of the object.
    pub path: String,
    /// The field's value in short; nothing where it is absent or not to be told.
    pub value: Option<String>,
    /// Why it fails on Windows.
    pub reason: String,
    /// What to write instead.
    pub remedy: String,
    /// Where it is written: the field, or the nearest one above it. A live object is not written anywhere.
    pub span: Option<Span>,
    /// The field is absent, and so `span`, if there is one, is that of the nearest one above it.
    pub absent: bool,
    /// Of a contradiction: where the other side is written.
    pub against: Option<Span>,
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, if it says one.
    pub namespace: Option<String>,
    /// The name of the object, if it has one.
    pub name: Option<String>,
    /// Why the object is taken for one that is for Windows.
    pub evidence: Option<String>,
    /// Of a repair: the operation of the webhook's patch, as JSON.
    pub patch: Option<String>,
    /// Why it is ignored, if an annotation or a comment says so.
    pub ignored: Option<String>,
    /// In a cluster: how many live pods have this flaw, be it from this object or like this pod, from the same
    /// controller.
    pub pods: Option<usize>,
}

/// What the cluster would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing: it is silenced.
    Ignored,
    /// Repair it on the way in, with a warning.
    Repair,
    /// Admit the object, with a warning.
    Warn,
    /// Refuse the object.
    Deny,
}

impl Severity {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::Repair => "repair",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }
}

/// A piece of a text: from its first byte to the one behind its last, and where that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The first byte behind it.
    pub end: usize,
    /// The line of the first character, from 1.
    pub line: usize,
    /// Its column, from 1, in characters.
    pub column: usize,
}

impl Span {
    /// Where it starts.
    pub fn place(self) -> Place {
        Place {
            line: self.line,
            column: self.column,
        }
    }
}

/// What cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Nothing where it is about the whole file.
    pub place: Option<Place>,
    /// One sentence.
    pub text: String,
}

impl Problem {
    /// About all of it.
    pub(crate) fn whole(text: impl Into<String>) -> Self {
        Self {
            place: None,
            text: text.into(),
        }
    }

    pub(super) fn at(place: Place, text: impl Into<String>) -> Self {
        Self {
            place: Some(place),
            text: text.into(),
        }
    }
}

impl FileReport {
    /// A report without anything in it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// A live object, or what a cluster was asked for.
    pub(crate) fn live(name: impl Into<String>) -> Self {
        Self {
            source: Source::Cluster,
            ..Self::new(name)
        }
    }

    /// The name of the file, if it is one.
    pub fn file(&self) -> Option<&str> {
        (self.source == Source::File).then_some(&self.name)
    }

    /// A file that holds no Kubernetes object.
    pub fn foreign(name: impl Into<String>) -> Self {
        Self {
            foreign: 1,
            ..Self::unread(name, format!("{FOREIGN}: apiVersion and kind are missing"))
        }
    }

    /// Forgets the documents that are no Kubernetes objects.
    pub fn pass_over_foreign(&mut self) {
        self.foreign = 0;
        self.problems
            .retain(|problem| !problem.text.starts_with(FOREIGN));
    }

    /// A file that could not be read at all.
    pub fn unread(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            problems: vec![Problem::whole(why)],
            ..Self::new(name)
        }
    }

    /// Counts an object, and keeps it if it is to be listed.
    pub(super) fn count(&mut self, subject: Subject, is_listed: bool) {
        let is_exempt = subject.exempt.is_some();
        self.judged += usize::from(!is_exempt);
        self.exempt += usize::from(is_exempt);
        self.windows += usize::from(!is_exempt && subject.is_windows());
        self.placed += usize::from(subject.is_placed());
        if is_listed {
            self.subjects.push(subject);
        }
    }

    pub(super) fn skip(&mut self, kind: &str) {
        *self.skipped.entry(kind.to_owned()).or_default() += 1;
    }

    /// Forgets findings below this severity, and notes.
    pub fn keep(&mut self, least: Option<Severity>) {
        let Some(least) = least else {
            return;
        };
        let is_kept = |severity| severity == Severity::Ignored || severity >= least;
        self.findings.retain(|finding| is_kept(finding.severity));
        self.without_notes = true;
    }

    /// Notes about its objects.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (Place, Note, String)> {
        let subjects = self.subjects.iter().filter(|_| !self.without_notes);
        subjects.filter_map(|subject| {
            let (note, text) = subject.note()?;
            Some((subject.place, note, text))
        })
    }

    /// There is nothing to say of it but what it holds.
    pub fn is_silent(&self) -> bool {
        self.findings.is_empty()
            && self.problems.is_empty()
            && self.oddities.is_empty()
            && self.notes().next().is_none()
    }

    /// There is no Kubernetes object in it: it is YAML of another kind.
    pub fn is_foreign(&self) -> bool {
        let none = self.judged == 0 && self.subjects.is_empty() && self.skipped.is_empty();
        none && self.foreign > 0 && self.foreign == self.problems.len()
    }

    /// Keys that stand there twice: kubectl takes the last one without a word.
    pub(super) fn duplicates(&mut self, document: &Document) {
        for (key, first) in document.duplicates() {
            let line = first.line;
            let text = format!(
                "{} stands there twice, first in line {line}; kubectl takes this one",
                key.text
            );
            self.oddities.push(Problem::at(key.place, text));
        }
    }
}

impl Report {
    /// All findings, in the order of files and places.
    pub fn findings(&self) -> impl Iterator<Item = (&FileReport, &Finding)> {
        let files = self.files.iter();
        files.flat_map(|file| file.findings.iter().map(move |finding| (file, finding)))
    }

    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings();
        findings.filter(|(_, f)| f.severity == severity).count()
    }

    /// How many objects were judged.
    pub fn judged(&self) -> usize {
        let live = self.cluster.as_ref().map_or(0, |seen| seen.judged);
        live + self.files.iter().map(|file| file.judged).sum::<usize>()
    }

    /// The objects of all files that are evaluated or exempt.
    pub fn subjects(&self) -> impl Iterator<Item = (&FileReport, &Subject)> {
        let files = self.files.iter();
        files.flat_map(|file| file.subjects.iter().map(move |subject| (file, subject)))
    }

    /// How many of the evaluated objects target Windows.
    pub fn windows(&self) -> usize {
        let live = self.cluster.as_ref().map_or(0, |seen| seen.windows);
        live + self.files.iter().map(|file| file.windows).sum::<usize>()
    }

    /// How many objects are exempt.
    pub fn exempt(&self) -> usize {
        let live = self.cluster.as_ref().map_or(0, |seen| seen.exempt);
        live + self.files.iter().map(|file| file.exempt).sum::<usize>()
    }

    /// How many Windows objects nothing but the webhook keeps off Linux nodes.
    pub fn placed(&self) -> usize {
        self.files.iter().map(|file| file.placed).sum()
    }

    /// How many objects have no pod in them.
    pub fn skipped(&self) -> usize {
        let files = self.files.iter();
        files.flat_map(|file| file.skipped.values()).sum()
    }

    /// How many problems kept something from being read.
    pub fn problems(&self) -> usize {
        self.files.iter().map(|file| file.problems.len()).sum()
    }
}
