//! Colours. They are always written; whoever prints takes them out where they do not belong.

use anstyle::{AnsiColor, Style};

use crate::rules::Action;

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

pub(super) fn action(action: Action) -> Style {
    match action {
        Action::Off => FAINT,
        Action::Warn => AnsiColor::Yellow.on_default(),
        Action::Repair => AnsiColor::Cyan.on_default(),
        Action::Deny => AnsiColor::Red.on_default(),
    }
}
