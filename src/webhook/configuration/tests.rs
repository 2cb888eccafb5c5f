//! What becomes of a configuration that changes while the server runs.

use super::*;
use crate::rules::{Action, Rule};

const HEAD: &str = "apiVersion: transom.dev/v1alpha1\nkind: Config\n";

/// A webhook with a file of these lines.
fn webhook(lines: &str, profile: Option<ProfileName>) -> (Arc<Metrics>, WebhookState) {
    let metrics = Arc::new(Metrics::new());
    let text = format!("{HEAD}{lines}");
    let file = Some(("config.yaml", text.as_bytes()));
    let state = WebhookState::configured(file, profile, Arc::clone(&metrics)).unwrap();
    (metrics, state)
}

/// The hash of what is in force.
fn in_force(metrics: &Metrics) -> Vec<String> {
    let text = metrics.render();
    let hashes = text
        .lines()
        .filter(|l| l.starts_with("transom_config_info"));
    let hashes = hashes.map(|line| line.split('"').nth(1).unwrap().to_owned());
    hashes.collect()
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
    assert_eq!(in_force(&metrics), ["bad03a75bcf3"]);
}

#[test]
fn a_configuration_that_is_not_understood_is_refused_and_the_old_one_stays() {
    let (metrics, state) = webhook("rules: {WIN101: warn}\n", None);
    let before = in_force(&metrics);
    let text = format!("{HEAD}mdoe: warn\nrules: {{WIN101: denny}}\n");
    let error = state.reload(text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("3:1: mdoe: unknown key"), "{error}");
    assert!(error.contains("; 4:17: rules.WIN101: "), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(action(&state, "WIN101"), Action::Warn);
    assert_eq!(in_force(&metrics), before);
    for bad in [&b"\xff"[..], b""] {
        assert!(state.reload(bad).is_err());
    }
}

#[test]
fn a_first_configuration_that_is_not_understood_is_shown() {
    let file = Some(("config.yaml", &b"mdoe: warn\n"[..]));
    let error = WebhookState::configured(file, None, Arc::default()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("config.yaml:1:1: mdoe: unknown key"),
        "{error}"
    );
}

#[test]
fn the_profile_of_the_command_line_wins_after_a_reload_too() {
    // WIN502 is off, but in profile kep-116.
    let (_, state) = webhook("profile: current\n", Some(ProfileName::Kep116));
    let kep = action(&state, "WIN502");
    assert_ne!(kep, Action::Off);
    let text = format!("{HEAD}profile: current\nmode: warn\n");
    state.reload(text.as_bytes()).unwrap();
    assert_eq!(action(&state, "WIN502"), kep);
    let profile = Some(ProfileName::Kep116);
    let defaults = WebhookState::configured(None, profile, Arc::default()).unwrap();
    assert_eq!(action(&defaults, "WIN502"), kep);
}

#[test]
fn without_a_file_the_hash_is_default() {
    let metrics = Arc::new(Metrics::new());
    WebhookState::configured(None, None, Arc::clone(&metrics)).unwrap();
    assert_eq!(in_force(&metrics), ["default"]);
}
