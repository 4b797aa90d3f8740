//! OpenAPI v3 schemas, from the descriptors (k8s.io/kube-openapi, `pkg/builder3` and `pkg/schemaconv`). Descriptions are
//! ours, where there is one; everything else stands as Kubernetes writes it, in its order.

use std::collections::BTreeMap;

use crate::descriptions::Descriptions;
use crate::object::*;
use crate::types::{apiextensions_v1, meta_v1};

const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";
const MICRO_TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
/// The types without a descriptor that have a description.
#[cfg(test)]
pub(crate) const PLAIN: [&str; 4] = [TIME, MICRO_TIME, QUANTITY, INT_OR_STRING];
/// What a patch request carries.
pub const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// The structs of which one field is set: the field that says which, and the others.
const UNIONS: [(&str, &str, &[&str]); 8] = [
    ("core.v1.AppArmorProfile", "type", &["localhostProfile"]),
    ("core.v1.PodSchedulingGroup", "", &["podGroupName"]),
    ("core.v1.SeccompProfile", "type", &["localhostProfile"]),
    ("flowcontrol.v1.LimitResponse", "type", &["queuing"]),
    ("flowcontrol.v1.PriorityLevelConfigurationSpec", "type", &["exempt", "limited"]),
    ("flowcontrol.v1.Subject", "kind", &["group", "serviceAccount", "user"]),
    ("scheduling.v1alpha3.WorkloadPodGroupDisruptionMode", "", &["all", "single"]),
    ("scheduling.v1alpha3.WorkloadPodGroupSchedulingPolicy", "", &["basic", "gang"]),
];

/// A JSON string.
pub fn text(value: &str) -> String {
    crate::json::Value::from(value).to_json()
}

/// A JSON object of fields that are JSON already.
pub fn object<K: AsRef<str>>(fields: &[(K, String)]) -> String {
    let mut out = String::from("{");
    for (key, value) in fields {
        if out.len() > 1 {
            out.push(',');
        }
        out.push('"');
        out.push_str(key.as_ref());
        out.push_str("\":");
        out.push_str(value);
    }
    out.push('}');
    out
}

/// A JSON array of strings.
pub fn texts(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", values.join(","))
}

/// A reference to a schema of the same document.
pub fn reference(name: &str) -> String {
    format!("{{\"$ref\":\"#/components/schemas/{name}\"}}")
}

/// The word with its first letter in upper case.
pub fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), letters.as_str()))
}

/// The schemas of a document: types and all that they are made of.
#[derive(Default)]
pub struct Schemas {
    schemas: BTreeMap<&'static str, String>,
}

impl Schemas {
    /// Adds a type; `group` and `version` are the document's, of which DeleteOptions and WatchEvent are too.
    pub fn add(&mut self, desc: &'static TypeDesc, group: &str, version: &str) {
        if self.schemas.contains_key(desc.name) {
            return;
        }
        self.schemas.insert(desc.name, String::new());
        let schema = self.structure(desc, group, version);
        self.schemas.insert(desc.name, schema);
    }

    /// Adds a type that has no descriptor.
    pub fn add_plain(&mut self, name: &'static str) {
        let schema = match name {
            TIME | MICRO_TIME => r#"{"type":"string","format":"date-time"}"#,
            QUANTITY => r#"{"oneOf":[{"type":"string"},{"type":"number"}]}"#,
            INT_OR_STRING => r#"{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}"#,
            // The types of apiextensions that can be anything.
            name if name.contains(".JSON") => "{}",
            _ => r#"{"type":"object"}"#,
        };
        let described = || match (Descriptions::of(name, false).of_type(), schema.strip_prefix('{')) {
            (Some(told), Some(rest)) => format!("{{\"description\":{},{rest}", text(told)),
            _ => schema.into(),
        };
        self.schemas.entry(name).or_insert_with(described);
    }

    /// The value of `schemas`; none if there is none.
    pub fn into_json(self) -> Option<String> {
        let schemas: Vec<(&str, String)> = self.schemas.into_iter().collect();
        (!schemas.is_empty()).then(|| object(&schemas))
    }

    fn structure(&mut self, desc: &'static TypeDesc, group: &str, version: &str) -> String {
        let told = Descriptions::of(desc.name, desc.kind.is_some());
        let mut schema: Vec<_> = told.of_type().map(|told| ("description", text(told))).into_iter().collect();
        schema.push(("type", text("object")));
        let in_order = desc.order.iter().filter_map(|i| desc.fields.get(usize::from(*i)));
        let required: Vec<&str> = in_order.filter(|f| f.is(REQUIRED)).map(|f| f.name).collect();
        if !required.is_empty() {
            schema.push(("required", texts(&required)));
        }
        if !desc.fields.is_empty() {
            let mut properties = Vec::new();
            for field in desc.fields {
                let told = told.of_field(field.name);
                properties.push((field.name, self.property(desc, field, told, group, version)));
            }
            schema.push(("properties", object(&properties)));
        }
        let mut kinds = Vec::new();
        if let Some(kind) = desc.kind {
            kinds.push((kind.group, kind.version));
        } else if desc == &meta_v1::DELETE_OPTIONS || desc == &meta_v1::WATCH_EVENT {
            kinds.extend([("", "v1"), (group, version)]);
            kinds.dedup();
        }
        if !kinds.is_empty() {
            let name = text(desc.name.rsplit('.').next().unwrap_or(desc.name));
            let kinds: Vec<String> = kinds
                .into_iter()
                .map(|(g, v)| object(&[("group", text(g)), ("kind", name.clone()), ("version", text(v))]))
                .collect();
            schema.push(("x-kubernetes-group-version-kind", format!("[{}]", kinds.join(","))));
        }
        if desc.atomic {
            schema.push(("x-kubernetes-map-type", text("atomic")));
        }
        if let Some((_, by, fields)) = UNIONS.iter().find(|(name, ..)| desc.name.ends_with(name)) {
            let mut union = Vec::new();
            if !by.is_empty() {
                union.push(("discriminator", text(by)));
            }
            let fields: Vec<(&str, String)> = fields.iter().map(|field| (*field, text(&title(field)))).collect();
            union.push(("fields-to-discriminateBy", object(&fields)));
            schema.push(("x-kubernetes-unions", format!("[{}]", object(&union))));
        }
        object(&schema)
    }

