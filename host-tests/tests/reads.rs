//! What a server has beside tools, through the component in wasmtime: reads, lists while they are fresh, news,
//! and tasks of both kinds.

use std::time::Duration;

use host_tests::ledger::{LedgerServer, Rule, Step, Tool, When, reset};
use host_tests::{
    Cause, Event, FailureKind, LogLevel, News, NotExecuted, Options, Outcome, Prompt, Query, ReadError,
    Runtime, Session, ToolCall,
};
use tokio::time::timeout;

const MODERN: &str = "2026-07-28";

async fn session_with(server: &LedgerServer, change: impl FnOnce(&mut Options)) -> Session {
    let client = Runtime::built().expect("the component loads").client(server.clone());
    let mut options = client.default_options().await.expect("it lives");
    change(&mut options);
    client.session("ledger", options).await.expect("it lives")
}

async fn session(server: &LedgerServer) -> Session {
    session_with(server, |_| {}).await
}

async fn read(session: &Session, what: Query) -> Result<String, ReadError> {
    let read = timeout(Duration::from_secs(3600), session.read(what)).await;
    read.expect("every read ends").expect("the component does not trap")
}

async fn call(session: &Session, call: ToolCall) -> Result<Outcome, NotExecuted> {
    let verdict = timeout(Duration::from_secs(3600), session.call_tool(call)).await;
    verdict.expect("every call ends").expect("the component does not trap")
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

fn answer(json: &str) -> Step {
    Step::AnswerWith(json.to_owned())
}

#[tokio::test(start_paused = true)]
async fn each_query_brings_what_the_server_has() {
    let entry = r#"{"name":"a", "uri":"u:\u00e9", "size":1.0e400}"#;
    let page = |member: &str, next: &str| answer(&format!(r#"{{"{member}":[{entry}]{next}}}"#));
    let list = format!("[{entry},{entry}]");
    let object = r#"{ "contents": [1.0e400], "resultType":"complete" }"#;
    let prompt = || Prompt { name: "p".into(), arguments: r#"{"a":"b"}"#.into() };
    for revision in ["2024-11-05", MODERN] {
        let mut server = LedgerServer::new().revisions(&[revision]);
        for (method, member) in [
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
            ("prompts/list", "prompts"),
        ] {
            server = server.on(method, 1, [page(member, r#","nextCursor":"2""#)]);
            server = server.on(method, 2, [page(member, "")]);
        }
        for method in ["resources/read", "prompts/get", "completion/complete"] {
            server = server.always(method, [answer(object)]);
        }
        let server = server.always("logging/setLevel", [answer("{}")]);
        let session = session(&server).await;
        for (what, brings) in [
            (Query::Resources, list.as_str()),
            (Query::ResourceTemplates, &list),
            (Query::Prompts, &list),
            (Query::Contents("u:1".into()), object),
            (Query::Prompt(prompt()), object),
            (Query::Completion(r#"{"ref":{}}"#.into()), object),
        ] {
            let words = format!("{what:?}");
            assert_eq!(read(&session, what).await.as_deref(), Ok(brings), "{words}");
        }
        assert!(read(&session, Query::Ping).await.is_ok());
        assert!(read(&session, Query::LogLevel(LogLevel::Warning)).await.is_ok());
        let wrong = read(&session, Query::Completion("7".into())).await;
        assert!(matches!(wrong, Err(ReadError::InvalidRead(_))), "{wrong:?}");
        assert_eq!(server.violations(), Vec::<String>::new());
    }
}

/// They have no effect: a loss is no end.
#[tokio::test(start_paused = true)]
async fn a_read_survives_a_loss() {
    let server = LedgerServer::new().on("resources/read", 1, [Step::Lose(reset())]).on(
        "resources/read",
        2,
        [answer(r#"{"contents":[]}"#)],
    );
    let session = session(&server).await;
    assert_eq!(read(&session, Query::Contents("u".into())).await.as_deref(), Ok(r#"{"contents":[]}"#));
    assert_eq!(server.wire().connects(), 2);
}

/// A call that the server would refuse is refused here, by the server's own list; and it never left.
#[tokio::test(start_paused = true)]
async fn a_fresh_list_saves_a_round_trip() {
    for (rely_on_lists, calls) in [(true, 0), (false, 1)] {
        let server = LedgerServer::new().listing([Tool::new("balance", "")]);
        let session = session_with(&server, |options| options.rely_on_lists = rely_on_lists).await;
        assert!(session.list_tools().await.expect("it lives").is_ok());
        let verdict = call(&session, pay()).await;
        assert_eq!(server.wire().calls("pay"), calls);
        assert_eq!(matches!(verdict, Err(NotExecuted::InvalidCall(_))), calls == 0, "{verdict:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn news_comes_until_it_ends() {
    let acknowledge = br#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":$id}}}"#;
    let updated = br#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u"}}"#;
    let server = LedgerServer::new().revisions(&[MODERN]).always(
        "subscriptions/listen",
        [
            Step::Say(acknowledge.to_vec()),
            Step::sleep(50),
            Step::Say(updated.to_vec()),
            Step::sleep(50),
            Step::Lose(reset()),
        ],
    );
    let session = session(&server).await;
    let news = News { tools: true, prompts: false, resources: false, uris: vec!["u".into()] };
    assert_eq!(read(&session, Query::News(news)).await.as_deref(), Ok(""));
    let (mut told, mut ended) = (0, None);
    while ended.is_none() {
        match session.next_event().await.expect("it lives").expect("it is open") {
            Event::Notification(notification) => {
                assert_eq!(notification.method, "notifications/resources/updated");
                told += 1;
            }
            Event::Unsubscribed(why) => ended = Some(why.map(|failure| failure.kind)),
            _ => {}
        }
    }
    assert_eq!((told, ended), (1, Some(Some(FailureKind::Closed))));
    // Recovery sends the handshake and nothing else (promise P5).
    session.reconnect().await.expect("it lives").expect("the server is there");
    assert_eq!(server.wire().methods(2), ["server/discover"]);
}

/// The tool ran once: its result is asked for under the task's id, and after a loss too.
#[tokio::test(start_paused = true)]
async fn a_task_of_2026_is_asked_for_and_its_call_sent_once() {
    let task = r#"{"resultType":"task","taskId":"t-1","status":"working","pollIntervalMs":200}"#;
    let working = r#"{"resultType":"complete","taskId":"t-1","status":"working"}"#;
    let done = r#"{"content":[{"type":"text","text":"paid"}]}"#;
    let completed =
        format!(r#"{{"resultType":"complete","taskId":"t-1","status":"completed","result":{done}}}"#);
    for lost in [false, true] {
        let mut server = LedgerServer::new()
            .revisions(&[MODERN])
            .rule(Rule::new(When::tool("pay"), [Step::Execute, answer(task)]))
            .on("tasks/get", 1, [answer(working)])
            .on("tasks/get", 3, [answer(&completed)]);
        server = match lost {
            true => server.on("tasks/get", 2, [Step::Lose(reset())]),
            false => server.on("tasks/get", 2, [answer(working)]),
        };
        let session = session(&server).await;
        let asked = ToolCall { task_ttl_ms: 1, ..pay() };
        let verdict = call(&session, asked).await.expect("it was sent");
        let outcome = match verdict {
            Outcome::UnknownOutcome(unknown) if lost => {
                assert!(matches!(unknown.cause, Cause::Transport(_)), "{unknown:?}");
                let known = session.reconcile(unknown.call, Duration::from_secs(10)).await;
                known.expect("it lives").expect("it is remembered")
            }
            outcome => outcome,
        };
        assert!(matches!(&outcome, Outcome::Ok(result) if result.json == done), "{outcome:?}");
        assert_eq!((server.ledger().count("pay"), server.wire().calls("pay")), (1, 1));
    }
}

/// A task that ended without a result leaves its call unknown; the server's last word is told whole.
#[tokio::test(start_paused = true)]
async fn a_task_that_was_ended_is_an_unknown_outcome() {
    let task = r#"{"resultType":"task","taskId":"t-1","status":"working","pollIntervalMs":200}"#;
    let cancelled = r#"{"taskId":"t-1","status":"cancelled","statusMessage":"by an operator"}"#;
    let server = LedgerServer::new()
        .revisions(&[MODERN])
        .rule(Rule::new(When::tool("pay"), [Step::Execute, answer(task)]))
        .always("tasks/get", [answer(cancelled)]);
    let session = session(&server).await;
    let verdict = call(&session, ToolCall { task_ttl_ms: 1, ..pay() }).await;
    let Ok(Outcome::UnknownOutcome(unknown)) = verdict else { panic!("{verdict:?}") };
    assert_eq!(unknown.cause, Cause::TaskEnded(cancelled.to_owned()));
}
