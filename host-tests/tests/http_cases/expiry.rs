//! Group D: sessions that expired, and what an HTTP status says of a call.

use host_tests::ledger::http::{HttpLedger, Intake, Reply, Step};
use host_tests::{Cause, NotExecuted, Outcome, Resend, Stage};

use crate::{
    Paid, call, ended, lost, ok, open, open_with, paid, paid_at, paid_with, pay, refused, server, until,
};

const NO_SESSION: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;

fn not_found() -> Step {
    Step::Respond(Reply::json(NO_SESSION).with_status(404))
}

/// The ids of the sessions in which `pay` was called, in order.
fn paid_in(server: &HttpLedger) -> Vec<Option<String>> {
    let traffic = server.traffic();
    traffic.calls("pay").iter().map(|call| call.header("mcp-session-id").map(str::to_owned)).collect()
}

/// B014, modelcontextprotocol/rust-sdk#743: after a 404 the client initialised anew, unseen, and posted the
/// call again.
#[tokio::test]
async fn a_404_of_the_session_is_a_refusal_and_the_call_is_not_posted_again() {
    let paid = paid([not_found()]).await;
    let refusal = paid.once(0).refused();
    assert_eq!((refusal.status, refusal.had_session), (404, true));
    assert_eq!(String::from_utf8_lossy(&refusal.body), NO_SESSION);
}

/// B014: where the caller wants a refused call sent again, that is in a fresh session, and once.
#[tokio::test]
async fn a_caller_may_have_a_call_that_met_a_404_sent_once_more() {
    let paid =
        paid_with(server().await, |options| options.resend = Resend::Refused, pay(), [not_found()]).await;
    assert_eq!(ok(&paid.verdict).attempts, 2);
    assert_eq!(paid_in(&paid.server), [Some("session-1".to_owned()), Some("session-2".to_owned())]);
    assert_eq!(paid.server.ledger().count("pay"), 1);

    // And not for ever.
    let server = server().await.on_tool("pay", 1, [not_found()]).on_tool("pay", 2, [not_found()]);
    let session = open_with(&server, |options| options.resend = Resend::Refused).await;
    assert_eq!(refused(&call(&session, pay()).await).status, 404);
    assert_eq!((paid_in(&server).len(), server.ledger().count("pay")), (2, 0));
}

/// B054, python-sdk#1676 and #3556, typescript-sdk#1708, rust-sdk#733: a stale session id was used for ever.
#[tokio::test]
async fn after_a_404_the_next_call_has_a_fresh_session_begun_without_an_id() {
    let server = server().await;
    let session = open(&server).await;
    ok(&call(&session, pay()).await);
    server.end_sessions();
    assert_eq!(refused(&call(&session, pay()).await).status, 404);
    ok(&call(&session, pay()).await);

    let ids = ["session-1", "session-1", "session-2"].map(|id| Some(id.to_owned()));
    assert_eq!(paid_in(&server), ids);
    let traffic = server.traffic();
    let begun = traffic.posts("initialize");
    assert_eq!(begun.len(), 2);
    assert!(begun.iter().all(|request| request.header("mcp-session-id").is_none()), "{begun:?}");
    assert_eq!((server.ledger().count("pay"), server.violations()), (2, vec![]));
}

/// B055, stacklok/toolhive#4425: the 404 came as plain text, or without any.
#[tokio::test]
async fn a_404_is_the_sessions_end_whatever_it_looks_like() {
    let plain = Reply::status(404).header("content-type", "text/plain").body("session not found");
    for reply in [plain, Reply::status(404)] {
        let paid = paid([Step::Respond(reply)]).await;
        assert!(paid.once(0).refused().had_session);
        ok(&call(&paid.session, pay()).await);
        assert_eq!((paid.opened(), paid.server.ledger().count("pay")), (2, 1));
    }
}

/// B014: without a session a 404 speaks of something else, and proves nothing.
#[tokio::test]
async fn a_404_without_a_session_is_no_proof() {
    let paid = paid_at(server().await.sessionless(), [not_found()]).await;
    let Cause::Refused(refusal) = &paid.once(0).unknown().cause else { panic!("{:?}", paid.verdict) };
    assert_eq!((refusal.status, refusal.had_session), (404, false));
    paid.goes_on().await;
}

/// B014: a 404 that comes late, on a connection whose session is over already, ends no other session.
#[tokio::test]
async fn a_stale_404_leaves_the_newer_session_alone() {
    let server = server().await;
    let stale = [Step::sleep(700), not_found()];
    let server = server.on_tool("slow", 1, stale).on_tool("pay", 1, [not_found()]);
    let session = open(&server).await;
    let slow = session.call_tool(host_tests::ToolCall::new("slow"));
    until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
    assert_eq!(refused(&call(&session, pay()).await).status, 404);
    ok(&call(&session, pay()).await);
    assert_eq!(refused(&ended(slow).await).status, 404);
    ok(&call(&session, pay()).await);

    let ids = ["session-1", "session-2", "session-2"].map(|id| Some(id.to_owned()));
    assert_eq!(paid_in(&server), ids);
    // It was stale: the newer session had begun when it came.
    let traffic = server.traffic();
    let stale = traffic.answered(traffic.calls("slow")[0].number);
    assert!(stale > traffic.came(traffic.posts("initialize")[1].number), "{traffic:?}");
}

/// B058, cloudflare/agents#1923: the *code* 404 in an answer was taken for the status.
#[tokio::test]
async fn an_error_code_of_404_is_no_status() {
    let paid = paid([Step::Execute, Step::error(404, "Session not found")]).await;
    let unknown = paid.once(1).unknown();
    assert!(matches!(&unknown.cause, Cause::AnsweredWithError(error) if error.code == 404), "{unknown:?}");
    assert_eq!(unknown.stage, Stage::Answered);
    paid.goes_on().await;
}

