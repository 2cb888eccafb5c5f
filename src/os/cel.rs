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
use super::system::{BETA_OS_LABEL, BUILD_LABEL, OS_LABEL, OS_SKU_LABEL};

pub use chart::chart_template;

/// A condition for a webhook to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Something in the object speaks of Windows.
    Evidence,
    /// Nothing in the object plainly asks for Linux, or something beside it speaks of Windows.
    NotLinux,
}

/// The parts that come from the configuration, each as CEL source text.
struct Slots<'s> {
    /// The regular expression of images, a string.
    images: &'s str,
    /// The length from which an image goes to the webhook unread, a number: [`image_limit`].
    image_limit: &'s str,
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
        let images = image_pattern(&policy.images);
        self.with(&Slots {
            image_limit: &image_limit(&images).to_string(),
            images: &literal(images),
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

/// The most entries of a list that an expression iterates over. cel-go's cost tracking makes each
/// iteration as expensive as the number of iterations before it, so longer lists go to the webhook.
const ENTRIES: usize = 50;
/// The most texts of a container that are joined: commands, arguments and paths. Joining is linear.
const TEXTS: usize = 1_000;
/// The most characters of the joined texts that are searched. Longer ones go to the webhook.
const SEARCHED: usize = 8_000;
/// The most characters of the joined texts that are matched against a regular expression.
const MATCHED: usize = 300;
/// The most characters of a toleration's key and value. Valid ones are shorter.
const TOLERATION: usize = 500;
/// The most characters of an image that are matched against a regular expression.
const IMAGE: usize = 300;
/// The most characters of an image times those of the pattern. CEL's price of a match is 1/40 of it,
/// the budget of an expression 1,000,000, and [`ENTRIES`] containers may take a third of that.
const IMAGE_TIMES_PATTERN: usize = 240_000;
/// What rounding adds to an image's length in the price of a match.
const ROUNDING: usize = 11;

/// The length from which an image is not matched against this pattern.
fn image_limit(pattern: &str) -> usize {
    (IMAGE_TIMES_PATTERN / pattern.len())
        .saturating_sub(ROUNDING)
        .min(IMAGE)
}

/// Whether a list is too long to iterate over, or this holds for one of its entries.
fn any(list: &str, entry: &str, holds: &str) -> String {
    format!("(size({list}) > {ENTRIES} || {list}.exists({entry}, {holds}))")
}

/// Whether one of these texts, a list, is one that only Windows understands, or they are too many
/// or too long to tell. They are joined, because a function is linear and an iteration is not. A
/// line break between them is as good as a beginning or an end to both regular expressions, and
/// none of the other texts has one in it.
fn windows_text(texts: &str) -> String {
    let [drive, program] = [DRIVE, PROGRAM].map(literal);
    let [break_, colon, pipe, exe] = ["\n", r":\", r"\\.\pipe\", r"(?i)\.exe"].map(literal);
    format!(
        "[{texts}].exists(l, size(l) > {TEXTS} || [l.join({break_})].exists(a, \
         size(a) > {SEARCHED} \
         || a.contains({colon}) && (size(a) > {MATCHED} || a.matches({drive})) \
         || a.contains({pipe}) \
         || a.matches({exe}) && (size(a) > {MATCHED} || a.matches({program}))))"
    )
}

/// The cheapest first: an object is cut off from the webhook only by the last of them, so what a
/// container costs must not keep the node affinity from being seen.
fn evidence(slots: &Slots<'_>) -> String {
    [
        "has(s.os) && s.os.name != 'linux'".to_owned(),
        format!(
            "has(s.nodeSelector) && ('{BUILD_LABEL}' in s.nodeSelector || '{OS_SKU_LABEL}' in s.nodeSelector || {})",
            os_selected(slots, "windows")
        ),
        "has(s.securityContext) && has(s.securityContext.windowsOptions)".to_owned(),
        // The API server has merged its node selector into a pod, but into no template.
        "request.resource.resource != 'pods' && has(s.runtimeClassName)".to_owned(),
        format!(
            "has(t.metadata) && {}",
            entry_is("t.metadata.labels", OS_LABEL, "windows")
        ),
        format!(
            "[object, t].exists(o, has(o.metadata) && {})",
            entry_is("o.metadata.annotations", "transom.dev/os", "windows")
        ),
        node_affinity(),
        tolerations(slots),
        containers(slots),
        format!(
            "has(s.volumes) && (size(s.volumes) > {ENTRIES} || {})",
            windows_text("s.volumes.map(v, has(v.hostPath), v.hostPath.path)")
        ),
    ]
    .join(" || ")
}

/// Whether the map has this entry. Its other entries are not visited.
fn entry_is(map: &str, key: &str, value: &str) -> String {
    format!("has({map}) && '{key}' in {map} && {map}['{key}'] == '{value}'")
}

/// Whether the node selector has this value for a label that names the OS.
fn os_selected(slots: &Slots<'_>, os: &str) -> String {
    let os_labels = slots.os_labels;
    format!("{os_labels}.exists(k, k in s.nodeSelector && s.nodeSelector[k] == '{os}')")
}

fn node_affinity() -> String {
    // All values have to name Windows, so the first one tells.
    let expression = format!(
        "e.key in ['{BUILD_LABEL}', '{OS_SKU_LABEL}'] && !(e.operator in ['NotIn', 'DoesNotExist']) \
         || e.operator == 'In' && has(e.values) && size(e.values) > 0 && e.values[0] == 'windows'"
    );
    let speaks = |term: &str| {
        let list = format!("{term}.matchExpressions");
        format!("has({list}) && {}", any(&list, "e", &expression))
    };
    let terms = list("n.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    let preferred = "n.preferredDuringSchedulingIgnoredDuringExecution";
    format!(
        "has(s.affinity) && has(s.affinity.nodeAffinity) && [s.affinity.nodeAffinity].exists(n, \
         has(n.requiredDuringSchedulingIgnoredDuringExecution) && \
         [{terms}].exists(l, {}) \
         || has({preferred}) && {})",
        any("l", "r", &speaks("r")),
        any(
            preferred,
            "p",
            &format!("has(p.preference) && {}", speaks("p.preference"))
        ),
    )
}

fn tolerations(slots: &Slots<'_>) -> String {
    let taints = slots.taints;
    let names = format!(
        "has(o.key) && has(o.value) && \
         (size(o.key) + size(o.value) > {TOLERATION} || o.key + '=' + o.value in {taints})"
    );
    format!(
        "has(s.tolerations) && {}",
        any("s.tolerations", "o", &names)
    )
}

/// The containers of all three lists together.
fn containers(slots: &Slots<'_>) -> String {
    let Slots {
        images,
        image_limit,
        ..
    } = slots;
    let lists = ["s.containers", "s.initContainers", "s.ephemeralContainers"]
        .map(|field| format!("({})", list(field)))
        .join(" + ");
    let texts = [
        "(has(c.command) ? c.command : [])",
        "(has(c.args) ? c.args : [])",
        "(has(c.workingDir) ? [c.workingDir] : [])",
        "(has(c.volumeMounts) ? c.volumeMounts.map(m, m.mountPath) : [])",
    ]
    .join(" + ");
    let container = [
        format!("has(c.image) && (size(c.image) >= {image_limit} || c.image.matches({images}))"),
        "has(c.securityContext) && has(c.securityContext.windowsOptions)".to_owned(),
        format!("has(c.volumeMounts) && size(c.volumeMounts) > {ENTRIES}"),
        windows_text(&texts),
    ]
    .join(" || ");
    format!("[{lists}].exists(l, {})", any("l", "c", &container))
}

/// What plainly asks for Linux.
fn linux(slots: &Slots<'_>) -> String {
    format!(
        "has(s.os) && s.os.name == 'linux' || has(s.nodeSelector) && {}",
        os_selected(slots, "linux")
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
    ("(^|/)(?i:", ")(/|:|@|$)"),
    (":[^/@]*(?i:", ")"),
    ("(^|[^0-9A-Za-z])(", ")"),
    (":([^/@]*[-_.])?(?i:", ")[0-9]*([-_.@]|$)"),
];

/// Every image that [`ImagePatterns`] knows, as one regular expression: none of them is compiled more than once.
fn image_pattern(images: &ImagePatterns) -> String {
    let ImagePatterns {
        certain_repositories,
        certain_tags,
        hint_words,
        hint_tags,
        // What they take away is left to the webhook.
        linux_repositories: _,
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
