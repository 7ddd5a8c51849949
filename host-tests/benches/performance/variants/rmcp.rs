//! rmcp's native client.

use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::model::{CallToolRequestParams, ContentBlock, JsonObject};

use super::{arguments, server};
use crate::cell::Cell;

pub(super) async fn measure(cells: &[Cell]) -> wasmtime::Result<Vec<Duration>> {
    let client = ().serve(server()).await?;
    let mut times = Vec::new();
    for cell in cells.iter().copied() {
        let arguments: JsonObject = serde_json::from_str(&arguments(cell))?;
        let client = &client;
        let time = cell.time(|| {
            let call = CallToolRequestParams::new("echo").with_arguments(arguments.clone());
            async move {
                match client.call_tool(call).await {
                    Ok(result) => {
                        let [ContentBlock::Text(text)] = result.content.as_slice() else {
                            panic!("{result:?}")
                        };
                        assert!(text.text.len() > cell.payload / 2);
                    }
                    other => panic!("{other:?}"),
                }
            }
        });
        times.push(time.await);
    }
    Ok(times)
}
