//! A server on the official Rust SDK whose tools leave a trace.
//!
//! ```text
//! peer-rmcp stdio
//! peer-rmcp http [PORT]     0, the default, takes a free port; the URL is the first line on stdout
//! ```
//!
//! It offers what `peers/python/server.py` offers. Every tool with an effect appends one line to the
//! file named by the environment variable LEDGER and syncs it: what stands there has happened,
//! whatever the client was told.

mod handler;
mod http;
mod tasks;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{self, CallToolResult, ContentBlock, ErrorCode, ProgressNotificationParam};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServiceExt as _, tool, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::handler::{News, tell};

#[derive(Deserialize, Serialize, JsonSchema)]
struct Amount {
    amount: i64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Wait {
    ms: u64,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Code {
    code: i32,
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    number: u32,
}

#[derive(Clone)]
struct Peer {
    tools: ToolRouter<Self>,
    grown: ToolRouter<Self>,
}

/// Whether there is one tool more. Over HTTP each request of 2026-07-28 has a server of its own.
static IS_GROWN: AtomicBool = AtomicBool::new(false);

impl Peer {
    fn new() -> Self {
        let tools = Self::router();
        let mut grown = tools.clone();
        grown.merge(Self::more());
        Peer { tools, grown }
    }

    fn tools(&self) -> &ToolRouter<Self> {
        if IS_GROWN.load(Ordering::Relaxed) { &self.grown } else { &self.tools }
    }
}

#[tool_router(router = more)]
impl Peer {
    /// Was added. No effect.
    #[tool]
    fn grown(&self) -> String {
        "grown".into()
    }
}

#[tool_router(router = router)]
impl Peer {
    /// Pays an amount.
    #[tool]
    fn pay(&self, Parameters(amount): Parameters<Amount>) -> Result<String, ErrorData> {
        record("pay", json!(amount))?;
        Ok(format!("paid {}", amount.amount))
    }

    /// Pays an amount, and claims to be read-only and idempotent: a lie that must change nothing.
    #[tool(annotations(read_only_hint = true, idempotent_hint = true))]
    fn pay_hinted(&self, Parameters(amount): Parameters<Amount>) -> Result<String, ErrorData> {
        record("pay_hinted", json!(amount))?;
        Ok(format!("paid {}", amount.amount))
    }

    /// Takes its time, then has its effect. It does not look at a cancel, as most handlers do not.
    #[tool]
    async fn slow(&self, Parameters(wait): Parameters<Wait>) -> Result<String, ErrorData> {
        tokio::time::sleep(Duration::from_millis(wait.ms)).await;
        record("slow", json!(wait))?;
        Ok(format!("waited {} ms", wait.ms))
    }

    /// Says that it has begun, and takes its time. Its only effect is to record that it was cancelled, if it was.
    #[tool]
    async fn wait(
        &self,
        Parameters(wait): Parameters<Wait>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        progress(&context, 1.0, None).await?;
        tokio::select! {
            () = context.ct.cancelled() => record("cancelled", json!({}))?,
            () = tokio::time::sleep(Duration::from_millis(wait.ms)) => {}
        }
        Ok(format!("waited {} ms", wait.ms))
    }

    /// Reports its progress. No effect.
    #[tool]
    async fn steps(
        &self,
        Parameters(Steps { number }): Parameters<Steps>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        for step in (1..=number).map(f64::from) {
            progress(&context, step, Some(number.into())).await?;
        }
        Ok(format!("took {number} steps"))
    }

    /// Logs the text. No effect.
    #[tool]
    #[expect(deprecated, reason = "the older revisions have it")]
    async fn log(
        &self,
        Parameters(Text { text }): Parameters<Text>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let message = model::LoggingMessageNotificationParam::new(model::LoggingLevel::Info, text.into());
        let told = context.peer.notify_logging_message(message).await;
        told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok("logged".into())
    }

    /// Adds a tool, and tells whoever wants to know. No effect.
    #[tool]
    async fn grow(&self, context: RequestContext<RoleServer>) -> String {
        IS_GROWN.store(true, Ordering::Relaxed);
        tell(News::Tools, &context).await;
        "grown".into()
    }

    /// Tells whoever subscribed to it that a resource has changed. No effect.
    #[tool]
    async fn touch(&self, context: RequestContext<RoleServer>) -> String {
        tell(News::Still, &context).await;
        "touched".into()
    }

    /// Has its effect, then reports a failure of the tool.
    #[tool]
    fn fail(&self) -> Result<CallToolResult, ErrorData> {
        record("fail", json!({}))?;
        let text = ContentBlock::text("failed after the effect");
        Ok(CallToolResult::error(vec![text]))
    }

    /// Has its effect, then makes the SDK answer with a JSON-RPC error.
    #[tool]
    fn rpc_fail(&self, Parameters(code): Parameters<Code>) -> Result<String, ErrorData> {
        record("rpc_fail", json!(code))?;
        let data = json!({ "effect": true });
        Err(ErrorData::new(ErrorCode(code.code), "refused after the effect", Some(data)))
    }

    /// Gives the text back. No effect.
    #[tool]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }

    /// Answers with that many characters. No effect.
    #[tool]
    fn big(&self, Parameters(Size { bytes }): Parameters<Size>) -> String {
        "x".repeat(bytes)
    }

    /// Has its effect, then ends the process before an answer.
    #[tool]
    fn die(&self) -> Result<String, ErrorData> {
        record("die", json!({}))?;
        exit(1)
    }
}

/// Reports progress to whoever asked for it.
async fn progress(
    context: &RequestContext<RoleServer>,
    step: f64,
    total: Option<f64>,
) -> Result<(), ErrorData> {
    let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
    let mut progress = ProgressNotificationParam::new(token, step);
    progress.total = total;
    let told = context.peer.notify_progress(progress).await;
    told.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Appends one effect in a single write, so that overlapping calls cannot mix their lines.
fn record(tool: &str, arguments: Value) -> Result<(), ErrorData> {
    let line = format!("{}\n", json!({ "tool": tool, "arguments": arguments }));
    let append = || {
        let path = std::env::var_os("LEDGER").ok_or_else(|| std::io::Error::other("no LEDGER"))?;
        let mut ledger = OpenOptions::new().append(true).create(true).open(path)?;
        ledger.write_all(line.as_bytes())?;
        ledger.sync_all()
    };
    append().map_err(|error| ErrorData::internal_error(format!("the ledger: {error}"), None))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            let service = Peer::new().serve(rmcp::transport::stdio()).await?;
            service.waiting().await?;
        }
        ["http"] => http::serve(0).await?,
        ["http", port] => http::serve(port.parse()?).await?,
        _ => return Err("usage: peer-rmcp stdio | http [PORT]".into()),
    }
    Ok(())
}
