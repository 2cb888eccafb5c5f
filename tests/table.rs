//! The rule table itself: its form, and its default actions against a copy of the specification
//! made by hand.

use std::collections::HashSet;

use transom::policy::Policy;
use transom::rules::Action::{self, Deny, Off, Repair, Warn};
use transom::rules::{self, Consequence, FAMILIES, Profile, Rule};

/// Code, name, and the actions of each tier: in `current`, in `kep-116`. What the specification
/// calls harmless is `Repair`.
type Row = (
    &'static str,
    &'static str,
    &'static [Action],
    &'static [Action],
);
const TABLE: &[Row] = &[
    ("WIN101", "run-as-user", &[Deny], &[Deny]),
    ("WIN102", "run-as-group", &[Deny], &[Deny]),
    ("WIN103", "run-as-non-root", &[Deny, Off], &[Deny, Deny]),
    (
        "WIN104",
        "supplemental-groups",
        &[Deny, Repair],
        &[Deny, Repair],
    ),
    (
        "WIN105",
        "supplemental-groups-policy",
        &[Deny, Repair],
        &[Deny, Repair],
    ),
    ("WIN106", "fs-group", &[Deny], &[Deny]),
    ("WIN107", "sysctls", &[Deny], &[Deny]),
    ("WIN108", "se-linux", &[Deny, Repair], &[Deny, Repair]),
    // a profile, Unconfined, the annotation alone
    (
        "WIN109",
        "app-armor",
        &[Deny, Repair, Warn],
        &[Deny, Repair, Warn],
    ),
    (
        "WIN110",
        "seccomp",
        &[Deny, Repair, Warn],
        &[Deny, Repair, Warn],
    ),
    ("WIN111", "capabilities", &[Deny, Repair], &[Deny, Deny]),
    (
        "WIN112",
        "allow-privilege-escalation",
        &[Deny, Repair],
        &[Deny, Deny],
    ),
    ("WIN113", "privileged", &[Deny, Repair], &[Deny, Repair]),
    ("WIN114", "proc-mount", &[Deny, Repair], &[Deny, Deny]),
    (
        "WIN115",
        "read-only-root-filesystem",
        &[Deny, Repair],
        &[Deny, Repair],
    ),
    ("WIN116", "container-administrator", &[Off], &[Off]),
    ("WIN117", "host-process", &[Off], &[Deny]),
    ("WIN118", "non-root-unproven", &[Warn], &[Off]),
    // a container's account, none, runAsNonRoot
    (
        "WIN119",
        "host-process-account",
        &[Warn, Warn, Warn],
        &[Off, Off, Off],
    ),
    ("WIN120", "gmsa-not-expanded", &[Warn], &[Off]),
    ("WIN201", "host-network", &[Deny], &[Deny]),
    // other pods, HostProcess pods
    ("WIN202", "host-pid", &[Deny, Repair], &[Deny, Deny]),
    ("WIN203", "host-ipc", &[Deny, Repair], &[Deny, Deny]),
    (
        "WIN204",
        "share-process-namespace",
        &[Deny, Repair],
        &[Deny, Repair],
    ),
    ("WIN205", "host-users", &[Deny, Repair], &[Deny, Repair]),
    ("WIN206", "dns-policy", &[Warn], &[Deny]),
    ("WIN207", "dns-search", &[Warn], &[Warn]),
    ("WIN208", "sctp-port", &[Warn], &[Off]),
    ("WIN301", "sub-path", &[Off], &[Deny]),
    ("WIN302", "mount-propagation", &[Warn], &[Deny]),
    ("WIN303", "volume-devices", &[Deny], &[Deny]),
    ("WIN304", "memory-medium", &[Deny], &[Deny]),
    ("WIN305", "huge-pages-medium", &[Deny], &[Deny]),
    // of a secret that not every account may read, any other
    ("WIN306", "file-mode", &[Warn, Off], &[Deny, Deny]),
    ("WIN307", "nfs", &[Deny], &[Deny]),
    // the Linux types, flexVolume, csi
    (
        "WIN308",
        "linux-volume-type",
        &[Deny, Warn, Off],
        &[Deny, Off, Deny],
    ),
    ("WIN309", "image-volume", &[Deny], &[Off]),
    ("WIN310", "recursive-read-only", &[Deny], &[Off]),
    ("WIN311", "linux-host-path", &[Warn], &[Warn]),
    ("WIN312", "named-pipe-host-process", &[Deny], &[Off]),
    ("WIN313", "mount-c-drive", &[Deny], &[Off]),
    ("WIN401", "huge-pages", &[Deny], &[Deny]),
    ("WIN402", "pod-resources", &[Deny, Repair], &[Off, Off]),
    ("WIN403", "memory-limit", &[Off], &[Warn]),
    ("WIN404", "requests-limits-mismatch", &[Off], &[Warn]),
    ("WIN405", "no-requests", &[Off], &[Warn]),
    ("WIN406", "dynamic-resources", &[Deny], &[Off]),
    ("WIN407", "linux-device", &[Warn], &[Off]),
    ("WIN408", "low-memory-limit", &[Warn], &[Off]),
    ("WIN501", "termination-message-path", &[Off], &[Warn]),
    ("WIN502", "termination-grace-period", &[Off], &[Warn]),
    ("WIN503", "stop-signal", &[Deny], &[Off]),
    // a shell or a path, another program in a probe or hook
    ("WIN504", "linux-shell", &[Warn, Warn], &[Warn, Off]),
    ("WIN505", "restart-all-containers", &[Warn], &[Off]),
    // more than one container beside it, one container
    ("WIN506", "hyper-v-isolation", &[Warn, Warn], &[Deny, Off]),
    ("WIN507", "powershell-nano-server", &[Warn], &[Off]),
    ("WIN601", "os-conflict", &[Deny, Warn], &[Deny, Warn]),
    ("WIN602", "mixed-os", &[Deny], &[Deny]),
    ("WIN603", "no-matching-node", &[Warn], &[Warn]),
    ("WIN604", "unplaced", &[Warn], &[Warn]),
    // a build that does not run there, any build but 10.0.17763
    ("WIN605", "build-mismatch", &[Deny, Off], &[Deny, Deny]),
    ("WIN606", "foreign-architecture", &[Warn], &[Off]),
    ("WIN608", "missing-os-selector-linux", &[Off], &[Off]),
    ("WIN701", "session-affinity-timeout", &[Off], &[Warn]),
    ("WIN702", "external-traffic-policy-local", &[Off], &[Warn]),
    ("WIN703", "ipv6-single-stack", &[Off], &[Warn]),
    ("WIN704", "sctp-service", &[Off], &[Off]),
];

