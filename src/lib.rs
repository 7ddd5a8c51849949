//! An MCP client that never replays a tool call whose outcome it does not know.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

pub mod protocol;
pub mod session;

#[cfg(target_family = "wasm")]
mod component;
