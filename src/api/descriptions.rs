//! What OpenAPI says of types and fields, in this project's own words: Kubernetes' sentences are not copied.
//!
//! `descriptions.tsv` has sections. A section begins with `#` and the types that it is about: a name is that of a type in
//! any group or, with some of its group before it, of one; after `*` it is the end of a name, and `*` alone stands for
//! all kinds. What follows a tab is about the type; the other lines are of its fields. The first section that speaks of a
//! field counts. The table is read where it stands, as documents are asked for rarely.

/// The page's build moves it into the world's second half, so it must be named in functions only.
const TABLE: &str = include_str!("descriptions.tsv");

/// The sections that are about a type.
pub(crate) struct Descriptions(Vec<&'static str>);

impl Descriptions {
    /// Those about the type of the name, which is a kind or is not.
    pub fn of(name: &str, kind: bool) -> Descriptions {
        let among = |header: &str| match header.strip_prefix('*') {
            Some("") => kind,
            Some(end) => name.ends_with(end),
            None => name.strip_suffix(header).is_some_and(|rest| rest.ends_with('.')),
        };
        let header = |section: &'static str| section.split(['\t', '\n']).next().unwrap_or_default();
        Descriptions(TABLE.split('#').filter(|section| header(section).split(' ').any(among)).collect())
    }

    /// That of the type.
    pub fn of_type(&self) -> Option<&'static str> {
        self.0.iter().find_map(|section| Some(section.lines().next()?.split_once('\t')?.1))
    }

    /// That of a field.
    pub fn of_field(&self, name: &str) -> Option<&'static str> {
        let rows = self.0.iter().flat_map(|section| section.lines().skip(1));
        rows.filter_map(|row| row.split_once('\t')).find(|(field, _)| *field == name).map(|(_, text)| text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::object::TypeDesc;
    use crate::scheme::resources;

    fn walk(desc: &'static TypeDesc, types: &mut BTreeMap<&'static str, Option<&'static TypeDesc>>) {
        if types.insert(desc.name, Some(desc)).is_none() {
            for field in desc.fields {
                if let Some(inner) = field.ty.element_desc() {
                    walk(inner, types);
                }
            }
        }
    }

    /// All types that documents can have; those without a descriptor too.
    fn types() -> BTreeMap<&'static str, Option<&'static TypeDesc>> {
        let mut types = BTreeMap::new();
        for kind in resources() {
            walk(kind.desc, &mut types);
            if let Some(list) = kind.list() {
                walk(list.desc, &mut types);
            }
        }
        types.extend(crate::openapi::PLAIN.map(|name| (name, None)));
        types
    }

    #[test]
    fn rows_name_what_exists() {
        let types = types();
        for section in TABLE.split('#').skip(1) {
            let header = section.lines().next().unwrap().split('\t').next().unwrap();
            let mut about = Vec::new();
            for name in header.split(' ') {
                let before = about.len();
                about.extend(types.iter().filter(|(full, desc)| match name.strip_prefix('*') {
                    Some("") => desc.is_some_and(|desc| desc.kind.is_some()),
                    Some(end) => full.ends_with(end),
                    None => full.ends_with(&format!(".{name}")),
                }));
                assert!(about.len() > before, "no type {name}");
            }
            let mut rows = section.lines().skip(1).peekable();
            assert!(rows.peek().is_some() || section.contains('\t'), "nothing about {header}");
            for (field, _) in rows.map(|row| row.split_once('\t').unwrap()) {
                let has = |desc: &Option<&TypeDesc>| desc.is_some_and(|desc| desc.field(field).is_some());
                assert!(about.iter().any(|(_, desc)| has(desc)), "{header} has no field {field}");
            }
            let mut fields: Vec<&str> = section.lines().skip(1).filter_map(|row| row.split('\t').next()).collect();
            fields.sort_unstable();
            assert!(fields.is_sorted_by(|a, b| a < b), "{header} has a field twice");
        }
    }

    #[test]
    fn rows_are_sentences() {
        assert!(TABLE.len() < 36_000, "{} bytes", TABLE.len());
        for row in TABLE.lines() {
            let Some((_, text)) = row.split_once('\t') else {
                assert!(row.starts_with('#'), "{row}");
                continue;
            };
            assert!(!text.is_empty() && text.len() <= 300 && text.is_ascii(), "{row}");
            assert!(text.trim() == text && text.ends_with('.') && !text.contains(['\t', '#']), "{row}");
        }
    }

    #[test]
    fn found() {
        let pod = Descriptions::of("io.k8s.api.core.v1.Pod", true);
        assert!(pod.of_type().unwrap().starts_with("One or more containers"));
        assert_eq!(pod.of_field("kind"), Some("Name of the object's type, such as Pod."));
        assert_eq!(pod.of_field("nope"), None);
        // What is about no kind has no kind's fields, and a name must be whole.
        let reference = Descriptions::of("io.k8s.api.core.v1.TypedLocalObjectReference", false);
        assert_eq!((reference.of_type(), reference.of_field("kind")), (None, None));
        let list = Descriptions::of("io.k8s.api.core.v1.PodList", true);
        assert_eq!(list.of_field("items"), Some("The objects."));
    }
}
