//! Requests without an effect of their own, beside lists: what they ask for.

use crate::prelude::*;

use super::header;
use super::json::{Object, push_string};
use super::jsonrpc::RequestId;
use super::message::{Dialect, Outgoing, Params, request};

/// How much a server is to log, the chattiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// What only who searches for a fault wants to know.
    Debug,
    /// What goes on.
    Info,
    /// What is normal, but matters.
    Notice,
    /// What may become a fault.
    Warning,
    /// What failed.
    Error,
    /// What failed and takes more with it.
    Critical,
    /// What somebody must see to at once.
    Alert,
    /// What makes the whole unusable.
    Emergency,
}

impl LogLevel {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

/// What a caller wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// That the list of tools has changed.
    pub tools: bool,
    /// That the list of prompts has changed.
    pub prompts: bool,
    /// That the list of resources has changed.
    pub resources: bool,
    /// That one of these resources has changed.
    pub uris: Vec<String>,
}

/// A request that reads something.
#[derive(Debug)]
pub struct Query {
    method: &'static str,
    /// What it is about, where a header says so.
    name: Option<String>,
    /// The members of its `params`.
    members: Vec<u8>,
}

impl Query {
    fn new(method: &'static str) -> Self {
        Self { method, name: None, members: Vec::new() }
    }

    fn with(mut self, member: &str, text: &str) -> Self {
        if !self.members.is_empty() {
            self.members.push(b',');
        }
        push_string(&mut self.members, member);
        self.members.push(b':');
        push_string(&mut self.members, text);
        self
    }

    /// What a resource holds.
    pub fn resource(uri: String) -> Self {
        Self { name: Some(uri.clone()), ..Self::new("resources/read").with("uri", &uri) }
    }

    /// A prompt, filled in.
    pub fn prompt(name: String, arguments: Option<&Object>) -> Self {
        let mut query = Self::new("prompts/get").with("name", &name);
        if let Some(arguments) = arguments {
            query.members.extend_from_slice(b",\"arguments\":");
            query.members.extend_from_slice(arguments.as_str().as_bytes());
        }
        Self { name: Some(name), ..query }
    }

    /// How an argument may go on. The object is the request's `params`.
    pub fn completion(params: &Object) -> Self {
        Self { members: params.members().as_bytes().to_vec(), ..Self::new("completion/complete") }
    }

    /// Whether the server is there.
    pub fn ping(dialect: Dialect<'_>) -> Self {
        // Revision 2026-07-28 has no `ping`; this does as well.
        Self::new(if dialect.revision.is_modern() { "server/discover" } else { "ping" })
    }

    /// How much to log from now on (up to 2025-11-25).
    pub fn log_level(level: LogLevel) -> Self {
        Self::new("logging/setLevel").with("level", level.as_str())
    }

    /// News of a resource (up to 2025-11-25), or no more of it.
    pub fn of_resource(uri: &str, wanted: bool) -> Self {
        Self::new(if wanted { "resources/subscribe" } else { "resources/unsubscribe" }).with("uri", uri)
    }

