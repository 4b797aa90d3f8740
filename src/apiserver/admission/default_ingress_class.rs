//! DefaultIngressClass: an Ingress that names no class gets the default one.

use api::networking_v1::{Ingress, IngressClass};
use api::{Object, Status};

use super::{Attributes, Operation};
use crate::registry::cached;

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("networking.k8s.io", "ingresses", "") {
        return Ok(());
    }
    let Some(ingress) = object.downcast_mut::<Ingress>() else { return Ok(()) };
    let named = ingress.metadata.annotations.contains_key("kubernetes.io/ingress.class");
    if named || ingress.spec.ingress_class_name.is_some() {
        return Ok(());
    }
    let server = &attributes.call.server;
    let default = cached(server, server.ingress_classes, "")
        .into_iter()
        .filter_map(|object| object.downcast::<IngressClass>())
        .filter(|class| {
            let mark = class.metadata.annotations.get("ingressclass.kubernetes.io/is-default-class");
            mark.is_some_and(|value| &**value == "true")
        })
        // The newest, by name where two are equally new.
        .min_by_key(|class| (std::cmp::Reverse(class.metadata.creation_timestamp.unix()), class.metadata.name.clone()));
    if let Some(class) = default {
        ingress.spec.make().ingress_class_name = (&*class.metadata.name).into();
    }
    Ok(())
}
