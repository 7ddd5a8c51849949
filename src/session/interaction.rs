//! What the server asks of the host, roots, sampling or elicitation, and where the answer goes.
//!
//! Up to 2025-11-25 it is a request of the server's, whose answer belongs on the connection that it came on.
//! In 2026-07-28 the server suspends a call until it has what it asks for, and the call goes on from there,
//! once (see `inputs`). A question that nobody waits for any more is withdrawn, and an answer to it goes nowhere.

use crate::host::Hosted;
use crate::prelude::*;
use crate::protocol::capabilities::{Asked, QuestionKind};
use crate::protocol::json::{self, Object, Raw};
use crate::protocol::jsonrpc::RequestId;
use crate::protocol::reply;
use crate::protocol::revision::Revision;
use crate::text::text;

use super::call::{Call, Doubt, Ending, State};
use super::inputs::{Inputs, Wanted};
use super::time::Instant;
use super::verdict::{CallId, Cause, Generation, RpcError, Stage};
use super::{Action, Purpose, Queued, Session};

/// The most questions that are open in a session.
const MOST: usize = 16;

/// JSON-RPC's own errors, which a server gets for a question that is not asked, or not answered.
const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;

/// What a server is told that asks in the course of a call which has its verdict.
const CALL_ENDED: &str = "the call that it belongs to has ended";

/// Names a question that the host is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskId(Hosted<u64>);

/// What the host is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The call in whose course it is asked, where that is certain.
    pub call: Option<CallId>,
    /// What is asked for.
    pub kind: QuestionKind,
    /// The request's `params`, verbatim; empty if there are none.
    pub params: String,
}

/// The questions that are open.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<Open>,
    asked: u64,
}

#[derive(Debug)]
struct Open {
    asked: AskId,
    call: Option<CallId>,
    whose: Whose,
}

/// To whom an answer goes.
#[derive(Debug)]
enum Whose {
    /// To the server: to its request of this id, on this connection.
    Servers(Generation, String),
    /// To the call that the server suspended.
    Calls,
}

impl Open {
    fn is_request(&self, generation: Generation, id: Raw<'_>) -> bool {
        matches!(&self.whose, Whose::Servers(its, name) if *its == generation && name == id.get())
    }
}

impl Questions {
    /// How many more there may be.
    fn room(&self) -> usize {
        MOST.saturating_sub(self.open.len())
    }

    /// Adds one.
    fn add(&mut self, call: Option<CallId>, whose: Whose) -> Option<AskId> {
        self.asked += 1;
        let asked = Hosted::new(|| self.asked).map(AskId)?;
        self.open.push(Open { asked, call, whose });
        Some(asked)
    }

    /// Takes those out that `which` says.
    fn take(&mut self, which: impl Fn(&Open) -> bool) -> Vec<Open> {
        let (taken, open) = core::mem::take(&mut self.open).into_iter().partition(which);
        self.open = open;
        taken
    }
}

impl Session {
    /// The same, which has told if its capabilities are none.
    pub(super) fn with_capabilities(mut self) -> Self {
        if !self.options.capabilities.are_sound() {
            self.events.diagnose("the host's capabilities are no JSON object");
        }
        self
    }

