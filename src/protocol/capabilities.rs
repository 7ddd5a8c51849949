//! What a server may ask of the client: what its host declares that it answers.

use crate::host::Hosted;
use crate::prelude::*;
use crate::text::text;

use super::json::{self, Object, Raw, on_one_line};

/// The kinds of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKind {
    /// Which folders and files the server may work in.
    Roots,
    /// A message of the host's model.
    Sampling,
    /// Something that only the user knows or may decide.
    Elicitation,
}

impl QuestionKind {
    /// The kind that is asked by this method.
    fn of(method: &str) -> Option<Self> {
        match method {
            "roots/list" => Some(Self::Roots),
            "sampling/createMessage" => Some(Self::Sampling),
            "elicitation/create" => Some(Self::Elicitation),
            _ => None,
        }
    }

    /// The capability that declares it.
    const fn capability(self) -> &'static str {
        match self {
            Self::Roots => "roots",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
        }
    }

    /// Whether a capability names the form in which this is asked.
    fn is_covered(self, capability: Raw<'_>, params: &str) -> bool {
        let names = |form| json::member(capability.get(), form).is_some();
        let given = |name| json::member(params, name).filter(|value| value.get() != "null");
        match self {
            Self::Roots => true,
            Self::Sampling => names("tools") || (given("tools").is_none() && given("toolChoice").is_none()),
            Self::Elicitation => match given("mode").map(json::string) {
                Some(Some(mode)) if mode == "url" => names("url"),
                Some(Some(mode)) if mode != "form" => false,
                Some(None) => false,
                // The first revision that had it knew no other form.
                _ => names("form") || !names("url"),
            },
        }
    }
}

/// What a request of the server's is to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A question that it answers.
    Question(QuestionKind),
    /// A question of a kind that it answers, but not in this form.
    NotSo,
    /// Nothing that it answers.
    Nothing,
}

/// What the client declares that a server may ask of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(Option<Hosted<Declared>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Declared {
    /// A JSON object.
    text: String,
    /// Whether it was made of one.
    sound: bool,
}

impl Capabilities {
    /// Nothing.
    pub const NONE: Self = Self(None);

    /// What the host says that it can do, MCP's client capabilities as a JSON object. Of these it declares the
    /// kinds of question: nothing here would answer for any other.
    pub fn read(host: &str) -> Self {
        Self(Hosted::new(|| {
            let (mut text, mut comma) = (String::from("{"), "");
            for kind in [QuestionKind::Elicitation, QuestionKind::Roots, QuestionKind::Sampling] {
                let name = kind.capability();
                if let Some(value) = json::member(host, name).filter(|value| value.get().starts_with('{')) {
                    text.push_str(&text!("{}\"{}\":{}", comma, name, &on_one_line(value.get())));
                    comma = ",";
                }
            }
            text.push('}');
            Declared { text, sound: host.is_empty() || Object::parse(host.to_owned()).is_ok() }
        }))
    }

    /// Whether the host said it in JSON.
    pub fn are_sound(&self) -> bool {
        self.0.as_ref().is_none_or(|declared| declared.sound)
    }

    /// The JSON object that a server gets.
    pub fn as_str(&self) -> &str {
        self.0.as_ref().map_or("{}", |declared| &declared.text)
    }

    /// What stands between its braces.
    pub fn members(&self) -> &str {
        let text = self.as_str();
        text.get(1..text.len() - 1).unwrap_or_default()
    }

    /// What a request of this method, and with these `params`, is to the host.
    pub fn of_request(&self, method: &str, params: &str) -> Asked {
        let Some(kind) = QuestionKind::of(method) else {
            return Asked::Nothing;
        };
        match json::member(self.as_str(), kind.capability()) {
            Some(capability) if kind.is_covered(capability, params) => Asked::Question(kind),
            Some(_) => Asked::NotSo,
            None => Asked::Nothing,
        }
    }
}
