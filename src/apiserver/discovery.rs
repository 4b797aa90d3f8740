//! Paths that are about no object: discovery, version, health.

use api::SortSmall;
use std::rc::Rc;

use api::json::Value;
use api::rest::{Answer, Request, Target, Verb};
use api::{KindInfo, Status, Str};
use sim::Duration;

use crate::{Inner, openapi};

/// Groups in the order of `/apis`.
pub(crate) fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
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

/// A piece of JSON. Fields stand in Go's order, not sorted.
#[derive(Clone)]
struct Json(String);

fn text(value: &str) -> Json {
    Json(Value::from(value).to_json())
}

fn texts(values: &[&str]) -> Json {
    array(values.iter().map(|value| text(value)).collect())
}

fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
    fields_of(Vec::from(fields))
}

fn fields_of(fields: Vec<(&str, Json)>) -> Json {
    let fields: Vec<String> = fields.into_iter().map(|(key, Json(value))| format!("\"{key}\":{value}")).collect();
    Json(format!("{{{}}}", fields.join(",")))
}

fn array(values: Vec<Json>) -> Json {
    let values: Vec<String> = values.into_iter().map(|Json(value)| value).collect();
    Json(format!("[{}]", values.join(",")))
}

fn json(Json(value): Json) -> Answer {
    Answer::Json(Rc::from(format!("{value}\n").into_bytes()))
}

/// Answers a path.
pub(crate) async fn path(server: &Inner, request: &Request) -> Result<Answer, Status> {
    let Target::Path(path) = &request.target else { return Err(Status::not_found_path()) };
    if request.verb != Verb::Get {
        return Err(Status::not_found_path());
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match &parts[..] {
        ["version"] => Ok(Answer::Json(Rc::from(VERSION.as_bytes()))),
        [""] => Ok(index()),
        [name @ ("healthz" | "livez" | "readyz"), check @ ..] => health(server, name, &check.join("/"), query).await,
        [".well-known", "openid-configuration"] => Ok(Answer::Json(Rc::from(
            object([
                ("issuer", text(crate::token::ISSUER)),
                (
                    "jwks_uri",
                    text(&format!("https://{}:{}/openid/v1/jwks", server.config.advertise, server.config.port)),
                ),
                ("response_types_supported", texts(&["id_token"])),
                ("subject_types_supported", texts(&["public"])),
                ("id_token_signing_alg_values_supported", texts(&["HS256"])),
            ])
            .0
            .into_bytes(),
        ))),
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
            (
                "groups",
                array(
                    groups()
                        .iter()
                        .filter(|(group, _)| !group.is_empty())
                        .map(|found| fields_of(group(found)))
                        .collect(),
                ),
            ),
        ]))),
        ["api", version] => resources("", version),
        ["apis", name] => match groups().iter().find(|(other, _)| other == name) {
            Some(found) if !name.is_empty() => {
                let mut fields = vec![("kind", text("APIGroup")), ("apiVersion", text("v1"))];
                fields.extend(group(found));
                Ok(json(fields_of(fields)))
            }
            _ => Err(Status::not_found_path()),
        },
        ["apis", group, version] => resources(group, version),
        ["openapi", "v3"] if !path.ends_with('/') => Ok(Answer::Json(Rc::from(openapi::root().into_bytes()))),
        ["openapi", "v3", ..] if !path.ends_with('/') => {
            let document = openapi::document(&parts.get(2..).unwrap_or_default().join("/"));
            document.map(|text| Answer::Json(Rc::from(text.into_bytes()))).ok_or_else(Status::not_found_path)
        }
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

/// The checks that are about the server's own start, in the order in which they are told.
const STARTED: [&str; 31] = [
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/priority-and-fairness-config-consumer",
    "poststarthook/priority-and-fairness-filter",
    "poststarthook/storage-object-count-tracker-hook",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/peer-endpoint-reconciler-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/start-kube-apiserver-identity-lease-controller",
    "poststarthook/start-kube-apiserver-identity-lease-garbage-collector",
    "poststarthook/storage-readiness",
    "poststarthook/start-legacy-token-tracking-controller",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
    "poststarthook/aggregator-reload-proxy-client-cert",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/apiservice-discovery-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
    "poststarthook/apiservice-openapiv3-controller",
];
/// Those of them that hold back `/readyz` until the objects of a new cluster are there.
const BOOTSTRAP: [&str; 5] = [
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/priority-and-fairness-config-producer",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kubernetes-service-cidr-controller",
];
/// How long the store may take to answer a check.
const PATIENCE: Duration = Duration::from_secs(2);

/// The checks of `healthz`, `livez` or `readyz`, in order.
fn checks(name: &str) -> Vec<&'static str> {
    let mut checks = vec!["ping", "log"];
    if name == "readyz" {
        checks.extend(["etcd", "etcd-readiness", "informer-sync"]);
    } else {
        checks.extend(["loopback-serving-certificate", "etcd"]);
    }
    checks.extend(STARTED);
    if name == "readyz" {
        checks.push("shutdown");
    }
    checks
}

