//! How a host answers what servers ask: the interface `noreplay:mcp/interaction`.

use wasmtime::component::Accessor;

use super::{Host, Imports};
use crate::RpcError;
use crate::bindings::interaction::noreplay::mcp::interaction as wit;
pub use crate::bindings::interaction::noreplay::mcp::interaction::{Question, QuestionKind};
use crate::transport::BoxFuture;

/// JSON-RPC's error for what nobody here answers.
const METHOD_NOT_FOUND: i64 = -32601;

/// Who answers what servers ask: for roots, for a message of a model, for what the user says.
///
/// What a server says is not to be trusted: whoever shows a question to a user says who asks it.
pub trait Interaction: Send + Sync + 'static {
    /// Which kinds of question are answered for the server that `endpoint` names: MCP's client capabilities, a
    /// JSON object. Asked once for each session.
    fn capabilities(&self, endpoint: &str) -> String;

    /// Answers a question with MCP's `result` for it, a JSON object, or with an error. The future is dropped
    /// when nobody waits for the answer any more.
    fn answer(&self, endpoint: &str, question: Question) -> BoxFuture<'static, Result<String, RpcError>>;
}

/// Nobody: every question is refused.
pub(crate) struct Nobody;

impl Interaction for Nobody {
    fn capabilities(&self, _: &str) -> String {
        "{}".to_owned()
    }

    fn answer(&self, _: &str, _: Question) -> BoxFuture<'static, Result<String, RpcError>> {
        let message = "this host answers no questions".to_owned();
        Box::pin(async { Err(RpcError { code: METHOD_NOT_FOUND, message, data: None }) })
    }
}

impl wit::Host for Host {
    fn capabilities(&mut self, endpoint: String) -> wasmtime::Result<String> {
        Ok(self.interaction.capabilities(&endpoint))
    }
}

impl<T: 'static> wit::HostWithStore<T> for Imports {
    async fn answer(
        accessor: &Accessor<T, Self>,
        endpoint: String,
        question: Question,
    ) -> wasmtime::Result<Result<String, RpcError>> {
        let answer = accessor.with(|mut store| store.get().interaction.answer(&endpoint, question));
        Ok(answer.await)
    }
}
