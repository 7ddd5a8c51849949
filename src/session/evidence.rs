//! What proves that a call did not execute: the table of the contract's section 3, and the only
//! place that makes a [`Proof`].
//!
//! A sound transport tells of its own evidence by the case of [`SendError`] that it uses: `not-sent`
//! for rows 2, 3 and 5, `truncated` for row 4, `refused` for rows 6 to 13. Everything that is not a
//! `send` error (a lost connection, a lost answer, a deadline, a cancel: rows 13 to 15) proves nothing
//! and never reaches this module.

use crate::prelude::*;
use crate::protocol::json::Raw;
use crate::protocol::jsonrpc::{self, Message, RequestId};

use super::verdict::{Failure, NotExecuted, Refusal};

/// How strong evidence is. C and D prove nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Certain by logic or by a guarantee of the protocol.
    A,
    /// A refusal by its normative meaning; an intermediary could lie.
    B,
    /// Usual, but with known counterexamples.
    C,
    /// No evidence.
    D,
}

/// What is known of a message whose `send` failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendError {
    /// Not one byte left.
    NotSent(Failure),
    /// At least one byte of the JSON text was withheld.
    Truncated(Failure),
    /// The peer refused it.
    Refused(Refusal),
    /// It may have arrived whole.
    Unknown(Failure),
}

/// Proof, of grade A or B, that one attempt was not executed.
#[derive(Debug)]
pub struct Proof {
    grade: Grade,
    reason: NotExecuted,
}

impl Proof {
    /// Its grade: A or B.
    pub fn grade(&self) -> Grade {
        self.grade
    }

    /// The verdict that it supports.
    pub fn into_reason(self) -> NotExecuted {
        self.reason
    }
}

/// What a failed `send` says of its attempt.
#[derive(Debug)]
pub enum Evidence {
    /// It was not executed.
    Proof(Proof),
    /// The refusal's body is an answer to the attempt: the body counts, not the status (row 11).
    Answer(Vec<u8>),
    /// Nothing: it may have been executed.
    Nothing(SendError),
}

/// Weighs a failed `send` of the attempt `request`. `heard` tells that something of an answer to it
/// came before: then a refusal is no refusal any more.
pub fn weigh(error: SendError, request: RequestId, heard: bool) -> Evidence {
    match error {
        SendError::NotSent(failure) | SendError::Truncated(failure) if !heard => {
            Evidence::Proof(Proof { grade: Grade::A, reason: NotExecuted::NotSent(failure) })
        }
        SendError::Refused(refusal) => match Body::of(&refusal, request) {
            Body::Answer => Evidence::Answer(refusal.body),
            body => match grade(&refusal, body) {
                grade @ (Grade::A | Grade::B) if !heard => {
                    Evidence::Proof(Proof { grade, reason: NotExecuted::Refused(refusal) })
                }
                _ => Evidence::Nothing(SendError::Refused(refusal)),
            },
        },
        error => Evidence::Nothing(error),
    }
}

/// The answer to `request` that a refusal bears as its body (row 11); else the error as it was.
pub fn answer_in(error: SendError, request: RequestId) -> Result<Vec<u8>, SendError> {
    match error {
        SendError::Refused(refusal) if Body::of(&refusal, request) == Body::Answer => Ok(refusal.body),
        error => Err(error),
    }
}

/// What the body of a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// A response to the attempt.
    Answer,
    /// A response to the attempt, as it seems, but broken: no refusal, though nothing to read either.
    BrokenAnswer,
    /// Nothing at all.
    Empty,
    /// A JSON-RPC error that bears no id of ours.
    ForeignError,
    /// Not JSON: a page for people, for example.
    NotJson,
    /// Any other JSON, or the beginning of some.
    OtherJson,
}