/// `/healthz`, `/livez`, `/readyz`, and a check of theirs below it: `ok`, or every check with `?verbose`.
async fn health(server: &Inner, name: &str, check: &str, query: &str) -> Result<Answer, Status> {
    let mut checks = checks(name);
    if !check.is_empty() {
        checks.retain(|other| *other == check);
    }
    if checks.is_empty() {
        return Err(Status::not_found_path());
    }
    let asked = |key: &str| -> Vec<&str> {
        let all = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        all.filter(|(name, _)| *name == key).map(|(_, value)| value).collect()
    };
    let excluded = asked("exclude");
    let etcd = match server.ctx.timeout(PATIENCE, server.storage.revision()).await {
        Ok(answer) => answer.is_ok(),
        Err(_) => false,
    };
    let (mut text, mut failed) = (String::new(), false);
    for check in &checks {
        let good = match *check {
            "etcd" | "etcd-readiness" => etcd,
            check => server.ready.get() || !BOOTSTRAP.contains(&check),
        };
        if excluded.contains(check) {
            text.push_str(&format!("[+]{check} excluded: ok\n"));
        } else if good {
            text.push_str(&format!("[+]{check} ok\n"));
        } else {
            failed = true;
            text.push_str(&format!("[-]{check} failed: reason withheld\n"));
        }
    }
    let unknown: Vec<String> =
        excluded.iter().filter(|name| !checks.contains(name)).map(|name| api::go::quote(name)).collect();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        text.push_str(&format!("warn: some health checks cannot be excluded: no matches for {unknown}\n"));
    }
    if failed {
        text.push_str(&format!("{name} check failed"));
        return Err(Status::internal(&text).with_message(text));
    }
    if asked("verbose").is_empty() || !check.is_empty() {
        return Ok(Answer::Text("ok".into()));
    }
    text.push_str(&format!("{name} check passed\n"));
    Ok(Answer::Text(Str::from(text)))
}

/// What else is served.
const PATHS: [&str; 11] = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/healthz",
    "/livez",
    "/openapi/v3",
    "/openapi/v3/",
    "/readyz",
    "/version",
];

/// `/`: all paths, sorted.
fn index() -> Answer {
    let mut paths: Vec<String> = PATHS.iter().map(|path| path.to_string()).collect();
    for (group, versions) in groups().iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    for name in ["healthz", "livez", "readyz"] {
        paths.extend(checks(name).into_iter().map(|check| format!("/{name}/{check}")));
    }
    paths.sort_small();
    let mut index = Value::object();
    index.set("paths", Value::from(paths.into_iter().map(Value::from).collect::<Vec<_>>()));
    Answer::Json(Rc::from(index.to_json_pretty(2).into_bytes()))
}

fn group((name, versions): &(&'static str, Vec<&'static str>)) -> Vec<(&'static str, Json)> {
    let version =
        |version: &&str| object([("groupVersion", text(&format!("{name}/{version}"))), ("version", text(version))]);
    let mut fields = vec![("name", text(name)), ("versions", array(versions.iter().map(version).collect()))];
    fields.extend(versions.first().map(|first| ("preferredVersion", version(first))));
    fields
}

fn resources(group: &str, version: &str) -> Result<Answer, Status> {
    let kinds: Vec<&KindInfo> =
        api::scheme::resources().iter().copied().filter(|k| k.group == group && k.version == version).collect();
    let Some(first) = kinds.first() else { return Err(Status::not_found_path()) };
    let namespaced = |kind: &KindInfo| Json(kind.namespaced.to_string());
    let mut list = Vec::new();
    for kind in &kinds {
        let mut fields = vec![
            ("name", text(kind.plural)),
            ("singularName", text(kind.singular)),
            ("namespaced", namespaced(kind)),
            ("kind", text(kind.kind)),
            ("verbs", texts(kind.verbs)),
        ];
        if !kind.short_names.is_empty() {
            fields.push(("shortNames", texts(kind.short_names)));
        }
        if !kind.categories.is_empty() {
            fields.push(("categories", texts(kind.categories)));
        }
        if !kind.storage_version_hash.is_empty() {
            fields.push(("storageVersionHash", text(kind.storage_version_hash)));
        }
        list.push(fields_of(fields));
        for subresource in kind.subresources {
            let mut fields = vec![
                ("name", text(&format!("{}/{}", kind.plural, subresource.name))),
                ("singularName", text("")),
                ("namespaced", namespaced(kind)),
            ];
            if (subresource.group, subresource.version) != (group, version) {
                fields.push(("group", text(subresource.group)));
                fields.push(("version", text(subresource.version)));
            }
            fields.push(("kind", text(subresource.kind)));
            fields.push(("verbs", texts(subresource.verbs)));
            list.push(fields_of(fields));
        }
    }
    let mut fields = vec![("kind", text("APIResourceList"))];
    // The core group's list is from before lists said their version.
    if !group.is_empty() {
        fields.push(("apiVersion", text("v1")));
    }
    fields.push(("groupVersion", text(first.api_version)));
    fields.push(("resources", array(list)));
    Ok(json(fields_of(fields)))
}
