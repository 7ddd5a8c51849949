//! An answer whose stream breaks is fetched by GET, which sends nothing of the call again.

use host_tests::fault_proxy::Cut;
use host_tests::ledger::http::{End, Request};
use memchr::memmem;

use super::bench::{Bench, call, ok};
use super::raw::Raw;

/// The connection breaks right behind the event that carries nothing but an id.
pub(super) async fn answer_is_fetched_while_the_tool_runs(mut bench: Bench) {
    let (name, arguments) = bench.peer.takes(1_000);
    let raw = Raw::begin(&bench.server, bench.era).await;
    let is_primed = |bytes: &[u8]| memmem::find(bytes, b"\n\n").is_some();
    let first = raw.call(name, &arguments, is_primed).await;
    let first = String::from_utf8(first).expect("text");
    assert!(first.contains("\nid: ") && !first.contains("\"result\""), "{first}");

    bench.cut("tools/call", Cut::Response(first.len() as u64, End::Reset));
    let session = bench.session().await;
    ok(call(&session, (name, arguments)).await);

    // By hand, and by the client.
    bench.effects_are(2).await;
    bench.assert_calls(1);
    let resumed = |request: &&Request| request.header("last-event-id").is_some();
    let passed = bench.proxy.passed();
    let requests = passed.iter().map(|passed| &passed.request).filter(resumed);
    assert!(requests.count() >= 1, "{passed:#?}");
}
