//! The task in which an instance lives.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use wasmtime::Store;

use super::{ClientError, Job};
use crate::bindings::McpClient;
use crate::host::Host;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// Drives one instance until it traps or nobody holds a handle to it any more, and tells its fate
/// before whoever still waits can miss it.
pub(super) async fn run(
    runtime: Runtime,
    transport: Arc<dyn Transport>,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    fate: watch::Sender<Option<ClientError>>,
) {
    let (mut store, watchdog) = runtime.store(transport);
    let error = watchdog
        .watch(async {
            let instance = match runtime.instantiate(&mut store).await {
                Ok(instance) => instance,
                Err(error) => return ClientError::Instantiation(error.into()),
            };
            match drive(&mut store, &instance, &mut jobs).await {
                Ok(()) => ClientError::Ended,
                Err(error) => ClientError::Trapped(error.into()),
            }
        })
        .await;
    fate.send_replace(Some(error));
}

/// Runs each job as it comes, beside all others and beside the instance's own tasks.
async fn drive(
    store: &mut Store<Host>,
    instance: &McpClient,
    jobs: &mut mpsc::UnboundedReceiver<Job>,
) -> wasmtime::Result<()> {
    let guest = instance.noreplay_mcp_client();
    store
        .run_concurrent(async |accessor| {
            let mut running = FuturesUnordered::new();
            loop {
                tokio::select! {
                    biased;
                    job = jobs.recv() => match job {
                        Some(job) => running.push(job(accessor, guest)),
                        None => return Ok(()),
                    },
                    Some(done) = running.next() => done?,
                }
            }
        })
        .await?
}