    /// What a value of a type refers to, if it does; adds it.
    fn refers(&mut self, ty: &'static Type, field: &FieldDesc, group: &str, version: &str) -> Option<&'static str> {
        let name = match ty {
            Type::Struct(desc) | Type::Ptr(desc) => {
                self.add(desc, group, version);
                return Some(desc.name);
            }
            Type::Time => TIME,
            Type::MicroTime => MICRO_TIME,
            Type::Quantity | Type::OQuantity => QUANTITY,
            Type::IntOrString | Type::OIntOrString => INT_OR_STRING,
            Type::Raw => field.raw()?,
            _ => return None,
        };
        self.add_plain(name);
        Some(name)
    }

    fn property(
        &mut self,
        owner: &TypeDesc,
        field: &'static FieldDesc,
        told: Option<&str>,
        group: &str,
        version: &str,
    ) -> String {
        let mut schema: Vec<_> = told.map(|told| ("description", text(told))).into_iter().collect();
        match self.refers(&field.ty, field, group, version) {
            // Fields without a description refer directly.
            Some(name) if owner == &apiextensions_v1::JSON_SCHEMA_PROPS && field.name != "default" => {
                return reference(name);
            }
            Some(name) => {
                if let Type::Struct(_) = field.ty {
                    schema.push(("default", "{}".into()));
                }
                schema.push(("allOf", format!("[{}]", reference(name))));
            }
            None => schema.extend(self.shape(&field.ty, field, default(field), group, version)),
        }
        if let Some(keys) = field.keys() {
            schema.push(("x-kubernetes-list-map-keys", texts(keys)));
        }
        let types = [(LIST_ATOMIC, "atomic"), (LIST_SET, "set"), (LIST_MAP, "map")];
        schema.extend(words("x-kubernetes-list-type", field, &types));
        let types = [(MAP_ATOMIC, "atomic"), (MAP_GRANULAR, "granular")];
        schema.extend(words("x-kubernetes-map-type", field, &types));
        if let Some(key) = field.merge_key() {
            schema.push(("x-kubernetes-patch-merge-key", text(key)));
        }
        let strategies = [(PATCH_MERGE, "merge"), (PATCH_RETAIN_KEYS, "retainKeys"), (PATCH_REPLACE, "replace")];
        schema.extend(words("x-kubernetes-patch-strategy", field, &strategies));
        object(&schema)
    }

    /// The schema of a value that refers to nothing itself.
    fn shape(
        &mut self,
        ty: &'static Type,
        field: &FieldDesc,
        default: Option<&str>,
        group: &str,
        version: &str,
    ) -> Vec<(&'static str, String)> {
        let (name, format) = match ty {
            Type::List(_) => ("array", ""),
            Type::Map(_) => ("object", ""),
            Type::Bool | Type::OBool => ("boolean", ""),
            Type::I32 | Type::OI32 => ("integer", "int32"),
            Type::I64 | Type::OI64 => ("integer", "int64"),
            Type::OF64 => ("number", "double"),
            Type::Bytes => ("string", "byte"),
            _ => ("string", ""),
        };
        let mut schema = vec![("type", text(name))];
        if !format.is_empty() {
            schema.push(("format", text(format)));
        }
        schema.extend(default.map(|value| ("default", value.to_string())));
        if let Some(element) = ty.element() {
            let schema_of_element = match self.refers(element, field, group, version) {
                Some(name) => reference(name),
                None => object(&self.shape(element, field, None, group, version)),
            };
            schema.push((if name == "array" { "items" } else { "additionalProperties" }, schema_of_element));
        } else if let Some(values) = field.enumeration() {
            schema.push(("enum", texts(values)));
        }
        schema
    }
}

/// An extension that says which flags a field has.
fn words(key: &'static str, field: &FieldDesc, flags: &[(u16, &str)]) -> Option<(&'static str, String)> {
    let words: Vec<&str> = flags.iter().filter(|(flag, _)| field.is(*flag)).map(|(_, word)| *word).collect();
    (!words.is_empty()).then(|| (key, text(&words.join(","))))
}

/// The default of a field: the one that it declares, or Go's zero where that is always written.
fn default(field: &FieldDesc) -> Option<&'static str> {
    field.default().or(match field.ty {
        _ if field.is(OMIT) => None,
        Type::Str => Some("\"\""),
        Type::Bool => Some("false"),
        Type::I32 | Type::I64 => Some("0"),
        _ => None,
    })
}
