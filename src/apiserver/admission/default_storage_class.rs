//! DefaultStorageClass: a claim that names no class gets the default one.

use api::core_v1::PersistentVolumeClaim;
use api::storage_v1::StorageClass;
use api::{Object, Status};

use super::{Attributes, Operation};
use crate::registry::cached;

const MARKS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("", "persistentvolumeclaims", "") {
        return Ok(());
    }
    let Some(claim) = object.downcast_mut::<PersistentVolumeClaim>() else { return Ok(()) };
    let beta = claim.metadata.annotations.contains_key("volume.beta.kubernetes.io/storage-class");
    if beta || claim.spec.storage_class_name.get().is_some() {
        return Ok(());
    }
    let server = &attributes.call.server;
    let default = cached(server, server.storage_classes, "")
        .into_iter()
        .filter_map(|object| object.downcast::<StorageClass>())
        .filter(|class| {
            MARKS.iter().any(|mark| class.metadata.annotations.get(mark).is_some_and(|value| &**value == "true"))
        })
        // The newest, by name where two are equally new.
        .min_by_key(|class| (std::cmp::Reverse(class.metadata.creation_timestamp.unix()), class.metadata.name.clone()));
    if let Some(class) = default {
        claim.spec.make().storage_class_name = (&*class.metadata.name).into();
    }
    Ok(())
}
