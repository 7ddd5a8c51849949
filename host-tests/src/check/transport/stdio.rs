//! Peers as child processes: each connection starts one, which plays the script and writes its record into
//! files.
//!
//! It holds a lock for as long as it lives, and whatever it leaves behind holds it too: that is how the check
//! sees who is still there.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::peer::{Deed, Did, Peer, Peers, Received};
use super::script::{Act, Script};

mod player;

pub use player::play;

/// The most that a pipe holds.
const PIPE: u64 = 1 << 20;

/// Child processes that play scripts.
#[derive(Clone, Debug)]
pub struct ChildProcesses {
    player: Vec<OsString>,
}

impl ChildProcesses {
    /// Peers that `player` plays: a program and its arguments, which calls [`play`] with two arguments more.
    pub fn played_by(player: impl IntoIterator<Item = impl Into<OsString>>) -> ChildProcesses {
        ChildProcesses { player: player.into_iter().map(Into::into).collect() }
    }
}

impl Peers for ChildProcesses {
    type Address = Vec<OsString>;
    type Peer = ChildProcess;

    fn start(&self, script: &Script) -> io::Result<ChildProcess> {
        let directory = Directory::new()?;
        let mut command = self.player.clone();
        command.push(directory.0.clone().into());
        command.push(serde_json::to_string(script)?.into());
        Ok(ChildProcess { command, directory })
    }

    fn plays(&self, act: &Act) -> bool {
        !matches!(act, Act::Meet(..))
    }

    fn room(&self) -> u64 {
        PIPE
    }

    fn own_channels(&self) -> bool {
        false
    }
}

/// A peer that is a child process.
#[derive(Debug)]
pub struct ChildProcess {
    command: Vec<OsString>,
    directory: Directory,
}

impl ChildProcess {
    /// The records of all processes, in the order of their starts.
    fn records(&self) -> io::Result<Vec<(PathBuf, Vec<Deed>)>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.directory.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == DEEDS) {
                let deeds = deeds(&fs::read(&path)?)?;
                records.push((path, deeds));
            }
        }
        records.sort_by_key(|(_, deeds)| deeds.first().map(|deed| deed.at));
        Ok(records)
    }
}

impl Peer for ChildProcess {
    type Address = Vec<OsString>;

    fn address(&self) -> Vec<OsString> {
        self.command.clone()
    }

    fn endpoint(&self) -> String {
        // The command says it all.
        String::new()
    }

    fn deeds(&self) -> io::Result<Vec<Deed>> {
        let mut deeds: Vec<_> = self.records()?.into_iter().flat_map(|(_, deeds)| deeds).collect();
        deeds.sort_by_key(|deed| deed.at);
        Ok(deeds)
    }

    fn received(&self) -> io::Result<Vec<Received>> {
        let mut received = Vec::new();
        for (connection, (path, deeds)) in self.records()?.into_iter().enumerate() {
            if deeds.iter().any(|deed| matches!(deed.did, Did::Take(_))) {
                let input = fs::read(path.with_extension(INPUT))?;
                received.extend(input.split_inclusive(|&byte| byte == b'\n').map(|line| {
                    let text = line.strip_suffix(b"\n");
                    Received { connection, ended: text.is_some(), text: text.unwrap_or(line).to_vec() }
                }));
            }
        }
        Ok(received)
    }

    fn remains(&self) -> io::Result<usize> {
        let mut remains = 0;
        for (path, _) in self.records()? {
            match File::open(path)?.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => remains += 1,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(remains)
    }
}

/// What a file of deeds is called.
const DEEDS: &str = "deeds";

/// What a file of what was received is called.
const INPUT: &str = "input";

/// The deeds in a record. The last line may still be in the writing.
fn deeds(record: &[u8]) -> io::Result<Vec<Deed>> {
    let lines = record.split_inclusive(|&byte| byte == b'\n').filter(|line| line.ends_with(b"\n"));
    Ok(lines.map(serde_json::from_slice).collect::<Result<_, _>>()?)
}

/// A directory of our own, deleted when this is dropped.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn new() -> io::Result<Directory> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let name =
                format!("noreplay-check-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                // Left behind by another process of our number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Directory(path)),
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // What cannot be deleted lies among temporary files.
        let _ = fs::remove_dir_all(Path::new(&self.0));
    }
}