    /// A request of the server's. Tells whether it is seen to: it is a question of a kind that the host answers.
    pub(super) fn ask_host(
        &mut self,
        generation: Generation,
        channel: Option<RequestId>,
        id: Raw<'_>,
        method: &str,
        params: Option<Raw<'_>>,
    ) -> bool {
        // Before the handshake is done a server may ask for nothing.
        let (Some(revision), Some(questions)) = (self.revision(generation), &self.questions) else {
            return false;
        };
        let params = params.map_or("", Raw::get);
        let kind = match self.options.capabilities.of_request(method, params) {
            Asked::Question(kind) => kind,
            Asked::NotSo => {
                self.refuse(generation, id, revision, INVALID_PARAMS, "not in a form that was declared");
                return true;
            }
            Asked::Nothing => return false,
        };
        let out = channel.and_then(|channel| self.requests.get(&channel));
        let call = match out.filter(|out| out.generation == generation).map(|out| out.purpose) {
            Some(Purpose::Late(_) | Purpose::LateTask(_)) => {
                self.refuse(generation, id, revision, INTERNAL_ERROR, CALL_ENDED);
                return true;
            }
            Some(Purpose::Call(call) | Purpose::Fetch(call)) => Some(call),
            Some(Purpose::Read(_) | Purpose::Listening | Purpose::Handshake | Purpose::Nothing) | None => {
                None
            }
        };
        // A stream that is resumed may bring it again.
        if questions.open.iter().any(|open| open.is_request(generation, id)) {
            self.events.diagnose("a question of the server's that is open already");
        } else if questions.room() == 0 {
            self.refuse(generation, id, revision, INTERNAL_ERROR, "as many questions are open as may be");
        } else {
            self.ask(call, Whose::Servers(generation, id.get().to_owned()), kind, params.to_owned());
        }
        true
    }

    fn refuse(&mut self, generation: Generation, id: Raw<'_>, revision: Revision, code: i64, why: &str) {
        self.control(generation, reply::error(id.get(), code, why, None, revision));
        self.events.diagnose(&text!("refused a question of the server's: {}", why));
    }

    fn ask(
        &mut self,
        call: Option<CallId>,
        whose: Whose,
        kind: QuestionKind,
        params: String,
    ) -> Option<AskId> {
        let asked = self.questions.as_mut()?.add(call, whose)?;
        self.actions.push(Action::Ask { asked, question: Question { call, kind, params } });
        Some(asked)
    }

    /// The server suspended a call until it has what it asks for. Tells whether the host is asked for that.
    pub(super) fn ask_for_inputs(&mut self, now: Instant, id: CallId, result: &str) -> bool {
        let attempt = self.calls.get(&id).and_then(Call::attempt);
        let revision = attempt.and_then(|attempt| self.revision(attempt.generation));
        let (Some(questions), Some(call)) = (&self.questions, self.calls.get_mut(&id)) else {
            return false;
        };
        if !revision.is_some_and(Revision::is_modern) {
            return false;
        }
        let Some((inputs, wanted)) = Inputs::read(result, &self.options.capabilities) else {
            return false;
        };
        if wanted.len() > questions.room() || now >= call.deadline || !call.spent.continues() {
            return false;
        }
        let State::HandedOver(handed_over) = core::mem::replace(&mut call.state, State::Moving) else {
            return false;
        };
        match handed_over.suspend(inputs) {
            Ok(suspended) => call.state = State::Suspended(suspended),
            Err(handed_over) => {
                call.state = State::HandedOver(handed_over);
                return false;
            }
        }
        // It began, whatever becomes of the rest.
        let cause = Cause::InputRequired(result.to_owned());
        call.doubt = Some(Doubt { stage: Stage::Answered, cause });
        for Wanted { name, kind, params } in wanted {
            if let Some(asked) = self.ask(Some(id), Whose::Calls, kind, params)
                && let Some(inputs) = self.inputs(id)
            {
                inputs.expect(name, asked);
            }
        }
        true
    }

    /// What a suspended call waits for.
    fn inputs(&mut self, id: CallId) -> Option<&mut Inputs> {
        match &mut self.calls.get_mut(&id)?.state {
            State::Suspended(suspended) => Some(suspended.inputs()),
            State::Ready(_) | State::HandedOver(_) | State::Moving => None,
        }
    }

    /// The host answered a question: with a result, a JSON object, or with an error. Nothing comes of it if the
    /// question was withdrawn.
    pub fn answered(&mut self, now: Instant, asked: AskId, answer: Result<String, RpcError>) {
        let Some(questions) = &mut self.questions else {
            return;
        };
        let Some(Open { call, whose, .. }) = questions.take(|open| open.asked == asked).pop() else {
            return;
        };
        let answer = answer.and_then(|text| self.sound(text));
        match (whose, call) {
            (Whose::Servers(generation, id), _) => {
                let Some(revision) = self.revision(generation) else {
                    return;
                };
                let message = match &answer {
                    Ok(result) => reply::result(&id, result, revision),
                    Err(RpcError { code, message, data }) => {
                        reply::error(&id, *code, message, data.as_deref(), revision)
                    }
                };
                self.control(generation, message);
            }
            (Whose::Calls, Some(call)) => self.input_came(now, call, asked, answer.ok()),
            (Whose::Calls, None) => {}
        }
    }

