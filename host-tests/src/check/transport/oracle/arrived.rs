//! What the peer said: delivered whole, in order, once, and all of it.

use std::collections::HashMap;

use super::{Breaches, Kind, excerpt};
use crate::check::transport::MAX_MESSAGE;
use crate::check::transport::case::Case;
use crate::check::transport::duty::Duty;
use crate::check::transport::log::{Event, Operation, Record};
use crate::check::transport::peer::{Deed, Did};
use crate::check::transport::script::{Act, Manner};
use crate::check::transport::text::Text;
use crate::transport::{Incoming, Oversized, SendError};

/// Something that the peer is to say.
struct Said {
    /// What it is, in words.
    name: String,
    id: u64,
    bytes: Vec<u8>,
    due: Due,
    /// Whether the peer has said it.
    done: bool,
    /// The request on whose own channel it comes.
    channel: Option<u64>,
}

impl Said {
    /// Whether something must have come of it.
    fn is_due(&self) -> bool {
        self.done && self.due != Due::Torn
    }
}

/// What must become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// It is delivered.
    Message,
    /// It is reported as too large.
    TooLarge,
    /// It is torn: it is delivered as it came, or not at all.
    Torn,
}

pub(super) fn judge(case: &Case, record: &Record, kind: Kind, breaches: &mut Breaches) {
    let said = said(case, record);
    let mut delivered = vec![false; said.len()];
    let mut numbers = HashMap::new();
    for (number, said) in said.iter().enumerate() {
        numbers.insert(said.bytes.as_slice(), number);
        // A byte order mark may be taken for framing.
        if let Some(text) = said.bytes.strip_prefix(Manner::BOM) {
            numbers.insert(text, number);
        }
    }
    let mut last = 0;
    let mut over = false;
    for entry in &record.entries {
        let found = match &entry.event {
            Event::Came(Ok(Incoming::Message(arrival))) => {
                let found = numbers.get(arrival.message.as_slice()).copied();
                match found {
                    None => {
                        let what = excerpt(&arrival.message);
                        breaches
                            .add(Duty::Whole, format!("{what} was delivered, which the peer did not say"));
                    }
                    Some(number) if said[number].due == Due::TooLarge => {
                        let name = &said[number].name;
                        breaches.add(Duty::Bounded, format!("{name} was kept, although it is too large"));
                    }
                    Some(number) => attributed(&said[number], arrival.channel, breaches),
                }
                found
            }
            Event::Came(Ok(Incoming::TooLarge(report))) => {
                let found = too_large(report, &said, &delivered, breaches);
                if let Some(number) = found {
                    attributed(&said[number], report.channel, breaches);
                }
                found
            }
            Event::Came(Ok(Incoming::AnswerLost(lost))) => {
                let due = said.iter().find(|said| said.id == lost.request && said.due == Due::Message);
                if let Some(said) = due {
                    breaches.add(Duty::Complete, format!("{} was reported lost, and came", said.name));
                }
                continue;
            }
            event => {
                over |= event.is_end();
                continue;
            }
        };
        if over {
            breaches.add(Duty::EndTold, "something was delivered behind the end");
        }
        let Some(number) = found else { continue };
        let same = !kind.own_channels || said[number].channel == said[last].channel;
        if number < last && same {
            let (late, early) = (&said[number].name, &said[last].name);
            breaches.add(Duty::Ordered, format!("{early} was delivered before {late}"));
        }
        if delivered[number] {
            breaches.add(Duty::Complete, format!("{} was delivered twice", said[number].name));
        }
        last = if same { last.max(number) } else { number };
        delivered[number] = true;
    }
    let left = said.iter().zip(&delivered).find(|(said, delivered)| said.is_due() && !**delivered);
    if let Some((said, _)) = left {
        missing(record, said, breaches);
    }
}

/// It is said to come where it comes.
fn attributed(said: &Said, channel: Option<u64>, breaches: &mut Breaches) {
    if channel != said.channel {
        let words = |channel: Option<u64>| match channel {
            Some(request) => format!("the channel of request {request}"),
            None => "the channel of all requests".to_owned(),
        };
        let (told, was) = (words(channel), words(said.channel));
        let why = format!("{} was delivered as coming on {told}; it came on {was}", said.name);
        breaches.add(Duty::Attributed, why);
    }
}

