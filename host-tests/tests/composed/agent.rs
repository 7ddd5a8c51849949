//! The agent and the client, composed into one component, and driven.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use host_tests::Http;
use host_tests::host::{self, Host};
use host_tests::ledger::http::HttpLedger;
use host_tests::ledger::{LedgerServer, What};
use tokio::time::timeout;
use wasmtime::component::{Accessor, Component, Linker, ResourceAny};
use wasmtime::{Engine, Store, StoreLimits, StoreLimitsBuilder};

use bindings::ComposedPre;
use bindings::exports::noreplay::agent::errands::Guest;
pub(crate) use bindings::exports::noreplay::agent::errands::{Errand, Event, Unknown, Verdict};

/// What the composed component exports. What it imports, the host library supplies.
mod bindings {
    #![allow(missing_docs, unreachable_pub, reason = "generated; what is documented carries its words")]

    wasmtime::component::bindgen!({
        inline: "
            package noreplay:composed;
            world composed { export noreplay:agent/errands; }
        ",
        path: ["../wit", "agent/wit"],
        world: "noreplay:composed/composed",
        exports: { default: async | store },
        additional_derives: [PartialEq],
    });
}

/// The agent with the client in it.
pub(crate) const AGENT: &[u8] = include_bytes!(env!("AGENT_COMPONENT"));

/// The agent with the client in it, which has the HTTP transport in it.
pub(crate) const HTTP_AGENT: &[u8] = include_bytes!(env!("HTTP_AGENT_COMPONENT"));

/// The memory that each of the components may have: little, so that a leak shows.
const MEMORY: usize = 2 << 20;

/// No story takes this long, in virtual time where the server is in this process.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// An agent that lives in an instance of the composed component.
pub(crate) struct Agent<'a> {
    store: &'a Accessor<Host>,
    guest: &'a Guest,
    resource: ResourceAny,
}

