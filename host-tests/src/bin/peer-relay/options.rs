//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::fault::{Fault, Nth, Plan};

pub(crate) struct Options {
    pub(crate) log: PathBuf,
    pub(crate) plans: Vec<Plan>,
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
}

impl Options {
    pub(crate) fn parse(mut words: impl Iterator<Item = OsString>) -> Result<Self, String> {
        let (mut log, mut method, mut nth, mut plans) = (None, None, Nth::Only(1), Vec::new());
        loop {
            let option = words.next().ok_or("`-- SERVER ARG..` is missing")?;
            if option == "--" {
                break;
            }
            let option = text(option)?;
            let value = words.next().ok_or(format!("{option} wants a value"))?;
            match option.as_str() {
                "--log" => log = Some(PathBuf::from(value)),
                "--on" => method = Some(text(value)?),
                "--nth" => nth = parse_nth(&text(value)?)?,
                "--fault" => {
                    let fault = parse_fault(&text(value)?)?;
                    let method = method.clone().ok_or("--on METHOD is missing before --fault")?;
                    plans.push(Plan { method, nth, fault });
                }
                _ => return Err(format!("no such option: {option}")),
            }
        }
        if method.is_some() && plans.is_empty() {
            return Err("--on and --fault go together".into());
        }
        Ok(Options {
            log: log.ok_or("--log FILE is missing")?,
            plans,
            program: words.next().ok_or("no server after `--`")?,
            arguments: words.collect(),
        })
    }
}

fn parse_nth(text: &str) -> Result<Nth, String> {
    match text {
        "every" => Ok(Nth::Every),
        _ => number(text).map(Nth::Only),
    }
}

fn parse_fault(text: &str) -> Result<Fault, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "kill-before" => Ok(Fault::KillBefore),
        "kill-after-answer-read" => Ok(Fault::KillAfterAnswerRead),
        "close-after-request" => Ok(Fault::CloseAfterRequest),
        "drop-answer" => Ok(Fault::DropAnswer),
        "cut-answer" => number(value).map(Fault::CutAnswer),
        "delay" => number(value).map(|ms| Fault::Delay(Duration::from_millis(ms))),
        "duplicate-answer" => Ok(Fault::DuplicateAnswer),
        "garbage" => Ok(Fault::Garbage),
        _ => Err(format!("no such fault: {text}")),
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("not a number: {text:?}"))
}

fn text(word: OsString) -> Result<String, String> {
    word.into_string().map_err(|word| format!("not UTF-8: {}", word.display()))
}
