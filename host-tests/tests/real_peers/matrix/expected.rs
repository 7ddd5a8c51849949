//! What is expected of each cell. What is not there is named here, with what the server says then.

use super::Feature;
use super::rows::{Row, Way};
use crate::servers::Server;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Works,
    /// The server, or its SDK, does not have it.
    Absent(Why),
    /// The revision does not have it.
    NotInRevision,
}

/// Why something is not there. Each is a note below the table, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    DoesNotStop,
    NoSessions,
    NoTasks,
    NoEventIds,
}

impl Why {
    pub(crate) const ALL: [Why; 4] = [Why::DoesNotStop, Why::NoSessions, Why::NoTasks, Why::NoEventIds];

    /// The note.
    pub(crate) fn note(self) -> &'static str {
        match self {
            Why::DoesNotStop => "its tools do not look at a cancel",
            Why::NoSessions => {
                "it keeps no sessions: what comes with another request does not reach the tool"
            }
            Why::NoTasks => "it declares no tasks",
            Why::NoEventIds => "its streams have no event ids, or come all at once: nothing to resume",
        }
    }

    /// What the failure of the attempt must hold.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Why::DoesNotStop | Why::NoSessions => "did not record that it was cancelled",
            Why::NoTasks => "declares no tasks",
            Why::NoEventIds => "nothing to resume",
        }
    }
}

pub(crate) fn expected(row: Row, feature: Feature) -> Expected {
    use Expected::{Absent, NotInRevision, Works};
    match (feature, row.server) {
        // There the end of the stream is the cancel, and no answer comes after it.
        (Feature::Late, _) if row.is_modern() && row.way == Way::Http => NotInRevision,
        (Feature::Stops, Server::Npm) => Absent(Why::DoesNotStop),
        (Feature::Stops, Server::TypeScript) if row.way == Way::Http && !row.is_modern() => {
            Absent(Why::NoSessions)
        }
        (Feature::Task, _) if row.revision != "2025-11-25" => NotInRevision,
        (Feature::Task, server) if server != Server::Npm => Absent(Why::NoTasks),
        (Feature::Resume, _) if row.is_modern() || row.way != Way::Http => NotInRevision,
        (Feature::Resume, Server::Python | Server::TypeScript) => Absent(Why::NoEventIds),
        _ => Works,
    }
}
