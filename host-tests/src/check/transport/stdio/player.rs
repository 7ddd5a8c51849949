//! The child's side: plays a script on its standard input and output, and writes down what it does.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _, stdin, stdout};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use super::{DEEDS, INPUT};
use crate::check::transport::peer::{Deed, Did, Stamp};
use crate::check::transport::script::{Act, Manner, Script};
use crate::check::transport::text::Text;

/// How much is read or written at a time, in bytes.
const CHUNK: usize = 64 << 10;

/// What a child lives for: longer than any check waits.
const CHILD: [&str; 2] = ["sleep", "60"];

/// Plays a peer: what the program given to [`ChildProcesses`](super::ChildProcesses) does with the last two of
/// its arguments. It is to exit with the status that this returns.
///
/// # Errors
///
/// The arguments are not the check's, or the record cannot be written.
pub fn play(directory: impl Into<PathBuf>, script: impl Into<OsString>) -> io::Result<u8> {
    let script: Script = serde_json::from_slice(script.into().as_encoded_bytes())?;
    let directory = directory.into();
    if !directory.exists() {
        // The check went on before this process began: nobody looks any more.
        return Ok(1);
    }
    let mut player = Player::new(&directory)?;
    for (index, act) in script.0.iter().enumerate() {
        match player.act(index, act) {
            Ok(None) => {}
            Ok(Some(status)) => return player.exit(status),
            Err(Failure::Record(error)) => return Err(error),
            // Nobody listens any more, or somebody listens to nothing.
            Err(Failure::Peer(error)) => {
                player.did(Did::Fail(error.to_string()))?;
                return player.exit(1);
            }
        }
    }
    player.exit(0)
}

/// Why an act cannot be done.
enum Failure {
    /// The record cannot be written.
    Record(io::Error),
    /// The other side does not take part.
    Peer(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Record(error)
    }
}

struct Player {
    /// Where deeds are written. It is locked.
    deeds: File,
    /// Where everything is written that is read.
    record: File,
    input: Option<File>,
    output: Option<File>,
    /// How many messages came whole, and how many of them were wanted.
    came: u64,
    wanted: u64,
}

impl Player {
    fn new(directory: &Path) -> io::Result<Player> {
        let path = directory.join(std::process::id().to_string());
        let deeds = File::create_new(path.with_extension(DEEDS))?;
        deeds.lock()?;
        let record = File::create_new(path.with_extension(INPUT))?;
        // No buffers, and nothing else that holds them open.
        let input = File::from(stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(stdout().as_fd().try_clone_to_owned()?);
        let nowhere = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nowhere)?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        let mut player =
            Player { deeds, record, input: Some(input), output: Some(output), came: 0, wanted: 0 };
        player.did(Did::Start)?;
        Ok(player)
    }

