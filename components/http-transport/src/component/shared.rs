//! What the tasks of one connection share.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use futures::channel::mpsc;
use futures::future::{AbortHandle, Abortable};
use futures::{SinkExt as _, StreamExt as _};
use noreplay::session::verdict::{Failure, FailureKind};

use crate::endpoint::Endpoint;

use super::bindings::exports::noreplay::mcp::transport::{Arrival, Incoming, LostAnswer};
use super::known::Known;

/// One connection: what is agreed with the server, and what comes from it.
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    pub(super) max_message: usize,
    pub(super) known: Rc<Known>,
    /// Where messages are posted to, if not to the endpoint: the way of 2024-11-05.
    pub(super) post_to: RefCell<Option<Endpoint>>,
    /// The session's id, once the server gave one.
    pub(super) session: RefCell<Option<String>>,
    /// The revision in force, as the client told it last.
    pub(super) revision: RefCell<Option<String>>,
    stage: Cell<Stage>,
    lost: RefCell<Option<Failure>>,
    sender: mpsc::Sender<Incoming>,
    inbox: RefCell<mpsc::Receiver<Incoming>>,
    receiver: RefCell<Option<Waker>>,
    exchanges: RefCell<HashMap<u64, AbortHandle>>,
    others: RefCell<Vec<AbortHandle>>,
}

/// Where a connection is between its beginning and its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Open,
    Closing,
    Over,
}

/// What comes next for whoever receives.
pub(super) enum Next {
    Incoming(Incoming),
    Lost(Failure),
    Closing,
}

impl Shared {
    pub(super) fn new(endpoint: Endpoint, max_message: u64, known: Rc<Known>) -> Rc<Self> {
        // Nothing waits in it beside what each task brings: a task goes on when its message was taken.
        let (sender, inbox) = mpsc::channel(0);
        Rc::new(Self {
            endpoint,
            max_message: usize::try_from(max_message).unwrap_or(usize::MAX),
            known,
            post_to: RefCell::default(),
            session: RefCell::default(),
            revision: RefCell::default(),
            stage: Cell::new(Stage::New),
            lost: RefCell::default(),
            sender,
            inbox: RefCell::new(inbox),
            receiver: RefCell::default(),
            exchanges: RefCell::default(),
            others: RefCell::default(),
        })
    }

    /// Whether it is still to be opened.
    pub(super) fn begins(&self) -> bool {
        self.stage.get() == Stage::New
    }

    /// It was opened, or could not be.
    pub(super) fn begun(&self, opened: bool) {
        if self.stage.get() == Stage::New {
            self.stage.set(if opened { Stage::Open } else { Stage::Over });
        }
    }

    /// Whether messages can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.stage.get() == Stage::Open
    }

    /// Starts the exchange of a request, or of another message.
    pub(super) fn spawn(
        self: &Rc<Self>,
        request: Option<u64>,
        task: impl Future<Output = ()> + 'static,
    ) -> AbortHandle {
        let (handle, registration) = AbortHandle::new_pair();
        match request {
            Some(request) => _ = self.exchanges.borrow_mut().insert(request, handle.clone()),
            None => {
                let mut others = self.others.borrow_mut();
                others.retain(|other| !other.is_aborted());
                others.push(handle.clone());
            }
        }
        let (ended, shared) = (handle.clone(), Rc::clone(self));
        let task = Abortable::new(task, registration);
        // It ends by itself, or by its handle.
        drop(wit_bindgen::spawn_local(async move {
            // Aborted or not, it is over.
            let _ = task.await;
            ended.abort();
            if let Some(request) = request {
                shared.exchanges.borrow_mut().remove(&request);
            }
        }));
        handle
    }

    /// Ends a request's exchange.
    pub(super) fn abandon(&self, request: u64) {
        if let Some(exchange) = self.exchanges.borrow_mut().remove(&request) {
            exchange.abort();
        }
    }

    /// Ends everything that is under way.
    pub(super) fn abandon_all(&self) {
        self.exchanges.take().into_values().for_each(|exchange| exchange.abort());
        self.others.take().into_iter().for_each(|other| other.abort());
    }

    /// Hands on what came, once whoever receives takes it.
    pub(super) async fn deliver(&self, incoming: Incoming) {
        // It fails only if nobody can receive any more.
        let _ = self.sender.clone().send(incoming).await;
    }

    pub(super) async fn message(&self, message: Vec<u8>, channel: Option<u64>) {
        self.deliver(Incoming::Message(Arrival { message, channel })).await;
    }

    pub(super) async fn answer_lost(&self, request: u64, failure: Failure) {
        self.deliver(Incoming::AnswerLost(LostAnswer { request, failure })).await;
    }

    /// The stream that all answers come on is gone.
    pub(super) fn lose(&self, failure: Failure) {
        self.stage.set(Stage::Over);
        self.lost.borrow_mut().get_or_insert(failure);
        self.wake_receiver();
    }

    /// Begins the end.
    pub(super) fn close(&self) {
        self.stage.set(Stage::Closing);
        self.wake_receiver();
    }

    fn wake_receiver(&self) {
        if let Some(receiver) = self.receiver.take() {
            receiver.wake();
        }
    }

    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        if self.stage.get() == Stage::Closing {
            return Poll::Ready(Next::Closing);
        }
        if let Poll::Ready(Some(incoming)) = self.inbox.borrow_mut().poll_next_unpin(cx) {
            return Poll::Ready(Next::Incoming(incoming));
        }
        if self.stage.get() == Stage::Over {
            return Poll::Ready(Next::Lost(self.lost.borrow().clone().unwrap_or_else(not_open)));
        }
        *self.receiver.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Nothing can be sent any more, or yet.
pub(super) fn not_open() -> Failure {
    Failure::new(FailureKind::Closed, "the connection is not open")
}
