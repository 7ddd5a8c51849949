//! Composes components: what one exports becomes what another imports.

use std::error::Error;

use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions, plug};

/// The component `socket`, with its imports from `plug_in` as far as that exports them.
pub(crate) fn plugged(plug_in: Vec<u8>, socket: Vec<u8>) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut graph = CompositionGraph::new();
    let mut register = |name: &str, component: Vec<u8>| -> Result<_, Box<dyn Error>> {
        let package = Package::from_bytes(name, None, component, graph.types_mut())?;
        Ok(graph.register_package(package)?)
    };
    let (plug_in, socket) = (register("plug", plug_in)?, register("socket", socket)?);
    plug(&mut graph, vec![plug_in], socket)?;
    Ok(graph.encode(EncodeOptions::default())?)
}
