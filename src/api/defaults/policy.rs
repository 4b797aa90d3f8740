//! RBAC and scheduling (`pkg/apis/rbac/v1/defaults.go`, `pkg/apis/scheduling/v1/defaults.go`).

use super::{optional_text, text};
use crate::Object;
use crate::rbac_v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};
use crate::scheduling_v1::PriorityClass;
use crate::value::List;

/// The group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(binding) = object.downcast_mut::<RoleBinding>() {
        self::binding(&mut binding.role_ref, &mut binding.subjects);
    } else if let Some(binding) = object.downcast_mut::<ClusterRoleBinding>() {
        self::binding(&mut binding.role_ref, &mut binding.subjects);
    } else if let Some(class) = object.downcast_mut::<PriorityClass>() {
        optional_text(&mut class.preemption_policy, "PreemptLowerPriority");
    } else {
        return false;
    }
    true
}

fn binding(role: &mut RoleRef, subjects: &mut List<Subject>) {
    text(&mut role.api_group, RBAC);
    let open = |s: &Subject| s.api_group.is_empty() && s.kind != *"ServiceAccount";
    if subjects.iter().any(open) {
        for subject in subjects.make().iter_mut().filter(|s| open(s)) {
            subject.api_group = RBAC.into();
        }
    }
}
