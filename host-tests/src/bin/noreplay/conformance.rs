//! `noreplay conformance`: the client that MCP's conformance suite starts, for one scenario a run.
//!
//! It is the client as everybody has it, by the strict defaults: nothing here bends it to please the suite.

use clap::Args;
use host_tests::{Http, Outcome, Runtime, verdict};

use crate::{Exit, Failure, print};

mod plan;
mod user;

use plan::Plan;
use user::User;

/// The arguments of `conformance`.
#[derive(Args)]
pub(crate) struct Conformance {
    /// The server's URL
    #[arg(value_name = "URL", value_parser = server)]
    server: Server,
}

#[derive(Clone)]
struct Server {
    url: String,
    http: Http,
}

fn server(url: &str) -> Result<Server, String> {
    let http = Http::to(url).map_err(|error| error.to_string())?;
    Ok(Server { url: url.to_owned(), http })
}

impl Conformance {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let Server { url, http } = self.server;
        let plan = Plan::from_environment();
        // Where the server is to ask a user, there is one.
        let runtime = if plan.has_user() {
            Runtime::built_interactive_http()?.answered_by(User)
        } else {
            Runtime::built_http()?
        };
        let client = runtime.client_over(http);
        let session = client.session(url, client.default_options().await?).await?;
        let listed = session.list_tools().await?;
        print(&verdict::tools(&listed).to_string())?;
        let mut exit = if listed.is_ok() { Exit::Ok } else { Exit::Failure };
        let mut calls = plan.calls(&listed.unwrap_or_default());
        // What is suspended goes on after all others: nothing of it may show in them.
        while !calls.is_empty() {
            let mut suspended = Vec::new();
            for call in calls {
                let verdict = session.call_tool(call.clone()).await?;
                print(&verdict::call(&verdict).to_string())?;
                match (plan::continuation(&verdict), verdict) {
                    (Some(continuation), _) => suspended.push(call.continuation(continuation)),
                    (None, Ok(Outcome::Ok(_))) => {}
                    (None, verdict) => exit = Exit::of(&verdict),
                }
            }
            calls = suspended;
        }
        session.close().await?;
        Ok(exit)
    }
}
