//! The contract check, on the component that was built: a quick one, in both of its forms, and its page in
//! a browser.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use host_tests::check::{Check, Report};
use host_tests::{COMPONENT, HTTP_CLIENT};
use serde_json::Value;

/// One check for all tests: it takes a while.
fn report() -> &'static Report {
    static REPORT: OnceLock<Report> = OnceLock::new();
    REPORT.get_or_init(|| {
        Check::of(COMPONENT).over_http(HTTP_CLIENT).quick().run(&|_| {}).expect("the component runs")
    })
}

fn noreplay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_noreplay")).args(arguments).output().expect("the command runs")
}

#[test]
fn the_built_component_keeps_every_promise() {
    let report = report();
    println!("{} placements, {} steps in {:?}", report.placements, report.steps, report.took);
    for broken in &report.broken {
        println!("\n{} in: {}\n  {}", broken.promise, broken.scenario, broken.sequence.join("\n  "));
    }
    assert!(report.placements >= 10_000, "{}", report.placements);
    assert!(report.steps >= 20_000, "{}", report.steps);
    assert!(report.broken.is_empty(), "{} promises are broken", report.broken.len());
}

#[test]
fn the_matrix_tells_of_every_scenario_and_of_every_verdict() {
    let cells = &report().cells;
    let cell = |scenario: &str, fault: &str| &cells[&(scenario.to_owned(), fault.to_owned())];
    let lost = cell("one call", "answer lost");
    assert!(lost.verdicts.contains_key("unknown-outcome(transport)"), "{lost:?}");
    assert!(lost.sequence.iter().any(|line| line.contains("EXECUTES call 1")), "{lost:?}");
    let refused = cell("one call", "not sent: other");
    assert!(refused.verdicts.contains_key("ok"), "{refused:?}");
    assert!(cell("one call", "isError").verdicts.contains_key("tool-error"));
    // The transport's own fault, told as such.
    assert_eq!(cell("one call", "delivered twice").effects, 2);
}

/// It says in one line what is wrong with a file that is no component, and that it is not the contract.
#[test]
fn what_is_no_component_is_no_broken_promise() {
    let output = noreplay(&["check", "--component", "Cargo.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("noreplay: cannot compile the component"), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn the_command_prints_json() {
    let output = noreplay(&["check", "--quick", "--steps", "2000", "--seed", "7", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["seed"], 7);
    assert!(json["placements"].is_u64() && json["steps"].is_u64() && json["seconds"].is_u64());
    let broken = json["broken"].as_array().expect("a list");
    assert_eq!(output.status.code(), Some(i32::from(!broken.is_empty())));
}

#[test]
fn the_page_needs_nothing_beside_it() {
    let page = report().html();
    for foreign in ["http://", "https://", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.len() < 5 << 20, "{} bytes", page.len());
}

/// In a browser, its matrix is there, and a cell opens by its address.
#[test]
fn the_page_opens_in_a_browser() {
    let Some(browser) = browser() else {
        assert!(std::env::var_os("CI").is_none(), "a browser is missing: install chromium");
        println!("SKIPPED: the page was not opened, because chromium is not installed");
        return;
    };
    let directory = tempfile::tempdir().expect("there is room");
    let file = directory.path().join("report.html");
    std::fs::write(&file, report().html()).expect("there is room");
    let page = shown(browser, &file, "#one%20call/answer%20lost");
    assert!(page.contains(r#"<h3 id="cell-title">answer lost in: one call</h3>"#), "{page}");
    assert!(page.contains("EXECUTES call 1"), "the sequence is not drawn");
    assert!(page.matches("data-cell=").count() > 1_000, "the matrix is not there");
    // Without an address, no cell is open.
    assert!(!shown(browser, &file, "").contains("EXECUTES call 1</"), "a cell is open");
}

fn browser() -> Option<&'static str> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

/// What the browser shows of a page, once its script has run.
fn shown(browser: &str, file: &Path, fragment: &str) -> String {
    let address = format!("file://{}{fragment}", file.display());
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &address])
        .output()
        .expect("the browser runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
