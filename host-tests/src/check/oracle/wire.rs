//! P5, P6: what may be sent, when and where.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::moment::{Fate, Kind, Moment, Told};
use super::super::policy::CONNECT;
use super::super::promise::Promise;
use super::Court;
use super::story::{At, Decisive, MessageStory};

impl Court<'_> {
    pub(super) fn wire(&mut self) {
        self.connections();
        let mut last_request = 0;
        for index in 0..self.story.messages.len() {
            let message = &self.story.messages[index];
            if let Some(request) = message.message.request {
                self.hold(request > last_request, Promise::P6, || {
                    format!("the request id {request} does not rise")
                });
                last_request = last_request.max(request);
            }
            for wrong in &message.message.wrong {
                let promise = match wrong.as_str() {
                    wrong
                        if wrong.starts_with("not the arguments") || wrong.starts_with("not the `_meta`") =>
                    {
                        Promise::P8
                    }
                    wrong if wrong.starts_with("an id that does not rise") => Promise::P6,
                    _ => Promise::P5,
                };
                self.broken(promise, wrong.clone());
            }
            self.reason_to_send(message);
        }
    }

    /// Each message has a reason.
    fn reason_to_send(&mut self, story: &MessageStory<'_>) {
        let handed = story.handed;
        let connection = story.message.connection;
        let before = &self.story.log[..handed];
        let (closing, closed) = (self.story.closing, self.closed());
        let after_close = closed.is_some_and(|closed| closed < handed)
            || closing.is_some_and(|closing| self.story.time(closing) < self.story.time(handed));
        self.hold(!after_close, Promise::P5, || format!("{:?} was sent after close", story.message.kind));
        let earlier = |kind: &Kind| {
            self.story.messages.iter().any(|other| {
                other.handed < handed && other.message.connection == connection && other.message.kind == *kind
            })
        };
        match &story.message.kind {
            Kind::Discover | Kind::Initialize => {
                // Once, or once more if the server denied `initialize`.
                let earlier = |kind: Kind| {
                    self.story.messages.iter().filter(move |other| {
                        let it = &other.message;
                        other.handed < handed && it.connection == connection && it.kind == kind
                    })
                };
                let denied = |other: &&MessageStory<'_>| matches!(other.decisive(), Some((at, Decisive::Answer(Fate::Error(_)))) if at < handed);
                let again = earlier(story.message.kind.clone()).count();
                let all = earlier(Kind::Initialize).count();
                let all_denied = all == earlier(Kind::Initialize).filter(denied).count();
                let right = !self.story.policy.initialised && again <= all.min(1) && all_denied;
                self.hold(right, Promise::P5, || "a handshake that nobody asked for".to_owned());
            }
            Kind::Initialized => {
                let right = earlier(&Kind::Initialize) && !earlier(&Kind::Initialized);
                self.hold(right, Promise::P5, || "a handshake's end without a handshake".to_owned());
            }
            Kind::Call(number) => {
                let called = self.story.calls.get(number).is_some_and(|call| call.begun < handed);
                self.hold(called, Promise::P5, || format!("call {number} was sent, and nobody made it"));
                let newer = before
                    .iter()
                    .any(|entry| matches!(entry.moment, Moment::Connecting(other) if other > connection));
                self.hold(!newer, Promise::P5, || {
                    format!("call {number} was sent on connection {connection}, which was replaced")
                });
            }
            Kind::List => {
                let asked = before.iter().any(|entry| matches!(entry.moment, Moment::Listing));
                self.hold(asked, Promise::P5, || "a list that nobody asked for".to_owned());
            }
            Kind::Response => {
                let asked = before.iter().filter(
                    |entry| matches!(&entry.moment, Moment::Told(on, _, Told::Request) if *on == connection),
                );
                let answered = self.story.messages.iter().filter(|other| {
                    other.handed <= handed
                        && other.message.connection == connection
                        && other.message.kind == Kind::Response
                });
                let right = answered.count() <= asked.count();
                self.hold(right, Promise::P5, || "an answer to nothing".to_owned());
            }
            Kind::Task(number) => self.asks_for_task(*number, handed),
            Kind::TaskCancel(number) => {
                let call = self.story.calls.get(number);
                let cancelled = call.is_some_and(|call| call.cancelled.is_some_and(|at| at < handed));
                self.hold(cancelled, Promise::P5, || {
                    format!("the task of call {number} was cancelled, which nobody asked for")
                });
            }
            Kind::Cancel(_) => {}
            Kind::Other(method) => self.broken(Promise::P5, format!("`{method}` was sent for no reason")),
        }
    }

    /// A task is asked for if the call is known to be one, while it is in flight or somebody wants to know.
    fn asks_for_task(&mut self, number: u32, handed: At) {
        let story = self.story;
        let Some(call) = story.calls.get(&number) else {
            return self.broken(Promise::P5, format!("a task of call {number}, which nobody made"));
        };
        let told = |attempt: &MessageStory<'_>| {
            attempt.fates.iter().any(|(told, fate)| *told < handed && **fate == Fate::Working)
        };
        let is_task = story.attempts(call).any(told);
        let in_flight = call.verdict.is_none_or(|(verdict, _)| verdict > handed);
        let wanted = story.log[..handed]
            .iter()
            .any(|entry| matches!(&entry.moment, Moment::Reconciling(other) if *other == number));
        self.hold(is_task && (in_flight || wanted), Promise::P5, || {
            format!("the task of call {number} was asked for, for no reason")
        });
    }

    fn closed(&self) -> Option<At> {
        self.story.log.iter().position(|entry| matches!(entry.moment, Moment::Closed))
    }

    /// One connection at a time is opened, only by whom it may be, and none is let go under a call.
    fn connections(&mut self) {
        let mut opening = BTreeSet::new();
        let mut over = BTreeSet::new();
        let closed = self.closed();
        let (mut connects, mut reconnects) = (0, 0);
        for (at, entry) in self.story.log.iter().enumerate() {
            match &entry.moment {
                Moment::Reconnecting => reconnects += 1,
                Moment::Connecting(number) => {
                    connects += 1;
                    let allowed = self.story.policy.owned || connects <= reconnects;
                    self.hold(allowed, Promise::P5, || {
                        "a connection that its owner did not ask for".to_owned()
                    });
                    self.hold(closed.is_none_or(|closed| at < closed), Promise::P5, || {
                        "a connection after close".to_owned()
                    });
                    self.hold(opening.is_empty(), Promise::P5, || {
                        "two connections are opened at once".to_owned()
                    });
                    self.hold(!self.is_coming_up(*number - 1, at), Promise::P5, || {
                        format!("connection {} was given up for another while it came up", number - 1)
                    });
                    opening.insert(*number);
                }
                Moment::Connected(number)
                | Moment::ConnectFailed(number, _)
                | Moment::ConnectDropped(number) => _ = opening.remove(number),
                Moment::Told(number, _, Told::Lost(_) | Told::End) => _ = over.insert(*number),
                Moment::Ended(number) => {
                    self.hold(self.story.policy.owned, Promise::P5, || {
                        "a connection was ended that somebody else owns".to_owned()
                    });
                    self.let_go(at, *number, &over);
                }
                Moment::Dropped(number) => self.let_go(at, *number, &over),
                _ => {}
            }
        }
    }

    /// Whether this connection, or its handshake, is still to be waited for, at `at`.
    fn is_coming_up(&self, connection: u32, at: At) -> bool {
        let story = self.story;
        let (mut begun, mut over) = (None, false);
        let first = self.first_of_try(connection, at);
        for entry in &story.log[..at] {
            match &entry.moment {
                Moment::Connecting(number) if *number == first => begun = Some(entry.at),
                Moment::ConnectFailed(number, _) | Moment::Told(number, _, Told::Lost(_) | Told::End) => {
                    over |= *number == connection;
                }
                _ => {}
            }
        }
        let on_it =
            |message: &&MessageStory<'_>| message.message.connection == connection && message.handed < at;
        // Of a question and `initialize`, the one that was asked last.
        let told = story.messages.iter().rfind(on_it).is_some_and(|message| {
            !matches!(message.message.kind, Kind::Discover | Kind::Initialize)
                || message.decisive().is_some_and(|(decided, _)| decided < at)
        });
        let limit = Duration::from_millis(CONNECT.into());
        let waits = begun.is_some_and(|begun| story.time(at) < begun + limit);
        waits && !over && !told && !story.policy.initialised
    }

    /// The connection on which a try to connect began: a question that ends it goes on on a fresh one, in what is
    /// left of the time.
    fn first_of_try(&self, connection: u32, at: At) -> u32 {
        let before = connection.saturating_sub(1);
        let mut asked = self
            .story
            .messages
            .iter()
            .filter(|message| message.message.connection == before && message.handed < at)
            // The server may ask something too, and is answered.
            .filter(|message| message.message.kind != Kind::Response)
            .peekable();
        let goes_on = asked.peek().is_some() && asked.all(|message| message.message.kind == Kind::Discover);
        if goes_on { before } else { connection }
    }

    /// A connection that lives is let go only for a reason, and never under a call.
    fn let_go(&mut self, at: At, connection: u32, over: &BTreeSet<u32>) {
        let story = self.story;
        let since = |other: At, message: &MessageStory<'_>| other > message.handed && other < at;
        if over.contains(&connection) {
            return;
        }
        for call in story.calls.values() {
            let Some(message) = story.last_source(call, at) else { continue };
            let here = message.message.connection == connection && message.handed < at;
            let waits =
                call.verdict.is_none_or(|(verdict, _)| verdict > at && story.time(verdict) > story.time(at))
                    && message.decisive().is_none_or(|(decided, _)| decided > at || message.goes_on());
            let asked = story.closing.is_some_and(|closing| closing < at)
                || story.reconnecting.iter().any(|other| since(*other, message));
            self.hold(!here || !waits || asked, Promise::P6, || {
                format!("connection {connection} was let go under call {}", call.call.number)
            });
        }
    }
}
