//! One seed gives one history, natively and in wasm.

use history::{cluster, network};
use sim::Interleave;
use std::process::Command;

/// Calls a function of the histories' package, built for wasm and run by Node.js.
fn in_wasm(function: &str, seeds: &[u64]) -> Vec<u64> {
    let folder = tests::root().join("target/wasm-history");
    let build = Command::new(tests::root().join("scripts/cargo-wasm"))
        .args(["build", "--quiet", "--package", "tabernetes-history", "--target", "wasm32-unknown-unknown"])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(tests::root())
        .status()
        .expect("cargo runs");
    assert!(build.success(), "the build for wasm failed");
    let program = "
        const [file, name, ...seeds] = process.argv.slice(1);
        const { instance } = await WebAssembly.instantiate(require('fs').readFileSync(file), {});
        for (const seed of seeds) console.log(String(BigInt.asUintN(64, instance.exports[name](BigInt(seed)))));
    ";
    let output = Command::new("node")
        .arg("--eval")
        .arg(format!("(async () => {{ {program} }})().catch((error) => {{ console.error(error); process.exit(1); }})"))
        .arg(folder.join("wasm32-unknown-unknown/debug/history.wasm"))
        .arg(function)
        .args(seeds.iter().map(u64::to_string))
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().expect("a number")).collect()
}

#[test]
fn a_seed_gives_one_history() {
    for interleave in [Interleave::Fifo, Interleave::Seeded] {
        let histories: Vec<u64> = (0..8).map(|seed| network(seed, interleave)).collect();
        assert!(!histories.contains(&0), "a history ended early");
        assert_eq!(histories, (0..8).map(|seed| network(seed, interleave)).collect::<Vec<_>>());
        for (i, one) in histories.iter().enumerate() {
            assert!(!histories[..i].contains(one), "seeds {i} and another give the same");
        }
    }
}

#[test]
fn a_history_is_the_same_in_wasm() {
    let seeds = [1, 2, 42, u64::MAX];
    let natively: Vec<u64> = seeds.iter().map(|seed| network(*seed, Interleave::Fifo)).collect();
    assert_eq!(in_wasm("network_history", &seeds), natively);
}

#[test]
fn a_cluster_is_the_same_in_wasm() {
    let natively = [cluster(1), cluster(7)];
    assert!(!natively.contains(&0), "a history ended early");
    assert_ne!(natively[0], natively[1], "the seed is not used");
    assert_eq!(in_wasm("cluster_history", &[1, 7]), natively);
}
