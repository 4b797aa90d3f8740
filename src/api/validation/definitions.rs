//! CustomResourceDefinitions (apiextensions' validation). CEL rules are not compiled.
//!
//! The server holds what all versions share in the spec itself, and what is wrong with it is said of
//! `spec.validation`, `spec.subresources`, `spec.additionalPrinterColumns` and `spec.selectableFields`.

use super::at::{At, Errors, IMMUTABLE};
use super::metadata;
use super::schemas;
use super::tree::{Tree, Write};
use super::webhooks::{webhook_service, webhook_url};
use crate::json::Value;
use crate::{field, go, names};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const APPROVED: &str = "api-approved.kubernetes.io";
const WARNING_MAX: usize = 256;
const SELECTABLE_MAX: usize = 8;

/// Parts of a version that stand in the spec where all versions have the same: JSON name there, and in a version.
const SHARED: [(&str, &str); 4] = [
    ("validation", "schema"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Whether all versions have the same.
fn is_shared(spec: Tree, part: &str) -> bool {
    let mut versions = spec.get("versions").items().map(|version| version.get(part));
    versions.next().is_none_or(|first| versions.all(|other| other == first))
}

/// A new or changed CustomResourceDefinition, or its status.
pub(super) fn check(write: &Write, errors: &mut Errors) {
    let status = write.new.get("status");
    if write.is_status() {
        write.metadata(metadata::rbac, errors);
        let at = At::new("status");
        return names_of(status.get("acceptedNames"), &at.child("acceptedNames"), errors);
    }
    let (new, old) = (write.new.get("spec"), write.old.get("spec"));
    let name = write.new.get("metadata").get("name").text();
    if write.before.is_some() {
        write.metadata(metadata::rbac, errors);
    } else {
        write.whole_metadata(metadata::subdomain, errors);
        if name != format!("{}.{}", new.get("names").get("plural").text(), new.get("group").text()) {
            let at = At::new("metadata");
            errors.invalid(&at.child("name"), name, "must be spec.names.plural+\".\"+spec.group");
        }
    }
    let at = &At::new("spec");
    spec(new, at, errors);
    if write.before.is_some() {
        let established =
            write.old.get("status").get("conditions").items().any(|condition| {
                condition.get("type").text() == "Established" && condition.get("status").text() == "True"
            });
        let mut fixed = |now: Tree, before: Tree, at: &At| {
            if now != before {
                errors.invalid(at, now.text(), IMMUTABLE);
            }
        };
        let at_names = &at.child("names");
        let names = (new.get("names"), old.get("names"));
        if established {
            fixed(new.get("scope"), old.get("scope"), &at.child("scope"));
            fixed(names.0.get("kind"), names.1.get("kind"), &at_names.child("kind"));
        }
        fixed(new.get("group"), old.get("group"), &at.child("group"));
        fixed(names.0.get("plural"), names.1.get("plural"), &at_names.child("plural"));
    }
    let at_status = &At::new("status");
    names_of(status.get("acceptedNames"), &at_status.child("acceptedNames"), errors);
    stored_versions(write, &at_status.child("storedVersions"), errors);
    approval(write, errors);
    if new.get("preserveUnknownFields").is_true() && !old.get("preserveUnknownFields").is_true() {
        let why =
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.invalid(&at.child("preserveUnknownFields"), true, why);
    }
}

fn schema(version: Tree<'_>) -> Tree<'_> {
    version.get("schema").get("openAPIV3Schema")
}

fn spec(spec: Tree, at: &At, errors: &mut Errors) {
    let (group, at_group) = (spec.get("group").text(), &at.child("group"));
    let wrong = names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.required(at_group, "");
    } else if !wrong.is_empty() {
        errors.invalid(at_group, group, wrong.join(","));
    } else if !group.contains('.') {
        errors.invalid(at_group, group, "should be a domain with at least one dot");
    }
    errors.required_one_of(&at.child("scope"), spec.get("scope").text(), &["Cluster", "Namespaced"]);
    let versions: Vec<Tree> = spec.get("versions").items().collect();
    let at_versions = &at.child("versions");
    for (i, _) in versions.iter().enumerate().filter(|(_, version)| !schema(**version).exists()) {
        errors.required(&at_versions.index(i).child("schema").child("openAPIV3Schema"), "");
    }
    if spec.get("preserveUnknownFields").is_true()
        && versions.iter().any(|version| schemas::has_default(schema(*version)))
    {
        let why = "must be false in order to use defaults in the schema";
        errors.invalid(&at.child("preserveUnknownFields"), true, why);
    }
    let shared = SHARED.map(|(_, part)| is_shared(spec, part));
    let has_status = |version: &Tree| version.get("subresources").get("status").exists();
    for (i, version) in versions.iter().enumerate() {
        let at = &at_versions.index(i);
        let name = version.get("name").text();
        let wrong = names::dns1035_label(name);
        if !wrong.is_empty() {
            errors.invalid(&at.child("name"), name, wrong.join(","));
        }
        deprecation(*version, at, errors);
        parts(*version, has_status(version), shared.map(|shared| !shared), SHARED.map(|(_, part)| part), at, errors);
    }
    let names: Vec<&str> = versions.iter().map(|version| version.get("name").text()).collect();
    if names.iter().enumerate().any(|(i, name)| names.iter().take(i).any(|before| before == name)) {
        wrong_versions(&versions, shared, "must contain unique version names", at_versions, errors);
    }
    if versions.iter().filter(|version| version.get("storage").is_true()).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        wrong_versions(&versions, shared, why, at_versions, errors);
    }
    if let Some(first) = names.first() {
        let wrong = names::dns1035_label(first);
        if !first.is_empty() && !wrong.is_empty() {
            errors.invalid(&at.child("version"), *first, wrong.join(","));
        }
    }
    let at_names = &at.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        errors.need(&at_names.child(name), spec.get("names").get(name).text());
    }
    names_of(spec.get("names"), at_names, errors);
    if let Some(first) = versions.first() {
        parts(*first, versions.iter().any(has_status), shared, SHARED.map(|(part, _)| part), at, errors);
    }
    conversion(spec.get("conversion"), spec.get("preserveUnknownFields").is_true(), &at.child("conversion"), errors);
}

