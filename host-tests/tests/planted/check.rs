//! The contract check, as a script runs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// What the check found.
#[derive(Deserialize)]
pub(crate) struct Report {
    pub(crate) broken: Vec<Broken>,
}

/// A broken promise.
#[derive(Deserialize)]
pub(crate) struct Broken {
    pub(crate) promise: String,
    pub(crate) scenario: String,
    pub(crate) sequence: Vec<String>,
}

/// Checks a component, for one promise or for all.
pub(crate) fn check(component: &Path, promise: Option<&str>) -> Result<Report> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_noreplay"));
    command.args(["check", "--quick", "--json", "--component"]).arg(component);
    if let Some(promise) = promise {
        // It stops at the first breach, so that the rare ones may take their time.
        command.args(["--promise", promise, "--steps", "400000"]);
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Report = serde_json::from_str(&text).with_context(|| format!("no report: {text}{stderr}"))?;
    let status = i32::from(!report.broken.is_empty());
    ensure!(output.status.code() == Some(status), "status {}, not {status}: {stderr}", output.status);
    Ok(report)
}
