//! What the world `mcp-client-interactive` asks of its host beside what `mcp-client` does.

wasmtime::component::bindgen!({
    inline: "
        package noreplay:host;
        world asked {
            import noreplay:mcp/interaction@0.3.0;
        }
    ",
    path: ["../wit"],
    world: "noreplay:host/asked",
    imports: { default: trappable },
    with: { "noreplay:mcp/types": crate::bindings::noreplay::mcp::types },
    additional_derives: [Clone, PartialEq, Eq],
});
