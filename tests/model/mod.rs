//! One model, two drivers: the property tests beside it, and the fuzz targets in `fuzz/`.
//!
//! | module | one idea |
//! |---|---|
//! | [`step`] | one thing that can happen, written in four bytes |
//! | [`server`] | what the server says, in bytes, and what that means |
//! | [`world`] | a caller, a transport and a server around a session, which do such steps |
//! | [`promises`] | what must hold after each step, whatever came before |
//! | [`frame`] | what the bytes of one message say, read by `serde_json` |
//! | [`bytes`] | a session that is told any bytes, held against that |
#![allow(dead_code, reason = "each driver uses a part of it")]
#![allow(unreachable_pub, reason = "a module of test binaries")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "so a test fails")]

pub mod bytes;
pub mod frame;
pub mod promises;
pub mod server;
pub mod step;
pub mod world;

use std::fs;
use std::path::Path;

/// What a fuzz target begins with.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    fs::read_dir(seeds).unwrap().map(|seed| fs::read(seed.unwrap().path()).unwrap()).collect()
}
