//! An agent in miniature: a component whose only way to a server is the client component. The tests
//! compose the two, to prove what a host cannot: how the client treats a caller that is a component
//! itself, and cancels its calls.
//!
//! Wasm only; compiled natively this crate is empty.
#![cfg(target_family = "wasm")]

mod agent;
mod bindings;
mod words;
