//! One row's server, wire and session, and what happens beside its calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use host_tests::fault_proxy::{Cut, FaultProxy};
use host_tests::ledger::http::{End, When};
use host_tests::transport::stdio::Stdio;
use host_tests::{
    Client, Event, Http, NotExecuted, Outcome, Runtime, Server as Introduced, Session, ToolCall,
};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::expected::Expected;
use super::rows::{Row, Way};
use super::{Feature, Tried};
use crate::http::server::Server;

/// Nothing takes so long that works.
const STUCK: Duration = Duration::from_secs(60);

/// How long is waited for what the server is expected to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long is waited for something that is expected not to come.
const IN_VAIN: Duration = Duration::from_millis(700);

/// How late the relay passes the answer that is to be late.
const LATE: &str = "delay:3000";

pub(crate) struct Bench {
    pub(crate) row: Row,
    pub(crate) session: Session,
    pub(crate) introduced: Introduced,
    pub(crate) wire: Wire,
    folder: PathBuf,
    events: Arc<Mutex<Vec<Event>>>,
    /// How long to wait for what the server may not do.
    patience: Duration,
    calls: u32,
}

/// Where the client's messages are seen, and some of the server's are lost.
pub(crate) enum Wire {
    /// The relay's log.
    Stdio(PathBuf),
    Http {
        server: Box<Server>,
        proxy: FaultProxy,
    },
}

