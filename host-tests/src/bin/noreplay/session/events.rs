//! What happens beside the calls, printed as it comes.

use std::time::Duration;

use host_tests::verdict::{self, Object};
use host_tests::{CallId, Event, Session};

use super::tags::Tags;
use crate::advice::Advice;
use crate::{Failure, print};

/// Prints all events of `session`, until it is closed.
pub(super) async fn print_all(session: Session, tags: Tags, advice: Advice) -> Result<(), Failure> {
    while let Some(event) = session.next_event().await? {
        let line = match &event {
            Event::LateAnswer(call) => late_answer(&session, &tags, &advice, *call).await?,
            other => verdict::event(other),
        };
        print(&line.to_string())?;
    }
    Ok(())
}

/// A late answer, with what it says.
async fn late_answer(
    session: &Session,
    tags: &Tags,
    advice: &Advice,
    call: CallId,
) -> Result<Object, Failure> {
    if let Some(mut known) = session.reconcile(call, Duration::ZERO).await? {
        advice.on_late(call, &mut known);
        tags.learn(call, known);
    }
    Ok(match tags.learned(call) {
        Some(known) => verdict::late_answer(&known),
        None => verdict::event(&Event::LateAnswer(call)),
    })
}
