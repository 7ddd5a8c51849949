//! One message: its POST, and the answer to it.

use std::cell::Cell;
use std::rc::Rc;

use futures::channel::oneshot;
use futures::future::AbortHandle;
use noreplay::session::evidence::SendError;
use noreplay::session::verdict::{Failure, FailureKind, Refusal};

use crate::answer::answers;
use crate::event_stream::HEAD;
use crate::evidence;
use crate::header;
use crate::response::{Head, Meaning, meaning};

use super::bindings::exports::noreplay::mcp::transport::{Delivery, Outgoing};
use super::bindings::wasi::http::types::Method;
use super::body::Body;
use super::http::{self, Headers, Response, Text, within};
use super::shared::{Shared, not_open};
use super::stream;

/// From this revision on there are no sessions, and no stream is resumed.
const STATELESS: &str = "2026-07-28";

/// How long the words of a server that says something odd are waited for, in nanoseconds.
const ODD: u64 = 1_000_000_000;

/// How long the body of a refusal is waited for that may be the answer.
const ANSWER: u64 = 5_000_000_000;

/// What becomes of a message, as far as `send` tells.
type Sent = Result<Delivery, SendError>;

/// Sends a message.
pub(super) async fn send(shared: &Rc<Shared>, message: Outgoing) -> Sent {
    if !shared.is_open() {
        return Err(SendError::NotSent(not_open()));
    }
    if message.method == "notifications/cancelled" && is_stateless(message.protocol_version.as_deref()) {
        // There a request is cancelled by leaving its response, which `abandon` does.
        return Ok(Delivery::HandedOver);
    }
    // What comes without a message, a GET for example, is of the revision of the latest one.
    shared.revision.borrow_mut().clone_from(&message.protocol_version);
    let (tell, told) = oneshot::channel();
    let (request, whole) = (message.request, message.message.len());
    let left = Rc::new(Cell::new(whole));
    let task = shared.spawn(request, exchange(Rc::clone(shared), message, Rc::clone(&left), tell));
    let mut waiting = Waiting { task, whole, left, told: false };
    let sent = told.await;
    waiting.told = true;
    // Whoever abandons an exchange does not wait for it.
    sent.unwrap_or_else(|_| {
        Err(SendError::Unknown(Failure::new(FailureKind::Cancelled, "the message was given up")))
    })
}

/// Who waits for `send`. If nobody does any more, and nothing was sent yet, nothing is. Else the exchange goes
/// on: its answer is news all the same.
struct Waiting {
    task: AbortHandle,
    whole: usize,
    left: Rc<Cell<usize>>,
    told: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.told && self.left.get() == self.whole {
            self.task.abort();
        }
    }
}

fn is_stateless(revision: Option<&str>) -> bool {
    // Revisions are dates: they sort as texts.
    revision.is_some_and(|revision| revision >= STATELESS)
}

/// The headers of every request: what the host adds, the session and the revision.
pub(super) async fn headers(shared: &Rc<Shared>, revision: Option<String>) -> Result<Headers, Failure> {
    let mut headers = shared.known.headers().await?;
    let session = shared.session.borrow().clone().filter(|_| !is_stateless(revision.as_deref()));
    let named = [("mcp-protocol-version", revision), ("mcp-session-id", session)];
    headers
        .extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into_bytes()))));
    Ok(headers)
}

/// The POST, up to the head of its response, and whether it bore a session's id.
async fn post(
    shared: &Rc<Shared>,
    message: Outgoing,
    left: Rc<Cell<usize>>,
) -> Result<(Response, bool), SendError> {
    let mut headers = headers(shared, message.protocol_version).await.map_err(SendError::NotSent)?;
    let had_session = headers.iter().any(|(name, _)| name == "mcp-session-id");
    headers.push(("content-type".to_owned(), b"application/json".to_vec()));
    headers.push(("accept".to_owned(), b"application/json, text/event-stream".to_vec()));
    headers.extend(message.headers.into_iter().map(|(name, value)| (name, value.into_bytes())));
    if let Some((name, _)) = headers.iter().find(|(name, value)| !header::is_sound(name, value)) {
        let failure = Failure::new(FailureKind::Malformed, &format!("the header `{name}` cannot be sent"));
        return Err(SendError::NotSent(failure));
    }
    let post_to = shared.post_to.borrow().clone();
    let endpoint = post_to.as_ref().unwrap_or(&shared.endpoint);
    let text = Text { bytes: message.message, left };
    match http::send(Method::Post, endpoint, headers, Some(text)).await {
        Ok(response) => Ok((response, had_session)),
        Err(failed) => Err(evidence::weigh(failed.fault, failed.taken, failed.failure)),
    }
}

