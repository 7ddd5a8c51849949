//! Composes components: what one exports becomes what another imports. The build script does it, and the tests
//! that compose more.

use std::error::Error;

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};

/// A component with a name for messages.
pub(crate) type Named<'a> = (&'a str, &'a [u8]);

/// The component `socket`, whose imports `with` satisfies as far as it can.
pub(crate) fn plugged(with: Named<'_>, socket: Named<'_>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut graph = CompositionGraph::new();
    let mut register = |(name, component): Named<'_>| -> Result<_, Box<dyn Error>> {
        let package = Package::from_bytes(name, None, component, graph.types_mut())?;
        Ok(graph.register_package(package)?)
    };
    let (with, socket) = (register(with)?, register(socket)?);
    plug(&mut graph, vec![with], socket)?;
    Ok(graph.encode(EncodeOptions::default())?)
}