#[test]
fn the_rules_are_those_of_the_specification() {
    let got: Vec<_> = rules::all().map(|rule| (rule.code, rule.name)).collect();
    let want: Vec<_> = TABLE.iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(got, want);
}

#[test]
fn the_default_actions_are_those_of_the_specification() {
    for (code, _, current, kep_116) in TABLE {
        let rule = Rule::find(code).unwrap();
        for (profile, want) in [(Profile::Current, current), (Profile::Kep116, kep_116)] {
            let got: Vec<_> = rule.tiers.iter().map(|t| t.action(profile)).collect();
            assert_eq!(got, *want, "{code} in {}", profile.name());
        }
    }
}

/// What happens without Transom, for each tier, made by hand from the kubelet's, containerd's and
/// hcsshim's code: f fails, i ignored, u unprotected, - runs as written or depends.
const CONSEQUENCES: &[(&str, &str)] = &[
    ("WIN101", "i"),
    ("WIN102", "i"),
    ("WIN103", "fu"),
    ("WIN104", "i-"),
    ("WIN105", "f-"),
    ("WIN106", "i"),
    ("WIN107", "f"),
    ("WIN108", "i-"),
    ("WIN109", "i-i"),
    ("WIN110", "i-i"),
    ("WIN111", "i-"),
    ("WIN112", "i-"),
    ("WIN113", "i-"),
    ("WIN114", "i-"),
    ("WIN115", "u-"),
    ("WIN116", "-"),
    ("WIN117", "-"),
    ("WIN118", "u"),
    ("WIN119", "f-u"),
    ("WIN120", "i"),
    ("WIN201", "f"),
    ("WIN202", "i-"),
    ("WIN203", "i-"),
    ("WIN204", "i-"),
    ("WIN205", "i-"),
    ("WIN206", "i"),
    ("WIN207", "i"),
    ("WIN208", "i"),
    ("WIN301", "-"),
    ("WIN302", "i"),
    ("WIN303", "f"),
    ("WIN304", "u"),
    ("WIN305", "f"),
    ("WIN306", "ui"),
    ("WIN307", "f"),
    ("WIN308", "f--"),
    ("WIN309", "f"),
    ("WIN310", "f"),
    ("WIN311", "-"),
    ("WIN312", "f"),
    ("WIN313", "f"),
    ("WIN401", "f"),
    ("WIN402", "f-"),
    ("WIN403", "-"),
    ("WIN404", "-"),
    ("WIN405", "-"),
    ("WIN406", "f"),
    ("WIN407", "f"),
    ("WIN408", "-"),
    ("WIN501", "-"),
    ("WIN502", "-"),
    ("WIN503", "f"),
    ("WIN504", "ff"),
    ("WIN505", "f"),
    ("WIN506", "ii"),
    ("WIN507", "f"),
    ("WIN601", "f-"),
    ("WIN602", "f"),
    ("WIN603", "f"),
    ("WIN604", "-"),
    ("WIN605", "f-"),
    ("WIN606", "f"),
    ("WIN608", "-"),
    ("WIN701", "i"),
    ("WIN702", "-"),
    ("WIN703", "-"),
    ("WIN704", "i"),
];

