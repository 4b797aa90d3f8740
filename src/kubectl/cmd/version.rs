//! `kubectl version`.

use super::Command;
use crate::error::Error;
use crate::flags::{Flag, Type, flag};
use crate::print::human::quote;
use crate::print::object::yaml;
use crate::session::Kubectl;
use crate::value::{Value, object};

const FLAGS: &[Flag] = &[
    flag("client", Type::Bool, "false", "If true, shows client version only (no server required)."),
    flag("output", Type::String, "", "One of 'yaml' or 'json'.").short('o'),
];

/// The verb.
pub static VERSION: Command = Command {
    name: "version",
    aliases: &[],
    short: "Print the client and server version information",
    usage: "",
    flags: &[FLAGS],
    required: &[],
    run: Some(|k| Box::pin(version(k))),
    children: &[],
};

/// The release that is simulated.
pub const RELEASE: &str = "v1.37.2";
/// The kustomize that comes with it.
const KUSTOMIZE: &str = "v5.8.1";

async fn version(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(Error::text(format!("extra arguments: [{}]", k.args().join(" "))));
    }
    let output = f.str("output");
    if !["", "yaml", "json"].contains(&output) {
        return Err(Error::text("--output must be 'yaml' or 'json'"));
    }
    let _ = quote;
    let mut failed = Ok(());
    let mut server = Value::Null;
    if !f.bool("client") {
        match k.raw("/version").await {
            Ok(text) => server = Value::parse(text.trim()).unwrap_or_default(),
            Err(e) => failed = Err(e),
        }
    }
    let client = object([
        ("buildDate", "2026-01-01T00:00:00Z".into()),
        ("compiler", "gc".into()),
        ("gitCommit", "0000000000000000000000000000000000000000".into()),
        ("gitTreeState", "clean".into()),
        ("gitVersion", RELEASE.into()),
        ("goVersion", "go1.26.8".into()),
        ("major", "1".into()),
        ("minor", "37".into()),
        ("platform", "linux/amd64".into()),
    ]);
    let mut all = object([("clientVersion", client), ("kustomizeVersion", KUSTOMIZE.into())]);
    if !server.is_null() {
        all.set("serverVersion", server.clone());
    }
    match output {
        "" => {
            k.out(&format!("Client Version: {RELEASE}\nKustomize Version: {KUSTOMIZE}\n"));
            if !server.is_null() {
                k.out(&format!("Server Version: {}\n", server.str("gitVersion")));
            }
        }
        "yaml" => k.out(&yaml(&all)),
        _ => k.out(&format!("{}\n", all.to_json_indent("  "))),
    }
    failed
}
