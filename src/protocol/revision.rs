//! The protocol revisions this client speaks, and what differs between them.

/// A released revision of MCP, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// The first: stdio, and HTTP with an SSE stream.
    V2024_11_05,
    /// Streamable HTTP; the only one with JSON-RPC batches.
    V2025_03_26,
    /// Structured results; the version header over HTTP.
    V2025_06_18,
    /// Resumable POST streams; the first tasks.
    V2025_11_25,
    /// No handshake, no session: each request speaks for itself.
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The oldest.
    pub const OLDEST: Self = Self::V2024_11_05;

    /// The newest that begins with `initialize`, which offers it.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The newest.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The revision of this name; `None` if this client does not speak it.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|revision| revision.as_str() == name)
    }

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether each request speaks for itself, and `server/discover` takes the place of `initialize`.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    /// Whether a call may ask to be run as a task.
    pub const fn has_tasks(self) -> bool {
        matches!(self, Self::V2025_11_25)
    }

    /// Whether a server may send several messages in one array. Elsewhere an array is odd, but the
    /// answers inside it are answers all the same.
    pub const fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26)
    }
}
