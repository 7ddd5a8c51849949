//! Group E: whose answer it is.

use host_tests::ledger::http::{End, HttpLedger, Reply, Step};
use host_tests::{Cause, Outcome, Session, ToolCall};

use crate::{
    LONG, Paid, Verdict, call, ended, lost, oddities, ok, open, paid, paid_at, paid_with, pay, server, told,
    unknown, until,
};

const NOBODYS_ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#;

fn answer_to(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#)
}

/// The JSON-RPC id of the first call of `tool`, once it has come.
async fn id_of(server: &HttpLedger, tool: &str) -> u64 {
    until(server, |traffic| !traffic.calls(tool).is_empty()).await;
    server.traffic().calls(tool)[0].id().expect("it has one")
}

/// B070, java-sdk#506, helidon-mcp#65 and mcp-go#201: an error without an id killed the reader. On a response
/// that only one call has it is for that one, and it is told that it bore no id.
#[tokio::test]
async fn an_error_without_an_id_is_its_channels() {
    for step in [Step::say(NOBODYS_ERROR), Step::Respond(Reply::json(NOBODYS_ERROR))] {
        let paid = paid([Step::Execute, step]).await;
        let cause = &paid.once(1).unknown().cause;
        assert!(matches!(cause, Cause::AnsweredWithError(error) if error.code == -32700), "{cause:?}");
        paid.goes_on().await;
        let events = told(&paid.session).await;
        assert!(oddities(&events).iter().any(|words| words.contains("without an id")), "{events:?}");
    }
}

/// B070: on the stream that all share it is nobody's.
#[tokio::test]
async fn an_error_without_an_id_on_the_shared_stream_is_nobodys() {
    let server = server().await.shared_stream();
    let steps = [Step::Execute, Step::SayShared(NOBODYS_ERROR.into()), Step::sleep(100), Step::Answer];
    let paid = paid_at(server, steps).await;
    ok(&paid.once(1).verdict);
    until(&paid.server, |traffic| !traffic.with("GET").is_empty()).await;
    paid.goes_on().await;
}

/// B071, csharp-sdk#1687: the same as a refusal, though the id was readable: 400 and an error that bears no id of
/// ours is a refusal (row 9 of the contract's table). One that bears our id is the answer (row 11).
#[tokio::test]
async fn an_error_in_a_400_is_a_refusal_unless_it_bears_the_calls_id() {
    let error = |id: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32020,"message":"no"}}}}"#);
        [Step::Execute, Step::Respond(Reply::json(body).with_status(400))]
    };
    let nobodys = paid(error("null")).await;
    assert_eq!(nobodys.once(1).refused().status, 400);
    nobodys.goes_on().await;

    let answer = paid(error("$id")).await;
    let cause = &answer.once(1).unknown().cause;
    assert!(matches!(cause, Cause::AnsweredWithError(error) if error.code == -32020), "{cause:?}");
    answer.goes_on().await;
}

/// Row 11 of the contract's table: any status whose body is our answer.
#[tokio::test]
async fn an_answer_under_any_status_is_the_answer() {
    for status in [400, 401, 404, 409, 500, 503] {
        let paid = paid([Step::Execute, Step::Respond(Reply::json("$answer").with_status(status))]).await;
        ok(&paid.once(1).verdict);
    }
}

/// B073, anthropics/claude-ai-mcp#539 and #676, claude-code#79241: ids came again.
#[tokio::test]
async fn ids_rise_over_all_sessions() {
    let server = server().await;
    let session = open(&server).await;
    for _ in 0..3 {
        for _ in 0..10 {
            ok(&call(&session, pay()).await);
        }
        session.reconnect().await.expect("the instance lives").expect("it connects");
    }
    let traffic = server.traffic();
    let ids: Vec<u64> = traffic.requests().filter_map(|(_, request)| request.id()).collect();
    assert!(ids.len() > 30 && ids.is_sorted_by(|one, next| one < next), "{ids:?}");
}

