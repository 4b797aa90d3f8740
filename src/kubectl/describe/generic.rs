//! Any kind without a describer of its own.

use super::{Related, Writer};
use crate::value::Value;

const SKIP: [&str; 5] =
    [".metadata.managedFields", ".metadata.name", ".metadata.namespace", ".metadata.labels", ".metadata.annotations"];

/// Describes any object by its fields.
pub fn object(w: &mut Writer, object: &Value, related: &Related) {
    w.head(object);
    fields(w, 0, object, "");
    w.events(&related.events);
}

fn fields(w: &mut Writer, level: usize, content: &Value, prefix: &str) {
    for (field, value) in content.map_entries() {
        let path = format!("{prefix}.{field}");
        if SKIP.contains(&path.as_str()) {
            continue;
        }
        let label = label_for(field);
        match value {
            Value::Object(_) => {
                w.put(level, &format!("{label}:\n"));
                fields(w, level + 1, value, &path);
            }
            Value::Array(items) => {
                w.put(level, &format!("{label}:\n"));
                for item in items {
                    match item {
                        Value::Object(_) => fields(w, level + 1, item, &path),
                        other => w.put(level + 1, &format!("{}\n", other.go_v())),
                    }
                }
            }
            other => w.put(level, &format!("{label}:\t{}\n", other.go_v())),
        }
    }
}

/// A field's name in words: `apiVersion` is `API Version`.
fn label_for(field: &str) -> String {
    if field.chars().any(|c| !c.is_alphabetic() && c != '-') {
        return field.to_string();
    }
    let parts = camel_split(field);
    let mut merged: Vec<String> = Vec::new();
    let mut i = 0;
    while let Some(part) = parts.get(i) {
        let upper = part.chars().all(|c| !c.is_alphabetic() || c.is_uppercase());
        match parts.get(i + 1) {
            Some(next) if part.len() >= 2 && upper && next.chars().next().is_some_and(char::is_uppercase) => {
                merged.push(format!("{part}{next}"));
                i += 2;
            }
            _ => {
                merged.push(part.clone());
                i += 1;
            }
        }
    }
    let words: Vec<String> = merged
        .into_iter()
        .map(|part| {
            let up = part.to_uppercase();
            if ["API", "URL", "UID", "GUID"].contains(&up.as_str()) {
                up
            } else if part.to_lowercase() == part {
                let mut chars = part.chars();
                chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
            } else {
                part
            }
        })
        .collect();
    words.join(" ")
}

/// fatih/camelcase's split: runs of lower case, upper case, digits and others; the last capital of a
/// run goes to the lower-case word after it.
fn camel_split(field: &str) -> Vec<String> {
    let class = |c: char| {
        if c.is_lowercase() {
            1
        } else if c.is_uppercase() {
            2
        } else if c.is_numeric() {
            3
        } else {
            4
        }
    };
    let mut runs: Vec<Vec<char>> = Vec::new();
    let mut last = 0;
    for c in field.chars() {
        match runs.last_mut() {
            Some(run) if class(c) == last => run.push(c),
            _ => runs.push(vec![c]),
        }
        last = class(c);
    }
    for i in 0..runs.len().saturating_sub(1) {
        let (left, right) = runs.split_at_mut(i + 1);
        if let (Some(a), Some(b)) = (left.last_mut(), right.first_mut())
            && a.first().is_some_and(|c| c.is_uppercase())
            && b.first().is_some_and(|c| c.is_lowercase())
            && let Some(c) = a.pop()
        {
            b.insert(0, c);
        }
    }
    runs.into_iter().filter(|r| !r.is_empty()).map(|r| r.into_iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        for (field, want) in [
            ("apiVersion", "API Version"),
            ("kind", "Kind"),
            ("creationTimestamp", "Creation Timestamp"),
            ("uid", "UID"),
            ("clusterIPs", "Cluster I Ps"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(label_for(field), want);
        }
    }
}
