//! The table in Markdown, and the README that must hold it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::expected::{Expected, Lack};
use super::rows::Row;
use super::{Feature, Outcome};

const BEGIN: &str =
    "<!-- The table below is the output of the test `matrix`. UPDATE_README=1 rewrites it. -->\n";
const END: &str = "<!-- The end of that table. -->";

/// One line for each run of revisions that have the same cells.
pub(super) fn markdown(tried: &[Outcome]) -> String {
    let headings: Vec<&str> = Feature::ALL.iter().map(|feature| feature.heading()).collect();
    let mut table = format!("| server | over | revisions | {} |\n", headings.join(" | "));
    let _ = writeln!(table, "|---|---|---|{}", ":-:|".repeat(headings.len()));
    let is_same = |one: &Outcome, other: &Outcome| {
        (one.row.server, one.row.way, &one.cells) == (other.row.server, other.row.way, &other.cells)
    };
    for rows in tried.chunk_by(is_same) {
        let (first, last) = (&rows[0], rows[rows.len() - 1].row.revision);
        let Row { way, revision, .. } = first.row;
        let revisions = if rows.len() == 1 { revision.to_owned() } else { format!("{revision} to {last}") };
        let cells: Vec<String> = first.cells.iter().map(cell).collect();
        let _ = writeln!(table, "| {} | {way} | {revisions} | {} |", first.row.made_of(), cells.join(" | "));
    }
    table.push('\n');
    for (number, why) in (1..).zip(Lack::ALL) {
        let _ = writeln!(table, "{number}. {}", why.note());
    }
    table
}

fn cell(expected: &Expected) -> String {
    match expected {
        Expected::Works => "✓".into(),
        Expected::NotInRevision => "—".into(),
        Expected::Absent(why) => {
            let number = Lack::ALL.iter().position(|other| other == why).map_or(0, |index| index + 1);
            format!("no {number}")
        }
    }
}

/// How the README's table differs. Where a server is missing here, only the lines that it has count.
pub(super) fn differs_from_the_readme(table: &str, is_whole: bool) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = fs::read_to_string(&path).expect("the README");
    let (before, rest) = readme.split_once(BEGIN).expect("the table's begin in the README");
    let (held, after) = rest.split_once(END).expect("the table's end in the README");
    let is_held = if is_whole {
        held.trim() == table.trim()
    } else {
        table.lines().all(|line| held.lines().any(|other| other == line))
    };
    if is_held {
        return None;
    }
    if is_whole && std::env::var_os("UPDATE_README").is_some() {
        fs::write(&path, format!("{before}{BEGIN}\n{table}\n{END}{after}")).expect("the README is written");
        return None;
    }
    let how = "UPDATE_README=1 cargo test -p host-tests --test real_peers matrix";
    Some(format!(
        "the README's table is another one; `{how}` rewrites it, where no server is missing:\n{table}"
    ))
}