/// The versions as the server holds them.
fn wrong_versions(versions: &[Tree], shared: [bool; 4], why: &str, at: &At, errors: &mut Errors) {
    let [schema, subresources, columns, selectable] = shared;
    let part = |version: &Tree, name: &str, shared: bool| match shared {
        true => Value::Null.to_json(),
        false => version.get(name).value().to_json(),
    };
    let shown: Vec<String> = versions
        .iter()
        .map(|version| {
            format!(
                r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
                Value::from(version.get("name").text()).to_json(),
                version.get("served").is_true(),
                version.get("storage").is_true(),
                version.get("deprecated").is_true(),
                version.get("deprecationWarning").value().to_json(),
                part(version, "schema", schema),
                part(version, "subresources", subresources),
                part(version, "additionalPrinterColumns", columns),
                part(version, "selectableFields", selectable),
            )
        })
        .collect();
    let mut error = field::invalid(&at.path(), "", why);
    error.value = Some(format!("[{}]", shown.join(",")));
    errors.push(error);
}

/// The parts of a version that stand at this place, under these names.
fn parts(version: Tree, has_status: bool, here: [bool; 4], as_: [&str; 4], at: &At, errors: &mut Errors) {
    let [schema, subresources, columns, selectable] = here;
    let root = self::schema(version);
    if schema && root.exists() {
        schemas::check(root, has_status, &at.child(as_[0]), errors);
    }
    if subresources {
        scale(version.get("subresources").get("scale"), &at.child(as_[1]), errors);
    }
    let at_columns = &at.child(as_[2]);
    for (i, column) in version.get("additionalPrinterColumns").items().enumerate().filter(|_| columns) {
        self::column(column, &at_columns.index(i), errors);
    }
    if selectable && !version.get("selectableFields").is_empty() {
        selectable_fields(version.get("selectableFields"), root, &at.child(as_[3]), errors);
    }
}

fn deprecation(version: Tree, at: &At, errors: &mut Errors) {
    let Some(warning) = version.get("deprecationWarning").optional_text() else { return };
    let at = &at.child("deprecationWarning");
    if !version.get("deprecated").is_true() {
        return errors.invalid(at, warning, "can only be set for deprecated versions");
    }
    if warning.len() > WARNING_MAX {
        errors.invalid(at, warning, format!("must be <= {WARNING_MAX} characters long"));
    }
    if warning.is_empty() {
        errors.invalid(at, warning, "must not be an empty string");
    }
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        let why = "must only contain printable UTF-8 characters; non-printable character found at index";
        errors.invalid(at, warning, format!("{why} {i}"));
    }
}

