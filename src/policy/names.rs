//! What Kubernetes and image registries take as a name.
//!
//! Not here: which settings hold names, and what is said of those that are none (`check`).

/// `example.com/name` or `name`: what Kubernetes calls a qualified name.
pub(super) fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_domain = |prefix: &str| prefix.len() <= 253 && prefix.split('.').all(is_domain_label);
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_domain)
}

/// Lower-case letters, digits and `-`, which stands at neither end.
pub(super) fn is_domain_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// At most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(super) fn is_label_value(value: &str) -> bool {
    let ends = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    value.len() <= 63
        && ends(value.bytes().next())
        && ends(value.bytes().next_back())
        && value
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The name of a namespace, to the letter.
pub(super) fn is_namespace(name: &str) -> bool {
    is_domain_label(name) && name.len() <= 63
}

/// An image without its tag: `registry.example:5000/team/name`.
pub(super) fn is_repository(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    !last.is_empty() && !last.contains([':', '@']) && !name.contains(['*', ' '])
}

/// What may stand in a tag.
pub(super) fn is_tag(text: &str) -> bool {
    let may = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    text.bytes().all(may)
}

/// What a tag is split into at `-`, `_` and `.`.
pub(super) fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// What may stand in a repository.
pub(super) fn is_repository_part(text: &str) -> bool {
    let may = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_./".contains(&b);
    text.bytes().all(may)
}
