//! What is done with a request: by rule, or as a well-mannered server does it.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::play::{Player, Way};
use super::reply::{LineEnd, Reply};
use super::script::{Step, choose};
use super::sessions::{SHARED, Session, event_of};
use super::traffic::Request;
use super::{Shared, audit, modern};
use crate::ledger::play;
use crate::ledger::{What, protocol};
use crate::transport::Outgoing;

/// What is done with a request.
pub(super) enum Decision {
    /// This is all.
    Reply(Reply),
    /// These steps are played.
    Play(Player, Vec<Step>),
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    method: String,
    id: Option<Box<RawValue>>,
}

/// The codes of servers for what is none of JSON-RPC's business.
const BAD_REQUEST: i64 = -32000;
const NO_SESSION: i64 = -32001;
const PARSE_ERROR: i64 = -32700;

impl Shared {
    pub(super) fn decide(self: &Arc<Shared>, request: &Request, connection: u32) -> Decision {
        if let Some(reply) = self.unauthorized(request) {
            return Decision::Reply(reply);
        }
        let scripted = choose(&mut self.state().rules, &request.method, None, None);
        let message = message(request);
        let decision = match (scripted, request.method.as_str()) {
            (Some(steps), _) => {
                let session = self.session(request).unwrap_or_else(|_| self.stateless.clone());
                let mut player = self.player(connection, session);
                if let Some(message) = message {
                    player.request = Some(Arc::new(self.read(request, message, connection)));
                    player.modern = modern::speaks(&request.body);
                }
                player.from = self.from(request, &player.session).unwrap_or((SHARED, 0));
                Ok((player, steps))
            }
            (None, "POST") => self.post(request, message, connection),
            (None, "GET") => self.get(request, connection),
            (None, "DELETE") => self.delete(request),
            (None, _) => Err(Reply::status(405).header("allow", "GET, POST, DELETE")),
        };
        match decision {
            Ok((player, steps)) => Decision::Play(player, steps),
            Err(reply) => Decision::Reply(reply),
        }
    }

    fn player(self: &Arc<Shared>, connection: u32, session: Arc<Session>) -> Player {
        let manners = self.state().manners.clone();
        Player {
            server: self.clone(),
            connection,
            request: None,
            session,
            headers: Vec::new(),
            modern: false,
            way: if manners.http_sse { Way::Shared } else { Way::Response },
            form: manners.form,
            line_end: manners.line_end.unwrap_or(LineEnd::Lf),
            from: (SHARED, 0),
            stream: None,
        }
    }

    /// Reads a message, and writes it into the ledger's book.
    fn read(&self, request: &Request, message: Message, connection: u32) -> play::Request {
        let outgoing = Outgoing {
            message: request.body.clone(),
            method: message.method,
            request: message.id.and_then(|id| id.get().parse().ok()),
            protocol_version: request.header("mcp-protocol-version").map(str::to_owned),
            headers: request.headers.clone(),
        };
        let read = play::Request::read(&outgoing);
        let handed = read.handed(outgoing, false);
        self.ledger.shared.note(connection, What::Handed(handed));
        read
    }

    fn post(
        self: &Arc<Shared>,
        request: &Request,
        message: Option<Message>,
        connection: u32,
    ) -> Result<(Player, Vec<Step>), Reply> {
        let manners = self.state().manners.clone();
        if manners.http_sse && !request.target.contains("session=") {
            return Err(Reply::status(405).header("allow", "GET"));
        }
        let Some(message) = message else {
            self.violation(format!("a POST without one JSON-RPC message: {}", request.text()));
            return Err(error(400, PARSE_ERROR, "Parse error"));
        };
        let id = message.id.as_ref().map_or("null".to_owned(), |id| id.get().to_owned());
        let is_modern = modern::speaks(&request.body);
        let legacy = !self.ledger.shared.state().manners.revisions.is_empty();
        let session = if is_modern && manners.modern {
            if let Some(reply) = modern::refusal(self, request, &message.method, &id) {
                return Err(reply);
            }
            self.stateless.clone()
        } else if is_modern || !legacy {
            // What no server of the other kind understands.
            return Err(match manners.modern {
                true => modern::unsupported(&id),
                false => error(400, BAD_REQUEST, "Bad Request: no valid session"),
            });
        } else if message.method == "initialize" && !manners.http_sse {
            self.begin_session(request)
        } else {
            self.session(request)?
        };
        self.violations(audit::post(request, &message.method, &id, is_modern, &session, &manners));

        let mut player = self.player(connection, session);
        if message.method == "initialize" && manners.sessions && !manners.http_sse {
            player.headers.push(("mcp-session-id".to_owned(), player.session.id.clone()));
        }
        let read = self.read(request, message, connection);
        let method = Some(read.method.as_str());
        let scripted = choose(&mut self.state().rules, "POST", method, read.tool());
        let opens = manners.store.is_some() && !is_modern && player.way == Way::Response;
        let steps = scripted.unwrap_or_else(|| match (read.is_request(), opens) {
            (true, true) if player.form == super::Form::Events => {
                vec![Step::Open, Step::Execute, Step::Answer]
            }
            (true, _) => vec![Step::Execute, Step::Answer],
            (false, _) => Vec::new(),
        });
        player.modern = is_modern;
        player.request = Some(Arc::new(read));
        Ok((player, steps))
    }

