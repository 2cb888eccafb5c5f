//! A directory of files that changes as the kubelet changes a mounted Secret or ConfigMap.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// file → ..data/file, ..data → a directory; then ..data is replaced, and the old directory goes away.
pub(crate) fn mount(root: &Path, files: &[(&str, &str)]) {
    let old = fs::read_link(root.join("..data")).ok();
    let turn = old
        .as_ref()
        .and_then(|old| old.to_str()?.strip_prefix("..")?.parse().ok());
    let new = format!("..{}", turn.unwrap_or(0_u32) + 1);
    fs::create_dir(root.join(&new)).unwrap();
    for (name, content) in files {
        fs::write(root.join(&new).join(name), content).unwrap();
        let _ = symlink(Path::new("..data").join(name), root.join(name));
    }
    symlink(&new, root.join("..data_tmp")).unwrap();
    fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
    if let Some(old) = old {
        fs::remove_dir_all(root.join(old)).unwrap();
    }
}