#[test]
fn keeps_the_consequences_of_the_specification() {
    let letter = |consequence| match consequence {
        Some(Consequence::Fails) => 'f',
        Some(Consequence::Ignored) => 'i',
        Some(Consequence::Unprotected) => 'u',
        None => '-',
    };
    let letters = |rule: &Rule| rule.tiers.iter().map(|t| letter(t.consequence)).collect();
    let got: Vec<(_, String)> = rules::all()
        .map(|rule| (rule.code, letters(rule)))
        .collect();
    let got: Vec<_> = got
        .iter()
        .map(|(code, letters)| (*code, letters.as_str()))
        .collect();
    assert_eq!(got, CONSEQUENCES);
}

/// A harmless value is repaired because nothing is lost with it.
#[test]
fn keeps_harmless_values_without_a_consequence() {
    let tiers = rules::all().flat_map(|rule| rule.tiers);
    let harmless: Vec<_> = tiers.filter(|tier| tier.is_harmless()).collect();
    assert!(harmless.len() > 12, "{}", harmless.len());
    for tier in harmless {
        assert_eq!(tier.consequence, None, "{}", tier.when);
    }
}

#[test]
fn a_policy_starts_with_the_actions_of_its_profile() {
    for (profile, yaml) in [
        (Profile::Current, ""),
        (Profile::Kep116, "profile: kep-116"),
    ] {
        let config = format!("apiVersion: transom.dev/v1alpha1\nkind: Config\n{yaml}");
        let policy = Policy::parse(&config).unwrap();
        for rule in rules::all() {
            let want: Vec<_> = rule.tiers.iter().map(|t| t.action(profile)).collect();
            assert_eq!(policy.actions(rule), want, "{}", rule.code);
        }
    }
}

#[test]
fn codes_and_names_are_unique_and_sorted() {
    let codes: Vec<_> = rules::all().map(|rule| rule.code).collect();
    assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    let names: HashSet<_> = rules::all().map(|rule| rule.name).collect();
    assert_eq!(names.len(), codes.len());
    for rule in rules::all() {
        let digits = rule.code.strip_prefix("WIN").unwrap();
        assert!(digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit()));
        assert_eq!(Rule::find(rule.code).unwrap().code, rule.code);
        assert_eq!(Rule::find(rule.name).unwrap().code, rule.code);
    }
    for unknown in ["", "WIN000", "win101", "WIN1011", "runAsUser"] {
        assert!(Rule::find(unknown).is_none(), "{unknown}");
    }
}

