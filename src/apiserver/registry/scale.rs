//! `scale`: the replicas of a workload, apart from the rest of it (registry/apps/*/storage).

use std::rc::Rc;

use api::apps_v1::{Deployment, ReplicaSet, StatefulSet};
use api::autoscaling_v1::{Scale, ScaleSpec, ScaleStatus};
use api::core_v1::ReplicationController;
use api::rest::{Answer, Verb};
use api::selector::LabelSelector;
use api::{AnyRev, Object, Resource, Rev, Status, Str};

use super::Call;

/// The scale of a workload.
fn of(object: &dyn Object) -> Option<Scale> {
    let (replicas, current, selector) = if let Some(object) = object.downcast_ref::<Deployment>() {
        (object.spec.replicas, object.status.replicas, LabelSelector::from_ptr(&object.spec.selector).ok()?.to_string())
    } else if let Some(object) = object.downcast_ref::<ReplicaSet>() {
        (object.spec.replicas, object.status.replicas, LabelSelector::from_ptr(&object.spec.selector).ok()?.to_string())
    } else if let Some(object) = object.downcast_ref::<StatefulSet>() {
        (object.spec.replicas, object.status.replicas, LabelSelector::from_ptr(&object.spec.selector).ok()?.to_string())
    } else if let Some(object) = object.downcast_ref::<ReplicationController>() {
        (object.spec.replicas, object.status.replicas, LabelSelector::from_set(&object.spec.selector).to_string())
    } else {
        return None;
    };
    let metadata = object.metadata()?;
    let mut scale = Scale::default();
    scale.metadata.name = metadata.name.clone();
    scale.metadata.namespace = metadata.namespace.clone();
    scale.metadata.uid = metadata.uid.clone();
    scale.metadata.creation_timestamp = metadata.creation_timestamp;
    scale.spec = ScaleSpec { replicas: replicas.unwrap_or_default() }.into();
    scale.status = ScaleStatus { replicas: current, selector: Str::from(selector) }.into();
    Some(scale)
}

fn set(object: &mut dyn Object, replicas: i32) {
    if let Some(object) = object.downcast_mut::<Deployment>() {
        object.spec.make().replicas = Some(replicas);
    } else if let Some(object) = object.downcast_mut::<ReplicaSet>() {
        object.spec.make().replicas = Some(replicas);
    } else if let Some(object) = object.downcast_mut::<StatefulSet>() {
        object.spec.make().replicas = Some(replicas);
    } else if let Some(object) = object.downcast_mut::<ReplicationController>() {
        object.spec.make().replicas = Some(replicas);
    }
}

impl Call {
    /// The scale of the request's object.
    pub async fn get_scale(&self) -> Result<Answer, Status> {
        let object = self.get().await?;
        self.scale_of(&object)
    }

    fn scale_of(&self, object: &AnyRev) -> Result<Answer, Status> {
        let scale = of(&*object.body).ok_or_else(Status::not_found_path)?;
        Ok(Answer::Object(Rev { revision: object.revision, body: Rc::new(scale) }))
    }

    /// Sets the replicas by a whole Scale or a patch of one.
    pub async fn set_scale(&self) -> Result<Answer, Status> {
        let whole = match self.request.verb {
            Verb::Update => Some(self.decode(Scale::KIND)?),
            _ => None,
        };
        if let Some(metadata) = whole.as_ref().and_then(|scale| scale.metadata())
            && metadata.name != self.name
        {
            return Err(Status::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                metadata.name, self.name
            )));
        }
        let patch = match self.request.verb {
            Verb::Patch(patch) => Some((patch, self.document(patch)?)),
            _ => None,
        };
        let mut make = |old: &AnyRev| -> Result<Box<dyn Object>, Status> {
            let current = of(&*old.body).ok_or_else(Status::not_found_path)?;
            let wanted = match (&whole, &patch) {
                (Some(scale), _) => scale.boxed(),
                (None, Some((patch, (document, duplicates)))) => {
                    let current = AnyRev { revision: old.revision, body: Rc::new(current) };
                    self.patched(*patch, document, duplicates, &current, Scale::KIND)?
                }
                (None, None) => current.boxed(),
            };
            let Some(scale) = wanted.downcast_ref::<Scale>() else { return Err(Status::internal("not a Scale")) };
            if scale.spec.replicas < 0 {
                let path = api::field::Path::new("spec").child("replicas");
                let failures =
                    api::field::invalid(&path, scale.spec.replicas, "must be greater than or equal to 0").into();
                return Err(Status::invalid_kind(Scale::KIND, &self.name, &failures));
            }
            let mut new = old.body.boxed();
            set(&mut *new, scale.spec.replicas);
            if let Some(metadata) = new.metadata_mut() {
                metadata.resource_version = scale.metadata.resource_version.clone();
                metadata.uid = scale.metadata.uid.clone();
            }
            Ok(new)
        };
        let updated = self.update_with(&mut make, true).await?;
        self.scale_of(&updated)
    }
}
