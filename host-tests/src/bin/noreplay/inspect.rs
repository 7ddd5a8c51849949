//! `noreplay inspect`: what a component imports, exports and weighs.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use host_tests::COMPONENT;
use host_tests::runtime::{RuntimeError, Surface};
use host_tests::verdict::Object;
use sha2::{Digest as _, Sha256};

use crate::style::{FAINT, styled};
use crate::{Exit, Failure, print};

/// The arguments of `inspect`.
#[derive(Args)]
pub(crate) struct Inspect {
    /// The component [default: the built one]
    #[arg(long, value_name = "FILE")]
    component: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let bytes = match self.component {
            None => COMPONENT.to_vec(),
            Some(path) => fs::read(&path).map_err(|source| RuntimeError::Read { path, source })?,
        };
        let facts = Facts {
            surface: Surface::of_bytes(&bytes)?,
            bytes: bytes.len(),
            gzip_bytes: gzip(&bytes).map_err(Failure::Output)?.len(),
            sha256: sha256(&bytes),
        };
        print(&if self.json { facts.json() } else { facts.text() })?;
        Ok(Exit::Ok)
    }
}

struct Facts {
    surface: Surface,
    bytes: usize,
    gzip_bytes: usize,
    sha256: String,
}

impl Facts {
    fn json(&self) -> String {
        Object::new()
            .value("imports", &self.surface.imports)
            .value("exports", &self.surface.exports)
            .value("bytes", &self.bytes)
            .value("gzip-bytes", &self.gzip_bytes)
            .text("sha256", &self.sha256)
            .to_string()
    }

    fn text(&self) -> String {
        let mut lines = Vec::new();
        for (word, names) in [("imports", &self.surface.imports), ("exports", &self.surface.exports)] {
            let words = std::iter::once(word).chain(std::iter::repeat(""));
            lines.extend(words.zip(names).map(|(word, name)| line(word, name)));
        }
        lines.push(line("size", &format!("{} bytes", self.bytes)));
        lines.push(line("gzip", &format!("{} bytes", self.gzip_bytes)));
        lines.push(line("sha256", &self.sha256));
        lines.join("\n")
    }
}

fn line(word: &str, value: &str) -> String {
    format!("{} {value}", styled(FAINT, &format!("{word:<8}")))
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
