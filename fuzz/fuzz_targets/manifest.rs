//! A manifest's bytes → findings, all formats, `--fix`. The doing is in `src/manifest.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transom_fuzz::manifest::run(data));
