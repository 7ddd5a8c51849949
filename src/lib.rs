//! An MCP client that never replays a tool call whose outcome it does not know.
#[cfg(target_family = "wasm")]
mod component;
