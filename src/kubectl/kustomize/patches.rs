//! patches, patchesStrategicMerge and patchesJson6902.

use super::{Res, join};
use crate::manifest;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::Value;

/// Does the patches in turn; `names` follows what they remove.
pub fn run(
    k: &Kubectl<'_>,
    directory: &str,
    file: &Value,
    resources: &mut Vec<Res>,
    names: &mut Vec<String>,
) -> Result<(), String> {
    for entry in file.list("patchesStrategicMerge").iter().filter_map(Value::as_str) {
        let text = match k.io.read_file(&join(directory, entry)) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) if entry.contains('\n') => entry.to_string(),
            Err(e) => {
                let full = join(directory, entry);
                return Err(format!("evalsymlink failure on '{full}' : lstat {full}: {e}"));
            }
        };
        one(&text, &Value::Null, resources, names)?;
    }
    for field in ["patches", "patchesJson6902"] {
        for entry in file.list(field) {
            let path = entry.str("path");
            let text = if path.is_empty() {
                entry.str("patch").to_string()
            } else {
                let full = join(directory, path);
                let bytes = k.io.read_file(&full).map_err(|e| {
                    format!(
                        "trouble configuring builtin PatchTransformer with config: `\n{}`: failed to get the patch file from path({path}): evalsymlink failure on '{full}' : lstat {full}: {e}",
                        crate::print::object::yaml(entry)
                    )
                })?;
                String::from_utf8_lossy(&bytes).into_owned()
            };
            if text.trim().is_empty() {
                return Err(format!(
                    "trouble configuring builtin PatchTransformer with config: `\n{}`: must specify one of patch and path in\n{}",
                    crate::print::object::yaml(entry),
                    crate::print::object::yaml(entry)
                ));
            }
            one(&text, entry.at("target"), resources, names)?;
        }
    }
    Ok(())
}

fn one(text: &str, target: &Value, resources: &mut Vec<Res>, names: &mut Vec<String>) -> Result<(), String> {
    let parsed = manifest::documents(text.as_bytes())
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| format!("unable to parse SM or JSON patch from [patch: {}]: {e}", quote(text)))?;
    for patch in parsed.into_iter().filter(|p| !p.is_null()) {
        match &patch {
            Value::Array(_) => {
                if target.is_null() {
                    return Err(format!("must specify a target for JSON patch {}", text.trim_end()));
                }
                for r in resources.iter_mut().filter(|r| selects(target, r)) {
                    let patched = api::patch::json(&r.object.to_api(), &patch.to_api()).map_err(|e| e.to_string())?;
                    r.object = Value::from(&patched);
                }
            }
            _ => strategic(&patch, target, resources, names)?,
        }
    }
    Ok(())
}

fn strategic(patch: &Value, target: &Value, resources: &mut Vec<Res>, names: &mut Vec<String>) -> Result<(), String> {
    let of_patch = Res::new(patch.clone());
    let meant: Vec<usize> = resources
        .iter()
        .enumerate()
        .filter(|(_, r)| {
            if !target.is_null() {
                return selects(target, r);
            }
            let namespace = patch.str("metadata/namespace");
            r.kind() == of_patch.kind()
                && r.object.str("apiVersion") == patch.str("apiVersion")
                && (r.name() == of_patch.name() || r.first_name == of_patch.name())
                && (namespace.is_empty() || namespace == r.object.str("metadata/namespace"))
        })
        .map(|(i, _)| i)
        .collect();
    if meant.is_empty() && target.is_null() {
        let id = of_patch.id();
        return Err(format!(
            "no resource matches strategic merge patch {}: no matches for Id {id}; failed to find unique target for patch {id}",
            quote(&id)
        ));
    }
    for at in meant.into_iter().rev() {
        if patch.str("$patch") == "delete" {
            resources.remove(at);
            if at < names.len() {
                names.remove(at);
            }
            continue;
        }
        let Some(r) = resources.get_mut(at) else { continue };
        // A patch meant for others does not rename.
        let mut own = patch.clone();
        own.set("metadata/name", r.name());
        if !target.is_null() {
            own.set("kind", r.kind());
            own.set("apiVersion", r.object.str("apiVersion"));
        }
        let schema = crate::merge::schema_of(r.object.str("apiVersion"), r.kind());
        let merged = match schema {
            Some(desc) => api::patch::strategic(&r.object.to_api(), &own.to_api(), desc).map_err(|e| e.to_string())?,
            None => api::patch::merge(&r.object.to_api(), &own.to_api()),
        };
        let mut merged = Value::from(&merged);
        new_first(&r.object, &mut merged);
        r.object = merged;
    }
    Ok(())
}

/// kustomize puts new elements of lists before those that were there.
fn new_first(before: &Value, after: &mut Value) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, v) in new.iter_mut() {
                if let Some(was) = old.get(key) {
                    new_first(was, v);
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let key = |v: &Value| {
                ["name", "mountPath", "containerPort", "ip", "key", "port"]
                    .iter()
                    .map(|k| v.at(k).clone())
                    .find(|v| !v.is_null())
            };
            let known = |v: &Value| key(v).is_none() || old.iter().any(|o| key(o) == key(v));
            if !new.iter().any(known) {
                return;
            }
            let (mut kept, mut added): (Vec<Value>, Vec<Value>) = std::mem::take(new).into_iter().partition(known);
            for v in &mut kept {
                if let Some(was) = old.iter().find(|o| key(o).is_some() && key(o) == key(v)) {
                    new_first(was, v);
                }
            }
            added.append(&mut kept);
            *new = added;
        }
        _ => {}
    }
}

/// Whether a target means a resource: group, version, kind, name and namespace as whole-word patterns, and selectors.
fn selects(target: &Value, r: &Res) -> bool {
    let (group, version) = crate::mapping::split_version(r.object.str("apiVersion"));
    let matches = |field: &str, value: &str| {
        let pattern = target.str(field);
        pattern.is_empty() || pattern == value || wild(pattern.as_bytes(), value.as_bytes())
    };
    let selected = |field: &str, of: &str| {
        let text = target.str(field);
        text.is_empty() || crate::selector::parse(text).is_ok_and(|s| s.matches(r.object.at(of)))
    };
    matches("group", group)
        && matches("version", version)
        && matches("kind", r.kind())
        && (matches("name", r.name()) || matches("name", &r.first_name))
        && matches("namespace", r.object.str("metadata/namespace"))
        && selected("labelSelector", "metadata/labels")
        && selected("annotationSelector", "metadata/annotations")
}

/// The part of regular expressions that targets are written with: `.`, `.*`, `.+` and `|`.
fn wild(pattern: &[u8], text: &[u8]) -> bool {
    if let Some(at) = pattern.iter().position(|b| *b == b'|') {
        let (head, tail) = pattern.split_at(at);
        return wild(head, text) || wild(tail.get(1..).unwrap_or(&[]), text);
    }
    match (pattern, text) {
        ([], []) => true,
        ([b'.', b'*', rest @ ..], _) => {
            wild(rest, text) || text.split_first().is_some_and(|(_, more)| wild(pattern, more))
        }
        ([b'.', b'+', rest @ ..], [_, more @ ..]) => wild(rest, more) || wild(pattern, more),
        ([b'.', rest @ ..], [_, more @ ..]) => wild(rest, more),
        ([a, rest @ ..], [b, more @ ..]) if a == b => wild(rest, more),
        _ => false,
    }
}
