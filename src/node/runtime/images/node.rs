//! Node.js: an interpreter with nobody to type ends. It runs no code.

use super::{BASE, PATH, Repository, tag};
use crate::runtime::program::Guest;
use shell::process::{Files, LocalFuture};

pub const NODE: Repository = Repository {
    path: "library/node",
    tags: &[
        tag("20", "20.19.5", 390_114_225),
        tag("22", "22.20.0", 402_877_651),
        tag("22-alpine", "22.20.0", 56_120_877),
        tag("latest", "24.9.0", 405_213_990),
    ],
    entrypoint: &["docker-entrypoint.sh"],
    cmd: &["node"],
    env: &[PATH, ("NODE_VERSION", "{version}")],
    programs: &[("docker-entrypoint.sh", entry), ("node", node)],
    ..BASE
};

fn entry(mut guest: Guest) -> LocalFuture<'static, i32> {
    if guest.process.args.len() > 1 {
        guest.process.args.remove(0);
    }
    node(guest)
}

fn node(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        match guest.process.args.get(1).map(String::as_str) {
            None => 0,
            Some("--version" | "-v") => {
                guest.say(format!("v{}", guest.machine.version));
                0
            }
            Some("-e" | "--eval" | "-p" | "--print") => {
                guest.warn("node: this container's interpreter is simulated and runs no code");
                1
            }
            Some(file) => {
                let path = crate::files::clean(&guest.process.cwd, file);
                if guest.machine.files.read(&path).is_ok() {
                    guest.warn("node: this container's interpreter is simulated and runs no code");
                    return 1;
                }
                guest.warn(format!(
                    "node:internal/modules/cjs/loader:1386\n  throw err;\n  ^\n\nError: Cannot find module '{path}'\n    at node:internal/main/run_main_module:36:49 {{\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}}\n\nNode.js v{}",
                    guest.machine.version
                ));
                1
            }
        }
    })
}
