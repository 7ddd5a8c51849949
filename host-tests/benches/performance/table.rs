//! What the runs come to: medians, how far the runs lie apart, and ratios.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::{fs, io};

use serde_json::json;

use crate::cell::CELLS;
use crate::variants::Variant;

/// The times of a call, in nanoseconds.
#[derive(Default)]
pub(crate) struct Table {
    /// By variant and cell, of each run.
    times: BTreeMap<(&'static str, usize), Vec<u64>>,
}

impl Table {
    /// Adds what one process of a variant measured.
    pub(crate) fn add(&mut self, variant: Variant, times: &[u64]) {
        for (cell, time) in times.iter().enumerate() {
            let times = self.times.entry((variant.name(), cell)).or_default();
            times.insert(times.partition_point(|other| other < time), *time);
        }
    }

    /// The times in order.
    fn times(&self, variant: Variant, cell: usize) -> &[u64] {
        self.times.get(&(variant.name(), cell)).map_or(&[0], Vec::as_slice)
    }

    fn median(&self, variant: Variant, cell: usize) -> f64 {
        let times = self.times(variant, cell);
        times[times.len() / 2] as f64
    }

    /// How far the slowest run is from the fastest, as a share of the median.
    fn spread(&self, variant: Variant, cell: usize) -> f64 {
        let times = self.times(variant, cell);
        (times[times.len() - 1] - times[0]) as f64 / self.median(variant, cell)
    }

    fn runs(&self) -> usize {
        self.times(Variant::Rmcp, 0).len()
    }

    /// The cost over that of rmcp's client.
    fn ratio(&self, variant: Variant, cell: usize) -> f64 {
        self.median(variant, cell) / self.median(Variant::Rmcp, cell)
    }

    /// Writes the ratios of the component to `target/bench.json`.
    pub(crate) fn write(&self) -> io::Result<()> {
        let cells = || CELLS.iter().enumerate();
        let alone = cells().filter(|(_, cell)| cell.in_flight == 1);
        let ratios: BTreeMap<_, _> =
            alone.map(|(at, cell)| (cell.name, rounded(self.ratio(Variant::Component, at)))).collect();
        let [one, thousand] = [1, 1_000].map(|in_flight| {
            let at = CELLS.iter().position(|cell| cell.in_flight == in_flight).unwrap_or_default();
            self.median(Variant::Component, at)
        });
        let json = json!({
            "ratios": ratios,
            "in-flight-1000": rounded(thousand / one),
            "runs": self.runs(),
        });
        // Cargo lets a benchmark's own temporary files lie in the target folder.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("."));
        fs::write(target.join("bench.json"), format!("{json:#}\n"))
    }
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

impl Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "| payload |")?;
        for variant in Variant::ALL {
            write!(f, " {} | us a call |", variant.name())?;
        }
        writeln!(f, "\n|---|{}", "--:|--:|".repeat(Variant::ALL.len()))?;
        for (at, cell) in CELLS.iter().enumerate() {
            write!(f, "| {} |", cell.name)?;
            for variant in Variant::ALL {
                let micros = self.median(variant, at) / 1e3;
                let spread = self.spread(variant, at) * 100.0;
                write!(f, " {:.2} | {micros:.1} ±{spread:.0}% |", self.ratio(variant, at))?;
            }
            writeln!(f)?;
        }
        writeln!(
            f,
            "\nRatios over rmcp's client, medians of {} runs; ± from the fastest to the slowest.",
            self.runs()
        )
    }
}
