//! What a component may reach by `wasi:http`, and how it proves itself there.
//!
//! Each request goes out once, on a fresh connection: see `hooks`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

mod credentials;
mod hooks;
mod origin;

pub use credentials::{Challenge, Credentials, Header, HeaderError};
pub(super) use hooks::Hooks;
pub use origin::{Origin, UrlError};

/// How long connecting may take, unless said otherwise.
const CONNECTING: Duration = Duration::from_secs(10);

/// What a component may reach by HTTP, and how it proves itself there. The default is nothing at all.
#[derive(Clone)]
pub struct Http {
    origins: BTreeSet<Origin>,
    connecting: Duration,
    credentials: Arc<dyn Credentials>,
}

impl Default for Http {
    fn default() -> Http {
        Http { origins: BTreeSet::new(), connecting: CONNECTING, credentials: Arc::new(Vec::new()) }
    }
}

impl Http {
    /// Lets a component reach the origin of `url`, and nothing else.
    ///
    /// # Errors
    ///
    /// It is no `http` or `https` URL.
    pub fn to(url: &str) -> Result<Http, UrlError> {
        Ok(Http::default().and(Origin::of(url)?))
    }

    /// Lets it reach this origin too.
    #[must_use]
    pub fn and(mut self, origin: Origin) -> Http {
        self.origins.insert(origin);
        self
    }

    /// How it proves itself, to each server that it may reach. A list of headers will do.
    #[must_use]
    pub fn credentials(self, credentials: impl Credentials) -> Http {
        Http { credentials: Arc::new(credentials), ..self }
    }

    /// How long connecting may take: 10 s, unless said otherwise.
    #[must_use]
    pub fn connecting(self, limit: Duration) -> Http {
        Http { connecting: limit, ..self }
    }

    /// Whether `origin` may be reached.
    fn allows(&self, origin: &Origin) -> bool {
        self.origins.contains(origin)
    }
}

/// Without the credentials.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("origins", &self.origins)
            .field("connecting", &self.connecting)
            .finish_non_exhaustive()
    }
}
