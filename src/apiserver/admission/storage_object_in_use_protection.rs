//! StorageObjectInUseProtection: volumes and claims stay while they are used.

use api::{Object, Status, Str};

use super::{Attributes, Operation};

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create {
        return Ok(());
    }
    let finalizer = if attributes.is("", "persistentvolumeclaims", "") {
        "kubernetes.io/pvc-protection"
    } else if attributes.is("", "persistentvolumes", "") {
        "kubernetes.io/pv-protection"
    } else if attributes.is("storage.k8s.io", "volumeattributesclasses", "") {
        "kubernetes.io/vac-protection"
    } else {
        return Ok(());
    };
    let Some(metadata) = object.metadata_mut() else { return Ok(()) };
    if !metadata.finalizers.iter().any(|f| &**f == finalizer) {
        metadata.finalizers.make().push(Str::from(finalizer));
    }
    Ok(())
}