    /// News (2026-07-28), for as long as the request is not answered.
    pub fn listen(to: &News) -> Self {
        let mut query = Self::new("subscriptions/listen");
        let out = &mut query.members;
        out.extend_from_slice(b"\"notifications\":{\"resourceSubscriptions\":[");
        for (index, uri) in to.uris.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            push_string(out, uri);
        }
        out.push(b']');
        let lists = [
            (to.tools, "toolsListChanged"),
            (to.prompts, "promptsListChanged"),
            (to.resources, "resourcesListChanged"),
        ];
        for (_, list) in lists.into_iter().filter(|(wanted, _)| *wanted) {
            out.push(b',');
            push_string(out, list);
            out.extend_from_slice(b":true");
        }
        out.push(b'}');
        query
    }

    /// The request, which goes on from `state` if the server asked for that.
    pub fn message(&self, id: RequestId, state: Option<&Object>, dialect: Dialect<'_>) -> Outgoing {
        let mut params = Params::of(request(self.method, id, 384 + self.members.len()));
        params.members(&self.members);
        params.members(state.map_or("", Object::members).as_bytes());
        params.meta(dialect, None, None);
        let mut message = dialect.outgoing(params.end(), self.method, Some(id));
        if let Some(name) = self.name.as_ref().filter(|_| dialect.revision.is_modern()) {
            message.headers.push(("Mcp-Name".to_owned(), header::value(name)));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::super::capabilities::Capabilities;
    use super::super::handshake::Implementation;
    use super::super::revision::Revision;
    use super::*;

    const CLIENT: &Implementation = &Implementation { name: String::new(), version: String::new() };
    const OLD: Dialect<'_> = Dialect {
        revision: Revision::V2025_11_25,
        client: CLIENT,
        capabilities: &Capabilities::NONE,
        log_level: None,
        tasks: false,
    };
    const NEW: Dialect<'_> = Dialect { revision: Revision::V2026_07_28, ..OLD };

    fn text(query: &Query, dialect: Dialect<'_>) -> String {
        String::from_utf8(query.message(RequestId(1), None, dialect).bytes).unwrap()
    }

    fn object(text: &str) -> Object {
        Object::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn each_asks_what_its_revision_knows() {
        let subscription = News {
            tools: true,
            prompts: false,
            resources: true,
            uris: vec!["a:\"1\"".to_owned(), "b".to_owned()],
        };
        let arguments = object(r#"{"n": 1.0}"#);
        for (query, expected) in [
            (Query::resource("a:\"".to_owned()), r#""resources/read","params":{"uri":"a:\""}"#),
            (Query::prompt("p".to_owned(), None), r#""prompts/get","params":{"name":"p"}"#),
            (
                Query::prompt("p".to_owned(), Some(&arguments)),
                r#""prompts/get","params":{"name":"p","arguments":{"n": 1.0}}"#,
            ),
            (Query::completion(&object(r#"{ "ref":{} }"#)), r#""completion/complete","params":{"ref":{}}"#),
            (Query::completion(&object("{}")), r#""completion/complete""#),
            (Query::ping(OLD), r#""ping""#),
            (Query::ping(NEW), r#""server/discover""#),
            (Query::log_level(LogLevel::Notice), r#""logging/setLevel","params":{"level":"notice"}"#),
            (Query::of_resource("u", true), r#""resources/subscribe","params":{"uri":"u"}"#),
            (Query::of_resource("u", false), r#""resources/unsubscribe","params":{"uri":"u"}"#),
            (
                Query::listen(&subscription),
                r#""subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a:\"1\"","b"],"toolsListChanged":true,"resourcesListChanged":true}}"#,
            ),
            (
                Query::listen(&News::default()),
                r#""subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[]}}"#,
            ),
        ] {
            assert_eq!(text(&query, OLD), format!(r#"{{"jsonrpc":"2.0","id":1,"method":{expected}}}"#));
            let modern = text(&query, NEW);
            assert!(modern.contains(r#""_meta":{"io.modelcontextprotocol/protocolVersion""#), "{modern}");
            assert!(serde_json::from_str::<serde_json::Value>(&modern).is_ok(), "{modern}");
        }
    }

    #[test]
    fn headers_name_what_it_is_about() {
        let headers = Query::resource("a:\u{e9}".to_owned()).message(RequestId(1), None, NEW).headers;
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers,
            [named("Mcp-Method", "resources/read"), named("Mcp-Name", "=?base64?YTrDqQ==?=")]
        );
        assert_eq!(Query::resource("a".to_owned()).message(RequestId(1), None, OLD).headers, []);
    }

    #[test]
    fn a_read_that_goes_on_says_from_where() {
        let state = object(r#"{"requestState":"s\u0041"}"#);
        let message = Query::resource("u".to_owned()).message(RequestId(2), Some(&state), OLD);
        let expected = r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"u","requestState":"s\u0041"}}"#;
        assert_eq!(String::from_utf8(message.bytes).unwrap(), expected);
    }
}
