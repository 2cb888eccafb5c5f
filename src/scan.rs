//! Live objects → findings: the webhook's own verdict over pages of lists, as the API server answers them.
//!
//! ```text
//! page     one page of a list → its objects, as bytes
//! known    pages of namespaces, RuntimeClasses and nodes → facts
//! owners   which object counts for which, and what is known of it already
//! ```
//!
//! Pure. Owners have to come before what they make: [`STAGES`] has the order. Findings are kept, objects are not;
//! of those that make others eight bytes twice, of nodes labels and taints, and where Services are judged the
//! labels of Windows pods. Not here: asking the API server (`cluster::list`), what is done
//! with the findings (`command`), and how they look (`check::output`).

pub mod known;
mod owners;
mod page;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use serde_json::value::RawValue;

use crate::admit::Verdict;
use crate::check::creation::{self, Creation};
use crate::check::{FileReport, Finding, Problem, Report, Seen};
use crate::decision::Endpoint;
use crate::facts::Facts;
use crate::misplaced::{Hosts, Misplaced, Search};
use crate::os::Os;
use crate::policy::Policy;
use crate::workload::Kind;
use owners::{Key, Owners};
use page::Head;

pub use page::{Page, Unreadable};

/// The kinds, in the order in which they have to be read: what makes others comes first, and the pods that are selected
/// before who selects them.
pub const STAGES: [&[Kind]; 4] = [
    &[
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::CronJob,
        Kind::ReplicationController,
        Kind::PodTemplate,
    ],
    &[Kind::ReplicaSet, Kind::Job],
    &[Kind::Pod],
    &[Kind::Service],
];

/// What was found so far.
pub struct Scan {
    policy: Policy,
    facts: Facts,
    seen: Seen,
    owners: Owners,
    misplaced: Search,
    found: Vec<Finding>,
    problems: Vec<(Subject, Problem)>,
    oddities: Vec<(Subject, Problem)>,
}

impl Scan {
    /// Nothing was found yet.
    #[must_use]
    pub fn new(policy: Policy, facts: Facts, hosts: Hosts) -> Self {
        Self {
            misplaced: Search::new(policy.clone(), facts.clone(), hosts),
            policy,
            facts,
            seen: Seen::default(),
            owners: Owners::default(),
            found: Vec::new(),
            problems: Vec::new(),
            oddities: Vec::new(),
        }
    }

    /// Whether objects of this kind are judged: Services only where a rule for them is on.
    #[must_use]
    pub fn wants(&self, kind: Kind) -> bool {
        kind != Kind::Service || self.policy.services
    }

    /// Judges the objects of a page of a list.
    pub fn page(&mut self, kind: Kind, page: &Page<'_>) {
        for item in page.items() {
            match Head::of(item) {
                Ok(head) => self.object(kind, &head, item),
                Err(why) => self.problem(kind.name(), None, why.to_string()),
            }
        }
    }

    /// A kind that could not be read, in a namespace or in all of them.
    pub fn problem(&mut self, kind: &str, namespace: Option<&str>, why: impl Into<String>) {
        let subject = Subject::kind(kind, namespace);
        self.problems.push((subject, Problem::whole(why)));
    }

    /// A kind that could not be read, and can be done without.
    pub fn oddity(&mut self, kind: &str, why: impl Into<String>) {
        let subject = Subject::kind(kind, None);
        self.oddities.push((subject, Problem::whole(why)));
    }

    /// An object counts for what made it, if that is judged and there. Of pods it is seen whether they have
    /// something that it has not.
    fn object(&mut self, kind: Kind, head: &Head<'_>, item: &RawValue) {
        if kind == Kind::Pod && head.is_finished() {
            self.seen.finished += 1;
            return;
        }
        if kind == Kind::DaemonSet {
            self.misplaced.daemon_set(item.get());
        }
        let controller = head.controller();
        let owner = controller.and_then(|controller| {
            let owner = Kind::find(controller.group(), controller.kind())?;
            let is_judged = kind.is_made_by(owner);
            is_judged.then(|| self.owners.find(controller.uid()))?
        });
        if owner.is_some() {
            *self.seen.owned.entry(kind.name().to_owned()).or_default() += 1;
        }
        let known_as = match (kind, owner) {
            (Kind::Pod, Some(owner)) => Some(owner),
            // Nobody was judged for it, but one pod of many is enough to tell.
            (Kind::Pod, None) => controller.map(|controller| Key::of(controller.uid())),
            (_, Some(owner)) => return self.owners.insert(head.uid(), owner),
            (_, None) => {
                let own = Key::of(head.uid());
                self.owners.insert(head.uid(), own);
                Some(own)
            }
        };
        self.judge(kind, head, item, known_as);
    }

