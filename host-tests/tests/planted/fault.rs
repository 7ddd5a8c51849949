//! One planted fault: a patch to the component's sources under a head that says what it breaks.
//!
//! ```text
//! What the client does wrong, in one sentence.
//! Breaks: P1
//! Elsewhere: which clients are known to do the same, if any
//!
//! --- a/src/..
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result, bail, ensure};
use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};

/// The contract's promises.
const PROMISES: [&str; 10] = ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10"];

/// A planted fault.
pub(crate) struct Fault {
    /// Its name: that of its file.
    pub(crate) name: String,
    /// The promise that it breaks.
    pub(crate) promise: String,
    patch: String,
}

impl Fault {
    /// All that lie in a folder, which holds nothing else.
    pub(crate) fn all(folder: &Path) -> Result<Vec<Fault>> {
        let mut files = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<Vec<_>>>()?;
        files.sort();
        files.iter().map(|file| Fault::read(file).with_context(|| file.display().to_string())).collect()
    }

    fn read(file: &Path) -> Result<Fault> {
        ensure!(file.extension().is_some_and(|extension| extension == "patch"), "it is no patch");
        let name = file.file_stem().context("it has no name")?.to_string_lossy().into_owned();
        let patch = fs::read_to_string(file)?;
        let mut head = patch.lines().take_while(|line| !line.is_empty());
        ensure!(head.next().is_some_and(|line| line.ends_with('.')), "it does not begin with a sentence");
        let promise = head.find_map(|line| line.strip_prefix("Breaks: "));
        let promise = promise.context("it does not say which promise it breaks")?.to_owned();
        ensure!(PROMISES.contains(&promise.as_str()), "there is no promise `{promise}`");
        Ok(Fault { name, promise, patch })
    }

    /// Puts the fault into the sources: texts by their path.
    pub(crate) fn plant(&self, sources: &mut BTreeMap<String, String>) -> Result<()> {
        let mut files = 0;
        for file in PatchSet::parse(&self.patch, ParseOptions::unidiff()) {
            let file = file?;
            let FileOperation::Modify { modified, .. } = file.operation().strip_prefix(1) else {
                bail!("it adds or removes a file");
            };
            let (path, patch) = (modified.as_ref(), file.patch().as_text().context("it is no text")?);
            let text = sources.get_mut(path).with_context(|| format!("there is no {path}"))?;
            *text = diffy::apply(text, patch).with_context(|| format!("it does not fit {path} any more"))?;
            files += 1;
        }
        ensure!(files > 0, "it changes nothing");
        Ok(())
    }
}
