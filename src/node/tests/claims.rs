//! Volumes by claim.

use super::*;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim, Volume, VolumeMount};
use api::{List, Map, OStr, Quantity};

impl World {
    /// A claim, and once `bound`, the volume for it, as the controller leaves them.
    async fn claim(&self) -> Rev<PersistentVolumeClaim> {
        let mut claim = PersistentVolumeClaim::default();
        (claim.metadata.name, claim.metadata.namespace) = ("data".into(), "default".into());
        let spec = claim.spec.make();
        spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
        spec.storage_class_name = OStr::some("manual");
        spec.resources.requests = Map::from([("storage", Quantity::parse("1Gi").unwrap())]);
        self.client.create("default", claim).await.unwrap()
    }

    async fn bind(&self, claim: &Rev<PersistentVolumeClaim>) {
        let mut volume = PersistentVolume::default();
        volume.metadata.name = "disk".into();
        let spec = volume.spec.make();
        spec.access_modes = List::from(vec!["ReadWriteOnce".into()]);
        spec.storage_class_name = "manual".into();
        spec.capacity = Map::from([("storage", Quantity::parse("1Gi").unwrap())]);
        spec.persistent_volume_reclaim_policy = "Retain".into();
        spec.host_path.make().path = "/tmp/disk".into();
        let reference = spec.claim_ref.make();
        reference.kind = "PersistentVolumeClaim".into();
        (reference.name, reference.namespace) = ("data".into(), "default".into());
        reference.uid = claim.metadata.uid.clone();
        self.client.create("", volume).await.unwrap();
        let mut new = (*self.client.get::<PersistentVolumeClaim>("default", "data").await.unwrap()).clone();
        new.spec.make().volume_name = "disk".into();
        let written = self.client.update(new, 0).await.unwrap();
        let mut new = (*written).clone();
        new.status.make().phase = "Bound".into();
        self.client.update_status(new, 0).await.unwrap();
    }

    /// A pod that mounts the claim and runs a command.
    async fn with_claim(&self, name: &str, command: &str) {
        let mut one = shell(command);
        one.volume_mounts =
            List::from(vec![VolumeMount { name: "d".into(), mount_path: "/d".into(), ..VolumeMount::default() }]);
        self.run(name, |pod| {
            let spec = pod.spec.make();
            spec.restart_policy = "Never".into();
            spec.containers = [one].into();
            let mut volume = Volume { name: "d".into(), ..Volume::default() };
            volume.persistent_volume_claim.make().claim_name = "data".into();
            spec.volumes = List::from(vec![volume]);
        })
        .await;
    }
}

#[test]
fn a_file_in_a_claimed_volume_outlives_its_pod() {
    with_node(|world| async move {
        world.with_claim("early", "echo kept > /d/file").await;
        world.sleep(5.0).await;
        let text = "Warning FailedMount: Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], \
            failed to process volumes=[d]: error processing PVC default/data: failed to fetch PVC from API server: \
            persistentvolumeclaims \"data\" not found";
        let events = world.events("early").await;
        assert!(events.iter().any(|e| e.starts_with(text)), "{events:?}");
        let claim = world.claim().await;
        world.bind(&claim).await;
        world.until_phase("early", "Succeeded").await;
        world.client.delete::<Pod>("default", "early", &Default::default()).await.unwrap();
        world.with_claim("later", "cat /d/file; test \"$(cat /d/file)\" = kept").await;
        world.until_phase("later", "Succeeded").await;
        assert_eq!(world.node.files().list("/tmp/disk"), Ok(vec!["file".to_string()]));
    });
}
