//! The evidence once more, as CEL: the matchConditions that keep all other pods off the wire.
//!
//! What [`detect`](super::detect) finds in an object itself to be Windows, a hint at Windows or a contradiction, the
//! expression lets through; it may let more through, never less (tests/evidence/conditions.rs). It sees
//! objects as API servers hand them to expressions: typed and defaulted. Nodes, registries and namespaces are
//! not in an object; what they alone know takes [`Condition::NotLinux`] or no condition at all. Called by
//! `transom conditions` and for the chart, whose template has Helm's actions where a configuration's own
//! values go.

mod chart;

use serde::Serialize;

use super::EvidencePolicy;
use super::image::ImagePatterns;
use super::system::{BETA_OS_LABEL, BUILD_LABEL, OS_LABEL};

pub use chart::chart_template;

/// A condition for a webhook to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Something in the object speaks of Windows.
    Evidence,
    /// Nothing in the object plainly asks for Linux, or something beside it speaks of Windows.
    NotLinux,
}

/// The parts that come from the configuration, each as the text of a CEL literal.
struct Slots<'s> {
    /// The regular expression of images, a string.
    images: &'s str,
    /// `key=value` of the taints that name Windows, a list of strings.
    taints: &'s str,
    /// The node labels that name the OS, a list of strings.
    os_labels: &'s str,
}

impl Condition {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Evidence, Self::NotLinux];

    /// Its name in webhook configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evidence => "windows-evidence",
            Self::NotLinux => "not-plainly-linux",
        }
    }

    /// The expression, for what this configuration takes for evidence.
    pub(crate) fn expression(self, policy: &EvidencePolicy) -> String {
        self.with(&Slots {
            images: &literal(image_pattern(&policy.images)),
            taints: &literal(taints(&policy.windows_taints)),
            os_labels: &literal(os_labels(&policy.os_label_key)),
        })
    }

    fn with(self, slots: &Slots<'_>) -> String {
        let evidence = evidence(slots);
        let wanted = match self {
            Self::Evidence => evidence,
            Self::NotLinux => format!("!({}) || {evidence}", linux(slots)),
        };
        // No variables there: a list of one binds a name. Services have no pod in them, and are asked about only
        // where a rule for them is on.
        format!(
            "request.resource.resource == 'services' || \
             {TEMPLATE}.exists(t, [has(t.spec) ? t.spec : {{}}].exists(s, {wanted}))"
        )
    }
}

/// Where the pod is, in each of the kinds.
const TEMPLATE: &str = "(has(object.template) ? [object.template] \
    : has(object.spec.containers) ? [object] \
    : has(object.spec.template) ? [object.spec.template] \
    : has(object.spec.jobTemplate) ? [object.spec.jobTemplate.spec.template] : [])";

/// A drive, as `is_windows_text` has it: one letter, and no escape behind it.
const DRIVE: &str = r#"(^|[^0-9A-Za-z%/])[A-Za-z]:\\([^ntr0"'\\]|[ntr0"'\\][0-9A-Za-z]|$)"#;
/// A program that only Windows has.
const PROGRAM: &str = r"(^|[^0-9A-Za-z])(?i:powershell|cmd)\.(?i:exe)([^0-9A-Za-z]|$)";

