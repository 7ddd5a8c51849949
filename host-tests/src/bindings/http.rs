//! What the HTTP transport asks of its host beside WASI, and what it exports.

wasmtime::component::bindgen!({
    inline: "
        package noreplay:host;
        world transport {
            import noreplay:http/credentials@0.3.0;
            export noreplay:mcp/transport@0.3.0;
        }
    ",
    path: ["../wit", "../components/http-transport/wit"],
    world: "noreplay:host/transport",
    imports: { default: trappable },
    exports: { default: async | store },
    with: { "noreplay:mcp/types": crate::bindings::noreplay::mcp::types },
    additional_derives: [Clone, PartialEq, Eq],
});