fn names_of(names: Tree, at: &At, errors: &mut Errors) {
    let mut label = |field: &str, lower: bool, at: &At| {
        let name = names.get(field).text();
        let wrong = names::dns1035_label(&if lower { name.to_lowercase() } else { name.to_string() });
        if !name.is_empty() && !wrong.is_empty() {
            let before = if lower { "may have mixed case, but should otherwise match: " } else { "" };
            errors.invalid(at, name, format!("{before}{}", wrong.join(",")));
        }
    };
    for (field, lower) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        label(field, lower, &at.child(field));
    }
    let each = |field: &str, errors: &mut Errors| {
        let at = at.child(field);
        for (i, name) in names.get(field).texts().into_iter().enumerate() {
            let wrong = names::dns1035_label(name);
            if !wrong.is_empty() {
                errors.invalid(&at.index(i), name, wrong.join(","));
            }
        }
    };
    each("shortNames", errors);
    let (kind, list) = (names.get("kind").text(), names.get("listKind").text());
    if !kind.is_empty() && kind == list {
        errors.invalid(&at.child("listKind"), list, "kind and listKind may not be the same");
    }
    each("categories", errors);
}

fn column(column: Tree, at: &At, errors: &mut Errors) {
    errors.need(&at.child("name"), column.get("name").text());
    let (kind, at_kind) = (column.get("type").text(), &at.child("type"));
    let one_of = |valid: &[&str]| format!("must be one of {}", valid.join(","));
    if kind.is_empty() {
        errors.required(at_kind, one_of(&COLUMN_TYPES));
    } else if !COLUMN_TYPES.contains(&kind) {
        errors.invalid(at_kind, kind, one_of(&COLUMN_TYPES));
    }
    let format = column.get("format").text();
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
        errors.invalid(&at.child("format"), format, one_of(&COLUMN_FORMATS));
    }
    let (path, at) = (column.get("jsonPath").text(), &at.child("JSONPath"));
    if path.is_empty() {
        errors.required(at, "");
    } else {
        simple_path(path, at, errors);
    }
}

fn simple_path(path: &str, at: &At, errors: &mut Errors) -> bool {
    let simple = path.starts_with('.');
    if !simple {
        errors.invalid(at, path, "must be a simple json path starting with .");
    }
    simple
}

fn scale(scale: Tree, at: &At, errors: &mut Errors) {
    if !scale.exists() {
        return;
    }
    let at = at.child("scale");
    for (field, under) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (path, at) = (scale.get(field).text(), &at.child(field));
        if path.is_empty() {
            errors.required(at, "");
        } else if simple_path(path, at, errors) && !path.starts_with(&format!("{under}.")) {
            errors.invalid(at, path, format!("should be a json path under {under}"));
        }
    }
    let (path, at) = (scale.get("labelSelectorPath").text(), &at.child("labelSelectorPath"));
    if !path.is_empty() && simple_path(path, at, errors) && !path.starts_with(".spec.") && !path.starts_with(".status.")
    {
        errors.invalid(at, path, "should be a json path under either .spec or .status");
    }
}

fn selectable_fields(fields: Tree, schema: Tree, at: &At, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, field) in fields.items().enumerate() {
        let (path, at) = (field.get("jsonPath").text(), at.index(i));
        let at = &at.child("jsonPath");
        if path.is_empty() {
            errors.required(at, "");
            continue;
        }
        let found = match schemas::at_path(schema, path) {
            Ok(found) => found,
            Err(why) => {
                errors.invalid(at, path, format!("is an invalid path: {why}"));
                continue;
            }
        };
        if path.starts_with(".metadata") {
            errors.invalid(at, path, "must not point to fields in metadata");
        }
        if !matches!(found.get("type").text(), "string" | "boolean" | "integer") {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.invalid(at, path, why);
        }
        if seen.contains(&path) {
            errors.duplicate(at, path);
        } else {
            seen.push(path);
        }
    }
    if seen.len() > SELECTABLE_MAX {
        errors.too_many(at, seen.len(), SELECTABLE_MAX);
    }
}

