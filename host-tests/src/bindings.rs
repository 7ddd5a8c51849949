//! The world `mcp-client`, as wasmtime sees it: generated from the WIT.
//!
//! What a host writer needs of it is re-exported at the crate's root and in [`crate::transport`].
#![allow(missing_docs, reason = "generated; what is documented in the WIT carries its words")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "mcp-client",
    imports: { default: trappable },
    exports: { default: async | store },
    with: { "noreplay:mcp/transport.connection": crate::host::HeldConnection },
    additional_derives: [Clone, PartialEq, Eq],
});

pub mod http;
pub mod interaction;
