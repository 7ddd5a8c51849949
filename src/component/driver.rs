//! The one task that connects, receives and keeps time. It runs while there is a connection, a
//! deadline or an order, and no caller can cancel it.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;

use alloc::rc::Rc;

use crate::prelude::*;
use crate::session::Incoming;
use crate::session::time::Instant;
use crate::session::verdict::{Failure, Generation};

use super::bindings::noreplay::mcp::transport::{self, Connection};
use super::bindings::wasi::clocks::monotonic_clock;
use super::convert;
use super::sending::Sending;
use super::shared::{Order, Shared, now};

/// How long a connection may take to end in order.
const CLOSING: Duration = Duration::from_secs(5);

/// How many messages are taken in a row before the host, and other tasks, get their turn.
const IN_A_ROW: u32 = 64;

/// Works for a session until nothing is left to do.
pub(super) async fn drive(shared: Rc<Shared>) {
    let mut driver = Driver::new(shared);
    poll_fn(|cx| driver.poll(cx)).await;
}

struct Driver {
    shared: Rc<Shared>,
    /// Messages that the transport has not answered for, in the order in which it got them.
    sending: Vec<Sending>,
    /// Connections that come and go.
    jobs: Vec<Job>,
    /// One for each connection.
    receiving: Vec<Job>,
    alarm: Option<(Instant, Alarm)>,
}

type Alarm = Pin<Box<dyn Future<Output = ()>>>;

/// Something under way.
struct Job {
    /// The connection that it ends with.
    generation: Option<Generation>,
    work: Pin<Box<dyn Future<Output = Done>>>,
}

/// What a job came to.
enum Done {
    Connected(Generation, Result<Connection, Failure>),
    Received(Generation, Rc<Connection>, Result<Incoming, Failure>),
    Closed,
}

impl Job {
    fn new(generation: Option<Generation>, work: impl Future<Output = Done> + 'static) -> Self {
        Self { generation, work: Box::pin(work) }
    }
}

impl Driver {
    fn new(shared: Rc<Shared>) -> Self {
        Self { shared, sending: Vec::new(), jobs: Vec::new(), receiving: Vec::new(), alarm: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut messages = 0;
        while messages < IN_A_ROW {
            self.shared.carry_out();
            self.take_orders(cx);
            if self.poll_sending(cx) {
                continue;
            }
            let done = poll_any(&mut self.jobs, cx).or_else(|| poll_any(&mut self.receiving, cx));
            if let Some(done) = done {
                messages += u32::from(matches!(done, Done::Received(..)));
                self.done(done);
            } else if !self.poll_alarm(cx) {
                let idle = self.sending.is_empty() && self.jobs.is_empty() && self.receiving.is_empty();
                return if idle && self.shared.try_rest() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn take_orders(&mut self, cx: &Context<'_>) {
        for order in self.shared.take_orders(cx) {
            match order {
                Order::Connect(generation) => {
                    let (endpoint, most) = (self.shared.endpoint.clone(), self.shared.max_message);
                    let connect =
                        async move { Done::Connected(generation, transport::connect(endpoint, most).await) };
                    self.jobs.push(Job::new(Some(generation), connect));
                }
                Order::Send(sending) => self.sending.push(sending),
                Order::Disconnect(generation, connection) => {
                    self.let_go(generation);
                    self.jobs.extend(connection.map(|connection| Job::new(None, close(connection))));
                }
            }
        }
    }

    /// Sees to the messages that are under way. Tells whether the transport answered for one.
    fn poll_sending(&mut self, cx: &mut Context<'_>) -> bool {
        self.sending.retain(|sending| self.shared.is_out(sending.receipt));
        for index in 0..self.sending.len() {
            if let Poll::Ready(result) = self.sending[index].poll(cx) {
                // In order: those behind it were sent later.
                let receipt = self.sending.remove(index).receipt;
                self.shared.enter(|session| session.sent(now(), receipt, result));
                return true;
            }
        }
        false
    }

    /// Drops whatever is under way on a connection.
    fn let_go(&mut self, generation: Generation) {
        self.sending.retain(|sending| sending.receipt.generation != generation);
        self.jobs.retain(|job| job.generation != Some(generation));
        self.receiving.retain(|job| job.generation != Some(generation));
    }

    fn receive(&mut self, generation: Generation, connection: Rc<Connection>) {
        let receive = async move {
            let result = connection.receive().await.map(convert::incoming);
            Done::Received(generation, connection, result)
        };
        self.receiving.push(Job::new(Some(generation), receive));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Connected(generation, result) => {
                let result = result.map(|connection| {
                    let connection = Rc::new(connection);
                    self.shared.add_connection(generation, Rc::clone(&connection));
                    self.receive(generation, connection);
                });
                self.shared.enter(|session| session.connected(now(), generation, result));
            }
            Done::Received(generation, connection, result) => {
                if !matches!(result, Ok(Incoming::End) | Err(_)) {
                    self.receive(generation, connection);
                }
                self.shared.enter(|session| {
                    let now = now();
                    session.received(now, generation, result);
                    // A peer that never falls silent must not keep time from passing.
                    if session.next_deadline().is_some_and(|next| next <= now) {
                        session.tick(now);
                    }
                });
            }
            Done::Closed => {}
        }
    }

    /// Keeps an alarm set for the next deadline, or earlier: one that is too early costs one wake-up,
    /// a new one for every call would cost more. Tells whether anything happened.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some((at, alarm)) = &mut self.alarm
            && alarm.as_mut().poll(cx).is_ready()
        {
            // Never before the mark that was asked for, whatever the host's timer does.
            let now = now().max(*at);
            self.alarm = None;
            self.shared.alarm.set(None);
            self.shared.enter(|session| session.tick(now));
            return true;
        }
        let Some(next) = self.shared.look(|session| session.next_deadline()) else {
            return false;
        };
        if self.alarm.as_ref().is_some_and(|(at, _)| *at <= next) {
            return false;
        }
        self.shared.alarm.set(Some(next));
        self.alarm = Some((next, alarm(next)));
        true
    }
}

/// Polls some jobs, and takes out one that is done.
fn poll_any(jobs: &mut Vec<Job>, cx: &mut Context<'_>) -> Option<Done> {
    for index in 0..jobs.len() {
        if let Poll::Ready(done) = jobs[index].work.as_mut().poll(cx) {
            // In order: those behind it were asked for later.
            drop(jobs.remove(index));
            return Some(done);
        }
    }
    None
}

/// Ends a connection in order, if that does not take too long.
async fn close(connection: Rc<Connection>) -> Done {
    let mut close = pin!(connection.close());
    let mut patience = alarm(now() + CLOSING);
    poll_fn(|cx| {
        let over = close.as_mut().poll(cx).is_ready() || patience.as_mut().poll(cx).is_ready();
        if over { Poll::Ready(Done::Closed) } else { Poll::Pending }
    })
    .await
}

fn alarm(mark: Instant) -> Alarm {
    Box::pin(monotonic_clock::wait_until(mark.as_nanos()))
}