fn conversion(conversion: Tree, preserves: bool, at: &At, errors: &mut Errors) {
    if !conversion.exists() {
        return;
    }
    let (strategy, at_strategy) = (conversion.get("strategy").text(), &at.child("strategy"));
    if strategy != "None" && preserves {
        errors.invalid(at_strategy, strategy, "must be None if spec.preserveUnknownFields is true");
    }
    errors.required_one_of(at_strategy, strategy, &["None", "Webhook"]);
    let webhook = conversion.get("webhook");
    let (client, at_client) = (webhook.get("clientConfig"), &at.child("webhookClientConfig"));
    let (versions, at_versions) = (webhook.get("conversionReviewVersions"), &at.child("conversionReviewVersions"));
    if strategy != "Webhook" {
        const NOT_NEEDED: &str = "should not be set when strategy is not set to Webhook";
        if client.exists() {
            errors.forbidden(at_client, NOT_NEEDED);
        }
        if !versions.is_empty() {
            errors.forbidden(at_versions, NOT_NEEDED);
        }
        return;
    }
    if !client.exists() {
        errors.required(at_client, "required when strategy is set to Webhook");
    } else {
        match (client.get("url").optional_text(), client.get("service").exists()) {
            (Some(url), false) => webhook_url(url, &at_client.child("url"), errors),
            (None, true) => webhook_service(client.get("service"), &at_client.child("service"), errors),
            _ => errors.required(at_client, "exactly one of url or service is required"),
        }
    }
    let texts = versions.texts();
    if texts.is_empty() {
        return errors.required(at_versions, "");
    }
    for (i, version) in texts.iter().enumerate() {
        if texts.iter().take(i).any(|before| before == version) {
            errors.invalid(&at_versions.index(i), *version, "duplicate version");
        } else {
            errors.each(&at_versions.index(i), version, names::dns1035_label(version));
        }
    }
    if !texts.iter().any(|version| REVIEW_VERSIONS.contains(version)) {
        errors.invalid(at_versions, versions, format!("must include at least one of {}", REVIEW_VERSIONS.join(", ")));
    }
}

/// Versions that objects may be stored in; a new definition has its storage version.
fn stored_versions(write: &Write, at: &At, errors: &mut Errors) {
    let versions: Vec<Tree> = write.new.get("spec").get("versions").items().collect();
    let name = |version: &Tree| version.get("name").value().clone();
    let storage = versions.iter().find(|version| version.get("storage").is_true());
    let mut stored: Vec<Value> = match write.before {
        Some(_) => write.new.get("status").get("storedVersions").items().map(|v| v.value().clone()).collect(),
        None => Vec::new(),
    };
    // The server has noted the storage version before it looks.
    if let Some(name) = storage.map(name)
        && !stored.contains(&name)
    {
        stored.push(name);
    }
    let shown = if stored.is_empty() { Value::Null } else { Value::from(stored.clone()) };
    if stored.is_empty() {
        return errors.invalid(at, shown, "must have at least one stored version");
    }
    let all = stored.clone();
    for version in &versions {
        let known = stored.iter().position(|stored| *stored == name(version));
        match known {
            Some(known) => {
                stored.remove(known);
            }
            None if version.get("storage").is_true() => {
                let why = format!("must have the storage version {}", version.get("name").text());
                errors.invalid(at, shown.clone(), why);
            }
            None => {}
        }
    }
    for left in &stored {
        let i = all.iter().position(|stored| stored == left).unwrap_or_default();
        let name = left.as_str().unwrap_or_default();
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.invalid(&at.index(i), name, why);
    }
}

fn approved(object: Tree<'_>) -> &str {
    object.get("metadata").get("annotations").get(APPROVED).text()
}

/// Kubernetes' own groups need somebody's approval.
fn approval(write: &Write, errors: &mut Errors) {
    let group = write.new.get("spec").get("group").text();
    let protected = |of: &str| group == of || group.ends_with(&format!(".{of}"));
    if !protected("k8s.io") && !protected("kubernetes.io") {
        return;
    }
    let value = approved(write.new);
    if write.before.is_some() && approved(write.old) == value {
        return;
    }
    let at = At::new("metadata");
    let at = at.child("annotations");
    let at = &at.key(APPROVED);
    let quoted = go::quote(APPROVED);
    if value.is_empty() {
        let why = format!(
            "protected groups must have approval annotation {quoted}, see https://github.com/kubernetes/enhancements/pull/1111"
        );
        errors.required(at, why);
    } else if !value.starts_with("unapproved") && !value.contains("://") {
        let why = format!(
            "protected groups must have approval annotation {quoted} with either a URL or a reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111"
        );
        errors.invalid(at, value, why);
    }
}
