//! What a response means to the message that it answers (contract, sections 2 and 3).

use noreplay::session::verdict::{Failure, FailureKind};

use crate::header::media_type;

/// A response's head, as far as it matters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// The status.
    pub status: u16,
    /// The value of its `content-type`.
    pub content_type: Option<&'a str>,
    /// The value of its `content-encoding`.
    pub content_encoding: Option<&'a str>,
}

/// What a response means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The message was refused; the body may say more.
    Refused,
    /// It was accepted, and nothing more is due.
    Accepted,
    /// It was accepted; the body is the answer.
    Json,
    /// It was accepted; the answer comes as an event.
    EventStream,
    /// It was accepted, but its answer will not come.
    NoAnswer(Failure),
}

/// What a response means to a message: to a request, which is due an answer, or to another.
pub fn meaning(head: Head<'_>, to_request: bool) -> Meaning {
    let Head { status, content_type, content_encoding } = head;
    if !(200..300).contains(&status) {
        return Meaning::Refused;
    }
    if !to_request {
        return Meaning::Accepted;
    }
    if matches!(status, 202 | 204 | 205) {
        return no_answer(format!("the server accepted the request with {status}, which has no answer"));
    }
    if let Some(encoding) = content_encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return no_answer(format!("its content-encoding is `{}`", cut(encoding)));
    }
    match content_type.map(media_type).as_deref() {
        Some("application/json") => Meaning::Json,
        Some("text/event-stream") => Meaning::EventStream,
        Some(other) => no_answer(format!("its content-type is `{}`", cut(other))),
        None => no_answer("it has no content-type".to_owned()),
    }
}

/// A text of the server's, as far as it is worth repeating.
fn cut(text: &str) -> &str {
    text.char_indices().nth(64).map_or(text, |(end, _)| &text[..end])
}

fn no_answer(detail: String) -> Meaning {
    Meaning::NoAnswer(Failure { kind: FailureKind::Malformed, detail: vec![detail] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, content_type: &str) -> Meaning {
        meaning(Head { status, content_type: Some(content_type), content_encoding: None }, true)
    }

    #[test]
    fn a_success_holds_the_answer_or_will_never_bring_it() {
        assert_eq!(of(200, "application/json; charset=utf-8"), Meaning::Json);
        assert_eq!(of(200, "Text/Event-Stream"), Meaning::EventStream);
        assert_eq!(of(201, "application/json"), Meaning::Json);
        for (status, content_type) in
            [(202, "application/json"), (204, ""), (205, "text/event-stream"), (200, "text/html"), (200, "")]
        {
            assert!(matches!(of(status, content_type), Meaning::NoAnswer(_)), "{status} {content_type}");
        }
        assert!(matches!(meaning(Head { status: 200, ..Head::default() }, true), Meaning::NoAnswer(_)));
    }

    #[test]
    fn what_is_compressed_is_named() {
        let head = Head { status: 200, content_type: Some("application/json"), content_encoding: Some("br") };
        let Meaning::NoAnswer(failure) = meaning(head, true) else { panic!("nobody can read it") };
        assert_eq!(failure.detail, ["its content-encoding is `br`"]);
        let head = Head { content_encoding: Some("Identity"), ..head };
        assert_eq!(meaning(head, true), Meaning::Json);
    }

    #[test]
    fn what_is_due_no_answer_is_accepted_by_any_success() {
        for status in [200, 202, 204] {
            assert_eq!(meaning(Head { status, ..Head::default() }, false), Meaning::Accepted);
        }
    }

    #[test]
    fn all_else_is_a_refusal() {
        for status in [100, 199, 300, 307, 401, 404, 500, 599, 999] {
            for to_request in [false, true] {
                let head = Head { status, content_type: Some("application/json"), ..Head::default() };
                assert_eq!(meaning(head, to_request), Meaning::Refused, "{status}");
            }
        }
    }
}
