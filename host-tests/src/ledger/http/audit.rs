//! What a client must never do over HTTP, noticed. Messages of several connections come in any order, so
//! that nothing is said of order.

use super::Manners;
use super::sessions::Session;
use super::traffic::Request;

/// The first revision whose requests name it in a header.
const NAMES_ITSELF: &str = "2025-06-18";

/// What is wrong with a POST of a message.
pub(super) fn post(
    request: &Request,
    method: &str,
    id: &str,
    modern: bool,
    session: &Session,
    manners: &Manners,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |right: bool, wrong: &str| {
        if !right {
            found.push(format!("{wrong}: request {} ({method})", request.number));
        }
    };
    let content = request.header("content-type").unwrap_or_default();
    check(content.starts_with("application/json"), "a message that is not said to be JSON");
    if !manners.http_sse {
        let accept = request.header("accept").unwrap_or_default();
        let both = accept.contains("application/json") && accept.contains("text/event-stream");
        check(both, "a POST that does not accept both forms of an answer");
    }
    if modern {
        check(!method.is_empty(), "a response, which no server asked for");
        check(request.header("mcp-session-id").is_none(), "a session in a stateless revision");
        return found;
    }
    if method == "initialize" {
        check(request.header("mcp-session-id").is_none(), "a session before the handshake");
    } else if !manners.http_sse {
        let (version, revision) = (request.header("mcp-protocol-version"), session.revision());
        check(
            revision.as_str() < NAMES_ITSELF || version == Some(&revision),
            "a request that does not name the agreed revision",
        );
    }
    check(method.is_empty() || id == "null" || session.is_new(id), "an id that was used before");
    found
}

/// What is wrong with a GET.
pub(super) fn get(request: &Request) -> Vec<String> {
    let accept = request.header("accept").unwrap_or_default();
    if accept.contains("text/event-stream") {
        return Vec::new();
    }
    vec![format!("a GET that does not accept events: request {}", request.number)]
}
