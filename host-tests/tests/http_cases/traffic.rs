//! Group I: what happens beside a call: the server's own requests, progress, cancels, and other calls.

use std::time::Duration;

use host_tests::ledger::http::{End, Form, HttpLedger, Step};
use host_tests::{Cause, Event, Outcome, Progress, Session, ToolCall};
use serde_json::{Value, json};

use crate::{
    LONG, Paid, Verdict, call, ended, lost, oddities, ok, open, paid, paid_with, pay, server, told, unknown,
    until,
};

/// The responses that the client posted, in order.
fn posted_responses(server: &HttpLedger) -> Vec<Value> {
    let traffic = server.traffic();
    let posts = traffic.with("POST").into_iter().filter(|request| request.rpc().is_none());
    posts.map(|request| serde_json::from_slice(&request.body).expect("it is JSON")).collect()
}

/// The one call that has no verdict.
async fn pending(session: &Session) -> u64 {
    let pending = session.pending().await.expect("the instance lives");
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending[0].call
}

/// What becomes of a `pay` that is given up once its request has come: by hand, or by its deadline.
async fn given_up(server: &HttpLedger, session: &Session, by_hand: bool) -> Verdict {
    let limit = if by_hand { LONG } else { Duration::from_millis(100) };
    let paying = session.call_tool(pay().timeout(limit));
    until(server, |traffic| !traffic.calls("pay").is_empty()).await;
    if by_hand {
        assert!(session.cancel(pending(session).await).await.expect("the instance lives"));
    }
    ended(paying).await
}

