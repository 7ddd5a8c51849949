//! The client with its HTTP transport against the real servers, straight and through a proxy that cuts
//! connections.
//!
//! As over stdio: the right verdict, one effect in the server's ledger, one `tools/call` on the wire.

mod answers;
mod bench;
mod cuts;
mod gate;
mod losses;
mod raw;
mod resumption;
mod server;
mod sessions;

/// One test for each scenario and server: `scenario::server`.
macro_rules! scenarios {
    ($($module:ident::$scenario:ident: $($name:ident $peer:ident),+;)+) => {
        $(mod $scenario {
            $(#[tokio::test]
            async fn $name() {
                use super::bench::Bench;
                use super::server::Peer;

                let test = concat!(stringify!($scenario), "-", stringify!($name));
                match Bench::new(Peer::$peer, test).await {
                    Some(bench) => super::$module::$scenario(bench).await,
                    None => crate::servers::missing(Peer::$peer, test),
                }
            })+
        })+
    };
}

// Where a server is not named, it has no tool that does what the scenario needs, or no sessions, or no event
// ids.
scenarios! {
    answers::tools_are_listed: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    answers::call_is_ok: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    answers::failed_tool_is_tool_error: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    answers::json_rpc_error_after_the_effect_is_unknown: python Python, rmcp Rmcp;
    answers::overlapping_calls_each_get_their_answer: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    answers::large_answer_is_ok: python Python, rmcp Rmcp;

    losses::cancelled_call_is_unknown: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    losses::late_answer_makes_it_known: python Python, rmcp Rmcp, typescript TypeScript, everything Everything;
    losses::server_that_dies_leaves_it_unknown: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    losses::server_that_is_gone_did_not_execute: python Python, rmcp Rmcp, typescript TypeScript, everything Everything;

    sessions::reconnect_sends_the_handshake_and_nothing_else: python Python, rmcp Rmcp, typescript TypeScript, everything Everything, sse EverythingSse;
    sessions::ended_session_is_refused_and_the_next_call_begins_another: python Python, rmcp Rmcp;
    sessions::ended_session_is_replaced_by_policy: python Python, rmcp Rmcp;
    sessions::restarted_server_is_found_again_by_policy: python Python, rmcp Rmcp, typescript TypeScript;

    resumption::answer_is_fetched_while_the_tool_runs: rmcp Rmcp, everything Everything;

    cuts::at_every_byte_of_the_handshake: python Python;
    cuts::at_every_byte_of_the_answer: python Python, rmcp Rmcp, typescript TypeScript, everything Everything;
}
