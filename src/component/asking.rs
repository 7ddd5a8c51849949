//! The questions that the host is asked, until it answers them. Whoever drops one takes it back.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::host::Hosted;
use crate::prelude::*;
use crate::protocol::capabilities::Capabilities;
use crate::session::interaction::{AskId, Question};
use crate::session::verdict::RpcError;

#[cfg(feature = "interactive")]
use super::bindings::noreplay::mcp::interaction as host;

type Answer = Result<String, RpcError>;

/// What the host answers for the server that `endpoint` names.
pub(super) fn capabilities(endpoint: &str) -> Capabilities {
    Capabilities::read(&host::capabilities(endpoint))
}

/// A question that is under way.
struct Asking {
    asked: AskId,
    answer: Pin<Box<dyn Future<Output = Answer>>>,
}

/// All of them.
pub(super) struct Questions(Option<Hosted<Vec<Asking>>>);

impl Questions {
    pub(super) fn new() -> Self {
        Self(Hosted::new(Vec::new))
    }

    /// The host gets the question with the next poll.
    pub(super) fn ask(&mut self, asked: AskId, endpoint: &str, question: Question) {
        if let Some(questions) = &mut self.0 {
            let answer = Box::pin(host::answer(endpoint.to_owned(), question));
            questions.push(Asking { asked, answer });
        }
    }

    /// Takes a question back, if it is under way.
    pub(super) fn withdraw(&mut self, asked: AskId) {
        if let Some(questions) = &mut self.0 {
            questions.retain(|asking| asking.asked != asked);
        }
    }

    /// The next that the host answered.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Option<(AskId, Answer)> {
        let questions = self.0.as_mut()?;
        for index in 0..questions.len() {
            if let Poll::Ready(answer) = questions[index].answer.as_mut().poll(cx) {
                return Some((questions.swap_remove(index).asked, answer));
            }
        }
        None
    }
}

/// The plain component has no such host.
#[cfg(not(feature = "interactive"))]
mod host {
    use super::{Answer, Question, String};

    pub(super) fn capabilities(_: &str) -> String {
        String::new()
    }

    pub(super) async fn answer(_: String, _: Question) -> Answer {
        core::future::pending().await
    }
}
