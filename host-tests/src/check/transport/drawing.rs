//! A run, drawn as lines that a person can follow.

use super::case::{Case, Sign};
use super::log::{Event, Operation, Record};
use super::oracle::excerpt;
use super::peer::{Did, Stamp};
use super::script::{Act, Script};
use super::text::Text;
use crate::transport::{Delivery, Incoming, SendError};
use crate::verdict::failure_kind;

/// How many lines are drawn of each end of a long run.
const LINES: usize = 12;

/// The run's sequence: who did what, and when.
pub(super) fn draw(case: &Case, record: &Record) -> Vec<String> {
    let entries = record.entries.iter().map(|entry| (entry.at, line(&entry.event)));
    let deeds =
        deeds(&case.script, record).into_iter().map(|(at, words)| (at, format!("peer       {words}")));
    let mut all: Vec<_> = entries.filter_map(|(at, line)| line.map(|line| (at, line))).chain(deeds).collect();
    // Stable: what happened at the same moment stays in order.
    all.sort_by_key(|(at, _)| *at);
    let begun = all.first().map_or(Stamp(0), |(at, _)| *at);
    let mut lines = vec![format!("the peer {}", case.script)];
    lines.extend(all.into_iter().map(|(at, line)| format!("{:>7} ms  {line}", at.millis_since(begun))));
    if lines.len() > 2 * LINES + 1 {
        let left_out = lines.len() - 2 * LINES;
        lines.splice(LINES..lines.len() - LINES, [format!("            .. {left_out} lines more ..")]);
    }
    lines
}

/// The peer's deeds in words: what it took or said in one go is one line.
fn deeds(script: &Script, record: &Record) -> Vec<(Stamp, String)> {
    let mut lines = Vec::new();
    let mut deeds = record.deeds.iter().peekable();
    while let Some(deed) = deeds.next() {
        let words = match &deed.did {
            Did::Take(bytes) => {
                let mut sum = *bytes;
                while let Some(Did::Take(more)) = deeds.peek().map(|next| &next.did) {
                    sum += more;
                    deeds.next();
                }
                format!("takes {sum} bytes")
            }
            Did::Say(act, _) => {
                let more = |next: &Did| matches!(next, Did::Say(other, _) if other == act);
                while deeds.next_if(|next| more(&next.did)).is_some() {}
                script.0.get(*act).map(Act::to_string).unwrap_or_default()
            }
            did => did.to_string(),
        };
        lines.push((deed.at, words));
    }
    lines
}

fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::Connecting => "caller     connects".to_owned(),
        Event::Connected => "transport  is connected".to_owned(),
        Event::NotConnected(failure) => {
            format!("transport  does not connect: {}", failure_kind(failure.kind))
        }
        Event::Sending(text) => format!("caller     sends request {text}"),
        Event::Disowned(text) => format!("caller     sends request {text}, and gives it up at once"),
        Event::Sent(text, result) => format!("transport  request {text}: {}", sent(result)),
        Event::GaveUp(text) => format!("caller     gives request {text} up"),
        Event::Receiving => return None,
        Event::Came(Ok(Incoming::Message(arrival))) => {
            format!("transport  brings {}", message(&arrival.message))
        }
        Event::Came(Ok(Incoming::TooLarge(report))) => match report.size {
            Some(size) => format!("transport  reports a message of {size} bytes as too large"),
            None => "transport  reports a message as too large".to_owned(),
        },
        Event::Came(Ok(Incoming::AnswerLost(lost))) => {
            format!("transport  reports that the answer to request {} is lost", lost.request)
        }
        Event::Came(Ok(Incoming::End)) => "transport  tells the end".to_owned(),
        Event::Came(Err(failure)) => {
            format!("transport  tells that the connection is lost ({})", failure_kind(failure.kind))
        }
        Event::Saw(sign) => format!("caller     sees that {}", sign_words(*sign)),
        Event::Stalled { all: true } => "caller     sees that the peer could say all".to_owned(),
        Event::Stalled { all: false } => "caller     sees that the peer cannot say more".to_owned(),
        Event::Grew(bytes) => format!("caller     has grown by {} MiB", bytes >> 20),
        Event::Abandoned(request) => format!("caller     abandons request {request}"),
        Event::Closing => "caller     closes".to_owned(),
        Event::Closed => "transport  is closed".to_owned(),
        Event::Dropped => "caller     drops the connection".to_owned(),
        Event::Hung(operation) => format!("** hung    {}", hung(*operation)),
        Event::Left(count) => format!("** left    {count} of the peer's"),
    })
}

/// A message in a few words: by its number, if it is whole.
fn message(message: &[u8]) -> String {
    match Text::id(message).filter(|_| message.ends_with(b"}}")) {
        Some(id) => format!("answer {id} ({} bytes)", message.len()),
        None => excerpt(message),
    }
}

fn sent(result: &Result<Delivery, SendError>) -> String {
    match result {
        Ok(Delivery::HandedOver) => "handed-over".to_owned(),
        Ok(Delivery::Accepted) => "accepted".to_owned(),
        Err(SendError::NotSent(failure)) => format!("not-sent ({})", failure_kind(failure.kind)),
        Err(SendError::Truncated(failure)) => format!("truncated ({})", failure_kind(failure.kind)),
        Err(SendError::Refused(refusal)) => format!("refused ({})", refusal.status),
        Err(SendError::Unknown(failure)) => format!("unknown ({})", failure_kind(failure.kind)),
    }
}

fn sign_words(sign: Sign) -> &'static str {
    match sign {
        Sign::StoppedReading => "the peer reads nothing any more",
        Sign::StoppedWriting => "the peer writes nothing any more",
        Sign::Exits => "the peer exits",
        Sign::Gone => "the peer is gone",
    }
}

fn hung(operation: Operation) -> String {
    match operation {
        Operation::Connect => "connect".to_owned(),
        Operation::Send(text) => format!("send of request {text}"),
        Operation::Receive => "receive".to_owned(),
        Operation::Close => "close".to_owned(),
        Operation::Peer => "the peer".to_owned(),
    }
}
