//! What was sent: once, whole, in order, and as the transport says.

use std::collections::HashMap;

use super::{Breaches, Kind, excerpt};
use crate::check::transport::case::Sign;
use crate::check::transport::duty::Duty;
use crate::check::transport::log::{Event, Operation, Record};
use crate::check::transport::peer::Did;
use crate::check::transport::text::Text;
use crate::transport::{Delivery, SendError};

/// A message that was given to the transport.
struct Sent {
    text: Text,
    /// What the transport said of it, if it did.
    said: Option<Result<Delivery, SendError>>,
    /// Whether it was said after nobody could take it any more.
    in_vain: bool,
    /// How often the peer has it, whole and in part.
    whole: usize,
    parts: usize,
}

pub(super) fn judge(record: &Record, kind: Kind, breaches: &mut Breaches) {
    let mut sent = messages(record);
    received(record, &mut sent, breaches);
    for message in &sent {
        claim(message, record, breaches);
    }
    room(record, kind, &sent, breaches);
}

/// The messages in the order of their sends.
fn messages(record: &Record) -> Vec<Sent> {
    let mut sent: Vec<Sent> = Vec::new();
    let mut deaf = false;
    for entry in &record.entries {
        match &entry.event {
            Event::Sending(text) | Event::Disowned(text) => {
                sent.push(Sent { text: *text, said: None, in_vain: deaf, whole: 0, parts: 0 });
            }
            Event::Sent(text, result) => {
                let message = sent.iter_mut().find(|message| message.text == *text);
                if let Some(message) = message {
                    message.said = Some(result.clone());
                }
            }
            Event::Saw(Sign::StoppedReading | Sign::Gone) => deaf = true,
            _ => {}
        }
    }
    sent
}

/// Finds for all that the peer received what it is of.
fn received(record: &Record, sent: &mut [Sent], breaches: &mut Breaches) {
    let numbers: HashMap<u64, usize> =
        sent.iter().enumerate().map(|(number, message)| (message.text.id, number)).collect();
    let mut last = HashMap::new();
    for received in record.received.iter().filter(|received| !received.text.is_empty()) {
        let same = Text::id(&received.text).and_then(|id| numbers.get(&id).copied());
        if let Some(number) = same.filter(|&number| sent[number].text.request() == received.text) {
            sent[number].whole += 1;
            let last = last.entry(received.connection).or_insert(number);
            if number < *last {
                let (late, early) = (sent[number].text, sent[*last].text);
                breaches.add(Duty::Ordered, format!("request {early} arrived before request {late}"));
            }
            *last = number;
        } else if let Some(number) = part(&received.text, sent).filter(|_| !received.ended) {
            sent[number].parts += 1;
        } else {
            let why = format!("the peer received {}, which nobody sent", excerpt(&received.text));
            breaches.add(Duty::Whole, why);
        }
    }
    for message in sent.iter().filter(|message| message.whole + message.parts > 1) {
        let (text, whole, parts) = (message.text, message.whole, message.parts);
        let why = format!("the peer has request {text} {whole} times whole and {parts} times in part");
        breaches.add(Duty::SentOnce, why);
    }
}

/// The message that this is the beginning of; one that may have left in part, if it can be several.
fn part(beginning: &[u8], sent: &[Sent]) -> Option<usize> {
    let mut candidates: Vec<_> =
        (0..sent.len()).filter(|&number| sent[number].text.request().starts_with(beginning)).collect();
    candidates.sort_by_key(|&number| {
        let never = matches!(sent[number].said, Some(Err(SendError::NotSent(_) | SendError::Refused(_))));
        (never, sent[number].whole > 0)
    });
    candidates.first().copied()
}

/// Holds what the transport said of a message against what the peer has.
fn claim(message: &Sent, record: &Record, breaches: &mut Breaches) {
    let (text, whole, any) = (message.text, message.whole > 0, message.whole + message.parts > 0);
    let has = if whole { "the peer has all of its text" } else { "the peer has a part of it" };
    match &message.said {
        Some(Err(SendError::NotSent(_))) if any => {
            breaches.add(Duty::NotSent, format!("request {text} was `not-sent`, and {has}"));
        }
        Some(Err(SendError::Truncated(_))) if whole => {
            breaches.add(Duty::Truncated, format!("request {text} was `truncated`, and {has}"));
        }
        Some(Err(SendError::Refused(refusal)))
            if refusal.status < 300 || status(record, text) != Some(refusal.status) =>
        {
            let why = format!("request {text} was `refused` with {}, by nobody", refusal.status);
            breaches.add(Duty::Refused, why);
        }
        Some(Ok(_)) if status(record, text).is_some_and(|status| status >= 300) => {
            let why = format!("request {text} was refused, and `send` succeeded");
            breaches.add(Duty::Refused, why);
        }
        Some(Ok(Delivery::Accepted)) if status(record, text).is_none() => {
            breaches.add(Duty::HandedOver, format!("request {text} was `accepted`, by nobody"));
        }
        Some(Ok(Delivery::HandedOver)) if message.in_vain => {
            let why = format!("request {text} was `handed-over` when nobody could take it any more");
            breaches.add(Duty::HandedOver, why);
        }
        // If something else arrived, that is it.
        Some(Ok(Delivery::HandedOver)) if !whole && took_all(record) && !breaches.has(Duty::Whole) => {
            let why = format!("request {text} was `handed-over`; the peer took all there was, and not this");
            breaches.add(Duty::HandedOver, why);
        }
        _ => {}
    }
}

/// The HTTP status with which the peer answered a request.
fn status(record: &Record, text: Text) -> Option<u16> {
    record.deeds.iter().find_map(|deed| match deed.did {
        Did::Respond(request, status) if request == text.id => Some(status),
        _ => None,
    })
}

/// Whether the peer took everything that left.
fn took_all(record: &Record) -> bool {
    let ended = record.deeds.iter().any(|deed| deed.did == Did::ReadEnd);
    // It was waiting for more, as long as the check's patience lasted.
    let starved = record.entries.iter().any(|entry| {
        matches!(entry.event, Event::Hung(Operation::Receive | Operation::Peer))
            && record.deeds.last().is_some_and(|deed| matches!(deed.did, Did::Start | Did::Take(_)))
    });
    ended || starved
}

/// No more is handed over than the peer took and what lies between may hold.
fn room(record: &Record, kind: Kind, sent: &[Sent], breaches: &mut Breaches) {
    let taken: u64 =
        record.deeds.iter().map(|deed| if let Did::Take(bytes) = deed.did { bytes } else { 0 }).sum();
    let handed = sent.iter().filter(|message| matches!(message.said, Some(Ok(Delivery::HandedOver))));
    let handed: u64 = handed.map(|message| message.text.request().len() as u64).sum();
    if handed > taken + kind.room {
        let why =
            format!("{handed} bytes were `handed-over`; the peer took {taken}, and not so much lies between");
        breaches.add(Duty::HandedOver, why);
    }
}
