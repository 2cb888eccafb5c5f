//! `--fix`: what becomes of a text by hand, and that it always becomes what the webhook's patch
//! makes of the object.

mod oracle;
mod silenced;

use transom::check::{Fixed, Options, fix};

fn fixed(text: &str) -> Fixed {
    fix(text.as_bytes(), &Options::default(), &|_| true)
}

/// The text as it should be, however often.
fn after(text: &str) -> String {
    let fixed = self::fixed(text);
    assert_eq!(fixed.left, [], "{text}");
    let bytes = fixed.bytes.unwrap_or_else(|| text.into());
    let after = String::from_utf8(bytes).unwrap();
    let again = self::fixed(&after);
    assert_eq!((again.bytes, again.objects), (None, 0), "{after}");
    after
}

const SPEC: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n";

/// A pod with these lines in its spec.
fn pod(spec: &str) -> String {
    format!("{SPEC}{spec}")
}

/// Where the pod is placed already, in as few lines as it takes.
const PLACED: &str =
    "  nodeSelector: {kubernetes.io/os: windows}\n  tolerations: [{operator: Exists}]\n";

/// Before and behind what is placed already, with what becomes of it.
const TABLE: &[(&str, &str)] = &[
    // What is missing comes behind the last line, and before what is not part of it.
    (
        "  containers: [] # none\n  # the end\n\n",
        "  containers: [] # none\n  os:\n    name: windows\n  # the end\n\n",
    ),
    // Comments that are indented further are about what stands before them.
    (
        "  containers:\n  - name: a\n    # b\n\n      # c\n\n  # the end\n",
        "  containers:\n  - name: a\n    # b\n\n      # c\n  os:\n    name: windows\n\n  # the end\n",
    ),
    (
        "  containers: []",
        "  containers: []\n  os:\n    name: windows",
    ),
    (
        "  containers: []\n...\n",
        "  containers: []\n  os:\n    name: windows\n...\n",
    ),
    // Indented as what is around it.
    (
        "  affinity:\n      podAffinity: {}\n",
        "  affinity:\n      podAffinity: {}\n  os:\n    name: windows\n",
    ),
    // Nothing becomes something, its comment stays.
    ("  os: # soon\n", "  os: # soon\n    name: windows\n"),
    (
        "  os: ~ # soon\n  hostname: a\n",
        "  os: # soon\n    name: windows\n  hostname: a\n",
    ),
    ("  os: {}\n", "  os:\n    name: windows\n"),
    // Strings of several lines.
    (
        "  schedulerName: a\n    b # c\n",
        "  schedulerName: a\n    b # c\n  os:\n    name: windows\n",
    ),
    (
        "  priorityClassName: |\n    a\n\n  # c\n",
        "  priorityClassName: |\n    a\n  os:\n    name: windows\n\n  # c\n",
    ),
    // A key goes with what stands behind it in its lines.
    (
        "  os: {name: windows}\n  # before\n  hostUsers: true # why\n  # after\n  hostname: a\n",
        "  os: {name: windows}\n  # before\n  # after\n  hostname: a\n",
    ),
    (
        "  os: {name: windows}\n  hostUsers: # why\n    true # so\n  hostname: a\n",
        "  os: {name: windows}\n  hostname: a\n",
    ),
    ("  hostUsers: true", "  os:\n    name: windows"),
    ("  \"hostUsers\" : true\n", "  os:\n    name: windows\n"),
    // The last key of a map.
    (
        "  os: {name: windows}\n  securityContext: # c\n    # d\n    seccompProfile: # e\n      # f\n      type: RuntimeDefault # g\n    # h\n",
        "  os: {name: windows}\n    # h\n",
    ),
    // In braces.
    (
        "  os: {name: windows}\n  securityContext: {seccompProfile: {type: RuntimeDefault}} # c\n",
        "  os: {name: windows}\n",
    ),
    (
        "  os: {name: windows}\n  securityContext: { runAsNonRoot: true, seccompProfile: {type: RuntimeDefault} }\n",
        "  os: {name: windows}\n  securityContext: { runAsNonRoot: true }\n",
    ),
    (
        "  os: {name: windows}\n  securityContext: {seccompProfile: {type: RuntimeDefault}, runAsNonRoot: true}\n",
        "  os: {name: windows}\n  securityContext: {runAsNonRoot: true}\n",
    ),
    // In a list, with the first key going, with the only one, with comments between.
    (
        "  os: {name: windows}\n  containers:\n  - securityContext:\n      privileged: false\n      allowPrivilegeEscalation: false\n      runAsNonRoot: true\n    name: a\n",
        "  os: {name: windows}\n  containers:\n  - securityContext:\n      runAsNonRoot: true\n    name: a\n",
    ),
    (
        "  os: {name: windows}\n  initContainers: [{securityContext: {privileged: false, allowPrivilegeEscalation: false, capabilities: {}}, name: a}]\n",
        "  os: {name: windows}\n  initContainers: [{name: a}]\n",
    ),
    (
        "  os: {name: windows}\n  initContainers: [{securityContext: {privileged: false, runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {}}, name: a}]\n",
        "  os: {name: windows}\n  initContainers: [{securityContext: {runAsNonRoot: true}, name: a}]\n",
    ),
];

