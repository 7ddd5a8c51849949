//! `noreplay session`: one session, driven by JSON lines.
//!
//! Commands run as they are read, and overlap; each answer is one line, printed when it is known. A
//! command that is wrong is answered with `{"tag":..,"error":".."}`; the session goes on, and the exit
//! status tells in the end.

use std::time::Duration;

use clap::Args;
use host_tests::verdict::{self, Object};
use host_tests::{ClientError, NotExecuted, Outcome, Query, Session as Handle, ToolCall};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::task::JoinSet;

use crate::advice::Advice;
use crate::target::Target;
use crate::{Exit, Failure, print};

mod command;
mod events;
mod query;
mod tags;

use command::{Command, Wrong};
use tags::{Answer, Tags};

/// The arguments of `session`.
#[derive(Args)]
#[command(after_help = COMMANDS)]
pub(crate) struct Session {
    /// List the tools first, and warn of answers that do not fit their tools' outputSchema. A list by the
    /// command "tools" does the same from then on
    #[arg(long)]
    check_output: bool,

    // Last, since its heading goes on to the end.
    #[command(flatten)]
    target: Target,
}

const COMMANDS: &str = r#"Commands, one a line:
  {"do":"call","tag":"a","tool":"pay","arguments":{"amount":5},"meta":{},"timeout-ms":2000}
                                also "progress":true, and "task-ttl-ms":60000 to ask for a task
  {"do":"await","tags":["a"]}   reads no further until these are answered
  {"do":"sleep","ms":50}        reads no further for this long
  {"do":"cancel","tag":"a"}
  {"do":"reconnect","tag":"r"}
  {"do":"reconcile","tag":"b","of":"a","timeout-ms":1000}
  {"do":"tools","tag":"t"}
  {"do":"read","tag":"d","method":"resources/read","params":{"uri":"file:///notes.txt"}}
                                also prompts/get, completion/complete, the lists of resources, their templates
                                and prompts, ping, logging/setLevel, and subscriptions/listen for news
  {"do":"close","tag":"c"}
The end of input awaits what is in flight, then closes."#;

impl Session {
    pub(crate) async fn run(self) -> Result<Exit, Failure> {
        let session = self.target.session().await?;
        let tags = Tags::default();
        let advice = Advice::default();
        let events = tokio::spawn(events::print_all(session.clone(), tags.clone(), advice.clone()));
        if self.check_output {
            advice.list(&session).await?;
        }
        let mut driver = Driver { session, tags, advice, running: JoinSet::new(), exit: Exit::Ok };
        let driven = driver.read().await;
        // What was started is finished, also where nothing more could be read.
        let finished = driver.finish().await;
        let told = events.await;
        driven?;
        finished?;
        told??;
        Ok(driver.exit)
    }
}

struct Driver {
    session: Handle,
    tags: Tags,
    advice: Advice,
    /// What was started and is not answered.
    running: JoinSet<Result<(), Failure>>,
    exit: Exit,
}

impl Driver {
    /// Reads commands and starts them, until none is left.
    async fn read(&mut self) -> Result<(), Failure> {
        let mut input = BufReader::new(tokio::io::stdin());
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.read_until(b'\n', &mut line).await;
            if read.map_err(Failure::Input)? == 0 {
                return Ok(());
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let done = match Command::read(&line) {
                Ok(command) => self.start(command).await?,
                Err(wrong) => Err(wrong),
            };
            if let Err(wrong) = done {
                self.exit = Exit::Failure;
                print(&wrong.line())?;
            }
            // Something that was started may have failed: a reader that went away, a trap.
            while let Some(ended) = self.running.try_join_next() {
                ended??;
            }
        }
    }

    /// Awaits what is in flight, and closes.
    async fn finish(&mut self) -> Result<(), Failure> {
        let mut result = Ok(());
        while let Some(ended) = self.running.join_next().await {
            result = result.and(ended.map_err(Failure::from).flatten());
        }
        self.session.close().await?;
        result
    }

    async fn start(&mut self, command: Command) -> Result<Result<(), Wrong>, Failure> {
        Ok(match command {
            Command::Call { tag, call } => self.call(tag, call),
            Command::Reconnect { tag } => self.reconnect(tag),
            Command::Reconcile { tag, of, timeout } => self.reconcile(tag, &of, timeout),
            Command::Tools { tag } => self.tools(tag),
            Command::Read { tag, what } => self.ask(tag, what),
            Command::Close { tag } => self.close(tag),
            Command::Cancel { tag } => self.cancel(tag).await?,
            Command::Await { tags } => self.wait(&tags).await,
            Command::Sleep { time } => {
                tokio::time::sleep(time).await;
                Ok(())
            }
        })
    }

