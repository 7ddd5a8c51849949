//! News that the caller asked for.
//!
//! Revision 2026-07-28 has one request for all of it, which is answered when it ends. Older ones tell of
//! changed lists unasked, and of each resource after a request. Either way it ends with its connection:
//! recovery sends the handshake and nothing else (promise P5), so that the caller asks again.

use crate::prelude::*;
use crate::protocol::json::{self, Raw};
use crate::protocol::jsonrpc::{RequestId, ResponseId};
use crate::protocol::query::News;

use super::event::Event;
use super::link::Connection;
use super::reads::Answer;
use super::verdict::{Attempt, Failure, Generation};
use super::{Purpose, Session};

impl Connection {
    /// What is to be asked next, so that there is news of these resources and no others: of which, and whether
    /// it is wanted.
    pub(super) fn next_step(&self, to: &News) -> Option<(String, bool)> {
        let unwanted = self.subscribed.iter().find(|uri| !to.uris.contains(uri));
        let missing = || to.uris.iter().find(|uri| !self.subscribed.contains(uri));
        let unwanted = unwanted.map(|uri| (uri.clone(), false));
        unwanted.or_else(|| missing().map(|uri| (uri.clone(), true)))
    }

    /// The server did as it was asked.
    pub(super) fn step_done(&mut self, to: &News) {
        match self.next_step(to) {
            Some((uri, true)) => self.subscribed.push(uri),
            Some((uri, false)) => self.subscribed.retain(|subscribed| *subscribed != uri),
            None => {}
        }
    }
}

impl Session {
    /// The server says that it tells news from now on. What it told before on another request ends.
    pub(super) fn acknowledged(
        &mut self,
        generation: Generation,
        channel: Option<RequestId>,
        params: Option<Raw<'_>>,
    ) {
        let meta = params.and_then(|params| json::member(params.get(), "_meta"));
        let named = meta.and_then(|meta| json::member(meta.get(), "io.modelcontextprotocol/subscriptionId"));
        let named = named.and_then(|id| ResponseId::parse(id.get()).request());
        let Some(request) = channel.or(named) else {
            return;
        };
        let out = self.requests.get(&request).filter(|out| out.generation == generation);
        let Some(Purpose::Read(ticket)) = out.map(|out| out.purpose) else {
            return;
        };
        if !self.reads.get(&ticket).is_some_and(|read| read.brings_news()) {
            return;
        }
        let others: Vec<_> = self.requests.keys().filter(|other| self.listens(*other)).collect();
        for request in others {
            if let Some(out) = self.requests.remove(&request) {
                self.stop_waiting(Attempt { generation: out.generation, request }, "replaced");
            }
        }
        if let Some(out) = self.requests.get_mut(&request) {
            out.purpose = Purpose::Listening;
        }
        self.read_ended(ticket, Ok(Answer::Json(String::new())));
    }

    /// The server says that it cancels a request of ours, which is how it ends a subscription over stdio.
    pub(super) fn cancelled_by_server(&mut self, generation: Generation, params: Option<Raw<'_>>) {
        let request = params.and_then(|params| json::member(params.get(), "requestId"));
        let Some(request) = request.and_then(|id| ResponseId::parse(id.get()).request()) else {
            return;
        };
        let here = self.requests.get(&request).is_some_and(|out| out.generation == generation);
        if here && self.listens(request) {
            self.requests.remove(&request);
            self.unsubscribed(None);
        }
    }

    /// Whether news comes in answer to this request.
    fn listens(&self, request: RequestId) -> bool {
        self.requests.get(&request).is_some_and(|out| out.purpose == Purpose::Listening)
    }

    /// No more news comes.
    pub(super) fn unsubscribed(&mut self, failure: Option<Failure>) {
        self.events.push(Event::Unsubscribed(failure));
    }
}
