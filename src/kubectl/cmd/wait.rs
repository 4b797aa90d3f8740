//! `kubectl wait`.

use crate::builder::{Builder, Info, Visit};
use crate::error::Error;
use crate::jsonpath::{JsonPath, relaxed};
use crate::mapping::Mapping;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::Watched;
use crate::session::Kubectl;
use crate::value::Value;
use ::api::rest::{EventType, ListOptions};
use sim::Instant;
use std::time::Duration;

enum Condition {
    Delete,
    Create,
    Status { name: String, status: String },
    Path { path: JsonPath, value: String },
}

fn parse(text: &str) -> Result<Condition, Error> {
    match text.to_lowercase().as_str() {
        "delete" => return Ok(Condition::Delete),
        "create" => return Ok(Condition::Create),
        _ => {}
    }
    if let Some(c) = text.strip_prefix("condition=") {
        let (name, status) = c.split_once('=').unwrap_or((c, "true"));
        return Ok(Condition::Status { name: name.into(), status: status.into() });
    }
    let Some(input) = text.strip_prefix("jsonpath=") else {
        return Err(Error::text(format!("unrecognized condition: {}", quote(text))));
    };
    let parts = split_path(input);
    if parts.len() > 2 {
        return Err(Error::text(
            "jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'",
        ));
    }
    let path = relaxed(parts.first().map_or("", |p| p)).map_err(Error::Text)?;
    let mut value = String::new();
    if let Some(v) = parts.get(1) {
        value = v.trim_matches(['\'', '"']).to_string();
        if value.is_empty() {
            return Err(Error::text(
                "jsonpath wait has to have a value after equal sign, like --for=jsonpath='{.status.readyReplicas}'=3",
            ));
        }
    }
    if path.is_empty() {
        return Err(Error::text("jsonpath expression cannot be empty"));
    }
    let path = JsonPath::parse_lenient(&path).map_err(Error::Text)?;
    Ok(Condition::Path { path, value })
}

/// Parts at single `=`; `==` belongs to the expression.
fn split_path(input: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut part = String::new();
    let mut chars = input.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '=' {
            part.push(c);
        } else if chars.peek() == Some(&'=') {
            chars.next();
            part.push_str("==");
        } else {
            out.push(std::mem::take(&mut part));
        }
    }
    out.push(part);
    out
}

/// The command.
pub async fn wait(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let mut printer = for_write(k, "condition met")?;
    let texts = f.list("for");
    let mut conditions = Vec::new();
    for t in &texts {
        conditions.push(parse(t)?);
    }
    if conditions.is_empty() {
        return Err(Error::text("unrecognized condition: []"));
    }
    let timeout = match f.duration("timeout") {
        n if n < 0 => Duration::from_secs(168 * 3600),
        n => Duration::from_nanos(n as u64),
    };
    let deadline = k.ctx.now() + timeout;
    let for_create = conditions.iter().any(|c| matches!(c, Condition::Create));
    let for_delete = conditions.iter().any(|c| matches!(c, Condition::Delete));
    let find = async || -> Result<Visit, Error> {
        let mut b = Builder::new(k)
            .labels(f.str("selector"))
            .fields(f.str("field-selector"))
            .select_all(f.bool("all"))
            .all_namespaces(f.bool("all-namespaces"))
            .arguments(k, f.bool("all"), k.args());
        b.latest = true;
        b.continue_on_error = true;
        b.run(k).await
    };
    let visit = if for_create {
        loop {
            let visit = find().await?;
            let found = visit.items.iter().any(Result::is_ok);
            let other = visit.items.iter().any(|i| i.as_ref().is_err_and(|e| !e.is_not_found()));
            if found || other {
                break visit;
            }
            if k.ctx.now() >= deadline {
                return Err(Error::text("timed out waiting for the condition"));
            }
            k.ctx.sleep(Duration::from_millis(500)).await;
        }
    } else {
        find().await?
    };
    let mut errors = Vec::new();
    let mut count = 0;
    for item in visit.items {
        let info = match item {
            Ok(i) => i,
            Err(e) if for_delete && e.is_not_found() => continue,
            Err(e) => {
                errors.push(e);
                continue;
            }
        };
        count += 1;
        for c in &conditions {
            match one(k, &info, c, deadline, timeout).await {
                Ok(object) => {
                    printer.show(k, &object)?;
                }
                Err(e) => {
                    errors.push(e);
                    break;
                }
            }
        }
    }
    Error::aggregate(errors)?;
    if count == 0 && !for_delete {
        return Err(Error::text("no matching resources found"));
    }
    Ok(())
}

fn timed_out(info: &Info) -> Error {
    Error::text(format!("timed out waiting for the condition on {}", info.object_name()))
}

