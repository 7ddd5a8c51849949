//! How the server answers, well or not.

use std::sync::Arc;

use tokio::time::sleep;

use super::super::fault::{AnswerFault, MUCH_LATER, Noise, OddId, OddResult, OversizedId};
use super::super::moment::{Fate, Kind, Told};
use super::super::policy::MESSAGE;
use super::line::Line;
use super::server::{Asked, channel, denial, own, progress};
use super::{World, read};
use crate::FailureKind;
use crate::transport::{Incoming, LostAnswer, Oversized};

/// Answers a request.
pub(super) fn answer(world: &World, line: &Arc<Line>, asked: &Arc<Asked>, fault: Option<AnswerFault>) {
    let answering = Answering { world, line, asked, channel: channel(world, &asked.message) };
    match fault {
        None => answering.well(),
        Some(fault) => answering.faultily(fault),
    }
}

struct Answering<'a> {
    world: &'a World,
    line: &'a Arc<Line>,
    asked: &'a Arc<Asked>,
    channel: Option<u64>,
}

impl Answering<'_> {
    fn well(&self) {
        if let Some(denial) = denial(self.world, &self.asked.message.kind) {
            return self.error(denial);
        }
        self.line.say(self.whole(), self.channel, own(self.asked));
    }

    fn id(&self) -> u64 {
        self.asked.message.request.unwrap_or(0)
    }

    /// The answer as it should be.
    fn whole(&self) -> Vec<u8> {
        self.with_result(&self.asked.result)
    }

    fn with_result(&self, result: &str) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id()).into_bytes()
    }

    fn of(&self, fate: Fate) -> Told {
        Told::Of(self.asked.message.index, fate)
    }

    fn say(&self, bytes: impl Into<Vec<u8>>, told: Told) {
        self.line.say(bytes.into(), self.channel, told);
    }

    fn lose(&self, kind: FailureKind) {
        self.line.finish(Err(self.world.failure(kind)));
    }

    /// Something on this request's channel that cannot be read: its answer if the channel is its own.
    fn unreadable_or_noise(&self, bytes: &[u8]) -> Told {
        match self.channel {
            Some(_) => self.of(Fate::Unreadable(bytes.to_vec())),
            None => Told::Noise(String::from_utf8_lossy(bytes).into_owned()),
        }
    }

    fn faultily(&self, fault: AnswerFault) {
        match fault {
            AnswerFault::Lost(kind) => self.lose(kind),
            AnswerFault::End => self.line.finish(Ok(())),
            AnswerFault::ThenLost => {
                self.well();
                self.lose(FailureKind::ConnectionReset);
            }
            AnswerFault::ThenEnd => {
                self.well();
                self.line.finish(Ok(()));
            }
            AnswerFault::AnswerLost => self.answer_lost(),
            AnswerFault::ProgressThenLost => {
                progress(self.world, self.line, &self.asked.message, &self.asked.read);
                self.answer_lost();
            }
            AnswerFault::Silence => {}
            AnswerFault::Late => self.late(),
            AnswerFault::OnNextConnection => {
                self.lose(FailureKind::ConnectionReset);
                let told = Told::Noise("an answer of an earlier connection".to_owned());
                self.world.state().belated.push((self.whole(), told));
            }
            AnswerFault::Twice => {
                self.well();
                self.well();
            }
            AnswerFault::TwiceDifferent => {
                self.well();
                let other = self.asked.result.replacen('{', r#"{"other":true,"#, 1);
                self.say(self.with_result(&other), self.of(read::result(&other)));
            }
            AnswerFault::After(noise) => {
                self.noise(noise);
                self.well();
            }
            AnswerFault::Only(noise) => self.noise(noise),
            AnswerFault::Cut => self.cut(),
            AnswerFault::CutAndLost => {
                self.cut();
                self.lose(FailureKind::ConnectionReset);
            }
            AnswerFault::Id(id) => self.odd_id(id),
            AnswerFault::WrongChannel => {
                let channel = Some(self.id() + 1_000);
                let told = Told::Noise("an answer on another request's channel".to_owned());
                self.line.say(self.whole(), channel, told);
            }
            AnswerFault::Oversized(id) => self.oversized(id),
            AnswerFault::Flood(count) => {
                let line = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{}"}}}}"#,
                    "x".repeat(120)
                );
                for _ in 0..count {
                    self.line.say(line.clone().into_bytes(), None, Told::Noise(String::new()));
                }
                self.well();
            }
            AnswerFault::Batch => {
                let mut array =
                    br#"[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},"#.to_vec();
                array.extend(self.whole());
                array.push(b']');
                self.say(array, own(self.asked));
            }
            AnswerFault::Error(code) => self.error(&format!(
                r#"{{"code":{code},"message":"{}","data":{{"n":1915883588174806058}}}}"#,
                self.world.setting().words.text()
            )),
            AnswerFault::SessionTerminated => self.error(r#"{"code":-32600,"message":"Session terminated"}"#),
            AnswerFault::UnreadableError => self.error(r#"{"code":"no number","message":7}"#),
            AnswerFault::NullIdError => self.null_id_error(),
            AnswerFault::Result(odd) => self.odd_result(odd),
        }
    }

    fn answer_lost(&self) {
        let failure = self.world.failure(FailureKind::ConnectionReset);
        let told = self.of(Fate::AnswerLost(failure.clone()));
        self.line.push(Incoming::AnswerLost(LostAnswer { request: self.id(), failure }), told);
    }

    fn late(&self) {
        let (world, line, asked) = (self.world.clone(), self.line.clone(), self.asked.clone());
        tokio::spawn(async move {
            sleep(MUCH_LATER).await;
            answer(&world, &line, &asked, None);
        });
    }

    fn cut(&self) {
        let mut bytes = self.whole();
        bytes.truncate(bytes.len() - 9);
        self.say(bytes.clone(), self.of(Fate::Unreadable(bytes)));
    }

    fn error(&self, error: &str) {
        let bytes = format!(r#"{{"jsonrpc":"2.0","id":{},"error":{error}}}"#, self.id()).into_bytes();
        self.say(bytes.clone(), self.of(read::error(&bytes)));
    }

    /// An error for nobody is the request's own where the channel is.
    fn null_id_error(&self) {
        let bytes = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}"#;
        let told = match self.channel {
            Some(_) => self.of(read::error(bytes)),
            None => Told::Noise("an error without an id".to_owned()),
        };
        self.say(&bytes[..], told);
    }

    fn odd_id(&self, odd: OddId) {
        let id = self.id();
        let written = match odd {
            OddId::String => format!("\"{id}\""),
            OddId::Wrong => (id + 1_000).to_string(),
            OddId::Zero => format!("\"0{id}\""),
            OddId::Fraction => format!("{id}.0"),
            OddId::Null => "null".to_owned(),
            OddId::True => "true".to_owned(),
            OddId::Object => format!(r#"{{"id":{id}}}"#),
            OddId::Missing => String::new(),
        };
        let member = if odd == OddId::Missing { String::new() } else { format!(r#""id":{written},"#) };
        let bytes = format!(r#"{{"jsonrpc":"2.0",{member}"result":{}}}"#, self.asked.result).into_bytes();
        let told = match odd {
            OddId::String => own(self.asked),
            OddId::Missing => self.unreadable_or_noise(&bytes),
            _ => Told::Noise(format!("an answer with the id {written}")),
        };
        self.say(bytes, told);
    }

    fn oversized(&self, id: OversizedId) {
        let member = format!(r#","id":{}"#, self.id());
        let (first, last) = match id {
            OversizedId::Head => (member.as_str(), ""),
            OversizedId::Tail => ("", member.as_str()),
            OversizedId::Lost => ("", ""),
        };
        let head = format!(r#"{{"jsonrpc":"2.0"{first},"result":{{"content":[{{"type":"text","text":"xx"#)
            .into_bytes();
        let tail = format!(r#"xx"}}]}}{last}}}"#).into_bytes();
        let told = match id {
            OversizedId::Lost => self.unreadable_or_noise(&head),
            _ => self.of(Fate::Unreadable(head.clone())),
        };
        let oversized = Oversized { head, tail, size: Some(MESSAGE + 1), channel: self.channel };
        self.line.push(Incoming::TooLarge(oversized), told);
    }

    fn odd_result(&self, odd: OddResult) {
        let text = &self.asked.message.index;
        let json = match odd {
            OddResult::IsError => {
                format!(r#"{{"content":[{{"type":"text","text":"failed {text}"}}],"isError":true}}"#)
            }
            OddResult::IsErrorLost => format!(
                r#"{{"content":[{{"type":"text","text":"MCP error -32000: connection closed, not executed {text}"}}],"isError":true}}"#
            ),
            OddResult::IsErrorText => format!(r#"{{"content":[],"isError":"yes","n":{text}}}"#),
            OddResult::NoContent => format!(r#"{{"n":{text}}}"#),
            OddResult::Hologram => format!(r#"{{"content":[{{"type":"hologram","n":{text}}}]}}"#),
            OddResult::Structured => {
                format!(r#"{{"content":[],"structuredContent":{{"n":1915883588174806058, "of":{text}}}}}"#)
            }
            OddResult::Null => "null".to_owned(),
            OddResult::InputRequired => {
                format!(r#"{{"resultType":"input_required","requestState":"s{text}"}}"#)
            }
        };
        let bytes = self.with_result(&json);
        let is_error = matches!(odd, OddResult::IsError | OddResult::IsErrorLost);
        let fate = match odd {
            // None of them says where a task is.
            _ if matches!(self.asked.message.kind, Kind::Task(_)) && self.world.setting().is_modern() => {
                Fate::Unreadable(bytes.clone())
            }
            OddResult::InputRequired => Fate::InputRequired(json),
            _ => Fate::Result { json, is_error },
        };
        self.say(bytes, self.of(fate));
    }

    fn noise(&self, noise: Noise) {
        let (bytes, told) = line_of(noise, self.id());
        let told = match noise {
            Noise::Text | Noise::Empty | Noise::Bytes | Noise::Object => self.unreadable_or_noise(&bytes),
            _ => told,
        };
        self.say(bytes, told);
    }
}

/// A line that is no answer, and what it tells on a channel that requests share.
pub(in super::super) fn line_of(noise: Noise, id: u64) -> (Vec<u8>, Told) {
    let bytes: Vec<u8> = match noise {
        Noise::Text => b"Server v1 started".to_vec(),
        Noise::Empty => Vec::new(),
        Noise::Bytes => vec![0xff, 0xfe],
        Noise::Object => b"{}".to_vec(),
        Noise::Request => {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{{}}}}"#).into_bytes()
        }
        Noise::Progress => {
            br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":999999,"progress":1}}"#
                .to_vec()
        }
        Noise::Foreign => br#"{"jsonrpc":"2.0","id":999999,"result":{"content":[]}}"#.to_vec(),
        Noise::ToolsChanged => br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_vec(),
    };
    let told = if noise == Noise::Request { Told::Request } else { Told::Noise(noise.to_string()) };
    (bytes, told)
}
