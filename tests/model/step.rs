//! One thing that can happen, written in four bytes: a letter that says what (`c` a call, `s` a `send`
//! returns, `m` a message comes, ...), a digit that says to whom, counted from the newest, a character that
//! says how, and one more. Any four bytes are a step, so that what a fuzzer makes is never refused, and a
//! walk can still be written by hand.

use std::time::Duration;

use noreplay::session::verdict::FailureKind;

use super::server::{Body, Saying};

/// Whom a step is about: one of many.
#[derive(Clone, Copy, Debug)]
pub struct Pick(u8);

impl Pick {
    /// The one, if there are any. Digits, and half of all bytes, mean one of the newest.
    pub fn of<T>(self, all: &[T]) -> Option<&T> {
        let back = usize::from(if self.0 < 0x80 { self.0 & 3 } else { self.0 & 0x7f });
        all.iter().rev().nth(back.checked_rem(all.len())?)
    }
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The caller begins a call.
    Call(Calling),
    /// The caller cancels a call.
    Cancel(Pick),
    /// The caller of a call goes away.
    Abandon(Pick),
    /// The caller asks for a new connection.
    Reconnect,
    /// The caller asks for the tools.
    List,
    /// The caller wants to know what became of a call.
    Reconcile(Pick, Duration),
    /// The caller closes the session.
    Close,
    /// The caller looks for an event.
    Listen,
    /// A connection is opened, or not. With a handshake, the server answers at once.
    Open { fails: bool, handshake: bool },
    /// A `send` returns.
    Return(Pick, Returning),
    /// The server says something that concerns a request, or seems to.
    Message { about: Pick, saying: Saying, whole: bool, elsewhere: Option<Pick>, on_channel: bool },
    /// A message that was too large, cut at both ends.
    TooLarge(Pick),
    /// The transport says that an answer will not come.
    AnswerLost(Pick),
    /// A connection is lost.
    Lose { which: Pick, orderly: bool },
    /// Time passes.
    Wait(Duration),
}

/// How a call is made.
#[derive(Clone, Copy, Debug)]
pub struct Calling {
    /// Of the tool that may be called again though the outcome is unknown.
    pub granted: bool,
    pub progress: bool,
    /// With a name that another call may have.
    pub named: bool,
    pub timeout: Option<Duration>,
    pub meta: Option<&'static str>,
}

/// How a `send` returns.
#[derive(Clone, Copy, Debug)]
pub enum Returning {
    HandedOver,
    Accepted,
    NotSent(FailureKind),
    Truncated(FailureKind),
    Unknown(FailureKind),
    /// With a status, to a request that belonged to a session or not, and this in its body.
    Refused(u16, bool, Body),
}

impl Step {
    /// The steps that some bytes say.
    pub fn all(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes.as_chunks().0.iter().copied().map(Self::of)
    }

    /// The step that four bytes say.
    pub fn of([what, whom, how, more]: [u8; 4]) -> Self {
        let whom = Pick(whom);
        match what & 31 {
            // `c` and its neighbours.
            0..=4 => Self::Call(Calling::of(how, more)),
            // `e`, `l`
            5 => Self::Listen,
            12 => Self::AnswerLost(whom),
            // `m`, and what stands before it.
            6..=11 | 13 => Self::Message {
                about: whom,
                saying: Saying::of(how),
                whole: more & 4 == 0,
                elsewhere: (more & 7 == 7).then_some(Pick(more >> 3)),
                on_channel: more & 3 == 1,
            },
            // `n`, `o`
            14 | 15 => Self::Open { fails: how & 3 == 3, handshake: more & 7 != 7 },
            // `p`, `q`, `r`, `s`
            16 | 17 | 19 => Self::Return(whom, Returning::of(how, more)),
            18 => match how & 7 {
                0 | 1 => Self::Reconnect,
                _ => Self::Return(whom, Returning::of(how, more)),
            },
            // `t`, `u`, `v`, `w`, `x`, `y`, `z`
            20 => Self::List,
            21 => Self::Lose { which: whom, orderly: how & 1 == 0 },
            22 => Self::TooLarge(whom),
            23 => Self::Wait(waiting(how)),
            24 => Self::Cancel(whom),
            25 => Self::Abandon(whom),
            26 => match how & 31 {
                0 => Self::Close,
                _ => Self::Wait(waiting(how)),
            },
            27 | 28 => Self::Reconcile(whom, waiting(how)),
            _ => Self::Open { fails: false, handshake: true },
        }
    }
}

fn waiting(how: u8) -> Duration {
    Duration::from_millis([0, 1, 100, 2_000, 7_000, 31_000, 61_000, 601_000][usize::from(how & 7)])
}

impl Calling {
    fn of(how: u8, more: u8) -> Self {
        let timeout = [None, None, None, Some(1), Some(3_000), Some(u64::MAX), None, Some(0)];
        let metas = [
            None,
            None,
            Some("{}"),
            Some(r#"{"key":"k","n":1e400}"#),
            None,
            Some(r#"{"progressToken":1}"#),
            None,
            Some("[]"),
        ];
        Self {
            granted: how & 1 == 1,
            progress: how & 2 == 2,
            named: how & 12 == 12,
            timeout: timeout[usize::from(more & 7)].map(Duration::from_millis),
            meta: metas[usize::from(more >> 3 & 7)],
        }
    }
}

impl Returning {
    fn of(how: u8, more: u8) -> Self {
        let kind = if more & 1 == 0 { FailureKind::Other } else { FailureKind::Closed };
        match how & 15 {
            0..=4 => Self::HandedOver,
            5 | 6 => Self::Accepted,
            7 | 8 => Self::NotSent(kind),
            9 => Self::Truncated(kind),
            10 | 11 => Self::Unknown(kind),
            _ => {
                let status = [500, 400, 404, 401, 405, 429, 503, 307][usize::from(how >> 4 & 7)];
                let body = [Body::Empty, Body::Page, Body::ErrorForNobody, Body::Answer, Body::CutAnswer];
                Self::Refused(status, more & 1 == 1, body[usize::from(more >> 1) % body.len()])
            }
        }
    }
}
