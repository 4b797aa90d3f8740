//! CertificateApproval, CertificateSigning, CertificateSubjectRestriction and ClusterTrustBundleAttest: who may approve
//! and sign for a signer, and what a signer may not be asked for.

use api::json::Value;
use api::{Object, Status};

use super::{Attributes, Operation};
use crate::authz::{self, Decision, authorize};

const GROUP: &str = "certificates.k8s.io";
/// The signer of certificates that the server takes for users.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Whether the user may do this for the signer, by its name or by `domain/*`.
fn may(attributes: &Attributes, verb: &str, signer: &str) -> bool {
    let all = format!("{}/*", signer.split('/').next().unwrap_or_default());
    [signer, &all].into_iter().any(|name| {
        let asked = authz::Attributes {
            verb,
            group: GROUP,
            resource: "signers",
            subresource: "",
            namespace: "",
            name,
            field_selector: "",
            path: "",
        };
        authorize(&attributes.call.server, &attributes.call.user, &asked) == Decision::Allow
    })
}

fn is_update_of(attributes: &Attributes, subresource: &str) -> bool {
    attributes.operation == Operation::Update && attributes.is(GROUP, "certificatesigningrequests", subresource)
}

fn signer(object: &Value) -> &str {
    object.str_at(&["spec", "signerName"])
}

/// CertificateApproval
pub fn approve(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    let Some(old) = old.filter(|_| is_update_of(attributes, "approval")) else { return Ok(()) };
    let old = api::json::to_value_bare(old);
    let signer = signer(&old);
    if may(attributes, "approve", signer) {
        return Ok(());
    }
    let reason = format!("user not permitted to approve requests with signerName {}", api::go::quote(signer));
    Err(attributes.forbidden(new, &reason))
}

/// CertificateSigning
pub fn sign(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    if !is_update_of(attributes, "status") {
        return Ok(());
    }
    let (Some(object), Some(old)) = (new, old) else { return Ok(()) };
    let (now, was) = (api::json::to_value_bare(object), api::json::to_value_bare(old));
    let same = |field: &str| now.at(&["status", field]) == was.at(&["status", field]);
    let signer = signer(&was);
    if (same("certificate") && same("conditions")) || may(attributes, "sign", signer) {
        return Ok(());
    }
    let reason = format!("user not permitted to sign requests with signerName {}", api::go::quote(signer));
    Err(attributes.forbidden(new, &reason))
}

/// CertificateSubjectRestriction
pub fn restrict(attributes: &mut Attributes, new: Option<&dyn Object>, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is(GROUP, "certificatesigningrequests", "") {
        return Ok(());
    }
    let Some(object) = new.map(api::json::to_value_bare) else { return Ok(()) };
    if signer(&object) != CLIENT_SIGNER {
        return Ok(());
    }
    let request = api::value::unbase64(object.str_at(&["spec", "request"]).as_bytes()).unwrap_or_default();
    let subject = match api::certificate_request::parse(&request) {
        Ok(subject) => subject,
        Err(why) => return Err(attributes.forbidden(new, &format!("failed to parse CSR: {why}"))),
    };
    if subject.organisations.iter().any(|group| group == crate::user::MASTERS) {
        let reason = format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed");
        return Err(attributes.forbidden(new, &reason));
    }
    Ok(())
}

/// ClusterTrustBundleAttest
pub fn attest(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation == Operation::Delete || !attributes.is(GROUP, "clustertrustbundles", "") {
        return Ok(());
    }
    let Some(object) = new.map(api::json::to_value_bare) else { return Ok(()) };
    let unchanged = old.map(api::json::to_value_bare).is_some_and(|old| {
        let labels = |object: &Value| {
            (object.at(&["metadata", "labels"]).cloned(), object.at(&["metadata", "annotations"]).cloned())
        };
        old.get("spec") == object.get("spec") && labels(&old) == labels(&object)
    });
    let signer = signer(&object);
    if signer.is_empty() || unchanged || may(attributes, "attest", signer) {
        return Ok(());
    }
    let reason = format!("user not permitted to attest for signerName {}", api::go::quote(signer));
    Err(attributes.forbidden(new, &reason))
}
