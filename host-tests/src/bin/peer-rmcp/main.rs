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

mod http;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::exit;
use std::time::Duration;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorCode, Implementation, ServerCapabilities, ServerConfig,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

#[derive(Clone)]
struct Peer {
    tools: ToolRouter<Self>,
}

impl Peer {
    fn new() -> Self {
        Peer { tools: Self::router() }
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

#[tool_handler(router = self.tools)]
impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("peer-rmcp", "1.0.0"))
    }
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
