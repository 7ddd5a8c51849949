//! What a check found, as a page for people: one file that needs nothing beside it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::fault::Fault;
use super::http;
use super::moment::Kind;
use super::{Promise, Report, catalogue, scenario};

/// The page without its data.
const PAGE: &str = include_str!("report.html");

/// Where the data goes.
const PLACE: &str = "{{DATA}}";

/// What the page shows. Whatever stands in it often is told by its number.
#[derive(Serialize)]
struct Data<'a> {
    placements: u64,
    steps: u64,
    seconds: u64,
    seed: u64,
    component: Component<'a>,
    promises: Vec<(&'static str, &'static str)>,
    scenarios: Vec<&'static str>,
    /// The faults, by name.
    names: Vec<&'a str>,
    /// The faults of each part of the matrix.
    faults: Vec<(&'static str, Vec<usize>)>,
    cells: Vec<CellData<'a>>,
    broken: Vec<BrokenData<'a>>,
    /// The lines of all sequences.
    lines: Vec<&'a str>,
}

#[derive(Serialize)]
struct Component<'a> {
    bytes: usize,
    sha256: &'a str,
}

#[derive(Serialize)]
struct CellData<'a> {
    scenario: usize,
    fault: usize,
    placements: u64,
    verdicts: &'a BTreeMap<String, u64>,
    effects: u64,
    broken: Vec<&'static str>,
    sequence: Vec<usize>,
}

#[derive(Serialize)]
struct BrokenData<'a> {
    promise: &'static str,
    scenario: &'a str,
    why: &'a str,
    sequence: Vec<usize>,
}

/// Names, each with its number.
#[derive(Default)]
struct Numbered<'a> {
    names: Vec<&'a str>,
    numbers: HashMap<&'a str, usize>,
}

impl<'a> Numbered<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

impl Report {
    /// The page.
    pub fn html(&self) -> String {
        // `</script>` in a text would end the data.
        let data =
            serde_json::to_string(&self.data()).unwrap_or_else(|_| "null".to_owned()).replace("</", "<\\/");
        PAGE.replacen(PLACE, &data, 1)
    }

    fn data(&self) -> Data<'_> {
        let names = scenario::scenarios().into_iter().map(|scenario| scenario.name);
        let scenarios: Vec<_> = names.chain(http::scenarios()).collect();
        let (mut names, mut lines) = (Numbered::default(), Numbered::default());
        let mut cells = Vec::new();
        for ((scenario, fault), cell) in &self.cells {
            let Some(scenario) = scenarios.iter().position(|name| name == scenario) else { continue };
            cells.push(CellData {
                scenario,
                fault: names.number(fault),
                placements: cell.placements,
                verdicts: &cell.verdicts,
                effects: cell.effects,
                broken: cell.broken.iter().map(|promise| promise.name()).collect(),
                sequence: cell.sequence.iter().map(|line| lines.number(line)).collect(),
            });
        }
        let broken = self.broken.iter().map(|broken| BrokenData {
            promise: broken.promise.name(),
            scenario: &broken.scenario,
            why: &broken.why,
            sequence: broken.sequence.iter().map(|line| lines.number(line)).collect(),
        });
        let broken = broken.collect();
        Data {
            placements: self.placements,
            steps: self.steps,
            seconds: self.took.as_secs(),
            seed: self.seed,
            component: Component { bytes: self.bytes, sha256: &self.sha256 },
            promises: Promise::ALL.map(|promise| (promise.name(), promise.words())).into(),
            scenarios,
            faults: parts(&names),
            names: names.names,
            cells,
            broken,
            lines: lines.names,
        }
    }
}

/// The parts of the matrix: by the operation that fails.
fn parts(names: &Numbered<'_>) -> Vec<(&'static str, Vec<usize>)> {
    let call = Kind::Call(1);
    let (refusals, sends): (Vec<_>, Vec<_>) = catalogue::sends(&call)
        .into_iter()
        .map(|fault| fault.to_string())
        .partition(|name| name.starts_with("refused"));
    let mut refusals = refusals;
    refusals.extend(words(catalogue::table()));
    refusals.sort();
    refusals.dedup();
    let parts = [
        ("nothing fails", vec!["no fault".to_owned()]),
        ("connecting", words(catalogue::connects())),
        ("handing over", sends),
        ("answering", words(catalogue::answers(&call))),
        ("two at once", vec![super::placement::PAIRS.to_owned()]),
        ("refusing", refusals),
        ("over HTTP", http::faults()),
    ];
    let numbered = |faults: Vec<String>| {
        faults.iter().filter_map(|fault| names.numbers.get(fault.as_str()).copied()).collect::<Vec<_>>()
    };
    parts
        .map(|(part, faults)| (part, numbered(faults)))
        .into_iter()
        .filter(|(_, faults)| !faults.is_empty())
        .collect()
}

fn words(faults: Vec<Fault>) -> Vec<String> {
    faults.iter().map(ToString::to_string).collect()
}