#[test]
fn what_is_written_is_edited_and_nothing_else() {
    for (before, want) in TABLE {
        let placed = format!("{SPEC}{PLACED}");
        for end in ["\n", "\r\n", "\r"] {
            let [before, want] =
                [before, want].map(|spec| format!("{placed}{spec}").replace('\n', end));
            assert_eq!(after(&before), want);
        }
    }
}

/// Node selectors and tolerations, whatever there is already.
#[test]
fn pods_are_placed_as_the_lines_around_are_written() {
    let os = "  os: {name: windows}\n";
    for (before, want) in [
        (
            "  nodeSelector:\n    kubernetes.io/os: windows # yes\n    a: b # c\n",
            "  nodeSelector:\n    kubernetes.io/os: windows # yes\n    a: b # c\n  tolerations:\n  - key: os\n    operator: Equal\n    value: Win1809\n    effect: NoSchedule\n",
        ),
        (
            "  nodeSelector:\n      a: b # c\n  # d\n  tolerations: [{operator: Exists}]\n",
            "  nodeSelector:\n      a: b # c\n      kubernetes.io/os: windows\n  # d\n  tolerations: [{operator: Exists}]\n",
        ),
        (
            "  nodeSelector: { a: b } # c\n  tolerations:\n    -   operator: Exists\n",
            "  nodeSelector: { a: b, kubernetes.io/os: windows } # c\n  tolerations:\n    -   operator: Exists\n",
        ),
        (
            "  nodeSelector: {}\n  tolerations:\n    -   {key: a, operator: Exists} # c\n    # d\n",
            "  nodeSelector:\n    kubernetes.io/os: windows\n  tolerations:\n    -   {key: a, operator: Exists} # c\n    -   {key: os, operator: Equal, value: Win1809, effect: NoSchedule}\n    # d\n",
        ),
        (
            "  nodeSelector: # a\n    # b\n  tolerations:\n    -   key: a\n        operator: Exists # c\n",
            "  nodeSelector: # a\n    kubernetes.io/os: windows\n    # b\n  tolerations:\n    -   key: a\n        operator: Exists # c\n    -   key: os\n        operator: Equal\n        value: Win1809\n        effect: NoSchedule\n",
        ),
        (
            "  tolerations: [{key: a, operator: Exists}]\n  nodeSelector: {}",
            "  tolerations: [{key: a, operator: Exists}, {key: os, operator: Equal, value: Win1809, effect: NoSchedule}]\n  nodeSelector:\n    kubernetes.io/os: windows",
        ),
        (
            "  tolerations: [] # a\n  containers:\n    - name: a\n",
            "  tolerations: # a\n    - key: os\n      operator: Equal\n      value: Win1809\n      effect: NoSchedule\n  containers:\n    - name: a\n  nodeSelector:\n    kubernetes.io/os: windows\n",
        ),
    ] {
        let [before, want] = [before, want].map(|spec| pod(&format!("{os}{spec}")));
        assert_eq!(after(&before), want);
    }
}

/// A spec in braces gets its keys there.
#[test]
fn braces_in_one_line_stay_braces() {
    let text = "apiVersion: v1\nkind: Pod\nspec: { nodeSelector: {}, tolerations: [{operator: Exists}], containers: [{name: a, image: 'a:ltsc2022'}] } # c\n";
    let want = "apiVersion: v1\nkind: Pod\nspec: { nodeSelector: {kubernetes.io/os: windows}, tolerations: [{operator: Exists}], containers: [{name: a, image: 'a:ltsc2022'}], os: {name: windows} } # c\n";
    assert_eq!(after(text), want);
}

