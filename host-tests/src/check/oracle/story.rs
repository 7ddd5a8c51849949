//! A run, told by call and by message.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::moment::{Entry, Fate, Kind, Meaning, Message, MessageIndex, Moment, Told, Verdict};
use super::super::policy::{CAP, Policy};
use super::super::refusal::Grade;
use super::super::schedule::{Call, Schedule};
use super::super::world::read;
use crate::transport::{Delivery, SendError};
use crate::{Failure, Outcome, Resend};

/// A place in the record.
pub(super) type At = usize;

/// A run.
pub(super) struct Story<'a> {
    pub(super) log: &'a [Entry],
    pub(super) policy: Policy,
    pub(super) modern: bool,
    pub(super) calls: BTreeMap<u32, CallStory<'a>>,
    pub(super) messages: Vec<MessageStory<'a>>,
    /// When the caller closed the session.
    pub(super) closing: Option<At>,
    /// When the caller reconnected.
    pub(super) reconnecting: Vec<At>,
}

/// A call.
pub(super) struct CallStory<'a> {
    pub(super) call: Call,
    pub(super) begun: At,
    /// When its time is up; progress may extend it.
    pub(super) deadline: Duration,
    pub(super) cancelled: Option<At>,
    pub(super) attempts: Vec<MessageIndex>,
    /// The questions what has become of the task that it is.
    pub(super) questions: Vec<MessageIndex>,
    pub(super) verdict: Option<(At, &'a Verdict)>,
}