/// All that the peer is to say, in order.
fn said(case: &Case, record: &Record) -> Vec<Said> {
    // What was said after the check had ended the connection reaches nobody.
    let ours = record.entries.iter().find(|entry| entry.event.is_ours()).map(|entry| entry.at);
    let in_time = |deed: &&Deed| ours.is_none_or(|ours| deed.at <= ours);
    let mut all = Vec::new();
    for (index, act) in case.script.0.iter().enumerate() {
        let counts = record.deeds.iter().filter(in_time).filter_map(|deed| match deed.did {
            Did::Say(act, count) if act == index => Some(count),
            _ => None,
        });
        let count = counts.max().unwrap_or(0);
        let mut add = |text: Text, bytes: Vec<u8>, due, done| {
            let name = format!("answer {text}");
            all.push(Said { name, id: text.id, bytes, due, done, channel: None });
        };
        let due = |bytes: &[u8]| if bytes.len() as u64 > MAX_MESSAGE { Due::TooLarge } else { Due::Message };
        match act {
            Act::Say(text, manner) => {
                let mut bytes = text.answer();
                if *manner == Manner::Bom {
                    bytes.splice(0..0, Manner::BOM.iter().copied());
                }
                let due = due(&bytes);
                add(*text, bytes, due, count > 0);
            }
            Act::SayMany(first, many, shape) => {
                for number in 0..*many {
                    let text = Text { id: first + number, shape: *shape };
                    let bytes = text.answer();
                    let due = due(&bytes);
                    add(text, bytes, due, number < count);
                }
            }
            Act::Cut(text, bytes) => {
                let mut answer = text.answer();
                answer.truncate(*bytes);
                add(*text, answer, Due::Torn, false);
            }
            Act::Meet(text, meeting) => {
                let channel = Some(text.id);
                let answers = meeting.says(*text).into_iter().map(|text| (text, text.answer(), true));
                let torn = meeting.torn(*text).map(|bytes| (*text, bytes, false));
                for (text, bytes, whole) in answers.chain(torn) {
                    let name = format!("answer {text}");
                    let due = if whole { due(&bytes) } else { Due::Torn };
                    all.push(Said { name, id: text.id, bytes, due, done: count > 0, channel });
                }
            }
            _ => {}
        }
    }
    all
}

/// What this is a report of.
fn too_large(
    report: &Oversized,
    said: &[Said],
    delivered: &[bool],
    breaches: &mut Breaches,
) -> Option<usize> {
    let is = |said: &Said| {
        said.due == Due::TooLarge
            && said.bytes.starts_with(&report.head)
            && said.bytes.ends_with(&report.tail)
            && report.size.is_none_or(|size| size == said.bytes.len() as u64)
    };
    let mut candidates = (0..said.len()).filter(|&number| is(&said[number]));
    let found = candidates.clone().find(|&number| !delivered[number]).or_else(|| candidates.next());
    // What is said without an end is too large by itself.
    let babble = report.head.starts_with(b"xxxx");
    if found.is_none() && !babble {
        let what = excerpt(&report.head);
        breaches.add(Duty::Whole, format!("{what} was reported as too large, which the peer did not say"));
    }
    found
}

/// What was said, was due, and did not come.
fn missing(record: &Record, said: &Said, breaches: &mut Breaches) {
    // It came as something else, or nothing could come any more.
    if breaches.has(Duty::Whole) || breaches.has(Duty::EndTold) {
        return;
    }
    let entries = &record.entries;
    let ours = entries.iter().position(|entry| entry.event.is_ours()).unwrap_or(entries.len());
    let hung = |event: &Event| matches!(event, Event::Hung(Operation::Receive));
    // Only who received to the end, or in vain, can miss something.
    if !entries[..ours].iter().any(|entry| entry.event.is_end() || hung(&entry.event)) {
        return;
    }
    let loss = entries[..ours].iter().any(|entry| {
        matches!(
            entry.event,
            Event::Came(Ok(Incoming::TooLarge(_) | Incoming::AnswerLost(_)))
                | Event::Abandoned(_)
                | Event::GaveUp(_)
                | Event::Sent(
                    _,
                    Err(SendError::Truncated(_) | SendError::NotSent(_) | SendError::Unknown(_))
                )
        )
    });
    let duty = if loss { Duty::OthersKept } else { Duty::Complete };
    breaches.add(duty, format!("{} was said, and not delivered", said.name));
}
