//! An MCP client that never replays a tool call whose outcome it does not know.
//!
//! Compiled for wasm this crate is the component `noreplay:mcp/mcp-client` (see `wit/`), or, with the feature
//! `interactive`, `noreplay:mcp/mcp-client-interactive`; compiled natively it is the same client without its
//! shell, for tests.
//!
//! | module | one idea |
//! |---|---|
//! | [`session`] | the sans-IO core: events and time in, actions and verdicts out |
//! | [`protocol`] | JSON-RPC and MCP on the wire |
//! | `component` | the async shell, wasm only |
//!
//! It needs no operating system, hence no `std`: that makes the component smaller by a tenth.
#![no_std]
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]

extern crate alloc;

pub mod protocol;
pub mod session;

mod host;
mod prelude;
mod table;
mod text;

#[cfg(all(target_family = "wasm", feature = "component"))]
mod component;
