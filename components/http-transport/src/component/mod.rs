//! The async shell: binds the transport to the component's WIT. Wasm only.
//!
//! | module | one idea |
//! |---|---|
//! | [`bindings`] | what wit-bindgen makes of the WIT |
//! | [`connection`] | the exported resource |
//! | [`shared`] | what the tasks of one connection share |
//! | [`exchange`] | one message: its POST, and the answer to it |
//! | [`stream`] | events as they come, and the resumption of a stream that broke |
//! | [`opening`] | how a connection begins, with the event stream of 2024-11-05 where there is one |
//! | [`known`] | what is known of a server beyond one connection |
//! | [`http`] | requests and responses of `wasi:http` |
//! | [`body`] | the bytes of both |
//!
//! Each exchange is a task of its own: a slow answer holds up nothing else, and a caller that no longer waits
//! for its `send` does not end it, so that an answer that comes late is one all the same.

mod bindings;
mod body;
mod connection;
mod exchange;
mod http;
mod known;
mod opening;
mod shared;
mod stream;
