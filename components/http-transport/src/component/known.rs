//! What is known of a server beyond one connection: which way it speaks, and by what headers it knows us.
//! Nothing of it ever stands in a failure.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures::lock::Mutex;
use noreplay::session::verdict::{Failure, FailureKind};

use crate::header;

use super::bindings::noreplay::http::credentials::{self, Challenge, Header};
use super::http::Headers;

/// How many servers are remembered.
const MOST: usize = 64;

thread_local! {
    static SERVERS: RefCell<Vec<Rc<Known>>> = const { RefCell::new(Vec::new()) };
}

/// What is known of one server.
pub(super) struct Known {
    url: String,
    headers: RefCell<Headers>,
    /// A refusal that the host has not been told of.
    challenge: RefCell<Option<Challenge>>,
    /// One asks at a time, and all others take the same answer.
    asking: Mutex<()>,
    /// It takes no POST at its URL: it may be of the kind of 2024-11-05.
    pub(super) takes_no_post: Cell<bool>,
}

impl Known {
    /// What is known of the server at `url`.
    pub(super) fn of(url: &str) -> Rc<Self> {
        SERVERS.with_borrow_mut(|servers| {
            if let Some(known) = servers.iter().find(|known| known.url == url) {
                return Rc::clone(known);
            }
            if servers.len() >= MOST {
                servers.remove(0);
            }
            let known = Rc::new(Self {
                url: url.to_owned(),
                headers: RefCell::default(),
                challenge: RefCell::default(),
                asking: Mutex::new(()),
                takes_no_post: Cell::default(),
            });
            servers.push(Rc::clone(&known));
            known
        })
    }

    /// The server wants other credentials.
    pub(super) fn challenged(&self, status: u16, www_authenticate: Option<String>) {
        *self.challenge.borrow_mut() = Some(Challenge { status, www_authenticate });
    }

    /// Asks the host for the headers of a connection that opens.
    pub(super) async fn introduce(&self) -> Result<(), Failure> {
        let _turn = self.asking.lock().await;
        self.ask().await
    }

    /// The headers of a request. The host is asked first, if the server has refused those that there are.
    pub(super) async fn headers(&self) -> Result<Headers, Failure> {
        if self.challenge.borrow().is_some() {
            let _turn = self.asking.lock().await;
            // Whoever came before may have asked.
            if self.challenge.borrow().is_some() {
                self.ask().await?;
            }
        }
        Ok(self.headers.borrow().clone())
    }

    async fn ask(&self) -> Result<(), Failure> {
        let challenge = self.challenge.borrow().clone();
        let answer = credentials::authorize(self.url.clone(), challenge).await;
        self.challenge.take();
        if let Some(headers) = answer {
            *self.headers.borrow_mut() = headers.into_iter().map(sound).collect::<Result<_, _>>()?;
        }
        Ok(())
    }
}

fn sound(Header { name, value }: Header) -> Result<(String, Vec<u8>), Failure> {
    if header::is_free(&name) && header::is_sound(&name, value.as_bytes()) {
        return Ok((name, value.into_bytes()));
    }
    // Its name is said, and never its value.
    let name: String = name.chars().filter(|c| c.is_ascii_graphic()).take(64).collect();
    Err(Failure::new(FailureKind::Malformed, &format!("the host's header `{name}` cannot be sent")))
}
