//! A transport over HTTP on bare sockets: one connection a request. It is sound, but for the fault that is
//! planted into it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_tests::transport::{
    Arrival, BoxFuture, Connection, Delivery, HEAD, Incoming, LostAnswer, Outgoing, Oversized, SendError,
    Transport,
};
use host_tests::{Failure, FailureKind, Refusal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::AbortHandle;

use crate::events::Events;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    FollowsRedirects,
    SendsAgainAfterALoss,
    SendsAgainWhenUnavailable,
    SaysNotSentAfterSending,
    SaysTruncatedAfterSending,
    SaysAcceptedWithoutAResponse,
    HidesRefusals,
    MakesRefusalsUp,
    MistakesAcceptance,
    SwallowsLosses,
    ForgetsTheChannel,
    WaitsForEachAnswer,
    KeepsWhatIsDropped,
}

/// The transport.
pub(crate) struct ByHand {
    authority: String,
    path: String,
    fault: Option<Fault>,
}

impl ByHand {
    pub(crate) fn to(url: &str, fault: Option<Fault>) -> ByHand {
        let rest = url.strip_prefix("http://").expect("a URL");
        let (authority, path) = rest.split_once('/').expect("a path");
        ByHand { authority: authority.to_owned(), path: format!("/{path}"), fault }
    }
}

impl Transport for ByHand {
    fn connect(&self, _: &str, max: u64) -> BoxFuture<'static, Result<Arc<dyn Connection>, Failure>> {
        let (told, inbox) = unbounded_channel();
        let line = Line {
            authority: self.authority.clone(),
            path: self.path.clone(),
            fault: self.fault,
            max: max as usize,
            told,
            turn: AsyncMutex::new(()),
        };
        let session = Session {
            line: Arc::new(line),
            inbox: Arc::new(AsyncMutex::new(inbox)),
            tasks: Arc::default(),
            closed: Arc::default(),
        };
        Box::pin(async { Ok(Arc::new(session) as Arc<dyn Connection>) })
    }
}

struct Line {
    authority: String,
    path: String,
    fault: Option<Fault>,
    max: usize,
    told: UnboundedSender<Incoming>,
    /// Of those that wait for each other.
    turn: AsyncMutex<()>,
}

type Tasks = Arc<Mutex<HashMap<u64, AbortHandle>>>;

struct Session {
    line: Arc<Line>,
    inbox: Arc<AsyncMutex<UnboundedReceiver<Incoming>>>,
    tasks: Tasks,
    closed: Arc<AtomicBool>,
}

impl Session {
    fn abort(&self) {
        self.tasks.lock().expect("no panic").values().for_each(AbortHandle::abort);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.abort();
    }
}

impl Connection for Session {
    fn send(&self, message: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let (line, tasks, closed) = (self.line.clone(), self.tasks.clone(), self.closed.clone());
        Box::pin(async move {
            if closed.load(Ordering::SeqCst) {
                return Err(SendError::NotSent(Failure::closed("it is closed")));
            }
            let (tell, told) = oneshot::channel();
            let request = message.request.expect("a request");
            let task = tokio::spawn(async move { line.exchange(message, tell).await });
            tasks.lock().expect("no panic").insert(request, task.abort_handle());
            told.await.unwrap_or_else(|_| Err(SendError::Unknown(Failure::closed("it was given up"))))
        })
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let inbox = self.inbox.clone();
        Box::pin(async move { inbox.lock().await.recv().await.ok_or(Failure::closed("it is gone")) })
    }

    fn abandon(&self, request: u64) {
        if let Some(task) = self.tasks.lock().expect("no panic").get(&request) {
            task.abort();
        }
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.closed.store(true, Ordering::SeqCst);
        self.abort();
        let _ = self.line.told.send(Incoming::End);
        Box::pin(async {})
    }
}

