//! What a merge would replace as a whole, which mutating policies may not
//! (apiserver's admission/plugin/policy/mutating/patch).

use super::shape::{Kind, Relation, Shape};
use crate::json::Value;
use crate::object::TypeDesc;

/// The paths of a configuration's atomic lists, maps and structs: `.spec.selector`.
pub fn atomics(config: &Value, desc: &'static TypeDesc) -> Vec<String> {
    let mut found = Vec::new();
    find("", Shape::of(desc), config, &mut found);
    found
}

fn find(path: &str, shape: Shape, value: &Value, found: &mut Vec<String>) {
    match (shape.kind(), value) {
        (Kind::Struct(_, atomic) | Kind::Map(_, atomic), Value::Object(map)) => {
            if atomic {
                found.push(path.to_string());
            }
            for (key, value) in map.iter() {
                if let (shape, true) = shape.child(key) {
                    find(&format!("{path}.{key}"), shape, value, found);
                }
            }
        }
        (Kind::List(relation, item), Value::Array(list)) => {
            if matches!(relation, Relation::Atomic) {
                found.push(path.to_string());
            }
            for (i, value) in list.iter().enumerate() {
                find(&format!("{path}[{i}]"), item, value, found);
            }
        }
        _ => {}
    }
}
