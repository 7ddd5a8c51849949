//! A wasmtime host for noreplay: runs the component over any transport.
//!
//! ```
//! use host_tests::ledger::{LedgerServer, Step, closed};
//! use host_tests::{Outcome, Runtime, ToolCall};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A server that charges, and whose answer to the first charge is lost.
//! let server = LedgerServer::new().on("tools/call", 1, [Step::Execute, Step::Lose(closed())]);
//!
//! let client = Runtime::built()?.client(server.clone());
//! let session = client.session("ledger", client.default_options().await?).await?;
//! let outcome = session.call_tool(ToolCall::new("pay").arguments(r#"{"amount":5}"#)).await?;
//!
//! // Nobody can say whether it ran. It did; and it was not called again.
//! assert!(matches!(outcome, Ok(Outcome::UnknownOutcome(_))));
//! assert_eq!(server.ledger().effects().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! - [`Runtime`] is the compiled component, [`Client`] an instance of it, [`Session`] a session.
//! - [`transport`] is what a host implements to reach servers; [`transport::stdio`] reaches child
//!   processes, [`transport::component`] asks a transport that is a component.
//! - [`host::interaction`] answers what servers ask.
//! - [`host::http`] says what a component that speaks HTTP may reach.
//! - [`ledger`] is a server that lives in the same process, records what really happened, and fails
//!   on command;
//!   [`ledger::http`] is the same on a socket, and [`fault_proxy`] cuts connections to any server.
//! - [`check`] holds a component against the contract, [`check::transport`] a transport.
//! - [`output_schema`] holds answers against what their tools say of them.
//! - [`verdict`] writes what became of a call as JSON.
//!
//! Unix only: child processes are ended by process group.

pub mod bindings;
pub mod check;
pub mod client;
mod clock;
mod failure;
pub mod fault_proxy;
pub mod host;
mod instance;
pub mod ledger;
pub mod output_schema;
pub mod runtime;
mod tool_call;
pub mod transport;
pub mod verdict;

pub use bindings::exports::noreplay::mcp::client::ToolCall;
pub use bindings::noreplay::mcp::types::{
    CallId, Cause, Diagnostic, Event, Failure, FailureKind, Grant, HandshakeFailure, Implementation,
    Initialised, Json, Limits, LogLevel, News, NotExecuted, Notification, Options, Outcome, Ownership,
    PendingCall, Progress, Prompt, Query, ReadError, Recovery, Refusal, Resend, RpcError, Server, Stage,
    Timing, Tool, ToolResult, Undecodable, UnknownOutcome,
};
pub use client::{Client, ClientError, Session};
pub use host::http::Http;
pub use host::interaction::{Interaction, Question, QuestionKind};
pub use runtime::Runtime;

/// The component that this crate's build made.
pub const COMPONENT: &[u8] = include_bytes!(env!("NOREPLAY_COMPONENT"));

/// The HTTP transport that this crate's build made, a component of its own.
pub const HTTP_TRANSPORT: &[u8] = include_bytes!(env!("HTTP_TRANSPORT_COMPONENT"));

/// The two composed: the component with its transport in it.
pub const HTTP_CLIENT: &[u8] = include_bytes!(env!("HTTP_CLIENT_COMPONENT"));

/// The component of the world `mcp-client-interactive` that this crate's build made.
pub const INTERACTIVE: &[u8] = include_bytes!(env!("INTERACTIVE_COMPONENT"));

/// That one with the HTTP transport in it.
pub const INTERACTIVE_HTTP_CLIENT: &[u8] = include_bytes!(env!("INTERACTIVE_HTTP_CLIENT_COMPONENT"));

/// The README's code is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
