//! Peers as servers over HTTP in this process: each is an [`HttpLedger`], which meets requests as its script
//! says and keeps the record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::peer::{Deed, Did, Peer, Peers, Received, Stamp};
use super::script::{Act, Script};
use crate::ledger::http::{HttpLedger, Intake, Rule, Traffic, What, When};

mod meeting;

pub(super) use meeting::Fate;
pub use meeting::Meeting;

/// The most that lies between two sockets on one machine.
const SOCKETS: u64 = 16 << 20;

/// What a server asks its client to wait before it resumes a stream, in milliseconds.
const RETRY: u64 = 10;

/// Servers over HTTP that play scripts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Servers;

impl Peers for Servers {
    type Address = String;
    type Peer = Server;

    fn start(&self, script: &Script) -> io::Result<Server> {
        let mut ledger = HttpLedger::start_at_once()?.sessionless().resumable(Some(RETRY));
        let begun = Stamp::now();
        for act in &script.0 {
            let Act::Meet(text, meeting) = act else { continue };
            if let Meeting::CutsRequest(bytes, end) = meeting {
                // Whose request it is, is not yet known: it is the first.
                ledger = ledger.on_request(1, Intake::body(*bytes, *end));
            } else {
                let rule = Rule::new(When::id(text.id), meeting.steps(*text, &ledger.elsewhere()));
                ledger = ledger.rule(rule);
            }
        }
        Ok(Server { ledger, begun, script: script.clone() })
    }

    fn plays(&self, act: &Act) -> bool {
        matches!(act, Act::Meet(..))
    }

    fn room(&self) -> u64 {
        SOCKETS
    }

    fn own_channels(&self) -> bool {
        true
    }
}

/// A peer that is a server over HTTP.
pub struct Server {
    ledger: HttpLedger,
    begun: Stamp,
    script: Script,
}

impl Server {
    /// The acts that say something in answer to the request with this id.
    fn says(&self, id: u64) -> impl Iterator<Item = usize> {
        let acts = self.script.0.iter().enumerate();
        acts.filter_map(move |(index, act)| {
            matches!(act, Act::Meet(text, _) if text.id == id).then_some(index)
        })
    }
}

impl Peer for Server {
    type Address = String;

    fn address(&self) -> String {
        self.ledger.url()
    }

    fn endpoint(&self) -> String {
        self.ledger.url()
    }

    fn deeds(&self) -> io::Result<Vec<Deed>> {
        let traffic = self.ledger.traffic();
        let requests: BTreeMap<u32, Option<u64>> =
            traffic.requests().map(|(_, request)| (request.number, request.id())).collect();
        let mut deeds = Vec::new();
        for entry in traffic.entries() {
            let after = u64::try_from(entry.at.as_micros()).unwrap_or(u64::MAX);
            let at = Stamp(self.begun.0.saturating_add(after));
            let mut did = |did| deeds.push(Deed { at, did });
            match &entry.what {
                What::Accepted => did(Did::Start),
                What::Came(request) => did(Did::Take(request.body.len() as u64)),
                What::Answered { request, status: Some(status), .. } => {
                    let Some(id) = requests.get(request).copied().flatten() else { continue };
                    did(Did::Respond(id, *status));
                    self.says(id).for_each(|act| did(Did::Say(act, 1)));
                }
                _ => {}
            }
        }
        if held(&traffic) == 0 && !deeds.is_empty() {
            deeds.push(Deed { at: Stamp::now(), did: Did::ReadEnd });
        }
        Ok(deeds)
    }

    fn received(&self) -> io::Result<Vec<Received>> {
        let traffic = self.ledger.traffic();
        let posts = traffic.requests().filter(|(_, request)| request.method == "POST");
        let received = posts.map(|(entry, request)| Received {
            connection: entry.connection as usize,
            text: request.body.clone(),
            ended: request.whole,
        });
        Ok(received.collect())
    }

    fn remains(&self) -> io::Result<usize> {
        Ok(held(&self.ledger.traffic()))
    }
}

/// How many responses are waited for.
fn held(traffic: &Traffic) -> usize {
    let mut held = BTreeSet::new();
    for entry in traffic.entries() {
        match &entry.what {
            What::Came(_) => drop(held.insert(entry.connection)),
            What::Answered { .. } | What::Gone | What::Ended(_) => drop(held.remove(&entry.connection)),
            What::Accepted | What::Cancelled(_) => {}
        }
    }
    held.len()
}