    fn judge(&mut self, kind: Kind, head: &Head<'_>, item: &RawValue, known_as: Option<Key>) {
        self.seen.judged += 1;
        // The node of a misplaced pod says nothing of what the pod is for.
        let is_misplaced = kind == Kind::Pod && self.misplaced.pod(item.get());
        let facts = match is_misplaced {
            true => self.misplaced.facts(),
            false => &self.facts,
        };
        let creation = Creation {
            kind,
            namespace: head.namespace(),
            object: item.get().as_bytes(),
        };
        let mut heard = Heard::default();
        let asked = creation.ask(&self.policy, facts, |verdict| heard.hear(verdict));
        let subject = || Subject::object(kind, head);
        if let Err(malformed) = asked {
            let problem = Problem::whole(malformed.to_string());
            self.problems.push((subject(), problem));
        }
        self.seen.windows += usize::from(heard.is_windows);
        self.seen.exempt += usize::from(heard.is_exempt);
        if kind == Kind::Pod && heard.is_windows && self.wants(Kind::Service) {
            let windows = &mut self.facts.windows_pods;
            let here = windows.entry(head.namespace().to_owned()).or_default();
            here.insert(head.labels());
        }
        let problems = heard.problems.into_iter();
        self.problems
            .extend(problems.map(|problem| (subject(), problem)));
        for (likeness, problem) in heard.oddities {
            // Pods of the same controller have the same annotations.
            if known_as.is_none_or(|key| self.owners.know(key, likeness, NOTHING)) {
                self.oddities.push((subject(), problem));
            }
        }
        let first = self.found.len();
        let mut counted = Vec::new();
        for (likeness, mut finding) in heard.findings {
            finding.evidence.clone_from(&heard.evidence);
            let known = known_as.and_then(|key| self.owners.known(key, likeness));
            match known {
                Some(at) if at < first => {
                    // However often it is in this pod, it is one pod.
                    if !counted.contains(&at) {
                        counted.push(at);
                        *self.found[at].pods.get_or_insert_default() += 1;
                    }
                    continue;
                }
                Some(_) => {}
                None => {
                    if let Some(key) = known_as {
                        self.owners.know(key, likeness, self.found.len());
                    }
                }
            }
            finding.pods = known_as.map(|_| usize::from(kind == Kind::Pod));
            self.found.push(finding);
        }
    }

    /// What it all came to, in the order of namespaces, kinds and names.
    #[must_use]
    pub fn report(self) -> Report {
        let mut files = BTreeMap::<Subject, FileReport>::new();
        for finding in self.found {
            file(&mut files, Subject::of(&finding))
                .findings
                .push(finding);
        }
        for (subject, problem) in self.problems {
            file(&mut files, subject).problems.push(problem);
        }
        for (subject, oddity) in self.oddities {
            file(&mut files, subject).oddities.push(oddity);
        }
        let mut seen = self.seen;
        for misplaced in self.misplaced.finish() {
            seen.misplaced += 1;
            let text = format!("{}; {}", misplaced.problem(), misplaced.remedy());
            let oddities = &mut file(&mut files, Subject::misplaced(misplaced)).oddities;
            oddities.push(Problem::whole(text));
        }
        Report {
            files: files.into_values().collect(),
            cluster: Some(seen),
        }
    }
}

fn file(files: &mut BTreeMap<Subject, FileReport>, subject: Subject) -> &mut FileReport {
    let name = subject.to_string();
    let entry = files.entry(subject);
    entry.or_insert_with(|| FileReport::live(name))
}

/// No finding has this number.
const NOTHING: usize = usize::MAX;

/// What both verdicts on one object tell.
#[derive(Default)]
struct Heard {
    evidence: Option<String>,
    is_windows: bool,
    is_exempt: bool,
    /// With what they have in common with others.
    findings: Vec<(u64, Finding)>,
    problems: Vec<Problem>,
    oddities: Vec<(u64, Problem)>,
}

impl Heard {
    fn hear(&mut self, verdict: &Verdict<'_, '_>) {
        if verdict.endpoint() == Endpoint::Mutate {
            // What the patch adds is no evidence of anything.
            self.evidence = verdict.evidence();
            self.is_windows = verdict.detected().0 == Some(Os::Windows);
            self.is_exempt = verdict.exemption().is_some();
        }
        for told in verdict.findings() {
            let finding = creation::finding(verdict, told, &verdict.path(told), None);
            // A denial of /mutate tells of what /validate would find again.
            let is_known = |(_, known): &(u64, Finding)| {
                known.rule.code == finding.rule.code && known.path == finding.path
            };
            if !self.findings.iter().any(is_known) {
                let likeness = verdict.likeness(told).unwrap_or_default();
                self.findings.push((likeness, finding));
            }
        }
        if verdict.endpoint() == Endpoint::Validate {
            let unreadable = verdict.unreadable();
            self.problems.extend(unreadable.map(Problem::whole));
            let ineffective = verdict.ineffective().into_iter();
            self.oddities
                .extend(ineffective.map(|(_, why)| (owners::hash(&why), Problem::whole(why))));
        }
    }
}

/// What something is about: an object, a kind in a namespace, the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    namespace: String,
    kind: String,
    name: String,
}

impl Subject {
    fn object(kind: Kind, head: &Head<'_>) -> Self {
        Self {
            namespace: head.namespace().to_owned(),
            kind: kind.name().to_owned(),
            name: head.name().to_owned(),
        }
    }

    fn of(finding: &Finding) -> Self {
        Self {
            namespace: finding.namespace.clone().unwrap_or_default(),
            kind: finding.kind.clone(),
            name: finding.name.clone().unwrap_or_default(),
        }
    }

    fn misplaced(misplaced: Misplaced) -> Self {
        let workload = misplaced.workload;
        Self {
            namespace: workload.namespace,
            kind: workload.kind,
            name: workload.name,
        }
    }

    /// All of a kind.
    fn kind(kind: &str, namespace: Option<&str>) -> Self {
        Self {
            namespace: namespace.unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
            name: String::new(),
        }
    }
}

impl Display for Subject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            kind,
            name,
        } = self;
        match (namespace.as_str(), name.as_str()) {
            ("", "") => f.write_str(kind),
            ("", name) => write!(f, "{kind} {name}"),
            (namespace, "") => write!(f, "{kind} in {namespace}"),
            (namespace, name) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}
