//! Builds components from changed sources: a copy of the package, always in the same place, so that
//! each build only compiles what its change concerns.

#[path = "../../build/component.rs"]
mod component;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// The component's profile, less what takes long and what it is not judged by here.
const PROFILE: &str = "planted";
const SETTINGS: [&str; 5] =
    ["inherits='component'", "opt-level=1", "lto=false", "codegen-units=16", "incremental=true"];

/// The copy, and what belongs there.
pub(crate) struct Workshop {
    package: PathBuf,
    target_dir: PathBuf,
    sources: BTreeMap<String, String>,
}

impl Workshop {
    /// Takes the sources as they are now.
    pub(crate) fn open() -> Result<Workshop> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted");
        let mut sources = BTreeMap::new();
        for part in ["Cargo.toml", "Cargo.lock", "src", "wit"] {
            collect(&root, Path::new(part), &mut sources)?;
        }
        // The workspace's other members stay behind.
        let manifest = sources.get_mut("Cargo.toml").context("no manifest")?;
        let lines = manifest.lines().filter(|line| !line.starts_with("members = "));
        *manifest = lines.collect::<Vec<_>>().join("\n");
        Ok(Workshop { package: folder.join("package"), target_dir: folder.join("target"), sources })
    }

    /// Builds the component from sources to which `change` was done.
    pub(crate) fn build(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, String>) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let mut sources = self.sources.clone();
        change(&mut sources)?;
        for (path, text) in sources {
            write(&self.package.join(path), &text)?;
        }
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let linker = Path::new(env!("NOREPLAY_LINKER"));
        let (package, target_dir) = (&self.package, &self.target_dir);
        let mut build = component::build(&cargo, linker, "noreplay", package, target_dir, PROFILE);
        for setting in SETTINGS {
            build.arg("--config").arg(format!("profile.{PROFILE}.{setting}"));
        }
        let output = build.arg("--offline").output()?;
        ensure!(output.status.success(), "it does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
        Ok(fs::read(component::file("noreplay", target_dir, PROFILE))?)
    }
}

/// Reads a file or a folder of the package.
fn collect(root: &Path, part: &Path, sources: &mut BTreeMap<String, String>) -> Result<()> {
    let path = root.join(part);
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(root, &part.join(entry?.file_name()), sources)?;
        }
    } else {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        sources.insert(part.to_string_lossy().into_owned(), text);
    }
    Ok(())
}

/// Writes a file that is not so already: its time tells cargo that it changed.
fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    fs::create_dir_all(path.parent().context("no folder")?)?;
    Ok(fs::write(path, text)?)
}
