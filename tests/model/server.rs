//! What the server says, in bytes, and what that means.

use crate::harness::DONE;

/// What the body of a refusal is.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    Empty,
    Page,
    ErrorForNobody,
    Answer,
    CutAnswer,
}

/// What the server says.
#[derive(Clone, Copy, Debug)]
pub enum Saying {
    Result,
    ResultIdAsString,
    ToolError,
    Error,
    ErrorForNobody,
    InputRequired,
    /// A result whose text ends too early.
    Cut,
    /// A result whose text is no UTF-8.
    Broken,
    /// A result that stands twice.
    Twice,
    /// An array: an error for nobody, then the result.
    ErrorAndResult,
    /// An array: no message, then the result.
    NoiseAndResult,
    /// An array: the result, then an error.
    ResultAndError,
    Progress,
    Ping,
    Noise,
    /// One page of tools; more are to come.
    Page,
}

impl Body {
    /// As the answer to this request.
    pub fn bytes(self, id: u64) -> Vec<u8> {
        match self {
            Self::Empty => Vec::new(),
            Self::Page => b"<html>".to_vec(),
            Self::ErrorForNobody => Saying::ErrorForNobody.bytes(id, ""),
            Self::Answer => Saying::Result.bytes(id, ""),
            Self::CutAnswer => Saying::Cut.bytes(id, ""),
        }
    }
}

impl Saying {
    /// Any byte says something.
    pub fn of(how: u8) -> Self {
        const ALL: [Saying; 16] = [
            Saying::Result,
            Saying::ResultIdAsString,
            Saying::ToolError,
            Saying::Error,
            Saying::ErrorForNobody,
            Saying::InputRequired,
            Saying::Cut,
            Saying::Broken,
            Saying::Twice,
            Saying::ErrorAndResult,
            Saying::NoiseAndResult,
            Saying::ResultAndError,
            Saying::Progress,
            Saying::Ping,
            Saying::Noise,
            Saying::Page,
        ];
        ALL[usize::from(how & 15)]
    }

    /// As said of this request.
    pub fn bytes(self, id: u64, method: &str) -> Vec<u8> {
        let tools = method == "tools/list";
        let result = if tools { r#"{"tools":[{"name":"pay"}]}"# } else { DONE };
        let answer = |body: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#);
        let ok = answer(&format!(r#""result":{result}"#));
        let error = answer(r#""error":{"code":-32603,"message":"m"}"#);
        let nobody = r#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}"#;
        let text = match self {
            Self::Result => ok,
            Self::ResultIdAsString => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":"{id}"}}"#),
            Self::ToolError => answer(r#""result":{"content":[],"isError":true}"#),
            Self::Error => error,
            Self::ErrorForNobody => nobody.to_owned(),
            Self::InputRequired => {
                answer(&format!(r#""result":{{"resultType":"input_required","requestState":"s{id}"}}"#))
            }
            Self::Cut => ok[..ok.len() - 5].to_owned(),
            Self::Broken => return [&ok.as_bytes()[..ok.len() - 5], b"\xff\"}]}}"].concat(),
            Self::Twice => answer(&format!(r#""result":{result},"result":{result}"#)),
            Self::ErrorAndResult => format!("[{nobody},{ok}]"),
            Self::NoiseAndResult => format!("[5, {ok} ]"),
            Self::ResultAndError => format!("[{ok},{error}]"),
            Self::Progress => format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id}}}}}"#
            ),
            Self::Ping => answer(r#""method":"ping""#),
            Self::Noise => "garbage".to_owned(),
            Self::Page => answer(&format!(r#""result":{{"tools":[],"nextCursor":"{id}"}}"#)),
        };
        text.into_bytes()
    }

    /// Whether it is an answer that tells what became of a call.
    pub fn answers(self) -> bool {
        matches!(
            self,
            Self::Result
                | Self::ResultIdAsString
                | Self::ToolError
                | Self::ErrorAndResult
                | Self::NoiseAndResult
                | Self::ResultAndError
                | Self::Page
        )
    }

    /// Whether it ends an attempt, for good or ill.
    pub fn ends(self, on_channel: bool) -> bool {
        match self {
            Self::Progress | Self::Ping => false,
            Self::ErrorForNobody | Self::Noise => on_channel,
            _ => true,
        }
    }
}
