//! MCP on the wire: JSON-RPC in and out, and what differs by revision in one place.

pub mod capabilities;
pub mod handshake;
mod header;
pub mod json;
pub mod jsonrpc;
pub mod list;
pub mod message;
pub mod param_headers;
pub mod query;
pub mod reply;
pub mod revision;
pub mod task;
pub mod tool_result;
