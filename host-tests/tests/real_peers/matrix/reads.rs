//! What is read, and what the server says by itself.

use host_tests::{Event, ToolCall};
use serde_json::json;

use super::Tried;
use super::bench::{Bench, ended, made};
use crate::servers::Server;

impl Bench {
    pub(super) async fn tools(&mut self) -> Tried {
        let before = self.sent("tools/list");
        let tools = ended(self.session.list_tools()).await.map_err(|error| format!("{error:?}"))?;
        let (first, last) = match self.row.server {
            Server::Npm => ("echo", "get-sum"),
            _ => ("pay", "die"),
        };
        if ![first, last].iter().all(|name| tools.iter().any(|tool| tool.name == *name)) {
            return Err(format!("not all of them: {tools:?}"));
        }
        // This server has pages of five.
        let pages = if self.row.server == Server::Rmcp { tools.len().div_ceil(5) } else { 1 };
        let asked = self.sent("tools/list") - before;
        if asked == pages { Ok(()) } else { Err(format!("{asked} pages of {pages}")) }
    }

    pub(super) async fn progress(&mut self) -> Tried {
        let (tool, arguments) = match self.row.server {
            Server::Npm => ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 })),
            _ => ("steps", json!({ "number": 2 })),
        };
        let call = ToolCall::new(tool).arguments(arguments.to_string()).progress();
        made(&self.session, call).await.map_err(|error| format!("{error:?}"))?;
        let is_last = |event: &Event| match event {
            Event::Progress(progress) => progress.params.contains(r#""progress":2"#),
            _ => false,
        };
        if self.event(is_last).await { Ok(()) } else { Err("no progress came".into()) }
    }

    pub(super) async fn log(&mut self) -> Tried {
        let (tool, arguments) = match self.row.server {
            Server::Npm => ("toggle-simulated-logging", json!({})),
            _ => ("log", json!({ "text": "hello" })),
        };
        let mut call = ToolCall::new(tool).arguments(arguments.to_string());
        if self.row.is_modern() {
            // There it is asked for with each call.
            call = call.meta(r#"{"io.modelcontextprotocol/logLevel":"debug"}"#);
        }
        made(&self.session, call).await.map_err(|error| format!("{error:?}"))?;
        self.notified("notifications/message").await
    }

    /// Waits for a notification with this method.
    pub(super) async fn notified(&self, method: &str) -> Tried {
        let is_it = |event: &Event| matches!(event, Event::Notification(it) if it.method == method);
        if self.event(is_it).await { Ok(()) } else { Err(format!("no {method} came")) }
    }
}
