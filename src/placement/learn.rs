//! Which of the taints that all Windows nodes share are there for Windows, and not for something else.
//!
//! Not here: which taints they share (`facts`), and what a pod tolerates already (`placement`).

use std::collections::HashSet;

/// What the configuration says of taints that may be learnt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learning {
    /// These are learnt whatever their names.
    keys: HashSet<String>,
}

impl Learning {
    pub(crate) fn new(keys: impl IntoIterator<Item = String>) -> Self {
        Self {
            keys: keys.into_iter().collect(),
        }
    }

    /// A taint of maintenance or of a team may be on all Windows nodes, too, and is meant to keep pods away.
    pub(super) fn takes(&self, key: &str, value: &str) -> bool {
        self.keys.contains(key) || names_windows(key) || names_windows(value)
    }
}

/// `windows` anywhere, or a word that is `win` with or without a number: `Win1809`, `os-win`.
fn names_windows(text: &str) -> bool {
    let text = text.as_bytes();
    let mut parts = text.windows(b"windows".len());
    parts.any(|part| part.eq_ignore_ascii_case(b"windows"))
        || text.split(|b| !b.is_ascii_alphanumeric()).any(|word| {
            let start = word.split_at_checked(b"win".len());
            start.is_some_and(|(win, number)| {
                win.eq_ignore_ascii_case(b"win") && number.iter().all(u8::is_ascii_digit)
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_names_of_windows() {
        for name in [
            "windows",
            "Windows",
            "Win1809",
            "win",
            "node.kubernetes.io/windows",
            "os-win",
            "windows2022",
            "MyWindowsNodes",
        ] {
            assert!(names_windows(name), "{name}");
        }
        for name in [
            "", "linux", "darwin", "winter", "twin", "window", "wine9", "wi",
        ] {
            assert!(!names_windows(name), "{name}");
        }
    }
}