#[test]
fn every_rule_is_in_the_one_family_of_its_code() {
    for family in &FAMILIES {
        assert!(family.rules().next().is_some(), "{}", family.prefix);
        for rule in family.rules() {
            assert_eq!(
                rule.family().unwrap().prefix,
                family.prefix,
                "{}",
                rule.code
            );
        }
    }
    let prefixes: HashSet<_> = FAMILIES.iter().map(|family| family.prefix).collect();
    let titles: HashSet<_> = FAMILIES.iter().map(|family| family.title).collect();
    assert_eq!([prefixes.len(), titles.len()], [FAMILIES.len(); 2]);
}

#[test]
fn names_state_the_flaw_in_kebab_case() {
    for rule in rules::all() {
        let kebab = rule.name.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        assert!(kebab, "{}", rule.name);
        // A name that forbids would read as a double negation in `rules: {no-…: off}`. The one
        // exceptions are flaws that are an absence.
        let absences = ["no-requests", "no-matching-node"];
        assert!(
            !rule.name.starts_with("no-") || absences.contains(&rule.name),
            "{}",
            rule.name
        );
    }
}

#[test]
fn texts_read_well() {
    for rule in rules::all() {
        let code = rule.code;
        assert!(rule.brief.chars().count() <= 64, "{code}: {}", rule.brief);
        assert!(
            !rule.brief.is_empty() && !rule.brief.ends_with('.'),
            "{code}"
        );
        for sentence in [rule.reason, rule.remedy] {
            assert!(
                sentence.starts_with(|c: char| c.is_uppercase()),
                "{code}: {sentence}"
            );
            assert!(sentence.ends_with('.'), "{code}: {sentence}");
        }
        for text in [rule.brief, rule.reason, rule.remedy] {
            assert!(
                !text.contains("  ") && !text.chars().any(char::is_control),
                "{code}: {text}"
            );
            assert_eq!(text.trim(), text, "{code}");
        }
    }
}

#[test]
fn references_are_addresses() {
    for rule in rules::all() {
        assert!(!rule.references.is_empty(), "{}", rule.code);
        for reference in rule.references {
            let rest = reference.strip_prefix("https://");
            let host = rest.and_then(|rest| rest.split('/').next());
            assert!(
                host.is_some_and(|host| host.contains('.')),
                "{}: {reference}",
                rule.code
            );
            assert!(!reference.contains(char::is_whitespace), "{}", rule.code);
        }
        let unique: HashSet<_> = rule.references.iter().collect();
        assert_eq!(unique.len(), rule.references.len(), "{}", rule.code);
    }
}

/// An action that is set in the configuration becomes the first tier's and bounds the others, so
/// the first has to be the strongest.
#[test]
fn the_first_tier_is_the_strongest() {
    /// Later tiers that are stronger in `kep-116`, each with its reason.
    const STRONGER: [&str; 0] = [];
    for rule in rules::all() {
        assert!(!rule.tiers.is_empty(), "{}", rule.code);
        for profile in [Profile::Current, Profile::Kep116] {
            let first = rule.tiers[0].action(profile);
            let strongest = rule.tiers.iter().map(|t| t.action(profile)).max();
            assert!(
                strongest == Some(first) || STRONGER.contains(&rule.code),
                "{} in {}",
                rule.code,
                profile.name()
            );
        }
        let several = rule.tiers.len() > 1;
        for tier in rule.tiers {
            assert_eq!(
                !tier.when.is_empty(),
                several,
                "{}: a tier says when",
                rule.code
            );
        }
    }
}

/// Only what validateWindows refuses may be taken out.
#[test]
fn repairable_are_the_rules_of_validate_windows() {
    let repairable: Vec<_> = rules::all()
        .filter(|rule| rule.is_repairable())
        .map(|rule| rule.code)
        .collect();
    let want = [
        "WIN101", "WIN102", "WIN104", "WIN105", "WIN106", "WIN107", "WIN108", "WIN109", "WIN110",
        "WIN111", "WIN112", "WIN113", "WIN114", "WIN115", "WIN202", "WIN203", "WIN204", "WIN205",
        "WIN402",
    ];
    assert_eq!(repairable, want);
    for rule in rules::all().filter(|rule| !rule.is_repairable()) {
        let repairs = rule
            .tiers
            .iter()
            .any(|t| t.current == Repair || t.kep_116 == Repair);
        assert!(!repairs, "{}", rule.code);
    }
}
