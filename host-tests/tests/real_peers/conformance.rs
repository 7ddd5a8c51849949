//! MCP's own conformance suite against the `noreplay` command. It is installed by `peers/install`.
//!
//! What cannot pass stands in `peers/conformance/expected-failures`, with the reason: once it passes, its test
//! fails until the entry is taken out.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::servers::{missing, peers};

/// One test for each scenario and revision.
macro_rules! scenarios {
    ($($name:ident: $scenario:literal $revision:literal;)+) => {
        $(#[test]
        fn $name() {
            scenario($scenario, $revision);
        })+

        const RUN: &[&str] = &[$($scenario),+];
    };
}

scenarios! {
    initialize_2025_06_18: "initialize" "2025-06-18";
    initialize_2025_11_25: "initialize" "2025-11-25";
    tools_call_2025_06_18: "tools_call" "2025-06-18";
    tools_call_2025_11_25: "tools_call" "2025-11-25";
    tools_call_2026_07_28: "tools_call" "2026-07-28";
    sse_retry: "sse-retry" "2025-11-25";
    elicitation_defaults: "elicitation-sep1034-client-defaults" "2025-11-25";
    schema_is_preserved_2025_11_25: "json-schema-2020-12-preservation" "2025-11-25";
    schema_is_preserved_2026_07_28: "json-schema-2020-12-preservation" "2026-07-28";
    schema_is_not_dereferenced: "json-schema-ref-no-deref" "2026-07-28";
    request_metadata: "request-metadata" "2026-07-28";
    request_state: "sep-2322-client-request-state" "2026-07-28";
    standard_headers: "http-standard-headers" "2026-07-28";
    custom_headers: "http-custom-headers" "2026-07-28";
    invalid_tool_headers: "http-invalid-tool-headers" "2026-07-28";
}

/// Scenarios that are no matter of this client's, by how their names begin: OAuth is its host's, who hands it
/// credentials, and skills are an extension that it does not have.
const OTHERS: [&str; 2] = ["auth/", "sep-2640-client-"];

/// How often one is tried whose clock is the wall's: it wants an answer within 200 ms.
const TRIES_OF_TIMED: usize = 3;

fn scenario(scenario: &str, revision: &str) {
    let Some(suite) = suite() else {
        return missing("conformance suite", scenario);
    };
    let tries = if scenario == "sse-retry" { TRIES_OF_TIMED } else { 1 };
    let expected = expected_failures(scenario, revision);
    for this in 1..=tries {
        let output = run(&suite, scenario, revision, expected.as_deref());
        let said = said(&output);
        // It says so with a status of 0.
        assert!(!said.contains("SKIPPED: scenario"), "{said}");
        if output.status.success() {
            return;
        }
        assert!(this < tries, "{scenario} at {revision} ended with {}:\n{said}", output.status);
    }
}

fn run(suite: &[PathBuf; 2], scenario: &str, revision: &str, expected: Option<&Path>) -> Output {
    let noreplay = env!("CARGO_BIN_EXE_noreplay");
    assert!(!noreplay.contains(' '), "the suite splits its command at spaces: {noreplay}");
    let mut command = Command::new(&suite[0]);
    command.arg(&suite[1]).args(["client", "--command", &format!("{noreplay} conformance")]);
    command.args(["--scenario", scenario, "--spec-version", revision]);
    // With it the suite does not look at the client's exit status any more.
    if let Some(expected) = expected {
        command.arg("--expected-failures").arg(expected);
    }
    command.output().expect("the suite runs")
}

/// The file in which the scenario's failure is expected, if it is.
fn expected_failures(scenario: &str, revision: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/conformance/expected-failures");
    let file = folder.join(revision).with_extension("yml");
    let entries = fs::read_to_string(&file).unwrap_or_default();
    let of = |line: &str| {
        let entry = line.trim().strip_prefix("- ")?;
        Some(entry.split(':').next() == Some(scenario))
    };
    entries.lines().filter_map(of).any(|is| is).then_some(file)
}

/// Node.js and the suite, or nothing where it is missing.
fn suite() -> Option<[PathBuf; 2]> {
    let files = ["node", "conformance"].map(|file| peers().join("conformance").join(file));
    files.iter().all(|file| file.exists()).then_some(files)
}

fn said(output: &Output) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A scenario that the suite has and that nobody runs here would be forgotten.
#[test]
fn no_scenario_is_forgotten() {
    let Some(suite) = suite() else {
        return missing("conformance suite", "no_scenario_is_forgotten");
    };
    let output = Command::new(&suite[0]).arg(&suite[1]).arg("list").output().expect("the suite runs");
    let said = said(&output);
    let (_, client) = said.split_once("Client scenarios").expect("its clients' scenarios");
    let client = client.split_once("\n\n").map_or(client, |(client, _)| client);
    let name = |line: &str| Some(line.trim().strip_prefix("- ")?.split(' ').next()?.to_owned());
    let all: BTreeSet<String> = client.lines().filter_map(name).collect();
    let is_other = |name: &str| OTHERS.iter().any(|prefix| name.starts_with(prefix));
    let run: BTreeSet<String> = RUN.iter().map(|name| (*name).to_owned()).collect();
    let here: BTreeSet<String> = all.into_iter().filter(|name| !is_other(name)).collect();
    assert_eq!(here, run);
}
