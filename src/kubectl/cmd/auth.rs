//! `kubectl auth`: can-i and whoami.

use crate::describe::rbac::{compact, resource_group};
use crate::error::Error;
use crate::print::object::{WRITE_FORMATS, by_format};
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};

const VERBS: [&str; 14] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "use",
    "bind",
    "impersonate",
    "*",
    "approve",
    "sign",
];
const URL_VERBS: [&str; 8] = ["get", "put", "post", "head", "options", "delete", "patch", "*"];
/// What is a resource for authorization alone.
const NOT_SERVED: [&str; 3] = ["users", "groups", "userextras"];

async fn review(k: &Kubectl<'_>, plural: &str, kind: &str, spec: Value) -> Result<Value, Error> {
    let m = k.known("authorization.k8s.io", plural)?;
    let o = object([("apiVersion", "authorization.k8s.io/v1".into()), ("kind", kind.into()), ("spec", spec)]);
    k.create(&m, "", &o, &Write::default()).await
}

/// The command.
pub async fn can_i(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let all = f.bool("all-namespaces");
    let namespace = if all { String::new() } else { k.namespace() };
    if f.bool("list") {
        if !k.args().is_empty() {
            return Err(Error::text("list option must be specified with no arguments"));
        }
        if f.bool("quiet") || all || !f.str("subresource").is_empty() {
            return Err(Error::text(
                "list option can't be specified with neither quiet, all-namespaces nor subresource options",
            ));
        }
        let spec = object([("namespace", namespace.into())]);
        let r = review(k, "selfsubjectrulesreviews", "SelfSubjectRulesReview", spec).await?;
        return list(k, r.at("status"));
    }
    let warn = |text: String| k.err(&format!("Warning: {text}\n"));
    let mut attributes = Value::object();
    let mut url = String::new();
    let verb;
    match k.args() {
        [v, target] => {
            verb = v.clone();
            if target.starts_with('/') {
                url = target.clone();
            } else {
                let (typed, name) = target.split_once('/').unwrap_or((target, ""));
                let lower = typed.to_lowercase();
                let found = (typed != "*").then(|| k.mapper().find_argument(&lower)).flatten();
                crate::builder::warn(k, &k.mapper(), &lower);
                match &found {
                    Some(m) => {
                        attributes.set("group", m.group.as_str());
                        attributes.set("resource", m.plural.as_str());
                        if !m.namespaced && !all {
                            let group =
                                if m.group.is_empty() { String::new() } else { format!(" in group '{}'", m.group) };
                            warn(format!("resource '{}' is not namespace scoped{group}\n", m.plural));
                        }
                    }
                    None => {
                        if typed != "*" && !NOT_SERVED.contains(&lower.as_str()) {
                            warn(format!("the server doesn't have a resource type '{lower}'\n"));
                        }
                        attributes.set("resource", typed);
                    }
                }
                attributes.set("name", name);
            }
        }
        _ => {
            return Err(Error::text(
                "you must specify two arguments: verb resource or verb resource/resourceName.\nSee 'kubectl auth can-i -h' for help and examples.",
            ));
        }
    }
    if url.is_empty() {
        if !VERBS.contains(&verb.as_str()) {
            warn(format!("verb '{verb}' is not a known verb\n"));
        }
    } else if !URL_VERBS.contains(&verb.as_str()) {
        warn(format!("verb '{verb}' is not a known verb\n"));
    }
    if f.bool("no-headers") {
        return Err(Error::text("--no-headers cannot be set without --list specified"));
    }
    let spec = if url.is_empty() {
        attributes.set("namespace", namespace);
        attributes.set("verb", verb);
        attributes.set("subresource", f.str("subresource"));
        object([("resourceAttributes", attributes)])
    } else {
        object([("nonResourceAttributes", object([("path", url.into()), ("verb", verb.into())]))])
    };
    let r = review(k, "selfsubjectaccessreviews", "SelfSubjectAccessReview", spec).await?;
    let allowed = r.bool("status/allowed");
    if !f.bool("quiet") {
        let mut text = if allowed { "yes".to_string() } else { "no".to_string() };
        if !allowed {
            for path in ["status/reason", "status/evaluationError"] {
                if !r.str(path).is_empty() {
                    text.push_str(&format!(" - {}", r.str(path)));
                }
            }
        }
        k.out(&format!("{text}\n"));
    }
    if allowed { Ok(()) } else { Err(Error::silent()) }
}

fn list(k: &Kubectl<'_>, status: &Value) -> Result<(), Error> {
    if status.bool("incomplete") {
        k.err(&format!("Warning: the list may be incomplete: {}\n", status.str("evaluationError")));
    }
    let rules: Vec<Value> =
        status.list("resourceRules").iter().chain(status.list("nonResourceRules")).cloned().collect();
    let mut w = TabWriter::new(TABLE);
    if !k.flags.bool("no-headers") {
        w.write("Resources\tNon-Resource URLs\tResource Names\tVerbs\n");
    }
    for r in compact(&rules) {
        let resource = match r.resources.first() {
            Some(res) => resource_group(res, r.groups.first().map_or("", |g| g)),
            None => String::new(),
        };
        w.write(&format!("{resource}\t[{}]\t[{}]\t[{}]\n", r.urls.join(" "), r.names.join(" "), r.verbs.join(" ")));
    }
    k.out(&w.flush());
    Ok(())
}

/// The command.
pub async fn who_am_i(k: &Kubectl<'_>) -> Result<(), Error> {
    let m = k.known("authentication.k8s.io", "selfsubjectreviews")?;
    let o = object([("apiVersion", "authentication.k8s.io/v1".into()), ("kind", "SelfSubjectReview".into())]);
    let r = k.create(&m, "", &o, &Write::default()).await.map_err(|e| match e.reason() {
        "Forbidden" => Error::text(
            "the selfsubjectreviews API is not enabled in the cluster or you do not have permission to call it",
        ),
        "NotFound" => Error::text("the selfsubjectreviews API is not enabled in the cluster"),
        _ => e,
    })?;
    if !k.flags.str("output").is_empty() {
        by_format(k, k.flags.str("output"), WRITE_FORMATS)?.show(k, &r)?;
        return Ok(());
    }
    let user = r.at("status/userInfo");
    let mut w = TabWriter::new(TABLE);
    w.write("ATTRIBUTE\tVALUE\n");
    for (title, key) in [("Username", "username"), ("UID", "uid")] {
        if !user.str(key).is_empty() {
            w.write(&format!("{title}\t{}\n", user.str(key)));
        }
    }
    if !user.list("groups").is_empty() {
        w.write(&format!("Groups\t{}\n", user.at("groups").go_v()));
    }
    for (key, v) in user.map("extra") {
        w.write(&format!("Extra: {key}\t{}\n", v.go_v()));
    }
    k.out(&w.flush());
    Ok(())
}
