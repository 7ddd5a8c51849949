//! `noreplay play-peer`: what `noreplay check --transport stdio` starts as the other side.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::exit;

use clap::Args;
use host_tests::check::transport::stdio::play;

use crate::{Exit, Failure};

/// The arguments of `play-peer`.
#[derive(Args)]
pub(crate) struct PlayPeer {
    /// Where its record is written
    directory: PathBuf,

    /// What it does
    script: OsString,
}

impl PlayPeer {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        // A peer's status is its script's.
        exit(play(self.directory, self.script).map_err(Failure::Play)?.into())
    }
}
