//! ResourceQuotas: what an object uses, which objects and resources a quota is about.
//!
//! The API server's admission and the quota controller count by the same functions (pkg/quota/v1 of kubernetes and
//! apiserver). One [`Evaluator`] a resource.

pub mod amounts;
mod claim;
mod devices;
pub mod pod;
mod service;
#[cfg(test)]
mod tests;

pub use amounts::ResourceList;

use crate::core_v1::{
    PersistentVolumeClaim, Pod, ResourceQuota, ResourceQuotaSpec, ScopeSelector, ScopedResourceSelectorRequirement,
    Service,
};
use crate::resource_v1::ResourceClaim;
use crate::value::quantity::Format;
use crate::{KindInfo, List, Object, Ptr, Quantity, Str};

/// What else there is, to count an object by: calls a function with every object of a kind, in the namespace that is
/// counted if the kind is of namespaces.
pub type Around<'a> = &'a dyn Fn(&'static KindInfo, &mut dyn FnMut(&dyn Object));

fn count(number: usize) -> Quantity {
    Quantity::new(i64::try_from(number).unwrap_or(i64::MAX), Format::DecimalSI)
}
fn one() -> Quantity {
    count(1)
}

/// What is never counted: answers that nobody stores, and events.
const IGNORED: [(&str, &str); 10] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("", "events"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("events.k8s.io", "events"),
];

/// Older names under which the number of objects is counted: the resource's own.
const ALIASED: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];

/// How objects of one resource are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// Pods: number, requests, limits, extended resources.
    Pods,
    /// Services: number, node ports, load balancers.
    Services,
    /// Claims: number, storage, by class.
    Claims,
    /// Claims of devices: number, devices by class, extended resources.
    Devices,
    /// Any other resource: the number of its objects, `count/deployments.apps`.
    Count(&'static KindInfo),
}

/// How objects of a kind are counted; none for what is never counted.
pub fn evaluator(kind: &'static KindInfo) -> Option<Evaluator> {
    if IGNORED.contains(&(kind.group, kind.plural)) {
        return None;
    }
    Some(match (kind.group, kind.plural) {
        ("", "pods") => Evaluator::Pods,
        ("", "services") => Evaluator::Services,
        ("", "persistentvolumeclaims") => Evaluator::Claims,
        ("resource.k8s.io", "resourceclaims") => Evaluator::Devices,
        _ => Evaluator::Count(kind),
    })
}

/// `count/pods`, `count/deployments.apps`
pub fn object_count_name(kind: &KindInfo) -> String {
    format!("count/{}", kind.group_resource())
}

