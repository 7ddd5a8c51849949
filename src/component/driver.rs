//! The one task that connects, receives and keeps time. It runs while there is a connection, a
//! deadline or an order, and no caller can cancel it.

use alloc::rc::Rc;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::prelude::*;
use crate::session::evidence::SendError;
use crate::session::time::Instant;
use crate::session::verdict::{Failure, Generation};
use crate::session::{Delivery, Incoming, Receipt};

use super::bindings::noreplay::mcp::transport::{self, Connection};
use super::bindings::wasi::clocks::monotonic_clock;
use super::convert;
use super::shared::{Order, Sending, Shared, now};

/// How long a connection may take to end in order.
const CLOSING: Duration = Duration::from_secs(5);

/// How many messages are taken in a row before the host, and other tasks, get their turn.
const IN_A_ROW: u32 = 64;

type Pending<T> = Pin<Box<dyn Future<Output = T>>>;
type Received = Result<Incoming, Failure>;

/// Works for a session until nothing is left to do.
pub(super) async fn drive(shared: Rc<Shared>) {
    let mut driver = Driver {
        shared,
        connecting: Vec::new(),
        receiving: Vec::new(),
        sending: Vec::new(),
        closing: Vec::new(),
        alarm: None,
    };
    poll_fn(|cx| driver.poll(cx)).await;
}

struct Driver {
    shared: Rc<Shared>,
    connecting: Vec<(Generation, Pending<Result<Connection, Failure>>)>,
    receiving: Vec<(Generation, Rc<Connection>, Pending<Received>)>,
    sending: Vec<(Receipt, Pending<Result<Delivery, SendError>>)>,
    closing: Vec<(Instant, Pending<()>)>,
    alarm: Option<(Instant, Pending<()>)>,
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut messages = 0;
        loop {
            let mut progress = self.take_orders(cx);
            progress |= self.poll_connecting(cx);
            progress |= self.poll_sending(cx);
            progress |= self.poll_receiving(cx, &mut messages);
            progress |= self.poll_closing(cx);
            progress |= self.poll_alarm(cx);
            if progress {
                continue;
            }
            if messages >= IN_A_ROW {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let idle = self.connecting.is_empty()
                && self.receiving.is_empty()
                && self.sending.is_empty()
                && self.closing.is_empty();
            if idle && self.shared.try_rest() {
                return Poll::Ready(());
            }
            return Poll::Pending;
        }
    }

    fn take_orders(&mut self, cx: &Context<'_>) -> bool {
        let orders = self.shared.take_orders(cx);
        let any = !orders.is_empty();
        for order in orders {
            match order {
                Order::Connect(generation) => {
                    let (endpoint, most) = (self.shared.endpoint.clone(), self.shared.max_message);
                    self.connecting.push((generation, Box::pin(transport::connect(endpoint, most))));
                }
                Order::Send(sending) => {
                    let receipt = sending.receipt;
                    self.sending.push((receipt, Box::pin(send(sending))));
                }
                Order::Disconnect(generation, connection) => {
                    self.let_go(generation);
                    if let Some(connection) = connection {
                        let close = async move { connection.close().await };
                        self.closing.push((now() + CLOSING, Box::pin(close)));
                    }
                }
            }
        }
        any
    }

    /// Drops whatever is under way on a connection. What a call sends on it, its own task drops.
    fn let_go(&mut self, generation: Generation) {
        self.connecting.retain(|(of, _)| *of != generation);
        self.receiving.retain(|(of, ..)| *of != generation);
        self.sending.retain(|(receipt, _)| receipt.generation != generation);
    }

    fn poll_connecting(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((generation, result)) = poll_any(&mut self.connecting, cx) else {
            return false;
        };
        let result = match result {
            Ok(connection) => {
                let connection = Rc::new(connection);
                self.shared.add_connection(generation, Rc::clone(&connection));
                let receive = receive(Rc::clone(&connection));
                self.receiving.push((generation, connection, Box::pin(receive)));
                Ok(())
            }
            Err(failure) => Err(failure),
        };
        self.shared.enter(|session| session.connected(now(), generation, result));
        true
    }

    fn poll_sending(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((receipt, result)) = poll_any(&mut self.sending, cx) else {
            return false;
        };
        self.shared.enter(|session| session.sent(now(), receipt, result));
        true
    }

    fn poll_receiving(&mut self, cx: &mut Context<'_>, messages: &mut u32) -> bool {
        if *messages >= IN_A_ROW {
            return false;
        }
        for index in 0..self.receiving.len() {
            let (generation, connection, pending) = &mut self.receiving[index];
            let Poll::Ready(received) = pending.as_mut().poll(cx) else {
                continue;
            };
            *messages += 1;
            let generation = *generation;
            if matches!(received, Ok(Incoming::End) | Err(_)) {
                drop(self.receiving.swap_remove(index));
            } else {
                *pending = Box::pin(receive(Rc::clone(connection)));
            }
            self.shared.enter(|session| {
                let now = now();
                session.received(now, generation, received);
                // A peer that never falls silent must not keep time from passing.
                if session.next_deadline().is_some_and(|next| next <= now) {
                    session.tick(now);
                }
            });
            return true;
        }
        false
    }

    fn poll_closing(&mut self, cx: &mut Context<'_>) -> bool {
        let before = self.closing.len();
        if before > 0 {
            let now = now();
            self.closing.retain_mut(|(until, close)| close.as_mut().poll(cx).is_pending() && *until > now);
        }
        self.closing.len() < before
    }

    /// Keeps an alarm set for the next deadline, or earlier: one that is too early costs one wake-up,
    /// a new one for every call would cost more.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some((at, pending)) = &mut self.alarm
            && pending.as_mut().poll(cx).is_ready()
        {
            // Never before the mark that was asked for, whatever the host's timer does.
            let now = now().max(*at);
            self.alarm = None;
            self.shared.enter(|session| session.tick(now));
        }
        let closing = self.closing.iter().map(|(until, _)| *until).min();
        let next = self.shared.look(|session| session.next_deadline());
        let Some(next) = [next, closing].into_iter().flatten().min() else {
            return false;
        };
        if self.alarm.as_ref().is_some_and(|(at, _)| *at <= next) {
            return false;
        }
        self.shared.alarm.set(Some(next));
        self.alarm = Some((next, Box::pin(monotonic_clock::wait_until(next.as_nanos()))));
        true
    }
}

/// Polls some futures, and takes out one that is ready.
fn poll_any<K: Copy, T>(futures: &mut Vec<(K, Pending<T>)>, cx: &mut Context<'_>) -> Option<(K, T)> {
    for index in 0..futures.len() {
        let (key, future) = &mut futures[index];
        if let Poll::Ready(result) = future.as_mut().poll(cx) {
            let key = *key;
            // In order: those behind it were asked for later.
            drop(futures.remove(index));
            return Some((key, result));
        }
    }
    None
}

/// Hands a message to the transport: it is moved, and gone.
pub(super) async fn send(sending: Sending) -> Result<Delivery, SendError> {
    let Sending { connection, message, .. } = sending;
    connection.send(convert::outgoing(message)).await.map(convert::delivery)
}

async fn receive(connection: Rc<Connection>) -> Received {
    connection.receive().await.map(convert::incoming)
}
