//! What the tasks of one session share.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};

use crate::prelude::*;
use crate::session::interaction::{AskId, Question};
use crate::session::time::Instant;
use crate::session::verdict::{CallId, Generation};
use crate::session::{Action, Receipt, Resolution, Session, Ticket};
use crate::table::{Key, Table};

use super::bindings::noreplay::mcp::transport::Connection;
use super::bindings::wasi::clocks::monotonic_clock;
use super::driver;
use super::sending::Sending;

/// The time.
pub(super) fn now() -> Instant {
    Instant::from_nanos(monotonic_clock::now())
}

/// What the driver is asked to do.
pub(super) enum Order {
    Connect(Generation),
    /// See to a message that the transport has, but has not answered for yet.
    Send(Sending),
    /// Ask the host.
    Ask(AskId, Question),
    /// Take a question back, if it is under way.
    Withdraw(AskId),
    /// Let the connection go, if it is up; end it in order first, if asked to.
    Disconnect(Generation, Option<Rc<Connection>>),
}

/// Who waits: the task of a call, or of something else.
#[derive(Clone, Copy)]
pub(super) enum Waiter {
    Call(CallId),
    Ticket(Ticket),
}

/// The lowest bit tells which of the two it is.
impl Key for Waiter {
    fn number(self) -> u64 {
        match self {
            Self::Call(call) => call.number() << 1,
            Self::Ticket(ticket) => ticket.number() << 1 | 1,
        }
    }

    fn of(number: u64) -> Self {
        let id = number >> 1;
        if number & 1 == 0 { Self::Call(CallId::of(id)) } else { Self::Ticket(Ticket::of(id)) }
    }
}

/// What a task waits for.
#[derive(Default)]
struct Slot {
    resolution: Option<Resolution>,
    waker: Option<Waker>,
    /// Whoever waited went away. The resolution is still to come.
    forsaken: bool,
}

/// One session, and whoever works on it.
pub(super) struct Shared {
    pub(super) endpoint: String,
    pub(super) max_message: u64,
    session: RefCell<Session>,
    connections: RefCell<Table<Generation, Rc<Connection>>>,
    slots: RefCell<Table<Waiter, Slot>>,
    /// Those who wait for an event, or for the driver to rest, in the order in which they came.
    watchers: RefCell<Table<u64, Waker>>,
    watched: Cell<u64>,
    orders: RefCell<Vec<Order>>,
    driver: RefCell<Option<Waker>>,
    driving: Cell<bool>,
    /// When the driver wakes by itself.
    pub(super) alarm: Cell<Option<Instant>>,
}

impl Shared {
    pub(super) fn new(endpoint: String, max_message: u64, session: Session) -> Rc<Self> {
        Rc::new(Self {
            endpoint,
            max_message,
            session: RefCell::new(session),
            connections: RefCell::default(),
            slots: RefCell::default(),
            watchers: RefCell::default(),
            watched: Cell::new(0),
            orders: RefCell::default(),
            driver: RefCell::default(),
            driving: Cell::new(false),
            alarm: Cell::new(None),
        })
    }

    /// Enters the session, then carries out what it asks for. To be called within an async export: it
    /// hands messages to the transport, and may have to start the driver.
    pub(super) fn enter<T>(self: &Rc<Self>, step: impl FnOnce(&mut Session) -> T) -> T {
        let result = step(&mut self.session.borrow_mut());
        self.carry_out();
        if !self.driving.get() && self.has_work() {
            self.driving.set(true);
            // Its end is of no interest to whoever starts it.
            drop(wit_bindgen::spawn_local(driver::drive(Rc::clone(self))));
        }
        result
    }

    /// The same where nothing async can be called: the driver carries out what the session asks for. It
    /// runs already, or there is nothing to do: it runs while there is a connection or a deadline.
    pub(super) fn enter_from_sync<T>(&self, step: impl FnOnce(&mut Session) -> T) -> T {
        let result = step(&mut self.session.borrow_mut());
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
        result
    }

    /// Whether anybody waits for what becomes of a message.
    pub(super) fn is_out(&self, receipt: Receipt) -> bool {
        self.look(|session| session.is_out(receipt))
    }