/// A response whose body is still to come.
struct Response {
    stream: TcpStream,
    buffer: Vec<u8>,
    status: u16,
    headers: Vec<(String, String)>,
    /// How many bytes of the body are to come, if that is known; chunks have their own.
    left: Option<usize>,
}

impl Response {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    async fn more(&mut self) -> Result<(), Failure> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(1..) => Ok(()),
            Ok(0) => Err(Failure::closed("it ended")),
            Err(error) => Err(Failure::caused(FailureKind::ConnectionReset, "it broke", &error)),
        }
    }

    async fn line(&mut self) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.more().await?;
        }
    }

    /// More of the body; none at its end.
    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.left == Some(0) {
            if self.header("transfer-encoding").is_none() {
                return Ok(None);
            }
            self.line().await?;
            self.left = None;
        }
        let left = match self.left {
            Some(left) => left,
            None => {
                let size = usize::from_str_radix(&self.line().await?, 16).expect("a size");
                if size == 0 {
                    self.line().await?;
                    return Ok(None);
                }
                size
            }
        };
        if self.buffer.is_empty() {
            self.more().await?;
        }
        let here = left.min(self.buffer.len());
        self.left = Some(left - here);
        Ok(Some(self.buffer.drain(..here).collect()))
    }
}

impl Line {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// A request, and the head of the response to it.
    async fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Result<Response, SendError> {
        let connected = TcpStream::connect(&self.authority).await;
        let mut stream = connected.map_err(|error| {
            SendError::NotSent(Failure::caused(FailureKind::ConnectionRefused, "connecting", &error))
        })?;
        if self.is(Fault::KeepsWhatIsDropped) {
            let socket = stream.into_std().expect("a socket");
            std::mem::forget(socket.try_clone());
            stream = TcpStream::from_std(socket).expect("a socket");
        }
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\n{headers}\r\n",
            self.authority
        );
        let bytes = [head.as_bytes(), body].concat();
        let mut left = &bytes[..];
        while !left.is_empty() {
            match stream.write(left).await {
                Ok(count) => left = &left[count..],
                Err(error) => {
                    let failure = Failure::caused(FailureKind::ConnectionReset, "writing", &error);
                    let some = bytes.len() - left.len() > head.len();
                    return Err(match some {
                        true => SendError::Truncated(failure),
                        false => SendError::NotSent(failure),
                    });
                }
            }
        }
        let mut response =
            Response { stream, buffer: Vec::new(), status: 0, headers: Vec::new(), left: None };
        self.head(&mut response).await.map_err(SendError::Unknown)?;
        Ok(response)
    }

    async fn head(&self, response: &mut Response) -> Result<(), Failure> {
        let status = response.line().await?;
        response.status = status.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        loop {
            let line = response.line().await?;
            let Some((name, value)) = line.split_once(": ") else { break };
            response.headers.push((name.to_owned(), value.to_owned()));
        }
        if response.header("transfer-encoding").is_none() {
            let length = response.header("content-length").and_then(|length| length.parse().ok());
            response.left = Some(length.unwrap_or(0));
        }
        Ok(())
    }

    async fn post(&self, path: &str, message: &Outgoing) -> Result<Response, SendError> {
        let length = message.message.len();
        let headers = format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        self.ask("POST", path, &headers, &message.message).await
    }

    async fn exchange(&self, message: Outgoing, tell: oneshot::Sender<Result<Delivery, SendError>>) {
        let request = message.request.expect("a request");
        let _turn = match self.is(Fault::WaitsForEachAnswer) {
            true => Some(self.turn.lock().await),
            false => None,
        };
        let mut posted = self.post(&self.path, &message).await;
        match &posted {
            Ok(response) if response.status == 307 && self.is(Fault::FollowsRedirects) => {
                posted = self.post("/elsewhere", &message).await;
            }
            Ok(response) if response.status == 503 && self.is(Fault::SendsAgainWhenUnavailable) => {
                posted = self.post(&self.path, &message).await;
            }
            Err(SendError::Unknown(_)) if self.is(Fault::SendsAgainAfterALoss) => {
                posted = self.post(&self.path, &message).await;
            }
            _ => {}
        }
        let response = match posted {
            Ok(response) => response,
            Err(SendError::Unknown(failure)) => {
                let _ = tell.send(match self.fault {
                    Some(Fault::SaysNotSentAfterSending) => Err(SendError::NotSent(failure)),
                    Some(Fault::SaysTruncatedAfterSending) => Err(SendError::Truncated(failure)),
                    Some(Fault::SaysAcceptedWithoutAResponse) => Ok(Delivery::Accepted),
                    _ => Err(SendError::Unknown(failure)),
                });
                return;
            }
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let status = response.status;
        let refusal = |status| {
            let (retry_after, www_authenticate) = (None, None);
            Refusal { status, had_session: false, retry_after, www_authenticate, body: Vec::new() }
        };
        let refused = status >= 300;
        let _ = tell.send(match self.fault {
            Some(Fault::HidesRefusals) => Ok(Delivery::Accepted),
            Some(Fault::MakesRefusalsUp) if !refused => Err(SendError::Refused(refusal(503))),
            Some(Fault::MistakesAcceptance) if !refused => Err(SendError::Refused(refusal(status))),
            _ if refused => Err(SendError::Refused(refusal(status))),
            _ => Ok(Delivery::Accepted),
        });
        if refused {
            return;
        }
        let answered = match (response.header("content-type"), response.header("content-encoding")) {
            (Some("application/json"), None) => self.json(response, request).await,
            (Some("text/event-stream"), None) => self.events(response, request).await,
            _ => Err(Failure::new(FailureKind::Malformed, "it is no answer")),
        };
        if let Err(failure) = answered
            && !self.is(Fault::SwallowsLosses)
        {
            self.tell(Incoming::AnswerLost(LostAnswer { request, failure }));
        }
    }

    fn tell(&self, incoming: Incoming) {
        let _ = self.told.send(incoming);
    }

    fn message(&self, mut message: Vec<u8>, request: u64) {
        let channel = (!self.is(Fault::ForgetsTheChannel)).then_some(request);
        self.tell(if message.len() > self.max {
            let size = Some(message.len() as u64);
            message.truncate(HEAD);
            Incoming::TooLarge(Oversized { head: message, tail: Vec::new(), size, channel })
        } else {
            Incoming::Message(Arrival { message, channel })
        });
    }

    async fn json(&self, mut response: Response, request: u64) -> Result<(), Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            body.extend(chunk);
        }
        if body.is_empty() {
            return Err(Failure::new(FailureKind::Malformed, "the answer is empty"));
        }
        self.message(body, request);
        Ok(())
    }

    /// Follows the stream to the answer, and resumes it for as long as that brings something.
    async fn events(&self, mut response: Response, request: u64) -> Result<(), Failure> {
        let mut last = None;
        for _ in 0..5 {
            let mut events = Events::default();
            let broken = loop {
                let chunk = match response.chunk().await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break Failure::closed("the stream ended"),
                    Err(failure) => break failure,
                };
                for event in events.read(&chunk) {
                    last = event.id.or(last);
                    if event.data.is_empty() {
                        continue;
                    }
                    let answers =
                        event.data.starts_with(format!(r#"{{"jsonrpc":"2.0","id":{request},"#).as_bytes());
                    self.message(event.data, request);
                    if answers {
                        return Ok(());
                    }
                }
            };
            let Some(id) = &last else { return Err(broken) };
            tokio::time::sleep(Duration::from_millis(10)).await;
            let resumed = self.ask("GET", &self.path, &format!("last-event-id: {id}\r\n"), b"").await;
            response = match resumed {
                Ok(resumed) if resumed.status == 200 => resumed,
                _ => return Err(broken),
            };
        }
        Err(Failure::closed("it brings nothing"))
    }
}
