//! Rules, as one writes them on a command line.

use std::time::Duration;

use host_tests::ledger::{Rule, Step, When, closed};

pub(crate) const HELP: &str = "\
What to do with the Nth call of TOOL, or with every call:
  execute      run the tool
  answer       answer as usual
  error:CODE   answer with a JSON-RPC error
  say:TEXT     say TEXT, without any comma, where an answer would come; $id stands for the id
  progress:N   report progress N
  notify:N     send N notifications
  sleep:MS     wait
  end          exit in order
  lose         exit with an error";

/// `TOOL[:N]=STEP[,STEP..]`, as a rule.
pub(crate) fn rule(text: &str) -> Result<Rule, String> {
    let (when, steps) = text.split_once('=').ok_or("it is not TOOL[:N]=STEP[,STEP..]")?;
    let when = match when.rsplit_once(':') {
        Some((tool, nth)) => When::tool(tool).nth(number(nth)?),
        None => When::tool(when),
    };
    let steps: Result<Vec<Step>, String> = steps.split(',').map(step).collect();
    Ok(Rule::new(when, steps?))
}

fn step(text: &str) -> Result<Step, String> {
    let (name, value) = match text.split_once(':') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    Ok(match (name, value) {
        ("execute", None) => Step::Execute,
        ("answer", None) => Step::Answer,
        ("error", Some(code)) => Step::error(number(code)?, "as told"),
        ("say", Some(words)) => Step::say(words),
        ("progress", Some(progress)) => Step::Progress(number(progress)?),
        ("notify", Some(times)) => Step::Notify(number(times)?),
        ("sleep", Some(ms)) => Step::Sleep(Duration::from_millis(number(ms)?)),
        ("end", None) => Step::End,
        ("lose", None) => Step::Lose(closed()),
        _ => return Err(format!("there is no step {text:?}")),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number that fits"))
}
