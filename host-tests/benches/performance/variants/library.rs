//! The component, through the host library: an instance in a task of its own, and a handle to its session.

use std::time::Duration;

use host_tests::runtime::{Allocation, RuntimeOptions};
use host_tests::{COMPONENT, Outcome, Runtime, ToolCall};

use super::arguments;
use super::wire::Wire;
use crate::cell::Cell;

pub(super) async fn measure(cells: &[Cell]) -> wasmtime::Result<Vec<Duration>> {
    let options = RuntimeOptions { allocation: Allocation::Pooling(1), ..RuntimeOptions::default() };
    let client = Runtime::from_bytes(COMPONENT, options)?.client(Wire);
    let session = client.session("echo", client.default_options().await?).await?;
    let mut times = Vec::new();
    for cell in cells.iter().copied() {
        let arguments = arguments(cell);
        let session = &session;
        let time = cell.time(|| {
            let call = ToolCall::new("echo").arguments(arguments.as_str());
            async move {
                match session.call_tool(call).await {
                    Ok(Ok(Outcome::Ok(result))) if result.json.len() > cell.payload => {}
                    other => panic!("{other:?}"),
                }
            }
        });
        times.push(time.await);
    }
    Ok(times)
}
