//! deploy/Dockerfile agrees with what it is built from and with the chart. Nothing here builds an image.

use super::read;

/// What stands behind `start`, in the only line that starts so.
fn value<'t>(text: &'t str, start: &str) -> &'t str {
    let mut values = text.lines().filter_map(|line| line.strip_prefix(start));
    let value = values.next().unwrap_or_else(|| panic!("no {start}"));
    assert_eq!(values.next(), None, "{start}");
    value
}

#[test]
fn the_image_is_built_with_the_toolchain_of_the_crate() {
    let dockerfile = read("deploy/Dockerfile");
    let toolchain = read("rust-toolchain.toml");
    let channel = value(&toolchain, "channel = ").trim_matches('"');
    assert_eq!(value(&dockerfile, "ARG RUST_VERSION="), channel);
}

/// The chart says runAsNonRoot and no user: the kubelet then needs a number.
#[test]
fn the_image_runs_as_a_number_that_is_not_root() {
    let dockerfile = read("deploy/Dockerfile");
    let (user, _) = value(&dockerfile, "USER ").split_once(':').unwrap();
    assert_ne!(user.parse::<u32>().unwrap(), 0);
    let values = read("charts/transom/values.yaml");
    assert!(values.contains(&format!("that of the image, {user}.")));
}

#[test]
fn what_cargo_names_is_in_the_build() {
    let ignored = read("deploy/Dockerfile.dockerignore");
    let ignored = ignored.lines().filter(|line| !line.starts_with('#'));
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("[[bench]]") && manifest.contains("[[test]]"));
    for path in ignored {
        for needed in [
            "src",
            "benches",
            "tests/mutants.rs",
            "Cargo.lock",
            "Cargo.toml",
        ] {
            assert!(!needed.starts_with(path), "{path}");
        }
    }
}

/// By cargo-auditable, of a version that is named.
#[test]
fn the_program_in_the_image_lists_its_crates() {
    let dockerfile = read("deploy/Dockerfile");
    let installed = value(&dockerfile, "RUN cargo install --locked --version ");
    assert!(installed.ends_with(" cargo-auditable"), "{installed}");
    assert!(dockerfile.contains("cargo auditable build --locked --release --bin transom "));
}
