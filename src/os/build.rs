//! Windows builds: which node runs which image, which build an image is for.
//!
//! Not here: which nodes a pod selects (`selection`), what follows from a mismatch
//! (`rules/placement`), and which toleration a build needs (`placement`).

use std::fmt::{self, Display, Formatter};

use super::image;

/// The build of a Windows 10.0 release: 20348 of `10.0.20348`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Build(u16);

impl Build {
    /// A build by its number.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// A build as nodes are labeled with it, `10.0.20348`, or with its revision, as registries write
    /// it: `10.0.20348.2527`.
    pub fn parse(version: &str) -> Option<Self> {
        let build = version.strip_prefix("10.0.")?;
        let (build, revision) = build.split_once('.').unwrap_or((build, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(build) || !is_number(revision) || build.starts_with('0') {
            return None;
        }
        build.parse().ok().map(Self)
    }

    /// The build of a label's value, which has no revision.
    pub(crate) fn of_label(value: &str) -> Option<Self> {
        Self::parse(value).filter(|_| value.matches('.').count() == 2)
    }
}

impl Display for Build {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "10.0.{}", self.0)
    }
}

/// A Windows release that containers run on.
struct Release {
    build: Build,
    /// Words that name it in tags, in upper or lower case.
    names: &'static [&'static str],
    /// Words that name it in tags beside a [`WINDOWS_WORDS`] only: elsewhere they may be the number of
    /// a CI build.
    versions: &'static [&'static str],
    /// The value of the node label [`super::OS_SKU_LABEL`].
    sku: Option<&'static str>,
    /// Whether it is a long-term servicing release with a stable interface for containers: nodes from it
    /// on also run images of the one before.
    stable: bool,
}

const fn release(build: u16, names: &'static [&'static str]) -> Release {
    Release {
        build: Build(build),
        names,
        versions: &[],
        sku: None,
        stable: false,
    }
}

/// In the order of their builds. A new release is a new row.
/// Source: <https://learn.microsoft.com/virtualization/windowscontainers/deploy-containers/version-compatibility>.
const RELEASES: [Release; 8] = [
    Release {
        versions: &["1607"],
        ..release(14393, &["ltsc2016", "windows2016"])
    },
    Release {
        versions: &["1809"],
        sku: Some("Windows2019"),
        ..release(17763, &["ltsc2019", "windows2019"])
    },
    Release {
        versions: &["1903"],
        ..release(18362, &[])
    },
    Release {
        versions: &["1909"],
        ..release(18363, &[])
    },
    Release {
        versions: &["2004"],
        ..release(19041, &[])
    },
    Release {
        versions: &["20H2"],
        ..release(19042, &[])
    },
    Release {
        sku: Some("Windows2022"),
        stable: true,
        ..release(20348, &["ltsc2022", "windows2022"])
    },
    Release {
        sku: Some("Windows2025"),
        stable: true,
        ..release(26100, &["ltsc2025", "windows2025"])
    },
];

/// Words of repositories and tags that stand for Windows.
const WINDOWS_WORDS: [&str; 5] = [
    "nanoserver",
    "servercore",
    "win",
    "windows",
    "windowsservercore",
];

/// The smallest build of Windows 10.0.
const SMALLEST: Build = Build(10240);

/// Whether a node of one build runs process-isolated containers of an image of another one.
///
/// Before Windows Server 2022 the builds have to be equal. Since then a node runs images from the
/// long-term servicing release before its own up to its own build. It is the rule of containerd
/// (<https://github.com/containerd/platforms/blob/v1.0.0-rc.5/platform_windows_compat.go>).
pub fn runs_on(image: Build, node: Build) -> bool {
    let mut lowest = None;
    let mut own = None;
    for release in RELEASES.iter().filter(|release| release.stable) {
        if release.build > node {
            break;
        }
        lowest = own.or(Some(release.build));
        own = Some(release.build);
    }
    match lowest {
        Some(lowest) => lowest <= image && image <= node,
        None => image == node,
    }
}

/// The builds of known releases.
pub(super) fn releases() -> impl Iterator<Item = Build> {
    RELEASES.iter().map(|release| release.build)
}

/// The build of AKS nodes with this value of [`super::OS_SKU_LABEL`].
pub(super) fn of_sku(sku: &str) -> Option<Build> {
    let release = RELEASES.iter().find(|release| release.sku == Some(sku))?;
    Some(release.build)
}

/// Whether nodes with this value of [`super::OS_SKU_LABEL`] run Windows.
pub(super) fn is_windows_sku(sku: &str) -> bool {
    sku.starts_with("Windows")
}

