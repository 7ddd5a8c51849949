//! The world `mcp-client-interactive`, through the component in wasmtime: what a server asks reaches the host, and
//! the host's answer the server, while calls go on.

use std::time::Duration;

use host_tests::ledger::{Channel, LedgerServer, Step, reset};
use host_tests::runtime::Surface;
use host_tests::transport::BoxFuture;
use host_tests::{
    Cause, INTERACTIVE, INTERACTIVE_HTTP_CLIENT, Interaction, NotExecuted, Options, Outcome, Question,
    QuestionKind, RpcError, Runtime, Session, ToolCall, ToolResult,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

const MODERN: &str = "2026-07-28";
const ALL: &str = r#"{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{}}"#;

/// Far more than anything here takes.
const LONG: Duration = Duration::from_secs(3600);

/// A host whose answers are in the test's hand.
struct Host {
    capabilities: &'static str,
    asked: mpsc::UnboundedSender<Asked>,
}

/// A question that waits for its answer.
#[derive(Debug)]
struct Asked {
    endpoint: String,
    question: Question,
    answer: oneshot::Sender<Result<String, RpcError>>,
}

impl Interaction for Host {
    fn capabilities(&self, endpoint: &str) -> String {
        assert_eq!(endpoint, "ledger");
        self.capabilities.to_owned()
    }

    fn answer(&self, endpoint: &str, question: Question) -> BoxFuture<'static, Result<String, RpcError>> {
        let (answer, answered) = oneshot::channel();
        self.asked.send(Asked { endpoint: endpoint.to_owned(), question, answer }).expect("the test asks");
        Box::pin(async { answered.await.expect("the test answers, or does not look") })
    }
}

impl Asked {
    fn answer(self, text: &str) {
        self.answer.send(Ok(text.to_owned())).expect("somebody waits for it");
    }

    /// Waits until nobody wants to know any more.
    async fn withdrawn(&mut self) {
        timeout(LONG, self.answer.closed()).await.expect("it is withdrawn");
    }
}

struct Bench {
    server: LedgerServer,
    session: Session,
    questions: mpsc::UnboundedReceiver<Asked>,
}

impl Bench {
    async fn with(server: LedgerServer, capabilities: &'static str, change: fn(&mut Options)) -> Bench {
        let (asked, questions) = mpsc::unbounded_channel();
        let runtime = Runtime::built_interactive().expect("the component loads");
        let client = runtime.answered_by(Host { capabilities, asked }).client(server.clone());
        let mut options = client.default_options().await.expect("it lives");
        change(&mut options);
        let session = client.session("ledger", options).await.expect("it lives");
        Bench { server, session, questions }
    }

    async fn new(server: LedgerServer) -> Bench {
        Bench::with(server, ALL, |_| {}).await
    }

    /// Begins a call, which goes on by itself.
    fn call(&self, call: ToolCall) -> impl Future<Output = Result<Outcome, NotExecuted>> + use<> {
        let verdict = self.session.call_tool(call);
        async { timeout(LONG, verdict).await.expect("every call ends").expect("no trap") }
    }

    async fn question(&mut self) -> Asked {
        timeout(LONG, self.questions.recv()).await.expect("the host is asked").expect("it lives")
    }

    /// What the server was answered.
    fn answers(&self) -> Vec<String> {
        let wire = self.server.wire();
        let answers = wire.handed().filter(|(_, handed)| handed.method.is_empty());
        answers.map(|(_, handed)| handed.bytes.text().into_owned()).collect()
    }

    /// The last call that was handed over.
    fn last_call(&self) -> String {
        let wire = self.server.wire();
        let last = wire.handed().filter(|(_, handed)| handed.method == "tools/call").last();
        last.expect("there is one").1.bytes.text().into_owned()
    }
}

fn pay() -> ToolCall {
    ToolCall::new("pay").arguments(r#"{"amount":5}"#)
}

fn ok(verdict: Result<Outcome, NotExecuted>) -> ToolResult {
    match verdict {
        Ok(Outcome::Ok(result)) => result,
        other => panic!("not ok: {other:?}"),
    }
}

fn cause(verdict: Result<Outcome, NotExecuted>) -> Cause {
    match verdict {
        Ok(Outcome::UnknownOutcome(unknown)) => unknown.cause,
        other => panic!("not unknown: {other:?}"),
    }
}

fn asks(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"message":"5 \u20ac?"}}}}"#)
}

