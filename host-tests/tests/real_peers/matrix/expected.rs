//! What is expected of each cell. What is not there is named here, with what the server says then.

use super::Feature;
use super::rows::{Row, Way};
use crate::servers::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Works,
    /// The server, or its SDK, does not have it.
    Absent(Lack),
    /// The revision does not have it.
    NotInRevision,
}

/// What a server lacks where something does not work with it. Each is a note below the table, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    Ledger,
    Sessions,
    Level,
    Subscriptions,
    Stream,
    Tasks,
    EventIds,
}

impl Lack {
    pub(crate) const ALL: [Lack; 7] = [
        Lack::Ledger,
        Lack::Sessions,
        Lack::Level,
        Lack::Subscriptions,
        Lack::Stream,
        Lack::Tasks,
        Lack::EventIds,
    ];

    /// The note.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Lack::Ledger => "it keeps no ledger, which would tell",
            Lack::Sessions => "it keeps no sessions: what comes with another request does not reach the tool",
            Lack::Level => "it answers `logging/setLevel` with -32601",
            Lack::Subscriptions => "it answers `resources/subscribe` with -32601",
            Lack::Stream => "it keeps no sessions, and so has nowhere to tell its news",
            Lack::Tasks => "it declares no tasks",
            Lack::EventIds => "its streams have no event ids, or come all at once: nothing to resume",
        }
    }

    /// What the failure of the attempt must hold.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Lack::Ledger | Lack::Sessions => "did not record that it was cancelled",
            Lack::Level | Lack::Subscriptions => "-32601",
            Lack::Stream => "no notifications/",
            Lack::Tasks => "declares no tasks",
            Lack::EventIds => "nothing to resume",
        }
    }
}

pub(crate) fn expected(row: Row, feature: Feature) -> Expected {
    use Expected::{Absent, NotInRevision, Works};
    match (feature, row.server) {
        // There the end of the stream is the cancel, and no answer comes after it.
        (Feature::Late, _) if row.is_modern() && row.way == Way::Http => NotInRevision,
        (Feature::Stops, Server::Npm) => Absent(Lack::Ledger),
        (Feature::Stops, Server::TypeScript) if row.way == Way::Http && !row.is_modern() => {
            Absent(Lack::Sessions)
        }
        (Feature::Level, Server::Python) if !row.is_modern() => Absent(Lack::Level),
        (Feature::Updated, Server::Python) if !row.is_modern() => Absent(Lack::Subscriptions),
        (Feature::Changed | Feature::Updated, Server::TypeScript)
            if row.way == Way::Http && !row.is_modern() =>
        {
            Absent(Lack::Stream)
        }
        (Feature::Task, _) if row.revision < "2025-11-25" => NotInRevision,
        (Feature::Task, Server::Npm) => Works,
        (Feature::Task, Server::Rmcp) if row.is_modern() => Works,
        (Feature::Task, _) => Absent(Lack::Tasks),
        (Feature::Resume, _) if row.is_modern() || row.way != Way::Http => NotInRevision,
        (Feature::Resume, Server::Python | Server::TypeScript) => Absent(Lack::EventIds),
        _ => Works,
    }
}
