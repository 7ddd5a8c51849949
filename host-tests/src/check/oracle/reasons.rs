//! P10: causes and reasons, whole and true.

use std::time::Duration;

use super::super::moment::{Entry, Fate, Kind, Moment, Told};
use super::super::policy::{CAUSE, CONNECT};
use super::super::promise::Promise;
use super::Court;
use super::story::{At, CallStory, MessageStory};
use crate::transport::SendError;
use crate::{Cause, Failure, FailureKind, HandshakeFailure, NotExecuted, Refusal};

impl Court<'_> {
    /// The cause of an unknown outcome is what befell this very call.
    pub(super) fn cause(&mut self, call: &CallStory<'_>, at: At, cause: &Cause) {
        let story = self.story;
        let true_and_whole = match cause {
            Cause::Transport(failure) => story.attempts(call).any(|attempt| {
                let ended = attempt.lost.is_some_and(|(lost, why)| lost < at && why.is_none());
                attempt.failures(at).contains(&failure) || ended && failure.kind == FailureKind::Closed
            }),
            Cause::Refused(refusal) => self.was_refused(call, at, refusal),
            Cause::AnsweredWithError(error) => {
                self.any_fate(call, at, |fate| matches!(fate, Fate::Error(own) if own == error))
            }
            Cause::Undecodable(undecodable) => self.any_fate(call, at, |fate| match fate {
                Fate::Unreadable(bytes) => {
                    let kept = bytes.len().min(CAUSE as usize);
                    undecodable.head == bytes[..kept]
                }
                _ => false,
            }),
            Cause::InputRequired(json) => {
                self.any_fate(call, at, |fate| matches!(fate, Fate::InputRequired(own) if own == json))
            }
            // No server of the check ends a task.
            Cause::TaskEnded(_) => false,
            Cause::TimedOut => story.time(at) >= call.deadline,
            Cause::Cancelled => call.cancelled.is_some_and(|cancelled| cancelled < at),
            Cause::SessionReplaced => {
                let begun = story.attempts(call).map(|attempt| attempt.handed).min();
                let since = |other: &At| {
                    *other < at
                        && begun
                            .is_some_and(|begun| begun < *other || story.time(begun) == story.time(*other))
                };
                story.reconnecting.iter().any(since)
            }
            Cause::Closed => story.closing.is_some_and(|closing| closing < at),
        };
        if true_and_whole {
            return;
        }
        // Told of others, or of nobody: made up. Told of this call in other words: not whole.
        let own = story.attempts(call).any(|attempt| attempt.decisive().is_some_and(|(told, _)| told < at));
        let promise = if own { Promise::P10 } else { Promise::P6 };
        self.broken(promise, format!("call {} was not ended by this: {cause:?}", call.call.number));
    }

    fn any_fate(&self, call: &CallStory<'_>, at: At, is_it: impl Fn(&Fate) -> bool) -> bool {
        let of_attempt = |fates: &[(At, &Fate)]| fates.iter().any(|(told, fate)| *told < at && is_it(fate));
        self.story.attempts(call).any(|attempt| of_attempt(&attempt.fates))
    }

    fn was_refused(&self, call: &CallStory<'_>, at: At, refusal: &Refusal) -> bool {
        self.story.attempts(call).any(|attempt| match attempt.returned {
            Some((returned, Err(SendError::Refused(own)), _)) => returned < at && own == refusal,
            _ => false,
        })
    }

    /// The reason of a call that did not run is what kept it from it.
    pub(super) fn reason(&mut self, call: &CallStory<'_>, at: At, reason: &NotExecuted) {
        let story = self.story;
        let true_and_whole = match reason {
            NotExecuted::InvalidCall(_) => false,
            NotExecuted::NotConnected => !story.policy.owned,
            NotExecuted::ConnectFailed(failure) => self.connect_failed(at, failure),
            NotExecuted::HandshakeFailed(failure) => self.handshake_failed(at, failure),
            NotExecuted::NotSent(failure) => {
                // Whole; what ended the wait for another attempt may stand behind it.
                let is_it =
                    |own: &&Failure| own.kind == failure.kind && failure.detail.starts_with(&own.detail);
                let told = story.attempts(call).any(|attempt| attempt.failures(at).iter().any(is_it));
                told || match failure.kind {
                    FailureKind::TimedOut => story.time(at) >= call.deadline,
                    FailureKind::Cancelled => call.cancelled.is_some_and(|cancelled| cancelled < at),
                    FailureKind::Busy => story.calls.len() >= super::super::policy::IN_FLIGHT as usize,
                    _ => false,
                }
            }
            NotExecuted::Refused(refusal) => self.was_refused(call, at, refusal),
            NotExecuted::Closed => story.closing.is_some_and(|closing| closing < at),
        };
        self.hold(true_and_whole, Promise::P10, || {
            format!("call {} was not kept from running by this: {reason:?}", call.call.number)
        });
    }

    fn connect_failed(&self, at: At, failure: &Failure) -> bool {
        let before = &self.story.log[..at];
        before.iter().any(|entry| match &entry.moment {
            Moment::ConnectFailed(_, own) => {
                failure.kind == own.kind && failure.detail.ends_with(&own.detail)
            }
            // It took too long, which the component itself tells.
            Moment::Connecting(_) => {
                let long = Duration::from_millis(CONNECT.into());
                failure.kind == FailureKind::TimedOut && self.story.time(at) >= entry.at + long
            }
            _ => false,
        }) || self.handshakes(at).any(|message| {
            // The first message may be what connects.
            let is_it = |own: &&Failure| failure.kind == own.kind && failure.detail.ends_with(&own.detail);
            message.failures(at).iter().any(is_it)
        })
    }

    /// The messages of handshakes before `at`.
    fn handshakes(&self, at: At) -> impl Iterator<Item = &MessageStory<'_>> {
        let is_handshake =
            |kind: &Kind| matches!(kind, Kind::Discover | Kind::Initialize | Kind::Initialized);
        let messages = self.story.messages.iter();
        messages.filter(move |message| message.handed < at && is_handshake(&message.message.kind))
    }

    /// It names what was told on a connection whose handshake was not done.
    fn handshake_failed(&self, at: At, why: &HandshakeFailure) -> bool {
        let failure = why.failure.as_ref().is_none_or(|failure| {
            let own = matches!(failure.kind, FailureKind::TimedOut | FailureKind::Closed);
            let lost = |entry: &Entry| matches!(&entry.moment, Moment::Told(_, _, Told::Lost(lost)) if lost == failure);
            own || self.handshakes(at).any(|message| message.failures(at).contains(&failure))
                || self.story.log[..at].iter().any(lost)
        });
        let error = why.error.as_ref().is_none_or(|error| {
            let is_it =
                |(told, fate): &(At, &Fate)| *told < at && matches!(fate, Fate::Error(own) if own == error);
            self.handshakes(at).any(|message| message.fates.iter().any(is_it))
        });
        let refusal = why.refusal.as_ref().is_none_or(|refusal| {
            self.handshakes(at).any(|message| match message.returned {
                Some((returned, Err(SendError::Refused(own)), _)) => returned < at && own == refusal,
                _ => false,
            })
        });
        let met = self.story.log[..at].iter().any(|entry| matches!(entry.moment, Moment::Fault(_)));
        failure && error && refusal && met
    }
}
