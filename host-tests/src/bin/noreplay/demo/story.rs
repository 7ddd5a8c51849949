//! The demonstration, told: a drawing of what happened, and what is to be seen in it.

use anstyle::Style;
use host_tests::ledger::{Entry, Handed, What};
use host_tests::{NotExecuted, Outcome};
use serde::Deserialize;
use serde_json::value::RawValue;
use textwrap::Options;

use super::Scene;
use super::diagram::{Diagram, Head, Lane};
use super::facts::Facts;
use crate::style::{BAD, DOUBT, FAINT, GOOD, STRONG, styled};
use crate::text;

const LANES: [Lane; 5] = [
    Lane { name: "caller", column: 4 },
    Lane { name: "component", column: 30 },
    Lane { name: "transport", column: 56 },
    Lane { name: "server", column: 74 },
    Lane { name: "ledger", column: 92 },
];

const CALLER: usize = 0;
const COMPONENT: usize = 1;
const TRANSPORT: usize = 2;
const SERVER: usize = 3;
const LEDGER: usize = 4;

/// How wide text may be, in columns.
const WIDTH: usize = 96;

const PLAIN: Style = Style::new();

/// The whole of it.
pub(super) fn tell(scenes: &[Scene], facts: &Facts) -> String {
    let mut diagram = Diagram::new(&LANES);
    for scene in scenes {
        draw(&mut diagram, scene);
    }
    let title = "A server charges, and the answer that says so is lost on its way back.";
    let mut parts = vec![styled(STRONG, title), String::new(), diagram.draw(), String::new()];
    for scene in scenes {
        let call = styled(STRONG, &words(scene));
        parts.push(format!("{call}\n{}\n", indented(&text::verdict(&scene.verdict))));
    }
    parts.extend(facts.claims().iter().map(|(claim, holds)| {
        let mark = if *holds { styled(GOOD, "✔") } else { styled(BAD, "✘ not so:") };
        format!("{mark} {claim}")
    }));
    parts.join("\n")
}

/// The call as the caller wrote it.
fn words(scene: &Scene) -> String {
    let arguments = &scene.call.arguments;
    format!("{} {arguments}", scene.call.name).trim_end().to_owned()
}

fn indented(text: &str) -> String {
    let options = Options::new(WIDTH).initial_indent("  ").subsequent_indent("  ");
    let lines = text.lines().flat_map(|line| textwrap::wrap(line, &options));
    lines.collect::<Vec<_>>().join("\n")
}

fn draw(diagram: &mut Diagram<'_>, scene: &Scene) {
    diagram.arrow(CALLER, COMPONENT, &words(scene), STRONG, Head::Arrives);
    for Entry { what, .. } in &scene.entries {
        event(diagram, what);
    }
    let (words, style) = verdict(&scene.verdict);
    diagram.arrow(COMPONENT, CALLER, words, style, Head::Arrives);
    let charges = match scene.charges {
        1 => "holds 1 charge".into(),
        charges => format!("holds {charges} charges"),
    };
    diagram.remark(LEDGER, &charges, STRONG);
    diagram.gap();
}

fn verdict(verdict: &Result<Outcome, NotExecuted>) -> (&'static str, Style) {
    match verdict {
        Ok(Outcome::Ok(_)) => ("ok", GOOD),
        Ok(Outcome::ToolError(_)) => ("tool-error", BAD),
        Ok(Outcome::UnknownOutcome(_)) => ("unknown-outcome", DOUBT),
        Err(_) => ("not-executed", BAD),
    }
}

fn event(diagram: &mut Diagram<'_>, what: &What) {
    let mut arrow = |from, to, label: &str, style, head| {
        diagram.arrow(from, to, label, style, head);
    };
    match what {
        What::Connecting => arrow(COMPONENT, TRANSPORT, "connect", FAINT, Head::Arrives),
        What::Connected => arrow(TRANSPORT, COMPONENT, "connected", FAINT, Head::Arrives),
        What::Refused(_) => arrow(TRANSPORT, COMPONENT, "refused", BAD, Head::Arrives),
        What::Handed(handed) => {
            let style = if handed.tool.is_some() { PLAIN } else { FAINT };
            arrow(COMPONENT, SERVER, &label(handed), style, Head::Arrives);
        }
        What::Executed(effect) => {
            let arguments = effect.arguments.as_deref().unwrap_or(&effect.tool);
            arrow(SERVER, LEDGER, arguments, GOOD, Head::Arrives);
        }
        What::Said(bytes) => {
            let (label, style) = said(&bytes.text());
            arrow(SERVER, COMPONENT, &label, style, Head::Arrives);
        }
        What::TooLarge => arrow(SERVER, COMPONENT, "too large", BAD, Head::Arrives),
        What::AnswerLost(_) => arrow(SERVER, COMPONENT, "answer lost", BAD, Head::Lost),
        What::Lost(_) => {
            arrow(SERVER, TRANSPORT, "lost", BAD, Head::Lost);
            arrow(TRANSPORT, COMPONENT, "connection lost", BAD, Head::Arrives);
        }
        What::Ended => arrow(SERVER, COMPONENT, "end", FAINT, Head::Arrives),
        What::Abandoned(_) => arrow(COMPONENT, TRANSPORT, "abandon", FAINT, Head::Arrives),
        What::Closed => arrow(COMPONENT, TRANSPORT, "close", FAINT, Head::Arrives),
        What::Dropped => arrow(COMPONENT, TRANSPORT, "let go", FAINT, Head::Arrives),
    }
}

/// A message of the client's: its method, its tool, its id.
fn label(handed: &Handed) -> String {
    let method = handed.method.trim_start_matches("notifications/");
    let id = handed.request.map(|id| format!("#{id}"));
    let parts = [Some(method.to_owned()), handed.tool.clone(), id];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A message of the server's.
fn said(text: &str) -> (String, Style) {
    let Ok(message) = serde_json::from_str::<Message<'_>>(text) else {
        return ("no JSON-RPC".into(), BAD);
    };
    let id = message.id.map_or("", RawValue::get);
    match (message.method, message.error) {
        (Some(method), _) => (method, FAINT),
        (None, Some(_)) => (format!("error of #{id}"), BAD),
        (None, None) => (format!("answer to #{id}"), PLAIN),
    }
}
