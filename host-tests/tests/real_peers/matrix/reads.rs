//! What is read, and what the server says by itself.

use std::time::Duration;

use host_tests::{Event, LogLevel, News, Outcome, Prompt, Query, ToolCall};
use serde_json::{Value, json};
use tokio::time::timeout;

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
        self.call(tool, arguments).await?;
        self.notified("notifications/message").await
    }

    pub(super) async fn level(&mut self) -> Tried {
        self.read(Query::LogLevel(LogLevel::Debug)).await.map(drop)
    }

    pub(super) async fn resources(&mut self) -> Tried {
        let (listed, template, uri, text) = match self.row.server {
            Server::Npm => (
                "demo://resource/static/document/features.md",
                "demo://resource/dynamic/text/{resourceId}",
                "demo://resource/dynamic/text/7",
                "Resource 7",
            ),
            _ => ("peer://still", "peer://numbers/{number}", "peer://numbers/7", "number 7"),
        };
        holds(&self.read(Query::Resources).await?, listed)?;
        holds(&self.read(Query::ResourceTemplates).await?, template)?;
        holds(&self.read(Query::Contents(uri.into())).await?, text)
    }

    pub(super) async fn prompts(&mut self) -> Tried {
        let (name, arguments, text) = match self.row.server {
            Server::Npm => ("args-prompt", json!({ "city": "Paris" }), "Paris"),
            _ => ("greet", json!({ "name": "ada" }), "Greet ada."),
        };
        holds(&self.read(Query::Prompts).await?, name)?;
        let prompt = Prompt { name: name.into(), arguments: arguments.to_string() };
        holds(&self.read(Query::Prompt(prompt)).await?, text)
    }

    pub(super) async fn complete(&mut self) -> Tried {
        let (prompt, argument, value, completed) = match self.row.server {
            Server::Npm => ("completable-prompt", "department", "Eng", "Engineering"),
            _ => ("greet", "name", "al", "alan"),
        };
        let params = json!({
            "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": argument, "value": value },
        });
        holds(&self.read(Query::Completion(params.to_string())).await?, completed)
    }

    pub(super) async fn ping(&mut self) -> Tried {
        self.read(Query::Ping).await.map(drop)
    }

    pub(super) async fn changed(&mut self) -> Tried {
        let nothing = News { tools: false, prompts: false, resources: false, uris: Vec::new() };
        match self.row.server {
            // It has no tool that changes its tools.
            Server::Npm => {
                self.read(Query::News(News { resources: true, ..nothing })).await?;
                let arguments = json!({ "name": "new.gz", "data": "data:text/plain,new" });
                self.call("gzip-file-as-resource", arguments).await?;
                self.notified("notifications/resources/list_changed").await
            }
            _ => {
                self.read(Query::News(News { tools: true, ..nothing })).await?;
                self.told_of("grow", "notifications/tools/list_changed").await?;
                let tools = ended(self.session.list_tools()).await.map_err(|error| format!("{error:?}"))?;
                let is_there = tools.iter().any(|tool| tool.name == "grown");
                if is_there { Ok(()) } else { Err("the list is the old one".into()) }
            }
        }
    }

    pub(super) async fn updated(&mut self) -> Tried {
        let (uri, tool) = match self.row.server {
            Server::Npm => ("demo://resource/dynamic/text/7", "toggle-subscriber-updates"),
            _ => ("peer://still", "touch"),
        };
        let uris = vec![uri.to_owned()];
        self.read(Query::News(News { tools: false, prompts: false, resources: false, uris })).await?;
        match self.row.server {
            Server::Npm => {
                self.call(tool, json!({})).await?;
                self.notified("notifications/resources/updated").await
            }
            _ => self.told_of(tool, "notifications/resources/updated").await,
        }
    }

    /// Calls a tool that changes something until there is news of it. A server may acknowledge a subscription a
    /// moment before it listens: what changes in between it tells nobody.
    async fn told_of(&self, tool: &str, method: &str) -> Tried {
        for _ in 0..10 {
            self.call(tool, json!({})).await?;
            if timeout(Duration::from_millis(500), self.notified(method)).await.is_ok_and(|told| told.is_ok())
            {
                return Ok(());
            }
        }
        Err(format!("no {method} came"))
    }

    async fn read(&self, what: Query) -> Result<String, String> {
        let asked = format!("{what:?}");
        ended(self.session.read(what)).await.map_err(|error| format!("{asked}: {error:?}"))
    }

    async fn call(&self, tool: &str, arguments: Value) -> Tried {
        let call = ToolCall::new(tool).arguments(arguments.to_string());
        match made(&self.session, call).await {
            Ok(Outcome::Ok(_)) => Ok(()),
            other => Err(format!("{tool}: {other:?}")),
        }
    }

    /// Waits for a notification with this method.
    pub(super) async fn notified(&self, method: &str) -> Tried {
        let is_it = |event: &Event| matches!(event, Event::Notification(it) if it.method == method);
        if self.event(is_it).await { Ok(()) } else { Err(format!("no {method} came")) }
    }
}

fn holds(json: &str, text: &str) -> Tried {
    if json.contains(text) { Ok(()) } else { Err(format!("no {text} in {json}")) }
}