/// The build that an image's tag names: by its version, by the first of its words that names a
/// release, or by the number of a version beside a word for Windows.
pub(crate) fn of_image(image: &str) -> Option<Build> {
    let (repository, tag) = image::split(image);
    let is_windows = || {
        let path = image::path(repository).as_bytes();
        let words = path.split(|b| !b.is_ascii_alphanumeric());
        let mut words = words.chain(image::tag_words(tag));
        words.any(|word| is_one_of(&WINDOWS_WORDS, word))
    };
    let named = |names: fn(&Release) -> &'static [&'static str]| {
        let mut is_year = false;
        image::tag_words(tag).find_map(|word| {
            // `ltsc-2019` is two words.
            let is_year = std::mem::replace(&mut is_year, word.eq_ignore_ascii_case(b"ltsc"));
            let release = RELEASES.iter().find(|release| {
                let mut years = names(release).iter().filter_map(|n| n.strip_prefix("ltsc"));
                is_one_of(names(release), word)
                    || is_year && years.any(|year| year.as_bytes() == word)
            })?;
            Some(release.build)
        })
    };
    of_version(tag)
        .filter(|build| releases().any(|known| known == *build) || is_windows())
        .or_else(|| named(|release| release.names))
        .or_else(|| named(|release| release.versions).filter(|_| is_windows()))
}

/// The first Windows version in a tag, `10.0.20348.2527` or without the revision.
fn of_version(tag: &str) -> Option<Build> {
    tag.match_indices("10.0.").find_map(|(start, prefix)| {
        let before = tag[..start].bytes().next_back();
        if before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.') {
            return None;
        }
        let rest = &tag[start + prefix.len()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_word = rest[digits..]
            .bytes()
            .next()
            .is_none_or(|b| !b.is_ascii_alphanumeric());
        let build = Build::parse(&tag[start..start + prefix.len() + digits])?;
        (is_word && build >= SMALLEST).then_some(build)
    })
}

fn is_one_of(words: &[&str], word: &[u8]) -> bool {
    words
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_versions() {
        for (version, build) in [
            ("10.0.20348", Some(20348)),
            ("10.0.20348.2527", Some(20348)),
            ("10.0.65535", Some(65535)),
            ("10.0.65536", None),
            ("10.0.020348", None),
            ("10.0.20348.", None),
            ("10.0.20348.x", None),
            ("10.0.20348.1.2", None),
            ("10.0.+1", None),
            ("10.0.", None),
            ("6.3.9600", None),
            ("", None),
        ] {
            assert_eq!(Build::parse(version), build.map(Build), "{version}");
        }
        assert_eq!(Build::of_label("10.0.20348"), Some(Build(20348)));
        assert_eq!(Build::of_label("10.0.20348.2527"), None);
        assert_eq!(Build(20348).to_string(), "10.0.20348");
    }

    #[test]
    fn sorts_releases_by_build() {
        assert!(RELEASES.is_sorted_by_key(|release| release.build));
    }

    #[test]
    fn finds_builds_of_images() {
        for (image, build) in [
            ("app:ltsc2022", Some(20348)),
            ("app:1.0-LTSC2025-amd64", Some(26100)),
            ("app:1.0-windows2022", Some(20348)),
            ("app:3.2-windows-ltsc-2019", Some(17763)),
            ("app:LTSC_2022", Some(20348)),
            ("app:windows-2022-3.1.0", None),
            ("app:ltsc-1-2022", None),
            ("app:10.0.20348.2527", Some(20348)),
            ("app:10.0.26100.4946-amd64", Some(26100)),
            ("app:1.2-10.0.17763", Some(17763)),
            (
                "mcr.microsoft.com/windows/nanoserver:10.0.25398.1",
                Some(25398),
            ),
            ("mcr.microsoft.com/windows/servercore:1809", Some(17763)),
            ("app:1.0-windowsservercore-1809", Some(17763)),
            ("app:win-1809", Some(17763)),
            ("team/windows-app:1909", Some(18363)),
            ("app:nanoserver-20h2", Some(19042)),
            // The number of a CI build.
            ("registry.example/a:4.2.1809", None),
            ("win.example.com/a:4.2.1809", None),
            ("app:1809", None),
            // A version of the application.
            ("app:10.0.25398", None),
            ("app:10.0.100", None),
            ("windows/app:10.0.100", None),
            ("app:110.0.20348", None),
            ("app:1.10.0.20348", None),
            ("app:10.0.20348x", None),
            ("app:2022", None),
            ("ltsc2022/app:1", None),
            ("app@sha256:ltsc2022", None),
        ] {
            assert_eq!(of_image(image), build.map(Build), "{image}");
        }
    }

    #[test]
    fn knows_windows_skus() {
        assert_eq!(of_sku("Windows2025"), Some(Build(26100)));
        assert_eq!(of_sku("windows2025"), None);
        assert_eq!(of_sku("Ubuntu"), None);
        assert!(is_windows_sku("Windows2028") && !is_windows_sku("AzureLinux"));
    }
}
