//! `noreplay tools`: the server's tools.

use clap::Args;
use host_tests::{Tool, verdict};
use serde::Deserialize;

use crate::style::{BAD, FAINT, STRONG, harmless, styled};
use crate::target::Target;
use crate::wait::Waiting;
use crate::{Exit, Failure, print, text};

/// The arguments of `tools`.
#[derive(Args)]
pub(crate) struct Tools {
    /// Print JSON
    #[arg(long)]
    json: bool,

    // Last, since its heading goes on to the end.
    #[command(flatten)]
    target: Target,
}

impl Tools {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let session = self.target.session().await?;
        let waiting = Waiting::new(&session, "listing the tools".into());
        let listed = session.list_tools().await?;
        drop(waiting);
        let line = match &listed {
            _ if self.json => verdict::tools(&listed).to_string(),
            Ok(tools) => list(tools),
            Err(error) => format!("{}: {}", styled(BAD, "no list"), text::read_error(error)),
        };
        let printed = print(&line);
        session.close().await?;
        printed?;
        Ok(if listed.is_ok() { Exit::Ok } else { Exit::Failure })
    }
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    annotations: Annotations,
}

/// What the server claims of a tool.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    destructive_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

/// One line a tool: its name, the first line of its description, and what the server claims of it.
fn list(tools: &[Tool]) -> String {
    if tools.is_empty() {
        return styled(FAINT, "the server has no tools");
    }
    let names: Vec<String> = tools.iter().map(|tool| harmless(&tool.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default().min(40);
    let lines = tools.iter().zip(&names).map(|(tool, name)| {
        let description = tool.description.as_deref().unwrap_or_default();
        let description = harmless(description.lines().next().unwrap_or_default());
        let name = styled(STRONG, &format!("{name:<width$}"));
        let claims = styled(FAINT, &claims(tool));
        format!("{name}  {description}{claims}").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn claims(tool: &Tool) -> String {
    // What is no boolean claims nothing.
    let entry = serde_json::from_str::<Entry>(&tool.json);
    let claimed = entry.map(|entry| entry.annotations).unwrap_or_default();
    let claims = [
        (claimed.read_only_hint, "read-only"),
        (claimed.destructive_hint, "destructive"),
        (claimed.idempotent_hint, "idempotent"),
    ];
    let claims: Vec<&str> =
        claims.into_iter().filter_map(|(claim, word)| (claim == Some(true)).then_some(word)).collect();
    match claims[..] {
        [] => String::new(),
        _ => format!("  (claims to be {})", claims.join(", ")),
    }
}
