//! Whether a message answers a request: the only thing for which this transport reads messages.

use noreplay::protocol::jsonrpc::{self, Message, RequestId};

/// Whether `message` holds the answer to `request`, alone or with others in an array. What is cut off is no
/// answer.
pub fn answers(message: &[u8], request: u64) -> bool {
    let mut answers = false;
    jsonrpc::read(message, &mut |message| {
        if let Ok(Message::Response { id, .. }) = message {
            answers |= id.request() == Some(RequestId(request));
        }
    });
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_response_with_the_id_is_the_answer() {
        let answer = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
        assert!(answers(answer, 7));
        assert!(!answers(answer, 8));
        for end in 0..answer.len() {
            assert!(!answers(&answer[..end], 7), "{end}");
        }
        assert!(answers(br#"[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":"m"}}]"#, 7));
        for other in
            ["", "{}", r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, r#"{"jsonrpc":"2.0","method":"m"}"#]
        {
            assert!(!answers(other.as_bytes(), 7), "{other}");
        }
    }
}
