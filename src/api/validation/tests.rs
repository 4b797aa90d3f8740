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
