//! The client with its HTTP transport against the real servers, straight and through a proxy that cuts
//! connections.
//!
//! As over stdio: the right verdict, one effect in the server's ledger, one `tools/call` on the wire.

mod answers;
pub(crate) mod bench;
mod cuts;
pub(crate) mod gate;
mod losses;
mod raw;
mod resumption;
pub(crate) mod server;
mod sessions;

/// One test for each scenario, server and era: `scenario::server`.
macro_rules! scenarios {
    ($($module:ident::$scenario:ident: $($name:ident $peer:ident $era:ident),+;)+) => {
        $(mod $scenario {
            $(#[tokio::test]
            async fn $name() {
                use super::bench::{Bench, Era};
                use super::server::Peer;

                let test = concat!(stringify!($scenario), "-", stringify!($name));
                match Bench::new(Peer::$peer, Era::$era, test).await {
                    Some(bench) => super::$module::$scenario(bench).await,
                    None => crate::servers::missing(Peer::$peer, test),
                }
            })+
        })+
    };
}

/// The same for every server, and for both eras of those that have both.
macro_rules! with_all {
    ($($module:ident::$scenario:ident;)+) => {
        scenarios! {
            $($module::$scenario:
                python Python Legacy, python_modern Python Modern,
                rmcp Rmcp Legacy, rmcp_modern Rmcp Modern,
                typescript TypeScript Legacy, typescript_modern TypeScript Modern,
                everything Everything Legacy, sse EverythingSse Legacy;)+
        }
    };
}

with_all! {
    answers::tools_are_listed;
    answers::call_is_ok;
    answers::failed_tool_is_tool_error;
    answers::overlapping_calls_each_get_their_answer;
    losses::cancelled_call_is_unknown;
    losses::server_that_dies_leaves_it_unknown;
    sessions::reconnect_sends_the_handshake_and_nothing_else;
}

// Where a server is not named, it has no tool that does what the scenario needs, or no sessions, or no event
// ids; and the modern era has neither sessions nor event ids, and no answer after a cancel.
scenarios! {
    answers::era_is_found_out: python Python Modern, rmcp Rmcp Modern, typescript TypeScript Modern,
        everything Everything Legacy, sse EverythingSse Legacy;
    answers::json_rpc_error_after_the_effect_is_unknown: python Python Legacy, python_modern Python Modern,
        rmcp Rmcp Legacy, rmcp_modern Rmcp Modern;
    answers::large_answer_is_ok: python Python Legacy, python_modern Python Modern, rmcp Rmcp Legacy;

    losses::late_answer_makes_it_known: python Python Legacy, rmcp Rmcp Legacy, typescript TypeScript Legacy,
        everything Everything Legacy;
    losses::server_that_is_gone_did_not_execute: python Python Legacy, python_modern Python Modern,
        rmcp Rmcp Legacy, typescript TypeScript Modern, everything Everything Legacy;

    sessions::ended_session_is_refused_and_the_next_call_begins_another: python Python Legacy, rmcp Rmcp Legacy;
    sessions::ended_session_is_replaced_by_policy: python Python Legacy, rmcp Rmcp Legacy;
    sessions::session_that_ended_with_400_is_refused: everything Everything Legacy;
    sessions::restarted_server_is_found_again_by_policy: python Python Legacy, python_modern Python Modern,
        rmcp Rmcp Legacy, typescript TypeScript Legacy;

    resumption::answer_is_fetched_while_the_tool_runs: rmcp Rmcp Legacy, everything Everything Legacy;

    cuts::at_every_byte_of_the_handshake: python Python Legacy, python_modern Python Modern;
    cuts::at_every_byte_of_the_answer: python Python Legacy, python_modern Python Modern, rmcp Rmcp Legacy,
        rmcp_modern Rmcp Modern, typescript TypeScript Legacy, typescript_modern TypeScript Modern,
        everything Everything Legacy;
}
