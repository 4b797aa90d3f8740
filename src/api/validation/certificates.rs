//! CertificateSigningRequests (certificates' validation). No Rust struct describes the kind: it is looked at as JSON.

use super::at::{At, Errors};
use super::metadata;
use crate::json::{self, Value};
use crate::value::unbase64;
use crate::{Object, certificate_request, names};

/// The signer of requests from before signers had names.
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
/// Shortest life of a certificate, in seconds.
const SHORTEST: i64 = 600;
/// What a key may be used for, sorted.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
/// Conditions that say what became of the request; they can only be true.
const VERDICTS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// Whether the object is such a request.
pub(super) fn is_signing_request(object: &dyn Object) -> bool {
    object
        .kind_info()
        .is_some_and(|kind| kind.group == "certificates.k8s.io" && kind.kind == "CertificateSigningRequest")
}

fn any_name(_: &str, _: bool) -> Vec<String> {
    Vec::new()
}

fn items<'a>(value: &'a Value, path: &[&str]) -> Vec<&'a Value> {
    value.at(path).and_then(Value::as_array).map(|array| array.iter().collect()).unwrap_or_default()
}

fn conditions(request: &Value) -> Vec<&Value> {
    items(request, &["status", "conditions"])
}

/// A new request.
pub(super) fn create(object: &dyn Object, errors: &mut Errors) {
    check(object, &json::to_value_bare(object), None, errors);
}

/// A changed request; `subresource` is empty, `status` or `approval`.
pub(super) fn update(subresource: &str, new: &dyn Object, old: &dyn Object, errors: &mut Errors) {
    let (request, was) = (json::to_value_bare(new), json::to_value_bare(old));
    check(new, &request, Some(&was), errors);
    let of = |request: &Value, kind: &str| -> Vec<Value> {
        conditions(request).into_iter().filter(|condition| condition.str_at(&["type"]) == kind).cloned().collect()
    };
    let status = At::new("status");
    let at = &status.child("conditions");
    for kind in VERDICTS {
        if of(&request, kind).len() < of(&was, kind).len() {
            errors.forbidden(at, format!("updates may not remove a condition of type {}", crate::go::quote(kind)));
        }
    }
    if subresource != "approval" {
        for kind in ["Approved", "Denied"] {
            let (now, before) = (of(&request, kind), of(&was, kind));
            let kind = crate::go::quote(kind);
            if now.len() > before.len() {
                errors.forbidden(at, format!("updates may not add a condition of type {kind}"));
            } else if now.len() == before.len() && now != before {
                errors.forbidden(at, format!("updates may not modify a condition of type {kind}"));
            }
        }
    }
    let certificate = |request: &Value| request.str_at(&["status", "certificate"]).to_string();
    let (now, before) = (certificate(&request), certificate(&was));
    if now != before {
        let at = &status.child("certificate");
        if subresource != "status" {
            errors.forbidden(at, "updates may not set certificate content");
        } else if !before.is_empty() {
            errors.forbidden(at, "updates may not modify existing certificate content");
        }
    }
    if let (Some(new), Some(old)) = (new.metadata(), old.metadata()) {
        metadata::update(new, old, errors);
    }
}

fn check(object: &dyn Object, request: &Value, old: Option<&Value>, errors: &mut Errors) {
    if let Some(meta) = object.metadata() {
        metadata::create(meta, false, any_name, errors);
    }
    let spec = &At::new("spec");
    let encoded = request.str_at(&["spec", "request"]);
    if let Err(why) = certificate_request::parse(&unbase64(encoded.as_bytes()).unwrap_or_default()) {
        let shown = if encoded.is_empty() { Value::Null } else { encoded.into() };
        errors.invalid(&spec.child("request"), shown, why);
    }
    let usages: Vec<&str> = items(request, &["spec", "usages"]).into_iter().filter_map(Value::as_str).collect();
    let at = &spec.child("usages");
    if usages.is_empty() {
        errors.required(at, "");
    }
    for (i, usage) in usages.iter().enumerate() {
        errors.one_of(&at.index(i), usage, &USAGES);
    }
    for (i, usage) in usages.iter().enumerate() {
        if usages.iter().take(i).any(|before| before == usage) {
            errors.duplicate(&at.index(i), *usage);
        }
    }
    let at = &spec.child("signerName");
    let signer = request.str_at(&["spec", "signerName"]);
    if signer == LEGACY_SIGNER && old.is_none_or(|old| old.str_at(&["spec", "signerName"]) != LEGACY_SIGNER) {
        errors.invalid(at, signer, "the legacy signerName is not allowed via this API version");
    } else {
        signer_name(signer, at, errors);
    }
    if let Some(seconds) = request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64)
        && seconds < SHORTEST
    {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(&spec.child("expirationSeconds"), seconds, why);
    }
    check_conditions(request, errors);
    let certificate = unbase64(request.str_at(&["status", "certificate"]).as_bytes()).unwrap_or_default();
    let block = |line: &[u8]| line.starts_with(b"-----BEGIN CERTIFICATE-----");
    if !certificate.is_empty() && !certificate.split(|b| *b == b'\n').any(block) {
        let why = "must contain at least one CERTIFICATE PEM block";
        errors.invalid(&At::new("status").child("certificate"), "<certificate data>", why);
    }
}

