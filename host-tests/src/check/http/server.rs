//! An MCP server behind `wasi:http`, in the same process and in virtual time: it fails on command, and keeps a
//! record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Bytes;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::case::{Answers, Setting};
use super::fault::{Events, Fault, Taken, Why};
use super::reply::{Act, NOBODYS_ERROR, Reply, discover, error, odd, refuse, response};
use crate::check::fault::{A_WHILE, MUCH_LATER};
use crate::check::policy::MESSAGE;
use crate::host::http as http_host;
use crate::transport::BoxFuture;

/// Where it is.
pub(super) const URL: &str = "http://world.test/mcp";

/// The server. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(super) struct Server(Arc<Shared>);

struct Shared {
    origin: Instant,
    setting: Setting,
    faults: Vec<(usize, Fault)>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests: Vec<Seen>,
    effects: BTreeMap<u32, Vec<usize>>,
    sessions: BTreeSet<String>,
    given: usize,
    /// What a request's stream holds, by the request's id.
    stored: BTreeMap<u64, Vec<u8>>,
}

/// A request, as it came.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) at: Duration,
    pub(super) method: Method,
    pub(super) path: String,
    /// The JSON-RPC method; none for a response, or where nothing could be read.
    pub(super) rpc: Option<String>,
    pub(super) id: Option<u64>,
    /// The number of the call that it is.
    pub(super) call: Option<u32>,
    pub(super) session: Option<String>,
    pub(super) last_event_id: Option<String>,
    pub(super) fault: Option<Fault>,
    /// Whether all of its text came.
    pub(super) whole: bool,
    /// What the revision does not allow.
    pub(super) wrong: Vec<String>,
}

