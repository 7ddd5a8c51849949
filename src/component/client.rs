//! The exported client: each method enters the session and waits for its resolution.

use alloc::rc::Rc;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use crate::prelude::*;
use crate::protocol::handshake::Server;
use crate::protocol::list::{Entry, Listing};
use crate::session::event::Event;
use crate::session::policy;
use crate::session::reads::{Answer, Read};
use crate::session::verdict::{CallId, NotExecuted, Outcome, ReadError};
use crate::session::{Ids, PendingCall, Resolution, Session as Core};

use super::asking;
use super::bindings::exports::noreplay::mcp::client::{Guest, GuestSession, Options, Query, ToolCall};
use super::convert;
use super::shared::{Shared, Waiter, now};

/// The component's ids: no two of its sessions share one.
static IDS: Ids = Ids::new();

/// The component.
pub(super) struct Component;

impl Guest for Component {
    type Session = Session;

    fn default_options() -> Options {
        convert::options_out(policy::Options::default())
    }
}

/// The exported resource.
pub(super) struct Session(Rc<Shared>);

impl GuestSession for Session {
    fn new(endpoint: String, options: Options) -> Self {
        let mut options = convert::options_in(options, now());
        options.capabilities = asking::capabilities(&endpoint);
        let max_message = u64::try_from(options.limits.message_bytes).unwrap_or(u64::MAX);
        let core = Core::new(options, &IDS);
        Self(Shared::new(endpoint, max_message, core))
    }

    // With `self` a call is sixteen plain values, as many as travel without memory of their own: that of
    // one more is never freed in an asynchronous export (wit-bindgen 0.63).
    async fn call_tool(&self, call: ToolCall) -> Result<Outcome, NotExecuted> {
        let call = convert::tool_call(call);
        let id = self.0.enter(|session| session.call(now(), call))?;
        match self.end_of(Waiter::Call(id)).await {
            Resolution::Call(_, verdict) => verdict,
            _ => Err(NotExecuted::Closed),
        }
    }

    async fn list_tools(&self) -> Result<Vec<Entry>, ReadError> {
        self.read_it(Read::List(Listing::Tools)).await.map(|answer| match answer {
            Answer::List(tools) => tools,
            Answer::Json(_) => Vec::new(),
        })
    }

    async fn read(&self, what: Query) -> Result<String, ReadError> {
        self.read_it(convert::read(what)).await.map(Answer::into_json)
    }

    async fn reconnect(&self) -> Result<Server, NotExecuted> {
        let ticket = self.0.enter(|session| session.reconnect(now()));
        match self.end_of(Waiter::Ticket(ticket)).await {
            Resolution::Reconnect(_, server) => server,
            _ => Err(NotExecuted::Closed),
        }
    }

    async fn reconcile(&self, call: u64, timeout_ms: u32) -> Option<Outcome> {
        let timeout = Duration::from_millis(timeout_ms.into());
        let ticket = self.0.enter(|session| session.reconcile(now(), CallId(call), timeout));
        match self.end_of(Waiter::Ticket(ticket)).await {
            Resolution::Reconcile(_, outcome) => outcome,
            _ => None,
        }
    }

    fn pending(&self) -> Vec<PendingCall> {
        self.0.look(Core::open_calls)
    }

    async fn next_event(&self) -> Option<Event> {
        let event = self.0.watch(|| match self.0.enter(Core::poll_event) {
            None if self.0.look(Core::is_open) => None,
            event => Some(event),
        });
        event.await
    }

    fn cancel(&self, call: u64) -> bool {
        self.0.enter_from_sync(|session| session.cancel(CallId(call)))
    }

    async fn close(&self) {
        self.0.enter(Core::close);
        self.0.watch(|| self.0.is_at_rest().then_some(())).await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.enter_from_sync(Core::close);
    }
}

impl Session {
    /// Boxed, so that the exports share its code.
    fn read_it(&self, read: Read) -> Pin<Box<dyn Future<Output = Result<Answer, ReadError>> + '_>> {
        Box::pin(async move {
            let ticket = self.0.enter(|session| session.read(now(), read));
            match self.end_of(Waiter::Ticket(ticket)).await {
                Resolution::Read(_, read) => read,
                _ => Err(ReadError::Closed),
            }
        })
    }

    /// The end of what a task waits for. Boxed, so that the exports share its code.
    fn end_of(&self, waiter: Waiter) -> Pin<Box<dyn Future<Output = Resolution> + '_>> {
        let mut waiting = Waiting { shared: &self.0, waiter, done: false };
        Box::pin(poll_fn(move |cx| waiting.poll(cx)))
    }
}

/// A task that waits. If it is cancelled before the end, so is its call.
struct Waiting<'a> {
    shared: &'a Shared,
    waiter: Waiter,
    done: bool,
}

impl Waiting<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Resolution> {
        let resolution = self.shared.poll(cx, self.waiter);
        self.done = resolution.is_ready();
        resolution
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.shared.forget(self.waiter);
        }
    }
}