fn check_conditions(request: &Value, errors: &mut Errors) {
    let status = At::new("status");
    let at = &status.child("conditions");
    let all = conditions(request);
    for (i, condition) in all.iter().enumerate() {
        let at_condition = &at.index(i);
        let kind = condition.str_at(&["type"]);
        errors.need(&at_condition.child("type"), kind);
        let valid: &[&str] = if VERDICTS.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
        errors.required_one_of(&at_condition.child("status"), condition.str_at(&["status"]), valid);
        let before = || all.iter().take(i).map(|condition| condition.str_at(&["type"]));
        let contrary = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !contrary.is_empty() && before().any(|kind| kind == contrary) {
            errors.invalid(at, kind, "Approved and Denied conditions are mutually exclusive");
        }
        if before().any(|other| other == kind) {
            errors.duplicate(&at_condition.child("type"), kind);
        }
    }
}

/// Most characters of a signer's domain, and of its path: a subdomain, a label and a dot.
const DOMAIN_MAX: usize = 253;
const PATH_MAX: usize = 253 + 63 + 1;

/// `example.com/my-signer` (`ValidateSignerName`)
pub(super) fn signer_name(name: &str, at: &At, errors: &mut Errors) {
    if name.is_empty() {
        return errors.required(at, "");
    }
    let Some((domain, path)) = name.split_once('/').filter(|(_, path)| !path.contains('/')) else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return errors.invalid(at, name, why);
    };
    if domain.len() > DOMAIN_MAX {
        errors.too_long(at, DOMAIN_MAX);
    }
    first_wrong(domain, names::dns1123_label, at, errors);
    if !domain.contains('.') {
        errors.invalid(at, domain, "should be a domain with at least two segments separated by dots");
    }
    first_wrong(path, names::dns1123_subdomain, at, errors);
    if path.len() > PATH_MAX {
        errors.too_long(at, PATH_MAX);
    }
}

/// What is wrong with the first part, between dots, that is.
fn first_wrong(name: &str, rule: fn(&str) -> Vec<String>, at: &At, errors: &mut Errors) {
    if let Some((label, wrong)) = name.split('.').map(|label| (label, rule(label))).find(|(_, wrong)| !wrong.is_empty())
    {
        for why in wrong {
            errors.invalid(at, name, format!("validating label {}: {why}", crate::go::quote(label)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{create, update, update_status, update_subresource};
    use crate::{Object, json, yaml};

    const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHck1GOENBUUF3TERFTk1Bc0dBMVVFQ2d3RVpHVjJjekVNTUFvR0ExVUVDZ3dEYjNCek1RMHdDd1lEVlFRRApEQVJ0YVc1aE1Db3dCUVlESzJWd0F5RUFJV0pnRitCSlIzeURDL014QUJSMU56ZlV0N3g3OXRIYm1FditIVURZCjZTU2dBREFGQmdNclpYQURRUUN2Z3IrOUZBZTdzYXJCU3Q2ZFZCOWlpd1dZcHJiU2w2STdlNWRiOHRzaXVnVk4KTS9SUEtJY1BRWEJxUERmN21GK295amRidS9uYUJyVU9tYkJZS2Q4RAotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

    fn request(more: &str) -> Box<dyn Object> {
        let more = more.replace("REQUEST", REQUEST);
        let manifest = format!(
            "{{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {{name: Any_Name}}, {more}}}"
        );
        let value = yaml::parse(&manifest).expect("YAML");
        let kind = crate::scheme::by_kind("certificates.k8s.io", "v1", "CertificateSigningRequest").expect("known");
        let mut object = kind.new_object();
        json::from_value(&value, &mut *object, true).expect("decodes");
        object
    }
    fn lines(errors: crate::field::ErrorList) -> Vec<String> {
        errors.iter().map(|error| error.to_string()).collect()
    }

    const GOOD: &str =
        "spec: {signerName: kubernetes.io/kube-apiserver-client, usages: [client auth], request: REQUEST}";

    #[test]
    fn new_ones() {
        assert!(lines(create(&*request(GOOD))).is_empty());
        let bad = request(
            "spec: {signerName: nobody, expirationSeconds: 5, usages: [client auth, client auth, flying], request: aGVsbG8K}",
        );
        let found = lines(create(&*bad));
        assert_eq!(
            found.first().map(String::as_str),
            Some("spec.request: Invalid value: \"aGVsbG8K\": PEM block type must be CERTIFICATE REQUEST")
        );
        assert!(found.iter().any(|line| line == "spec.usages[1]: Duplicate value: \"client auth\""), "{found:?}");
        assert!(
            found.iter().any(|line| line
                == "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)"),
            "{found:?}"
        );
    }

    #[test]
    fn only_approval_approves() {
        let old = request(GOOD);
        let approved =
            request(&format!("{GOOD}, status: {{conditions: [{{type: Approved, status: \"True\", reason: r}}]}}"));
        assert!(lines(update_subresource("approval", &*approved, &*old)).is_empty());
        let refused = ["status.conditions: Forbidden: updates may not add a condition of type \"Approved\""];
        assert_eq!(lines(update_status(&*approved, &*old)), refused);
        assert_eq!(lines(update(&*approved, &*old)), refused);
        assert_eq!(
            lines(update_subresource("approval", &*old, &*approved)),
            ["status.conditions: Forbidden: updates may not remove a condition of type \"Approved\""]
        );
        let both = request(&format!(
            "{GOOD}, status: {{conditions: [{{type: Approved, status: \"True\"}}, {{type: Denied, status: \"True\"}}]}}"
        ));
        assert_eq!(
            lines(update_subresource("approval", &*both, &*approved)).first().map(String::as_str),
            Some("status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive")
        );
    }
}
