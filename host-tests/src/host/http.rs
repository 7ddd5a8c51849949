//! What a component may reach by `wasi:http`, and how it proves itself there.
//!
//! Each request goes out once, on a fresh connection: see `hooks`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ::http::{Request, Response};
use wasmtime_wasi_http::p3::DEFAULT_OUTGOING_BODY_CHUNK_SIZE;
use wasmtime_wasi_http::{Error, WasiBody};

use crate::transport::BoxFuture;

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
    server: Option<Arc<dyn Server>>,
    chunk: usize,
}

/// A server in this process, which answers in the network's place. It may live in virtual time.
pub trait Server: Send + Sync + 'static {
    /// Answers a request, or fails as the network would. How much of the request's body it reads is how much
    /// of it was sent.
    fn answer(&self, request: Request<WasiBody>) -> BoxFuture<'static, Result<Response<WasiBody>, Error>>;
}

impl Default for Http {
    fn default() -> Http {
        Http {
            origins: BTreeSet::new(),
            connecting: CONNECTING,
            credentials: Arc::new(Vec::new()),
            server: None,
            chunk: DEFAULT_OUTGOING_BODY_CHUNK_SIZE,
        }
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

    /// Has `server` answer every request that is allowed, in the network's place. It takes a request's body in
    /// pieces of at most `chunk` bytes.
    #[must_use]
    pub fn answered_by(self, server: Arc<dyn Server>, chunk: usize) -> Http {
        Http { server: Some(server), chunk, ..self }
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