/// B074, anthropics/claude-code#83457: a big answer came late, after a reconnect, and met a newer call. What comes
/// on another connection than its call's is no answer.
#[tokio::test]
async fn an_answer_of_an_older_connection_touches_no_newer_call() {
    let hang = [Step::Execute, Step::End(End::Hang)];
    let server = server().await.shared_stream().on_tool("pay", 1, hang.clone()).on_tool("slow", 1, hang);
    let session = open(&server).await;
    let older = session.call_tool(pay());
    let id = id_of(&server, "pay").await;
    session.reconnect().await.expect("the instance lives").expect("it connects");
    let older = ended(older).await;
    assert_eq!(unknown(&older).cause, Cause::SessionReplaced);

    let newer = session.call_tool(ToolCall::new("slow"));
    let newer_id = id_of(&server, "slow").await;
    until(&server, |traffic| traffic.with("GET").len() == 2).await;
    server.say(answer_to(id));
    server.say(answer_to(newer_id));
    ok(&ended(newer).await);
    let known = session.reconcile(unknown(&older).call, std::time::Duration::ZERO).await;
    assert!(matches!(known, Ok(Some(Outcome::UnknownOutcome(_)))), "{known:?}");
    let events = told(&session).await;
    assert!(oddities(&events).iter().any(|words| words.contains("answer")), "{events:?}");
    Paid { server, session, verdict: older }.once(1);
}

/// B075, mcp-go and the Python SDK: whatever id came on a call's stream was taken for the call's.
#[tokio::test]
async fn an_answer_to_another_request_is_no_answer() {
    let paid = paid([Step::Execute, Step::say(answer_to(999_999)), Step::Finish]).await;
    lost(&paid.once(1).verdict);
    paid.goes_on().await;
    let events = told(&paid.session).await;
    assert!(oddities(&events).iter().any(|words| words.contains("another request")), "{events:?}");
}

/// B075: nor is it one for that other call.
#[tokio::test]
async fn an_answer_on_another_calls_stream_is_nobodys() {
    async fn both(server: &HttpLedger, session: &Session, say: impl Fn(u64) -> Vec<Step>) -> [Verdict; 2] {
        let slow = session.call_tool(ToolCall::new("slow"));
        let id = id_of(server, "slow").await;
        let _ = server.clone().on_tool("pay", 1, say(id));
        let paid = call(session, pay()).await;
        [paid, ended(slow).await]
    }
    let slow = [Step::Open, Step::Execute, Step::sleep(300), Step::Answer];
    let server = server().await.on_tool("slow", 1, slow);
    let session = open(&server).await;
    let say = |id| vec![Step::Execute, Step::say(answer_to(id)), Step::Finish];
    let [verdict, slow] = both(&server, &session, say).await;
    lost(&verdict);
    // Its own answer, and not the other.
    assert!(ok(&slow).json.contains("done"), "{slow:?}");
    Paid { server, session, verdict }.once(1);
}

/// B067, python-sdk#192, #961 and #1720: the server answers "7" to 7.
#[tokio::test]
async fn a_string_that_is_the_id_is_the_id() {
    let as_string = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}"#;
    for step in [Step::say(as_string), Step::Respond(Reply::json(as_string))] {
        let paid = paid([Step::Execute, step]).await;
        ok(&paid.once(1).verdict);
    }
}

/// An answer on the stream that all share is one, while the call's own stream is open.
#[tokio::test]
async fn an_answer_may_come_on_the_shared_stream() {
    let server = server().await.shared_stream();
    let steps = [
        Step::Open,
        Step::Execute,
        Step::sleep(100),
        Step::SayShared(b"$answer".to_vec()),
        Step::End(End::Hang),
    ];
    let paid = paid_with(server, |_| {}, pay().timeout(LONG), steps).await;
    ok(&paid.once(1).verdict);
}
