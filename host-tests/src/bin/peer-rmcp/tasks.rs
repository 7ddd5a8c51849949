//! Tasks of 2026-07-28, an extension: a call becomes one wherever its client can take it.

use std::sync::LazyLock;

use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CreateTaskResult};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskManager, TaskOptions};
use rmcp::{ErrorData, RoleServer};

use crate::Peer;

/// How often a client is to ask, in milliseconds.
const POLL: u64 = 100;

/// Over HTTP each request has a server of its own: its tasks outlive it.
pub(crate) static TASKS: LazyLock<TaskManager> = LazyLock::new(TaskManager::new);

/// Calls a tool, now or as a task.
pub(crate) async fn call(
    peer: &Peer,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let may_be_task = context.client_capabilities().is_some_and(|it| it.supports_tasks());
    if !may_be_task {
        return peer.tools().call(ToolCallContext::new(peer, request, context)).await;
    }
    let peer = peer.clone();
    let options = TaskOptions::new().with_poll_interval_ms(POLL);
    let task = TASKS.spawn(options, |_| {
        Box::pin(async move {
            match peer.tools().call(ToolCallContext::new(&peer, request, context)).await? {
                CallToolResponse::Complete(result) => Ok(result),
                _ => Err(ErrorData::internal_error("not a result", None).into()),
            }
        })
    });
    Ok(CallToolResponse::Task(CreateTaskResult::new(task)))
}
