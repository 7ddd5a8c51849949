//! Stands before a server that listens on TCP and speaks HTTP/1.1, passes every byte on, and cuts a connection
//! at the byte that it is told.
//!
//! ```
//! use host_tests::fault_proxy::{Cut, FaultProxy};
//! use host_tests::ledger::http::{End, HttpLedger, When};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let server = HttpLedger::start().await?;
//! let proxy = FaultProxy::before(server.address())
//!     .await?
//!     // Of the response to the first call, 100 bytes arrive.
//!     .cut(When::method("tools/call").nth(1), Cut::Response(100, End::Reset));
//! assert!(proxy.url("/mcp").ends_with("/mcp"));
//! # Ok(())
//! # }
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use crate::ledger::http::input::Input;
use crate::ledger::http::output::finish;
use crate::ledger::http::script::{Armed, Looks, arm, choose};
use crate::ledger::http::{End, Request, When};

/// Where a connection is cut. Both sides of it end in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Of the request, so many bytes reach the server. It is read whole before.
    Request(u64, End),
    /// Of the response, so many bytes reach the client: none, once the first one is there. What the server
    /// says in between, such as 100, is a part of it.
    Response(u64, End),
}

/// A request that passed, or was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// On which connection, from 1.
    pub connection: u32,
    /// The request.
    pub request: Request,
    /// How long it is, in bytes.
    pub length: u64,
    /// How many bytes of the response have reached the client so far.
    pub response: u64,
    /// Whether it was cut.
    pub cut: bool,
}

/// The proxy. Cheap to clone; all clones are one, which ends with the last of them.
#[derive(Clone)]
pub struct FaultProxy {
    shared: Arc<Shared>,
    _running: Arc<Running>,
}

struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Shared {
    address: SocketAddr,
    server: SocketAddr,
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    cuts: Vec<Armed<Cut>>,
    passed: Vec<Passed>,
}

impl FaultProxy {
    /// A proxy on a free port of this machine, before the server that listens on `server`.
    ///
    /// # Errors
    ///
    /// There is no port to listen on.
    pub async fn before(server: SocketAddr) -> io::Result<FaultProxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { address, server, state: Mutex::default(), news: Notify::new() });
        let accepting = tokio::spawn(accept(shared.clone(), listener)).abort_handle();
        Ok(FaultProxy { shared, _running: Arc::new(Running(accepting)) })
    }

    /// Cuts at the requests that `when` fits. Of several cuts that fit one, the first counts.
    #[must_use]
    pub fn cut(self, when: When, cut: Cut) -> FaultProxy {
        self.shared.state().cuts.push(arm(when, cut));
        self
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.shared.address
    }

    /// The URL of `path` behind it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.shared.address)
    }

    /// The requests so far, in the order in which they came whole.
    pub fn passed(&self) -> Vec<Passed> {
        self.shared.state().passed.clone()
    }

    /// Waits until `condition` holds for the requests.
    pub async fn until(&self, condition: impl Fn(&[Passed]) -> bool) {
        loop {
            let news = self.shared.news.notified();
            if condition(&self.passed()) {
                return;
            }
            news.await;
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request down. Returns its index and what to do with it.
    fn take_down(&self, connection: u32, mut request: Request, length: usize) -> (usize, Option<Cut>) {
        let mut state = self.state();
        let (method, tool) = (request.rpc(), request.tool());
        let (http, method, tool) = (request.method.as_str(), method.as_deref(), tool.as_deref());
        let cut = choose(&mut state.cuts, Looks { http, method, tool, id: request.id() });
        let index = state.passed.len();
        request.number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        request.whole = true;
        let length = length as u64;
        state.passed.push(Passed { connection, request, length, response: 0, cut: false });
        (index, cut)
    }

    fn change(&self, index: usize, change: impl FnOnce(&mut Passed)) {
        if let Some(passed) = self.state().passed.get_mut(index) {
            change(passed);
        }
        self.news.notify_waiters();
    }
}

async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        // One that is gone before it was taken is none.
        let Ok((client, _)) = listener.accept().await else { continue };
        number += 1;
        while connections.try_join_next().is_some() {}
        connections.spawn(pass(shared.clone(), client, number));
    }
}

/// The request whose response is passed on, and where that is cut.
#[derive(Default)]
struct Current {
    index: usize,
    cut: Option<(u64, End)>,
}

async fn pass(shared: Arc<Shared>, client: TcpStream, number: u32) {
    // A client of a server that is not there is left without a word, as by the server.
    let Ok(server) = TcpStream::connect(shared.server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let mut input = Input::new(from_client);
    let current = Mutex::default();
    let end = tokio::select! {
        end = requests(&shared, number, &mut input, &mut to_server, &current) => end,
        end = responses(&shared, &mut from_server, &mut to_client, &current) => end,
    };
    if let Some(end) = end {
        let to_server = finish(end, Input::new(from_server), to_server);
        tokio::join!(finish(end, input, to_client), to_server);
    }
}

/// Passes requests on until the client is gone or a request is cut.
async fn requests(
    shared: &Shared,
    connection: u32,
    input: &mut Input,
    to_server: &mut OwnedWriteHalf,
    current: &Mutex<Current>,
) -> Option<End> {
    while input.begins().await {
        let mut request = Request::default();
        if input.read(&mut request, None).await.is_err() {
            // It is not ours to judge what came.
            let _ = to_server.write_all(input.raw()).await;
            return Some(End::Close);
        }
        let raw = input.raw();
        let (index, cut) = shared.take_down(connection, request, raw.len());
        let mut response = None;
        match cut {
            Some(Cut::Request(bytes, end)) => {
                let some = raw.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
                let _ = to_server.write_all(&raw[..some]).await;
                shared.change(index, |passed| passed.cut = true);
                return Some(end);
            }
            Some(Cut::Response(bytes, end)) => response = Some((bytes, end)),
            None => {}
        }
        *current.lock().unwrap_or_else(PoisonError::into_inner) = Current { index, cut: response };
        shared.news.notify_waiters();
        if to_server.write_all(raw).await.is_err() {
            // The way back tells how that ended.
            std::future::pending::<()>().await;
        }
    }
    None
}

/// Passes responses on until the server is gone or a response is cut.
async fn responses(
    shared: &Shared,
    from_server: &mut OwnedReadHalf,
    to_client: &mut OwnedWriteHalf,
    current: &Mutex<Current>,
) -> Option<End> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from_server.read(&mut buffer).await {
            Ok(0) => return Some(End::Close),
            Ok(count) => count,
            Err(_) => return Some(End::Reset),
        };
        let (index, cut) = {
            let current = current.lock().unwrap_or_else(PoisonError::into_inner);
            (current.index, current.cut)
        };
        let before = shared.state().passed.get(index).map_or(0, |passed| passed.response);
        let left = cut.map(|(bytes, end)| (usize::try_from(bytes - before).unwrap_or(usize::MAX), end));
        let some = left.map_or(count, |(left, _)| left.min(count));
        let written = to_client.write_all(&buffer[..some]).await;
        let over = left.filter(|(left, _)| *left == some).map(|(_, end)| end);
        shared.change(index, |passed| {
            passed.response += some as u64;
            passed.cut = over.is_some();
        });
        if over.is_some() || written.is_err() {
            return over;
        }
    }
}
