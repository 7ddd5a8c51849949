//! The check of a transport, over HTTP: the component breaks no duty, nor does one that is written here by hand,
//! and each fault that is planted into that is caught by the duty that it breaks.

mod by_hand;
mod events;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use host_tests::check::transport::http::Servers;
use host_tests::check::transport::{Check, Duty, Report};
use serde_json::Value;

use crate::by_hand::{ByHand, Fault};

/// Runs the cases whose names hold `part`.
async fn report(fault: Option<Fault>, part: &'static str) -> Report {
    let check = Check::of(Servers, move |url| ByHand::to(&url, fault)).steps(320).seed(7);
    let check = match fault {
        // What hangs is to be found soon.
        Some(_) => check.patience(Duration::from_secs(2)),
        None => check,
    };
    check.only(move |case| case.name.contains(part)).run(&|_| {}).await.expect("the peers play")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_transport_breaks_no_duty() {
    let report = report(None, "").await;
    for broken in &report.broken {
        println!("{} in: {}\n  {}", broken.duty, broken.case, broken.sequence.join("\n  "));
    }
    assert!(report.broken.is_empty());
    assert!(report.cases.len() > 80, "{}", report.cases.len());
}

#[test]
fn the_component_breaks_no_duty() {
    let arguments = ["check", "--transport", "http", "--steps", "640", "--seed", "7", "--json"];
    let output = Command::new(env!("CARGO_BIN_EXE_noreplay")).args(arguments).output().expect("it runs");
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(json["broken"], Value::Array(Vec::new()), "{json:#}");
    assert!(json["placements"].as_u64().is_some_and(|placements| placements > 80), "{json}");
    assert_eq!(output.status.code(), Some(0));
}

/// Each fault, the cases that are run, and the duty that they show to be broken.
const CAUGHT: [(Fault, &str, Duty); 14] = [
    (Fault::FollowsRedirects, "redirects with 307", Duty::SentOnce),
    (Fault::SendsAgainAfterALoss, "resets before the response", Duty::SentOnce),
    (Fault::SendsAgainWhenUnavailable, "refuses with 503", Duty::SentOnce),
    (Fault::SaysNotSentAfterSending, "closes before the response", Duty::NotSent),
    (Fault::SaysTruncatedAfterSending, "closes before the response", Duty::Truncated),
    (Fault::SaysAcceptedWithoutAResponse, "closes before the response", Duty::HandedOver),
    (Fault::HidesRefusals, "refuses with 429", Duty::Refused),
    (Fault::MakesRefusalsUp, "answers as JSON, small", Duty::Refused),
    (Fault::MistakesAcceptance, "answers as JSON, small", Duty::Refused),
    (Fault::SwallowsLosses, "accepts with 202", Duty::LossTold),
    (Fault::SwallowsLosses, "closes inside the answer (Json)", Duty::LossTold),
    (Fault::ForgetsTheChannel, "answers in events (Lf), small", Duty::Attributed),
    (Fault::WaitsForEachAnswer, "never answers, another is answered", Duty::NoHang),
    (Fault::KeepsWhatIsDropped, "never answers, the connection is dropped", Duty::NothingLeft),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_planted_fault_is_caught_by_the_duty_that_it_breaks() {
    let runs = CAUGHT.map(|(fault, part, duty)| async move {
        let report = report(Some(fault), part).await;
        assert!(!report.cases.is_empty(), "{part}");
        let found: BTreeSet<_> = report.broken.iter().map(|broken| broken.duty).collect();
        (fault, duty, found)
    });
    let runs = futures::future::join_all(runs).await;
    let missed: Vec<_> =
        runs.into_iter().filter(|(_, duty, found)| *found != BTreeSet::from([*duty])).collect();
    assert!(missed.is_empty(), "fault, what it breaks, what was found: {missed:#?}");
}
