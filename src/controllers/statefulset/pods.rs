//! Writing a set's pods and claims, with the events that say so (`stateful_pod_control.go`).

use api::core_v1::{PersistentVolumeClaim, Pod};
use api::{Rev, Status};
use client::{Key, klog};

use super::{Run, claims, identity};
use crate::controller_utils::{SyncError, aggregate};

/// A pod that there is, or that is to be made.
pub enum Replica {
    Made(Rev<Pod>),
    Planned(Box<Pod>),
}

impl std::ops::Deref for Replica {
    type Target = Pod;
    fn deref(&self) -> &Pod {
        match self {
            Replica::Made(pod) => pod,
            Replica::Planned(pod) => pod,
        }
    }
}

fn title(verb: &str) -> &'static str {
    match verb {
        "create" => "Create",
        "update" => "Update",
        _ => "Delete",
    }
}

impl Run<'_> {
    fn claim(&self, name: &str) -> Option<Rev<PersistentVolumeClaim>> {
        self.ssc.claims.by_key(&Key::new(&self.key.namespace, name))
    }

    fn pod_event(&self, verb: &str, pod: &str, err: Option<&SyncError>) {
        let (verb, set) = (title(verb), &self.key.name);
        match err {
            None => {
                let message = format!("{verb} Pod {pod} in StatefulSet {set} successful");
                self.event("Normal", &format!("Successful{verb}"), &message);
            }
            Some(err) => {
                let message = format!("{verb} Pod {pod} in StatefulSet {set} failed error: {err}");
                self.event("Warning", &format!("Failed{verb}"), &message);
            }
        }
    }

    fn claim_event(&self, pod: &str, claim: &str, err: Option<&Status>) {
        let set = &self.key.name;
        match err {
            None => {
                let message = format!("Create Claim {claim} Pod {pod} in StatefulSet {set} success");
                self.event("Normal", "SuccessfulCreate", &message);
            }
            Some(err) => {
                let message = format!("Create Claim {claim} for Pod {pod} in StatefulSet {set} failed error: {err}");
                self.event("Warning", "FailedCreate", &message);
            }
        }
    }

    async fn create_claims(&self, pod: &Pod) -> Result<(), SyncError> {
        let mut errors = Vec::new();
        for claim in identity::claims(&self.set, pod) {
            let name = claim.metadata.name.clone();
            match self.claim(&name) {
                Some(there) => {
                    if there.metadata.deletion_timestamp.unix().is_some() {
                        errors.push(SyncError::Other(format!("pvc {name} is being deleted")));
                    }
                }
                None => match self.client.create(&self.key.namespace, claim).await {
                    Ok(written) => {
                        self.ssc.wrote(&self.key, |w| w.claims = written.revision);
                        self.claim_event(&pod.metadata.name, &name, None);
                    }
                    Err(err) => {
                        if !err.is_already_exists() {
                            self.claim_event(&pod.metadata.name, &name, Some(&err));
                        }
                        errors.push(SyncError::Other(format!("failed to create PVC {name}: {err}")));
                    }
                },
            }
        }
        aggregate(errors)
    }

    /// Creates claims of a pending pod that are missing.
    pub(super) async fn create_missing_claims(&self, pod: &Pod) -> Result<(), SyncError> {
        self.create_claims(pod).await?;
        let result = self.update_claim_owners(pod).await;
        if let Err(err) = &result {
            self.pod_event("update", &pod.metadata.name, Some(err));
        }
        result
    }

    /// Whether an earlier pod's claim stands in the way.
    pub(super) fn claim_is_stale(&self, pod: &Pod) -> bool {
        let own = identity::claims(&self.set, pod);
        own.iter().filter_map(|c| self.claim(&c.metadata.name)).any(|c| claims::blocks_creation(&self.set, pod, &c))
    }

    /// Whether the pod's claims have the owners they should have.
    pub(super) fn owners_match(&self, pod: &Pod) -> bool {
        let own = identity::claims(&self.set, pod);
        own.iter().filter_map(|c| self.claim(&c.metadata.name)).all(|c| claims::is_up_to_date(&c, &self.set, pod))
    }

    pub(super) async fn update_claim_owners(&self, pod: &Pod) -> Result<(), SyncError> {
        for own in identity::claims(&self.set, pod) {
            let name = &own.metadata.name;
            let Some(claim) = self.claim(name) else {
                klog::info("Expected claim missing, continuing to pick up in next iteration")
                    .obj("PVC", &self.key.namespace, name)
                    .log(&self.ssc.ctx, "stateful_pod_control.go:282");
                continue;
            };
            if claims::has_unexpected_controller(&claim, &self.set, pod) {
                let message = format!(
                    "PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim"
                );
                self.event("Warning", "ConflictingController", &message);
            }
            if !claims::is_up_to_date(&claim, &self.set, pod) {
                let mut copy = (*claim).clone();
                claims::update_owners(&mut copy, &self.set, pod);
                match self.client.update(copy, claim.revision).await {
                    Ok(written) => self.ssc.wrote(&self.key, |w| w.claims = written.revision),
                    Err(err) => {
                        let text = format!("could not update claim {name} for delete policy ownerRefs: {err}");
                        return Err(text.into());
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) async fn create_pod(&self, pod: &Pod) -> Result<(), SyncError> {
        let name = &pod.metadata.name;
        if let Err(err) = self.create_claims(pod).await {
            self.pod_event("create", name, Some(&err));
            return Err(err);
        }
        self.ssc.observed.action(&self.key, format!("create pod {name}"));
        let created = match self.client.create(&self.key.namespace, pod.clone()).await {
            Err(err) if err.is_already_exists() => return Err(err.into()),
            result => result,
        };
        if let Ok(pod) = &created {
            self.ssc.wrote(&self.key, |w| w.pods = pod.revision);
        }
        if let Err(err) = self.update_claim_owners(pod).await {
            self.pod_event("update", name, Some(&err));
            return Err(err);
        }
        let result = created.map(|_| ()).map_err(SyncError::from);
        self.pod_event("create", name, result.as_ref().err());
        result
    }

    /// Gives a pod the labels and volumes it should have.
    pub(super) async fn update_pod(&self, pod: &Rev<Pod>) -> Result<(), SyncError> {
        let mut pod = pod.clone();
        let mut attempted = false;
        let mut result = Ok(());
        for _ in 0..4 {
            let mut copy = (*pod).clone();
            let mut consistent = true;
            if !identity::identity_matches(&self.set, &copy) {
                identity::update_identity(&self.set, &mut copy);
                consistent = false;
            }
            if !identity::storage_matches(&self.set, &copy) {
                identity::update_storage(&self.set, &mut copy);
                consistent = false;
                if let Err(err) = self.create_claims(&copy).await {
                    self.pod_event("update", &copy.metadata.name, Some(&err));
                    return Err(err);
                }
            }
            if !self.owners_match(&copy) {
                if let Err(err) = self.update_claim_owners(&copy).await {
                    self.pod_event("update", &copy.metadata.name, Some(&err));
                    return Err(err);
                }
                consistent = false;
            }
            if consistent {
                break;
            }
            attempted = true;
            result = match self.client.update(copy, pod.revision).await {
                Ok(written) => {
                    self.ssc.wrote(&self.key, |w| w.pods = written.revision);
                    Ok(())
                }
                Err(err) => Err(err),
            };
            if !result.as_ref().is_err_and(Status::is_conflict) {
                break;
            }
            let Some(fresh) = self.ssc.pods.by_key(&Key::of(&pod.metadata)) else { break };
            pod = fresh;
        }
        let result = result.map_err(SyncError::from);
        if attempted {
            self.pod_event("update", &pod.metadata.name, result.as_ref().err());
        }
        result
    }

    pub(super) async fn delete_pod(&self, pod: &Pod) -> Result<(), SyncError> {
        let name = &pod.metadata.name;
        self.ssc.observed.action(&self.key, format!("delete pod {name}"));
        match self.client.delete::<Pod>(&self.key.namespace, name, &Default::default()).await {
            Err(err) if !err.is_not_found() => {
                let err = SyncError::from(err);
                self.pod_event("delete", name, Some(&err));
                Err(err)
            }
            _ => {
                self.pod_event("delete", name, None);
                Ok(())
            }
        }
    }
}
