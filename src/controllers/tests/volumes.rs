//! Claims and volumes that find each other, lose each other, and stay while they are used.

use std::time::Duration;

use api::core_v1::{Event, PersistentVolume, PersistentVolumeClaim, Pod, Volume};
use api::meta_v1::DeleteOptions;
use api::storage_v1::StorageClass;
use api::{List, Map, OStr, Quantity, Rev};

use super::{World, deployment, with_world};

fn volume(name: &str, size: &str, policy: &str) -> PersistentVolume {
    let mut volume = PersistentVolume::default();
    volume.metadata.name = name.into();
    let spec = volume.spec.make();
    spec.capacity = Map::from([("storage", Quantity::parse(size).unwrap())]);
    spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
    spec.storage_class_name = "manual".into();
    spec.persistent_volume_reclaim_policy = policy.into();
    spec.host_path.make().path = format!("/tmp/{name}").into();
    volume
}

fn claim(name: &str, size: &str, class: &str) -> PersistentVolumeClaim {
    let mut claim = PersistentVolumeClaim::default();
    claim.metadata.name = name.into();
    claim.metadata.namespace = "default".into();
    let spec = claim.spec.make();
    spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
    spec.storage_class_name = OStr::some(class);
    spec.resources.requests = Map::from([("storage", Quantity::parse(size).unwrap())]);
    claim
}

async fn phases(w: &World) -> String {
    let claims = w.list::<PersistentVolumeClaim>().await;
    let volumes: api::rest::TypedList<PersistentVolume> =
        w.client.list("", &api::rest::ListOptions::default()).await.unwrap();
    let claims = claims.iter().map(|c| format!("{} {} {}", c.metadata.name, c.status.phase, c.spec.volume_name));
    let volumes = volumes.items.iter().map(|v| format!("{} {}", v.metadata.name, v.status.phase));
    claims.chain(volumes).collect::<Vec<_>>().join(", ")
}

async fn message(w: &World, about: &str) -> String {
    let events = w.list::<Event>().await;
    let last = events.iter().filter(|e| e.involved_object.name == about).max_by_key(|e| e.revision);
    last.map(|e| format!("{} {} {}", e.type_, e.reason, e.message)).unwrap_or_default()
}

/// As recorded: bound within a resync, said to be unused, kept while a pod uses it, then released.
#[test]
fn a_claim_is_bound_kept_in_use_and_released() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        w.client.create("default", claim("data", "500Mi", "manual")).await.unwrap();
        w.ctx.sleep(Duration::from_secs(1)).await;
        let text = "Warning ProvisioningFailed storageclass.storage.k8s.io \"manual\" not found";
        assert_eq!(message(&w, "data").await, text);
        w.client.create("", volume("disk-1", "1Gi", "Retain")).await.unwrap();
        w.client.create("", volume("disk-2", "5Gi", "Retain")).await.unwrap();
        w.ctx.sleep(Duration::from_secs(17)).await;
        assert_eq!(phases(&w).await, "data Bound disk-1, disk-1 Bound, disk-2 Available");
        let bound: Rev<PersistentVolumeClaim> = w.client.get("default", "data").await.unwrap();
        let annotations: Vec<&str> = bound.metadata.annotations.keys().map(|k| &**k).collect();
        assert_eq!(annotations, ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"]);
        assert_eq!(bound.status.capacity.get("storage").map(Quantity::canonical).as_deref(), Some("1Gi"));
        let unused = bound.status.conditions.first().map(|c| format!("{} {} {}", c.type_, c.status, c.reason));
        assert_eq!(unused.as_deref(), Some("Unused True NoPodsUsingPVC"));

        let mut pod = Pod::default();
        pod.metadata.name = "uses".into();
        pod.metadata.namespace = "default".into();
        pod.spec = deployment("web", 1, "web:1").spec.template.spec.clone();
        let mut source = Volume { name: "d".into(), ..Default::default() };
        source.persistent_volume_claim.make().claim_name = "data".into();
        pod.spec.make().volumes = List::from(vec![source]);
        w.client.create("default", pod).await.unwrap();
        w.ctx.sleep(Duration::from_secs(3)).await;
        w.client.delete::<PersistentVolumeClaim>("default", "data", &DeleteOptions::default()).await.unwrap();
        w.client.delete::<PersistentVolume>("", "disk-1", &DeleteOptions::default()).await.unwrap();
        w.ctx.sleep(Duration::from_secs(60)).await;
        let kept: Rev<PersistentVolumeClaim> = w.client.get("default", "data").await.unwrap();
        assert!(kept.metadata.deletion_timestamp.unix().is_some());
        w.client.delete::<Pod>("default", "uses", &DeleteOptions::default()).await.unwrap();
        w.ctx.sleep(Duration::from_secs(3)).await;
        assert_eq!(phases(&w).await, "disk-2 Available");
    });
}