impl Evaluator {
    /// Which of these resources a quota can count by this evaluator, sorted and each once (`MatchingResources`).
    pub fn matching_resources(&self, names: &[Str], around: Around) -> Vec<Str> {
        let mut found: Vec<Str> = names.iter().filter(|name| self.counts(name, around)).cloned().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn counts(&self, name: &str, around: Around) -> bool {
        match self {
            Evaluator::Pods => pod::RESOURCES.contains(&name) || pod::counts(name),
            Evaluator::Services => service::RESOURCES.contains(&name),
            Evaluator::Claims => claim::counts(name),
            Evaluator::Devices => devices::counts(name, around),
            Evaluator::Count(kind) => {
                let alias = kind.group.is_empty() && kind.plural == name && ALIASED.contains(&name);
                alias || name.strip_prefix("count/").is_some_and(|rest| is_named(kind, rest))
            }
        }
    }

    /// What the object uses. `now` is in nanoseconds since 1970: a pod that should have ended uses nothing.
    pub fn usage(&self, object: &dyn Object, now: i64, around: Around) -> ResourceList {
        let used = match self {
            Evaluator::Pods => object.downcast_ref::<Pod>().map(|pod| pod::usage(pod, now)),
            Evaluator::Services => object.downcast_ref::<Service>().map(service::usage),
            Evaluator::Claims => object.downcast_ref::<PersistentVolumeClaim>().map(claim::usage),
            Evaluator::Devices => object.downcast_ref::<ResourceClaim>().map(|c| devices::usage(c, now, around)),
            Evaluator::Count(kind) => {
                let mut used = ResourceList::default();
                used.insert(object_count_name(kind), one());
                if kind.group.is_empty() && ALIASED.contains(&kind.plural) {
                    used.insert(kind.plural, one());
                }
                Some(used)
            }
        };
        used.unwrap_or_default()
    }

    /// Whether the object is within a quota's scope (`MatchingScopes` of one).
    ///
    /// # Errors
    /// Go's text about a selector that can't be read.
    pub fn is_in_scope(
        &self,
        object: &dyn Object,
        selector: &ScopedResourceSelectorRequirement,
    ) -> Result<bool, String> {
        match self {
            Evaluator::Pods => object.downcast_ref::<Pod>().map_or(Ok(false), |pod| pod::in_scope(pod, selector)),
            Evaluator::Claims => {
                let claim = object.downcast_ref::<PersistentVolumeClaim>();
                claim.map_or(Ok(false), |claim| claim::in_scope(claim, selector))
            }
            Evaluator::Services | Evaluator::Devices | Evaluator::Count(_) => Ok(false),
        }
    }

    /// Whether the quota, as its status has it, is about the object (`Matches`).
    ///
    /// # Errors
    /// As `is_in_scope`.
    pub fn matches(&self, quota: &ResourceQuota, object: &dyn Object, around: Around) -> Result<bool, String> {
        let mut matches = quota.status.hard.keys().any(|name| self.counts(name, around));
        for selector in scope_selectors(&quota.spec.scopes, &quota.spec.scope_selector) {
            matches &= self.is_in_scope(object, &selector)?;
        }
        Ok(matches)
    }

    /// Whether the object says what a quota for these resources wants to be told (`Constraints`).
    ///
    /// # Errors
    /// `must specify limits.memory for: app; requests.cpu for: app`
    pub fn constraints(&self, required: &[Str], object: &dyn Object) -> Result<(), String> {
        match self {
            Evaluator::Pods => object.downcast_ref::<Pod>().map_or(Ok(()), |pod| pod::constraints(pod, required)),
            _ => Ok(()),
        }
    }

    /// Whether a new object, or the change of one, can change what quotas count (`Handles`): of the object itself
    /// or of a subresource. A new object has no old state.
    pub fn handles(&self, subresource: &str, new: &dyn Object, old: Option<&dyn Object>) -> bool {
        match (self, subresource, old) {
            (_, "", None) => true,
            (Evaluator::Pods, "", Some(old)) => match (new.downcast_ref::<Pod>(), old.downcast_ref::<Pod>()) {
                (Some(new), Some(old)) => pod::is_terminating(new) != pod::is_terminating(old),
                _ => false,
            },
            (Evaluator::Pods, "resize", Some(_)) => true,
            (Evaluator::Services | Evaluator::Claims | Evaluator::Devices, "", Some(_)) => true,
            (Evaluator::Claims, "status", Some(old)) => match (new.downcast_ref(), old.downcast_ref()) {
                (Some(new), Some(old)) => claim::is_to_replenish(new, old),
                _ => false,
            },
            _ => false,
        }
    }
}

fn is_named(kind: &KindInfo, group_resource: &str) -> bool {
    if kind.group.is_empty() {
        return group_resource == kind.plural;
    }
    let rest = group_resource.strip_prefix(kind.plural).and_then(|rest| rest.strip_prefix('.'));
    rest == Some(kind.group)
}

/// A quota's scopes, the plain ones as selectors too.
pub fn scope_selectors(scopes: &List<Str>, selector: &Ptr<ScopeSelector>) -> Vec<ScopedResourceSelectorRequirement> {
    let plain = scopes.iter().map(|scope| ScopedResourceSelectorRequirement {
        scope_name: scope.clone(),
        operator: "Exists".into(),
        ..Default::default()
    });
    plain.chain(selector.get().into_iter().flat_map(|selector| selector.match_expressions.iter().cloned())).collect()
}

/// What the objects of a namespace use of the resources that a quota limits: for its `status.used`
/// (`CalculateUsage`). `each` calls a function with every object of a kind in the namespace. Resources of `spec.hard`
/// that nothing counts are left out.
pub fn calculate_usage(spec: &ResourceQuotaSpec, now: i64, each: Around) -> ResourceList {
    let hard = amounts::names(&spec.hard);
    let selectors = scope_selectors(&spec.scopes, &spec.scope_selector);
    let mut used = ResourceList::default();
    for kind in counted_kinds(&spec.hard, each) {
        let Some(evaluator) = evaluator(kind) else { continue };
        let names = evaluator.matching_resources(&hard, each);
        let mut sum: ResourceList = names.iter().map(|name| (name.clone(), count(0))).collect();
        // A selector that can't be read ends the count, with what was counted so far.
        let mut failed = false;
        each(kind, &mut |object| {
            let mut inside = true;
            for selector in &selectors {
                match evaluator.is_in_scope(object, selector) {
                    Ok(is) => inside &= is,
                    Err(_) => failed = true,
                }
            }
            if inside && !failed {
                amounts::add_to(&mut sum, &evaluator.usage(object, now, each));
            }
        });
        amounts::add_to(&mut used, &amounts::mask(&sum, &hard));
    }
    used
}

/// The kinds whose objects a quota with these limits counts, each once, in the order of discovery.
pub fn counted_kinds(hard: &ResourceList, around: Around) -> Vec<&'static KindInfo> {
    let mut found: Vec<&'static KindInfo> = Vec::new();
    for kind in crate::scheme::resources().iter().copied().filter(|kind| kind.namespaced && kind.stored()) {
        let counts = evaluator(kind).is_some_and(|evaluator| hard.keys().any(|name| evaluator.counts(name, around)));
        if counts && !found.iter().any(|other| (other.group, other.plural) == (kind.group, kind.plural)) {
            found.push(kind);
        }
    }
    found
}

/// Whether the change of an object may change what quotas count, so that the controller is to count anew
/// (`DefaultUpdateFilter`).
pub fn is_to_replenish(new: &dyn Object, old: &dyn Object, now: i64) -> bool {
    if let (Some(new), Some(old)) = (new.downcast_ref::<Pod>(), old.downcast_ref::<Pod>()) {
        return pod::has_resized(new, old)
            || pod::is_terminating(new) != pod::is_terminating(old)
            || (pod::is_charged(old, now) && !pod::is_charged(new, now));
    }
    if let (Some(new), Some(old)) = (new.downcast_ref::<Service>(), old.downcast_ref::<Service>()) {
        return service::charged_type(new) != service::charged_type(old);
    }
    match (new.downcast_ref::<PersistentVolumeClaim>(), old.downcast_ref::<PersistentVolumeClaim>()) {
        (Some(new), Some(old)) => claim::is_to_replenish(new, old),
        _ => false,
    }
}
