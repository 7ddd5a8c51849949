//! What verdicts are made of: failures, refusals, errors.

use super::Object;
use crate::{Failure, FailureKind, HandshakeFailure, Refusal, RpcError};

/// A failure.
pub fn failure(failure: &Failure) -> Object {
    Object::new().text("kind", failure_kind(failure.kind)).value("detail", &failure.detail)
}

/// The name of a kind of failure.
pub fn failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::NameNotResolved => "name-not-resolved",
        FailureKind::ConnectionRefused => "connection-refused",
        FailureKind::SpawnFailed => "spawn-failed",
        FailureKind::TlsFailed => "tls-failed",
        FailureKind::ConnectionReset => "connection-reset",
        FailureKind::Closed => "closed",
        FailureKind::TimedOut => "timed-out",
        FailureKind::AccessDenied => "access-denied",
        FailureKind::MessageTooLarge => "message-too-large",
        FailureKind::Malformed => "malformed",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Busy => "busy",
        FailureKind::Duplicated => "duplicated",
        FailureKind::Other => "other",
    }
}

/// A refusal.
pub fn refusal(refusal: &Refusal) -> Object {
    let mut object =
        Object::new().value("status", &refusal.status).value("had-session", &refusal.had_session);
    if let Some(time) = &refusal.retry_after {
        object = object.text("retry-after", time);
    }
    if let Some(challenge) = &refusal.www_authenticate {
        object = object.text("www-authenticate", challenge);
    }
    object.text("body", &bytes(&refusal.body))
}

/// A JSON-RPC error.
pub fn rpc_error(error: &RpcError) -> Object {
    let object = Object::new().value("code", &error.code).text("message", &error.message);
    match &error.data {
        Some(data) => object.json("data", data),
        None => object,
    }
}

/// A handshake that did not lead to a session.
pub(super) fn handshake_failure(why: &HandshakeFailure) -> Object {
    let object = Object::new().value("detail", &[&why.reason]);
    let object = match &why.error {
        Some(error) => object.value("error", &rpc_error(error)),
        None => object,
    };
    let object = match &why.failure {
        Some(cause) => object.value("failure", &failure(cause)),
        None => object,
    };
    match &why.refusal {
        Some(refused) => object.value("refusal", &refusal(refused)),
        None => object,
    }
}

/// Bytes as text. Those that are no UTF-8 stand as `\xNN`, so that none is lost.
pub(super) fn bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        assert_eq!(bytes(b"ok \xc3\xa4 \xff\xfe."), "ok \u{e4} \\xff\\xfe.");
    }
}
