//! PodCertificateRequests (certificates' validation). Keys, signatures and issued certificates are not looked into.

use super::at::{At, Errors, IMMUTABLE};
use super::tree::{Tree, Write};
use super::{certificates, conditions, metadata};
use crate::field;
use crate::names;

const UID_MAX: usize = 128;
const ANNOTATIONS_MAX: usize = 256 * 1024;
/// An hour, a day and 91 days, in seconds.
const SHORTEST: i64 = 3600;
const LONGEST_OF_KUBERNETES: i64 = 86_400;
const LONGEST: i64 = 91 * 86_400;
const KNOWN: [&str; 3] = ["Issued", "Denied", "Failed"];

/// A new or changed PodCertificateRequest, or its status.
pub(super) fn check(write: &Write, errors: &mut Errors) {
    let spec = write.new.get("spec");
    if write.is_status() {
        write.metadata(metadata::subdomain, errors);
        return status(write, errors);
    }
    if write.before.is_some() {
        write.metadata(metadata::subdomain, errors);
        if spec != write.old.get("spec")
            && let Some(crate::object::Ref::Struct(spec)) = write.object.field("spec")
        {
            errors.invalid(&At::new("spec"), super::internal::Internal(spec), IMMUTABLE);
        }
        return;
    }
    write.whole_metadata(metadata::subdomain, errors);
    create(spec, &At::new("spec"), errors);
}

/// An error that shows no value.
fn wrong(at: &At, why: &str, errors: &mut Errors) {
    let mut error = field::invalid(&at.path(), "", why);
    error.value = None;
    errors.push(error);
}

fn create(spec: Tree, at: &At, errors: &mut Errors) {
    let signer = spec.get("signerName").text();
    certificates::signer_name(signer, &at.child("signerName"), errors);
    let annotations = spec.get("unverifiedUserAnnotations");
    let at_annotations = &at.child("unverifiedUserAnnotations");
    let mut size = 0;
    for (key, value) in annotations.entries() {
        size += key.len() + value.text().len();
        let key = key.to_lowercase();
        domain_prefixed(&key, at_annotations, errors);
    }
    if size > ANNOTATIONS_MAX {
        errors.too_long(at_annotations, ANNOTATIONS_MAX);
    }
    for (name, uid) in [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")] {
        let text = spec.get(name).text();
        errors.each(&at.child(name), text, names::dns1123_subdomain(text));
        let (text, at) = (spec.get(uid).text(), &at.child(uid));
        if text.is_empty() {
            errors.invalid(at, text, "must not be empty");
        }
        if text.len() > UID_MAX {
            errors.too_long(at, UID_MAX);
        }
    }
    let at_seconds = &at.child("maxExpirationSeconds");
    let Some(seconds) = spec.get("maxExpirationSeconds").optional_int() else {
        return errors.required(at_seconds, "must be set");
    };
    let of_kubernetes =
        signer.split('/').next().is_some_and(|domain| domain == "kubernetes.io" || domain.ends_with(".kubernetes.io"));
    let longest = if of_kubernetes { LONGEST_OF_KUBERNETES } else { LONGEST };
    if !(SHORTEST..=longest).contains(&seconds) {
        errors.invalid(at_seconds, seconds, format!("must be in the range [{SHORTEST}, {longest}]"));
    }
    let given = |field| !spec.get(field).text().is_empty();
    match (given("stubPKCS10Request"), given("pkixPublicKey"), given("proofOfPossession")) {
        (true, false, false) => {
            let bytes = crate::value::unbase64(spec.get("stubPKCS10Request").text().as_bytes()).unwrap_or_default();
            let sequence = crate::certificate_request::SEQUENCE;
            if crate::certificate_request::expect(&bytes, sequence).is_none() {
                wrong(&at.child("stubPKCS10Request"), "must be a valid PKCS#10 CSR", errors);
            }
        }
        (false, true, true) => {}
        _ => {
            let why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            wrong(at, why, errors);
        }
    }
}

/// `acme.io/foo` (`IsDomainPrefixedKey`)
fn domain_prefixed(key: &str, at: &At, errors: &mut Errors) {
    if !key.contains('/') && !key.is_empty() {
        errors.invalid(at, key, "must be a domain-prefixed key (such as \"acme.io/foo\")");
    }
    if key.is_empty() {
        errors.required(at, "");
    } else if key.contains('/') {
        errors.each(at, key, names::qualified_name(key));
    }
}

fn status(write: &Write, errors: &mut Errors) {
    let before = errors.len();
    let (new, old) = (write.new.get("status"), write.old.get("status"));
    let at = At::new("status");
    let at_conditions = &at.child("conditions");
    let mut known = 0;
    for (i, condition) in new.get("conditions").items().enumerate() {
        let at = &at_conditions.index(i);
        let (kind, truth) = (condition.get("type").text(), condition.get("status").text());
        if KNOWN.contains(&kind) {
            known += 1;
            if known > 1 {
                let why = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
                errors.invalid(&at.child("type"), kind, why);
            }
            errors.one_of(&at.child("status"), truth, &["True"]);
        } else {
            errors.not_supported(&at.child("type"), kind, &KNOWN);
        }
    }
    conditions::conditions(new.get("conditions"), at_conditions, errors);
    if errors.len() != before {
        return;
    }
    let ended = |status: Tree| status.get("conditions").items().any(|c| KNOWN.contains(&c.get("type").text()));
    if ended(old) && new != old {
        let why = "immutable after PodCertificateRequest is issued, denied, or failed";
        errors.invalid(&at, new, why);
    }
}
