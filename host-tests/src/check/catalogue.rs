//! Every fault that is placed, by what it is placed on.

use super::fault::{AnswerFault, ConnectFault, Fault, Noise, OddId, OddResult, OversizedId, SendFault};
use super::moment::Kind;
use super::refusal::{Body, STATUSES, Status};
use crate::FailureKind::{
    AccessDenied, Busy, Closed, ConnectionRefused, ConnectionReset, Malformed, MessageTooLarge,
    NameNotResolved, Other, SpawnFailed, TimedOut, TlsFailed,
};

/// Every way in which a connect can fail.
pub(super) fn connects() -> Vec<Fault> {
    let mut faults: Vec<_> =
        [NameNotResolved, ConnectionRefused, SpawnFailed, TlsFailed, AccessDenied, Other]
            .map(ConnectFault::Fails)
            .into();
    faults.extend([
        ConnectFault::FailsLate(ConnectionRefused),
        ConnectFault::Slow,
        ConnectFault::Hangs,
        ConnectFault::LostAtOnce,
        ConnectFault::EndsAtOnce,
    ]);
    faults.into_iter().map(Fault::Connect).collect()
}

/// Every way in which handing over a message of this kind can fail.
pub(super) fn sends(kind: &Kind) -> Vec<Fault> {
    let mut faults = few_sends();
    if matches!(kind, Kind::Call(_)) {
        faults.extend(more_sends());
        faults.extend(refusals().map(SendFault::Refused));
    }
    faults.into_iter().map(Fault::Send).collect()
}

/// Every way in which the answer to a message of this kind can fail.
pub(super) fn answers(kind: &Kind) -> Vec<Fault> {
    let mut faults = few_answers();
    if matches!(kind, Kind::Call(_)) {
        faults.extend(more_answers());
    }
    faults.into_iter().map(Fault::Answer).collect()
}

/// More notifications than an instance has memory for.
pub(super) fn flood() -> Fault {
    Fault::Answer(AnswerFault::Flood(40_000))
}

/// The whole table of refusals: each status with each body.
pub(super) fn table() -> Vec<Fault> {
    let with_bodies = |status: Status| Body::ALL.map(|body| status.with(body));
    let mut table: Vec<Status> = STATUSES.into_iter().map(Status::bare).flat_map(with_bodies).collect();
    table.extend(with_bodies(Status { session: false, ..Status::bare(404) }));
    table.extend(with_bodies(Status { session: false, ..Status::bare(401) }));
    table.into_iter().map(|status| Fault::Send(SendFault::Refused(status))).collect()
}

/// Those faults that differ most, for pairs.
pub(super) fn pairing() -> [Vec<Fault>; 3] {
    let connects = vec![
        Fault::Connect(ConnectFault::Fails(ConnectionRefused)),
        Fault::Connect(ConnectFault::Hangs),
        Fault::Connect(ConnectFault::LostAtOnce),
    ];
    let sends = [
        SendFault::NotSent(Closed),
        SendFault::NotSent(Other),
        SendFault::Truncated(ConnectionReset),
        SendFault::Refused(Status::bare(401)),
        SendFault::Refused(Status::bare(404)),
        SendFault::Refused(Status::bare(503)),
        SendFault::Unknown { kind: Closed, executed: true },
        SendFault::UnknownAndLost,
        SendFault::Hangs { executed: true, answered: true },
        SendFault::Nowhere { accepted: true },
        SendFault::Postponed,
    ];
    let answers = [
        AnswerFault::Lost(ConnectionReset),
        AnswerFault::End,
        AnswerFault::ThenLost,
        AnswerFault::AnswerLost,
        AnswerFault::Late,
        AnswerFault::OnNextConnection,
        AnswerFault::Cut,
        AnswerFault::Error(-32_601),
    ];
    [connects, sends.map(Fault::Send).into(), answers.map(Fault::Answer).into()]
}

fn few_sends() -> Vec<SendFault> {
    vec![
        SendFault::NotSent(Closed),
        SendFault::NotSent(Other),
        SendFault::NotSentAndLost,
        SendFault::Truncated(ConnectionReset),
        SendFault::Refused(Status::bare(400)),
        SendFault::Refused(Status::bare(401)),
        SendFault::Refused(Status::bare(404)),
        SendFault::Refused(Status { session: false, ..Status::bare(404) }),
        SendFault::Refused(Status::bare(404).with(Body::OurError)),
        SendFault::Refused(Status::bare(500)),
        SendFault::Refused(Status::bare(500).with(Body::OurResult)),
        SendFault::Refused(Status::bare(503)),
        SendFault::Unknown { kind: Closed, executed: false },
        SendFault::Unknown { kind: ConnectionReset, executed: true },
        SendFault::UnknownAndLost,
        SendFault::UnknownAfterAnswer,
        SendFault::Hangs { executed: false, answered: false },
        SendFault::Hangs { executed: true, answered: true },
        SendFault::ReturnsLate,
        SendFault::Accepted,
        SendFault::Nowhere { accepted: false },
        SendFault::Nowhere { accepted: true },
        SendFault::Postponed,
        SendFault::Twice,
    ]
}

