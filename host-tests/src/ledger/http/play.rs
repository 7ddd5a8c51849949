//! The server at work on one request.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::time::sleep;

use super::output::{Response, Stop};
use super::reply::{Event, Form, Framing, LineEnd, Reply};
use super::script::{End, Step};
use super::sessions::{News, SHARED, Session, event_id};
use super::{Shared, modern};
use crate::ledger::play::{self, Request};
use crate::ledger::protocol;

/// How many bytes of small events are written at once.
const BATCH: usize = 64 << 10;

/// Plays steps for one request.
#[derive(Clone)]
pub(super) struct Player {
    pub(super) server: Arc<Shared>,
    pub(super) connection: u32,
    /// The message; none for a GET.
    pub(super) request: Option<Arc<Request>>,
    pub(super) session: Arc<Session>,
    /// Headers of a response to it.
    pub(super) headers: Vec<(String, String)>,
    /// Whether it is a request of a stateless revision.
    pub(super) modern: bool,
    pub(super) way: Way,
    pub(super) form: Form,
    pub(super) line_end: LineEnd,
    /// The stream that a GET follows, and from which event on.
    pub(super) from: (usize, usize),
    /// The request's own stream, once it has one.
    pub(super) stream: Option<usize>,
}

/// Where answers go.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// Into the response.
    Response,
    /// Onto the stream that all requests share, as over HTTP+SSE.
    Shared,
}

/// What remains of a play: how the connection ends, if it does, and the steps that are left.
pub(super) struct Left {
    pub(super) end: Option<End>,
    pub(super) steps: VecDeque<Step>,
}

impl Player {
    /// Plays `steps` until the response or the connection ends.
    pub(super) async fn play(&mut self, response: &mut Response<'_>, steps: Vec<Step>) -> Left {
        let mut steps = VecDeque::from(steps);
        if steps.iter().any(Step::needs_events) {
            self.form = Form::Events;
        }
        let elsewhere =
            self.way == Way::Shared && self.request.is_some() && !steps.iter().any(Step::decides_response);
        if elsewhere && let Err(Stop::End(end)) = response.reply(&Reply::status(202)).await {
            return Left { end: Some(end), steps };
        }
        while let Some(step) = steps.pop_front() {
            match self.step(Some(response), step).await {
                // A client that has left does not stop the server; it only hears nothing.
                Ok(()) | Err(Stop::Gone) => {}
                Err(Stop::End(end)) => return Left { end: Some(end), steps },
            }
            if response.has_begun() && !response.is_open() && self.way == Way::Response {
                let end = match steps.front() {
                    Some(Step::End(end)) => Some(*end),
                    _ => None,
                };
                steps.drain(..usize::from(end.is_some()));
                return Left { end, steps };
            }
        }
        let end = match (response.has_begun(), &self.request) {
            (true, _) => response.finish().await,
            (false, Some(request)) if !request.is_request() || self.way == Way::Shared => {
                response.reply(&Reply::status(202)).await
            }
            (false, _) => Err(Stop::End(End::Hang)),
        };
        let end = match end {
            Err(Stop::End(end)) => Some(end),
            Ok(()) | Err(Stop::Gone) => None,
        };
        Left { end, steps }
    }

    /// Plays what is left once nobody listens.
    pub(super) async fn play_on(mut self, steps: VecDeque<Step>) {
        for step in steps {
            // Nothing stops it: there is no connection to end.
            let _ = self.step(None, step).await;
        }
    }

    async fn step(&mut self, response: Option<&mut Response<'_>>, step: Step) -> Result<(), Stop> {
        match step {
            Step::Execute => {
                if let Some(request) = &self.request {
                    request.execute(&self.server.ledger.shared, self.connection).await;
                }
            }
            Step::Answer => return self.message(response, self.answer()).await,
            Step::AnswerWith(result) => {
                let result = self.filled(result.into_bytes());
                return self.message(response, protocol::success(self.id(), &result)).await;
            }
            Step::Error { code, message, data } => {
                let error = protocol::error(self.id(), code, &message, data.as_deref());
                return self.message(response, error).await;
            }
            Step::Say(bytes) => return self.message(response, self.filled(bytes)).await,
            Step::SayShared(bytes) => {
                self.session.say(SHARED, &self.filled(bytes));
                self.server.news.notify_waiters();
            }
            Step::Notify(times) => return self.notify(response, times).await,
            Step::Progress(progress) => {
                let progress = self.request.as_ref().and_then(|request| request.progress(progress));
                if let Some(progress) = progress {
                    return self.message(response, progress).await;
                }
            }
            Step::ServerRequest { id, method } => {
                return self.message(response, protocol::request(&id, &method)).await;
            }
            Step::Sleep(time) => sleep(time).await,
            Step::As(form) => self.form = form,
            Step::LineEnds(line_end) => self.line_end = line_end,
            Step::EndShared(end) => self.server.end_shared(end),
            other => {
                if let Some(response) = response {
                    return self.by_hand(response, other).await;
                }
            }
        }
        Ok(())
    }