    /// Looks at the session.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        look(&self.session.borrow())
    }

    fn has_work(&self) -> bool {
        !self.orders.borrow().is_empty() || self.look(Session::next_deadline).is_some()
    }

    /// Does what the session asks for. A message that it gives out is with the transport in the same
    /// breath, so that nothing can come between.
    pub(super) fn carry_out(&self) {
        let mut woken = Vec::new();
        loop {
            let action = self.session.borrow_mut().poll_action();
            match action {
                Some(action) => woken.extend(self.perform(action)),
                None => break,
            }
        }
        let next = self.look(Session::next_deadline);
        let late = next.is_some_and(|next| self.alarm.get().is_none_or(|alarm| alarm > next));
        if late || !self.orders.borrow().is_empty() {
            woken.extend(self.driver.take());
        }
        if self.look(|session| session.has_event() || !session.is_open()) {
            woken.extend(self.take_watchers());
        }
        woken.into_iter().for_each(Waker::wake);
    }

    /// Performs one action. Returns whom to wake.
    fn perform(&self, action: Action) -> Option<Waker> {
        match action {
            Action::Connect { generation } => self.order(Order::Connect(generation)),
            Action::Send { receipt, message, .. } => {
                // A connection that is gone has told its calls so.
                let connection = self.connections.borrow().get(&receipt.generation).cloned()?;
                let mut sending = Sending::new(receipt, connection, message);
                // The driver polls it again, with a waker of its own.
                match sending.poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(result) => self.session.borrow_mut().sent(now(), receipt, result),
                    Poll::Pending => self.order(Order::Send(sending)),
                }
            }
            Action::Abandon { generation, request } => {
                if let Some(connection) = self.connections.borrow().get(&generation) {
                    connection.abandon(request.0);
                }
            }
            Action::Disconnect { generation, orderly } => {
                let connection = self.connections.borrow_mut().remove(&generation);
                self.order(Order::Disconnect(generation, connection.filter(|_| orderly).map(|it| *it)));
            }
            Action::Resolve(resolution) => {
                let waiter = match &resolution {
                    Resolution::Call(call, _) => Waiter::Call(*call),
                    Resolution::Reconnect(ticket, _)
                    | Resolution::Read(ticket, _)
                    | Resolution::Reconcile(ticket, _) => Waiter::Ticket(*ticket),
                };
                return self.tell(waiter, |slot| slot.resolution = Some(resolution));
            }
            Action::Ask { asked, question } => self.order(Order::Ask(asked, question)),
            Action::Withdraw { asked } => self.order(Order::Withdraw(asked)),
        }
        None
    }

    /// Puts something into a slot. Returns whom to wake.
    fn tell(&self, waiter: Waiter, put: impl FnOnce(&mut Slot)) -> Option<Waker> {
        let mut slots = self.slots.borrow_mut();
        // The slot of a task that has not looked yet is made here.
        if !slots.contains(&waiter) {
            slots.insert(waiter, Slot::default());
        }
        let slot = slots.get_mut(&waiter)?;
        if slot.forsaken {
            slots.remove(&waiter);
            return None;
        }
        put(slot);
        slot.waker.take()
    }

    fn order(&self, order: Order) {
        self.orders.borrow_mut().push(order);
    }

    /// The end of what a task waits for.
    pub(super) fn poll(&self, cx: &mut Context<'_>, waiter: Waiter) -> Poll<Resolution> {
        let mut slots = self.slots.borrow_mut();
        if let Some(resolution) = slots.get_mut(&waiter).and_then(|slot| slot.resolution.take()) {
            slots.remove(&waiter);
            return Poll::Ready(resolution);
        }
        let waker = Some(cx.waker().clone());
        match slots.get_mut(&waiter) {
            Some(slot) => slot.waker = waker,
            None => _ = slots.insert(waiter, Slot { waker, ..Slot::default() }),
        }
        Poll::Pending
    }

    /// A task is gone. Its call is given up, with its message if the driver has not taken that yet; anything
    /// else goes on, and ends for nobody.
    pub(super) fn forget(&self, waiter: Waiter) {
        if let Waiter::Call(call) = waiter {
            self.enter_from_sync(|session| session.abandon(call));
            let of_use =
                |order: &Order| !matches!(order, Order::Send(sending) if !self.is_out(sending.receipt));
            self.orders.borrow_mut().retain(of_use);
        }
        let mut slots = self.slots.borrow_mut();
        match slots.get_mut(&waiter) {
            Some(slot) if matches!(waiter, Waiter::Ticket(_)) && slot.resolution.is_none() => {
                slot.forsaken = true;
            }
            _ => _ = slots.remove(&waiter),
        }
    }

    /// Waits until `look` finds something. It looks again when something happened that no slot is for.
    pub(super) async fn watch<T>(&self, mut look: impl FnMut() -> Option<T>) -> T {
        let watcher = Watcher { shared: self, number: self.watched.get() };
        self.watched.set(watcher.number + 1);
        poll_fn(|cx| match look() {
            Some(found) => Poll::Ready(found),
            None => {
                self.watchers.borrow_mut().insert(watcher.number, cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }

    fn take_watchers(&self) -> impl Iterator<Item = Waker> {
        self.watchers.borrow_mut().take().map(|(_, waker)| *waker)
    }

    /// Whether the driver has nothing left to do.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.driving.get()
    }

    /// The driver's orders; it is woken when there are more.
    pub(super) fn take_orders(&self, cx: &Context<'_>) -> Vec<Order> {
        *self.driver.borrow_mut() = Some(cx.waker().clone());
        self.orders.take()
    }

    /// The driver ends, unless there is something to do.
    pub(super) fn try_rest(&self) -> bool {
        if self.has_work() {
            return false;
        }
        self.driving.set(false);
        self.driver.take();
        self.alarm.set(None);
        self.take_watchers().for_each(Waker::wake);
        true
    }

    /// Whether a connection is up.
    pub(super) fn is_open(&self, generation: Generation) -> bool {
        self.connections.borrow().contains(&generation)
    }

    /// A connection is up.
    pub(super) fn add_connection(&self, generation: Generation, connection: Rc<Connection>) {
        self.connections.borrow_mut().insert(generation, connection);
    }
}

/// A task that watches. One that is cancelled is not kept.
struct Watcher<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.shared.watchers.borrow_mut().remove(&self.number);
    }
}
