//! `kubectl version`.

use crate::error::Error;
use crate::print::object::yaml;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The release that is simulated.
pub const RELEASE: &str = "v1.37.2";
/// The kustomize that comes with it.
const KUSTOMIZE: &str = "v5.8.1";

/// The command.
pub async fn version(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if !k.args().is_empty() {
        return Err(Error::text(format!("extra arguments: [{}]", k.args().join(" "))));
    }
    let output = f.str("output");
    if !["", "yaml", "json"].contains(&output) {
        return Err(Error::text("--output must be 'yaml' or 'json'"));
    }
    let mut failed = Ok(());
    let mut server = Value::Null;
    if !f.bool("client") {
        match crate::raw::text(k, "/version").await {
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
        "yaml" => k.out(&format!("{}\n", yaml(&all))),
        _ => k.out(&in_order(&all)),
    }
    failed
}

/// The fields of a version in the order of Go's struct.
const ORDER: [&str; 13] = [
    "major",
    "minor",
    "emulationMajor",
    "emulationMinor",
    "minCompatibilityMajor",
    "minCompatibilityMinor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
];

/// The versions as JSON, fields as Go's structs have them.
fn in_order(all: &Value) -> String {
    let mut parts = Vec::new();
    for name in ["clientVersion", "kustomizeVersion", "serverVersion"] {
        match all.at(name) {
            Value::Null => {}
            Value::Object(m) => {
                let fields: Vec<String> =
                    ORDER.iter().filter_map(|f| m.get(*f).map(|v| format!("    \"{f}\": {}", v.to_json()))).collect();
                parts.push(format!("  \"{name}\": {{\n{}\n  }}", fields.join(",\n")));
            }
            v => parts.push(format!("  \"{name}\": {}", v.to_json())),
        }
    }
    format!("{{\n{}\n}}\n", parts.join(",\n"))
}
