//! Runs a case: makes the moves, and writes down what comes of them. Once an operation hangs, no further move
//! is made.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::case::{Case, Move, Sign};
use super::log::{Event, Log, Operation, Record};
use super::peer::{Did, Peer};
use super::text::Text;
use super::weight::weight;
use super::{MAX_MESSAGE, REVISION};
use crate::transport::{Connection, Outgoing, Transport};

/// How often the peer is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// For how long a peer that does not come on is taken to be stalled.
const STALL: Duration = Duration::from_millis(150);

/// How long a peer may take to begin.
const BIRTH: Duration = Duration::from_millis(300);

/// Runs `case` against `peer`. Nothing is waited for longer than `patience`.
pub(super) async fn drive(
    case: &Case,
    peer: &impl Peer,
    transport: &dyn Transport,
    patience: Duration,
) -> io::Result<Record> {
    let log = Log::default();
    log.add(Event::Connecting);
    match timeout(patience, transport.connect(&peer.endpoint(), MAX_MESSAGE)).await {
        Err(_) => log.add(Event::Hung(Operation::Connect)),
        Ok(Err(failure)) => log.add(Event::NotConnected(failure)),
        Ok(Ok(connection)) => {
            log.add(Event::Connected);
            let mut driver = Driver {
                connection: Some(connection),
                log: log.clone(),
                peer,
                patience,
                sends: Vec::new(),
                listener: None,
                came: 0,
                weight: 0,
            };
            for next in &case.moves {
                if let Err(stop) = driver.make(*next).await {
                    stop.note(&log)?;
                    break;
                }
            }
            driver.end().await?;
        }
    }
    Ok(Record { entries: log.take(), deeds: peer.deeds()?, received: peer.received()? })
}

/// Why no further move is made.
enum Stop {
    Hung(Operation),
    /// There is no connection, or an earlier move ended it.
    Over,
    Record(io::Error),
}

impl Stop {
    fn note(self, log: &Log) -> io::Result<()> {
        match self {
            Stop::Hung(operation) => log.add(Event::Hung(operation)),
            Stop::Over => {}
            Stop::Record(error) => return Err(error),
        }
        Ok(())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Record(error)
    }
}

struct Driver<'a, P> {
    connection: Option<Arc<dyn Connection>>,
    log: Log,
    peer: &'a P,
    patience: Duration,
    sends: Vec<(Text, JoinHandle<()>)>,
    listener: Option<JoinHandle<()>>,
    /// How much came, by `receive`s that were waited for.
    came: u64,
    /// What this process weighed when it was last weighed.
    weight: u64,
}

