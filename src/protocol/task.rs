//! What a server says of a task (2026-07-28, the extension `io.modelcontextprotocol/tasks`).

use super::json::{self, Raw};

/// Where a task is.
#[derive(Debug)]
pub enum Task<'a> {
    /// It goes on. It may be asked for again after so many milliseconds, if the server says how many.
    Working(Option<u64>),
    /// It waits for input that somebody must give.
    InputRequired(Option<u64>),
    /// It is done, with this result of the request that it was made of.
    Completed(Raw<'a>),
    /// It is done, with this JSON-RPC error.
    Failed(Raw<'a>),
    /// It was ended before it was done.
    Cancelled,
}

/// How long to wait before a task is asked for, if the server says so: milliseconds.
pub fn pause(task: Raw<'_>) -> Option<u64> {
    json::decimal(json::member(task.get(), "pollIntervalMs")?.get())
}

/// Reads the result of `tasks/get`; none if it is something else.
pub fn read(result: Raw<'_>) -> Option<Task<'_>> {
    let (mut status, mut payload, mut error) = (None, None, None);
    let object = json::members(result.get(), &mut |name, value| match name {
        "status" => status = Some(value.get()),
        "result" => payload = Some(value),
        "error" => error = Some(value),
        _ => {}
    });
    object.ok()?;
    Some(match status? {
        "\"working\"" => Task::Working(pause(result)),
        "\"input_required\"" => Task::InputRequired(pause(result)),
        "\"completed\"" => Task::Completed(payload?),
        "\"failed\"" => Task::Failed(error?),
        "\"cancelled\"" => Task::Cancelled,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    fn shown(json: &str) -> String {
        match read(Raw::parse(json).unwrap()) {
            Some(task) => format!("{task:?}"),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn a_task_is_what_its_status_says() {
        for (json, task) in [
            (r#"{"status":"working","pollIntervalMs":500}"#, "Working(Some(500))"),
            (r#"{"status":"working","result":{}}"#, "Working(None)"),
            (r#"{"status":"working","pollIntervalMs":-1}"#, "Working(None)"),
            (r#"{"status":"input_required","inputRequests":{}}"#, "InputRequired(None)"),
            (r#"{"result":{"content":[]},"status":"completed"}"#, "Completed(Raw(\"{\\\"content\\\":[]}\"))"),
            (r#"{"status":"failed","error":{"code":1}}"#, "Failed(Raw(\"{\\\"code\\\":1}\"))"),
            (r#"{"status":"cancelled","result":{}}"#, "Cancelled"),
        ] {
            assert_eq!(shown(json), task, "{json}");
        }
    }

    #[test]
    fn what_does_not_say_where_it_is_is_no_task() {
        for json in [
            "7",
            "{}",
            r#"{"content":[],"isError":false}"#,
            r#"{"status":"completed"}"#,
            r#"{"status":"failed","result":{}}"#,
            r#"{"status":"done","result":{}}"#,
            r#"{"status":7}"#,
        ] {
            assert_eq!(shown(json), "none", "{json}");
        }
    }
}
