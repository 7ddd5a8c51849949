//! What was tried with which server: every released revision, over every transport, feature by feature, with the
//! component in this process. The README holds the table, which must be this test's own output.
//!
//! What a server does not have stands in `expected`, by name and with what it says then: so a regression of the
//! client's cannot pass for something that is not there.

mod bench;
mod calls;
mod expected;
mod reads;
mod rows;
mod table;

use std::fmt::Write as _;

use futures::stream::{self, StreamExt as _};

use crate::servers::missing;
use bench::Bench;
use expected::{Expected, expected};
use rows::Row;

/// How many rows are tried at once: mostly they wait for something.
const AT_ONCE: usize = 9;

/// What was tried, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// The answer is lost after the effect: unknown, and one effect.
    Lost,
    /// The deadline passes: unknown; the answer comes late and is reconciled.
    Late,
    Ok,
    ToolError,
    /// A quick call overtakes a slow one.
    Overlap,
    Large,
    Cancel,
    /// The server hears of the cancel, and stops.
    Stops,
    Progress,
    /// How much the server logs is said to it.
    Level,
    Log,
    Tools,
    /// Listed, templates too, and read.
    Resources,
    /// Listed and filled in.
    Prompts,
    Complete,
    Ping,
    /// The server tells that a list has changed.
    Changed,
    /// The server tells that a resource has changed.
    Updated,
    /// A task is fetched after the deadline of its call.
    Task,
    /// An answer whose stream broke is fetched, and the call not sent again.
    Resume,
}

impl Feature {
    const ALL: [Feature; 20] = [
        // In this order they are tried: the first two ask for faults of the first calls.
        Feature::Lost,
        Feature::Late,
        Feature::Ok,
        Feature::ToolError,
        Feature::Overlap,
        Feature::Large,
        Feature::Cancel,
        Feature::Stops,
        Feature::Progress,
        Feature::Level,
        Feature::Log,
        Feature::Tools,
        Feature::Resources,
        Feature::Prompts,
        Feature::Complete,
        Feature::Ping,
        Feature::Changed,
        Feature::Updated,
        Feature::Task,
        Feature::Resume,
    ];

    /// The column's heading.
    fn heading(self) -> &'static str {
        match self {
            Feature::Lost => "lost",
            Feature::Late => "late",
            Feature::Ok => "ok",
            Feature::ToolError => "error",
            Feature::Overlap => "overlap",
            Feature::Large => "large",
            Feature::Cancel => "cancel",
            Feature::Stops => "stops",
            Feature::Progress => "progress",
            Feature::Log => "log",
            Feature::Level => "level",
            Feature::Tools => "tools",
            Feature::Resources => "resources",
            Feature::Prompts => "prompts",
            Feature::Complete => "complete",
            Feature::Ping => "ping",
            Feature::Changed => "changed",
            Feature::Updated => "updated",
            Feature::Task => "task",
            Feature::Resume => "resume",
        }
    }
}

/// What a server that does not have a feature says, or how that showed.
pub(crate) type Tried = Result<(), String>;

/// What became of a row: a cell for each feature, and what is not as expected.
struct Outcome {
    row: Row,
    cells: Vec<Expected>,
    wrong: Vec<String>,
}

async fn try_row(row: Row) -> Option<Outcome> {
    let mut bench = Bench::new(row).await?;
    let (mut cells, mut wrong) = (Vec::new(), Vec::new());
    for feature in Feature::ALL {
        let expected = expected(row, feature);
        cells.push(expected);
        if expected == Expected::NotInRevision {
            continue;
        }
        let tried = bench.attempt(feature, expected).await;
        match (expected, tried) {
            (Expected::Works, Ok(())) => {}
            (Expected::Absent(why), Err(said)) if said.contains(why.says()) => {}
            (Expected::Absent(_), Ok(())) => wrong.push(format!("{row} {feature:?}: works now")),
            (_, Err(said)) => wrong.push(format!("{row} {feature:?}: {said}")),
            (Expected::NotInRevision, Ok(())) => {}
        }
    }
    Some(Outcome { row, cells, wrong })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_readme_says_what_was_tried() {
    let started = tokio::time::Instant::now();
    let try_one = |row: Row| async move {
        let tried = try_row(row).await;
        if tried.is_none() {
            missing(row.server, &format!("matrix: {row}"));
        }
        tried
    };
    let tried: Vec<Option<Outcome>> =
        stream::iter(rows::all()).map(try_one).buffered(AT_ONCE).collect().await;
    let tried: Vec<Outcome> = tried.into_iter().flatten().collect();
    let table = table::markdown(&tried);
    println!("{table}\n\n{} rows in {:?}", tried.len(), started.elapsed());

    let mut wrong: Vec<String> = tried.iter().flat_map(|outcome| outcome.wrong.clone()).collect();
    if wrong.is_empty() {
        let is_whole = tried.len() == rows::all().len();
        wrong.extend(table::differs_from_the_readme(&table, is_whole));
    }
    let mut words = String::new();
    for what in &wrong {
        let _ = writeln!(words, "- {what}");
    }
    assert!(wrong.is_empty(), "{} of the matrix:\n{words}", wrong.len());
}
