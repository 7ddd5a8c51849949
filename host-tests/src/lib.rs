//! A wasmtime host for noreplay.
/// The component's file.
pub const COMPONENT: &str = env!("NOREPLAY_COMPONENT");
