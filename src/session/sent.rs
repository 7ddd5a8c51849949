//! Messages that were given out, and what became of them.

use crate::protocol::message::Outgoing;

use super::evidence::{SendError, answer_in};
use super::link::Link;
use super::time::Instant;
use super::verdict::{Attempt, Failure, FailureKind, Generation, HandshakeFailure};
use super::{Delivery, Purpose, Receipt, Session, What};

/// The most messages of the session's own that may be on their way on one connection. A server that
/// asks without reading gets no more answers.
const CONTROLS: usize = 64;

impl Session {
    /// Whether anybody waits for what becomes of a message. What is given up with its call or read is of
    /// no use to anyone.
    pub fn is_out(&self, receipt: Receipt) -> bool {
        let What::Request(request) = receipt.what else {
            return self.connections.contains(&receipt.generation);
        };
        match self.requests.get(&request).map(|out| out.purpose) {
            Some(Purpose::Call(call)) => self.is_current(call, request),
            Some(Purpose::Read(_) | Purpose::Listening | Purpose::Fetch(_) | Purpose::Handshake) => true,
            Some(Purpose::Late(_) | Purpose::Nothing) | None => false,
        }
    }

    /// A `send` returned.
    pub fn sent(&mut self, now: Instant, receipt: Receipt, result: Result<Delivery, SendError>) {
        let Receipt { generation, what } = receipt;
        match what {
            What::Request(request) => match self.requests.get(&request).map(|out| out.purpose) {
                Some(Purpose::Call(call)) => {
                    self.call_sent(now, call, Attempt { generation, request }, result);
                }
                Some(Purpose::Read(ticket)) => self.read_sent(now, ticket, generation, request, result),
                Some(purpose) => match result.map_err(|error| answer_in(error, request)) {
                    Ok(_) => {}
                    Err(Ok(body)) => self.arrived(now, generation, body, Some(request)),
                    Err(Err(error)) => match purpose {
                        Purpose::Handshake => {
                            self.requests.remove(&request);
                            self.handshake_send_failed(now, generation, error);
                        }
                        Purpose::Fetch(call) => {
                            self.requests.remove(&request);
                            self.note_send_error(now, generation, &error);
                            self.late_answer_lost(call);
                            self.want_link(now);
                        }
                        Purpose::Listening => {
                            self.requests.remove(&request);
                            self.note_send_error(now, generation, &error);
                            let failure = Failure::new(FailureKind::Other, "its request could not be sent");
                            self.unsubscribed(Some(failure));
                        }
                        // Its call has its verdict, or had none: only an answer is news.
                        _ => {}
                    },
                },
                None => {}
            },
            What::Initialized => {
                if !matches!(self.link, Link::Initialized { generation: current, .. } if current == generation)
                {
                    return;
                }
                match result {
                    Ok(_) => self.up(now, generation),
                    Err(error) => self.handshake_failed(now, HandshakeFailure::of_send(error)),
                }
            }
            What::Control => {
                if let Some(connection) = self.connections.get_mut(&generation) {
                    connection.controls = connection.controls.saturating_sub(1);
                }
                // That a cancel could not be sent changes no verdict; that the connection takes no
                // more messages is worth knowing.
                if let Err(error) = result {
                    self.note_send_error(now, generation, &error);
                }
            }
        }
    }

    /// Queues a message of the session's own, unless too many are on their way.
    pub(super) fn control(&mut self, generation: Generation, message: Outgoing) {
        let Some(connection) = self.connections.get_mut(&generation) else {
            return;
        };
        if connection.controls >= CONTROLS {
            self.events.diagnose("the server does not take messages: an answer or a cancel was left out");
            return;
        }
        connection.controls += 1;
        let receipt = Receipt { generation, what: What::Control };
        self.send(receipt, message);
    }

    /// What a failed `send` says of its connection: it takes no more messages, or its session ended.
    /// Answers to what was sent before may still come.
    pub(super) fn note_send_error(&mut self, now: Instant, generation: Generation, error: &SendError) {
        let over = match error {
            SendError::NotSent(failure) | SendError::Truncated(failure) | SendError::Unknown(failure) => {
                failure.kind == FailureKind::Closed
            }
            SendError::Refused(refusal) => refusal.status == 404 && refusal.had_session,
        };
        if over && matches!(self.link, Link::Up { generation: current } if current == generation) {
            self.link = Link::Down;
            self.sweep_connections();
            self.want_link(now);
        }
    }
}