    fn get(self: &Arc<Shared>, request: &Request, connection: u32) -> Result<(Player, Vec<Step>), Reply> {
        let manners = self.state().manners.clone();
        self.violations(audit::get(request));
        if manners.http_sse {
            let session = self.begin_session(request);
            return Ok((self.player(connection, session), vec![Step::Follow]));
        }
        let resumes = request.header("last-event-id").is_some();
        if !(manners.shared_stream || resumes && manners.store.is_some()) {
            return Err(Reply::status(405).header("allow", "POST, DELETE"));
        }
        let mut player = self.player(connection, self.session(request)?);
        let unknown = || error(400, BAD_REQUEST, "Invalid event ID");
        player.from = self.from(request, &player.session).ok_or_else(unknown)?;
        Ok((player, vec![Step::Follow]))
    }

    /// The stream that a GET asks for, and from which event on.
    fn from(&self, request: &Request, session: &Session) -> Option<(usize, usize)> {
        match request.header("last-event-id") {
            None => Some((SHARED, session.next(SHARED)?)),
            Some(id) => {
                let (stream, number) = event_of(id)?;
                (number < session.next(stream)?).then_some((stream, number + 1))
            }
        }
    }

    fn delete(&self, request: &Request) -> Result<(Player, Vec<Step>), Reply> {
        let manners = self.state().manners.clone();
        if !manners.sessions || manners.http_sse {
            return Err(Reply::status(405).header("allow", "GET, POST"));
        }
        self.session(request)?.end();
        self.news.notify_waiters();
        Err(Reply::status(200))
    }

    fn unauthorized(&self, request: &Request) -> Option<Reply> {
        let state = self.state();
        let wanted = state.manners.authorization.as_ref()?;
        let right = request.header("authorization") == Some(wanted.value.as_str());
        (!right).then(|| Reply::unauthorized(&wanted.challenge))
    }

    /// A fresh session, of the revision that is agreed on.
    fn begin_session(&self, request: &Request) -> Arc<Session> {
        let asked = modern::asked_revision(&request.body);
        let revision = {
            let ledger = self.ledger.shared.state();
            let revisions = &ledger.manners.revisions;
            let asked = asked.filter(|asked| revisions.contains(asked));
            asked.or(revisions.last().cloned()).unwrap_or_default()
        };
        let mut state = self.state();
        if !state.manners.sessions && !state.manners.http_sse {
            self.stateless.agree(&revision);
            return self.stateless.clone();
        }
        let id = format!("session-{}", state.sessions.len() + 1);
        let session = Arc::new(Session::new(id, &revision));
        state.sessions.push(session.clone());
        session
    }

    /// The session that a request is of, or the refusal of one that is of none.
    fn session(&self, request: &Request) -> Result<Arc<Session>, Reply> {
        let state = self.state();
        let id = if state.manners.http_sse {
            request.target.split_once("session=").map(|(_, id)| id)
        } else if state.manners.sessions {
            request.header("mcp-session-id")
        } else {
            return Ok(self.stateless.clone());
        };
        let id = id.ok_or_else(|| error(400, BAD_REQUEST, "Bad Request: Mcp-Session-Id is missing"))?;
        let session = state.sessions.iter().find(|session| session.id == id && !session.has_ended());
        session.cloned().ok_or_else(|| error(404, NO_SESSION, "Session not found"))
    }
}

/// The one message in a request's body.
fn message(request: &Request) -> Option<Message> {
    serde_json::from_slice(&request.body).ok()
}

/// A refusal whose body is an error without an id.
fn error(status: u16, code: i64, words: &str) -> Reply {
    Reply { status, ..Reply::json(protocol::error("null", code, words, None)) }
}