impl<P: Peer> Driver<'_, P> {
    fn connection(&self) -> Result<&Arc<dyn Connection>, Stop> {
        self.connection.as_ref().ok_or(Stop::Over)
    }

    async fn make(&mut self, next: Move) -> Result<(), Stop> {
        match next {
            Move::Send(text) => self.send(text)?,
            Move::Disown(text) => {
                drop(self.connection()?.send(outgoing(text)));
                self.log.add(Event::Disowned(text));
            }
            Move::GiveUp => {
                for (text, send) in self.sends.drain(..) {
                    send.abort();
                    if send.await.is_err() {
                        self.log.add(Event::GaveUp(text));
                    }
                }
            }
            Move::Settle => self.settle().await?,
            Move::Receive(count) => while self.came < count && !self.receive().await? {},
            Move::Drain => {
                while !self.receive().await? {}
                self.receive().await?;
            }
            Move::Listen => {
                let connection = Arc::downgrade(self.connection()?);
                self.listener = Some(tokio::spawn(listen(connection, self.log.clone())));
            }
            Move::Peek(time, times) => self.peek(Duration::from_millis(time), times).await?,
            Move::Watch(sign) => self.watch(sign).await?,
            Move::Stall => self.stall().await?,
            Move::Weigh => {
                let (before, now) = (self.weight, weight());
                if before > 0 {
                    self.log.add(Event::Grew(now.saturating_sub(before)));
                }
                self.weight = now;
            }
            Move::Abandon(request) => {
                self.connection()?.abandon(request);
                self.log.add(Event::Abandoned(request));
            }
            Move::Pause(time) => sleep(Duration::from_millis(time)).await,
            Move::Close => {
                self.log.add(Event::Closing);
                let closing = self.connection()?.close();
                timeout(self.patience, closing).await.map_err(|_| Stop::Hung(Operation::Close))?;
                self.log.add(Event::Closed);
            }
            Move::Drop => {
                // First, since what happens while it is dropped is of our doing.
                self.log.add(Event::Dropped);
                self.connection = None;
            }
        }
        Ok(())
    }

    /// Begins to send. The message has its place in the order once this returns.
    fn send(&mut self, text: Text) -> Result<(), Stop> {
        self.log.add(Event::Sending(text));
        let sending = self.connection()?.send(outgoing(text));
        let log = self.log.clone();
        let send = tokio::spawn(async move {
            let result = sending.await;
            log.add(Event::Sent(text, result));
        });
        self.sends.push((text, send));
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), Stop> {
        let until = Instant::now() + self.patience;
        for (text, mut send) in self.sends.drain(..) {
            if tokio::time::timeout_at(until, &mut send).await.is_err() {
                send.abort();
                return Err(Stop::Hung(Operation::Send(text)));
            }
        }
        Ok(())
    }

    /// Receives once. True if that is the end.
    async fn receive(&mut self) -> Result<bool, Stop> {
        self.log.add(Event::Receiving);
        let came = timeout(self.patience, self.connection()?.receive()).await;
        let event = Event::Came(came.map_err(|_| Stop::Hung(Operation::Receive))?);
        let end = event.is_end();
        self.log.add(event);
        self.came += 1;
        Ok(end)
    }

    async fn peek(&mut self, time: Duration, times: u32) -> Result<(), Stop> {
        for _ in 0..times {
            self.log.add(Event::Receiving);
            if let Ok(came) = timeout(time, self.connection()?.receive()).await {
                self.log.add(Event::Came(came));
                self.came += 1;
            }
        }
        Ok(())
    }

    async fn watch(&mut self, sign: Sign) -> Result<(), Stop> {
        let until = Instant::now() + self.patience;
        while !self.sees(sign)? {
            if Instant::now() > until {
                return Err(Stop::Hung(Operation::Peer));
            }
            sleep(LOOK).await;
        }
        self.log.add(Event::Saw(sign));
        Ok(())
    }

    fn sees(&self, sign: Sign) -> io::Result<bool> {
        let deeds = self.peer.deeds()?;
        let did = |is: fn(&Did) -> bool| deeds.iter().any(|deed| is(&deed.did));
        Ok(match sign {
            Sign::StoppedReading => did(|did| matches!(did, Did::StopReading)),
            Sign::StoppedWriting => did(|did| matches!(did, Did::StopWriting)),
            Sign::Exits => did(|did| matches!(did, Did::Exit(_))),
            Sign::Gone => !deeds.is_empty() && self.peer.remains()? == 0,
        })
    }

    async fn stall(&mut self) -> Result<(), Stop> {
        let (mut count, mut since) = (0, Instant::now());
        loop {
            let deeds = self.peer.deeds()?;
            if deeds.iter().any(|deed| matches!(deed.did, Did::Exit(_))) {
                self.log.add(Event::Stalled { all: true });
                return Ok(());
            }
            if deeds.len() != count {
                (count, since) = (deeds.len(), Instant::now());
            } else if count > 0 && since.elapsed() > STALL {
                self.log.add(Event::Stalled { all: false });
                return Ok(());
            }
            sleep(LOOK).await;
        }
    }

    /// Lets the connection go. What is under way must end, and the peer with it.
    async fn end(mut self) -> io::Result<()> {
        if self.connection.is_some() {
            self.log.add(Event::Dropped);
            self.connection = None;
        }
        if let Err(stop) = self.settle().await {
            stop.note(&self.log)?;
        }
        if let Some(mut listener) = self.listener.take()
            && timeout(self.patience, &mut listener).await.is_err()
        {
            listener.abort();
            self.log.add(Event::Hung(Operation::Receive));
        }
        let (begun, until) = (Instant::now(), Instant::now() + self.patience);
        loop {
            match self.peer.remains()? {
                // What has no record may still be about to begin.
                0 if begun.elapsed() > BIRTH || !self.peer.deeds()?.is_empty() => return Ok(()),
                0 => sleep(LOOK).await,
                left if Instant::now() > until => {
                    self.log.add(Event::Left(left));
                    return Ok(());
                }
                _ => sleep(LOOK).await,
            }
        }
    }
}

/// Receives until the end. The connection is not held meanwhile, so that it can be dropped.
async fn listen(connection: Weak<dyn Connection>, log: Log) {
    log.add(Event::Receiving);
    while let Some(receiving) = connection.upgrade().map(|connection| connection.receive()) {
        let event = Event::Came(receiving.await);
        let end = event.is_end();
        log.add(event);
        if end {
            return;
        }
    }
}

fn outgoing(text: Text) -> Outgoing {
    Outgoing {
        message: text.request(),
        method: "tools/call".into(),
        request: Some(text.id),
        protocol_version: Some(REVISION.into()),
        headers: Vec::new(),
    }
}