/// A message.
pub(super) struct MessageStory<'a> {
    pub(super) message: &'a Message,
    pub(super) handed: At,
    pub(super) returned: Option<(At, &'a Result<Delivery, SendError>, &'a Meaning)>,
    /// The client did not wait for its `send` any more.
    pub(super) given_up: Option<At>,
    /// The first that came back of it, whatever it was.
    pub(super) sign: Option<At>,
    pub(super) fates: Vec<(At, &'a Fate)>,
    /// The connection's end, as it was told; none if in order.
    pub(super) lost: Option<(At, Option<&'a Failure>)>,
    pub(super) executed: Vec<At>,
}

/// What first told what became of an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Decisive<'a> {
    Proof(Grade),
    Answer(&'a Fate),
    Unknown,
}

impl<'a> Story<'a> {
    pub(super) fn of(schedule: &Schedule, log: &'a [Entry]) -> Story<'a> {
        let mut story = Story {
            log,
            policy: schedule.policy,
            modern: schedule.setting.is_modern(),
            calls: BTreeMap::new(),
            messages: Vec::new(),
            closing: None,
            reconnecting: Vec::new(),
        };
        for (at, entry) in log.iter().enumerate() {
            story.read(at, &entry.moment);
        }
        story
    }

    fn read(&mut self, at: At, moment: &'a Moment) {
        match moment {
            Moment::Called(call) => {
                let story = CallStory {
                    call: *call,
                    begun: at,
                    deadline: self.time(at) + call.time(),
                    cancelled: None,
                    attempts: Vec::new(),
                    questions: Vec::new(),
                    verdict: None,
                };
                self.calls.insert(call.number, story);
            }
            Moment::Verdict(number, verdict) => {
                if let Some(call) = self.calls.get_mut(number) {
                    call.verdict.get_or_insert((at, verdict));
                }
            }
            Moment::Cancelled(number) => {
                if let Some(call) = self.calls.get_mut(number) {
                    call.cancelled.get_or_insert(at);
                }
            }
            Moment::Reconnecting => self.reconnecting.push(at),
            Moment::Closing => _ = self.closing.get_or_insert(at),
            Moment::Handed(message) => {
                if let Kind::Call(number) = message.kind
                    && let Some(call) = self.calls.get_mut(&number)
                {
                    call.attempts.push(message.index);
                }
                if let Kind::Task(number) = message.kind
                    && let Some(call) = self.calls.get_mut(&number)
                {
                    call.questions.push(message.index);
                }
                self.messages.push(MessageStory {
                    message,
                    handed: at,
                    returned: None,
                    given_up: None,
                    sign: None,
                    fates: Vec::new(),
                    lost: None,
                    executed: Vec::new(),
                });
            }
            Moment::Returned(index, result, meaning) => {
                self.messages[*index].returned = Some((at, result, meaning));
                if let Meaning::Answer(fate) = meaning {
                    self.messages[*index].fates.push((at, fate));
                    if *fate == Fate::Working {
                        self.messages[*index].sign.get_or_insert(at);
                    }
                }
            }
            Moment::SendDropped(index) => self.messages[*index].given_up = Some(at),
            Moment::Executed(index) => self.messages[*index].executed.push(at),
            Moment::Told(connection, channel, told) => {
                self.heard(at, *channel);
                self.told(at, *connection, told);
            }
            _ => {}
        }
    }

    /// Whatever comes on a request's own channel is of that request.
    fn heard(&mut self, at: At, channel: Option<u64>) {
        let on_it = |message: &&mut MessageStory<'_>| channel.is_some() && message.message.request == channel;
        if let Some(message) = self.messages.iter_mut().find(on_it) {
            message.sign.get_or_insert(at);
        }
    }

    fn told(&mut self, at: At, connection: u32, told: &'a Told) {
        let lost = match told {
            Told::Of(index, fate) => {
                let message = &mut self.messages[*index];
                if !matches!(fate, Fate::AnswerLost(_)) {
                    message.sign.get_or_insert(at);
                }
                message.fates.push((at, fate));
                return;
            }
            Told::Sign(index) => {
                self.messages[*index].sign.get_or_insert(at);
                self.extend(at, *index);
                return;
            }
            Told::Lost(failure) => Some(failure),
            Told::End => None,
            Told::Noise(_) | Told::Request => return,
        };
        for message in self.messages.iter_mut().filter(|message| message.message.connection == connection) {
            message.lost.get_or_insert((at, lost));
        }
    }

    /// Progress of a message came: it gives its call as much time again, where that is the policy.
    fn extend(&mut self, at: At, index: MessageIndex) {
        let now = self.time(at);
        if let Kind::Call(number) = self.messages[index].message.kind
            && self.policy.progress_extends
            && let Some(call) = self.calls.get_mut(&number)
            && now < call.deadline
        {
            let cap = self.log[call.begun].at + CAP;
            call.deadline = (now + call.call.time()).min(cap);
        }
    }

    /// When it was.
    pub(super) fn time(&self, at: At) -> Duration {
        self.log[at].at
    }

    /// Whether the caller did something to this call at this very moment, or its deadline passed then: what
    /// came first nobody can say.
    pub(super) fn disturbed(&self, call: &CallStory<'_>, at: At) -> bool {
        let time = self.time(at);
        let same = |other: &At| self.time(*other) == time;
        call.cancelled.iter().any(same)
            || self.closing.iter().any(same)
            || self.reconnecting.iter().any(same)
            || call.deadline == time
    }

    pub(super) fn attempts<'s>(
        &'s self,
        call: &'s CallStory<'a>,
    ) -> impl Iterator<Item = &'s MessageStory<'a>> {
        call.attempts.iter().map(|index| &self.messages[*index])
    }

    /// Its attempts, and then the questions after its task: whatever may tell of it.
    pub(super) fn sources<'s>(
        &'s self,
        call: &'s CallStory<'a>,
    ) -> impl Iterator<Item = &'s MessageStory<'a>> {
        call.attempts.iter().chain(&call.questions).map(|index| &self.messages[*index])
    }

    /// The last of them that was sent before `at`.
    pub(super) fn last_source<'s>(&'s self, call: &'s CallStory<'a>, at: At) -> Option<&'s MessageStory<'a>> {
        self.sources(call).filter(|source| source.handed < at).max_by_key(|source| source.handed)
    }

    pub(super) fn last_attempt(&self, call: &CallStory<'_>) -> Option<&MessageStory<'a>> {
        call.attempts.last().map(|index| &self.messages[*index])
    }

    /// Whether a proof of this grade counts as `not-executed`.
    pub(super) fn accepts(&self, grade: Grade) -> bool {
        grade == Grade::A || self.policy.accept_refusals
    }

    /// Whether a proof of this grade allows one more attempt.
    pub(super) fn resends(&self, grade: Grade) -> bool {
        match self.policy.resend {
            Resend::Never => false,
            Resend::Proven => grade == Grade::A,
            Resend::Refused => true,
        }
    }

    /// How many further attempts the caller granted to the tool of this call.
    pub(super) fn grants(&self, call: &CallStory<'_>) -> u32 {
        if call.call.tool == "pay" { self.policy.grants } else { 0 }
    }
}

