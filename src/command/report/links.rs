//! Which links are followed. A repository may be hostile, and what is found in a file is printed.

use std::env;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Why a path is not read: links on it lead out of the repository that contains the path, or to a hidden
/// file. The command line of a CI job names a path; the author of a pull request can make it a link.
///
/// Nothing for a path that is outside of the repository to begin with: it was named on purpose.
pub(in crate::command) fn led_out(path: &Path) -> Option<String> {
    let target = fs::canonicalize(path).ok()?;
    let here = fs::canonicalize(env::current_dir().ok()?).ok()?;
    let root = repository(&here).unwrap_or(&here);
    if is_within(root, &target) {
        return None;
    }
    let path = without_parents(&here.join(path));
    let mut above = path.ancestors();
    let above = above.find(|above| fs::canonicalize(above).is_ok_and(|above| above == root))?;
    let below = path.strip_prefix(above).ok()?;
    // Hidden files that are named without a link are read.
    (root.join(below) != target).then(|| {
        let target = target.display();
        format!(
            "cannot be read: it leads through a link to {target}, which is hidden or outside of the repository; \
             name that path instead"
        )
    })
}

/// The root of the git repository that contains a directory.
pub(in crate::command) fn repository(directory: &Path) -> Option<&Path> {
    let mut above = directory.ancestors();
    above.find(|above| above.join(".git").exists())
}

/// Whether a file is below a directory, and neither hidden there nor in a directory that is. Names that
/// start with two dots are those of a mounted ConfigMap.
pub(in crate::command) fn is_within(root: &Path, file: &Path) -> bool {
    let is_hidden = |part: Component<'_>| {
        let name = part.as_os_str().as_encoded_bytes();
        name.starts_with(b".") && !name.starts_with(b"..")
    };
    let below = file.strip_prefix(root);
    below.is_ok_and(|below| !below.components().any(is_hidden))
}

/// The path as it is written, without `..`.
fn without_parents(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    out
}
