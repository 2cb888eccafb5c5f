//! A certificate and a key, or a bundle of CAs, as they are reloaded. The doing is in `src/pair.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transom_fuzz::pair::run(data));
