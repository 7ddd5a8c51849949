//! The server at work on one message.

use std::sync::Arc;

use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::connection::Line;
use super::script::choose;
use super::{Channel, Effect, Handed, Shared, Step, What, protocol, tools};
use crate::transport::{Arrival, Delivery, Incoming, LostAnswer, Outgoing, Oversized, SendError};

/// A message, read.
pub(super) struct Request {
    pub(super) method: String,
    /// The id, as it was written; `null` if there is none.
    pub(super) id: String,
    number: Option<u64>,
    pub(super) params: Params,
}

/// The `params` that the server knows.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Params {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) cursor: Option<String>,
    #[serde(rename = "protocolVersion")]
    pub(super) protocol_version: Option<String>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "progressToken")]
    progress_token: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    id: Option<Box<RawValue>>,
    params: Option<Box<RawValue>>,
}

impl Request {
    pub(super) fn read(outgoing: &Outgoing) -> Request {
        // A message that is not what it should be is the audit's concern.
        let members: Members = serde_json::from_slice(&outgoing.message).unwrap_or_default();
        let params = members.params.and_then(|params| serde_json::from_str(params.get()).ok());
        Request {
            method: outgoing.method.clone(),
            id: members.id.map_or("null".into(), |id| id.get().to_owned()),
            number: outgoing.request,
            params: params.unwrap_or_default(),
        }
    }

    /// The book's line about it.
    pub(super) fn handed(&self, outgoing: Outgoing, too_late: bool) -> Handed {
        Handed {
            method: outgoing.method,
            request: outgoing.request,
            tool: self.tool().map(str::to_owned),
            protocol_version: outgoing.protocol_version,
            headers: outgoing.headers,
            bytes: outgoing.message.into(),
            too_late,
        }
    }

    /// Whether it asks for an answer.
    pub(super) fn is_request(&self) -> bool {
        !self.method.is_empty() && self.id != "null"
    }

    /// The tool that it calls.
    pub(super) fn tool(&self) -> Option<&str> {
        (self.method == "tools/call").then_some(self.params.name.as_deref()).flatten()
    }

    /// Runs the tool that it calls.
    pub(super) async fn execute(&self, server: &Shared, connection: u32) {
        let Some(tool) = self.tool() else {
            return;
        };
        let arguments = self.params.arguments.as_deref().map(RawValue::get);
        if let Some(time) = tools::duration(tool, arguments) {
            sleep(time).await;
        }
        if tools::has_effect(tool) {
            let effect = Effect {
                tool: tool.to_owned(),
                arguments: arguments.map(str::to_owned),
                request: self.number,
                connection,
            };
            server.note(connection, What::Executed(effect));
        }
    }

    /// A notification of its progress, if it asks for that.
    pub(super) fn progress(&self, progress: u32) -> Option<Vec<u8>> {
        let token = self.params.meta.progress_token.as_ref()?;
        Some(protocol::progress(token.get(), progress))
    }
}

/// What to do with `request`: by the script, or by good manners.
pub(super) fn steps(server: &Shared, request: &Request) -> Vec<Step> {
    let scripted = choose(&mut server.state().rules, &request.method, request.tool());
    scripted.unwrap_or_else(|| match request.number {
        Some(_) => vec![Step::Execute, Step::Answer],
        None => Vec::new(),
    })
}

/// Plays `steps`. `decide` tells what becomes of the message's `send`.
pub(super) async fn play(
    server: Arc<Shared>,
    line: Arc<Line>,
    request: Request,
    steps: Vec<Step>,
    decide: oneshot::Sender<Result<Delivery, SendError>>,
) {
    let player = Player { server, line, request };
    let mut decide = Some(decide);
    let mut decided = move |result: Option<_>| {
        if let (Some(decide), Some(result)) = (decide.take(), result) {
            // A client that gave the `send` up does not listen.
            let _ = decide.send(result);
        }
    };
    if !steps.iter().any(Step::decides_send) {
        decided(Some(Ok(Delivery::HandedOver)));
    }
    for step in steps {
        match step {
            Step::SendOk(delivery) => decided(Some(Ok(delivery))),
            Step::FailSend(error) => decided(Some(Err(error))),
            Step::HangSend => decided(None),
            Step::Sleep(time) => sleep(time).await,
            Step::Execute => player.request.execute(&player.server, player.line.number).await,
            other => player.say(other),
        }
    }
}

struct Player {
    server: Arc<Shared>,
    line: Arc<Line>,
    request: Request,
}

impl Player {
    fn say(&self, step: Step) {
        let id = &self.request.id;
        match step {
            Step::Answer => self.message(protocol::answer(&self.server, &self.request)),
            Step::AnswerWith(result) => {
                let result = self.filled(result.into_bytes());
                self.message(protocol::success(id, &result));
            }
            Step::Error { code, message, data } => {
                self.message(protocol::error(id, code, &message, data.as_deref()))
            }
            Step::Say(bytes) => self.message(self.filled(bytes)),
            Step::SayOn(channel, bytes) => self.message_on(channel, self.filled(bytes)),
            Step::TooLarge { head, tail, size } => {
                let channel = self.usual_channel();
                let oversized = Oversized { head: self.filled(head), tail: self.filled(tail), size, channel };
                self.deliver(Incoming::TooLarge(oversized));
            }
            Step::AnswerLost(failure) => {
                if let Some(request) = self.request.number {
                    self.deliver(Incoming::AnswerLost(LostAnswer { request, failure }));
                }
            }
            Step::Notify(times) => {
                for number in 1..=times {
                    self.message_on(Channel::Shared, protocol::log(number));
                }
            }
            Step::Progress(progress) => {
                if let Some(progress) = self.request.progress(progress) {
                    self.message(progress);
                }
            }
            Step::ServerRequest { id, method } => {
                self.message_on(Channel::Shared, protocol::request(&id, &method));
            }
            Step::Lose(failure) => self.server.lose(&self.line, failure),
            Step::End => self.server.end(&self.line),
            // Those that `play` takes.
            Step::SendOk(_) | Step::FailSend(_) | Step::HangSend | Step::Sleep(_) | Step::Execute => {}
        }
    }

    /// Where answers come: on the request's own channel or on the shared one.
    fn usual_channel(&self) -> Option<u64> {
        let own = self.server.state().manners.own_channels;
        self.request.number.filter(|_| own)
    }

    fn message(&self, message: impl Into<Vec<u8>>) {
        self.arrive(message.into(), self.usual_channel());
    }

    fn message_on(&self, channel: Channel, message: impl Into<Vec<u8>>) {
        let channel = match channel {
            Channel::Shared => None,
            Channel::Own => self.request.number,
            Channel::Of(request) => Some(request),
        };
        self.arrive(message.into(), channel);
    }

    fn arrive(&self, message: Vec<u8>, channel: Option<u64>) {
        self.deliver(Incoming::Message(Arrival { message, channel }));
    }

    fn deliver(&self, incoming: Incoming) {
        self.server.deliver(&self.line, incoming);
    }

    /// `text` with the request's id for each `$id`.
    fn filled(&self, text: Vec<u8>) -> Vec<u8> {
        fill(&text, b"$id", self.request.id.as_bytes())
    }
}

/// `text` with `value` for each `place`.
pub(super) fn fill(text: &[u8], place: &[u8], value: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(found) = memmem::find(rest, place) {
        filled.extend_from_slice(&rest[..found]);
        filled.extend_from_slice(value);
        rest = &rest[found + place.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}
