//! What the prelude of `std` has, and that of `core` has not.

pub(crate) use alloc::borrow::ToOwned;
pub(crate) use alloc::boxed::Box;
pub(crate) use alloc::string::String;
pub(crate) use alloc::vec;
pub(crate) use alloc::vec::Vec;

// What the component does without, so that `core::fmt` stays out of it.
#[cfg(test)]
pub(crate) use alloc::{format, string::ToString};
