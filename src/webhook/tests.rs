//! What becomes of a configuration that changes while the server runs.

use std::fs;

use super::*;
use crate::rules::{Action, Rule};

const HEAD: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";

/// A webhook with a file of these lines.
fn webhook(lines: &str, profile: Option<ProfileName>) -> (Arc<Metrics>, WebhookState) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    fs::write(&path, format!("{HEAD}{lines}")).unwrap();
    let metrics = Arc::new(Metrics::new());
    let state = WebhookState::load(Some(&path), profile, Arc::clone(&metrics)).unwrap();
    (metrics, state)
}

/// The samples of these families.
fn samples(metrics: &Metrics) -> Vec<String> {
    let text = metrics.render();
    let lines = text
        .lines()
        .filter(|line| line.starts_with("transom_config_"));
    lines.map(str::to_owned).collect()
}

fn action(state: &WebhookState, code: &str) -> Action {
    state.policy.load().actions(Rule::find(code).unwrap())[0]
}

#[test]
fn a_changed_configuration_is_in_force_at_once() {
    let (metrics, state) = webhook("rules: {WIN101: warn}\n", None);
    assert_eq!(action(&state, "WIN101"), Action::Warn);
    let text = format!("{HEAD}rules: {{WIN101: \"off\"}}\n");
    state.reload(text.as_bytes()).unwrap();
    assert_eq!(action(&state, "WIN101"), Action::Off);
    // What sha256sum prints of that text.
    assert_eq!(
        samples(&metrics),
        [
            "transom_config_info{hash=\"bad03a75bcf3\"} 1",
            "transom_config_last_reload_successful 1",
            "transom_config_reloads_total{result=\"failure\"} 0",
            "transom_config_reloads_total{result=\"success\"} 1",
        ]
    );
}

#[test]
fn a_configuration_that_is_not_understood_is_refused_and_the_old_one_stays() {
    let (metrics, state) = webhook("rules: {WIN101: warn}\n", None);
    let before = samples(&metrics);
    let text = format!("{HEAD}mdoe: warn\nrules: {{WIN101: denny}}\n");
    let error = state.reload(text.as_bytes()).unwrap_err().to_string();
    assert!(
        error.contains("config.yaml: 3:1: mdoe: unknown key"),
        "{error}"
    );
    assert!(error.contains("; 4:17: rules.WIN101: "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(action(&state, "WIN101"), Action::Warn);
    let after = samples(&metrics);
    assert_eq!(before[0], after[0], "the one in force is the old one");
    assert_eq!(after[1], "transom_config_last_reload_successful 0");
    assert_eq!(
        after[2],
        "transom_config_reloads_total{result=\"failure\"} 1"
    );

    state.reload(HEAD.as_bytes()).unwrap();
    assert_eq!(
        samples(&metrics)[1],
        "transom_config_last_reload_successful 1"
    );
    assert!(state.reload(b"\xff").is_err());
    assert!(
        state.reload(b"").is_err(),
        "a file that is just being written"
    );
}

#[test]
fn the_profile_of_the_command_line_wins_after_a_reload_too() {
    // WIN502 is off, but in profile kep-116.
    let (_, state) = webhook("profile: current\n", Some(ProfileName::Kep116));
    let kep = action(&state, "WIN502");
    assert_ne!(kep, Action::Off);
    state
        .reload(format!("{HEAD}profile: current\nmode: warn\n").as_bytes())
        .unwrap();
    assert_eq!(action(&state, "WIN502"), kep);
    let defaults = WebhookState::load(None, Some(ProfileName::Kep116), Arc::default()).unwrap();
    assert_eq!(action(&defaults, "WIN502"), kep);
}

#[test]
fn without_a_file_the_hash_is_default() {
    let metrics = Arc::new(Metrics::new());
    let state = WebhookState::load(None, None, Arc::clone(&metrics)).unwrap();
    assert_eq!(
        samples(&metrics)[0],
        "transom_config_info{hash=\"default\"} 1"
    );
    state.reload(HEAD.as_bytes()).unwrap();
    assert_eq!(samples(&metrics).len(), 4, "the old hash is gone");
}
