//! What was refused or lost on a request's own channel: that is told, to each.

use super::Breaches;
use crate::check::transport::case::Case;
use crate::check::transport::duty::Duty;
use crate::check::transport::http::Fate;
use crate::check::transport::log::{Event, Operation, Record};
use crate::check::transport::script::Act;
use crate::check::transport::text::Text;
use crate::transport::{Incoming, SendError};

pub(super) fn judge(case: &Case, record: &Record, breaches: &mut Breaches) {
    for act in &case.script.0 {
        let Act::Meet(text, meeting) = act else { continue };
        match meeting.fate() {
            Fate::Lost => lost(*text, meeting.torn(*text), record, breaches),
            Fate::Refused(status) => refused(*text, status, record, breaches),
            Fate::Answered | Fate::Unanswered | Fate::Waits => {}
        }
    }
}

/// A response came, and no answer in it.
fn lost(text: Text, torn: Option<Vec<u8>>, record: &Record, breaches: &mut Breaches) {
    let mut has_response = false;
    // Only who received in vain can miss something.
    let mut in_vain = false;
    for entry in &record.entries {
        match &entry.event {
            Event::Sent(sent, Ok(_)) => has_response |= *sent == text,
            Event::Hung(Operation::Receive) => in_vain = true,
            Event::Came(Ok(Incoming::AnswerLost(lost))) if lost.request == text.id => return,
            // That it is torn tells as much.
            Event::Came(Ok(Incoming::Message(arrival))) if Some(&arrival.message) == torn.as_ref() => return,
            _ => {}
        }
    }
    if has_response && in_vain {
        let why = format!("request {text} had a response without an answer, and that was not told");
        breaches.add(Duty::LossTold, why);
    }
}

/// The server refused it.
fn refused(text: Text, status: u16, record: &Record, breaches: &mut Breaches) {
    for entry in record.entries.iter().take_while(|entry| !entry.event.is_ours()) {
        if let Event::Sent(sent, Err(error)) = &entry.event
            && *sent == text
            && !matches!(error, SendError::Refused(_))
        {
            let why = format!("request {text} was refused with {status}, and `send` did not tell");
            breaches.add(Duty::Refused, why);
        }
    }
}
