//! What a call costs: the component, rmcp's native client and the least that a client can do, beside each other.
//!
//! `cargo bench -p host-tests` prints a table of ratios and writes `target/bench.json`. All variants call the same
//! server, over a stream in the same thread, with the same allocator; each runs in a process of its own, in
//! shuffled order, five times. Of a row, compare what stands beside each other; times of two runs of the whole say
//! nothing.
//!
//! Run by `cargo test` it does a hundredth of that once, to see that it works.

use std::error::Error;
use std::process::Command;
use std::time::Duration;

mod cell;
mod echo;
mod table;
mod variants;

use cell::{CELLS, Cell};
use table::Table;
use variants::Variant;

/// What the allocator of the system does with megabytes depends on what went before.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often each variant runs.
const RUNS: usize = 5;

/// Tells the process of a variant so, behind it the variant, and of how many calls it does one.
const VARIANT: &str = "--variant";

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [flag, name, share] if flag == VARIANT => measure(name, share.parse()?),
        args if args.iter().any(|arg| arg == "--bench") => {
            let table = compare(RUNS, 1)?;
            print!("{table}");
            Ok(table.write()?)
        }
        _ => {
            print!("{}", compare(1, 100)?);
            Ok(())
        }
    }
}

/// What the process of a variant does: prints its times, in nanoseconds.
fn measure(name: &str, share: u32) -> Result<(), Box<dyn Error>> {
    let variant = Variant::by_name(name).ok_or("there is no such variant")?;
    let cells = CELLS.map(|cell| Cell { calls: cell.calls.div_ceil(share), ..cell });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let times = runtime.block_on(variant.measure(&cells))?;
    let nanos: Vec<_> = times.iter().map(Duration::as_nanos).collect();
    println!("{}", serde_json::to_string(&nanos)?);
    Ok(())
}

/// Runs all variants so often, in an order of chance.
fn compare(runs: usize, share: u32) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::default();
    for _ in 0..runs {
        let mut variants = Variant::ALL;
        fastrand::shuffle(&mut variants);
        for variant in variants {
            let mut process = Command::new(std::env::current_exe()?);
            let output = process.args([VARIANT, variant.name(), &share.to_string()]).output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!("{} failed: {said}", variant.name()).into());
            }
            table.add(variant, &serde_json::from_slice::<Vec<u64>>(&output.stdout)?);
        }
    }
    Ok(table)
}