    async fn by_hand(&mut self, response: &mut Response<'_>, step: Step) -> Result<(), Stop> {
        match step {
            Step::Pieces(pieces) => response.pieces(pieces),
            Step::Limit(bytes, end) => response.limit(bytes, end),
            Step::Open => return self.open(response).await,
            Step::Respond(mut reply) => {
                reply.body = self.filled(reply.body);
                return response.reply(&reply).await;
            }
            Step::Head(reply) => return response.head(&reply, Framing::Chunked, 0).await,
            Step::Body(bytes) => return response.body(&self.filled(bytes)).await,
            Step::Event(mut event) => {
                event.data = event.data.map(|data| self.filled(data));
                self.head(response).await?;
                return response.body(&event.write(self.line_end)).await;
            }
            Step::Torn(bytes) => return response.torn(&self.filled(bytes)).await,
            Step::Raw(bytes) => return response.raw(&self.filled(bytes)).await,
            Step::Finish => return response.finish().await,
            Step::End(end) => {
                response.end();
                return Err(Stop::End(end));
            }
            Step::Follow => return self.follow(response).await,
            // Those that `step` takes.
            _ => {}
        }
        Ok(())
    }

    /// The head of an event stream, if nothing was said yet.
    async fn head(&self, response: &mut Response<'_>) -> Result<(), Stop> {
        let mut reply = Reply::events();
        reply.headers.extend(self.headers.iter().cloned());
        response.head(&reply, Framing::Chunked, 0).await
    }

    /// Begins the response as an event stream, with what stands at the beginning of one.
    async fn open(&mut self, response: &mut Response<'_>) -> Result<(), Stop> {
        if response.has_begun() {
            return Ok(());
        }
        self.head(response).await?;
        if let Some(store) = self.server.store().filter(|_| !self.modern) {
            let stream = self.session.open();
            self.stream = Some(stream);
            let mut priming = Event::priming(&event_id(stream, self.session.say(stream, b"")));
            priming.retry = store.retry.map(|retry| retry.to_string());
            response.body(&priming.write(self.line_end)).await?;
        }
        Ok(())
    }

    /// Says a message where the answer goes.
    async fn message(&mut self, response: Option<&mut Response<'_>>, message: Vec<u8>) -> Result<(), Stop> {
        if self.way == Way::Shared {
            self.session.say(SHARED, &message);
            self.server.news.notify_waiters();
            return Ok(());
        }
        let Some(response) = response else {
            drop(self.event(&message));
            return Ok(());
        };
        if self.form == Form::Json && !response.has_begun() {
            let mut reply = Reply::json(message);
            reply.status = self.status(&reply.body);
            reply.headers.extend(self.headers.iter().cloned());
            return response.reply(&reply).await;
        }
        self.open(response).await?;
        let event = self.event(&message);
        response.body(&event).await
    }

    async fn notify(&mut self, mut response: Option<&mut Response<'_>>, times: u32) -> Result<(), Stop> {
        if self.way == Way::Shared {
            for number in 1..=times {
                self.message(response.as_deref_mut(), protocol::log(number)).await?;
            }
            return Ok(());
        }
        if let Some(response) = response.as_deref_mut() {
            self.open(response).await?;
        }
        let mut batch = Vec::new();
        for number in 1..=times {
            batch.extend(self.event(&protocol::log(number)));
            if (batch.len() > BATCH || number == times)
                && let Some(response) = response.as_deref_mut()
            {
                response.body(&batch).await?;
                batch.clear();
            }
        }
        Ok(())
    }

    /// A message as an event of the request's own stream, and in the store if there is one.
    fn event(&self, message: &[u8]) -> Vec<u8> {
        let mut event = Event::data(message).kind("message");
        if let Some(stream) = self.stream {
            event = event.id(event_id(stream, self.session.say(stream, message)));
            self.server.news.notify_waiters();
        }
        event.write(self.line_end)
    }

    /// Tells a GET what was said on its stream, and what is said from now on.
    async fn follow(&mut self, response: &mut Response<'_>) -> Result<(), Stop> {
        let (stream, mut from) = self.from;
        let follower = self.session.follow(stream);
        self.server.news.notify_waiters();
        self.head(response).await?;
        if self.way == Way::Shared {
            let endpoint = Event::data(self.server.endpoint(&self.session)).kind("endpoint");
            response.body(&endpoint.write(self.line_end)).await?;
        }
        loop {
            let news = self.server.news.notified();
            match self.session.news(stream, follower, from) {
                News::Events(events) => {
                    for (number, data) in events {
                        from = number + 1;
                        let mut event = Event::data(data).kind("message");
                        if self.way == Way::Response && self.server.store().is_some() {
                            event = event.id(event_id(stream, number));
                        }
                        response.body(&event.write(self.line_end)).await?;
                    }
                }
                News::Nothing => news.await,
                News::Ended(None) => return response.finish().await,
                News::Ended(Some(end)) => return Err(Stop::End(end)),
            }
        }
    }

    fn id(&self) -> &str {
        self.request.as_ref().map_or("null", |request| &request.id)
    }

    /// What the server answers of itself.
    fn answer(&self) -> Vec<u8> {
        match &self.request {
            Some(request) if self.modern => modern::answer(&self.server, request),
            Some(request) => protocol::answer(&self.server.ledger.shared, request),
            None => Vec::new(),
        }
    }

    /// The status of a response with the message `message` as JSON.
    fn status(&self, message: &[u8]) -> u16 {
        if self.modern { modern::status(message) } else { 200 }
    }

    fn filled(&self, text: Vec<u8>) -> Vec<u8> {
        let text = play::fill(&text, b"$id", self.id().as_bytes());
        if memchr::memmem::find(&text, ANSWER).is_some() {
            return play::fill(&text, ANSWER, &self.answer());
        }
        text
    }
}

const ANSWER: &[u8] = b"$answer";