async fn one(
    k: &Kubectl<'_>,
    info: &Info,
    condition: &Condition,
    deadline: Instant,
    timeout: Duration,
) -> Result<Value, Error> {
    match condition {
        Condition::Create => Ok(info.object.clone()),
        Condition::Delete => {
            if timeout.is_zero() {
                return match k.get(&info.mapping, &info.namespace, &info.name, "").await {
                    Err(e) if e.is_not_found() => Ok(info.object.clone()),
                    Err(e) => Err(e),
                    Ok(_) => Err(Error::text(format!("condition not met for {}", info.object_name()))),
                };
            }
            let uid = info.object.str("metadata/uid").to_string();
            until_deleted(k, info, &uid, deadline).await?;
            Ok(info.object.clone())
        }
        other => {
            if timeout.is_zero() {
                let object = k.get(&info.mapping, &info.namespace, &info.name, "").await?;
                return if met(other, &object)? {
                    Ok(object)
                } else {
                    Err(Error::text(format!("condition not met for {}", info.object_name())))
                };
            }
            until(
                k,
                info,
                deadline,
                true,
                |event, object| {
                    if event == EventType::Deleted { Ok(false) } else { met(other, object) }
                },
            )
            .await
        }
    }
}

/// Waits until an object is gone, or another one has its name.
pub async fn until_deleted(k: &Kubectl<'_>, info: &Info, uid: &str, deadline: Instant) -> Result<(), Error> {
    match k.get(&info.mapping, &info.namespace, &info.name, "").await {
        Err(e) if e.is_not_found() => return Ok(()),
        Err(e) => return Err(e),
        Ok(o) if !uid.is_empty() && o.str("metadata/uid") != uid => return Ok(()),
        Ok(_) => {}
    }
    until(k, info, deadline, false, |event, object| {
        Ok(event == EventType::Deleted || (!uid.is_empty() && object.str("metadata/uid") != uid))
    })
    .await
    .map(|_| ())
}

/// Lists and watches one object until `done` says so; a watch that ends is begun anew. With `must_exist` its absence
/// is an error, else it is success.
pub async fn until(
    k: &Kubectl<'_>,
    info: &Info,
    deadline: Instant,
    must_exist: bool,
    mut done: impl FnMut(EventType, &Value) -> Result<bool, Error>,
) -> Result<Value, Error> {
    let absent = || {
        if must_exist {
            return Err(Error::Status(Box::new(crate::value::object([
                ("reason", "NotFound".into()),
                ("message", format!("{} {} not found", info.mapping.group_resource(), quote(&info.name)).into()),
            ]))));
        }
        Ok(Some(info.object.clone()))
    };
    let body = watched(k, &info.mapping, &info.namespace, &info.name, absent, &mut done);
    match k.ctx.timeout(deadline.since(k.ctx.now()), body).await {
        Ok(result) => result,
        Err(_) => Err(timed_out(info)),
    }
}

/// Lists and watches one object without end until `done` says so; what `absent` gives is the answer where the list has
/// none.
pub async fn watched(
    k: &Kubectl<'_>,
    mapping: &Mapping,
    namespace: &str,
    name: &str,
    absent: impl Fn() -> Result<Option<Value>, Error>,
    mut done: impl FnMut(EventType, &Value) -> Result<bool, Error>,
) -> Result<Value, Error> {
    loop {
        let mut options =
            ListOptions { field_selector: format!("metadata.name={name}").as_str().into(), ..ListOptions::default() };
        let list = k.list_page(mapping, namespace, &options).await?;
        match list.list("items").first() {
            Some(object) if done(EventType::Added, object)? => return Ok(object.clone()),
            Some(_) => {}
            None => {
                if let Some(answer) = absent()? {
                    return Ok(answer);
                }
            }
        }
        options.resource_version = list.str("metadata/resourceVersion").into();
        let mut stream = k.watch(mapping, namespace, options, false).await?;
        while let Some((event, what)) = stream.event().await? {
            if let Watched::Object(object) = what
                && done(event, &object)?
            {
                return Ok(object);
            }
        }
        // The server ended the watch: list again, as a reflector does.
        k.ctx.sleep(Duration::from_secs(1)).await;
    }
}

fn met(condition: &Condition, object: &Value) -> Result<bool, Error> {
    match condition {
        Condition::Status { name, status } => {
            let Some(c) = object
                .list("status/conditions")
                .iter()
                .find(|c| c.str("type").eq_ignore_ascii_case(name) && c.has("status"))
            else {
                return Ok(false);
            };
            if let Some(generation) = object.at("metadata/generation").as_int() {
                let observed = c.at("observedGeneration").as_int().or(object.at("status/observedGeneration").as_int());
                if observed.is_some_and(|o| o < generation) {
                    return Ok(false);
                }
            }
            Ok(c.str("status").eq_ignore_ascii_case(status))
        }
        Condition::Path { path, value } => {
            let found = path.find(object).map_err(Error::Text)?;
            let first = match found.first() {
                None => return Ok(false),
                Some(f) if f.is_empty() => return Ok(false),
                Some(f) => f,
            };
            if found.len() > 1 {
                return Err(Error::text("given jsonpath expression matches more than one list"));
            }
            let [one] = first.as_slice() else {
                return Err(Error::text("given jsonpath expression matches more than one value"));
            };
            if value.is_empty() {
                return Ok(true);
            }
            if matches!(&**one, Value::Object(_) | Value::Array(_)) {
                return Err(Error::text("jsonpath leads to a nested object or list which is not supported"));
            }
            Ok(one.go_v().trim() == value.trim())
        }
        _ => Ok(false),
    }
}
