//! Kubernetes' internal types, as they show in errors: the server holds objects in structs without JSON tags, so a
//! struct printed in an error has Go's names for its fields, every one of them, in the order of the Go source
//! (pkg/apis/*/types.go).

mod table;

use crate::object::{Object, Ref, TypeDesc};

/// One field of an internal struct.
pub(crate) enum Field<'a> {
    /// A field by its Go name; None is a pointer that the versioned type has no field for.
    Named(&'static str, Option<Ref<'a>>),
    /// A struct whose fields stand among these.
    Embedded(&'a dyn Object),
}

/// The fields of a struct as its internal type has them; None for types that are the same inside and outside
/// (`LabelSelector`, `ObjectMeta`).
pub(crate) fn fields(object: &dyn Object) -> Option<impl Iterator<Item = Field<'_>>> {
    let layout = layout(object.desc())?;
    Some(layout.split(' ').filter(|name| !name.is_empty()).filter_map(move |name| match name.split_once('=') {
        None if name == "+metadata" => match object.field("metadata")? {
            Ref::Struct(meta) => Some(Field::Embedded(meta)),
            _ => None,
        },
        None => Some(Field::Named(name, Some(by_first_letter(object, name)?))),
        Some((go, "")) => Some(Field::Named(go, None)),
        Some((go, json)) => Some(Field::Named(go, Some(object.field(json)?))),
    }))
}

fn layout(desc: &TypeDesc) -> Option<&'static str> {
    let at = table::LAYOUTS.binary_search_by(|(go, _)| (*go).cmp(desc.go())).ok()?;
    table::LAYOUTS.get(at).map(|(_, layout)| *layout)
}

/// The field whose name is the same but for a small first letter.
fn by_first_letter<'a>(object: &'a dyn Object, go: &str) -> Option<Ref<'a>> {
    let mut chars = go.chars();
    let first = chars.next()?.to_ascii_lowercase();
    object.field(&format!("{first}{}", chars.as_str()))
}

/// Compact JSON of an internal struct.
pub fn encode(object: &dyn Object) -> String {
    encoded(object, 0)
}

/// JSON of an internal struct, a field a line, indented by one blank a level.
pub fn encode_pretty(object: &dyn Object) -> String {
    encoded(object, 1)
}

/// As [`encode_pretty`], of an embedded struct alone: of the fields with those JSON names.
pub fn encode_part_pretty(object: &dyn Object, names: &[&str]) -> String {
    let mut part = object.boxed();
    for field in object.desc().fields.iter().filter(|f| !names.contains(&f.name)) {
        part.reset(field.name);
    }
    let whole = encode_pretty(&*part);
    let others: Vec<String> = layout(object.desc())
        .unwrap_or_default()
        .split(' ')
        .filter_map(|name| {
            let (go, json) = match name.split_once('=') {
                Some((go, json)) => (go, json.to_string()),
                None => {
                    let mut chars = name.chars();
                    (name, chars.next().map(|c| c.to_ascii_lowercase()).into_iter().chain(chars).collect())
                }
            };
            (!names.contains(&&*json)).then(|| format!(" \"{go}\": "))
        })
        .collect();
    // The other fields are zero, so each is one line.
    let mut lines: Vec<&str> =
        whole.lines().filter(|line| !others.iter().any(|other| line.starts_with(other.as_str()))).collect();
    let last = lines.len().saturating_sub(2);
    let trimmed = lines.get(last).map(|line| line.trim_end_matches(','));
    if let (Some(line), Some(trimmed)) = (lines.get_mut(last), trimmed) {
        *line = trimmed;
    }
    lines.join("\n")
}

fn encoded(object: &dyn Object, indent: usize) -> String {
    let mut encoder = crate::json::Encoder::new(crate::json::Order::Internal, indent);
    encoder.object(object);
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_v1::{PodTemplateSpec, Probe, ServicePort, Taint};

    #[test]
    fn sorted() {
        assert!(table::LAYOUTS.is_sorted_by_key(|(go, _)| go));
    }

    #[test]
    fn named_as_in_go() {
        let port = ServicePort { protocol: "TCP".into(), port: 80, ..Default::default() };
        assert_eq!(
            encode(&port),
            r#"{"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#
        );
        let taint = Taint { key: "k".into(), effect: "NoSchedule".into(), ..Default::default() };
        assert_eq!(encode(&taint), r#"{"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}"#);
        let probe = encode_pretty(&Probe::default());
        assert!(probe.starts_with("{\n \"Exec\": null,\n \"HTTPGet\": null,\n"), "{probe}");
        let mut template = PodTemplateSpec::default();
        template.metadata.labels.insert("app", "web".into());
        assert!(
            encode(&template).starts_with(r#"{"labels":{"app":"web"},"Spec":{"Volumes":null,"InitContainers":null,"#)
        );
    }
}
