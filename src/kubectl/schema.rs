//! Client-side validation by the schema of a kind (kube-openapi's util/proto/validation), as it is done for objects that
//! the server can't be asked about: the items of a `kind: List`.

use crate::print::human::quote;
use crate::value::Value;
use api::object::{REQUIRED, Type, TypeDesc};

/// What is wrong with an object by its kind's schema. Kinds that nobody knows are not looked at.
pub fn validate(object: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    let (version, kind) = (object.str("apiVersion"), object.str("kind"));
    if let Some(known) = api::scheme::by_api_version(version, kind) {
        fields(object, known.desc, kind, &mut errors);
    }
    errors
}

fn add(errors: &mut Vec<String>, at: &str, why: String) {
    errors.push(format!("ValidationError({at}): {why}"));
}

fn fields(value: &Value, desc: &TypeDesc, at: &str, errors: &mut Vec<String>) {
    let Value::Object(entries) = value else {
        add(errors, at, invalid(desc.name, value, "map"));
        return;
    };
    for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
        let at = format!("{at}.{key}");
        match desc.field(key) {
            None => {
                let parent = at.strip_suffix(&format!(".{key}")).unwrap_or(&at);
                add(errors, parent, format!("unknown field {} in {}", quote(key), desc.name));
            }
            Some(field) => one(value, &field.ty, &format!("{}.{key}", desc.name), &at, errors),
        }
    }
    for field in desc.fields.iter().filter(|field| field.is(REQUIRED)) {
        if entries.get(field.name).is_none_or(Value::is_null) {
            add(errors, at, format!("missing required field {} in {}", quote(field.name), desc.name));
        }
    }
}

/// A value by the type of a field; `path` is the schema's, `at` the object's.
fn one(value: &Value, ty: &Type, path: &str, at: &str, errors: &mut Vec<String>) {
    const META: &str = "io.k8s.apimachinery.pkg.";
    let (wanted, path) = match ty {
        Type::Struct(desc) | Type::Ptr(desc) => return fields(value, desc, at, errors),
        Type::Raw => return,
        Type::List(element) => {
            let Value::Array(items) = value else {
                return add(errors, at, invalid(path, value, "array"));
            };
            for (i, item) in items.iter().enumerate() {
                let at = format!("{at}[{i}]");
                if item.is_null() {
                    add(
                        errors,
                        at.rsplit_once('[').map_or("", |(list, _)| list),
                        format!("unknown object type \"nil\" in {at}"),
                    );
                } else {
                    one(item, element, path, &at, errors);
                }
            }
            return;
        }
        Type::Map(element) => {
            let Value::Object(entries) = value else {
                return add(errors, at, invalid(path, value, "map"));
            };
            for (key, value) in entries {
                let at = format!("{at}.{key}");
                if value.is_null() {
                    errors.push(format!("unknown object type \"nil\" in {at}"));
                } else {
                    one(value, element, path, &at, errors);
                }
            }
            return;
        }
        Type::Bool | Type::OBool => ("boolean", path.to_string()),
        Type::I32 | Type::OI32 | Type::I64 | Type::OI64 => ("integer", path.to_string()),
        Type::OF64 => ("number", path.to_string()),
        Type::Time => ("string", format!("{META}apis.meta.v1.Time")),
        Type::MicroTime => ("string", format!("{META}apis.meta.v1.MicroTime")),
        Type::Quantity | Type::OQuantity => ("string", format!("{META}api.resource.Quantity")),
        Type::IntOrString | Type::OIntOrString => ("string", format!("{META}util.intstr.IntOrString")),
        Type::Str | Type::OStr | Type::Bytes => ("string", path.to_string()),
    };
    let fits = match (wanted, value) {
        (_, Value::Array(_) | Value::Object(_)) => false,
        ("string", _) | ("boolean", Value::Bool(_)) => true,
        ("integer" | "number", Value::Int(_) | Value::Float(_)) => true,
        _ => false,
    };
    if !fits {
        add(errors, at, invalid(&path, value, wanted));
    }
}

fn invalid(path: &str, value: &Value, wanted: &str) -> String {
    let got = match value {
        Value::Null => "nil",
        Value::Bool(_) => "boolean",
        Value::Int(_) => "integer",
        Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "map",
    };
    format!("invalid type for {path}: got {}, expected {}", quote(got), quote(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the real kubectl v1.37.2 said of the items of a list.
    #[test]
    fn items_are_looked_at_by_their_schema() {
        let text = |json: &str| Value::parse(json).map(|value| validate(&value)).unwrap_or_default();
        assert_eq!(
            text(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"dat":{"x":"y"}}"#),
            ["ValidationError(ConfigMap): unknown field \"dat\" in io.k8s.api.core.v1.ConfigMap"]
        );
        let deployment = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","foo":1},"spec":{"replicas":"x","selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"a","nam":"x","ports":[{"containerPort":"x"}]}]}}}}"#;
        assert_eq!(
            text(deployment),
            [
                "ValidationError(Deployment.metadata): unknown field \"foo\" in io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "ValidationError(Deployment.spec.replicas): invalid type for io.k8s.api.apps.v1.DeploymentSpec.replicas: got \"string\", expected \"integer\"",
                "ValidationError(Deployment.spec.template.spec.containers[0]): unknown field \"nam\" in io.k8s.api.core.v1.Container",
                "ValidationError(Deployment.spec.template.spec.containers[0].ports[0].containerPort): invalid type for io.k8s.api.core.v1.ContainerPort.containerPort: got \"string\", expected \"integer\"",
                "ValidationError(Deployment.spec.template.spec.containers[0]): missing required field \"name\" in io.k8s.api.core.v1.Container",
            ]
        );
        assert!(text(r#"{"apiVersion":"example.com/v1","kind":"Foo","x":1}"#).is_empty());
    }
}
