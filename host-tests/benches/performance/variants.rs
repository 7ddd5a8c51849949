//! The clients that are measured. Each does the same calls, in a process of its own.

use std::time::Duration;

use tokio::io::{DuplexStream, duplex};

use crate::cell::Cell;
use crate::echo;

mod component;
mod floor;
mod library;
mod rmcp;
mod wire;

/// The arguments of a call.
fn arguments(cell: Cell) -> String {
    format!(r#"{{"text":"{}"}}"#, cell.text())
}

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The component, pooled, in a minimal host.
    Component,
    /// The same, through the host library.
    Library,
    /// rmcp's native client.
    Rmcp,
    /// The least that a native client can do.
    Floor,
}

impl Variant {
    pub(crate) const ALL: [Variant; 4] =
        [Variant::Component, Variant::Library, Variant::Rmcp, Variant::Floor];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::Component => "component",
            Variant::Library => "library",
            Variant::Rmcp => "rmcp",
            Variant::Floor => "floor",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Variant> {
        Variant::ALL.into_iter().find(|variant| variant.name() == name)
    }

    /// The mean time of a call in each of `cells`.
    pub(crate) async fn measure(self, cells: &[Cell]) -> wasmtime::Result<Vec<Duration>> {
        match self {
            Variant::Component => component::measure(cells).await,
            Variant::Library => library::measure(cells).await,
            Variant::Rmcp => rmcp::measure(cells).await,
            Variant::Floor => floor::measure(cells).await,
        }
    }
}

/// A stream to a server of its own, in a task of the same thread.
fn server() -> DuplexStream {
    let (near, far) = duplex(echo::BUFFER);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(echo::serve(read, write));
    near
}
