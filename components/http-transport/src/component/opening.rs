//! How a connection begins. There is nothing to open for Streamable HTTP; a server that takes no POST at its
//! URL may have the event stream of 2024-11-05 there, which says where to post to.

use std::rc::Rc;

use noreplay::session::verdict::{Failure, FailureKind};

use crate::event_stream::Item;
use crate::resumption::Resumption;

use super::http::within;
use super::shared::Shared;
use super::stream::{self, Events};

/// How long the first word of a stream is waited for, in nanoseconds.
const PATIENCE: u64 = 5_000_000_000;

/// Opens the connection.
pub(super) async fn open(shared: &Rc<Shared>) -> Result<(), Failure> {
    shared.known.introduce().await?;
    if !shared.known.takes_no_post.get() {
        return Ok(());
    }
    match stream::open(shared, None).await {
        Ok(events) => {
            if let Some(begun) = within(PATIENCE, begin(shared, events)).await {
                return begun;
            }
        }
        Err(no_stream) if no_stream.is_final => {}
        Err(no_stream) => return Err(no_stream.failure),
    }
    // Then it is what it seemed to be at first, and its refusal stands.
    shared.known.takes_no_post.set(false);
    Ok(())
}

/// Waits until the stream says where to post to.
async fn begin(shared: &Rc<Shared>, mut events: Events) -> Result<(), Failure> {
    while let Some(item) = events.next().await {
        if let Item::Event { name, data } = item
            && name == "endpoint"
        {
            let reference = String::from_utf8_lossy(&data);
            let post_to = shared.endpoint.join(reference.trim()).map_err(|error| {
                let detail = vec!["the server names no sound endpoint".to_owned(), error.to_string()];
                Failure { kind: FailureKind::Malformed, detail }
            })?;
            *shared.post_to.borrow_mut() = Some(post_to);
            shared.spawn(None, relay(Rc::clone(shared), events));
            return Ok(());
        }
    }
    Err(events.end().0)
}

/// Hands on what the one stream brings. Its end is the connection's.
async fn relay(shared: Rc<Shared>, mut events: Events) {
    // It is not resumed.
    stream::hand_on(&shared, &mut events, None, &mut Resumption::default()).await;
    let (failure, rest) = events.end();
    if let Some(rest) = rest {
        // Whether it is whole, the client sees.
        shared.message(rest, None).await;
    }
    shared.lose(failure);
}
