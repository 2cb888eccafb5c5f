//! A configuration's text → what is in force → that written out and read again: it means the same.

use transom::config::Written;
use transom::policy::{Policy, Shown, advice, summary};
use transom::rules;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let written = match Written::from_bytes(data) {
        Ok(written) => written,
        Err(error) => return told(&error, &text),
    };
    let policy = match Policy::of(&written) {
        Ok(policy) => policy,
        Err(error) => return told(&error, &text),
    };
    for problem in advice(&written, &policy) {
        assert!(!problem.warning("config.yaml", &text).is_empty());
    }
    assert!(!summary(&written, &policy).is_empty());
    let shown = Shown::new(&written, "config.yaml", None).expect("a policy can be shown");
    shown.json();
    let shown = shown.yaml();
    let again = Written::read(&shown).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    let same = Policy::of(&again).unwrap_or_else(|error| panic!("{error}\n{shown}"));
    for rule in rules::all() {
        let actions = (policy.actions(rule), same.actions(rule));
        assert_eq!(actions.0, actions.1, "{}\n{shown}", rule.code);
    }
    let [mut before, mut after] = [written.config, again.config];
    assert_eq!(after.rules.len(), rules::all().count());
    before.rules.clear();
    after.rules.clear();
    assert_eq!(before, after, "{shown}");
}

/// What is refused is told in words, all of it and in one line.
fn told(error: &transom::config::ConfigError, text: &str) {
    assert!(!error.problems().is_empty());
    assert!(!error.report("config.yaml", text).is_empty());
    let line = error.line();
    assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
}
