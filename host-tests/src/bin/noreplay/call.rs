//! `noreplay call`: one call.

use std::time::Duration;

use clap::Args;
use host_tests::{ClientError, NotExecuted, Outcome, Session, ToolCall, verdict};

use crate::advice::Advice;
use crate::target::{Target, json_object, time};
use crate::wait::Waiting;
use crate::{Exit, Failure, print, text};

/// The arguments of `call`.
#[derive(Args)]
pub(crate) struct Call {
    /// The tool
    #[arg(long, value_name = "NAME")]
    tool: String,

    /// The call's arguments, a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    args: Option<String>,

    /// The request's `_meta`, a JSON object
    #[arg(long, value_name = "JSON", value_parser = json_object)]
    meta: Option<String>,

    /// How long the call may take, such as 30s [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,

    /// List the tools first, and warn of an answer that does not fit its tool's outputSchema
    #[arg(long)]
    check_output: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    // Last, since its heading goes on to the end.
    #[command(flatten)]
    target: Target,
}

impl Call {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let session = self.target.session().await?;
        let waiting = Waiting::new(&session, format!("calling {}", self.tool));
        let advice = Advice::default();
        if self.check_output {
            advice.list(&session).await?;
        }
        let mut verdict = call(&session, self.call()).await?;
        if let Ok(outcome) = &mut verdict {
            advice.on(&self.tool, outcome);
        }
        drop(waiting);
        let line = if self.json { verdict::call(&verdict).to_string() } else { text::verdict(&verdict) };
        // What is known is told before anything else can go wrong.
        let printed = print(&line);
        session.close().await?;
        printed?;
        Ok(Exit::of(&verdict))
    }

    fn call(&self) -> ToolCall {
        let mut call = ToolCall::new(&self.tool).progress();
        call.arguments = self.args.clone().unwrap_or_default();
        call.meta = self.meta.clone().unwrap_or_default();
        match self.timeout {
            Some(limit) => call.timeout(limit),
            None => call,
        }
    }
}

/// Calls, and cancels the call when the user asks to stop. The verdict comes all the same.
async fn call(session: &Session, call: ToolCall) -> Result<Result<Outcome, NotExecuted>, ClientError> {
    let mut calling = std::pin::pin!(session.call_tool(call));
    loop {
        tokio::select! {
            verdict = &mut calling => return verdict,
            Ok(()) = tokio::signal::ctrl_c() => {
                for pending in session.pending().await? {
                    session.cancel(pending.call).await?;
                }
            }
        }
    }
}