#[test]
fn it_imports_what_the_plain_one_does_and_one_interface_more() {
    let surface = Surface::of_bytes(INTERACTIVE).expect("it is a component");
    let imports = [
        "noreplay:mcp/interaction@0.3.0",
        "noreplay:mcp/transport@0.3.0",
        "noreplay:mcp/types@0.3.0",
        "wasi:clocks/monotonic-clock@0.3.0",
    ];
    assert_eq!(surface.imports, imports);
    assert_eq!(surface.exports, ["noreplay:mcp/client@0.3.0"]);
    let composed = Surface::of_bytes(INTERACTIVE_HTTP_CLIENT).expect("it is a component");
    assert!(composed.imports.contains(&imports[0].to_owned()), "{composed:?}");
    assert!(!composed.imports.contains(&imports[1].to_owned()), "{composed:?}");
}

#[test]
fn it_is_small() {
    println!("the interactive component: {} bytes", INTERACTIVE.len());
    assert!(INTERACTIVE.len() <= 200_000, "{} bytes", INTERACTIVE.len());
}

/// B113: the server asks in the middle of a call; the host answers, and the call goes on. Another call does not
/// notice.
#[tokio::test(start_paused = true)]
async fn a_server_asks_and_the_host_answers() {
    let asks = Step::SayOn(Channel::Own, asks("\"s1\"", "elicitation/create").into_bytes());
    let server = LedgerServer::new().own_channels().on_tool(
        "pay",
        1,
        [asks, Step::sleep(2_000), Step::Execute, Step::Answer],
    );
    let mut bench = Bench::new(server).await;
    let begun = Instant::now();
    let slow = bench.call(ToolCall::new("slow").arguments(r#"{"ms":5000}"#));
    let paying = bench.call(pay());
    let asked = bench.question().await;
    assert_eq!((asked.endpoint.as_str(), asked.question.kind), ("ledger", QuestionKind::Elicitation));
    assert_eq!(asked.question.params, r#"{"message":"5 \u20ac?"}"#);
    let of_call = asked.question.call;
    sleep(Duration::from_secs(1)).await;
    asked.answer(r#"{"action":"accept","content":{"n":1e400}}"#);
    let paid = ok(paying.await);
    assert_eq!(of_call, Some(paid.call));
    let answer = r#"{"jsonrpc":"2.0","id":"s1","result":{"action":"accept","content":{"n":1e400}}}"#;
    assert_eq!(bench.answers(), [answer]);
    ok(slow.await);
    assert_eq!((bench.server.ledger().count("pay"), bench.server.ledger().count("slow")), (1, 1));
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    let wire = bench.server.wire();
    let (_, initialize) = wire.handed().find(|(_, handed)| handed.method == "initialize").expect("it is");
    assert!(initialize.bytes.text().contains(&format!(r#""capabilities":{ALL}"#)), "{initialize:?}");
    assert_eq!(bench.server.violations(), [""; 0]);
}

/// Between calls too, several at once and in any order, answered well or by an error; then no more than may be.
#[tokio::test(start_paused = true)]
async fn answers_come_in_any_order() {
    let mut bench = Bench::new(LedgerServer::new()).await;
    ok(bench.call(pay()).await);
    for (id, method) in [("1", "roots/list"), ("2", "sampling/createMessage"), ("3", "elicitation/create")] {
        bench.server.say(asks(id, method));
    }
    let (roots, sampling, elicitation) =
        (bench.question().await, bench.question().await, bench.question().await);
    assert_eq!(roots.question.call, None);
    elicitation.answer(r#"{"action":"cancel"}"#);
    let error = RpcError { code: -1, message: "no model".to_owned(), data: Some("[1]".to_owned()) };
    sampling.answer.send(Err(error)).expect("somebody waits for it");
    sleep(Duration::from_secs(1)).await;
    roots.answer("7");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        bench.answers(),
        [
            r#"{"jsonrpc":"2.0","id":3,"result":{"action":"cancel"}}"#,
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no model","data":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the answer cannot be passed on"}}"#,
        ]
    );
    for id in 0..1_000 {
        bench.server.say(asks(&id.to_string(), "roots/list"));
    }
    let waiting: Vec<_> = [bench.question().await, bench.question().await].into();
    ok(bench.call(pay()).await);
    drop(waiting);
}

/// What the host does not declare is refused at once, as in the plain world.
#[tokio::test(start_paused = true)]
async fn what_is_not_declared_is_refused() {
    let bench = Bench::with(LedgerServer::new(), r#"{"roots":{}}"#, |_| {}).await;
    ok(bench.call(pay()).await);
    bench.server.say(asks("1", "elicitation/create"));
    sleep(Duration::from_secs(1)).await;
    let refusal =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not supported by this client"}}"#;
    assert_eq!(bench.answers(), [refusal]);
    // A host that says nothing of who answers: nobody.
    let server = LedgerServer::new();
    let client = Runtime::built_interactive().expect("the component loads").client(server.clone());
    let options = client.default_options().await.expect("it lives");
    let session = client.session("ledger", options).await.expect("it lives");
    ok(session.call_tool(pay()).await.expect("it lives"));
    server.say(asks("1", "roots/list"));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.wire().count(""), 1);
}

/// A question whose server, call or session is gone is taken from the host.
#[tokio::test(start_paused = true)]
async fn a_question_that_nobody_waits_for_is_withdrawn() {
    let mut bench = Bench::new(LedgerServer::new()).await;
    ok(bench.call(pay()).await);
    bench.server.say(asks("1", "roots/list"));
    bench.server.say(asks("2", "roots/list"));
    let (mut first, mut second) = (bench.question().await, bench.question().await);
    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
    bench.server.say(cancelled);
    second.withdrawn().await;
    assert!(!first.answer.is_closed());
    bench.server.lose(reset());
    first.withdrawn().await;
    ok(bench.call(pay()).await);
    bench.server.say(asks("3", "roots/list"));
    let mut third = bench.question().await;
    timeout(LONG, bench.session.close()).await.expect("it ends").expect("it lives");
    third.withdrawn().await;
    assert_eq!(bench.answers(), [""; 0]);
    assert_eq!(bench.server.violations(), [""; 0]);
}

const SUSPENDED: &str = r#"{"resultType":"input_required","requestState":"s\u0041","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}},"b":{"method":"roots/list"}}}"#;

fn suspending() -> LedgerServer {
    LedgerServer::new().revisions(&[MODERN]).on_tool("pay", 1, [Step::AnswerWith(SUSPENDED.to_owned())])
}

/// 2026-07-28: the call goes on with the host's answers, once, and is charged once.
#[tokio::test(start_paused = true)]
async fn a_suspended_call_goes_on_with_the_hosts_answers() {
    let mut bench = Bench::new(suspending()).await;
    let paying = bench.call(pay());
    let (form, roots) = (bench.question().await, bench.question().await);
    assert_eq!((form.question.kind, roots.question.kind), (QuestionKind::Elicitation, QuestionKind::Roots));
    assert_eq!((form.question.params.as_str(), roots.question.params.as_str()), (r#"{"message":"?"}"#, ""));
    let of_call = (form.question.call, roots.question.call);
    // Another call is made meanwhile, and the connection replaced.
    ok(bench.call(ToolCall::new("echo")).await);
    bench.session.reconnect().await.expect("it lives").expect("it connects");
    roots.answer(r#"{"roots":[]}"#);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(bench.server.wire().calls("pay"), 1);
    form.answer(r#"{"action":"accept"}"#);
    let paid = ok(paying.await);
    assert_eq!((paid.attempts, of_call), (2, (Some(paid.call), Some(paid.call))));
    let members = r#""inputResponses":{"a":{"action":"accept"},"b":{"roots":[]}},"requestState":"s\u0041""#;
    assert!(bench.last_call().contains(members), "{}", bench.last_call());
    assert!(bench.last_call().contains(&format!(r#"/clientCapabilities":{ALL}"#)), "{}", bench.last_call());
    assert_eq!((bench.server.wire().calls("pay"), bench.server.ledger().count("pay")), (2, 1));
    assert_eq!(bench.server.violations(), [""; 0]);
}

/// P9: a host that never answers holds no call beyond its deadline.
#[tokio::test(start_paused = true)]
async fn a_host_that_never_answers_holds_no_call() {
    let mut bench = Bench::new(suspending()).await;
    let begun = Instant::now();
    let paying = bench.call(pay().timeout(Duration::from_secs(7)));
    let (mut form, mut roots) = (bench.question().await, bench.question().await);
    assert_eq!(cause(paying.await), Cause::InputRequired(SUSPENDED.to_owned()));
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
    form.withdrawn().await;
    roots.withdrawn().await;
    assert_eq!(bench.server.wire().calls("pay"), 1);
    assert_eq!(bench.server.wire().count("notifications/cancelled"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_hosts_leaves_the_call_suspended() {
    let mut bench = Bench::new(suspending()).await;
    let paying = bench.call(pay());
    let (form, mut roots) = (bench.question().await, bench.question().await);
    let error = RpcError { code: -1, message: "no".to_owned(), data: None };
    form.answer.send(Err(error)).expect("somebody waits for it");
    assert_eq!(cause(paying.await), Cause::InputRequired(SUSPENDED.to_owned()));
    roots.withdrawn().await;
    assert_eq!(bench.server.wire().calls("pay"), 1);
}
