//! The table as a page of Markdown: docs/rules.md.

use super::{Body, Case, Section, WITHOUT_TRANSOM, parts, wrap};
use crate::rules::{self, Action, FAMILIES, Field, Owner, Profile, Rule};

/// As wide as the other pages in docs/.
pub(super) const WIDTH: usize = 120;

/// docs/rules.md.
pub fn rules_page() -> String {
    let mut out = INTRODUCTION.to_owned();
    for family in &FAMILIES {
        out.push_str(&format!("\n**{}**\n\n", family.heading()));
        for rule in family.rules() {
            let (link, brief) = (link(rule, ""), escaped(rule.brief));
            out.push_str(&format!("- {link}: {brief}\n"));
        }
    }
    out.push('\n');
    let all: Vec<_> = rules::all().collect();
    out.push_str(&by_family(&all));
    out
}

const INTRODUCTION: &str = "\
# The rules

<!-- Made from the rule table by `just docs`; not to be edited by hand. -->

What Transom holds a Windows pod to, and each workload that makes such pods. `transom explain CODE` prints a section of
this page, `transom rules` the table in short.

What is done about a finding is one of these:

- `deny`: the object is refused;
- `repair`: /mutate takes the field out and says so, where the API server would refuse it beside
  `spec.os.name: windows`;
- `warn`: the object is admitted with a warning;
- `off`: nothing.

The column *without Transom* says what happens to such a pod on a Windows node if no webhook acts on it:

- `fails`: the pod cannot be scheduled, cannot start or does not work;
- `ignored`: it runs without what the field asks for;
- `unprotected`: it runs with less protection than the field asks for;
- `-`: it runs as written, or the outcome depends on what the object does not show.

The key `ignoredFields` of the configuration lowers the actions of all cases that are `ignored`: `warn` admits such
pods with a warning, `repair` removes the fields. The profile `kep-116` does not use it.

A rule may tell several cases apart; each has an action of its own, in each of the two profiles. `current` is what is
true of supported releases of Kubernetes and Windows Server, `kep-116` is KEP-116 to the letter. The configuration
chooses the profile, and sets the action of a single rule by its code or name; the action becomes that of the first
case, and the others do no more than that:

```yaml
apiVersion: transom.dev/v1alpha1
kind: Config
profile: current
ignoredFields: deny
rules:
  WIN301: deny
  linux-shell: \"off\"
```

Fields are written as they are in a pod. In a workload they are below its pod template: `spec.template.spec`,
`template.spec` in a PodTemplate, `spec.jobTemplate.spec.template.spec` in a CronJob.

Some words of Windows: *ContainerUser* and *ContainerAdministrator* are accounts inside the container that Windows base
images have, the one with few rights and the other with all. A *HostProcess* container runs on the node itself, as
privileged containers do on Linux. A *gMSA* is an account of Active Directory that a container can act as. The *build*,
such as 10.0.20348, tells releases of Windows Server apart.
";

/// These rules, under the headings of their families, as in docs/rules.md.
pub fn by_family(rules: &[&'static Rule]) -> String {
    // What the page says once at its top is not said again for each rule.
    let of_page = |rule| parts(rule).filter(|part| !matches!(part.body, Body::Setting(..)));
    let sections = FAMILIES.iter().filter_map(|family| {
        let sections: Vec<_> = family
            .rules()
            .filter(|rule| rules.iter().any(|wanted| wanted.code == rule.code))
            .map(|rule| section(rule, of_page(rule)))
            .collect();
        let heading = family.heading();
        (!sections.is_empty()).then(|| format!("## {heading}\n\n{}", sections.join("\n")))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// These rules in full, a section each.
pub fn explanations(rules: &[&'static Rule]) -> String {
    let sections: Vec<_> = rules
        .iter()
        .map(|rule| section(rule, parts(rule)))
        .collect();
    sections.join("\n")
}

/// A rule under a heading that is its anchor.
fn section(rule: &'static Rule, parts: impl Iterator<Item = Section>) -> String {
    let mut out = format!("### {} {}\n\n", rule.code, rule.name);
    paragraph(
        &mut out,
        &format!("What is wrong: {}.", escaped(rule.brief)),
    );
    for Section { title, body } in parts {
        out.push('\n');
        match body {
            Body::Text(text) => paragraph(&mut out, &format!("**{title}.** {}", escaped(&text))),
            Body::Actions(cases) => actions(&mut out, &cases),
            Body::Fields(groups) => fields(&mut out, title, &groups),
            Body::List(elements) => list(&mut out, title, elements.into_iter().map(escaped)),
            Body::Example { bad, good } => {
                let [bad, good] = [bad, good].map(|yaml| format!("```yaml\n{yaml}```\n"));
                out.push_str(&format!(
                    "**{title}.** A finding:\n\n{bad}\nNo finding:\n\n{good}"
                ));
            }
            Body::Setting(caption, yaml) => {
                paragraph(&mut out, &format!("**{title}.** {}", escaped(&caption)));
                out.push_str(&format!("\n```yaml\n{yaml}```\n"));
            }
            Body::Links(links) => {
                list(
                    &mut out,
                    title,
                    links.iter().map(|link| format!("<{link}>")),
                );
            }
        }
    }
    out
}

fn fields(out: &mut String, title: &str, groups: &[(String, Vec<Field>)]) {
    let path = |field: &Field| {
        let also = match field.of {
            Owner::Pod => "",
            Owner::Container => " (also `initContainers` and `ephemeralContainers`)",
            Owner::Service => " of a Service",
        };
        format!("`{}`{also}", field.path)
    };
    out.push_str(&format!("**{title}**\n\n"));
    for (when, fields) in groups {
        let when = escaped(when);
        if let [field] = fields.as_slice() {
            wrap(out, &format!("{} {when}", path(field)), "- ", "  ", WIDTH);
            continue;
        }
        wrap(out, &format!("{when}:"), "- ", "  ", WIDTH);
        for field in fields {
            wrap(out, &path(field), "  - ", "    ", WIDTH);
        }
    }
}

/// Each case, its actions in the two profiles and its consequence.
fn actions(out: &mut String, cases: &[Case]) {
    let [current, kep_116] = Profile::ALL.map(Profile::name);
    out.push_str(&format!(
        "| | `{current}` | `{kep_116}` | {WITHOUT_TRANSOM} |\n|---|---|---|---|\n"
    ));
    for case in cases {
        let [current, kep_116] = case.actions.map(Action::name);
        let (when, consequence) = (escaped(case.when), case.consequence);
        out.push_str(&format!(
            "| {when} | {current} | {kep_116} | {consequence} |\n"
        ));
    }
}

fn list(out: &mut String, title: &str, elements: impl Iterator<Item = String>) {
    out.push_str(&format!("**{title}**\n\n"));
    for element in elements {
        wrap(out, &element, "- ", "  ", WIDTH);
    }
}

fn paragraph(out: &mut String, text: &str) {
    wrap(out, text, "", "", WIDTH);
}

/// A link to a rule's section in this page, or in the one that is named.
pub(super) fn link(rule: &Rule, page: &str) -> String {
    let Rule { code, name, .. } = rule;
    let anchor = code.to_lowercase();
    format!("[{code} {name}]({page}#{anchor}-{name})")
}

/// Text in which nothing is taken for Markdown.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '[' | ']' | '<' | '`' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
