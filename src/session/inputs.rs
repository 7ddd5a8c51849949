//! What a call waits for that the server suspended (2026-07-28): the answers to its questions.

use crate::prelude::*;
use crate::protocol::capabilities::{Asked, Capabilities, QuestionKind};
use crate::protocol::json::{self, Object, push_string};

use super::interaction::AskId;

/// The answers that a suspended call needs, and what goes back to the server with them. It is read from the
/// answer to an attempt, and used once.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The state that the server gave, as it stands.
    state: Option<String>,
    awaited: Vec<Input>,
    /// How many bytes of answers there are.
    bytes: usize,
}

/// One of the answers.
#[derive(Debug)]
struct Input {
    /// What the server calls it.
    name: String,
    asked: AskId,
    answer: Option<Object>,
}

/// Something that the server wants to have.
#[derive(Debug)]
pub(super) struct Wanted {
    /// What the server calls it.
    pub(super) name: String,
    pub(super) kind: QuestionKind,
    pub(super) params: String,
}

impl Inputs {
    /// Reads a result that asks for input. None if it asks for anything that the host does not answer, or
    /// leaves open what it asks for.
    pub(super) fn read(result: &str, capabilities: &Capabilities) -> Option<(Self, Vec<Wanted>)> {
        let (mut state, mut requests, mut sound) = (None, None, true);
        json::members(result, &mut |name, value| match (name, value.get()) {
            ("requestState" | "inputRequests", "null") => {}
            ("requestState", value) => {
                sound &= value.starts_with('"') && state.replace(value.to_owned()).is_none();
            }
            ("inputRequests", value) => sound &= requests.replace(value).is_none(),
            _ => {}
        })
        .ok()?;
        let mut wanted = Vec::<Wanted>::new();
        json::members(requests?, &mut |name, request| {
            let [method, params] = ["method", "params"].map(|name| json::member(request.get(), name));
            let method = method.and_then(json::string).unwrap_or_default();
            let params = params.map_or("", json::Raw::get);
            match capabilities.of_request(&method, params) {
                // A name that begins so is none that could be read.
                Asked::Question(kind) if !name.starts_with('"') => {
                    sound &= wanted.iter().all(|other| other.name != name);
                    wanted.push(Wanted { name: name.to_owned(), kind, params: params.to_owned() });
                }
                Asked::Question(_) | Asked::NotSo | Asked::Nothing => sound = false,
            }
        })
        .ok()?;
        let inputs = Self { state, awaited: Vec::new(), bytes: 0 };
        (sound && !wanted.is_empty()).then_some((inputs, wanted))
    }

    /// The host is asked for one of them.
    pub(super) fn expect(&mut self, name: String, asked: AskId) {
        self.awaited.push(Input { name, asked, answer: None });
    }

    /// Takes an answer in. False if all of them together are larger than a message may be.
    pub(super) fn fill(&mut self, asked: AskId, answer: Object, most_bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(answer.as_str().len());
        if let Some(input) = self.awaited.iter_mut().find(|input| input.asked == asked) {
            input.answer = Some(answer);
        }
        self.bytes <= most_bytes
    }

    /// What continues the call, once every answer is there.
    pub(super) fn continuation(&self) -> Option<Object> {
        let mut out = Vec::with_capacity(self.bytes + 128);
        let mut next = "{\"inputResponses\":{";
        for Input { name, answer, .. } in &self.awaited {
            let answer = answer.as_ref()?;
            out.extend_from_slice(next.as_bytes());
            push_string(&mut out, name);
            out.push(b':');
            out.extend_from_slice(answer.as_str().as_bytes());
            next = ",";
        }
        out.push(b'}');
        if let Some(state) = &self.state {
            out.extend_from_slice(b",\"requestState\":");
            out.extend_from_slice(state.as_bytes());
        }
        out.push(b'}');
        Some(Object::new(String::from_utf8(out).ok()?))
    }
}
