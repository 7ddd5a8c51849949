//! The task in which an instance lives.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};
use wasmtime::Store;

use super::Job;
use crate::ClientError;
use crate::host::Host;
use crate::runtime::{Compiled, Exports};

/// Drives one instance until it traps or nobody holds a handle to it any more, and tells its fate
/// before whoever still waits can miss it.
pub(super) async fn run<E: Exports>(
    compiled: Arc<Compiled<E>>,
    host: Host,
    mut jobs: mpsc::UnboundedReceiver<Job<E::Guest>>,
    fate: watch::Sender<Option<ClientError>>,
) {
    let (mut store, watchdog) = compiled.store(host);
    let error = watchdog
        .watch(async {
            let guest = match compiled.instantiate(&mut store).await {
                Ok(guest) => guest,
                Err(error) => return ClientError::Instantiation(error.into()),
            };
            match drive(&mut store, &guest, &mut jobs).await {
                Ok(()) => ClientError::Ended,
                Err(error) => ClientError::Trapped(error.into()),
            }
        })
        .await;
    fate.send_replace(Some(error));
}

/// Runs each job as it comes, beside all others and beside the instance's own tasks.
async fn drive<G: Send + Sync>(
    store: &mut Store<Host>,
    guest: &G,
    jobs: &mut mpsc::UnboundedReceiver<Job<G>>,
) -> wasmtime::Result<()> {
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