/// KYAML, and braces over several lines.
#[test]
fn edits_braces_over_several_lines() {
    let os = "  os: {name: windows}\n";
    let tolerations = "  tolerations: [{operator: Exists}]\n";
    for (before, want) in [
        (
            "  nodeSelector: {\n    a: b\n  }\n",
            "  nodeSelector: {\n    a: b,\n    kubernetes.io/os: windows\n  }\n",
        ),
        (
            "  nodeSelector: {\n    a: b, # c\n  }\n",
            "  nodeSelector: {\n    a: b, # c\n    kubernetes.io/os: \"windows\",\n  }\n",
        ),
        (
            "  nodeSelector: {a: b,}\n",
            "  nodeSelector: {a: b, kubernetes.io/os: windows,}\n",
        ),
        (
            "  nodeSelector: {kubernetes.io/os: windows}\n  securityContext: {seccompProfile: {type: RuntimeDefault},\n    runAsNonRoot: true}\n",
            "  nodeSelector: {kubernetes.io/os: windows}\n  securityContext: {runAsNonRoot: true}\n",
        ),
        (
            "  nodeSelector: {kubernetes.io/os: windows}\n  securityContext: {\n    runAsNonRoot: true,\n    # a\n    seccompProfile: {\n      type: RuntimeDefault,\n    }, # b\n  }\n",
            "  nodeSelector: {kubernetes.io/os: windows}\n  securityContext: {\n    runAsNonRoot: true,\n    # a\n  }\n",
        ),
    ] {
        let [before, want] = [before, want].map(|spec| pod(&format!("{os}{tolerations}{spec}")));
        assert_eq!(after(&before), want);
    }
}

#[test]
fn edits_kyaml() {
    let text = "\
---
{
  apiVersion: \"v1\",
  kind: \"Pod\",
  metadata: {
    name: \"a\",
  },
  spec: {
    tolerations: [{
      operator: \"Exists\",
    }],
    containers: [{
      name: \"a\",
      image: \"b:ltsc2022\",
      securityContext: {
        privileged: false,
        capabilities: {
          drop: [\"ALL\"],
        },
      },
    }],
  },
}
";
    let want = "\
---
{
  apiVersion: \"v1\",
  kind: \"Pod\",
  metadata: {
    name: \"a\",
  },
  spec: {
    tolerations: [{
      operator: \"Exists\",
    }],
    containers: [{
      name: \"a\",
      image: \"b:ltsc2022\",
    }],
    os: {
      name: \"windows\",
    },
    nodeSelector: {
      kubernetes.io/os: \"windows\",
    },
  },
}
";
    assert_eq!(after(text), want);
}

/// A securityContext of which nothing is left goes; one that was empty before stays.
#[test]
fn removes_an_emptied_security_context() {
    let os = "  os: {name: windows}\n";
    let before = "  securityContext: {}\n  containers:\n  - securityContext:\n      capabilities:\n        drop: [ALL]\n      allowPrivilegeEscalation: false\n    name: a\n  - name: b\n    securityContext:\n      runAsNonRoot: true\n      capabilities:\n        drop: [ALL]\n";
    let want = "  securityContext: {}\n  containers:\n  - name: a\n  - name: b\n    securityContext:\n      runAsNonRoot: true\n";
    let [before, want] = [before, want].map(|spec| pod(&format!("{PLACED}{os}{spec}")));
    assert_eq!(after(&before), want);
}

/// Windows objects in which something should change.
#[test]
fn reports_why_an_object_stays_as_it_is() {
    let exempt =
        pod("  os: {name: windows}\n").replace("{name: a}", "{name: a, namespace: kube-system}");
    let refused = pod(
        "  nodeSelector: {kubernetes.io/os: windows}\n  tolerations: [{operator: Exists}]\n  securityContext: {runAsUser: 1}\n",
    );
    let conflict = pod(
        "  containers: [{name: a, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2022'}]\n  nodeSelector: {kubernetes.io/os: windows}\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}\n",
    );
    for (text, why) in [
        (
            exempt,
            "it is exempt (namespace kube-system); --include-exempt changes it, too",
        ),
        (
            refused,
            "the API server rejects spec.os.name: windows together with the fields of WIN101; remove these first",
        ),
        (conflict, "its evidence is contradictory"),
    ] {
        let fixed = fixed(&text);
        assert_eq!(fixed.bytes, None, "{text}");
        assert_eq!(fixed.left.len(), 1, "{text}");
        assert!(fixed.left[0].text.contains(why), "{}", fixed.left[0].text);
    }
}

/// A Deployment's template gets what the webhook gives to each of its pods.
#[test]
fn templates_are_repaired_where_they_are() {
    for kind in ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] {
        let text = format!(
            "# Source: web/{kind}.yaml\napiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: web\nspec:\n  template:\n    spec: # here\n      tolerations: [{{operator: Exists}}]\n      nodeSelector: {{kubernetes.io/os: windows}}\n      containers:\n      - name: a\n        securityContext:\n          privileged: false\n  # there\n"
        );
        let want = text.replace(
            "        securityContext:\n          privileged: false\n",
            "      os:\n        name: windows\n",
        );
        assert_eq!(after(&text), want);
    }
}

