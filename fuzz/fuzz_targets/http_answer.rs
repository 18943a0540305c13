#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| onebell_fuzz::http_answer(bytes));
