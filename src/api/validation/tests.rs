//! Manifests and what is said of them. Expected texts are those of a real v1.37.2 cluster.
use super::*;
use crate::{defaults, json, yaml};

/// A manifest as the server sees it after defaulting.
fn object(manifest: &str) -> Box<dyn Object> {
    let value = yaml::parse(manifest).expect("YAML");
    let kind =
        crate::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).expect("a known kind");
    let mut object = kind.new_object();
    json::from_value(&value, &mut *object, true).expect("decodes");
    defaults::apply(&mut *object);
    if let Some(meta) = object.metadata_mut()
        && kind.namespaced
        && meta.namespace.is_empty()
    {
        meta.namespace = "default".into();
    }
    object
}
fn lines(errors: ErrorList) -> String {
    errors.iter().map(|e| e.to_string()).collect::<Vec<_>>().join("\n")
}

/// Cases of `testdata`: a manifest, or two with `---` between them, which are an update; after `--->` what it gets.
fn check(text: &str) {
    let mut failed = String::new();
    for case in text.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (manifests, want) = rest.split_once("--->\n").expect("an expectation");
        let found = match manifests.split_once("---\n") {
            None => create(&*object(manifests)),
            Some((old, new)) => update(&*object(new), &*object(old)),
        };
        let (found, want) = (lines(found), want.trim_end());
        if found.trim_end() != want {
            failed += &format!("=== {name}\n{}\n", difference(&found, want));
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}
fn difference(found: &str, want: &str) -> String {
    unified::diff(want, found)
}

#[test]
fn workloads() {
    check(include_str!("testdata/workloads.txt"));
}
#[test]
fn pods() {
    check(include_str!("testdata/pods.txt"));
}
#[test]
fn core_kinds() {
    check(include_str!("testdata/core.txt"));
}
#[test]
fn other_kinds() {
    check(include_str!("testdata/others.txt"));
}

/// Questions to a real cluster with its answers (tools/refusals.py tells their form): what is wrong with a new object, a
/// changed one or a changed status, and what a new one is made to.
fn asked(file: &str) {
    use crate::json::Value;
    let path = format!("{}/validation/testdata/asked/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("recorded answers");
    let mut failed = String::new();
    for part in text.split("=== ").skip(1) {
        let (name, rest) = part.split_once('\n').expect("a name");
        let (base, questions) = rest.split_once("\n---\n").expect("questions");
        let base = yaml::parse(base).expect("YAML");
        let mut lines = questions.lines().peekable();
        while let Some(question) = lines.next() {
            let mut want = Vec::new();
            while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
                want.push(line.trim_start().to_string());
            }
            let (verb, changes) = question.split_once(' ').expect("a verb");
            let mut new = base.clone();
            for (pointer, value) in Value::parse(changes).expect("JSON").as_object().expect("an object") {
                let steps: Vec<String> = crate::patch::pointer(pointer).collect();
                set(&mut new, &steps, value);
            }
            let status = base.get("status").cloned().unwrap_or_default();
            match verb {
                "status" => {}
                "update" if !status.is_null() => new.set("status", status),
                _ => {
                    new.make_object().remove("status");
                }
            }
            let object = |value: &Value| object(&crate::yaml::print(value));
            let found: Vec<String> = match verb {
                "default" => {
                    let mut value = json::to_value(&*object(&new), None);
                    for gone in ["apiVersion", "kind", "metadata", "status"] {
                        value.make_object().remove(gone);
                    }
                    vec![value.to_json_unescaped(0)]
                }
                "create" => list(create(&*object(&new))),
                "update" => list(update(&*object(&new), &*object(&base))),
                "status" => list(update_status(&*object(&new), &*object(&base))),
                verb => panic!("{verb}"),
            };
            if found != want {
                let (found, want) = (found.join("\n"), want.join("\n"));
                failed += &format!("=== {name}: {question}\n{}\n", difference(&found, &want));
            }
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}
fn list(errors: ErrorList) -> Vec<String> {
    errors.iter().map(|error| error.to_string().replace('\n', "\\n")).collect()
}
/// Sets a field, an item, or the item behind the last; null removes.
fn set(at: &mut crate::json::Value, steps: &[String], value: &crate::json::Value) {
    use crate::json::Value;
    let Some((first, rest)) = steps.split_first() else { return };
    if let Some(list) = at.as_array_mut() {
        let i: usize = first.parse().expect("an index");
        let list = list.make();
        match (rest.is_empty(), list.get_mut(i)) {
            (false, Some(item)) => set(item, rest, value),
            (true, Some(_)) if value.is_null() => {
                list.remove(i);
            }
            (true, Some(item)) => *item = value.clone(),
            (_, None) => list.push(value.clone()),
        }
    } else if !rest.is_empty() {
        set(at.make_object().entry(first.as_str(), Value::object), rest, value);
    } else if value.is_null() {
        at.make_object().remove(first);
    } else {
        at.set(first.as_str(), value.clone());
    }
}

#[test]
fn asked_about_storage() {
    asked("storage");
}
#[test]
fn asked_about_flow_control() {
    asked("flow");
}
#[test]
fn asked_about_admission() {
    asked("admission");
}
#[test]
fn asked_about_devices() {
    asked("devices");
}
#[test]
fn asked_about_extensions() {
    asked("extensions");
}
