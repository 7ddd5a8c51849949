//! Any order of events: `tests/promises.rs` goes a part of this way.
#![no_main]

#[path = "../../tests/harness/mod.rs"]
mod harness;
#[path = "../../tests/model/mod.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::world::World::walk_of(bytes));