    fn did(&mut self, did: Did) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Deed { at: Stamp::now(), did })?;
        line.push(b'\n');
        self.deeds.write_all(&line)
    }

    fn exit(mut self, status: u8) -> io::Result<u8> {
        self.did(Did::Exit(format!("exit status: {status}")))?;
        Ok(status)
    }

    /// Does one act. Some status, if it is to exit with it.
    fn act(&mut self, index: usize, act: &Act) -> Result<Option<u8>, Failure> {
        match act {
            Act::Take(count) => {
                self.wanted += count;
                while self.came < self.wanted && self.take(CHUNK)? > 0 {}
            }
            Act::TakeBytes(count) => self.take_bytes(*count, false)?,
            Act::Snatch(count) => self.take_bytes(*count, true)?,
            Act::TakeAll => while self.take(CHUNK)? > 0 {},
            Act::Say(text, manner) => {
                self.say(*text, *manner)?;
                self.did(Did::Say(index, 1))?;
            }
            Act::SayMany(first, count, shape) => {
                for said in 0..*count {
                    self.say(Text { id: first + said, shape: *shape }, Manner::Plain)?;
                    self.did(Did::Say(index, said + 1))?;
                }
            }
            Act::Cut(text, bytes) => {
                let answer = text.answer();
                self.write(&answer[..answer.len().min(*bytes)])?;
                self.did(Did::Say(index, 1))?;
            }
            Act::Babble(bytes) => {
                let mut left = usize::try_from(*bytes).unwrap_or(usize::MAX);
                while left > 0 {
                    let some = left.min(CHUNK);
                    self.write(&[b'x'; CHUNK][..some])?;
                    left -= some;
                }
                self.did(Did::Say(index, 1))?;
            }
            Act::Pause(time) => sleep(Duration::from_millis(*time)),
            Act::StopReading => {
                self.input = None;
                // It can be told only once it is so: before, what is written still gets in.
                self.did(Did::StopReading)?;
            }
            Act::StopWriting => {
                self.did(Did::StopWriting)?;
                self.output = None;
            }
            Act::LeaveChild => self.leave_child()?,
            Act::Exit(status) => return Ok(Some(*status)),
            Act::Crash => {
                self.did(Did::Exit("signal: 9".to_owned()))?;
                kill_process(getpid(), Signal::KILL).map_err(io::Error::from)?;
            }
            Act::Linger => loop {
                std::thread::park();
            },
            // Not for these peers.
            Act::Meet(..) => {}
        }
        Ok(None)
    }

    /// Reads so many bytes, or all that comes. `last`: nothing is read any more.
    fn take_bytes(&mut self, count: u64, last: bool) -> Result<(), Failure> {
        let mut left = usize::try_from(count).unwrap_or(usize::MAX);
        while left > 0 {
            match self.read(left.min(CHUNK), last.then_some(left))? {
                0 => break,
                taken => left -= taken,
            }
        }
        if last {
            self.input = None;
            self.did(Did::StopReading)?;
        }
        Ok(())
    }

    /// Reads at most so many bytes. None come at the end.
    fn take(&mut self, most: usize) -> Result<usize, Failure> {
        self.read(most, None)
    }

    /// The same. Once it has `enough`, it stops reading before it does anything else: nobody can write more
    /// meanwhile.
    fn read(&mut self, most: usize, enough: Option<usize>) -> Result<usize, Failure> {
        let Some(input) = &mut self.input else { return Ok(0) };
        let mut buffer = [0; CHUNK];
        let taken = loop {
            match input.read(&mut buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.map_err(Failure::Peer)?,
            }
        };
        if enough.is_some_and(|enough| taken >= enough) {
            self.input = None;
        }
        let bytes = &buffer[..taken];
        self.came += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.record.write_all(bytes)?;
        let did = if taken == 0 { Did::ReadEnd } else { Did::Take(taken as u64) };
        self.did(did)?;
        Ok(taken)
    }

    fn say(&mut self, text: Text, manner: Manner) -> Result<(), Failure> {
        let mut line = text.answer();
        match manner {
            Manner::Plain | Manner::Pieces(_) => line.push(b'\n'),
            Manner::CrLf => line.extend(b"\r\n"),
            Manner::Bom => {
                line.splice(0..0, Manner::BOM.iter().copied());
                line.push(b'\n');
            }
            Manner::Unended => {}
        }
        let Manner::Pieces(pieces) = manner else { return self.write(&line) };
        for piece in line.chunks(line.len().div_ceil(pieces.max(1))) {
            self.write(piece)?;
            // So that it is read by itself.
            sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.output {
            Some(output) => output.write_all(bytes).map_err(Failure::Peer),
            None => Ok(()),
        }
    }

    /// The child has the lock as its input: as long as it lives, the lock is held.
    fn leave_child(&mut self) -> io::Result<()> {
        let output = match &self.output {
            Some(output) => Stdio::from(output.try_clone()?),
            None => Stdio::null(),
        };
        let lock = Stdio::from(self.deeds.try_clone()?);
        Command::new(CHILD[0]).args(&CHILD[1..]).stdin(lock).stdout(output).spawn()?;
        Ok(())
    }
}