/// B113, modelcontextprotocol#907 and github/app#4009: the server asked for something, and both waited. It is
/// refused at once, by a POST of its own, while the call is out.
#[tokio::test]
async fn a_request_of_the_servers_is_refused_while_the_call_is_out() {
    let asks = Step::ServerRequest { id: r#""s1""#.to_owned(), method: "sampling/createMessage".to_owned() };
    // Its id is the call's own: the server's ids are its own.
    let same_id = Step::say(r#"{"jsonrpc":"2.0","id":$id,"method":"roots/list"}"#);
    let server = server().await.shared_stream();
    let server = server.on_tool("pay", 1, [Step::Execute, asks, same_id, Step::End(End::Hang)]);
    let session = open(&server).await;
    let paying = session.call_tool(pay());
    let both_refused = |traffic: &host_tests::ledger::http::Traffic| {
        traffic.with("POST").iter().filter(|request| request.rpc().is_none()).count() == 2
    };
    until(&server, both_refused).await;
    let id = server.traffic().calls("pay")[0].id().expect("it has one");
    let mut answers = posted_responses(&server);
    answers.sort_by_key(|answer| answer["id"].is_string());
    assert_eq!(answers.iter().map(|answer| &answer["id"]).collect::<Vec<_>>(), [&json!(id), &json!("s1")]);
    assert!(answers.iter().all(|answer| answer["error"]["code"] == -32601), "{answers:?}");

    until(&server, |traffic| !traffic.with("GET").is_empty()).await;
    server.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#));
    let verdict = ended(paying).await;
    ok(&verdict);
    Paid { server, session, verdict }.once(1);
}

/// B115, sandialabs/atlas-ui-3#295: an elicitation went to the wrong one of two calls. Here it goes to neither:
/// one answer to the server, and both calls go on.
#[tokio::test]
async fn an_elicitation_touches_no_call() {
    let server = server().await;
    let slow = [Step::Open, Step::Execute, Step::sleep(200), Step::Answer];
    let asks = Step::ServerRequest { id: "1".to_owned(), method: "elicitation/create".to_owned() };
    let server = server.on_tool("slow", 1, slow).on_tool("pay", 1, [Step::Execute, asks, Step::Answer]);
    let session = open(&server).await;
    let slow = session.call_tool(ToolCall::new("slow"));
    until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
    let verdict = call(&session, pay()).await;
    ok(&verdict);
    ok(&ended(slow).await);
    until(&server, |traffic| traffic.with("POST").iter().any(|request| request.rpc().is_none())).await;
    assert_eq!(posted_responses(&server).len(), 1);
    let paid = Paid { server, session, verdict };
    let events = told(&paid.once(1).session).await;
    assert!(oddities(&events).iter().any(|words| words.contains("elicitation/create")), "{events:?}");
}

/// B116, opencode#21701 and #24964, typescript-sdk#1870: no token was sent, so that no progress came.
#[tokio::test]
async fn progress_comes_to_the_call_that_asked_for_it() {
    for modern in [false, true] {
        let steps = [Step::Progress(1), Step::Execute, Step::Progress(2), Step::Answer];
        let server = server().await;
        let server = if modern { server.modern() } else { server };
        let paid = paid_with(server, |_| {}, pay().progress(), steps).await;
        let paid_call = ok(&paid.once(1).verdict).call;
        let events = told(&paid.session).await;
        let progress = events.iter().filter_map(|event| match event {
            Event::Progress(Progress { call, params }) => Some((*call, params.clone())),
            _ => None,
        });
        let progress: Vec<_> = progress.collect();
        assert_eq!(progress.iter().map(|(call, _)| *call).collect::<Vec<_>>(), [paid_call; 2], "{events:?}");
        assert!(progress[1].1.contains(r#""progress":2"#), "{progress:?}");
    }
    // Whoever asks for none sends no token.
    let paid = paid([Step::Progress(1), Step::Execute, Step::Answer]).await;
    assert!(!paid.server.traffic().calls("pay")[0].text().contains("progressToken"));
}

/// B117, typescript-sdk#152 and can1357/oh-my-pi#12259: progress put the timeout off for ever.
#[tokio::test]
async fn progress_does_not_put_a_deadline_off() {
    let mut steps = vec![Step::Execute];
    (1..200).for_each(|number| steps.extend([Step::Progress(number), Step::sleep(20)]));
    let limited = pay().progress().timeout(Duration::from_millis(200));
    let paid = paid_with(server().await, |_| {}, limited, steps).await;
    assert_eq!(paid.once(1).unknown().cause, Cause::TimedOut);
}

/// B118, topcheer/ggcode#2490, modelcontextprotocol#418: no cancel after a timeout. Up to 2025-11-25 it is one
/// notification, and what the server answers all the same is kept.
#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_by_one_notification_and_its_late_answer_kept() {
    for by_hand in [false, true] {
        let server =
            server().await.on_tool("pay", 1, [Step::Open, Step::Execute, Step::sleep(400), Step::Answer]);
        let session = open(&server).await;
        let verdict = given_up(&server, &session, by_hand).await;
        let cause = &unknown(&verdict).cause;
        assert_eq!(*cause, if by_hand { Cause::Cancelled } else { Cause::TimedOut });

        let known = session.reconcile(unknown(&verdict).call, LONG).await.expect("the instance lives");
        assert!(matches!(known, Some(Outcome::Ok(_))), "{known:?}");
        let traffic = server.traffic();
        let cancels = traffic.posts("notifications/cancelled");
        let body: Value = serde_json::from_slice(&cancels[0].body).expect("it is JSON");
        assert_eq!((cancels.len(), body["params"]["requestId"].as_u64()), (1, traffic.calls("pay")[0].id()));
        Paid { server, session, verdict }.once(1);
    }
}

/// B118, goose: that the cancel cannot be sent changes no verdict.
#[tokio::test]
async fn a_cancel_that_fails_changes_nothing() {
    for step in [Step::status(500), Step::status(404), Step::End(End::Reset), Step::End(End::Hang)] {
        let server = server().await.always("notifications/cancelled", [step]);
        let hang = [Step::Execute, Step::End(End::Hang)];
        let paid = paid_with(server, |_| {}, pay().timeout(Duration::from_millis(100)), hang).await;
        assert_eq!(paid.once(1).unknown().cause, Cause::TimedOut);
        ok(&call(&paid.session, pay()).await);
    }
}

/// B118: in 2026-07-28 the end of a call's response is its cancel, and no notification is posted.
#[tokio::test]
async fn a_modern_call_that_is_given_up_is_cancelled_by_closing_its_response() {
    for began in [true, false] {
        for by_hand in [false, true] {
            let open_or_not = if began { vec![Step::Open] } else { vec![] };
            let steps = [open_or_not, vec![Step::End(End::Hang)]].concat();
            let server = server().await.modern().on_tool("pay", 1, steps);
            let session = open(&server).await;
            let verdict = given_up(&server, &session, by_hand).await;
            unknown(&verdict);
            let number = server.traffic().calls("pay")[0].number;
            until(&server, |traffic| traffic.cancelled() == [number]).await;
            let paid = Paid { server, session, verdict };
            paid.once(0).goes_on().await;
            assert_eq!(paid.server.traffic().posts("notifications/cancelled").len(), 0);
        }
    }
}

/// B127, rmcp: each request waited for the one before it, and a cancel for the call that it was to cancel.
#[tokio::test]
async fn a_slow_answer_blocks_neither_another_call_nor_its_own_cancel() {
    let server = server().await.answers(Form::Json).on_tool("slow", 1, [Step::End(End::Hang)]);
    let session = open(&server).await;
    let slow = session.call_tool(ToolCall::new("slow"));
    until(&server, |traffic| !traffic.calls("slow").is_empty()).await;
    let slow_call = pending(&session).await;
    let verdict = call(&session, pay()).await;
    ok(&verdict);
    assert!(session.cancel(slow_call).await.expect("the instance lives"));
    until(&server, |traffic| traffic.posts("notifications/cancelled").len() == 1).await;
    assert_eq!(unknown(&ended(slow).await).cause, Cause::Cancelled);
    let paid = Paid { server, session, verdict };
    paid.once(1).goes_on().await;
}

/// B111, bigduu/Bamboo-agent#352 and #363, topcheer/ggcode#38 and #124: notifications that nobody read blocked the
/// answer.
#[tokio::test]
async fn notifications_that_nobody_reads_do_not_block_an_answer() {
    let paid = paid([Step::Notify(5_000), Step::Execute, Step::Answer]).await;
    ok(&paid.once(1).verdict);
    let events = told(&paid.session).await;
    assert!(events.len() < 1_000, "{}", events.len());
    assert!(events.iter().any(|event| matches!(event, Event::Dropped(4_000..))), "{:?}", events.first());
}

/// B112, microsoft/agent-framework#4896 and #4898: `list_changed` was handled with a list, on a session that was
/// busy.
#[tokio::test]
async fn a_list_that_changed_is_told_and_not_asked_for() {
    let changed = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let paid = paid([Step::Execute, Step::Say(changed.to_vec()), Step::Answer]).await;
    ok(&paid.once(1).verdict);
    let events = told(&paid.session).await;
    let is_told =
        |event: &Event| matches!(event, Event::Notification(it) if it.method.ends_with("list_changed"));
    assert!(events.iter().any(is_told), "{events:?}");
    assert_eq!(paid.server.traffic().posts("tools/list").len(), 0);
}

/// B026, anthropics/claude-code#55992 and #69593: of several calls in flight each gets its own end.
#[tokio::test]
async fn each_of_many_calls_has_its_own_end() {
    let mut server = server().await;
    for nth in [2, 5, 8] {
        server = server.on_tool("pay", nth, [Step::Execute, Step::Open, Step::End(End::Reset)]);
    }
    let session = open(&server).await;
    let calls = (0..10).map(|_| ended(session.call_tool(pay())));
    let verdicts = futures::future::join_all(calls).await;
    let (answered, rest): (Vec<_>, Vec<_>) =
        verdicts.iter().partition(|verdict| matches!(verdict, Ok(Outcome::Ok(_))));
    assert_eq!((answered.len(), rest.len()), (7, 3));
    rest.into_iter().for_each(|verdict| _ = lost(verdict));
    assert_eq!((server.traffic().calls("pay").len(), server.ledger().count("pay")), (10, 10));
    assert_eq!(server.violations(), [""; 0]);
}