impl Bench {
    /// `None` where the server is missing.
    pub(crate) async fn new(row: Row) -> Option<Bench> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real_peers/matrix").join(row.to_string());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the row's folder");
        let (wire, client, url) = match row.way {
            Way::Stdio => {
                let log = folder.join("wire");
                let client = Runtime::built().expect("it loads").client(Stdio::new(relayed(row, &folder)?));
                (Wire::Stdio(log), client, String::new())
            }
            Way::Http | Way::Sse => {
                let server = row.peer().start(&folder, 0).await?;
                let proxy = FaultProxy::before(server.address).await.expect("a port");
                // The effect happens; of the response nothing arrives.
                let proxy = match row.way {
                    Way::Http => proxy.cut(When::method("tools/call").nth(1), Cut::Response(0, End::Reset)),
                    _ => proxy,
                };
                let url = proxy.url(server.path);
                (Wire::Http { server: Box::new(server), proxy }, over(&url), url)
            }
        };
        let session = session(&client, row, &url).await;
        let introduced = ended(session.reconnect()).await.expect("it connects");
        assert_eq!(introduced.protocol_version, row.revision, "{row}");
        let events = Arc::default();
        tokio::spawn(remember(session.clone(), Arc::clone(&events)));
        let patience = PATIENCE;
        Some(Bench { row, session, introduced, wire, folder, events, patience, calls: 0 })
    }

    /// Tries a feature.
    pub(crate) async fn attempt(&mut self, feature: Feature, expected: Expected) -> Tried {
        self.patience = if matches!(expected, Expected::Absent(_)) { IN_VAIN } else { PATIENCE };
        self.lock().clear();
        match timeout(2 * STUCK, self.feature(feature)).await {
            Ok(tried) => tried,
            Err(_) => Err("it does not end".into()),
        }
    }

    async fn feature(&mut self, feature: Feature) -> Tried {
        match feature {
            Feature::Lost => self.lost().await,
            Feature::Late => self.late().await,
            Feature::Ok => self.ok().await,
            Feature::ToolError => self.tool_error().await,
            Feature::Overlap => self.overlap().await,
            Feature::Large => self.large().await,
            Feature::Cancel => self.cancel().await,
            Feature::Stops => self.stops().await,
            Feature::Progress => self.progress().await,
            Feature::Log => self.log().await,
            Feature::Level => self.level().await,
            Feature::Tools => self.tools().await,
            Feature::Resources => self.resources().await,
            Feature::Prompts => self.prompts().await,
            Feature::Complete => self.complete().await,
            Feature::Ping => self.ping().await,
            Feature::Changed => self.changed().await,
            Feature::Updated => self.updated().await,
            Feature::Task => self.task().await,
            Feature::Resume => self.resume().await,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session with the same server, at `url`.
    pub(crate) async fn another(&self, url: &str) -> Session {
        session(&over(url), self.row, url).await
    }

    /// A number that no other call of this row has.
    pub(crate) fn number(&mut self) -> u32 {
        self.calls += 1;
        self.calls
    }

    /// Waits for an event, and says whether it came.
    pub(crate) async fn event(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.until(|| self.lock().iter().any(&is_it)).await
    }

    /// Waits until something is so, as long as it is worth it.
    pub(crate) async fn until(&self, is_so: impl Fn() -> bool) -> bool {
        let end = Instant::now() + self.patience;
        while !is_so() {
            if Instant::now() > end {
                return false;
            }
            sleep(Duration::from_millis(5)).await;
        }
        true
    }

    /// How many effects with this tool are in the ledger.
    pub(crate) fn effects(&self, is_it: impl Fn(&Value) -> bool) -> usize {
        let ledger = fs::read_to_string(self.folder.join("ledger")).unwrap_or_default();
        ledger.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(is_it).count()
    }

    /// How many messages with this method were on the wire.
    pub(crate) fn sent(&self, method: &str) -> usize {
        match &self.wire {
            Wire::Stdio(log) => {
                let log = fs::read_to_string(log).unwrap_or_default();
                let messages = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                messages.filter(|message| message["method"] == method).count()
            }
            Wire::Http { proxy, .. } => {
                let passed = proxy.passed();
                passed.iter().filter(|passed| passed.request.rpc().as_deref() == Some(method)).count()
            }
        }
    }

    /// Ends the row's server, and starts another in its place.
    pub(crate) async fn restart(&mut self, begin: impl Future<Output = ()>) {
        let Wire::Http { server, .. } = &mut self.wire else { return };
        begin.await;
        server.kill().await;
        let port = server.address.port();
        **server = self.row.peer().start(&self.folder, port).await.expect("it was there before");
    }
}

/// The server's command behind the relay, which loses the answer to the first call, and delays that to the second.
fn relayed(row: Row, folder: &Path) -> Option<Vec<PathBuf>> {
    let command = row.server.command()?;
    let ledger = PathBuf::from(format!("LEDGER={}", folder.join("ledger").display()));
    let mut words = vec!["env".into(), ledger, env!("CARGO_BIN_EXE_peer-relay").into()];
    words.extend(["--log".into(), folder.join("wire"), "--on".into(), "tools/call".into()]);
    let faults = [["--nth", "1", "--fault", "kill-after-answer-read"], ["--nth", "2", "--fault", LATE]];
    words.extend(faults.concat().into_iter().map(PathBuf::from));
    words.push("--".into());
    words.extend(command);
    Some(words)
}

fn over(url: &str) -> Client {
    Runtime::built_http().expect("it loads").client_over(Http::to(url).expect("a URL"))
}

async fn session(client: &Client, row: Row, url: &str) -> Session {
    let mut options = client.default_options().await.expect("it lives");
    options.protocol = Some(row.revision.to_owned());
    client.session(url, options).await.expect("it lives")
}

async fn remember(session: Session, events: Arc<Mutex<Vec<Event>>>) {
    while let Ok(Some(event)) = session.next_event().await {
        events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// What something brings that must end.
pub(crate) async fn ended<T, E: std::fmt::Debug>(wait: impl Future<Output = Result<T, E>>) -> T {
    timeout(STUCK, wait).await.expect("it ends").expect("the component does not trap")
}

/// What became of a call.
pub(crate) async fn made(session: &Session, call: ToolCall) -> Result<Outcome, NotExecuted> {
    ended(session.call_tool(call)).await
}