fn more_sends() -> Vec<SendFault> {
    vec![
        SendFault::NotSent(ConnectionReset),
        SendFault::NotSent(Busy),
        SendFault::NotSent(MessageTooLarge),
        SendFault::NotSentLate,
        SendFault::Truncated(Closed),
        SendFault::Truncated(Other),
        SendFault::RefusedAfterProgress,
        SendFault::Unknown { kind: Closed, executed: true },
        SendFault::Unknown { kind: ConnectionReset, executed: false },
        SendFault::Unknown { kind: TimedOut, executed: true },
        SendFault::Unknown { kind: Malformed, executed: true },
        SendFault::Unknown { kind: Other, executed: true },
        SendFault::UnknownPostponed,
        SendFault::Hangs { executed: true, answered: false },
        SendFault::Duplicated,
    ]
}

/// A refusal of each row of the evidence table.
fn refusals() -> impl Iterator<Item = Status> {
    let bare = [302, 307, 403, 408, 409, 413, 421, 425, 429, 502, 504, 520].map(Status::bare);
    let with_body = [
        (400, Body::Html),
        (400, Body::NullError),
        (401, Body::OurResult),
        (401, Body::CutResult),
        (404, Body::Html),
        (404, Body::Json),
        (404, Body::NullError),
        (404, Body::ForeignError),
        (500, Body::OurError),
        (500, Body::Html),
    ];
    bare.into_iter().chain(with_body.into_iter().map(|(code, body)| Status::bare(code).with(body)))
}

fn few_answers() -> Vec<AnswerFault> {
    vec![
        AnswerFault::Lost(ConnectionReset),
        AnswerFault::End,
        AnswerFault::ThenLost,
        AnswerFault::ThenEnd,
        AnswerFault::AnswerLost,
        AnswerFault::Silence,
        AnswerFault::Late,
        AnswerFault::OnNextConnection,
        AnswerFault::Twice,
        AnswerFault::After(Noise::Text),
        AnswerFault::After(Noise::Request),
        AnswerFault::Only(Noise::Text),
        AnswerFault::Cut,
        AnswerFault::Id(OddId::String),
        AnswerFault::Id(OddId::Wrong),
        AnswerFault::Oversized(OversizedId::Head),
        AnswerFault::Batch,
        AnswerFault::Error(-32_601),
        AnswerFault::Error(-32_602),
        AnswerFault::UnreadableError,
        AnswerFault::NullIdError,
        AnswerFault::Result(OddResult::Null),
        AnswerFault::Result(OddResult::InputRequired),
    ]
}

fn more_answers() -> Vec<AnswerFault> {
    let mut faults = vec![
        AnswerFault::Lost(Closed),
        AnswerFault::Lost(Other),
        AnswerFault::ProgressThenLost,
        AnswerFault::TwiceDifferent,
        AnswerFault::CutAndLost,
        AnswerFault::WrongChannel,
        AnswerFault::Oversized(OversizedId::Tail),
        AnswerFault::Oversized(OversizedId::Lost),
        AnswerFault::Flood(100),
        AnswerFault::SessionTerminated,
    ];
    faults
        .extend([-32_700, -32_600, -32_603, -32_000, -32_001, -32_042, 404, 401, 0].map(AnswerFault::Error));
    faults.extend(
        [Noise::Empty, Noise::Bytes, Noise::Object, Noise::Progress, Noise::Foreign, Noise::ToolsChanged]
            .map(AnswerFault::After),
    );
    faults.extend([Noise::Empty, Noise::Bytes, Noise::Request, Noise::Foreign].map(AnswerFault::Only));
    faults.extend(
        [OddId::Zero, OddId::Fraction, OddId::Null, OddId::True, OddId::Object, OddId::Missing]
            .map(AnswerFault::Id),
    );
    faults.extend(
        [
            OddResult::IsError,
            OddResult::IsErrorLost,
            OddResult::IsErrorText,
            OddResult::NoContent,
            OddResult::Hologram,
            OddResult::Structured,
        ]
        .map(AnswerFault::Result),
    );
    faults
}
