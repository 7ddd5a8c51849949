//! The component's clock, `wasi:clocks/monotonic-clock`, over tokio's: where a test pauses tokio's
//! time, the component lives in virtual time too.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use wasmtime::component::Accessor;

use crate::bindings::wasi::clocks::{monotonic_clock, types};
use crate::host::{Host, Imports};

/// What tokio's timers resolve, in nanoseconds.
const RESOLUTION: u64 = 1_000_000;

impl types::Host for Host {}

impl monotonic_clock::Host for Host {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::try_from(self.origin.elapsed().as_nanos())?)
    }

    fn get_resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(RESOLUTION)
    }
}

impl<T: 'static> monotonic_clock::HostWithStore<T> for Imports {
    async fn wait_until(accessor: &Accessor<T, Self>, when: u64) -> wasmtime::Result<()> {
        let origin: Instant = accessor.with(|mut store| store.get().origin);
        match origin.checked_add(Duration::from_nanos(when)) {
            Some(when) => sleep_until(when).await,
            None => std::future::pending().await,
        }
        Ok(())
    }

    async fn wait_for(_: &Accessor<T, Self>, how_long: u64) -> wasmtime::Result<()> {
        sleep(Duration::from_nanos(how_long)).await;
        Ok(())
    }
}
