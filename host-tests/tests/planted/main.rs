//! That the contract check can fail: broken clients, each the same core with one fault planted in it,
//! are caught, and the client itself is not. The faults lie in `planted/`, as patches: what goes wrong
//! elsewhere, in a few lines each. `PLANTED=word` in the environment leaves out all those whose names do
//! not contain the word.

mod check;
mod fault;
mod workshop;

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;
use std::{env, fs, thread};

use anyhow::{Context, Result};

use check::check;
use fault::Fault;
use workshop::Workshop;

#[test]
fn the_check_catches_every_planted_fault() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("planted");
    let mut faults = Fault::all(&folder).unwrap();
    assert!(faults.len() >= 24, "no more than {} faults", faults.len());
    if let Ok(word) = env::var("PLANTED") {
        faults.retain(|fault| fault.name.contains(&word));
    }

    // One builds while the others check.
    let workshop = Mutex::new(Workshop::open().unwrap());
    let next = Mutex::new(faults.iter());
    let missed = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some(fault) = next.lock().unwrap().next() else { break };
            if let Err(error) = catch(fault, &workshop) {
                missed.lock().unwrap().push(format!("{}: {error:#}", fault.name));
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, |cores| cores.get() + 1);
        (0..workers).for_each(|_| _ = scope.spawn(work));
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{} of {} missed:\n{}", missed.len(), faults.len(), missed.join("\n"));
}

/// Builds a fault's component and has it caught.
fn catch(fault: &Fault, workshop: &Mutex<Workshop>) -> Result<()> {
    let component = workshop.lock().unwrap().build(|sources| fault.plant(sources))?;
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted").join(&fault.name).with_extension("wasm");
    fs::write(&file, component)?;

    let begun = Instant::now();
    let broken = check(&file, Some(&fault.promise))?.broken;
    let promises: Vec<_> = broken.iter().map(|broken| broken.promise.as_str()).collect();
    let found = broken.iter().find(|broken| broken.promise == fault.promise);
    let found = found.with_context(|| format!("{} holds, it seems; broken: {promises:?}", fault.promise))?;
    let last = found.sequence.last().with_context(|| format!("`{}` shows no sequence", found.scenario))?;
    println!("{}: caught in {:?}, {}: {last}", fault.name, begun.elapsed(), found.scenario);
    Ok(())
}

/// The component as this build made it, and as the workshop makes it.
#[test]
fn the_check_passes_the_component_itself() {
    let built = Path::new(env!("NOREPLAY_COMPONENT"));
    let broken = check(built, None).unwrap().broken;
    let broken: Vec<_> = broken.iter().map(|broken| (&broken.promise, &broken.scenario)).collect();
    assert!(broken.is_empty(), "{broken:?}");
}