/// B059, markmhendrickson/neotoma#2312 and mastra-ai/mastra#10660: the loss of a session spelled 503, or 400
/// with words. A status counts by its row of the contract's table, and no words do.
#[tokio::test]
async fn no_words_in_a_refusal_say_that_the_session_is_lost() {
    let words =
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}"#;
    let refusal = |status| [Step::Respond(Reply::json(words).with_status(status))];
    let unavailable = paid(refusal(503)).await;
    let cause = &unavailable.once(0).unknown().cause;
    assert!(matches!(cause, Cause::Refused(refusal) if refusal.status == 503), "{cause:?}");
    unavailable.goes_on().await;

    let bad = paid(refusal(400)).await;
    assert_eq!(bad.once(0).refused().status, 400);
    bad.goes_on().await;
}

/// B061, typescript-sdk#2031, LibreChat#12455 and #13369, cubeplex#346: 401 in mid-session.
#[tokio::test]
async fn a_401_is_a_refusal_that_keeps_its_challenge() {
    let challenge = r#"Bearer error="invalid_token""#;
    let paid = paid([Step::Respond(Reply::unauthorized(challenge))]).await;
    let refusal = paid.once(0).refused();
    assert_eq!((refusal.status, refusal.www_authenticate.as_deref()), (401, Some(challenge)));
    paid.goes_on().await;
}

/// B062, ProfessionalWiki/MediaWiki-MCP-Server#443: a failure of the login, wrapped as an error of the tool's,
/// is just that.
#[tokio::test]
async fn a_tool_error_that_speaks_of_a_login_is_a_tool_error() {
    let result = r#"{"content":[{"type":"text","text":"401 Unauthorized: log in again"}],"isError":true}"#;
    let paid = paid([Step::AnswerWith(result.to_owned())]).await;
    let Ok(Outcome::ToolError(error)) = &paid.once(0).verdict else { panic!("{:?}", paid.verdict) };
    assert_eq!((error.json.as_str(), error.warnings.len()), (result, 0));
    paid.goes_on().await;
}

/// B064, python-sdk#1661 and ruby-sdk#323: 202 to a request. B065, rust-sdk#849, langgenius/dify#25040 and
/// vrchat-assistant#37: 204, or 200 and nothing. That a stream of the server's own is open changes nothing.
#[tokio::test]
async fn accepted_and_no_more_is_unknown_at_once() {
    let empty = Reply::status(200);
    let replies = [Reply::status(202), Reply::status(204), empty.clone(), Reply::json("")];
    for (reply, shared) in replies.into_iter().flat_map(|reply| [(reply.clone(), false), (reply, true)]) {
        let server = server().await;
        let server = if shared { server.shared_stream() } else { server };
        let paid = paid_at(server, [Step::Execute, Step::Respond(reply)]).await;
        let unknown = paid.once(1).unknown();
        assert_eq!(unknown.stage, Stage::Accepted, "{unknown:?}");
        lost(&paid.verdict);
        paid.goes_on().await;
    }
    let empty_stream = paid([Step::Execute, Step::Respond(Reply::events())]).await;
    assert_eq!(empty_stream.once(1).unknown().stage, Stage::Accepted);
    lost(&empty_stream.verdict);
}

/// B065: an empty answer to a notification is as it should be.
#[tokio::test]
async fn a_notification_needs_no_answer() {
    for status in [200, 202, 204] {
        let server = server().await.always("notifications/initialized", [Step::status(status)]);
        let paid = paid_at(server, [Step::Execute, Step::Answer]).await;
        ok(&paid.once(1).verdict);
        assert_eq!(paid.opened(), 1);
    }
}

/// Row 9 of the contract's table: a refusal that comes before the call's text was read is a refusal.
#[tokio::test]
async fn a_refusal_before_the_text_was_read_is_a_refusal() {
    let server = server().await;
    let session = open(&server).await;
    until(&server, |traffic| !traffic.with("GET").is_empty()).await;
    let next = u32::try_from(server.traffic().requests().count()).expect("they are few") + 1;
    let server = server.on_request(next, Intake::refuse(Reply::status(413)));
    // Small, so that all of it is on its way: a host may lose a response that overtakes the text.
    let verdict = call(&session, pay()).await;
    assert_eq!(refused(&verdict).status, 413);
    let traffic = server.traffic();
    let posted = traffic.requests().find(|(_, request)| request.number == next).expect("it came").1;
    assert!(!posted.whole && posted.method == "POST", "{}", posted.target);
    // None but this came, and the session is used on.
    assert_eq!((traffic.calls("pay").len(), server.ledger().count("pay")), (0, 0));
    let paid = Paid { server, session, verdict };
    paid.goes_on().await;
    paid.once(1);
}

/// B054, of a session that its caller manages: the owner must act.
#[tokio::test]
async fn after_a_404_the_owner_of_the_session_must_act() {
    let owned = |options: &mut host_tests::Options| options.ownership = host_tests::Ownership::CallerManaged;
    let paid: Paid = paid_with(server().await, owned, pay(), [not_found()]).await;
    assert_eq!(paid.once(0).refused().status, 404);
    assert!(matches!(call(&paid.session, pay()).await, Err(NotExecuted::NotConnected)));
    paid.once(0);
    assert_eq!(paid.opened(), 1);
    paid.session.reconnect().await.expect("the instance lives").expect("it connects");
    ok(&call(&paid.session, pay()).await);
    assert_eq!((paid.opened(), paid.server.ledger().count("pay")), (2, 1));
}
