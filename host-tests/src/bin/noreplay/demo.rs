//! `noreplay demo`: a charge commits, and its answer is lost.
//!
//! Nothing here is told that did not happen: the component runs against a server in this process, and
//! the drawing is made from that server's books and the component's verdicts.

use clap::Args;
use host_tests::ledger::{Entry, LedgerServer, Step, closed};
use host_tests::verdict::{self, Object};
use host_tests::{NotExecuted, Outcome, Runtime, Session, ToolCall};

use crate::{Exit, Failure, print};

mod diagram;
mod facts;
mod story;

use facts::Facts;

/// The arguments of `demo`.
#[derive(Args)]
pub(crate) struct Demo {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One call, and what happened while it ran.
struct Scene {
    call: ToolCall,
    /// What befell the server meanwhile.
    entries: Vec<Entry>,
    verdict: Result<Outcome, NotExecuted>,
    /// How many charges the ledger holds after it.
    charges: usize,
}

impl Demo {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let server = LedgerServer::new().on_tool("pay", 1, [Step::Execute, Step::Lose(closed())]);
        let client = Runtime::built()?.client(server.clone());
        let options = client.default_options().await?;
        let session = client.session("ledger", options).await?;
        let pay = ToolCall::new("pay").arguments(r#"{"amount":5}"#);
        let scenes = [
            Scene::play(&session, &server, pay).await?,
            Scene::play(&session, &server, ToolCall::new("balance")).await?,
        ];
        session.close().await?;

        let facts = Facts::of(&server, &scenes);
        if self.json {
            for scene in &scenes {
                print(&verdict::call(&scene.verdict).to_string())?;
            }
            let effects = server.ledger().effects().len();
            print(&Object::new().value("effects", &effects).to_string())?;
        } else {
            print(&story::tell(&scenes, &facts))?;
        }
        Ok(if facts.hold() { Exit::Ok } else { Exit::Failure })
    }
}

impl Scene {
    async fn play(session: &Session, server: &LedgerServer, call: ToolCall) -> Result<Scene, Failure> {
        let before = server.wire().entries().len();
        let verdict = session.call_tool(call.clone()).await?;
        Ok(Scene {
            call,
            entries: server.wire().entries()[before..].to_vec(),
            verdict,
            charges: server.ledger().count("pay"),
        })
    }
}
