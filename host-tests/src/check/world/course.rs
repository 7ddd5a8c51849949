//! What becomes of one message that is handed over.

use std::time::Duration;

use super::super::fault::{A_WHILE, MUCH_LATER, SendFault};
use super::super::refusal::{Body, Grade, Status};
use super::World;
use crate::FailureKind;
use crate::transport::{Delivery, SendError};

/// How the transport's `send` ends.
pub(super) enum Return {
    Never,
    /// After this long, so.
    After(Duration, Result<Delivery, SendError>, Says),
}

/// What follows from that end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Nothing,
    Proof(Grade),
    /// The body of the refusal is the request's own error.
    Error,
    /// The body of the refusal is the request's own result.
    Result,
    Unknown,
}

/// What becomes of a message.
pub(super) struct Course {
    pub(super) returns: Return,
    /// When the server gets it, as often.
    pub(super) arrives: Vec<Duration>,
    /// Whether the server answers.
    pub(super) answered: bool,
    /// Something of an answer comes before `send` returns.
    pub(super) progress: bool,
    /// The connection is lost with it.
    pub(super) lost: bool,
}

const NOW: Duration = Duration::ZERO;

impl Course {
    /// What becomes of a message under a fault, or none.
    pub(super) fn of(
        world: &World,
        fault: Option<&SendFault>,
        request: Option<u64>,
        may_progress: bool,
        result: &str,
    ) -> Course {
        let well = Course {
            returns: Return::After(NOW, Ok(Delivery::HandedOver), Says::Nothing),
            arrives: vec![NOW],
            answered: true,
            progress: false,
            lost: false,
        };
        let Some(fault) = fault else { return well };
        let failure = |kind: &FailureKind| world.failure(*kind);
        let not_sent = |kind| Err(SendError::NotSent(failure(kind)));
        let unknown = |kind| Err(SendError::Unknown(failure(kind)));
        let refused = |status: Status| {
            Err(SendError::Refused(status.refusal(
                request.unwrap_or(0),
                result,
                world.setting().words.text(),
            )))
        };
        let nowhere =
            |returns| Course { returns, arrives: Vec::new(), answered: false, progress: false, lost: false };
        let proof = |grade, error| nowhere(Return::After(NOW, error, Says::Proof(grade)));
        let silent = |returns| Course { arrives: vec![NOW], ..nowhere(returns) };
        let reset = &FailureKind::ConnectionReset;
        match fault {
            SendFault::NotSent(kind) => proof(Grade::A, not_sent(kind)),
            SendFault::NotSentAndLost => {
                Course { lost: true, ..proof(Grade::A, not_sent(&FailureKind::Closed)) }
            }
            SendFault::NotSentLate => {
                nowhere(Return::After(A_WHILE, not_sent(&FailureKind::Other), Says::Proof(Grade::A)))
            }
            SendFault::Truncated(kind) => proof(Grade::A, Err(SendError::Truncated(failure(kind)))),
            SendFault::Refused(status) => {
                let says = match status.body {
                    Body::OurError => Says::Error,
                    Body::OurResult => Says::Result,
                    _ => status.proof().map_or(Says::Unknown, Says::Proof),
                };
                let returns = Return::After(NOW, refused(*status), says);
                // What is no proof can have run: it has.
                if matches!(says, Says::Proof(_)) { nowhere(returns) } else { silent(returns) }
            }
            // Without a token there is no progress: a plain refusal.
            SendFault::RefusedAfterProgress if !may_progress => proof(Grade::B, refused(Status::bare(401))),
            SendFault::RefusedAfterProgress => Course {
                progress: true,
                ..silent(Return::After(A_WHILE, refused(Status::bare(401)), Says::Unknown))
            },
            SendFault::Unknown { kind, executed } => {
                let returns = Return::After(NOW, unknown(kind), Says::Unknown);
                if *executed { silent(returns) } else { nowhere(returns) }
            }
            SendFault::UnknownAndLost => {
                Course { lost: true, ..silent(Return::After(NOW, unknown(reset), Says::Unknown)) }
            }
            SendFault::UnknownPostponed => Course {
                arrives: vec![MUCH_LATER],
                ..nowhere(Return::After(NOW, unknown(reset), Says::Unknown))
            },
            SendFault::UnknownAfterAnswer => {
                Course { returns: Return::After(A_WHILE, unknown(reset), Says::Unknown), ..well }
            }
            SendFault::Hangs { executed: false, .. } => nowhere(Return::Never),
            SendFault::Hangs { answered, .. } => Course { answered: *answered, ..silent(Return::Never) },
            SendFault::ReturnsLate => {
                Course { returns: Return::After(A_WHILE, Ok(Delivery::HandedOver), Says::Nothing), ..well }
            }
            SendFault::Accepted => {
                Course { returns: Return::After(NOW, Ok(Delivery::Accepted), Says::Nothing), ..well }
            }
            SendFault::Nowhere { accepted } => {
                let delivery = if *accepted { Delivery::Accepted } else { Delivery::HandedOver };
                nowhere(Return::After(NOW, Ok(delivery), Says::Nothing))
            }
            SendFault::Postponed => Course { arrives: vec![MUCH_LATER], ..well },
            SendFault::Twice => Course { arrives: vec![NOW, NOW], ..well },
            SendFault::Duplicated => Course {
                arrives: vec![NOW, NOW],
                ..nowhere(Return::After(NOW, unknown(&FailureKind::Duplicated), Says::Unknown))
            },
        }
    }
}
