//! How it ended: at once, with nothing hanging and nothing left.

use super::Breaches;
use crate::check::transport::duty::Duty;
use crate::check::transport::log::{Event, Operation, Record};
use crate::check::transport::peer::{Did, Stamp};

/// What is still at once, in milliseconds: two grown processes on a busy machine.
const AT_ONCE: u64 = 2_000;

/// What a check may make this process grow by, in bytes: far more than a bounded transport does, and far
/// less than what the peer writes.
const GROWTH: u64 = 128 << 20;

/// Every operation ends, nothing is left, and nothing grows.
pub(super) fn rest(record: &Record, breaches: &mut Breaches) {
    for (index, entry) in record.entries.iter().enumerate() {
        match &entry.event {
            Event::NotConnected(failure) => {
                let words = failure.detail.join(": ");
                breaches.add(Duty::Connected, format!("the peer is there, and connecting failed: {words}"));
            }
            Event::Left(count) => breaches.add(Duty::NothingLeft, format!("{count} of the peer's are left")),
            Event::Stalled { all: true } => {
                breaches.add(Duty::Bounded, "the peer could say all that it had, and nobody received");
            }
            Event::Grew(bytes) if *bytes > GROWTH => {
                breaches.add(Duty::Bounded, format!("this process grew by {} MiB", bytes >> 20));
            }
            Event::Hung(operation) => {
                let ours = record.entries[..index].iter().any(|entry| entry.event.is_ours());
                let alone = !ours && ended(record).is_some();
                hung(*operation, alone, breaches);
            }
            _ => {}
        }
    }
}

/// When the peer ended the connection by itself, if it did.
fn ended(record: &Record) -> Option<Stamp> {
    let ends = |did: &Did| matches!(did, Did::StopWriting | Did::Exit(_));
    record.deeds.iter().find(|deed| ends(&deed.did)).map(|deed| deed.at)
}

/// The end is told once it is there, and soon.
pub(super) fn end(record: &Record, breaches: &mut Breaches) {
    let mut waiting = None;
    for entry in &record.entries {
        match &entry.event {
            Event::Receiving => waiting = Some(entry.at),
            event if event.is_ours() => return,
            event if event.is_end() => {
                match ended(record).filter(|ended| *ended <= entry.at) {
                    None => breaches.add(Duty::EndTold, "the end was told, and the peer was still there"),
                    Some(ended) => {
                        let late = entry.at.millis_since(waiting.map_or(ended, |waiting| ended.max(waiting)));
                        if late > AT_ONCE {
                            breaches.add(Duty::EndTold, format!("the end was told {late} ms late"));
                        }
                    }
                }
                return;
            }
            _ => {}
        }
    }
}

/// `alone`: the peer has ended by itself.
fn hung(operation: Operation, alone: bool, breaches: &mut Breaches) {
    let words = match operation {
        Operation::Receive if alone => {
            breaches.add(Duty::EndTold, "the peer has ended, and `receive` does not tell");
            return;
        }
        // It follows from what was found already.
        Operation::Receive | Operation::Peer if !breaches.is_empty() => return,
        Operation::Connect => "`connect` does not end".to_owned(),
        Operation::Send(text) => format!("`send` of request {text} does not end"),
        Operation::Receive => "`receive` does not end".to_owned(),
        Operation::Close => "`close` does not end".to_owned(),
        Operation::Peer => "the peer does not get what it waits for".to_owned(),
    };
    breaches.add(Duty::NoHang, words);
}
