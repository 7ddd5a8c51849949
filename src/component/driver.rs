//! The one task that connects, receives and keeps time. It runs while there is a connection, a
//! deadline or an order, and no caller can cancel it.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use alloc::rc::Rc;

use crate::prelude::*;
use crate::session::time::Instant;
use crate::session::verdict::{Failure, FailureKind, Generation};

use super::asking::Questions;
use super::bindings::noreplay::mcp::transport::{Connection, Incoming};
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
    /// One for each connection, open or being opened.
    receiving: Vec<Receiving>,
    /// Connections that end in order.
    closing: Vec<Work<()>>,
    /// What the host has not answered yet.
    questions: Questions,
    alarm: Option<(Instant, Work<()>)>,
}

type Work<T> = Pin<Box<dyn Future<Output = T>>>;

/// A connection, of which the next that comes is awaited.
struct Receiving {
    generation: Generation,
    connection: Rc<Connection>,
    next: Work<Result<Incoming, Failure>>,
}

impl Receiving {
    fn new(generation: Generation, connection: Rc<Connection>) -> Self {
        Self { generation, next: receive(Rc::clone(&connection)), connection }
    }
}

impl Driver {
    fn new(shared: Rc<Shared>) -> Self {
        Self {
            shared,
            sending: Vec::new(),
            receiving: Vec::new(),
            closing: Vec::new(),
            questions: Questions::new(),
            alarm: None,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut messages = 0;
        while messages < IN_A_ROW {
            self.shared.carry_out();
            self.take_orders(cx);
            if self.poll_sending(cx) || self.poll_questions(cx) {
                continue;
            }
            if self.poll_receiving(cx) {
                messages += 1;
                continue;
            }
            self.closing.retain_mut(|closing| closing.as_mut().poll(cx).is_pending());
            if !self.poll_alarm(cx) {
                let idle = self.sending.is_empty() && self.receiving.is_empty() && self.closing.is_empty();
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
                    let connection = Connection::new(&self.shared.endpoint, self.shared.max_message);
                    self.receiving.push(Receiving::new(generation, Rc::new(connection)));
                }
                Order::Send(sending) => self.sending.push(sending),
                Order::Ask(asked, question) => self.questions.ask(asked, &self.shared.endpoint, question),
                Order::Withdraw(asked) => self.questions.withdraw(asked),
                Order::Disconnect(generation, connection) => {
                    self.let_go(generation);
                    self.closing.extend(connection.map(|connection| Box::pin(close(connection)) as Work<()>));
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

    /// Sees to the questions that are under way. Tells whether the host answered one.
    fn poll_questions(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((asked, answer)) = self.questions.poll(cx) else {
            return false;
        };
        self.shared.enter(|session| session.answered(now(), asked, answer));
        true
    }

    /// Drops whatever is under way on a connection.
    fn let_go(&mut self, generation: Generation) {
        self.sending.retain(|sending| sending.receipt.generation != generation);
        self.receiving.retain(|receiving| receiving.generation != generation);
    }

    /// Takes what one of the connections brings. Tells whether one did.
    fn poll_receiving(&mut self, cx: &mut Context<'_>) -> bool {
        for index in 0..self.receiving.len() {
            let Poll::Ready(result) = self.receiving[index].next.as_mut().poll(cx) else { continue };
            let Receiving { generation, connection, .. } = self.receiving.swap_remove(index);
            if !matches!(result, Ok(Incoming::End) | Err(_)) {
                self.receiving.push(Receiving::new(generation, Rc::clone(&connection)));
            }
            self.received(generation, connection, result);
            return true;
        }
        false
    }

    fn received(
        &mut self,
        generation: Generation,
        connection: Rc<Connection>,
        result: Result<Incoming, Failure>,
    ) {
        let is_open = self.shared.is_open(generation);
        let result = match result {
            Ok(Incoming::Opened) if !is_open => {
                self.shared.add_connection(generation, connection);
                return self.shared.enter(|session| session.connected(now(), generation, Ok(())));
            }
            Err(failure) if !is_open => {
                return self.shared.enter(|session| session.connected(now(), generation, Err(failure)));
            }
            Ok(Incoming::End) if !is_open => {
                let failure = Failure::new(FailureKind::Closed, "the connection ended before it was open");
                return self.shared.enter(|session| session.connected(now(), generation, Err(failure)));
            }
            Ok(incoming) => match convert::incoming(incoming) {
                Some(incoming) => Ok(incoming),
                None => return,
            },
            Err(failure) => Err(failure),
        };
        self.shared.enter(|session| {
            let now = now();
            session.received(now, generation, result);
            // A peer that never falls silent must not keep time from passing.
            if session.next_deadline().is_some_and(|next| next <= now) {
                session.tick(now);
            }
        });
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

/// What comes next on a connection. Boxed, so that there is one copy of its code.
fn receive(connection: Rc<Connection>) -> Work<Result<Incoming, Failure>> {
    Box::pin(async move { connection.receive().await })
}

/// Ends a connection in order, if that does not take too long.
async fn close(connection: Rc<Connection>) {
    connection.close();
    let mut next = receive(Rc::clone(&connection));
    let mut patience = alarm(now() + CLOSING);
    poll_fn(|cx| {
        for _ in 0..IN_A_ROW {
            match next.as_mut().poll(cx) {
                Poll::Ready(Ok(Incoming::End) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(_)) => next = receive(Rc::clone(&connection)),
                Poll::Pending => return patience.as_mut().poll(cx),
            }
        }
        cx.waker().wake_by_ref();
        patience.as_mut().poll(cx)
    })
    .await;
}

fn alarm(mark: Instant) -> Work<()> {
    Box::pin(monotonic_clock::wait_until(mark.as_nanos()))
}
