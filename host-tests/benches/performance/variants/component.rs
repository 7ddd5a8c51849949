//! The component, pooled, in a host that does nothing but call it.

use std::sync::Arc;
use std::time::Duration;

use host_tests::bindings::McpClientPre;
use host_tests::host::{self, Host};
use host_tests::{COMPONENT, Outcome, ToolCall};
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreLimits};

use super::arguments;
use super::wire::Wire;
use crate::cell::Cell;

pub(super) async fn measure(cells: &[Cell]) -> wasmtime::Result<Vec<Duration>> {
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(PoolingAllocationConfig::default()));
    let engine = Engine::new(&config)?;
    let mut linker = Linker::new(&engine);
    host::add_to_linker(&mut linker)?;
    let component = Component::new(&engine, COMPONENT)?;
    let instances = McpClientPre::new(linker.instantiate_pre(&component)?)?;
    let mut store = Store::new(&engine, Host::new(Arc::new(Wire), StoreLimits::default()));
    let client = instances.instantiate_async(&mut store).await?;
    let guest = client.noreplay_mcp_client();
    let times = store
        .run_concurrent(async |store| -> wasmtime::Result<_> {
            let options = guest.call_default_options(store).await?;
            let session = guest.session().call_constructor(store, "echo".to_owned(), options).await?;
            let mut times = Vec::new();
            for cell in cells.iter().copied() {
                let arguments = arguments(cell);
                let time = cell.time(|| {
                    let call = ToolCall::new("echo").arguments(arguments.as_str());
                    async move {
                        match guest.session().call_call_tool(store, session, call).await {
                            Ok(Ok(Outcome::Ok(result))) if result.json.len() > cell.payload => {}
                            other => panic!("{other:?}"),
                        }
                    }
                });
                times.push(time.await);
            }
            Ok(times)
        })
        .await??;
    Ok(times)
}
