# Short names for what .ci/run and the README say in full. `just` lists them.

[private]
default:
    @just --list --unsorted

# Format everything
fmt:
    cargo fmt

# Formatting, clippy and the crate's documentation, warnings denied
lint:
    cargo fmt --check
    cargo clippy --all-targets --features mutants -- -D warnings
    RUSTDOCFLAGS='-D warnings' cargo doc --no-deps

# All tests, or those of one target: just test --test fixtures
test *ARGS:
    cargo test {{ ARGS }}

# The programs of a Kubernetes version that the end-to-end tests run; prints their directory: just assets 1.35.2
assets VERSION='':
    tests/assets/build {{ VERSION }}

# The end-to-end tests in a real control plane, or those with this in their names: just e2e oracle
e2e *ARGS:
    KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$(tests/assets/build)} cargo test --test e2e -- {{ ARGS }}

# The end-to-end tests against several versions of Kubernetes, as a table: just e2e-versions 1.30.14 1.37.1
e2e-versions *VERSIONS:
    tests/assets/versions {{ VERSIONS }}

# What Transom does in a cluster with Windows nodes, played with kubectl's own output
demo:
    TRANSOM_DEMO=1 KUBEBUILDER_ASSETS=${KUBEBUILDER_ASSETS:-$(tests/assets/build)} cargo test --quiet --test e2e

# The server under load beside a null server, or another benchmark: just bench --bench review -- patched
bench *ARGS='--bench load':
    cargo bench {{ ARGS }}

# What is generated, written anew: docs/rules.md, docs/kep-116.md, docs/config.schema.json
docs:
    UPDATE_DOCS=1 cargo test --test docs --test doctor
    cargo run -- schema > docs/config.schema.json

# What is generated of the chart, written anew (needs helm): its values' schema and table, deploy/transom.yaml
chart:
    UPDATE_CHART=1 cargo test --test chart

# Faults on purpose under load, in full: just chaos; or those with this in their names: just chaos restarted
chaos *ARGS:
    CHAOS=full cargo test --release --test chaos -- --skip the_load_goes_on {{ ARGS }}

# Calls of all sizes at a steady rate, 30 minutes at 1,000 a second unless said otherwise: just soak 5 200
soak MINUTES='30' RATE='1000':
    CHAOS=full SOAK_MINUTES={{ MINUTES }} SOAK_RATE={{ RATE }} cargo test --release --test chaos -- the_load_goes_on

# Instructions of an answer, as multiples of a bare walk, against their limits (needs valgrind)
instructions:
    cargo bench --bench instructions

# Change the rule table in one place at a time, and see whether a test notices; or the rows of one family: just mutants WIN3
mutants *ARGS:
    cargo test --features mutants --test mutants -- {{ ARGS }}

# Fuzz as many hours in all (needs cargo-fuzz and the nightly toolchain), or these targets: just fuzz 0.5 pod review
fuzz HOURS *TARGETS:
    fuzz/run {{ HOURS }} {{ TARGETS }}

# Advisories, licences, bans and sources of the dependency tree (needs cargo-deny)
deny:
    cargo deny check

# The webhook with a throw-away certificate: just run --log-level debug
run *ARGS:
    cargo run --release -- serve {{ ARGS }}

# Everything that CI runs
ci:
    .ci/run
