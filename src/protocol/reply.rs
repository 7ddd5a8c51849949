//! Answers to what a server asked for.

use crate::prelude::*;
use crate::text::text;

use super::json::{Object, Raw, on_one_line, push_string};
use super::message::{Outgoing, push};
use super::revision::Revision;

/// The answer to a server's request: a result. `id` is the request's id as it came.
pub fn result(id: &str, result: &Object, revision: Revision) -> Outgoing {
    let mut out = begin(id, result.as_str().len());
    push(&mut out, ",\"result\":");
    push(&mut out, result.as_str());
    end(out, revision)
}

/// The answer to a server's request: an error. What is no JSON is left out of it.
pub fn error(id: &str, code: i64, message: &str, data: Option<&str>, revision: Revision) -> Outgoing {
    let mut out = begin(id, message.len());
    push(&mut out, ",\"error\":{\"code\":");
    push(&mut out, &text!("{}", code));
    push(&mut out, ",\"message\":");
    push_string(&mut out, message);
    if let Some(Ok(data)) = data.map(Raw::parse) {
        push(&mut out, ",\"data\":");
        push(&mut out, &on_one_line(data.get()));
    }
    push(&mut out, "}");
    end(out, revision)
}

fn begin(id: &str, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(128 + size);
    push(&mut out, "{\"jsonrpc\":\"2.0\",\"id\":");
    push(&mut out, &on_one_line(id));
    out
}

fn end(mut out: Vec<u8>, revision: Revision) -> Outgoing {
    push(&mut out, "}");
    Outgoing { bytes: out, method: "", request: None, revision: Some(revision), headers: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line_and_bears_the_id_as_it_came() {
        let text = |outgoing: Outgoing| String::from_utf8(outgoing.bytes).unwrap();
        let object = Object::parse("{\"n\":\n1e400}".to_owned()).unwrap();
        for (outgoing, expected) in [
            (
                result("\"s\\u0031\"", &object, Revision::LATEST_LEGACY),
                r#"{"jsonrpc":"2.0","id":"s\u0031","result":{"n": 1e400}}"#,
            ),
            (
                error("7", -1, "a \"no\"\n", Some("{\n}"), Revision::LATEST_LEGACY),
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"a \"no\"\n","data":{ }}}"#,
            ),
            (
                error("[\n]", i64::MIN, "", Some("no JSON"), Revision::LATEST_LEGACY),
                r#"{"jsonrpc":"2.0","id":[ ],"error":{"code":-9223372036854775808,"message":""}}"#,
            ),
        ] {
            assert_eq!((outgoing.method, outgoing.request), ("", None));
            assert_eq!(text(outgoing), expected);
        }
    }
}
