//! Resource claims: made from templates, told to the pod, and freed once nobody uses them. As recorded.

use std::time::Duration;

use api::core_v1::{Event, Pod, PodResourceClaim};
use api::meta_v1::DeleteOptions;
use api::resource_v1::{ResourceClaim, ResourceClaimTemplate};
use api::{List, OStr, Rev};

use super::{World, deployment, with_world};

/// A pod with the claim `d`, made from the template `one` or there by that name.
fn pod(name: &str, claim: Option<&str>) -> Pod {
    let mut pod = Pod::default();
    (pod.metadata.name, pod.metadata.namespace) = (name.into(), "default".into());
    pod.spec = deployment("web", 1, "web:1").spec.template.spec.clone();
    let mut own = PodResourceClaim { name: "d".into(), ..Default::default() };
    match claim {
        Some(claim) => own.resource_claim_name = OStr::some(claim),
        None => own.resource_claim_template_name = OStr::some("one"),
    }
    pod.spec.make().resource_claims = List::from(vec![own]);
    pod
}

fn request(devices: &mut api::resource_v1::DeviceClaim) {
    let mut request = api::resource_v1::DeviceRequest { name: "r".into(), ..Default::default() };
    request.exactly.make().device_class_name = "gpu.example.com".into();
    devices.requests = List::from(vec![request]);
}

async fn template(w: &World) {
    let mut template = ResourceClaimTemplate::default();
    (template.metadata.name, template.metadata.namespace) = ("one".into(), "default".into());
    request(&mut template.spec.make().spec.make().devices);
    w.client.create("default", template).await.unwrap();
}

/// What the scheduler writes into a claim.
async fn allocate(w: &World, claim: &Rev<ResourceClaim>, pods: &[&Rev<Pod>]) {
    let mut new = (**claim).clone();
    new.metadata.finalizers = List::from(vec![api::resource_claim::FINALIZER.into()]);
    let claim = w.client.update(new, claim.revision).await.unwrap();
    let mut new = (*claim).clone();
    let status = new.status.make();
    status.reserved_for = pods.iter().map(|pod| api::resource_claim::consumer(pod)).collect();
    let result = api::resource_v1::DeviceRequestAllocationResult {
        request: "r".into(),
        driver: "gpu.example.com".into(),
        pool: "node-1".into(),
        device: "gpu-0".into(),
        ..Default::default()
    };
    status.allocation.make().devices.results = List::from(vec![result]);
    w.client.update_status(new, claim.revision).await.unwrap();
}

#[test]
fn a_claim_is_made_from_its_template_and_goes_when_the_pod_is_done() {
    with_world(|w| async move {
        let waits = w.client.create("default", pod("p", None)).await.unwrap();
        w.ctx.sleep(Duration::from_secs(1)).await;
        let events = w.list::<Event>().await;
        let said = events.iter().find(|e| e.reason == "FailedResourceClaimCreation").expect("an event");
        let text = "PodResourceClaim d: resource claim template \"one\": resourceclaimtemplate.resource.k8s.io \"one\" \
                    not found";
        assert_eq!((&*said.type_, &*said.message, &*said.source.component), ("Warning", text, "resource_claim"));
        template(&w).await;
        w.ctx.sleep(Duration::from_secs(1)).await;
        let claims = w.list::<ResourceClaim>().await;
        let [claim] = claims.as_slice() else { panic!("{} claims", claims.len()) };
        assert!(claim.metadata.name.starts_with("p-d-"), "{}", claim.metadata.name);
        assert_eq!(claim.metadata.generate_name, "p-d-");
        assert_eq!(claim.metadata.annotations.get("resource.kubernetes.io/pod-claim-name").map(|v| &**v), Some("d"));
        let owner = claim.metadata.owner_references.first().expect("an owner");
        assert_eq!((&owner.uid, owner.controller, owner.block_owner_deletion), (&waits.metadata.uid, Some(true), None));
        assert_eq!(claim.spec.devices.requests.first().map(|r| &*r.name), Some("r"));
        let told: Rev<Pod> = w.client.get("default", "p").await.unwrap();
        let status = told.status.resource_claim_statuses.first().expect("a status");
        assert_eq!((&*status.name, status.resource_claim_name.get()), ("d", Some(&*claim.metadata.name)));
        // Used by the pod: it stays until the pod is over.
        allocate(&w, claim, &[&told]).await;
        w.ctx.sleep(Duration::from_secs(1)).await;
        assert_eq!(w.list::<ResourceClaim>().await.len(), 1);
        let told: Rev<Pod> = w.client.get("default", "p").await.unwrap();
        let mut over = (*told).clone();
        over.status.make().phase = "Succeeded".into();
        w.client.update_status(over, told.revision).await.unwrap();
        w.ctx.sleep(Duration::from_secs(1)).await;
        assert!(w.list::<ResourceClaim>().await.is_empty());
    });
}

#[test]
fn a_claim_of_many_is_free_when_the_last_has_gone() {
    with_world(|w| async move {
        let mut claim = ResourceClaim::default();
        (claim.metadata.name, claim.metadata.namespace) = ("shared".into(), "default".into());
        request(&mut claim.spec.make().devices);
        let claim = w.client.create("default", claim).await.unwrap();
        let a = w.client.create("default", pod("a", Some("shared"))).await.unwrap();
        let b = w.client.create("default", pod("b", Some("shared"))).await.unwrap();
        allocate(&w, &claim, &[&a, &b]).await;
        for (gone, left) in [("a", 1), ("b", 0)] {
            w.client.delete::<Pod>("default", gone, &DeleteOptions::default()).await.unwrap();
            w.ctx.sleep(Duration::from_secs(1)).await;
            let claim: Rev<ResourceClaim> = w.client.get("default", "shared").await.unwrap();
            assert_eq!(claim.status.reserved_for.len(), left);
            assert_eq!(claim.status.allocation.is_some(), left > 0);
            assert_eq!(claim.metadata.finalizers.len(), left);
        }
        // What is being deleted is let go once nobody uses it.
        let claim: Rev<ResourceClaim> = w.client.get("default", "shared").await.unwrap();
        allocate(&w, &claim, &[]).await;
        w.client.delete::<ResourceClaim>("default", "shared", &DeleteOptions::default()).await.unwrap();
        w.ctx.sleep(Duration::from_secs(1)).await;
        assert!(w.list::<ResourceClaim>().await.is_empty());
    });
}
