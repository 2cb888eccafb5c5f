//! Kubernetes' quantities, as far as memory goes: `7339572Ki` → bytes.

/// So many bytes; nothing if it is no quantity.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    let factor = match suffix {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        exponent => {
            let exponent: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            10_f64.powi(exponent)
        }
    };
    // Nodes have less memory than a float counts exactly.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let bytes = (number * factor) as u64;
    Some(bytes)
}

/// As people read it: `1.9 GiB`, `500 MiB`.
pub(super) fn shown(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    let mib = bytes / MIB;
    match mib {
        0..1024 => format!("{mib} MiB"),
        _ => format!("{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_nodes_say() {
        for (text, want) in [
            ("7339572Ki", Some(7_339_572 * 1024)),
            ("256Gi", Some(256 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("500Mi", Some(500 << 20)),
            ("128974848", Some(128_974_848)),
            ("129e6", Some(129_000_000)),
            ("129M", Some(129_000_000)),
            ("128974848000m", Some(128_974_848)),
            ("", None),
            ("much", None),
            ("1Xi", None),
        ] {
            assert_eq!(bytes(text), want, "{text}");
        }
        assert_eq!(shown(500 << 20), "500 MiB");
        assert_eq!(shown((2 << 30) - 1), "1.9 GiB");
        assert_eq!(shown(2 << 30), "2.0 GiB");
    }
}
