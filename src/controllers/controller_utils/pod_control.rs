//! Creating and deleting pods for their controller, with the events that say so (`RealPodControl`).

use api::core_v1::{ObjectReference, Pod, PodTemplateSpec};
use api::meta_v1::{ObjectMeta, OwnerReference};
use api::{List, Rev, Status};
use client::{Client, EventRecorder, klog};
use sim::Ctx;

use super::SyncError;

/// Writes pods on behalf of one object.
pub struct PodControl<'a> {
    /// For log lines.
    pub ctx: &'a Ctx,
    /// Writes as the controller.
    pub client: &'a Client,
    /// Where its events go.
    pub recorder: &'a EventRecorder,
    /// The object the pods are for, in events.
    pub about: ObjectReference,
}

impl PodControl<'_> {
    /// Creates a pod from a template (`CreatePods`).
    pub async fn create(
        &self,
        namespace: &str,
        template: &PodTemplateSpec,
        owner: &ObjectMeta,
        reference: OwnerReference,
    ) -> Result<Rev<Pod>, Status> {
        let pod = pod_from_template(template, owner, reference);
        self.create_pod(namespace, pod, owner).await
    }

    /// Creates a pod that was made from a template.
    pub async fn create_pod(&self, namespace: &str, pod: Pod, owner: &ObjectMeta) -> Result<Rev<Pod>, Status> {
        match self.client.create(namespace, pod).await {
            Ok(pod) => {
                klog::info("Controller created pod")
                    .str("controller", &owner.name)
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .log(self.ctx, "controller_utils.go:613");
                let message = format!("Created pod: {}", pod.metadata.name);
                self.recorder.event(&self.about, "Normal", "SuccessfulCreate", &message);
                Ok(pod)
            }
            Err(err) => {
                if !err.has_cause("NamespaceTerminating") {
                    self.recorder.event(&self.about, "Warning", "FailedCreate", &format!("Error creating: {err}"));
                }
                Err(err)
            }
        }
    }

    /// Deletes a pod (`DeletePod`).
    pub async fn delete(&self, namespace: &str, name: &str) -> Result<(), SyncError> {
        klog::info("Deleting pod")
            .str("controller", &self.about.name)
            .obj("pod", namespace, name)
            .log(self.ctx, "controller_utils.go:625");
        match self.client.delete::<Pod>(namespace, name, &Default::default()).await {
            Ok(()) => {
                self.recorder.event(&self.about, "Normal", "SuccessfulDelete", &format!("Deleted pod: {name}"));
                Ok(())
            }
            Err(err) if err.is_not_found() => {
                klog::info("Pod has already been deleted.")
                    .obj("pod", namespace, name)
                    .log(self.ctx, "controller_utils.go:628");
                Err(err.into())
            }
            Err(err) => {
                self.recorder.event(&self.about, "Warning", "FailedDelete", &format!("Error deleting: {err}"));
                Err(format!("unable to delete pods: {err}").into())
            }
        }
    }
}

/// A pod as the template says, not yet stored (`GetPodFromTemplate`).
pub fn pod_from_template(template: &PodTemplateSpec, owner: &ObjectMeta, reference: OwnerReference) -> Pod {
    let metadata = ObjectMeta {
        labels: template.metadata.labels.clone(),
        annotations: template.metadata.annotations.clone(),
        finalizers: template.metadata.finalizers.clone(),
        generate_name: pods_prefix(&owner.name).into(),
        owner_references: List::from(vec![reference]),
        ..ObjectMeta::default()
    };
    Pod { metadata, spec: template.spec.clone(), ..Pod::default() }
}

/// `<controller>-`, if that can begin a name (`getPodsPrefix`).
fn pods_prefix(controller: &str) -> String {
    let prefix = format!("{controller}-");
    if api::names::dns1123_subdomain(&api::names::mask_trailing_dash(&prefix)).is_empty() {
        prefix
    } else {
        controller.into()
    }
}
