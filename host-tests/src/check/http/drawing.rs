//! A run, for people.

use super::case::{Case, Record};
use super::server::Seen;
use crate::{NotExecuted, Outcome};

/// The run, line by line.
pub(super) fn draw(case: &Case, record: &Record) -> Vec<String> {
    let mut lines = vec![format!("{}: {}, {}", case.scenario.name, case.setting, case.policy)];
    for (number, seen) in record.requests.iter().enumerate() {
        lines.push(format!("{:>8} ms  client     request {number}: {}", seen.at.as_millis(), words(seen)));
        if let Some(fault) = seen.fault {
            lines.push(format!("{:>8} ms  server     {fault}", seen.at.as_millis()));
        }
        for (call, by) in &record.effects {
            if by.contains(&number) {
                lines.push(format!("{:>8} ms  ledger     call {call} runs", seen.at.as_millis()));
            }
        }
    }
    for (number, verdict) in &record.verdicts {
        lines.push(format!(
            "{:>8} ms  caller     call {number}: {}",
            verdict.ended.as_millis(),
            verdict_words(&verdict.verdict)
        ));
    }
    for (number, known) in &record.reconciled {
        let known = known.clone().map_or_else(|| "nothing".to_owned(), |known| verdict_words(&Ok(known)));
        lines.push(format!("            caller     reconciles call {number}: {known}"));
    }
    lines
}

fn words(seen: &Seen) -> String {
    let parts = [
        Some(seen.method.to_string()),
        seen.rpc.clone(),
        seen.id.map(|id| format!("#{id}")),
        seen.call.map(|call| format!("(call {call})")),
        seen.last_event_id.as_ref().map(|id| format!("from event {id}")),
        seen.session.as_ref().map(|session| format!("in {session}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn verdict_words(verdict: &Result<Outcome, NotExecuted>) -> String {
    match verdict {
        Ok(Outcome::Ok(_)) => "ok".to_owned(),
        Ok(Outcome::ToolError(_)) => "tool-error".to_owned(),
        Ok(Outcome::UnknownOutcome(unknown)) => format!("unknown-outcome ({:?})", unknown.cause),
        Err(reason) => format!("not-executed ({reason:?})"),
    }
}

/// The verdicts on calls, in a word each.
pub(super) fn verdicts(record: &Record) -> Vec<String> {
    let word = |verdict: String| verdict.split(" (").next().unwrap_or_default().to_owned();
    record.verdicts.values().map(|verdict| word(verdict_words(&verdict.verdict))).collect()
}
