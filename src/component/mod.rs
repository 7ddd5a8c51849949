//! The async shell: binds the session to the component's WIT. Wasm only.
//!
//! | module | one idea |
//! |---|---|
//! | [`bindings`] | what wit-bindgen makes of the WIT |
//! | [`client`] | the exported resource: each method enters the session and waits for its resolution |
//! | [`shared`] | what the tasks of one session share: the session, and a slot for each that waits |
//! | [`sending`] | a message that is with the transport, until the transport answers for it |
//! | [`asking`] | the questions that the host is asked, until it answers them |
//! | [`driver`] | the one task that connects, receives and keeps time |
//! | [`convert`] | the session's types to and from those of the WIT |
//!
//! A message that the session gives out is with the transport before anything else happens: whoever
//! entered the session starts its `send`. If that does not end at once, the driver, which no caller can
//! cancel, sees to it for as long as anybody waits for what becomes of it.

mod asking;
mod bindings;
mod client;
mod convert;
mod driver;
mod sending;
mod shared;

#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// A panic is a bug. It ends the instance; what it would say, nobody would hear.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
