//! Any bytes, told to a session: `tests/messages.rs` goes a part of this way.
#![no_main]

#[path = "../../tests/harness/mod.rs"]
mod harness;
#[path = "../../tests/model/mod.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::bytes::tell(bytes));
