//! Paths that are about no object: discovery, version, health.

use std::rc::Rc;

use api::json::Value;
use api::rest::{Answer, Request, Target, Verb};
use api::{KindInfo, List, Status, Str};

use crate::Inner;

/// Groups in the order of `/apis`.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for kind in api::scheme::resources() {
        match groups.iter_mut().find(|(group, _)| *group == kind.group) {
            Some((_, versions)) if !versions.contains(&kind.version) => versions.push(kind.version),
            Some(_) => {}
            None => groups.push((kind.group, vec![kind.version])),
        }
    }
    groups
}

fn text(value: &str) -> Value {
    Value::Str(Str::from(value))
}

fn texts(values: &[&str]) -> Value {
    Value::Array(values.iter().map(|value| text(value)).collect())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut object = Value::object();
    for (key, value) in fields {
        object.set(key, value);
    }
    object
}

fn array(values: Vec<Value>) -> Value {
    Value::Array(List::from(values))
}

fn json(value: Value) -> Answer {
    Answer::Json(Rc::from(format!("{}\n", value.to_json()).into_bytes()))
}

/// Answers a path.
pub(crate) fn path(server: &Inner, request: &Request) -> Result<Answer, Status> {
    let Target::Path(path) = &request.target else { return Err(Status::not_found_path()) };
    if request.verb != Verb::Get {
        return Err(Status::not_found_path());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match &parts[..] {
        ["version"] => Ok(Answer::Json(Rc::from(VERSION.as_bytes()))),
        [name @ ("healthz" | "livez" | "readyz"), ..] => health(server, name, query.contains("verbose")),
        ["api"] => Ok(json(object([
            ("kind", text("APIVersions")),
            ("versions", texts(&["v1"])),
            (
                "serverAddressByClientCIDRs",
                array(vec![object([
                    ("clientCIDR", text("0.0.0.0/0")),
                    ("serverAddress", text(&format!("{}:{}", server.config.advertise, server.config.port))),
                ])]),
            ),
        ]))),
        ["apis"] => Ok(json(object([
            ("kind", text("APIGroupList")),
            ("apiVersion", text("v1")),
            ("groups", array(groups().iter().filter(|(group, _)| !group.is_empty()).map(group).collect())),
        ]))),
        ["api", version] => resources("", version),
        ["apis", name] => match groups().iter().find(|(other, _)| other == name) {
            Some(found) if !name.is_empty() => {
                let mut value = group(found);
                value.set("kind", text("APIGroup"));
                value.set("apiVersion", text("v1"));
                Ok(json(value))
            }
            _ => Err(Status::not_found_path()),
        },
        ["apis", group, version] => resources(group, version),
        _ => Err(Status::not_found_path()),
    }
}

/// What `kubectl version` shows of the server, in Go's order of fields.
const VERSION: &str = r#"{
  "major": "1",
  "minor": "37",
  "emulationMajor": "1",
  "emulationMinor": "37",
  "minCompatibilityMajor": "1",
  "minCompatibilityMinor": "36",
  "gitVersion": "v1.37.2",
  "gitCommit": "0000000000000000000000000000000000000000",
  "gitTreeState": "clean",
  "buildDate": "2026-01-01T00:00:00Z",
  "goVersion": "go1.26.8",
  "compiler": "gc",
  "platform": "linux/amd64"
}"#;

/// The post-start hooks whose end `/readyz` waits for.
const HOOKS: [&str; 5] = [
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "priority-and-fairness-config-producer",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
];

/// `/healthz`, `/livez`, `/readyz`: `ok`, or every check with `?verbose`.
fn health(server: &Inner, name: &str, verbose: bool) -> Result<Answer, Status> {
    let started = server.ready.get();
    let mut text = String::from("[+]ping ok\n[+]log ok\n[+]etcd ok\n");
    for hook in HOOKS {
        let state = if started { "[+]" } else { "[-]" };
        let end = if started { "ok" } else { "failed: reason withheld" };
        text.push_str(&format!("{state}poststarthook/{hook} {end}\n"));
    }
    if !started && name != "livez" {
        text.push_str(&format!("{name} check failed"));
        return Err(Status::internal(&text).with_message(text));
    }
    if !verbose {
        return Ok(Answer::Text("ok".into()));
    }
    text.push_str(&format!("{name} check passed\n"));
    Ok(Answer::Text(Str::from(text)))
}

fn group((name, versions): &(&'static str, Vec<&'static str>)) -> Value {
    let version =
        |version: &&str| object([("groupVersion", text(&format!("{name}/{version}"))), ("version", text(version))]);
    object([
        ("name", text(name)),
        ("versions", array(versions.iter().map(version).collect())),
        ("preferredVersion", versions.first().map(version).unwrap_or(Value::Null)),
    ])
}

fn resources(group: &str, version: &str) -> Result<Answer, Status> {
    let kinds: Vec<&KindInfo> =
        api::scheme::resources().iter().copied().filter(|k| k.group == group && k.version == version).collect();
    let Some(first) = kinds.first() else { return Err(Status::not_found_path()) };
    let mut list = Vec::new();
    for kind in &kinds {
        let mut value = object([
            ("name", text(kind.plural)),
            ("singularName", text(kind.singular)),
            ("namespaced", Value::Bool(kind.namespaced)),
            ("kind", text(kind.kind)),
            ("verbs", texts(kind.verbs)),
        ]);
        if !kind.short_names.is_empty() {
            value.set("shortNames", texts(kind.short_names));
        }
        if !kind.categories.is_empty() {
            value.set("categories", texts(kind.categories));
        }
        if !kind.storage_version_hash.is_empty() {
            value.set("storageVersionHash", text(kind.storage_version_hash));
        }
        list.push(value);
        for subresource in kind.subresources {
            let mut value = object([
                ("name", text(&format!("{}/{}", kind.plural, subresource.name))),
                ("singularName", text("")),
                ("namespaced", Value::Bool(kind.namespaced)),
                ("kind", text(subresource.kind)),
                ("verbs", texts(subresource.verbs)),
            ]);
            if (subresource.group, subresource.version) != (group, version) {
                value.set("group", text(subresource.group));
                value.set("version", text(subresource.version));
            }
            list.push(value);
        }
    }
    Ok(json(object([
        ("kind", text("APIResourceList")),
        ("apiVersion", text("v1")),
        ("groupVersion", text(first.api_version)),
        ("resources", array(list)),
    ])))
}