impl<'a> MessageStory<'a> {
    /// When the server suspended it, and the state that it wants back.
    pub(super) fn suspended(&self) -> Option<(At, String)> {
        match self.decisive()? {
            (at, Decisive::Answer(Fate::InputRequired(json))) => Some((at, read::state(json)?)),
            _ => None,
        }
    }

    /// The proof that it was not executed: the end of its `send`, if nothing of an answer came before.
    pub(super) fn proof(&self) -> Option<(At, Grade)> {
        let (at, _, meaning) = self.returned?;
        let heard = self.sign.is_some_and(|sign| sign < at);
        match meaning {
            Meaning::Proof(grade) if !heard => Some((at, *grade)),
            _ => None,
        }
    }

    /// Whether the transport said before `at`, and before anything of an answer came, that it failed.
    pub(super) fn refused_before(&self, at: At) -> bool {
        self.returned.is_some_and(|(returned, result, _)| {
            returned < at && result.is_err() && self.sign.is_none_or(|sign| sign > returned)
        })
    }

    /// What first told what became of it, and when.
    pub(super) fn decisive(&self) -> Option<(At, Decisive<'a>)> {
        let returned = self.returned.and_then(|(at, _, meaning)| match meaning {
            Meaning::Nothing | Meaning::Answer(_) => None,
            Meaning::Proof(_) | Meaning::Unknown => {
                Some((at, self.proof().map_or(Decisive::Unknown, |(_, grade)| Decisive::Proof(grade))))
            }
        });
        let fate = self.fates.first().map(|(at, fate)| (*at, Decisive::Answer(fate)));
        let lost = self.lost.map(|(at, _)| (at, Decisive::Unknown));
        [returned, fate, lost].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Whether it asks what has become of a task.
    pub(super) fn is_question(&self) -> bool {
        matches!(self.message.kind, Kind::Task(_))
    }

    /// Whether what first told of it leaves all open.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self.decisive(), Some((_, Decisive::Answer(Fate::Working))))
    }

    /// Whether its outcome was known to be unknown, or its refusal told, before `at`.
    pub(super) fn fell_before(&self, at: At) -> bool {
        match self.decisive() {
            // The server keeps its result: there is nothing to be sent again.
            Some((_, Decisive::Answer(Fate::Working))) => false,
            Some((decided, Decisive::Answer(Fate::Result { .. }))) => decided < at && self.fates.len() > 1,
            Some((decided, _)) => decided < at,
            None => false,
        }
    }

    /// The failures that were told of it, before `at`.
    pub(super) fn failures(&self, before: At) -> Vec<&'a Failure> {
        let mut failures = Vec::new();
        if let Some((
            at,
            Err(SendError::NotSent(failure) | SendError::Truncated(failure) | SendError::Unknown(failure)),
            _,
        )) = self.returned
            && at < before
        {
            failures.push(failure);
        }
        for (at, fate) in &self.fates {
            if let Fate::AnswerLost(failure) = fate
                && *at < before
            {
                failures.push(failure);
            }
        }
        if let Some((at, Some(failure))) = self.lost
            && at < before
        {
            failures.push(failure);
        }
        failures
    }
}

/// What of a run must not depend on words or hints: each call's verdict in short, and what was handed over.
pub(crate) fn signature(log: &[Entry]) -> Vec<String> {
    let mut verdicts: BTreeMap<u32, String> = BTreeMap::new();
    let mut handed = Vec::new();
    for entry in log {
        match &entry.moment {
            Moment::Verdict(number, verdict) => _ = verdicts.insert(*number, in_short(verdict)),
            Moment::Handed(message) => handed.push(format!("{:?} on {}", message.kind, message.connection)),
            _ => {}
        }
    }
    verdicts.into_iter().map(|(number, verdict)| format!("call {number}: {verdict}")).chain(handed).collect()
}

/// A verdict without the words in it.
fn in_short(verdict: &Verdict) -> String {
    match verdict {
        Ok(Outcome::Ok(_)) => "ok".to_owned(),
        Ok(Outcome::ToolError(_)) => "tool-error".to_owned(),
        Ok(Outcome::UnknownOutcome(unknown)) => {
            let cause = format!("{:?}", std::mem::discriminant(&unknown.cause));
            format!("unknown {:?} {} {cause}", unknown.stage, unknown.attempts)
        }
        Err(reason) => format!("not executed {:?}", std::mem::discriminant(reason)),
    }
}
