//! Names and amounts of resources, and what containers ask for.

use super::at::{At, Errors, NEGATIVE};
use crate::SortSmall;
use crate::core_v1::{ResourceClaim, ResourceRequirements};
use crate::{List, Quantity, Str, names};

/// Resources known without a domain.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources that are counted in whole numbers.
const INTEGER: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// `hugepages-2Mi`
pub(super) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}
/// `hugepages-2Mi` or `requests.hugepages-2Mi`
pub(super) fn is_quota_huge_page(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}
/// Whether a quota can count it (`IsStandardQuotaResourceName`).
pub(super) fn is_quota(name: &str) -> bool {
    (STANDARD.contains(&name) && name != "storage") || is_quota_huge_page(name)
}
/// Whether it is of Kubernetes' own domain.
pub(crate) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}
/// Whether requests may be lower than limits.
fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}
/// A vendor's resource, such as `example.com/gpu`.
pub(crate) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::qualified_name(&format!("requests.{name}")).is_empty()
}
fn is_integer(name: &str) -> bool {
    INTEGER.contains(&name) || is_extended(name)
}

/// A resource's name (`validateResourceName`); says whether it is good.
pub(super) fn name(name: &str, at: &At, errors: &mut Errors) -> bool {
    // The names nearly all objects have.
    if matches!(name, "cpu" | "memory" | "ephemeral-storage") {
        return true;
    }
    let wrong = names::qualified_name(name);
    if !wrong.is_empty() {
        errors.each(at, name, wrong);
        return false;
    }
    if !name.contains('/') && !STANDARD.contains(&name) && !is_quota_huge_page(name) {
        errors.invalid(at, name, "must be a standard resource type or fully qualified");
        return false;
    }
    true
}

/// A resource of a container (`ValidateContainerResourceName`).
pub(super) fn container_name(resource: &str, at: &At, errors: &mut Errors) {
    name(resource, at, errors);
    if !resource.contains('/') {
        if !matches!(resource, "cpu" | "memory" | "ephemeral-storage") && !is_huge_page(resource) {
            errors.invalid(at, resource, "must be a standard resource for containers");
        }
    } else if !is_native(resource) && !is_extended(resource) {
        errors.invalid(at, resource, "doesn't follow extended resource name standard");
    }
}

/// A resource of a pod as a whole (`validatePodResourceName`).
pub(super) fn pod_name(resource: &str, at: &At, errors: &mut Errors) {
    if name(resource, at, errors) && !matches!(resource, "cpu" | "memory") && !is_huge_page(resource) {
        errors.not_supported(at, resource, &["cpu", "hugepages-", "memory"]);
    }
}

/// An amount that is not negative.
pub(super) fn not_negative(quantity: &Quantity, at: &At, errors: &mut Errors) {
    if quantity.sign() < 0 {
        errors.invalid(at, quantity.to_string(), NEGATIVE);
    }
}

/// An amount of a resource (`ValidateResourceQuantityValue`).
pub(super) fn amount(resource: &str, quantity: &Quantity, at: &At, errors: &mut Errors) {
    not_negative(quantity, at, errors);
    if !matches!(resource, "cpu" | "memory") && is_integer(resource) && quantity.milli_value() % 1000 != 0 {
        errors.invalid(at, quantity, "must be an integer");
    }
}

fn huge_page_amount(resource: &str, quantity: &Quantity, at: &At, errors: &mut Errors) {
    let size = resource.strip_prefix("hugepages-").and_then(|s| Quantity::parse(s).ok());
    let divisible = size.is_some_and(|s| {
        s.sign() > 0 && s.milli_value() % 1000 == 0 && quantity.value().checked_rem(s.value()) == Some(0)
    });
    if !divisible {
        let why = format!("{quantity} is not positive integer multiple of {resource}");
        errors.invalid(at, quantity.to_string(), why);
    }
}

/// Requests and limits (`validateResourceRequirements`); `names` checks a resource's name, `claims` are the names in
/// the pod's `resourceClaims`.
pub(super) fn requirements(
    r: &ResourceRequirements,
    names: fn(&str, &At, &mut Errors),
    claims: &[&str],
    at: &At,
    errors: &mut Errors,
) {
    let (limits, requests) = (at.child("limits"), at.child("requests"));
    let (mut compute, mut huge) = (false, false);
    for (resource, quantity) in &r.limits {
        let at = &limits.key(resource);
        names(resource, at, errors);
        amount(resource, quantity, at, errors);
        if is_huge_page(resource) {
            huge = true;
            huge_page_amount(resource, quantity, at, errors);
        }
        compute |= matches!(&**resource, "cpu" | "memory");
    }
    for (resource, quantity) in &r.requests {
        let at = &requests.key(resource);
        names(resource, at, errors);
        amount(resource, quantity, at, errors);
        match r.limits.get(resource) {
            Some(limit) if quantity != limit && !may_overcommit(resource) => {
                errors.invalid(&requests, quantity.to_string(), format!("must be equal to {resource} limit of {limit}"))
            }
            Some(limit) if quantity > limit => errors.invalid(
                &requests,
                quantity.to_string(),
                format!("must be less than or equal to {resource} limit of {limit}"),
            ),
            None if !may_overcommit(resource) => {
                errors.required(&limits, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
        if is_huge_page(resource) {
            huge = true;
            huge_page_amount(resource, quantity, at, errors);
        }
        compute |= matches!(&**resource, "cpu" | "memory");
    }
    if huge && !compute {
        errors.forbidden(at, "HugePages require cpu or memory");
    }
    claim_names(&r.claims, claims, &at.child("claims"), errors);
}

fn claim_names(list: &List<ResourceClaim>, known: &[&str], at: &At, errors: &mut Errors) {
    let mut seen: Vec<(&Str, &Str)> = Vec::new();
    for (i, claim) in list.iter().enumerate() {
        let at = &at.index(i);
        if claim.name.is_empty() {
            errors.required(at, "");
            continue;
        }
        let same = |request: &str| seen.iter().any(|(n, r)| **n == claim.name && **r == *request);
        if same("") {
            errors.duplicate(at, &claim.name);
        } else {
            if !claim.request.is_empty() {
                errors.each(&at.child("request"), &claim.request, names::dns1123_label(&claim.request));
                if same(&claim.request) {
                    errors.duplicate(at, format!("{}/{}", claim.name, claim.request));
                }
            } else {
                for _ in seen.iter().filter(|(n, _)| **n == claim.name) {
                    errors.duplicate(at, &claim.name);
                }
            }
            seen.push((&claim.name, &claim.request));
        }
        if !known.contains(&&*claim.name) {
            let mut sorted = known.to_vec();
            sorted.sort_small();
            let mut error = crate::field::not_found(&at.path(), &claim.name);
            error.detail = if sorted.is_empty() {
                "must be one of the names in pod.spec.resourceClaims which is empty".to_string()
            } else {
                format!("must be one of the names in pod.spec.resourceClaims: {}", sorted.join(", "))
            };
            errors.push(error);
        }
    }
}
