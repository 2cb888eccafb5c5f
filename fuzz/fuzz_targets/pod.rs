//! A generated pod → patch → apply → review again. The doing is in `src/pod.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transom_fuzz::pod::run(data));