impl Server {
    pub(super) fn new(setting: Setting, faults: Vec<(usize, Fault)>) -> Server {
        Server(Arc::new(Shared { origin: Instant::now(), setting, faults, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests so far.
    pub(super) fn requests(&self) -> Vec<Seen> {
        self.state().requests.clone()
    }

    /// The requests by which each call had its effect.
    pub(super) fn effects(&self) -> BTreeMap<u32, Vec<usize>> {
        self.state().effects.clone()
    }

    /// The time since it began.
    pub(super) fn now(&self) -> Duration {
        self.0.origin.elapsed()
    }

    async fn serve(self, request: Request<WasiBody>) -> Result<Response<WasiBody>, Error> {
        let (parts, mut body) = request.into_parts();
        let number = self.seen(&parts.method, parts.uri.path(), &parts.headers);
        let fault = self.state().requests[number].fault;
        match fault {
            Some(Fault::Unreached(why)) => {
                if why == Why::ConnectTimeout {
                    sleep(A_WHILE).await;
                }
                return Err(error(why));
            }
            Some(Fault::Cut(taken)) => {
                take(&mut body, &parts.headers, taken).await;
                return Err(error(Why::Terminated));
            }
            _ => {}
        }
        let Ok(text) = body.collect().await else {
            return Err(error(Why::Terminated));
        };
        let text = text.to_bytes();
        let message: Value = serde_json::from_slice(&text).unwrap_or(Value::Null);
        self.read(number, &message);
        if self.0.setting.is_stateless() {
            self.state().requests[number].wrong = wrong(&message, &parts.method, &parts.headers);
        }
        let reply = match (parts.method.clone(), fault) {
            (_, Some(Fault::Breaks(why, executed))) => {
                self.perform(number, executed);
                return Err(error(why));
            }
            (_, Some(Fault::Hangs(executed))) => {
                self.perform(number, executed);
                std::future::pending().await
            }
            (Method::POST, fault) => self.post(number, &message, fault),
            (Method::GET, fault) => self.get(number, fault),
            (_, fault) => self.end(number, fault),
        };
        sleep(reply.after).await;
        Ok(response(reply))
    }

    fn seen(&self, method: &Method, path: &str, headers: &HeaderMap) -> usize {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut state = self.state();
        let number = state.requests.len();
        let fault = self.0.faults.iter().find(|(at, _)| *at == number).map(|(_, fault)| *fault);
        state.requests.push(Seen {
            at: self.0.origin.elapsed(),
            method: method.clone(),
            path: path.to_owned(),
            rpc: None,
            id: None,
            call: None,
            session: text("mcp-session-id"),
            last_event_id: text("last-event-id"),
            fault,
            whole: false,
            wrong: Vec::new(),
        });
        number
    }

    fn read(&self, number: usize, message: &Value) {
        let seen = &mut self.state().requests[number];
        seen.rpc = message["method"].as_str().map(str::to_owned);
        seen.id = message["id"].as_u64();
        seen.call = message["params"]["arguments"]["n"].as_u64().and_then(|n| u32::try_from(n).ok());
        seen.whole = true;
    }

    /// The effect of a call.
    fn perform(&self, number: usize, executed: bool) {
        let mut state = self.state();
        if let Some(call) = state.requests[number].call.filter(|_| executed) {
            state.effects.entry(call).or_default().push(number);
        }
    }

    fn post(&self, number: usize, message: &Value, fault: Option<Fault>) -> Reply {
        let (method, id) = (message["method"].as_str(), message["id"].as_u64());
        let lost = {
            let state = self.state();
            let session = state.requests[number].session.clone();
            self.0.setting.session
                && method != Some("initialize")
                && session.is_none_or(|session| !state.sessions.contains(&session))
        };
        if fault.is_none() && lost {
            return Reply::status(404).header("content-type", "application/json").say(NOBODYS_ERROR);
        }
        let executes = fault.is_none_or(Fault::executes);
        let result = match method {
            Some("initialize") if fault.is_none() && self.0.setting.is_stateless() => {
                return Reply::status(400).header("content-type", "application/json").say(format!(
                    r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32022,"message":"no","data":{{"supported":["{}"]}}}}}}"#,
                    id.unwrap_or_default(),
                    self.0.setting.revision
                ));
            }
            Some("initialize") => format!(
                r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"world","version":"1"}}}}"#,
                self.0.setting.revision
            ),
            Some("tools/list") => r#"{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}"#.to_owned(),
            Some("tools/call") => {
                self.perform(number, executes);
                format!(r#"{{"content":[{{"type":"text","text":"done by request {number}"}}]}}"#)
            }
            Some("server/discover") if self.0.setting.is_stateless() => format!(
                r#"{{"supportedVersions":["{}"],"capabilities":{{"tools":{{}}}}}}"#,
                self.0.setting.revision
            ),
            Some("server/discover") => return discover(id, fault),
            // A notification, or an answer.
            _ => {
                return match fault {
                    Some(Fault::Status(status, body, _)) => refuse(status, body, "null", ""),
                    _ => Reply::status(202),
                };
            }
        };
        let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
        let whole = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let mut reply = match fault {
            Some(Fault::Status(status, body, _)) => {
                if status == 404 {
                    self.forget_session(number);
                }
                refuse(status, body, &id, &whole)
            }
            Some(Fault::Content(content)) => odd(content, &id, &whole),
            Some(Fault::Events(events)) => self.stream(events, &id, &whole),
            _ => self.well(&id, &whole),
        };
        match fault {
            Some(Fault::Slow) => reply.after = A_WHILE,
            Some(Fault::Late) => reply.after = MUCH_LATER,
            _ => {}
        }
        if method == Some("initialize") && self.0.setting.session && reply.status == 200 {
            let mut state = self.state();
            state.given += 1;
            let session = format!("session-{}", state.given);
            state.sessions.insert(session.clone());
            reply = reply.header("mcp-session-id", session);
        }
        reply
    }

    /// The answer, as it should be.
    fn well(&self, id: &str, whole: &str) -> Reply {
        match self.0.setting.answers {
            Answers::Json => Reply::json(whole.to_owned()),
            Answers::Events => Reply::events().say(format!("event: message\ndata: {whole}\n\n")),
            Answers::Resumable => {
                Reply::events().say(format!("id: {id}/0\ndata:\n\nid: {id}/1\ndata: {whole}\n\n"))
            }
        }
    }

    fn stream(&self, events: Events, id: &str, whole: &str) -> Reply {
        if self.0.setting.resumes()
            && let Ok(id) = id.parse()
        {
            let kept = if events == Events::PrimingForEver { Vec::new() } else { whole.as_bytes().to_vec() };
            self.state().stored.insert(id, kept);
        }
        let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
        let answer = format!("data: {whole}\n\n");
        let reply = Reply::events();
        match events {
            Events::Nothing => reply,
            Events::Comment => reply.say(": hi\n\n"),
            Events::Priming | Events::PrimingForEver => {
                reply.say(format!("id: {id}/0\nretry: 500\ndata:\n\n"))
            }
            Events::Notification => reply.say(note),
            Events::Half => reply.say(answer[..answer.len() / 2].to_owned()),
            Events::Unterminated => reply.say(answer.trim_end().to_owned()),
            Events::Garbage => reply.say("data: {\n\n"),
            Events::Foreign => {
                reply.say("data: {\"jsonrpc\":\"2.0\",\"id\":999999,\"result\":{\"content\":[]}}\n\n")
            }
            Events::Twice => reply.say(answer.clone()).say(answer),
            Events::Flood => reply.say(note.repeat(1_000)).say(answer),
            Events::Pieces => {
                let text = answer.replace('\n', "\r\n");
                text.bytes().fold(reply, |reply, byte| reply.say(vec![byte]))
            }
            Events::StaysOpen => reply.say(answer).then(Act::Hang),
            Events::BrokenBehind => reply.say(answer).then(Act::Break),
            Events::TooLarge => reply.say(format!("data: {}\n\n", "x".repeat(MESSAGE as usize + 1))),
            Events::Silence => reply.then(Act::Hang),
        }
    }

    fn get(&self, number: usize, fault: Option<Fault>) -> Reply {
        let last = self.state().requests[number].last_event_id.clone();
        match fault {
            Some(Fault::Status(status, body, _)) => return refuse(status, body, "null", ""),
            Some(Fault::Content(content)) => return odd(content, "null", "{}"),
            Some(Fault::Events(events)) => return self.stream(events, "null", "{}"),
            _ => {}
        }
        let stored = last.and_then(|last| {
            let (id, _) = last.split_once('/')?;
            let id = id.parse::<u64>().ok()?;
            Some((id, self.state().stored.get(&id)?.clone()))
        });
        match stored {
            Some((id, kept)) if kept.is_empty() => Reply::events().say(format!("id: {id}/0\ndata:\n\n")),
            // As real servers do, it stays open behind the answer.
            Some((id, kept)) => Reply::events()
                .say(format!("id: {id}/1\ndata: {}\n\n", String::from_utf8_lossy(&kept)))
                .then(Act::Hang),
            None if self.0.setting.listens => Reply::events().then(Act::Hang),
            None => Reply::status(405),
        }
    }

    /// The session that a request bears is over.
    fn forget_session(&self, number: usize) {
        let mut state = self.state();
        if let Some(session) = state.requests[number].session.clone() {
            state.sessions.remove(&session);
        }
    }

    fn end(&self, number: usize, fault: Option<Fault>) -> Reply {
        self.forget_session(number);
        match fault {
            Some(Fault::Status(status, body, _)) => refuse(status, body, "null", ""),
            _ => Reply::status(200),
        }
    }
}

