//! Events as they come, and the resumption of a stream that broke.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use noreplay::session::verdict::{Failure, FailureKind};

use crate::answer::answers;
use crate::event_stream::{Item, Reader};
use crate::header::media_type;
use crate::resumption::Resumption;

use super::bindings::exports::noreplay::mcp::transport::{Incoming, Oversized};
use super::bindings::wasi::clocks::monotonic_clock;
use super::bindings::wasi::http::types::Method;
use super::body::Body;
use super::exchange;
use super::http;
use super::shared::Shared;

/// The events of one response.
pub(super) struct Events {
    body: Body,
    reader: Reader,
    items: VecDeque<Item>,
    /// How it ended: in order, or not.
    ended: Option<Result<(), Failure>>,
}

impl Events {
    pub(super) fn new(body: Body, max_message: usize) -> Self {
        Self { body, reader: Reader::new(max_message), items: VecDeque::new(), ended: None }
    }

    /// What the stream says next; none at its end.
    pub(super) async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            if self.ended.is_some() {
                return None;
            }
            match self.body.chunk().await {
                Ok(Some(bytes)) => self.reader.read(&bytes, &mut |item| self.items.push_back(item)),
                Ok(None) => self.ended = Some(Ok(())),
                Err(code) => self.ended = Some(Err(http::failure(&code).1)),
            }
        }
    }

    /// Why it ended, and the data of the event that it ended in.
    pub(super) fn end(self) -> (Failure, Option<Vec<u8>>) {
        let failure = match self.ended {
            Some(Err(mut failure)) => {
                failure.detail.insert(0, "the event stream broke off".to_owned());
                failure
            }
            _ => Failure::new(FailureKind::Closed, "the event stream ended"),
        };
        (failure, self.reader.rest())
    }
}

/// An event that is a message goes by this name, or by none.
const MESSAGE: &str = "message";

pub(super) fn too_large(head: Vec<u8>, size: Option<u64>, channel: Option<u64>) -> Incoming {
    Incoming::TooLarge(Oversized { head, tail: Vec::new(), size, channel })
}

/// Hands on what a stream brings, until the answer to the request whose channel it is, or its end. Tells whether
/// that answer came.
pub(super) async fn hand_on(
    shared: &Shared,
    events: &mut Events,
    channel: Option<u64>,
    resumption: &mut Resumption,
) -> bool {
    while let Some(item) = events.next().await {
        match item {
            Item::Event { name, data } if name.is_empty() || name == MESSAGE => {
                resumption.message();
                let answered = channel.is_some_and(|request| answers(&data, request));
                shared.message(data, channel).await;
                if answered {
                    return true;
                }
            }
            Item::Event { .. } => {}
            Item::TooLarge { head, size } => {
                resumption.message();
                shared.deliver(too_large(head, Some(size), channel)).await;
            }
            Item::Id(id) => resumption.event_id(id.as_deref()),
            Item::Retry(pause) => resumption.retry(pause),
        }
    }
    false
}

/// Follows the stream on which the answer to `request` is due, across breaks where the revision has
/// resumption, until the answer came.
pub(super) async fn follow(shared: &Rc<Shared>, request: u64, body: Body, resumable: bool) {
    let mut resumption = Resumption::default();
    let mut events = Events::new(body, shared.max_message);
    loop {
        if hand_on(shared, &mut events, Some(request), &mut resumption).await {
            return;
        }
        let (mut failure, rest) = events.end();
        if let Some(rest) = rest.filter(|rest| answers(rest, request)) {
            return shared.message(rest, Some(request)).await;
        }
        events = loop {
            let Some((pause, id)) = resumption.resume().filter(|_| resumable) else {
                return shared.answer_lost(request, failure).await;
            };
            wait(pause).await;
            match open(shared, Some(id)).await {
                Ok(events) => break events,
                Err(NoStream { failure: why, is_final }) => {
                    failure.detail.push("it could not be resumed".to_owned());
                    failure.detail.extend(why.detail);
                    // What was said of earlier tries is said no longer.
                    failure.detail.truncate(8);
                    if is_final {
                        return shared.answer_lost(request, failure).await;
                    }
                }
            }
        };
    }
}

/// Listens to what the server says on its own account, for as long as it has a stream for that.
pub(super) async fn listen(shared: Rc<Shared>) {
    let mut resumption = Resumption::default();
    let mut last = None;
    loop {
        match open(&shared, last).await {
            Ok(mut events) => _ = hand_on(&shared, &mut events, None, &mut resumption).await,
            Err(NoStream { is_final: true, .. }) => return,
            Err(_) => {}
        }
        match resumption.reopen() {
            Some((pause, id)) => {
                wait(pause).await;
                last = id;
            }
            None => return,
        }
    }
}

/// Why a GET brought no event stream.
pub(super) struct NoStream {
    pub(super) failure: Failure,
    /// The server has none: there is no use in asking again.
    pub(super) is_final: bool,
}

/// Opens an event stream: from the event after `last`, if that is given.
pub(super) async fn open(shared: &Rc<Shared>, last: Option<String>) -> Result<Events, NoStream> {
    let passing = |failure| NoStream { failure, is_final: false };
    let revision = shared.revision.borrow().clone();
    let mut headers = exchange::headers(shared, revision).await.map_err(passing)?;
    headers.push(("accept".to_owned(), b"text/event-stream".to_vec()));
    if let Some(last) = last {
        headers.push(("last-event-id".to_owned(), last.into_bytes()));
    }
    let response = http::send(Method::Get, &shared.endpoint, headers, None)
        .await
        .map_err(|failed| passing(failed.failure))?;
    let media = response.header("content-type").map(|value| media_type(&value));
    match response.status {
        200 if media.as_deref() == Some("text/event-stream") => {
            Ok(Events::new(response.body, shared.max_message))
        }
        status => {
            if matches!(status, 401 | 403) {
                shared.known.challenged(status, response.header("www-authenticate"));
            }
            let words = match status {
                200 => "the answer to GET is no event stream".to_owned(),
                status => format!("GET was answered with status {status}"),
            };
            let failure = Failure::new(FailureKind::Other, &words);
            Err(NoStream { failure, is_final: !may_come_later(status) })
        }
    }
}

/// Whether a GET that was answered with this status may bring a stream another time: with other credentials, or
/// once the server or a gateway is well again. That a server does not know the method is final.
fn may_come_later(status: u16) -> bool {
    matches!(status, 401 | 429 | 500..=599) && !matches!(status, 501 | 505)
}

async fn wait(pause: Duration) {
    monotonic_clock::wait_for(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)).await;
}
