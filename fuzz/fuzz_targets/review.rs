//! A review's bytes → its answers. The doing is in `src/review.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transom_fuzz::review::run(data));
