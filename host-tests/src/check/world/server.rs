//! The server at work: it executes, and answers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::super::moment::{Kind, Message, Moment, Told};
use super::super::schedule::MODERN;
use super::line::Line;
use super::read::Read;
use super::{World, answer, read};

/// A message that reached the server.
pub(super) struct Asked {
    pub(super) message: Message,
    pub(super) read: Read,
    /// Its own result.
    pub(super) result: String,
    pub(super) answered: bool,
}

/// How many tools there are, one on a page.
const TOOLS: [(&str, &str); 3] = [
    ("pay", "{}"),
    ("hinted", r#"{"readOnlyHint":true,"idempotentHint":true,"destructiveHint":false}"#),
    ("pay-later", "{}"),
];

/// The result that this request has, and no other.
pub(super) fn result(world: &World, message: &Message, read: &Read) -> String {
    match &message.kind {
        Kind::Initialize => format!(
            r#"{{"protocolVersion":"{}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"world","version":"1"}}}}"#,
            world.setting().revision
        ),
        Kind::List => {
            let (name, annotations) = TOOLS[read.cursor.min(TOOLS.len() - 1)];
            let next = read.cursor + 1;
            let next = if next < TOOLS.len() { format!(r#","nextCursor":"{next}""#) } else { String::new() };
            format!(
                r#"{{"tools":[{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}]{next}}}"#
            )
        }
        Kind::Discover if world.setting().is_modern() => format!(
            r#"{{"supportedVersions":["{MODERN}"],"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"world","version":"1"}}}}}}"#
        ),
        // It counts in the state how often it has done so.
        Kind::Call(_) if suspensions(read) < read.suspended => format!(
            r#"{{"resultType":"input_required","requestState":"{}-{}"}}"#,
            suspensions(read) + 1,
            message.index
        ),
        Kind::Call(number) if read.working > 0 && has_tasks(world) => {
            // What the questions are to be told stands in the task's id.
            let task = format!("{number}-{}-{}", message.index, read.working);
            match world.setting().is_modern() {
                true => format!(
                    r#"{{"resultType":"task","taskId":"{task}","status":"working","pollIntervalMs":{POLLS}}}"#
                ),
                false => format!(r#"{{"task":{{"taskId":"{task}","status":"working"}}}}"#),
            }
        }
        Kind::Task(number) => {
            let asked = world.asked(&read.task);
            let working = read.task.rsplit('-').next().and_then(|times| times.parse().ok()).unwrap_or(0);
            let result = format!(
                r#"{{"content":[{{"type":"text","text":"task of call {number}, message {}"}}],"isError":false}}"#,
                message.index
            );
            match world.setting().is_modern() {
                true if asked < working => {
                    format!(r#"{{"resultType":"complete","status":"working","pollIntervalMs":{POLLS}}}"#)
                }
                true => format!(r#"{{"resultType":"complete","status":"completed","result":{result}}}"#),
                false => result,
            }
        }
        Kind::Call(number) => format!(
            r#"{{"content":[{{"type":"text","text":"call {number}, message {}"}}],"isError":false}}"#,
            message.index
        ),
        _ => "{}".to_owned(),
    }
}

/// How often a task may be asked for: milliseconds.
const POLLS: u32 = 200;

/// Whether the server makes tasks of calls.
fn has_tasks(world: &World) -> bool {
    matches!(world.setting().revision, MODERN | "2025-11-25")
}

/// How often the server suspended a call so far.
fn suspensions(read: &Read) -> u32 {
    let state = read.state.as_deref().and_then(|state| state.split_once('-'));
    state.and_then(|(times, _)| times.parse().ok()).unwrap_or(0)
}

/// The error that a server of the one era answers a word of the other with.
pub(super) fn denial(world: &World, kind: &Kind) -> Option<&'static str> {
    match (kind, world.setting().is_modern()) {
        (Kind::Discover, false) => Some(r#"{"code":-32601,"message":"Method not found"}"#),
        (Kind::Initialize, true) => {
            Some(r#"{"code":-32022,"message":"Unsupported","data":{"supported":["2026-07-28"]}}"#)
        }
        _ => None,
    }
}

/// The message reaches the server, after `delay`.
pub(super) fn arrives(world: &World, line: &Arc<Line>, asked: &Arc<Asked>, delay: Duration) {
    if delay.is_zero() {
        return execute(world, line, asked);
    }
    let (world, line, asked) = (world.clone(), line.clone(), asked.clone());
    tokio::spawn(async move {
        sleep(delay).await;
        execute(&world, &line, &asked);
    });
}

/// The server does what the message says, and answers when the tool is done.
fn execute(world: &World, line: &Arc<Line>, asked: &Arc<Asked>) {
    if let Kind::Call(_) = asked.message.kind {
        world.note(Moment::Executed(asked.message.index));
    }
    if asked.message.request.is_none() || !asked.answered {
        return;
    }
    let fault = world.answer_fault(asked.message.index);
    let third = Duration::from_millis(asked.read.takes) / 3;
    if third.is_zero() {
        return answer::answer(world, line, asked, fault);
    }
    let (world, line, asked) = (world.clone(), line.clone(), asked.clone());
    tokio::spawn(async move {
        for _ in 0..2 {
            sleep(third).await;
            progress(&world, &line, &asked.message, &asked.read);
        }
        sleep(third).await;
        answer::answer(&world, &line, &asked, fault);
    });
}

/// A sign of life of a call, if it asked for such.
pub(super) fn progress(world: &World, line: &Line, message: &Message, read: &Read) {
    if let Some(token) = &read.token {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
        );
        line.say(text.into_bytes(), channel(world, message), Told::Sign(message.index));
    }
}

/// The channel on which what concerns this message comes.
pub(super) fn channel(world: &World, message: &Message) -> Option<u64> {
    message.request.filter(|_| world.setting().own_channels)
}

/// What the answer of this request tells.
pub(super) fn own(asked: &Asked) -> Told {
    Told::Of(asked.message.index, read::result(&asked.result))
}
