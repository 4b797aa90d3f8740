//! `pkg/apis/networking/v1/defaults.go`

use super::optional_text;
use crate::Object;
use crate::networking_v1::{IngressClass, NetworkPolicy};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(class) = object.downcast_mut::<IngressClass>() {
        if class.spec.parameters.get().is_some_and(|p| p.scope.is_none()) {
            optional_text(&mut class.spec.make().parameters.make().scope, "Cluster");
        }
        return true;
    }
    let Some(policy) = object.downcast_mut::<NetworkPolicy>() else { return false };
    let spec = policy.spec.make();
    if spec.policy_types.is_empty() {
        spec.policy_types.push("Ingress".into());
        if !spec.egress.is_empty() {
            spec.policy_types.push("Egress".into());
        }
    }
    let open =
        |ports: &crate::List<crate::networking_v1::NetworkPolicyPort>| ports.iter().any(|p| p.protocol.is_none());
    if spec.ingress.iter().any(|r| open(&r.ports)) {
        for rule in spec.ingress.make() {
            rule.ports.make().iter_mut().for_each(|p| optional_text(&mut p.protocol, "TCP"));
        }
    }
    if spec.egress.iter().any(|r| open(&r.ports)) {
        for rule in spec.egress.make() {
            rule.ports.make().iter_mut().for_each(|p| optional_text(&mut p.protocol, "TCP"));
        }
    }
    true
}
