//! The exported client: each method enters the session and waits for its resolution.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::session::evidence::SendError;
use crate::session::policy;
use crate::session::time::Instant;
use crate::session::verdict::{CallId, Verdict};
use crate::session::{Delivery, Ids, Receipt, Resolution, Session as Core, Ticket};

use super::bindings::exports::noreplay::mcp::client::{
    Event, Guest, GuestSession, NotExecuted, Options, Outcome, PendingCall, ReadError, Server,
    Tool, ToolCall, UnknownOutcome,
};
use super::convert;
use super::driver::send;
use super::shared::{CallStep, Shared, now};

thread_local! {
    /// The component's ids: no two of its sessions share one.
    static IDS: Ids = Ids::default();
}

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
        let options = convert::options_in(options, now());
        let max_message = u64::try_from(options.limits.message_bytes).unwrap_or(u64::MAX);
        let core = Core::new(options, IDS.with(Ids::clone));
        Self(Shared::new(endpoint, max_message, core))
    }

    async fn call_tool(&self, call: ToolCall) -> Result<Outcome, NotExecuted> {
        let call = convert::tool_call(call);
        let id = self
            .0
            .enter(|session| session.call(now(), call))
            .map_err(convert::not_executed)?;
        let waiting = WaitingCall {
            shared: &self.0,
            id,
            sending: None,
            done: false,
        };
        convert::verdict(waiting.verdict().await)
    }

    async fn list_tools(&self) -> Result<Vec<Tool>, ReadError> {
        match self
            .resolution(|session, now| session.list_tools(now))
            .await
        {
            Resolution::Tools(_, Ok(tools)) => Ok(tools.into_iter().map(convert::tool).collect()),
            Resolution::Tools(_, Err(error)) => Err(convert::read_error(error)),
            _ => Err(ReadError::Closed),
        }
    }

    async fn reconnect(&self) -> Result<Server, NotExecuted> {
        match self.resolution(|session, now| session.reconnect(now)).await {
            Resolution::Reconnect(_, Ok(server)) => Ok(convert::server(server)),
            Resolution::Reconnect(_, Err(reason)) => Err(convert::not_executed(reason)),
            _ => Err(NotExecuted::Closed),
        }
    }

    async fn reconcile(&self, call: u64, timeout_ms: u32) -> Option<Outcome> {
        let timeout = Duration::from_millis(timeout_ms.into());
        match self
            .resolution(|session, now| session.reconcile(now, CallId(call), timeout))
            .await
        {
            Resolution::Reconcile(_, outcome) => outcome.map(convert::outcome),
            _ => None,
        }
    }

    fn pending(&self) -> Vec<PendingCall> {
        self.0
            .look(Core::pending)
            .into_iter()
            .map(convert::pending_call)
            .collect()
    }

    fn unsettled(&self) -> Vec<UnknownOutcome> {
        self.0
            .look(Core::unsettled)
            .into_iter()
            .map(convert::unknown_outcome)
            .collect()
    }

    async fn next_event(&self) -> Option<Event> {
        let event = poll_fn(|cx| {
            if let Some(event) = self.0.enter(Core::poll_event) {
                return Poll::Ready(Some(event));
            }
            if !self.0.look(Core::is_open) {
                return Poll::Ready(None);
            }
            self.0.watch(cx);
            Poll::Pending
        });
        event.await.map(convert::event)
    }

    fn cancel(&self, call: u64) -> bool {
        self.0
            .enter_from_sync(|session| session.cancel(CallId(call)))
    }

    async fn close(&self) {
        self.0.enter(Core::close);
        poll_fn(|cx| {
            if self.0.is_at_rest() {
                return Poll::Ready(());
            }
            self.0.watch(cx);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.enter_from_sync(Core::close);
    }
}

impl Session {
    /// Enters the session for a ticket, and waits for its end.
    async fn resolution(&self, begin: impl FnOnce(&mut Core, Instant) -> Ticket) -> Resolution {
        let ticket = self.0.enter(|session| begin(session, now()));
        let waiting = WaitingTicket {
            shared: &self.0,
            ticket,
        };
        poll_fn(|cx| waiting.shared.poll_ticket(cx, waiting.ticket)).await
    }
}

/// Forgets its ticket when its task ends, or is cancelled.
struct WaitingTicket<'a> {
    shared: &'a Shared,
    ticket: Ticket,
}

impl Drop for WaitingTicket<'_> {
    fn drop(&mut self) {
        self.shared.forget_ticket(self.ticket);
    }
}

type Sent = Pin<Box<dyn Future<Output = Result<Delivery, SendError>>>>;

/// A call's own task. If it is cancelled before the verdict, so is the call.
struct WaitingCall<'a> {
    shared: &'a Rc<Shared>,
    id: CallId,
    sending: Option<(Receipt, Sent)>,
    done: bool,
}

impl WaitingCall<'_> {
    async fn verdict(mut self) -> Verdict {
        poll_fn(|cx| {
            loop {
                match self.shared.poll_call(cx, self.id) {
                    Poll::Ready(CallStep::Verdict(verdict)) => {
                        // What is still on its way is given up with the call.
                        self.sending = None;
                        self.done = true;
                        return Poll::Ready(verdict);
                    }
                    Poll::Ready(CallStep::Send(sending)) => {
                        self.sending = Some((sending.receipt, Box::pin(send(sending))));
                    }
                    Poll::Pending => {}
                }
                let Some((receipt, sending)) = &mut self.sending else {
                    return Poll::Pending;
                };
                let Poll::Ready(result) = sending.as_mut().poll(cx) else {
                    return Poll::Pending;
                };
                let receipt = *receipt;
                self.sending = None;
                self.shared
                    .enter(|session| session.sent(now(), receipt, result));
            }
        })
        .await
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.sending = None;
            self.shared.enter(|session| session.abandon(self.id));
            self.shared.forget_call(self.id);
        }
    }
}
