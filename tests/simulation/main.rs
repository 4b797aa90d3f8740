//! Clusters under random faults: kills, power-offs, cuts and slow disks, drawn from a seed; what must hold at every
//! step and at the end is in `invariants.rs`. One test a seed; `SIMULATION_SEEDS=100..200` runs others.

mod faults;
mod invariants;
mod programs;
mod run;

use libtest_mimic::{Arguments, Trial};
use std::ops::Range;
use std::process::ExitCode;

/// The seeds that are run unless told otherwise.
const SEEDS: Range<u64> = 1..201;
/// Seeds that are run twice, to the same history.
const TWICE: u64 = 3;

fn seeds() -> Option<Range<u64>> {
    let Ok(text) = std::env::var("SIMULATION_SEEDS") else { return Some(SEEDS) };
    let (from, to) = text.split_once("..")?;
    Some(from.parse().ok()?..to.parse().ok()?)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let Some(seeds) = seeds() else {
        eprintln!("SIMULATION_SEEDS is not of the form 1..201");
        return ExitCode::FAILURE;
    };
    let mut trials = Vec::new();
    for seed in seeds.clone() {
        trials.push(Trial::test(format!("seed {seed}"), move || Ok(run::run(seed).map(drop)?)));
    }
    for seed in seeds.start..seeds.end.min(seeds.start + TWICE) {
        trials.push(Trial::test(format!("seed {seed} twice"), move || {
            let (one, other) = (run::run(seed)?, run::run(seed)?);
            if one == other { Ok(()) } else { Err(format!("histories {one:x} and {other:x}").into()) }
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
