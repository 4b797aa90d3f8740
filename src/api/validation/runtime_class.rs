//! RuntimeClasses (node's validation).

use super::at::{At, Errors};
use super::internal::Internal;
use super::{labels, metadata, pod, resources};
use crate::core_v1::ResourceRequirements;
use crate::node_v1::RuntimeClass;
use crate::{field, names};

/// A new RuntimeClass.
pub(super) fn create(class: &RuntimeClass, errors: &mut Errors) {
    metadata::create(&class.metadata, false, metadata::subdomain, errors);
    let at = &At::new("handler");
    if class.handler.is_empty() {
        errors.declared_required(at);
    }
    for why in names::declared(names::dns1123_label(&class.handler)) {
        if !class.handler.is_empty() {
            errors.declared(field::invalid(&at.path(), &class.handler, why));
        }
    }
    rest(class, errors);
}

/// A changed RuntimeClass: the handler stays.
pub(super) fn update(new: &RuntimeClass, old: &RuntimeClass, errors: &mut Errors) {
    metadata::update_as_new(&new.metadata, &old.metadata, false, metadata::subdomain, errors);
    let at = &At::new("handler");
    if new.handler != old.handler && !new.handler.is_empty() {
        errors.each(at, &new.handler, names::dns1123_label(&new.handler));
    }
    rest(new, errors);
    errors.declared_immutable(at, &new.handler, &old.handler);
    if new.handler.is_empty() && !old.handler.is_empty() {
        errors.declared_required(at);
    }
}

fn rest(class: &RuntimeClass, errors: &mut Errors) {
    if let Some(overhead) = class.overhead.get() {
        let limits = ResourceRequirements { limits: overhead.pod_fixed.clone(), ..Default::default() };
        resources::requirements(&limits, resources::container_name, &[], &At::new("overhead"), errors);
    }
    let Some(scheduling) = class.scheduling.get() else { return };
    let at = At::new("scheduling");
    labels::labels(&scheduling.node_selector, &at.child("nodeSelector"), errors);
    let at = &at.child("tolerations");
    pod::tolerations(&scheduling.tolerations, at, errors);
    for (i, toleration) in scheduling.tolerations.iter().enumerate() {
        let same = |other: &&crate::core_v1::Toleration| {
            (&other.key, &other.operator, &other.value, &other.effect)
                == (&toleration.key, &toleration.operator, &toleration.value, &toleration.effect)
        };
        if scheduling.tolerations.iter().take(i).any(|before| same(&before)) {
            errors.duplicate(&at.index(i), Internal(toleration));
        }
    }
}
