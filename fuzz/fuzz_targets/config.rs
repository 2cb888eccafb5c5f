//! A configuration's text → what is in force → that written out and read again. The doing is in `src/config.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transom_fuzz::config::run(data));
