//! APIServices (kube-aggregator's validation).

use super::at::{At, Errors};
use super::metadata;
use super::tree::Write;
use crate::names;

/// A new or changed APIService, or its status.
pub(super) fn check(write: &Write, errors: &mut Errors) {
    if write.is_status() {
        write.metadata(metadata::rbac, errors);
        let status = At::new("status");
        let at = status.child("conditions");
        for (i, condition) in write.new.get("status").get("conditions").items().enumerate() {
            let text = condition.get("status").text();
            errors.one_of(&at.index(i).child("status"), text, &["True", "False", "Unknown"]);
        }
        return;
    }
    write.whole_metadata(metadata::rbac, errors);
    let (spec, at) = (write.new.get("spec"), &At::new("spec"));
    let (group, version) = (spec.get("group").text(), spec.get("version").text());
    let name = write.new.get("metadata").get("name").text();
    let required = format!("{version}.{group}");
    if !name.is_empty() && names::path_segment(name).is_empty() && name != required {
        let why = format!("must be `spec.version+\".\"+spec.group`: {}", crate::go::quote(&required));
        errors.invalid(&At::new("metadata").child("name"), name, why);
    }
    let at_group = &at.child("group");
    if group.is_empty() {
        if version != "v1" {
            errors.required(at_group, "only v1 may have an empty group and it better be legacy kube");
        }
    } else {
        errors.each(at_group, group, names::dns1123_subdomain(group));
    }
    errors.each(&at.child("version"), version, names::dns1035_label(version));
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = spec.get(field).int();
        if !(1..=most).contains(&priority) {
            errors.invalid(&at.child(field), priority, format!("must be positive and less than {most}"));
        }
    }
    let (bundle, insecure) = (spec.get("caBundle").text(), spec.get("insecureSkipTLSVerify").is_true());
    let at_insecure = &at.child("insecureSkipTLSVerify");
    let service = spec.get("service");
    if !service.exists() {
        if !bundle.is_empty() {
            let size = crate::value::unbase64(bundle.as_bytes()).map_or(0, |bytes| bytes.len());
            let why = "local APIServices may not have a caBundle";
            errors.invalid(&at.child("caBundle"), format!("{size} bytes"), why);
        }
        if insecure {
            errors.invalid(at_insecure, true, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    }
    let at_service = at.child("service");
    errors.need(&at_service.child("namespace"), service.get("namespace").text());
    errors.need(&at_service.child("name"), service.get("name").text());
    let port = service.get("port").int();
    let wrong = names::port_number(port);
    if !wrong.is_empty() {
        errors.invalid(&at_service.child("port"), port, format!("port is not valid: {}", wrong.join(", ")));
    }
    if insecure && !bundle.is_empty() {
        errors.invalid(at_insecure, true, "may not be true if caBundle is present");
    }
}
