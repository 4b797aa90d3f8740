//! PersistentVolumeClaimResize: only a bound claim of a class that can expand volumes may grow.

use api::core_v1::PersistentVolumeClaim;
use api::storage_v1::StorageClass;
use api::{Object, Quantity, Status};

use super::{Attributes, Operation};

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Update || !attributes.is("", "persistentvolumeclaims", "") {
        return Ok(());
    }
    let claim = |object: Option<&'_ dyn Object>| -> Option<PersistentVolumeClaim> {
        object.and_then(|object| object.downcast_ref::<PersistentVolumeClaim>()).cloned()
    };
    let (Some(claim), Some(was)) = (claim(new), claim(old)) else { return Ok(()) };
    let size = |claim: &PersistentVolumeClaim| -> Quantity {
        claim.spec.resources.requests.get("storage").cloned().unwrap_or_default()
    };
    if size(&claim) <= size(&was) {
        return Ok(());
    }
    if &*was.status.phase != "Bound" {
        return Err(attributes.forbidden(new, "Only bound persistent volume claims can be expanded"));
    }
    if !may_expand(attributes, &claim, &was) {
        let reason = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
        return Err(attributes.forbidden(new, reason));
    }
    Ok(())
}

fn class(claim: &PersistentVolumeClaim) -> &str {
    match claim.metadata.annotations.get("volume.beta.kubernetes.io/storage-class") {
        Some(class) => class,
        None => claim.spec.storage_class_name.or_empty(),
    }
}

fn may_expand(attributes: &Attributes, claim: &PersistentVolumeClaim, was: &PersistentVolumeClaim) -> bool {
    let name = class(claim);
    if name.is_empty() || name != class(was) {
        return false;
    }
    let server = &attributes.call.server;
    let found = server.cache.resource(server.storage_classes).get(name);
    let class = found.and_then(|object| object.downcast::<StorageClass>());
    class.is_some_and(|class| class.allow_volume_expansion == Some(true))
}
