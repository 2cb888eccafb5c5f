//! Is an image for Windows, by its name alone? Lists of repositories and tags that come from the
//! configuration. Not here: what a registry knows (`facts`).

/// How sure a name makes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// No Linux node can ever run it.
    Certain,
    /// It is probably for Windows.
    Hint,
}

/// The names by which Windows images are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImagePatterns {
    /// Repositories that hold Windows images only, with everything below them.
    pub(crate) certain_repositories: Vec<String>,
    /// What the tags of Windows images contain.
    pub(crate) certain_tags: Vec<String>,
    /// What words of the repositories of Windows images start with.
    pub(crate) hint_words: Vec<String>,
    /// Whole words of tags (split at `-`, `_`, `.`) of Windows images.
    pub(crate) hint_tags: Vec<String>,
}

impl ImagePatterns {
    /// No Linux node can run it.
    pub(crate) fn is_certain(&self, image: &str) -> bool {
        let (repository, tag) = split(image);
        // Host names know no case, and repositories are in lower case anyway.
        let below = |root: &String| {
            let (start, rest) = repository.as_bytes().split_at_checked(root.len())?;
            let below = start.eq_ignore_ascii_case(root.as_bytes());
            Some(below && (rest.is_empty() || rest[0] == b'/'))
        };
        let below = |root: &String| below(root) == Some(true);
        self.certain_repositories.iter().any(below)
            || self.certain_tags.iter().any(|word| contains(tag, word))
    }

    /// It is probably for Windows.
    pub(crate) fn is_hint(&self, image: &str) -> bool {
        let (repository, tag) = split(image);
        self.hint_words
            .iter()
            .any(|word| starts_word(repository, word))
            || tag_words(tag).any(|w| {
                self.hint_tags
                    .iter()
                    .any(|h| h.as_bytes().eq_ignore_ascii_case(w))
            })
    }
}

/// The words of a tag.
pub(crate) fn tag_words(tag: &str) -> impl Iterator<Item = &[u8]> {
    tag.as_bytes()
        .split(|b| matches!(b, b'-' | b'_' | b'.'))
        .filter(|word| !word.is_empty())
}

/// Repository and tag; a digest is neither.
pub(crate) fn split(image: &str) -> (&str, &str) {
    let (mut end, mut colon) = (image.len(), None);
    for (i, b) in image.bytes().enumerate().rev() {
        match b {
            b'@' => (end, colon) = (i, None),
            b':' if colon.is_none() => colon = Some(i),
            // The colon before it, of `registry:5000/app`, is a port's.
            b'/' => break,
            _ => {}
        }
    }
    match colon {
        Some(colon) => (&image[..colon], &image[colon + 1..end]),
        None => (&image[..end], ""),
    }
}

/// Whether a tag contains a word, in whatever case.
fn contains(tag: &str, word: &str) -> bool {
    let mut windows = tag.as_bytes().windows(word.len().max(1));
    windows.any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether some word of the repository starts so.
fn starts_word(repository: &str, word: &str) -> bool {
    repository.match_indices(word).any(|(i, _)| {
        let before = repository[..i].bytes().next_back();
        !before.is_some_and(|b| b.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    #[test]
    fn splits_names() {
        for (image, want) in [
            ("a", ("a", "")),
            ("a:b", ("a", "b")),
            ("r:5000/a", ("r:5000/a", "")),
            ("r:5000/a:t", ("r:5000/a", "t")),
            ("r/a:t@sha256:00", ("r/a", "t")),
            ("r/a@sha256:00", ("r/a", "")),
        ] {
            assert_eq!(split(image), want, "{image}");
        }
    }

    #[test]
    fn knows_windows_images() {
        let policy = Policy::default();
        let patterns = &policy.evidence.images;
        for (image, want) in [
            ("mcr.microsoft.com/windows:20H2", Some(Certainty::Certain)),
            (
                "mcr.microsoft.com/windows/servercore/iis",
                Some(Certainty::Certain),
            ),
            (
                "mcr.microsoft.com/windows/nanoserver@sha256:00",
                Some(Certainty::Certain),
            ),
            (
                "mcr.microsoft.com/dotnet/framework/aspnet:4.8",
                Some(Certainty::Certain),
            ),
            (
                "registry.example:5000/app:1.0-windowsservercore-1809",
                Some(Certainty::Certain),
            ),
            ("app:nanoserver", Some(Certainty::Certain)),
            ("app:LTSC2022", Some(Certainty::Certain)),
            (
                "MCR.microsoft.com/windows/servercore",
                Some(Certainty::Certain),
            ),
            ("app:v1-ltsc2025", Some(Certainty::Certain)),
            ("app:windows-2022-3.1", Some(Certainty::Hint)),
            ("app:win-1809", Some(Certainty::Hint)),
            ("app:1809", None),
            ("app:4.2.1809", None),
            ("app:2.1-20h2", None),
            ("team/windows-app:1", Some(Certainty::Hint)),
            ("team/iis:1", Some(Certainty::Hint)),
            ("mcr.microsoft.com/windows-cssc/x:1", Some(Certainty::Hint)),
            ("team/hawaiis:1", None),
            ("nginx:1.27", None),
            ("nginx", None),
            ("", None),
            ("app:18090", None),
        ] {
            let certainty = match (patterns.is_certain(image), patterns.is_hint(image)) {
                (true, _) => Some(Certainty::Certain),
                (false, true) => Some(Certainty::Hint),
                (false, false) => None,
            };
            assert_eq!(certainty, want, "{image}");
        }
    }
}