#[test]
fn a_volume_outlives_its_claim_or_goes_with_it() {
    with_world(|w| async move {
        w.client.create("", volume("keep", "1Gi", "Retain")).await.unwrap();
        w.client.create("", volume("drop", "2Gi", "Delete")).await.unwrap();
        w.client.create("default", claim("a", "1Gi", "manual")).await.unwrap();
        w.client.create("default", claim("b", "2Gi", "manual")).await.unwrap();
        w.ctx.sleep(Duration::from_secs(17)).await;
        assert_eq!(phases(&w).await, "a Bound keep, b Bound drop, drop Bound, keep Bound");
        for name in ["a", "b"] {
            w.client.delete::<PersistentVolumeClaim>("default", name, &DeleteOptions::default()).await.unwrap();
        }
        w.ctx.sleep(Duration::from_secs(3)).await;
        assert_eq!(phases(&w).await, "keep Released");
    });
}

/// The words of the recorded cluster.
#[test]
fn what_an_unbound_claim_waits_for() {
    with_world(|w| async move {
        w.client.create("default", claim("vault", "1Gi", "")).await.unwrap();
        let mut later = StorageClass { provisioner: "example.com/none".into(), ..Default::default() };
        later.metadata.name = "later".into();
        later.volume_binding_mode = OStr::some("WaitForFirstConsumer");
        w.client.create("", later.clone()).await.unwrap();
        later.metadata.name = "now".into();
        later.volume_binding_mode = OStr::some("Immediate");
        w.client.create("", later).await.unwrap();
        w.client.create("default", claim("patient", "1Gi", "later")).await.unwrap();
        w.client.create("default", claim("asking", "1Gi", "now")).await.unwrap();
        w.ctx.sleep(Duration::from_secs(2)).await;
        let text = "Normal FailedBinding no persistent volumes available for this claim and no storage class is set";
        assert_eq!(message(&w, "vault").await, text);
        let text = "Normal WaitForFirstConsumer waiting for first consumer to be created before binding";
        assert_eq!(message(&w, "patient").await, text);
        let text = "Normal ExternalProvisioning Waiting for a volume to be created either by the external provisioner \
            'example.com/none' or manually by the system administrator. If volume creation is delayed, please verify \
            that the provisioner is running and correctly registered.";
        assert_eq!(message(&w, "asking").await, text);
        assert_eq!(phases(&w).await, "asking Pending , patient Pending , vault Pending ");
    });
}

#[test]
fn a_pod_brings_its_claim_along() {
    with_world(|w| async move {
        let mut pod = Pod::default();
        pod.metadata.name = "scratch".into();
        pod.metadata.namespace = "default".into();
        pod.spec = deployment("web", 1, "web:1").spec.template.spec.clone();
        let mut source = Volume { name: "d".into(), ..Default::default() };
        source.ephemeral.make().volume_claim_template.make().spec = claim("", "1Gi", "manual").spec;
        pod.spec.make().volumes = List::from(vec![source]);
        w.client.create("default", pod).await.unwrap();
        w.ctx.sleep(Duration::from_secs(1)).await;
        let made: Rev<PersistentVolumeClaim> = w.client.get("default", "scratch-d").await.unwrap();
        assert_eq!(made.metadata.owner_references.first().map(|r| r.name.to_string()).as_deref(), Some("scratch"));
        w.client.delete::<Pod>("default", "scratch", &DeleteOptions::default()).await.unwrap();
        w.eventually("the claim goes", async |w: &World| w.list::<PersistentVolumeClaim>().await.is_empty()).await;
    });
}