impl http_host::Server for Server {
    fn answer(&self, request: Request<WasiBody>) -> BoxFuture<'static, Result<Response<WasiBody>, Error>> {
        let server = self.clone();
        Box::pin(async move { server.serve(request).await })
    }
}

/// What a request of the revision without sessions lacks, or has too much.
fn wrong(message: &Value, method: &Method, headers: &HeaderMap) -> Vec<String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let mut wrong = Vec::new();
    // Where the probe was not answered, the older way is tried.
    if message["method"].as_str() == Some("initialize") {
        return wrong;
    }
    if method != Method::POST {
        wrong.push(format!("{method} is not of the revision"));
    }
    if header("mcp-session-id").is_some() {
        wrong.push("it bears a session".to_owned());
    }
    for (name, value) in [("mcp-method", &message["method"]), ("mcp-name", &message["params"]["name"])] {
        if header(name) != value.as_str() {
            wrong.push(format!("its header `{name}` is {:?}", header(name)));
        }
    }
    let said = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if message["id"].is_u64() && header("mcp-protocol-version") != said.as_str() {
        wrong.push("its header names another revision than its `_meta`".to_owned());
    }
    wrong
}

/// Takes a part of a body, and no more.
async fn take(body: &mut WasiBody, headers: &HeaderMap, taken: Taken) {
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    let most: usize = match taken {
        Taken::Nothing => return,
        Taken::Some => 1,
        // The host takes a few bytes at a time: the last of them stay.
        Taken::AllButTheLast => length.unwrap_or(0_usize).saturating_sub(super::CHUNK),
    };
    let mut got = 0;
    while got < most {
        match body.frame().await {
            Some(Ok(frame)) => got += frame.data_ref().map_or(0, Bytes::len),
            _ => return,
        }
    }
}
