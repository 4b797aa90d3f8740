//! How many pods the owners of a budget's pods want.

use std::collections::BTreeMap;

use api::apps_v1::{Deployment, ReplicaSet, StatefulSet};
use api::autoscaling_v1::Scale;
use api::core_v1::{Pod, ReplicationController};
use api::meta_v1::OwnerReference;
use api::{Rev, Str};
use client::{Client, Lister};

use crate::controller_utils::{SyncError, controller_of};

/// The owners that are known without asking.
pub struct Owners {
    pub controllers: Lister<ReplicationController>,
    pub replica_sets: Lister<ReplicaSet>,
    pub deployments: Lister<Deployment>,
    pub stateful_sets: Lister<StatefulSet>,
}

fn is(reference: &OwnerReference, kind: &str, groups: &[&str]) -> bool {
    reference.kind == kind && groups.contains(&api::scheme::group_version(&reference.api_version).0)
}

impl Owners {
    /// The owner and its replicas, if it is of a kind that the caches hold.
    fn of(&self, reference: &OwnerReference, namespace: &str) -> Option<(Str, i32)> {
        let same = |uid: &Str| *uid == reference.uid;
        if is(reference, "ReplicationController", &[""]) {
            let found = self.controllers.get(namespace, &reference.name).filter(|c| same(&c.metadata.uid))?;
            return Some((found.metadata.uid.clone(), found.spec.replicas.unwrap_or(0)));
        }
        if is(reference, "ReplicaSet", &["apps", "extensions"]) {
            let set = self.replica_sets.get(namespace, &reference.name).filter(|s| same(&s.metadata.uid))?;
            let Some(above) = controller_of(&set.metadata).filter(|r| r.kind == "Deployment") else {
                return Some((set.metadata.uid.clone(), set.spec.replicas.unwrap_or(0)));
            };
            if !is(above, "Deployment", &["apps", "extensions"]) {
                return None;
            }
            let found = self.deployments.get(namespace, &above.name).filter(|d| d.metadata.uid == above.uid)?;
            return Some((found.metadata.uid.clone(), found.spec.replicas.unwrap_or(0)));
        }
        if is(reference, "StatefulSet", &["apps"]) {
            let found = self.stateful_sets.get(namespace, &reference.name).filter(|s| same(&s.metadata.uid))?;
            return Some((found.metadata.uid.clone(), found.spec.replicas.unwrap_or(0)));
        }
        None
    }
}

/// What the scale subresource of any other kind says (`getScaleController`).
async fn asked(client: &Client, reference: &OwnerReference, namespace: &str) -> Result<Option<(Str, i32)>, SyncError> {
    let Some(kind) = api::scheme::by_api_version(&reference.api_version, &reference.kind) else {
        return Err(SyncError::Other(format!(
            "no matches for kind \"{}\" in version \"{}\"",
            reference.kind, reference.api_version
        )));
    };
    if kind.subresource("scale").is_none() {
        return Err(SyncError::Other(format!("{} does not implement the scale subresource", kind.group_resource())));
    }
    let request = client.prepare(api::rest::Verb::Get, kind, namespace, &reference.name, "scale");
    match client.request(request).await {
        Ok(response) => {
            let api::rest::Answer::Object(object) = response.answer else { return Ok(None) };
            let Some(scale) = object.downcast::<Scale>() else { return Ok(None) };
            Ok((scale.metadata.uid == reference.uid).then(|| (scale.metadata.uid.clone(), scale.spec.replicas)))
        }
        Err(err) if err.is_not_found() => Ok(None),
        Err(err) => Err(err.into()),
    }
}

/// The replicas that all owners of the pods want together, and the pods that nobody owns (`getExpectedScale`).
pub async fn expected(owners: &Owners, client: &Client, pods: &[Rev<Pod>]) -> Result<(i32, Vec<Str>), SyncError> {
    let mut by_owner: BTreeMap<Str, i32> = BTreeMap::new();
    let mut unmanaged = Vec::new();
    for pod in pods {
        let Some(reference) = controller_of(&pod.metadata) else {
            unmanaged.push(pod.metadata.name.clone());
            continue;
        };
        if by_owner.contains_key(&reference.uid) {
            continue;
        }
        let namespace = &pod.metadata.namespace;
        let found = match owners.of(reference, namespace) {
            Some(found) => Some(found),
            None => asked(client, reference, namespace).await?,
        };
        let Some((uid, replicas)) = found else {
            return Err(SyncError::Other(format!(
                "found no controllers for pod {}",
                api::go::quote(&pod.metadata.name)
            )));
        };
        by_owner.insert(uid, replicas);
    }
    Ok((by_owner.values().fold(0, |sum: i32, n| sum.saturating_add(*n)), unmanaged))
}
