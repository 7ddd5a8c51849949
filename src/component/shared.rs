//! What the tasks of one session share.

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};

use crate::prelude::*;
use crate::protocol::message::Outgoing;
use crate::session::time::Instant;
use crate::session::verdict::{CallId, Generation};
use crate::session::{Action, Receipt, Resolution, Session, Ticket, What};
use crate::table::Table;

use super::bindings::noreplay::mcp::transport::Connection;
use super::bindings::wasi::clocks::monotonic_clock;
use super::driver;

/// The time.
pub(super) fn now() -> Instant {
    Instant::from_nanos(monotonic_clock::now())
}

/// A message on its way to the transport.
pub(super) struct Sending {
    pub(super) connection: Rc<Connection>,
    pub(super) receipt: Receipt,
    pub(super) message: Outgoing,
}

/// What the driver is asked to do.
pub(super) enum Order {
    Connect(Generation),
    Send(Sending),
    /// Let the connection go, if it is up; end it in order first, if asked to.
    Disconnect(Generation, Option<Rc<Connection>>),
}

/// Who waits: the task of a call, or of something else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Waiter {
    Call(CallId),
    Ticket(Ticket),
}

/// What a task waits for.
#[derive(Default)]
struct Slot {
    sending: Option<Sending>,
    resolution: Option<Resolution>,
    waker: Option<Waker>,
    /// Whoever waited went away. The resolution is still to come.
    forsaken: bool,
}

/// What a task finds.
pub(super) enum Step {
    Send(Sending),
    End(Resolution),
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
    /// may have to start the driver.
    pub(super) fn enter<T>(self: &Rc<Self>, step: impl FnOnce(&mut Session) -> T) -> T {
        let result = self.enter_from_sync(step);
        self.ensure_driver();
        result
    }

    fn ensure_driver(self: &Rc<Self>) {
        if !self.driving.get() && self.has_work() {
            self.driving.set(true);
            // Its end is of no interest to whoever starts it.
            drop(wit_bindgen::spawn_local(driver::drive(Rc::clone(self))));
        }
    }

    /// The same from a plain export, where no task can be started. There the driver runs already, or
    /// there is nothing for it to do: it runs while there is a connection or a deadline.
    pub(super) fn enter_from_sync<T>(&self, step: impl FnOnce(&mut Session) -> T) -> T {
        let result = step(&mut self.session.borrow_mut());
        self.carry_out();
        result
    }

    /// Looks at the session.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Session) -> T) -> T {
        look(&self.session.borrow())
    }

    fn has_work(&self) -> bool {
        !self.orders.borrow().is_empty() || self.look(Session::next_deadline).is_some()
    }

    fn carry_out(&self) {
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
            Action::Send { call, receipt, message } => {
                // A connection that is gone has told its calls so.
                let connection = self.connections.borrow().get(&receipt.generation).cloned()?;
                let sending = Sending { connection, receipt, message };
                let Some(call) = call else {
                    self.order(Order::Send(sending));
                    return None;
                };
                return self.tell(Waiter::Call(call), |slot| slot.sending = Some(sending));
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
                    | Resolution::Tools(ticket, _)
                    | Resolution::Reconcile(ticket, _) => Waiter::Ticket(*ticket),
                };
                return self.tell(waiter, |slot| slot.resolution = Some(resolution));
            }
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

    /// What a task is to do next.
    pub(super) fn poll(&self, cx: &mut Context<'_>, waiter: Waiter) -> Poll<Step> {
        let mut slots = self.slots.borrow_mut();
        // The end makes a message that was not given away yet needless.
        if let Some(resolution) = slots.get_mut(&waiter).and_then(|slot| slot.resolution.take()) {
            remove(&mut slots, waiter);
            return Poll::Ready(Step::End(resolution));
        }
        if let Some(sending) = take_in_turn(&mut slots, waiter) {
            return Poll::Ready(Step::Send(sending));
        }
        let waker = Some(cx.waker().clone());
        match slots.get_mut(&waiter) {
            Some(slot) => slot.waker = waker,
            None => _ = slots.insert(waiter, Slot { waker, ..Slot::default() }),
        }
        Poll::Pending
    }

    /// A task is gone. A call that it waited for was abandoned before; anything else goes on, and ends for
    /// nobody.
    pub(super) fn forget(&self, waiter: Waiter) {
        let mut slots = self.slots.borrow_mut();
        match slots.get_mut(&waiter) {
            Some(slot) if matches!(waiter, Waiter::Ticket(_)) && slot.resolution.is_none() => {
                slot.forsaken = true;
            }
            _ => remove(&mut slots, waiter),
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
        self.watchers.borrow_mut().take().into_iter().map(|(_, waker)| *waker)
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

    /// A connection is up.
    pub(super) fn add_connection(&self, generation: Generation, connection: Rc<Connection>) {
        self.connections.borrow_mut().insert(generation, connection);
    }
}

/// The message of a call, if it is the next to leave: tasks have their turns in any order, but ids rise
/// also on the wire.
fn take_in_turn(slots: &mut Table<Waiter, Slot>, waiter: Waiter) -> Option<Sending> {
    slots.get(&waiter)?.sending.as_ref()?;
    if next_to_send(slots) != Some(waiter) {
        return None;
    }
    let sending = slots.get_mut(&waiter)?.sending.take();
    wake_next_to_send(slots);
    sending
}

fn next_to_send(slots: &Table<Waiter, Slot>) -> Option<Waiter> {
    let sending = slots.iter().filter_map(|(waiter, slot)| {
        let What::Request(request) = slot.sending.as_ref()?.receipt.what else { return None };
        Some((request, *waiter))
    });
    sending.min().map(|(_, waiter)| waiter)
}

fn wake_next_to_send(slots: &mut Table<Waiter, Slot>) {
    let next = next_to_send(slots).and_then(|waiter| slots.get_mut(&waiter));
    if let Some(waker) = next.and_then(|slot| slot.waker.take()) {
        waker.wake();
    }
}

/// Removes a slot. If a message was left in it, the next one has its turn.
fn remove(slots: &mut Table<Waiter, Slot>, waiter: Waiter) {
    if slots.remove(&waiter).is_some_and(|slot| slot.sending.is_some()) {
        wake_next_to_send(slots);
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