impl Body {
    fn of(refusal: &Refusal, request: RequestId) -> Self {
        if refusal.body.iter().all(u8::is_ascii_whitespace) {
            return Self::Empty;
        }
        let text = core::str::from_utf8(&refusal.body).ok();
        let json = text.is_some_and(|text| Raw::parse(text).is_ok());
        // What begins like JSON and is cut might have been an answer.
        let cut = matches!(refusal.body.trim_ascii_start().first(), Some(b'{' | b'['));
        let mut body = if json || cut { Self::OtherJson } else { Self::NotJson };
        jsonrpc::read(&refusal.body, &mut |message| {
            let of_message = match message {
                Ok(Message::Response { id, .. }) if id.request() == Some(request) => Self::Answer,
                Ok(Message::Response { body: Err(_), .. }) => Self::ForeignError,
                Err(malformed) if malformed.request == Some(request) => Self::BrokenAnswer,
                Ok(_) | Err(_) => return,
            };
            // In an array, one answer to the attempt is enough.
            if !matches!(body, Self::Answer | Self::BrokenAnswer) {
                body = of_message;
            }
        });
        body
    }
}

/// Rows 6 to 13: the grade of a refusal whose body is no answer to the attempt.
fn grade(refusal: &Refusal, body: Body) -> Grade {
    if body == Body::BrokenAnswer {
        return Grade::D;
    }
    match refusal.status {
        // Row 6: not willing to serve this here, or to risk a replayed request.
        421 | 425 => Grade::B,
        // Row 7: not applied for want of credentials; understood but refused.
        401 | 403 => Grade::B,
        // Row 8: the session has ended.
        404 if refusal.had_session && matches!(body, Body::Empty | Body::NotJson | Body::ForeignError) => {
            Grade::B
        }
        // Row 9: refused before it was looked at.
        400 if matches!(body, Body::Empty | Body::ForeignError) => Grade::B,
        405 | 406 | 411 | 413 | 414 | 415 | 417 | 426 | 431 | 501 | 505 => Grade::B,
        // Row 10: elsewhere. Never followed.
        300..=399 => Grade::B,
        // Row 12: usual, but also said after the effect.
        408 | 409 | 422 | 423 | 424 | 429 | 503 => Grade::C,
        // Row 13, other bodies of a 400 or 404, and whatever nobody has weighed.
        _ => Grade::D,
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::FailureKind;
    use super::*;

    const OURS: RequestId = RequestId(7);

    fn failure() -> Failure {
        Failure::new(FailureKind::Closed, "gone")
    }

    fn refusal(status: u16, had_session: bool, body: &str) -> SendError {
        let (retry_after, www_authenticate) = (Some("1".to_owned()), Some("Bearer".to_owned()));
        SendError::Refused(Refusal { status, had_session, retry_after, www_authenticate, body: body.into() })
    }

    /// The grade that evidence has; D where it is none.
    fn graded(error: SendError) -> Grade {
        match weigh(error, OURS, false) {
            Evidence::Proof(proof) => proof.grade(),
            Evidence::Answer(_) | Evidence::Nothing(_) => Grade::D,
        }
    }

    const NULL: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m"}}"#;
    const NO_ID: &str = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"m"}}"#;
    const FOREIGN: &str = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}"#;
    const OUR_ERROR: &str = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"m"}}"#;
    const OUR_RESULT: &str = r#"{"jsonrpc":"2.0","id":"7","result":{"content":[]}}"#;

    #[test]
    fn rows_2_to_5_what_did_not_leave_whole_did_not_run() {
        assert_eq!(graded(SendError::NotSent(failure())), Grade::A);
        assert_eq!(graded(SendError::Truncated(failure())), Grade::A);
        assert_eq!(graded(SendError::Unknown(failure())), Grade::D);
    }

    #[test]
    fn rows_6_7_9_and_10_are_refusals_whatever_their_body() {
        let statuses = [421, 425, 401, 403, 405, 406, 411, 413, 414, 415, 417, 426, 431, 501, 505];
        for status in statuses.into_iter().chain([300, 301, 302, 303, 304, 307, 308, 399]) {
            for body in ["", "<html>", "{}", NULL, FOREIGN] {
                for session in [false, true] {
                    assert_eq!(graded(refusal(status, session, body)), Grade::B, "{status} {body}");
                }
            }
        }
    }

    #[test]
    fn row_8_404_speaks_of_the_session_only_if_there_was_one() {
        for body in [
            "",
            " \r\n",
            "session not found",
            NULL,
            NO_ID,
            FOREIGN,
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":1}}"#,
        ] {
            assert_eq!(graded(refusal(404, true, body)), Grade::B, "{body}");
            assert_eq!(graded(refusal(404, false, body)), Grade::D, "{body}");
        }
        // The last of these are cut: nobody can say what they were.
        for body in [
            "{}",
            r#"{"error":"not found"}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            "[]",
            r#"{"jsonrpc":"2.0","#,
            "{\"text\":\"",
            " [{",
        ] {
            assert_eq!(graded(refusal(404, true, body)), Grade::D, "{body}");
        }
    }

    #[test]
    fn row_9_400_without_a_word_or_with_an_error_for_nobody() {
        for body in ["", NULL, NO_ID, FOREIGN] {
            assert_eq!(graded(refusal(400, false, body)), Grade::B, "{body}");
        }
        for body in ["bad request", "{}", "[]", r#"{"jsonrpc":"2.0","id":8,"result":{}}"#] {
            assert_eq!(graded(refusal(400, false, body)), Grade::D, "{body}");
        }
    }

    #[test]
    fn row_11_a_body_that_answers_the_attempt_is_the_answer() {
        for status in [400, 401, 404, 405, 421, 429, 500, 307] {
            for body in
                [OUR_ERROR, OUR_RESULT, &format!("[{NULL},{OUR_ERROR}]"), &format!("[{OUR_ERROR},{NULL}]")]
            {
                let evidence = weigh(refusal(status, true, body), OURS, false);
                assert!(
                    matches!(evidence, Evidence::Answer(kept) if kept == body.as_bytes()),
                    "{status} {body}"
                );
            }
            let cut = &OUR_ERROR[..OUR_ERROR.len() - 9];
            assert!(
                matches!(weigh(refusal(status, true, cut), OURS, false), Evidence::Nothing(_)),
                "{status}"
            );
        }
    }

    #[test]
    fn rows_12_and_13_prove_nothing() {
        let row_12 = [408, 409, 422, 423, 424, 429, 503].map(|status| (status, Grade::C));
        let row_13 =
            [500, 502, 504, 520, 521, 599, 402, 410, 418, 451, 507, 0, 999].map(|status| (status, Grade::D));
        for (status, usual) in row_12.into_iter().chain(row_13) {
            for body in ["", NULL, "x"] {
                let Evidence::Nothing(SendError::Refused(refusal)) =
                    weigh(refusal(status, true, body), OURS, false)
                else {
                    panic!("{status} {body}")
                };
                assert_eq!(grade(&refusal, Body::Empty), usual, "{status} {body}");
            }
        }
    }

    #[test]
    fn after_a_part_of_an_answer_nothing_is_a_refusal() {
        for error in [SendError::NotSent(failure()), SendError::Truncated(failure()), refusal(401, true, "")]
        {
            assert!(matches!(weigh(error, OURS, true), Evidence::Nothing(_)));
        }
    }

    #[test]
    fn a_refusal_is_kept_whole() {
        let Evidence::Proof(proof) = weigh(refusal(401, true, "why"), OURS, false) else {
            panic!("401 is a refusal")
        };
        let NotExecuted::Refused(kept) = proof.into_reason() else { panic!("and stays one") };
        assert_eq!(kept.retry_after.as_deref(), Some("1"));
        assert_eq!(kept.www_authenticate.as_deref(), Some("Bearer"));
        assert_eq!(kept.body, b"why");
    }
}
