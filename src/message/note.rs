//! What an event tells the owner of an object, in a line of limited length. Not here: whether there is anything to
//! tell (`admit`), and the event itself (`cluster::events`).

use super::{FULL, Message};
use crate::admit::Verdict;
use crate::decision::Finding;

/// The API server takes no longer ones.
const LIMIT: usize = 1024;

/// What is left for how many more there are.
const REST: usize = " And 64 more.".len();

impl Verdict<'_, '_> {
    /// What is told of these findings.
    pub(crate) fn note(&self, is_told: impl Fn(&Finding) -> bool) -> String {
        let kind = self.kind_name();
        let mut note = match self.allowed() {
            true => format!("{kind} admitted, though mode enforce refuses new workloads like it:"),
            false => format!("{kind} refused:"),
        };
        let message = Message::new(self);
        let told = message.findings().filter(|(finding, _)| is_told(finding));
        let all: Vec<_> = told.take(FULL).collect();
        for (i, (finding, path)) in all.iter().enumerate() {
            let mut text = " ".to_owned();
            // Writing to memory does not fail.
            let _ = message.full(finding, path, &mut text);
            let is_last = i + 1 == all.len();
            let room = LIMIT - note.len() - if is_last { 0 } else { REST };
            if text.len() <= room {
                note.push_str(&text);
            } else if i == 0 {
                note.push_str(cut(&text, room));
            } else {
                note.push_str(&format!(" And {} more.", all.len() - i));
                break;
            }
        }
        note
    }
}

/// As much of it as there is room for.
fn cut(text: &str, room: usize) -> &str {
    &text[..text.floor_char_boundary(room)]
}
