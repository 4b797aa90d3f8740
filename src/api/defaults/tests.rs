//! Manifests and what a real v1.37.2 cluster made of them, metadata and status aside.
use crate::json::Value;
use crate::{json, yaml};

#[test]
fn objects() {
    let mut failed = String::new();
    let text = include_str!("testdata/objects.txt");
    for case in text.split("=== ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let (manifest, want) = rest.split_once("--->\n").expect("an expectation");
        let value = yaml::parse(manifest).expect("YAML");
        let kind = crate::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"]));
        let mut object = kind.expect("a known kind").new_object();
        json::from_value(&value, &mut *object, true).expect("decodes");
        super::apply(&mut *object);
        let mut found = json::to_value(&*object, None);
        if let Value::Object(fields) = &mut found {
            for gone in ["apiVersion", "kind", "metadata", "status"] {
                fields.remove(gone);
            }
        }
        let want = Value::parse(want).expect("JSON");
        if found != want {
            let (found, want) = (found.to_json_pretty(1), want.to_json_pretty(1));
            failed += &format!("=== {name}\n");
            for line in want.lines().filter(|line| !found.contains(line)) {
                failed += &format!("- {line}\n");
            }
            for line in found.lines().filter(|line| !want.contains(line)) {
                failed += &format!("+ {line}\n");
            }
        }
        // Defaulting what is complete changes nothing.
        let again = json::to_value(&*object, None);
        super::apply(&mut *object);
        assert_eq!(json::to_value(&*object, None), again, "{name}");
    }
    assert!(failed.is_empty(), "\n{failed}");
}
