//! What was asked for under which tag, and what was answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_tests::{CallId, NotExecuted, Outcome};
use tokio::sync::watch;

use super::command::Wrong;

/// What was answered.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A call's verdict.
    Call(Result<Outcome, NotExecuted>),
    /// Anything else.
    Other,
}

/// All tags of a session. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(super) struct Tags {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Each tag's answer, once it is known. The sender goes when none will come.
    answers: HashMap<String, Tag>,
    /// What was learned of calls whose outcome was unknown.
    learned: HashMap<CallId, Outcome>,
}

struct Tag {
    tell: Option<watch::Sender<Option<Answer>>>,
    answer: watch::Receiver<Option<Answer>>,
}

impl Tags {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a tag that was never used.
    pub(super) fn take(&self, tag: &str) -> Result<(), Wrong> {
        let mut state = self.state();
        if state.answers.contains_key(tag) {
            let words = format!("the tag {tag:?} was used before");
            return Err(Wrong::new(Some(tag), words));
        }
        let (tell, answer) = watch::channel(None);
        let tell = Some(tell);
        state.answers.insert(tag.to_owned(), Tag { tell, answer });
        Ok(())
    }

    pub(super) fn is_taken(&self, tag: &str) -> bool {
        self.state().answers.contains_key(tag)
    }

    /// Waits for the answer under `tag`. None if the tag was never used; what it waits for is none if
    /// none will come.
    pub(super) fn answer(&self, tag: &str) -> Option<impl Future<Output = Option<Answer>> + Send + use<>> {
        let mut answer = self.state().answers.get(tag)?.answer.clone();
        Some(async move {
            let known = answer.wait_for(Option::is_some).await;
            known.ok().and_then(|answer| answer.clone())
        })
    }

    /// The answer under `tag` is known.
    pub(super) fn answered(&self, tag: &str, answer: Answer) {
        if let Some(Tag { tell: Some(tell), .. }) = self.state().answers.get(tag) {
            tell.send_replace(Some(answer));
        }
    }

    /// No answer will come under `tag`.
    pub(super) fn gone(&self, tag: &str) {
        if let Some(tag) = self.state().answers.get_mut(tag) {
            tag.tell = None;
        }
    }

    /// The outcome of a call that was unknown is known now.
    pub(super) fn learn(&self, call: CallId, outcome: Outcome) {
        if !matches!(outcome, Outcome::UnknownOutcome(_)) {
            self.state().learned.insert(call, outcome);
        }
    }

    /// What was learned of a call whose outcome was unknown.
    pub(super) fn learned(&self, call: CallId) -> Option<Outcome> {
        self.state().learned.get(&call).cloned()
    }
}
