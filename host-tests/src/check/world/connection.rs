//! The client's end of a connection.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::sleep;

use super::super::moment::{Kind, Meaning, Message, MessageIndex, Moment, Told};
use super::course::{Course, Return, Says};
use super::line::Line;
use super::read::{self, Read};
use super::{Unfinished, World, server};
use crate::ledger::Audit;
use crate::transport::{BoxFuture, Connection, Delivery, Incoming, Outgoing, SendError};
use crate::{Failure, FailureKind};

/// One connection, as the client holds it.
pub(super) struct WorldConnection {
    world: World,
    line: Arc<Line>,
    audit: Mutex<Audit>,
}

impl WorldConnection {
    pub(super) fn new(world: World, line: Arc<Line>) -> WorldConnection {
        let audit = Mutex::new(Audit::new(world.0.initialised));
        WorldConnection { world, line, audit }
    }

    /// Takes a message in: notes it, with what is wrong with it.
    fn take(&self, outgoing: &Outgoing) -> (Message, Read) {
        let mut wrong = self.audit.lock().unwrap_or_else(PoisonError::into_inner).message(outgoing);
        let read = read::message(&outgoing.message);
        let revision = outgoing.protocol_version.as_deref();
        let asks = matches!(read.kind, Kind::Discover | Kind::Initialize);
        if !asks && revision.is_some_and(|said| said != self.world.setting().revision) {
            wrong.push("not the revision in force".to_owned());
        }
        wrong.extend(read::unmarked(outgoing, &read).map(str::to_owned));
        if let Kind::Call(number) = read.kind
            && let Some(call) = self.world.state().calls.get(&number)
        {
            wrong.extend(read::altered(&outgoing.message, call));
        }
        let message = self.world.hand(|index| Message {
            index,
            connection: self.line.number,
            request: outgoing.request,
            kind: read.kind.clone(),
            state: read.state.clone(),
            wrong,
        });
        (message, read)
    }

    /// What the end of a `send` means for its message.
    fn meaning(&self, says: Says, result: &Result<Delivery, SendError>, own: &str) -> Meaning {
        match (says, result) {
            (Says::Nothing, _) => Meaning::Nothing,
            (Says::Proof(grade), _) => Meaning::Proof(grade),
            (Says::Result, _) => Meaning::Answer(read::result(own)),
            (Says::Error, Err(SendError::Refused(refusal))) => Meaning::Answer(read::error(&refusal.body)),
            (Says::Error | Says::Unknown, _) => Meaning::Unknown,
        }
    }

    fn returns(
        &self,
        index: MessageIndex,
        result: Result<Delivery, SendError>,
        meaning: Meaning,
    ) -> Result<Delivery, SendError> {
        self.world.note(Moment::Returned(index, result.clone(), meaning));
        result
    }
}

impl Connection for WorldConnection {
    fn send(&self, outgoing: Outgoing) -> BoxFuture<'static, Result<Delivery, SendError>> {
        let fault = self.world.send_fault();
        let (message, read) = self.take(&outgoing);
        let index = message.index;
        if self.line.is_over() {
            let failure = self.world.failure(FailureKind::Closed);
            let proof = Meaning::Proof(super::super::refusal::Grade::A);
            let result = self.returns(index, Err(SendError::NotSent(failure)), proof);
            return Box::pin(async { result });
        }
        let own = server::result(&self.world, &message, &read);
        let course = Course::of(&self.world, fault.as_ref(), message.request, read.token.is_some(), &own);
        if course.progress {
            server::progress(&self.world, &self.line, &message, &read);
        }
        let asked = Arc::new(server::Asked { message, read, result: own.clone(), answered: course.answered });
        for delay in course.arrives {
            server::arrives(&self.world, &self.line, &asked, delay);
        }
        if course.lost {
            self.line.finish(Err(self.world.failure(FailureKind::ConnectionReset)));
        }
        let (delay, result, says) = match course.returns {
            Return::Never => {
                let dropped = Unfinished::new(&self.world, Moment::SendDropped(index));
                return Box::pin(async move {
                    let _dropped = dropped;
                    std::future::pending().await
                });
            }
            Return::After(delay, result, says) => (delay, result, says),
        };
        let meaning = self.meaning(says, &result, &own);
        if delay.is_zero() {
            let result = self.returns(index, result, meaning);
            return Box::pin(async { result });
        }
        let world = self.world.clone();
        let dropped = Unfinished::new(&world, Moment::SendDropped(index));
        Box::pin(async move {
            sleep(delay).await;
            dropped.finish();
            world.note(Moment::Returned(index, result.clone(), meaning));
            result
        })
    }

    fn receive(&self) -> BoxFuture<'static, Result<Incoming, Failure>> {
        let (world, line) = (self.world.clone(), self.line.clone());
        Box::pin(async move {
            let (incoming, told) = line.next().await;
            let channel = channel_of(&incoming);
            // A flood would drown everything else.
            if !matches!(&told, Told::Noise(text) if text.is_empty()) {
                world.note(Moment::Told(line.number, channel, told));
            }
            incoming
        })
    }

    fn abandon(&self, request: u64) {
        self.world.note(Moment::Abandoned(self.line.number, request));
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner).close();
        self.world.note(Moment::Ended(self.line.number));
        self.line.finish(Ok(()));
        Box::pin(async {})
    }
}

/// The request on whose own channel something came.
fn channel_of(incoming: &Result<Incoming, Failure>) -> Option<u64> {
    match incoming {
        Ok(Incoming::Message(arrival)) => arrival.channel,
        Ok(Incoming::TooLarge(oversized)) => oversized.channel,
        _ => None,
    }
}

impl Drop for WorldConnection {
    fn drop(&mut self) {
        self.line.finish(Err(Failure::closed("the client let the connection go")));
        self.line.forget();
        self.world.note(Moment::Dropped(self.line.number));
    }
}