/// Whether a text is one that only Windows understands. A regular expression costs its length times the text's, and
/// whatever exceeds the budget is refused under failurePolicy Fail: the short tests come first, and what passes
/// them and is long is let through.
fn windows_text(text: &str) -> String {
    let [drive, program] = [DRIVE, PROGRAM].map(literal);
    let [colon, pipe, exe] = [r":\", r"\\.\pipe\", r"(?i)\.exe"].map(literal);
    format!(
        "{text}.contains({colon}) && (size({text}) > 500 || {text}.matches({drive})) \
         || {text}.contains({pipe}) \
         || {text}.matches({exe}) && (size({text}) > 500 || {text}.matches({program}))"
    )
}

fn evidence(slots: &Slots<'_>) -> String {
    let Slots {
        images,
        taints,
        os_labels: _,
    } = slots;
    let [containers, init, ephemeral, command, args] = [
        "s.containers",
        "s.initContainers",
        "s.ephemeralContainers",
        "c.command",
        "c.args",
    ]
    .map(list);
    let container = [
        format!("has(c.image) && c.image.matches({images})"),
        "has(c.securityContext) && has(c.securityContext.windowsOptions)".to_owned(),
        format!(
            "[{command}, {args}].exists(l, l.exists(a, {}))",
            windows_text("a")
        ),
        format!("has(c.workingDir) && ({})", windows_text("c.workingDir")),
        format!(
            "has(c.volumeMounts) && c.volumeMounts.exists(m, has(m.mountPath) && ({}))",
            windows_text("m.mountPath")
        ),
    ]
    .join(" || ");
    let expressions = |list: &str| {
        format!(
            "has({list}.matchExpressions) && {list}.matchExpressions.exists(e, \
             e.key == '{BUILD_LABEL}' && !(e.operator in ['NotIn', 'DoesNotExist']) \
             || e.operator == 'In' && has(e.values) && 'windows' in e.values)"
        )
    };
    let (required, preferred) = (expressions("r"), expressions("p.preference"));
    let terms = list("n.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    [
        "has(s.os) && s.os.name != 'linux'".to_owned(),
        format!(
            "has(s.nodeSelector) && s.nodeSelector.exists(k, \
             s.nodeSelector[k] == 'windows' || k == '{BUILD_LABEL}')"
        ),
        "has(s.securityContext) && has(s.securityContext.windowsOptions)".to_owned(),
        // The API server has merged its node selector into a pod, but into no template.
        "request.resource.resource != 'pods' && has(s.runtimeClassName)".to_owned(),
        format!("[{containers}, {init}, {ephemeral}].exists(l, l.exists(c, {container}))"),
        format!(
            "has(s.affinity) && has(s.affinity.nodeAffinity) && [s.affinity.nodeAffinity].exists(n, \
             has(n.requiredDuringSchedulingIgnoredDuringExecution) && \
             ({terms}).exists(r, {required}) \
             || has(n.preferredDuringSchedulingIgnoredDuringExecution) && \
             n.preferredDuringSchedulingIgnoredDuringExecution.exists(p, \
             has(p.preference) && {preferred}))"
        ),
        format!(
            "has(s.tolerations) && s.tolerations.exists(o, \
             has(o.key) && has(o.value) && o.key + '=' + o.value in {taints})"
        ),
        format!(
            "has(s.volumes) && s.volumes.exists(v, \
             has(v.hostPath) && has(v.hostPath.path) && ({}))",
            windows_text("v.hostPath.path")
        ),
        format!(
            "has(t.metadata) && has(t.metadata.labels) && t.metadata.labels.exists(k, \
             k == '{OS_LABEL}' && t.metadata.labels[k] == 'windows')"
        ),
        "[object, t].exists(o, has(o.metadata) && has(o.metadata.annotations) && \
         o.metadata.annotations.exists(k, \
         k == 'transom.dev/os' && o.metadata.annotations[k] == 'windows'))"
            .to_owned(),
    ]
    .join(" || ")
}

/// What plainly asks for Linux.
fn linux(slots: &Slots<'_>) -> String {
    let os_labels = slots.os_labels;
    format!(
        "has(s.os) && s.os.name == 'linux' || \
         has(s.nodeSelector) && s.nodeSelector.exists(k, k in {os_labels} && s.nodeSelector[k] == 'linux')"
    )
}

/// A list that may be absent, or null where Go's types have no other word for an empty one.
fn list(field: &str) -> String {
    format!("has({field}) && {field} != null ? {field} : []")
}

/// JSON's strings and lists of strings are CEL's, too.
fn literal(value: impl Serialize) -> String {
    serde_json::json!(value).to_string()
}

/// What stands before and behind the names of each list of [`ImagePatterns`], in its order.
const PARTS: [(&str, &str); 4] = [
    ("^(?i:", ")(/|:|@|$)"),
    (":[^/@]*(?i:", ")"),
    ("(^|[^0-9A-Za-z])(", ")"),
    (":([^/@]*[-_.])?(?i:", ")([-_.@]|$)"),
];

/// Every image that [`ImagePatterns`] knows, as one regular expression: none of them is compiled more than once.
fn image_pattern(images: &ImagePatterns) -> String {
    let ImagePatterns {
        certain_repositories,
        certain_tags,
        hint_words,
        hint_tags,
    } = images;
    let lists = [certain_repositories, certain_tags, hint_words, hint_tags];
    let parts = lists.into_iter().zip(PARTS);
    let parts = parts.filter(|(names, _)| !names.is_empty());
    let parts = parts.map(|(names, (before, after))| {
        let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
        format!("{before}{}{after}", names.join("|"))
    });
    let parts: Vec<_> = parts.collect();
    match parts.is_empty() {
        true => NOTHING.to_owned(),
        false => parts.join("|"),
    }
}

/// Matches no text.
const NOTHING: &str = "^a^";

/// For a regular expression, as Go's `QuoteMeta` does it, which the chart uses.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// Each once, as in the chart.
fn taints(taints: &[(String, String)]) -> Vec<String> {
    let mut named = Vec::new();
    for (key, value) in taints {
        let taint = format!("{key}={value}");
        if !named.contains(&taint) {
            named.push(taint);
        }
    }
    named
}

fn os_labels(own: &str) -> Vec<&str> {
    let mut labels = vec![OS_LABEL, BETA_OS_LABEL];
    if !labels.contains(&own) {
        labels.push(own);
    }
    labels
}