    /// What the host answered, if it can be passed on.
    fn sound(&mut self, text: String) -> Result<Object, RpcError> {
        let most = self.options.limits.message_bytes;
        let wrong = if text.len() > most {
            text!("larger than the {} bytes allowed", most)
        } else {
            match Object::parse(text) {
                Ok(object) => return Ok(object),
                Err(error) => error.words(),
            }
        };
        self.events.diagnose(&text!("an answer of the host's cannot be passed on: {}", &wrong));
        let message = "the answer cannot be passed on".to_owned();
        Err(RpcError { code: INTERNAL_ERROR, message, data: None })
    }

    /// One of the answers came that a suspended call waits for. Once all are there it goes on.
    fn input_came(&mut self, now: Instant, id: CallId, asked: AskId, answer: Option<Object>) {
        let most = self.options.limits.message_bytes;
        let fits =
            self.inputs(id).zip(answer).is_some_and(|(inputs, answer)| inputs.fill(asked, answer, most));
        let Some(mut call) = self.calls.remove(&id) else {
            return;
        };
        if fits
            && now < call.deadline
            && let State::Suspended(suspended) = core::mem::replace(&mut call.state, State::Moving)
        {
            let (state, goes_on) = match suspended.go_on() {
                Ok(ready) => (State::Ready(ready), true),
                Err(suspended) => (State::Suspended(suspended), false),
            };
            call.state = state;
            self.calls.insert(id, *call);
            if goes_on {
                self.queue.insert(0, Queued::Call(id));
                self.want_link(now);
            }
            return;
        }
        // It stays suspended, and is its caller's to continue.
        let cause = call.doubt.take().map_or(Cause::Cancelled, |doubt| doubt.cause);
        self.end(*call, Ending::Unknown(cause));
    }

    /// The server does not want to know any more what it asked.
    pub(super) fn question_cancelled(&mut self, generation: Generation, params: Option<Raw<'_>>) {
        if self.questions.is_some()
            && let Some(id) = params.and_then(|params| json::member(params.get(), "requestId"))
        {
            self.withdraw(|open| open.is_request(generation, id));
        }
    }

    /// A connection is gone, and with it whoever asked on it.
    pub(super) fn withdraw_on(&mut self, generation: Generation) {
        self.withdraw(|open| matches!(open.whose, Whose::Servers(its, _) if its == generation));
    }

    /// A call has its verdict: what was asked in its course is of no use to it. A server that waits for an answer
    /// still is told so.
    pub(super) fn withdraw_of(&mut self, call: CallId) {
        for open in self.withdraw(|open| open.call == Some(call)) {
            if let Whose::Servers(generation, id) = open.whose
                && let Some(revision) = self.revision(generation)
            {
                self.control(generation, reply::error(&id, INTERNAL_ERROR, CALL_ENDED, None, revision));
            }
        }
    }

    /// Takes questions back: the host is not to answer them any more.
    fn withdraw(&mut self, which: impl Fn(&Open) -> bool) -> Vec<Open> {
        let Some(questions) = &mut self.questions else {
            return Vec::new();
        };
        let withdrawn = questions.take(which);
        for open in &withdrawn {
            let asks = |action: &Action| matches!(action, Action::Ask { asked, .. } if *asked == open.asked);
            // One that the host does not know of yet is not asked at all.
            match self.actions.iter().position(asks) {
                Some(at) => _ = self.actions.remove(at),
                None => self.actions.push(Action::Withdraw { asked: open.asked }),
            }
        }
        withdrawn
    }
}
