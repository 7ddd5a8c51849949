//! What a failed request says of its message (contract, section 3, rows 2 to 5 and 13).
//!
//! Two witnesses: how much of the message's text the host has taken, which this transport sees itself, and
//! what kind of error the host tells of.

use noreplay::session::evidence::SendError;
use noreplay::session::verdict::{Failure, FailureKind};

/// The kinds of error of `wasi:http`, as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server's name does not resolve.
    Name,
    /// Nobody listens there.
    Refused,
    /// There is no way there.
    Unreachable,
    /// Connecting took too long.
    NoConnection,
    /// The host does not let us go there.
    Denied,
    /// The host does not take the request as it is.
    Unsound,
    /// The server's certificate is not to be trusted: told before anything is sent.
    Certificate,
    /// TLS failed, in the handshake or later.
    Tls,
    /// As many connections are open as may be.
    Busy,
    /// The connection ended.
    Ended,
    /// Time ran out once connected.
    TimedOut,
    /// What came is not HTTP, or larger than the host takes.
    Malformed,
    /// Anything else.
    Other,
}

impl Fault {
    /// Whether it is one of connecting, or of the host's own: then nothing was sent, whatever the host has
    /// taken.
    fn comes_first(self) -> bool {
        match self {
            Self::Name
            | Self::Refused
            | Self::Unreachable
            | Self::NoConnection
            | Self::Denied
            | Self::Certificate
            | Self::Busy => true,
            // `Tls` may come after the message too; `Unsound` of a message whose length the host found wrong in
            // the end.
            Self::Unsound | Self::Tls | Self::Ended | Self::TimedOut | Self::Malformed | Self::Other => false,
        }
    }

    /// The contract's word for it.
    pub fn kind(self) -> FailureKind {
        match self {
            Self::Name => FailureKind::NameNotResolved,
            Self::Refused | Self::Unreachable => FailureKind::ConnectionRefused,
            Self::Denied => FailureKind::AccessDenied,
            Self::Certificate | Self::Tls => FailureKind::TlsFailed,
            Self::Busy => FailureKind::Busy,
            Self::Ended => FailureKind::ConnectionReset,
            Self::NoConnection | Self::TimedOut => FailureKind::TimedOut,
            Self::Malformed => FailureKind::Malformed,
            Self::Unsound | Self::Other => FailureKind::Other,
        }
    }
}

/// How much of a message's text the host has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing.
    Nothing,
    /// A part: at least one byte never left this component.
    Part,
    /// All of it.
    All,
}

impl Taken {
    /// Of `whole` bytes `left` were not taken.
    pub fn of(whole: usize, left: usize) -> Self {
        match left {
            0 => Self::All,
            left if left < whole => Self::Part,
            _ => Self::Nothing,
        }
    }
}

/// What is known of a message whose request failed without a response.
pub fn weigh(fault: Fault, taken: Taken, failure: Failure) -> SendError {
    match taken {
        Taken::Nothing => SendError::NotSent(failure),
        _ if fault.comes_first() => SendError::NotSent(failure),
        Taken::Part => SendError::Truncated(failure),
        Taken::All => SendError::Unknown(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Fault; 13] = [
        Fault::Name,
        Fault::Refused,
        Fault::Unreachable,
        Fault::NoConnection,
        Fault::Denied,
        Fault::Unsound,
        Fault::Certificate,
        Fault::Tls,
        Fault::Busy,
        Fault::Ended,
        Fault::TimedOut,
        Fault::Malformed,
        Fault::Other,
    ];

    fn weighed(fault: Fault, taken: Taken) -> SendError {
        weigh(fault, taken, Failure::new(fault.kind(), "why"))
    }

    #[test]
    fn what_the_host_never_took_was_not_sent() {
        for fault in ALL {
            assert!(matches!(weighed(fault, Taken::Nothing), SendError::NotSent(_)), "{fault:?}");
        }
    }

    #[test]
    fn what_was_taken_in_part_lacks_a_byte() {
        for fault in
            [Fault::Tls, Fault::Ended, Fault::TimedOut, Fault::Malformed, Fault::Unsound, Fault::Other]
        {
            assert!(matches!(weighed(fault, Taken::Part), SendError::Truncated(_)), "{fault:?}");
        }
    }

    #[test]
    fn what_was_taken_whole_may_have_arrived_unless_nobody_was_reached() {
        for fault in
            [Fault::Name, Fault::Refused, Fault::Unreachable, Fault::Denied, Fault::Certificate, Fault::Busy]
        {
            assert!(matches!(weighed(fault, Taken::All), SendError::NotSent(_)), "{fault:?}");
        }
        for fault in
            [Fault::Tls, Fault::Ended, Fault::TimedOut, Fault::Malformed, Fault::Unsound, Fault::Other]
        {
            assert!(matches!(weighed(fault, Taken::All), SendError::Unknown(_)), "{fault:?}");
        }
    }

    #[test]
    fn the_last_byte_decides() {
        assert_eq!(Taken::of(3, 3), Taken::Nothing);
        assert_eq!(Taken::of(3, 2), Taken::Part);
        assert_eq!(Taken::of(3, 1), Taken::Part);
        assert_eq!(Taken::of(3, 0), Taken::All);
    }
}
