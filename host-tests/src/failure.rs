//! How a failure is made: from a sentence, or from an error with its whole chain of causes.

use std::error::Error;
use std::io;

use crate::{Failure, FailureKind};

impl Failure {
    /// A failure of the kind `kind`, in the words `detail`.
    pub fn new(kind: FailureKind, detail: impl Into<String>) -> Failure {
        Failure { kind, detail: vec![detail.into()] }
    }

    /// A failure of the kind `kind`, which says what was attempted and why it failed: the words of
    /// `error`, then those of each error that caused it.
    pub fn caused(kind: FailureKind, attempt: impl Into<String>, error: &(dyn Error + 'static)) -> Failure {
        let causes = std::iter::successors(Some(error), |&error: &&(dyn Error + 'static)| error.source());
        Failure {
            kind,
            detail: std::iter::once(attempt.into()).chain(causes.map(ToString::to_string)).collect(),
        }
    }

    /// The connection is closed.
    pub fn closed(detail: impl Into<String>) -> Failure {
        Failure::new(FailureKind::Closed, detail)
    }
}

/// What an input or output error on an open connection says about it.
pub(crate) fn kind_on_connection(error: &io::Error) -> FailureKind {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof | io::ErrorKind::WriteZero => {
            FailureKind::Closed
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => FailureKind::ConnectionReset,
        io::ErrorKind::TimedOut => FailureKind::TimedOut,
        io::ErrorKind::PermissionDenied => FailureKind::AccessDenied,
        _ => FailureKind::Other,
    }
}
