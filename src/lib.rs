//! An MCP client that never replays a tool call whose outcome it does not know.
//!
//! The library needs no operating system, hence no `std`: it compiles to a component a third smaller.
#![no_std]
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

extern crate alloc;

pub mod protocol;
pub mod session;

mod prelude;
mod table;

#[cfg(target_family = "wasm")]
mod component;
