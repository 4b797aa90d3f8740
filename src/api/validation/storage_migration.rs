//! StorageVersionMigrations (storagemigration's validation).

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::tree::{self, Tree, Write};
use super::{conditions, metadata};
use crate::names;
use crate::object::Ref;

/// A new or changed StorageVersionMigration, or its status.
pub(super) fn check(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        write.metadata(metadata::subdomain, errors);
        return status(write, errors);
    }
    write.whole_metadata(metadata::subdomain, errors);
    let at_spec = &At::new("spec");
    let (resource, at) = (write.new.get("spec").get("resource"), at_spec.child("resource"));
    let (name, at_name) = (resource.get("resource").text(), &at.child("resource"));
    let wrong = names::dns1035_label(name);
    if name.is_empty() {
        errors.required(at_name, "resource is required to be set");
    } else if !wrong.is_empty() {
        errors.invalid(at_name, name, wrong.join(","));
    }
    let group = resource.get("group").text();
    let wrong = names::dns1123_subdomain(group);
    if !group.is_empty() && !wrong.is_empty() {
        errors.invalid(&at.child("group"), group, wrong.join(","));
    }
    if write.before.is_some()
        && write.new.get("spec") != write.old.get("spec")
        && let Some(Ref::Struct(spec)) = write.object.field("spec")
    {
        errors.invalid(at_spec, Internal(spec), IMMUTABLE);
    }
}

fn is_true(status: Tree, kind: &str) -> bool {
    let of_kind = |condition: &Tree| condition.get("type").text() == kind;
    status.get("conditions").items().find(of_kind).is_some_and(|condition| condition.get("status").text() == "True")
}

fn status(write: &Write, errors: &mut Errors) {
    let at = &At::new("status");
    let (new, old) = (write.new.get("status"), write.old.get("status"));
    let (version, at_version) = (new.get("resourceVersion").text(), &at.child("resourceVersion"));
    if let Some(why) = wrong_version(version) {
        errors.invalid(at_version, version, why);
    }
    let at_conditions = &at.child("conditions");
    conditions::conditions(new.get("conditions"), at_conditions, errors);
    let before = old.get("resourceVersion").text();
    if !before.is_empty() && before != version {
        errors.invalid(at_version, version, IMMUTABLE);
    }
    let succeeded = (is_true(old, "Succeeded"), is_true(new, "Succeeded"));
    let failed = (is_true(old, "Failed"), is_true(new, "Failed"));
    for (wrong, why) in [
        (succeeded.1 && failed.1, "Both success and failed conditions cannot be true at the same time"),
        (succeeded == (true, false), "Success condition cannot be set to false once it is true"),
        (failed == (true, false), "Failed condition cannot be set to false once it is true"),
    ] {
        if wrong {
            let shown = tree::find(write.object.field("status"), &["conditions"]);
            errors.invalid(at_conditions, tree::Shown(shown), why);
        }
    }
}

/// What is no resource version (apimachinery's `CompareResourceVersion`).
fn wrong_version(version: &str) -> Option<String> {
    let number = !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) && !version.starts_with('0');
    (!version.is_empty() && !number).then(|| format!("resource version is not well formed: {version}"))
}