/// All of it, up to the answer.
async fn exchange(shared: Rc<Shared>, message: Outgoing, left: Rc<Cell<usize>>, tell: oneshot::Sender<Sent>) {
    let shared = &shared;
    let (method, request) = (message.method.clone(), message.request);
    let resumable = !is_stateless(message.protocol_version.as_deref());
    let (response, had_session) = match post(shared, message, left).await {
        Ok(posted) => posted,
        Err(error) => {
            // Nobody need wait for it.
            let _ = tell.send(Err(error));
            return;
        }
    };
    let content = [response.header("content-type"), response.header("content-encoding")];
    let head = Head {
        status: response.status,
        content_type: content[0].as_deref(),
        content_encoding: content[1].as_deref(),
    };
    // Where answers come on the stream of all, a response has no answer to bring.
    let has_channel = shared.post_to.borrow().is_none();
    let due = request.filter(|_| has_channel);
    let meaning = meaning(head, due.is_some());
    if meaning == Meaning::Refused {
        let refusal = refusal(shared, response, had_session).await;
        let is_answer = request.is_some_and(|request| answers(&refusal.body, request));
        refused(shared, &method, &refusal, is_answer);
        if let Err(Err(SendError::Refused(refusal))) = tell.send(Err(SendError::Refused(refusal)))
            && is_answer
        {
            // Nobody waits for the refusal any more, but it is the answer.
            shared.message(refusal.body, request).await;
        }
        return;
    }
    if method == "initialize" {
        let id = response.header("mcp-session-id").and_then(|id| header::session_id(id.as_bytes()));
        *shared.session.borrow_mut() = id;
    }
    // If nobody waits any more, what comes is still an answer.
    let _ = tell.send(Ok(Delivery::Accepted));
    match (meaning, due) {
        (Meaning::Json, Some(request)) => json(shared, request, response.body).await,
        (Meaning::EventStream, Some(request)) => {
            stream::follow(shared, request, response.body, resumable).await;
        }
        (Meaning::NoAnswer(mut failure), Some(request)) => {
            let mut body = response.body;
            let mut words = Vec::new();
            // Its first words, if they come soon.
            let _ = within(ODD, read(&mut body, HEAD, &mut words)).await;
            failure.detail.extend(shown(&words));
            shared.answer_lost(request, failure).await;
        }
        _ => {
            if method == "notifications/initialized" && has_channel {
                shared.spawn(None, stream::listen(Rc::clone(shared)));
            }
        }
    }
}

/// What a refusal tells beyond its message.
fn refused(shared: &Shared, method: &str, refusal: &Refusal, is_answer: bool) {
    match refusal.status {
        401 | 403 => shared.known.challenged(refusal.status, refusal.www_authenticate.clone()),
        // No way to begin: perhaps the server speaks the older way.
        400 | 404 | 405 if method == "initialize" && !is_answer => shared.known.takes_no_post.set(true),
        _ => {}
    }
}

/// The response as a refusal, with as much of its body as may be the answer.
async fn refusal(shared: &Shared, mut response: Response, had_session: bool) -> Refusal {
    let is_json =
        response.header("content-type").is_some_and(|it| header::media_type(&it) == "application/json");
    let (most, patience) = if is_json { (shared.max_message, ANSWER) } else { (HEAD, ODD) };
    let mut body = Vec::new();
    // What came before it broke off, or took too long, is what there is.
    let _ = within(patience, read(&mut response.body, most, &mut body)).await;
    body.truncate(most);
    Refusal {
        status: response.status,
        had_session,
        retry_after: response.header("retry-after"),
        www_authenticate: response.header("www-authenticate"),
        body,
    }
}

/// Reads the whole of a body, or a little more than `most` bytes of it. Tells whether that was all.
async fn read(body: &mut Body, most: usize, bytes: &mut Vec<u8>) -> Result<bool, Failure> {
    while bytes.len() <= most {
        match body.chunk().await {
            Ok(Some(chunk)) if bytes.is_empty() => *bytes = chunk,
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(true),
            Err(code) => return Err(http::failure(&code).1),
        }
    }
    Ok(false)
}

/// The answer, as the whole body.
async fn json(shared: &Rc<Shared>, request: u64, mut body: Body) {
    let mut bytes = Vec::new();
    match read(&mut body, shared.max_message, &mut bytes).await {
        Ok(true) if bytes.iter().all(u8::is_ascii_whitespace) => {
            let failure = Failure::new(FailureKind::Malformed, "the server's answer is empty");
            shared.answer_lost(request, failure).await;
        }
        Ok(_) if bytes.len() > shared.max_message => {
            bytes.truncate(HEAD.min(shared.max_message));
            shared.deliver(stream::too_large(bytes, None, Some(request))).await;
        }
        // Whatever it is, it is the client's to read.
        Ok(_) => shared.message(bytes, Some(request)).await,
        // The text may be whole where its end is not.
        Err(_) if answers(&bytes, request) => shared.message(bytes, Some(request)).await,
        Err(mut failure) => {
            failure.detail.insert(0, "the answer broke off".to_owned());
            failure.detail.extend(shown(&bytes));
            shared.answer_lost(request, failure).await;
        }
    }
}

/// The first words of something that could not be read.
fn shown(bytes: &[u8]) -> Option<String> {
    const SHOWN: usize = 256;
    let head = &bytes[..bytes.len().min(SHOWN)];
    (!head.is_empty()).then(|| format!("it begins with: {}", String::from_utf8_lossy(head)))
}
