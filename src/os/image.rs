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
    /// Repositories that hold Windows images only, with everything below them, wherever their names
    /// begin: a mirror has the original name after its own.
    pub(crate) certain_repositories: Vec<String>,
    /// What the tags of Windows images contain.
    pub(crate) certain_tags: Vec<String>,
    /// What words of the repositories of Windows images start with. The registry's host does not count.
    pub(crate) hint_words: Vec<String>,
    /// Words of tags (split at `-`, `_`, `.`) of Windows images, alone or followed by a number.
    pub(crate) hint_tags: Vec<String>,
    /// Repositories of Linux images that look like Windows ones, with everything below them.
    pub(crate) linux_repositories: Vec<String>,
}

impl ImagePatterns {
    /// No Linux node can run it.
    pub(crate) fn is_certain(&self, image: &str) -> bool {
        let (repository, tag) = split(image);
        (is_in(repository, &self.certain_repositories)
            || self.certain_tags.iter().any(|word| contains(tag, word)))
            && !is_in(repository, &self.linux_repositories)
    }

    /// It is probably for Windows.
    pub(crate) fn is_hint(&self, image: &str) -> bool {
        let (repository, tag) = split(image);
        let is_hint_word = |word: &[u8]| self.hint_tags.iter().any(|hint| is_numbered(word, hint));
        let path = path(repository);
        (has_word(path, &self.hint_words) || tag_words(tag).any(is_hint_word))
            && !is_in(repository, &self.linux_repositories)
    }
}

/// Whether a repository is one of these or lies below one, by itself or on a mirror. Host names are
/// in any case, and repositories in lower case.
fn is_in(repository: &str, roots: &[String]) -> bool {
    let slashes = repository.match_indices('/').map(|(i, _)| i + 1);
    let mut starts = std::iter::once(0).chain(slashes);
    starts.any(|start| {
        roots.iter().any(|root| {
            let name = repository.as_bytes()[start..].split_at_checked(root.len());
            name.is_some_and(|(name, rest)| {
                name.eq_ignore_ascii_case(root.as_bytes()) && matches!(rest, [] | [b'/', ..])
            })
        })
    })
}

/// The repository without the registry's host.
pub(crate) fn path(repository: &str) -> &str {
    match repository.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => path,
        _ => repository,
    }
}

/// Whether a word is this one, in whatever case, alone or followed by a number.
fn is_numbered(word: &[u8], name: &str) -> bool {
    word.split_at_checked(name.len())
        .is_some_and(|(start, number)| {
            start.eq_ignore_ascii_case(name.as_bytes()) && number.iter().all(u8::is_ascii_digit)
        })
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

/// Whether some word of the repository starts with one of these.
fn has_word(repository: &str, starts: &[String]) -> bool {
    let bytes = repository.as_bytes();
    (0..=bytes.len()).any(|at| {
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        begins
            && starts
                .iter()
                .any(|start| bytes[at..].starts_with(start.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const CERTAIN: Option<Certainty> = Some(Certainty::Certain);
    const HINT: Option<Certainty> = Some(Certainty::Hint);

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
            ("mcr.microsoft.com/windows:20H2", CERTAIN),
            ("mcr.microsoft.com/windows/servercore/iis", CERTAIN),
            ("mcr.microsoft.com/windows/nanoserver@sha256:00", CERTAIN),
            ("mcr.microsoft.com/dotnet/framework/aspnet:4.8", CERTAIN),
            ("mcr.microsoft.com/businesscentral:23.0", CERTAIN),
            ("MCR.microsoft.com/windows/servercore", CERTAIN),
            ("microsoft/nanoserver", CERTAIN),
            ("microsoft/windowsservercore:10.0.14393.321", CERTAIN),
            // Mirrors.
            (
                "artifactory.corp/mcr.microsoft.com/dotnet/framework/aspnet:4.8",
                CERTAIN,
            ),
            (
                "registry.corp:5000/a/mcr.microsoft.com/windows:20H2",
                CERTAIN,
            ),
            ("harbor.corp/mcr/windows/servercore:1", CERTAIN),
            ("harbor.corp/mcr/dotnet/framework/aspnet:4.8", HINT),
            ("mirror.corp/xmcr.microsoft.com/windowsx:1", HINT),
            // Tags.
            ("gcr.io/datadoghq/agent:7-servercore", CERTAIN),
            (
                "registry.example:5000/app:1.0-windowsservercore-1809",
                CERTAIN,
            ),
            ("app:nanoserver", CERTAIN),
            ("app:LTSC2022", CERTAIN),
            ("app:v1-ltsc2025", CERTAIN),
            ("app:3.2-windows-ltsc-2019", CERTAIN),
            ("app:ltsc2016", CERTAIN),
            ("app:ltsc2028", CERTAIN),
            ("app:defaultsc-1", None),
            ("fluent/fluent-bit:windows-2022-3.1.0", HINT),
            (
                "otel/opentelemetry-collector-contrib:0.1.0-windows-2022-amd64",
                HINT,
            ),
            ("containerinsights/ciprod:win-3.1.28", HINT),
            ("whoami:windows-amd64-2.0.1", HINT),
            ("app:v1-windows-hp", HINT),
            ("app:1-WIN64", HINT),
            ("app:1-windows2022", HINT),
            ("app:win-1809", HINT),
            ("sigwindowstools/kube-proxy:v1.30.0-calico", HINT),
            ("a/kube-proxy:v1.30.0-calico-hostprocess", HINT),
            ("app:1-winter", None),
            ("app:1-darwin", None),
            ("app:1-win64x", None),
            ("app:1809", None),
            ("app:4.2.1809", None),
            ("app:2.1-20h2", None),
            ("app:18090", None),
            // Repositories.
            ("team/windows-app:1", HINT),
            ("team/iis:1", HINT),
            ("mcr.microsoft.com/windows-cssc/x:1", HINT),
            ("team/nanoserver-tools:1", HINT),
            ("team/hawaiis:1", None),
            // The host is that of a registry.
            ("windows.example.com/app:1", None),
            ("windows:5000/app:1", None),
            ("windows/app:1", HINT),
            // Windows in a virtual machine on Linux.
            ("dockurr/windows:latest", None),
            ("ghcr.io/dockur/windows-arm", None),
            ("mirror.corp/docker.io/dockurr/windows:5", None),
            ("team/windows:latest", HINT),
            ("nginx:1.27", None),
            ("nginx", None),
            ("", None),
        ] {
            let certainty = match (patterns.is_certain(image), patterns.is_hint(image)) {
                (true, _) => CERTAIN,
                (false, true) => HINT,
                (false, false) => None,
            };
            assert_eq!(certainty, want, "{image}");
        }
    }
}
