//! Streamable HTTP for the MCP client `noreplay`: a transport that is a component of its own.
//!
//! Compiled for wasm this crate is the component `noreplay:http/http-transport` (see `wit/`): it exports the
//! client's `transport` and imports `wasi:http`. Compiled natively it is what that is made of, without its
//! shell, for tests.
//!
//! | module | one idea |
//! |---|---|
//! | [`endpoint`] | where a server is, and what belongs to the same origin |
//! | [`evidence`] | what a failed request says of its message |
//! | [`response`] | what a response means to the message that it answers |
//! | [`event_stream`] | server-sent events, as bytes |
//! | [`resumption`] | when a broken event stream is resumed, and when no more |
//! | [`header`] | what a header may hold |
//! | [`answer`] | whether a message answers a request |
//! | `component` | the async shell, wasm only |

pub mod answer;
pub mod endpoint;
pub mod event_stream;
pub mod evidence;
pub mod header;
pub mod response;
pub mod resumption;

#[cfg(target_family = "wasm")]
mod component;