/// What is no plain YAML, with the beginning of the reason.
#[test]
fn what_is_left_alone_is_told_with_the_reason() {
    let os = "  os: {name: windows}\n";
    let refused = "the cluster refuses it for WIN202; mend that first";
    let shared = "an anchor (&) or an alias (*) is in the way";
    let merged = "what would change comes from a merge key (<<)";
    let json = r#"{"apiVersion": "v1", "kind": "Pod", "spec": {"os": {"name": "windows"}}}"#;
    let web = |spec: &str| pod(&format!("{os}{spec}"));
    let anchors = "  securityContext: &a\n    seccompProfile: {type: RuntimeDefault}\n";
    for (text, why) in [
        (json.to_owned(), "it is JSON"),
        (format!("---\n{json}\n"), "it is JSON"),
        (web("  hostPID: true\n"), refused),
        (
            web("  hostname: a\n---\nb: [\n"),
            "the file cannot be read to its end",
        ),
        (web(anchors), shared),
        (web("  nodeSelector: &a {}\n"), shared),
        (
            format!(
                "{}  nodeSelector: *a\n",
                pod("  priorityClassName: x\n")
                    .replace("{name: a}", "{name: a, labels: &a {b: c}}")
                    + os
            ),
            shared,
        ),
        (web("  hostUsers: &a true\n  hostNetwork: false\n"), shared),
        (
            web("  hostUsers: true\n  hostUsers: true\n"),
            "a key that would be taken out stands there twice",
        ),
        (web("  <<: {nodeSelector: {a: b}}\n"), merged),
        (web("  <<: {hostUsers: true}\n"), merged),
        (
            web("  ? nodeSelector\n  : a: b\n"),
            "it is written in a way that is not edited",
        ),
        (
            web("  ? hostUsers\n  : true\n"),
            "it is written in a way that is not edited",
        ),
        (
            web("  nodeSelector:\n    {}\n"),
            "it is written in a way that is not edited",
        ),
        // Where the text would not say what it should, however it comes to that.
        (
            web("  hostname: |+\n    a\n\n"),
            "the file would not have read as it should",
        ),
    ] {
        let fixed = fixed(&text);
        assert_eq!(fixed.bytes, None, "{text}");
        assert_eq!(fixed.left.len(), 1, "{text}");
        let told = &fixed.left[0].text;
        assert!(
            told.contains(" is left alone: ") && told.contains(why),
            "{text}\n{told}"
        );
        assert!(!told.contains('\n'));
    }
}

/// One that is left alone keeps nothing from the others.
#[test]
fn the_others_of_a_file_are_repaired() {
    let good = pod("  os: {name: windows}\n  containers: []\n");
    let bad = pod("  os: {name: windows}\n  hostPID: true\n");
    let other = "# a\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    b: {\n";
    let text = [&*bad, &good, other, &bad, &good].join("---\n");
    let fixed = fixed(&text);
    assert_eq!((fixed.objects, fixed.left.len()), (2, 2));
    let good = after(&good);
    let want = [&*bad, &good, other, &bad, &good].join("---\n");
    assert_eq!(fixed.texts[1], want);
}

#[test]
fn a_file_keeps_its_encoding() {
    let text = pod("  os: {name: windows}\n  containers: [{name: größe 大}]\n");
    let want = after(&text);
    let units = |text: &str, bytes: fn(u16) -> [u8; 2]| {
        let marked = std::iter::once(0xfeff).chain(text.encode_utf16());
        marked.flat_map(bytes).collect::<Vec<u8>>()
    };
    let saved = [
        |text: &str| text.as_bytes().to_vec(),
        |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat(),
    ];
    let mut pairs: Vec<_> = saved
        .iter()
        .map(|save| (save(&text), save(&want)))
        .collect();
    pairs.push((
        units(&text, u16::to_le_bytes),
        units(&want, u16::to_le_bytes),
    ));
    pairs.push((
        units(&text, u16::to_be_bytes),
        units(&want, u16::to_be_bytes),
    ));
    for (bytes, want) in pairs {
        let fixed = fix(&bytes, &Options::default(), &|_| true);
        assert_eq!(fixed.bytes, Some(want));
    }
}

/// Linux pods, those that nothing is known of, and what holds no pod.
#[test]
fn what_is_not_for_windows_is_not_touched() {
    let guard = Options {
        policy: crate::common::policy("linuxGuard: true"),
        ..Options::default()
    };
    for spec in [
        "  containers: [{name: a, image: b}]\n",
        "  os: {name: linux}\n  hostUsers: true\n  containers: []\n",
        "  nodeSelector: {kubernetes.io/os: linux}\n  containers: []\n",
    ] {
        let text = pod(spec);
        let service = "apiVersion: v1\nkind: Service\nspec: {ports: []}\n";
        for text in [&*text, service] {
            for options in [&guard, &Options::default()] {
                let fixed = fix(text.as_bytes(), options, &|_| true);
                assert_eq!((fixed.bytes, fixed.left), (None, vec![]));
            }
        }
    }
}
