//! Patches that kubectl works out: the difference of two objects, and apply's three-way merge.

use crate::value::Value;
use api::object::TypeDesc;
use api::patch;

/// What is known of the type of an object, for lists that are merged by a key; None for kinds that are not built in,
/// whose patches are JSON merge patches.
pub type Schema = Option<&'static TypeDesc>;

/// The schema of a built-in kind.
pub fn schema_of(api_version: &str, kind: &str) -> Schema {
    api::scheme::by_api_version(api_version, kind).map(|k| k.desc)
}

/// The patch from one object to another. Without a way to tell (lists without their keys) the whole new object.
pub fn two_way(original: &Value, modified: &Value, schema: Schema) -> Value {
    let (o, m) = (original.to_api(), modified.to_api());
    let made = match schema {
        Some(desc) => patch::create_two_way(&o, &m, desc).ok(),
        None => Some(patch::create_merge(&o, &m)),
    };
    made.map_or_else(|| modified.clone(), |p| Value::from(&p))
}

/// `CreateThreeWayMergePatch` with overwrite, or its JSON merge form; the error is apimachinery's.
pub fn three_way(original: &Value, modified: &Value, current: &Value, schema: Schema) -> Result<Value, String> {
    let (o, m, c) = (original.to_api(), modified.to_api(), current.to_api());
    let made = match schema {
        Some(desc) => patch::create_three_way(&o, &m, &c, desc),
        None => patch::create_three_way_merge(&o, &m, &c),
    };
    made.map(|p| Value::from(&p)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::parse(text).unwrap_or_default()
    }

    #[test]
    fn three_way_merges() {
        let schema = schema_of("apps/v1", "Deployment");
        let original = json(
            r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"x","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]}]}}}}"#,
        );
        let modified = json(
            r#"{"metadata":{"labels":{"a":"1"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"y","env":[{"name":"B","value":"3"}]}]}}}}"#,
        );
        let mut current = original.clone();
        current.set("spec/paused", true);
        assert_eq!(
            three_way(&original, &modified, &current, schema).map(|p| p.to_json()).unwrap_or_default(),
            r#"{"metadata":{"labels":{"b":null}},"spec":{"replicas":null,"template":{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"$setElementOrder/env":[{"name":"B"}],"env":[{"name":"B","value":"3"},{"$patch":"delete","name":"A"}],"image":"y","name":"c"}]}}}}"#
        );
        assert_eq!(three_way(&modified, &modified, &modified, schema).map(|p| p.to_json()).as_deref(), Ok("{}"));
    }

    #[test]
    fn two_way_keeps_lists_without_key_whole() {
        let schema = schema_of("v1", "Pod");
        let a = json(r#"{"spec":{"tolerations":[{"key":"x"}],"containers":[{"name":"c","command":["a"]}]}}"#);
        let b = json(r#"{"spec":{"tolerations":[{"key":"y"}],"containers":[{"name":"c","command":["b"]}]}}"#);
        assert_eq!(
            two_way(&a, &b, schema).to_json(),
            r#"{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"command":["b"],"name":"c"}],"tolerations":[{"key":"y"}]}}"#
        );
    }
}
