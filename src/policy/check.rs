//! Which values cannot be, though their type is right: names that are none, patterns that could
//! never match, settings that contradict each other.
//!
//! Not here: unknown keys and words (`config::check`).

use std::collections::HashMap;

use super::names::{
    is_label_key, is_label_value, is_namespace, is_repository, is_repository_part, is_tag, is_word,
};
use crate::config::{
    ActionName, Config, ImageConfig, OperatorName, PlacementConfig, Problem, TolerationConfig,
};
use crate::os::{BETA_OS_LABEL, BUILD_LABEL, Build, OS_LABEL, OS_SKU_LABEL};
use crate::rules::Rule;
use crate::yaml::Path;

/// All of them.
pub(super) fn problems(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    namespaces(config, &mut problems);
    rules(config, &mut problems);
    ignorable(&config.ignorable, &mut problems);
    let exemptions = &config.exemptions;
    for (path, list) in [
        ("exemptions.users", &exemptions.users),
        ("exemptions.groups", &exemptions.groups),
        ("exemptions.runtimeClasses", &exemptions.runtime_classes),
    ] {
        each(path, list, &mut problems, |_| None);
    }
    images(&config.evidence.images, &mut problems);
    placement(&config.placement, &mut problems);
    problems
}

/// What is wrong with each text of a list; an empty one always is.
fn each(
    path: &str,
    list: &[String],
    problems: &mut Vec<Problem>,
    wrong: impl Fn(&str) -> Option<&'static str>,
) {
    for (i, text) in list.iter().enumerate() {
        let problem = match text.as_str() {
            "" => "must not be empty".to_owned(),
            text => match wrong(text) {
                Some(wrong) => format!("{text:?} {wrong}"),
                None => continue,
            },
        };
        problems.push(Problem::value(format!("{path}[{i}]"), problem));
    }
}

/// The path of a key that somebody chose.
fn entry(map: &str, key: &str) -> String {
    Path::Key(&Path::Key(&Path::Root, map), key).to_string()
}

/// Names of namespaces are taken to the letter: a pattern would exempt nobody.
fn namespaces(config: &Config, problems: &mut Vec<Problem>) {
    const WRONG: &str = "is not the name of a namespace; patterns are not known";
    let wrong = |name: &str| (!is_namespace(name)).then_some(WRONG);
    for name in config.namespaces.keys() {
        if let Some(wrong) = wrong(name) {
            let path = entry("namespaces", name);
            problems.push(Problem::key(path, format!("{name:?} {wrong}")));
        }
    }
    let exempt = &config.exemptions.namespaces;
    each("exemptions.namespaces", exempt, problems, wrong);
    let host_process = &config.host_process.namespaces;
    each("hostProcess.namespaces", host_process, problems, wrong);
}

fn rules(config: &Config, problems: &mut Vec<Problem>) {
    let mut named = HashMap::new();
    for (name, action) in &config.rules {
        let path = entry("rules", name);
        let Some(rule) = Rule::find(name) else {
            problems.push(Problem::key(path, "there is no such rule"));
            continue;
        };
        if let Some(other) = named.insert(rule.code, name) {
            let problem = format!("the same rule as {other}; keep one of them");
            problems.push(Problem::key(path.clone(), problem));
        }
        if *action == ActionName::Repair && !rule.is_repairable() {
            problems.push(Problem::value(path, "cannot be repair"));
        }
    }
}

/// That they are rules is known already.
fn ignorable(names: &[String], problems: &mut Vec<Problem>) {
    let mut seen = HashMap::new();
    for (i, name) in names.iter().enumerate() {
        let code = Rule::find(name).map(|rule| rule.code);
        if let Some(other) = seen.insert(code, name) {
            let problem = format!("the same rule as {other}; keep one of them");
            problems.push(Problem::value(format!("ignorable[{i}]"), problem));
        }
    }
}

/// Patterns of images that could never match are mistakes.
fn images(images: &ImageConfig, problems: &mut Vec<Problem>) {
    let mut all = |list: &str, texts: &[String], is: fn(&str) -> bool, wrong: &'static str| {
        let path = format!("evidence.images.{list}");
        each(&path, texts, problems, |text| (!is(text)).then_some(wrong));
    };
    for (list, repositories) in [
        ("certain.repositories", &images.certain.repositories),
        ("linux.repositories", &images.linux.repositories),
    ] {
        let wrong = "is not a repository: no tag, no pattern, no / at the end";
        all(list, repositories, is_repository, wrong);
    }
    all(
        "certain.tags",
        &images.certain.tags,
        is_tag,
        "cannot be part of a tag",
    );
    all(
        "hint.words",
        &images.hint.words,
        is_repository_part,
        "cannot be part of a repository, which is in lower case",
    );
    all(
        "hint.tags",
        &images.hint.tags,
        is_word,
        "is not one word; tags are split at -, _ and .",
    );
}

fn placement(config: &PlacementConfig, problems: &mut Vec<Problem>) {
    let key = config.os_label_key.as_str();
    let wrong = match key {
        BETA_OS_LABEL => Some("is the label of long ago"),
        BUILD_LABEL | OS_SKU_LABEL => Some("is a label of Windows builds"),
        key => (!is_label_key(key)).then_some("is not a label key"),
    };
    if let Some(wrong) = wrong {
        let problem = format!("{key:?} {wrong}; the usual one is {OS_LABEL}");
        problems.push(Problem::value("placement.osLabelKey", problem));
    }
    let keys = &config.learn_taint_keys;
    each("placement.learnTaintKeys", keys, problems, |key| {
        (!is_label_key(key)).then_some("is not the key of a taint")
    });
    for (i, toleration) in config.tolerations.iter().enumerate() {
        let path = format!("placement.tolerations[{i}]");
        if config.tolerations[..i].contains(toleration) {
            problems.push(Problem::value(path, "stands there twice"));
        } else {
            self::toleration(&path, toleration, problems);
        }
    }
}

fn toleration(path: &str, config: &TolerationConfig, problems: &mut Vec<Problem>) {
    let TolerationConfig {
        key,
        operator,
        value,
        effect: _,
        builds,
    } = config;
    let mut wrong = |field: &str, problem: String| {
        problems.push(Problem::value(format!("{path}.{field}"), problem));
    };
    if !is_label_key(key) {
        wrong("key", format!("{key:?} is not the key of a taint"));
    }
    if *operator == OperatorName::Exists && !value.is_empty() {
        wrong("value", "must be empty with operator Exists".to_owned());
    } else if !is_label_value(value) {
        wrong("value", format!("{value:?} is not the value of a taint"));
    }
    each(&format!("{path}.builds"), builds, problems, |build| {
        Build::of_label(build)
            .is_none()
            .then_some("is not a Windows build such as 10.0.17763")
    });
}