    fn call(&mut self, tag: String, call: ToolCall) -> Result<(), Wrong> {
        self.tags.take(&tag)?;
        let (advice, tool) = (self.advice.clone(), call.name.clone());
        let answer = self.session.call_tool(call);
        self.answer(tag, answer, move |mut verdict| {
            if let Ok(outcome) = &mut verdict {
                advice.on(&tool, outcome);
            }
            (verdict::call(&verdict), Answer::Call(verdict))
        });
        Ok(())
    }

    fn reconnect(&mut self, tag: String) -> Result<(), Wrong> {
        self.tags.take(&tag)?;
        let answer = self.session.reconnect();
        self.answer(tag, answer, |result| (verdict::reconnected(&result), Answer::Other));
        Ok(())
    }

    fn tools(&mut self, tag: String) -> Result<(), Wrong> {
        self.tags.take(&tag)?;
        let answer = self.session.list_tools();
        let advice = self.advice.clone();
        self.answer(tag, answer, move |result| {
            advice.learn(&result);
            (verdict::tools(&result), Answer::Other)
        });
        Ok(())
    }

    fn ask(&mut self, tag: String, what: Query) -> Result<(), Wrong> {
        self.tags.take(&tag)?;
        let answer = self.session.read(what);
        self.answer(tag, answer, |result| (verdict::read(&result), Answer::Other));
        Ok(())
    }

    fn close(&mut self, tag: String) -> Result<(), Wrong> {
        self.tags.take(&tag)?;
        let answer = self.session.close();
        self.answer(tag, answer, |()| (Object::new().text("verdict", "closed"), Answer::Other));
        Ok(())
    }

    /// Learns what became of the call `of`, once it has a verdict at all.
    fn reconcile(&mut self, tag: String, of: &str, timeout: Duration) -> Result<(), Wrong> {
        let call = self.tags.answer(of).ok_or_else(|| Wrong::no_call(&tag, of))?;
        self.tags.take(&tag)?;
        let answer = learn(self.session.clone(), self.tags.clone(), self.advice.clone(), call, timeout);
        self.answer(tag, answer, |known| {
            let line = match known {
                Some(verdict) => verdict::call(&verdict),
                None => verdict::reconciled(None),
            };
            (line, Answer::Other)
        });
        Ok(())
    }

    /// Cancels a call. Its own line tells what became of it.
    async fn cancel(&mut self, tag: String) -> Result<Result<(), Wrong>, Failure> {
        if !self.tags.is_taken(&tag) {
            return Ok(Err(Wrong::no_call(&tag, &tag)));
        }
        let pending = self.session.pending().await?;
        let call = pending.into_iter().find(|pending| pending.key.as_deref() == Some(&tag));
        // A call that has its verdict is left alone.
        if let Some(call) = call {
            self.session.cancel(call.call).await?;
        }
        Ok(Ok(()))
    }

    async fn wait(&mut self, tags: &[String]) -> Result<(), Wrong> {
        if let Some(unknown) = tags.iter().find(|tag| !self.tags.is_taken(tag)) {
            return Err(Wrong::no_tag(unknown));
        }
        for tag in tags {
            if let Some(answer) = self.tags.answer(tag) {
                answer.await;
            }
        }
        Ok(())
    }

    /// Prints what `answer` brings under `tag`, and remembers it.
    fn answer<T>(
        &mut self,
        tag: String,
        answer: impl Future<Output = Result<T, ClientError>> + Send + 'static,
        read: impl FnOnce(T) -> (Object, Answer) + Send + 'static,
    ) {
        let tags = self.tags.clone();
        self.running.spawn(async move {
            let answered = answer.await;
            let line = Object::new().text("tag", &tag);
            match answered {
                Ok(answer) => {
                    let (object, answer) = read(answer);
                    let printed = print(&line.and(object).to_string());
                    tags.answered(&tag, answer);
                    printed
                }
                Err(error) => {
                    tags.gone(&tag);
                    print(&line.text("error", &error.to_string()).to_string())?;
                    Err(error.into())
                }
            }
        });
    }
}

/// What is known of a call once it has a verdict, and `timeout` more has passed if that is unknown.
async fn learn(
    session: Handle,
    tags: Tags,
    advice: Advice,
    call: impl Future<Output = Option<Answer>>,
    timeout: Duration,
) -> Result<Option<Result<Outcome, NotExecuted>>, ClientError> {
    let verdict = match call.await {
        Some(Answer::Call(verdict)) => verdict,
        Some(Answer::Other) | None => return Ok(None),
    };
    let Ok(Outcome::UnknownOutcome(unknown)) = &verdict else {
        return Ok(Some(verdict));
    };
    if let Some(mut known) = session.reconcile(unknown.call, timeout).await? {
        advice.on_late(unknown.call, &mut known);
        tags.learn(unknown.call, known);
    }
    // The event of a late answer may have brought it meanwhile.
    Ok(tags.learned(unknown.call).map(Ok))
}
