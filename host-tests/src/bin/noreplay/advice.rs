//! Warnings of this program's own, beside the component's: an answer, held against what its tool says that its
//! answers look like.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_tests::output_schema::OutputSchemas;
use host_tests::{CallId, ClientError, Outcome, ReadError, Session, Tool};

use crate::text;

/// What is known of a session's tools. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub(crate) struct Advice {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    tools: Tools,
    /// The tools of the calls whose outcome was unknown: an answer may still come.
    unknown: HashMap<CallId, String>,
}

#[derive(Default)]
enum Tools {
    /// Nobody asked for a list.
    #[default]
    NotListed,
    /// There should be a list, but there is none; why.
    NoList(String),
    Listed(Arc<OutputSchemas>),
}

impl Advice {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists the tools, for the sake of their answers.
    pub(crate) async fn list(&self, session: &Session) -> Result<(), ClientError> {
        let listed = session.list_tools().await?;
        if let Err(error) = &listed {
            self.state().tools = Tools::NoList(text::read_error(error));
        }
        self.learn(&listed);
        Ok(())
    }

    /// The tools were listed, if they were.
    pub(crate) fn learn(&self, listed: &Result<Vec<Tool>, ReadError>) {
        if let Ok(tools) = listed {
            self.state().tools = Tools::Listed(Arc::new(OutputSchemas::of(tools)));
        }
    }

    /// Adds to the warnings of an answer of `tool`, if it is one.
    pub(crate) fn on(&self, tool: &str, outcome: &mut Outcome) {
        let (Outcome::Ok(result) | Outcome::ToolError(result)) = outcome else {
            if let Outcome::UnknownOutcome(unknown) = outcome {
                self.state().unknown.insert(unknown.call, tool.to_owned());
            }
            return;
        };
        // Whoever else asks need not wait until this is checked.
        let warnings = match &self.state().tools {
            Tools::NotListed => return,
            Tools::NoList(why) => Err(format!(
                "the answer was not held against an outputSchema: there is no list of tools: {why}"
            )),
            Tools::Listed(schemas) => Ok(schemas.clone()),
        };
        match warnings {
            Ok(schemas) => {
                let warnings = schemas.warnings(tool, result);
                result.warnings.extend(warnings);
            }
            Err(warning) => result.warnings.push(warning),
        }
    }

    /// The same for an answer to a call whose outcome was unknown.
    pub(crate) fn on_late(&self, call: CallId, outcome: &mut Outcome) {
        let tool = self.state().unknown.get(&call).cloned();
        if let Some(tool) = tool {
            self.on(&tool, outcome);
        }
    }
}