/// Tells a story about an agent that works with `server`. In the end the agent is dropped, and its
/// session lets each connection go: in every story, nothing traps, hangs or is left over, and the
/// client does nothing that a client must never do.
pub(crate) async fn with_agent<R>(server: &LedgerServer, story: impl AsyncFnOnce(&Agent<'_>) -> R) -> R {
    composed(server, async |store, guest| {
        let resource = guest.agent().call_constructor(store, "ledger".to_owned()).await;
        let agent = Agent { store, guest, resource: resource.expect("it does not trap") };
        let end = story(&agent).await;
        agent.drop();
        end
    })
    .await
}

/// Tells a story about an agent that walks out.
pub(crate) async fn walk_out(server: &LedgerServer, errand: Errand) -> Option<Verdict> {
    composed(server, async |store, guest| {
        let verdict = guest.call_walk_out(store, "ledger".to_owned(), errand).await;
        verdict.expect("it does not trap")
    })
    .await
}

async fn composed<R>(server: &LedgerServer, story: impl AsyncFnOnce(&Accessor<Host>, &Guest) -> R) -> R {
    static INSTANCES: OnceLock<ComposedPre<Host>> = OnceLock::new();
    let instances = INSTANCES.get_or_init(|| instances(AGENT));
    let end = tell(instances, Host::new(Arc::new(server.clone()), limits()), async |store, guest| {
        let end = story(store, guest).await;
        server.until(|wire| times(wire, &What::Connected) == times(wire, &What::Dropped)).await;
        end
    });
    let end = end.await;
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    end
}

/// Tells a story about an agent, a client and a transport, all components, that work with `server`.
pub(crate) async fn with_agent_over_http<R>(
    server: &HttpLedger,
    story: impl AsyncFnOnce(&Agent<'_>) -> R,
) -> R {
    static INSTANCES: OnceLock<ComposedPre<Host>> = OnceLock::new();
    let instances = INSTANCES.get_or_init(|| instances(HTTP_AGENT));
    let url = server.url();
    let host = Host::over(Http::to(&url).expect("it is a URL"), limits());
    let end = tell(instances, host, async |store, guest| {
        let resource = guest.agent().call_constructor(store, url).await;
        let agent = Agent { store, guest, resource: resource.expect("it does not trap") };
        let end = story(&agent).await;
        agent.drop();
        end
    });
    let end = end.await;
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    end
}

/// Tells a story in an instance of its own.
async fn tell<R>(
    instances: &ComposedPre<Host>,
    host: Host,
    story: impl AsyncFnOnce(&Accessor<Host>, &Guest) -> R,
) -> R {
    let mut store = Store::new(instances.engine(), host);
    store.limiter(|host| &mut host.limits);
    let instance = instances.instantiate_async(&mut store).await.expect("it starts");
    let story = store.run_concurrent(async |store| story(store, instance.noreplay_agent_errands()).await);
    timeout(LONGEST, story).await.expect("it ends").expect("it does not trap")
}

fn limits() -> StoreLimits {
    StoreLimitsBuilder::new().memory_size(MEMORY).trap_on_grow_failure(true).build()
}

fn times(wire: &host_tests::ledger::Wire, what: &What) -> usize {
    wire.entries().iter().filter(|entry| entry.what == *what).count()
}

/// This component, compiled.
fn instances(agent: &[u8]) -> ComposedPre<Host> {
    let engine = Engine::default();
    let component = Component::new(&engine, agent).expect("it compiles");
    let mut linker = Linker::new(&engine);
    host::add_to_linker(&mut linker).expect("nothing is there twice");
    let instances = linker.instantiate_pre(&component).expect("the host has all it imports");
    ComposedPre::new(instances).expect("it exports the agent")
}

impl Agent<'_> {
    /// Calls all these tools at once. None: the agent gave that call up.
    pub(crate) async fn run<const N: usize>(&self, errands: [Errand; N]) -> [Option<Verdict>; N] {
        let verdicts = self.guest.agent().call_run(self.store, self.resource, errands.into()).await;
        verdicts.expect("it does not trap").try_into().expect("one verdict an errand")
    }

    /// Calls one tool.
    pub(crate) async fn call(&self, errand: Errand) -> Option<Verdict> {
        let [verdict] = self.run([errand]).await;
        verdict
    }

    /// How many tools the server lists, if it does within `patience_ms`.
    pub(crate) async fn list_tools(&self, patience_ms: u32) -> Option<u32> {
        let tools = self.guest.agent().call_list_tools(self.store, self.resource, patience_ms).await;
        tools.expect("it does not trap")
    }

    /// The client's next event, if it comes within `patience_ms`.
    pub(crate) async fn next_event(&self, patience_ms: u32) -> Option<Event> {
        let event = self.guest.agent().call_next_event(self.store, self.resource, patience_ms).await;
        event.expect("it does not trap")
    }

    /// Learns what became of a call, without calling again.
    pub(crate) async fn reconcile(&self, call: u64, timeout_ms: u32) -> Option<Verdict> {
        let agent = self.guest.agent();
        agent.call_reconcile(self.store, self.resource, call, timeout_ms).await.expect("it does not trap")
    }

    /// How many calls have no verdict yet.
    pub(crate) async fn pending(&self) -> u32 {
        self.guest.agent().call_pending(self.store, self.resource).await.expect("it does not trap")
    }

    /// The calls that may have run.
    pub(crate) async fn unsettled(&self) -> Vec<Unknown> {
        self.guest.agent().call_unsettled(self.store, self.resource).await.expect("it does not trap")
    }

    /// Drops the agent, and with it the session. Its destructor waits for nothing: one poll is enough.
    fn drop(&self) {
        let dropped = self.store.with(|store| self.resource.resource_drop_async(store).now_or_never());
        dropped.expect("the destructor does not block").expect("it does not trap");
    }
}
