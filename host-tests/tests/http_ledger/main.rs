//! The ledger server over HTTP, driven by hand on raw sockets: that it is a well-mannered server of each
//! kind, that its books tell what really happened, and that each fault does what it says to the byte.

#![allow(clippy::unwrap_used, reason = "so a test fails")]

mod faults;
mod hand;
mod manners;
