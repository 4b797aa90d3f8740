//! ReplicationControllers.

use api::core_v1::{Event, Pod, ReplicationController};
use api::{Map, Ptr};

use super::{World, deployment, with_world};

#[test]
fn a_replication_controller_keeps_its_pods() {
    with_world(|w| async move {
        w.start_nodes(2).await;
        let mut rc = ReplicationController::default();
        rc.metadata.name = "old".into();
        rc.metadata.namespace = "default".into();
        let spec = rc.spec.make();
        spec.replicas = Some(2);
        spec.selector = Map::from([("app", "old".into())]);
        spec.template = Ptr::some((*deployment("old", 1, "web:1").spec.template).clone());
        w.client.create("default", rc).await.unwrap();
        let ready = async |w: &World| {
            let rc: api::Rev<ReplicationController> = w.client.get("default", "old").await.unwrap();
            (rc.status.replicas, rc.status.ready_replicas, rc.status.observed_generation)
        };
        w.eventually("both are ready", async |w: &World| ready(w).await == (2, 2, 1)).await;
        let pod = w.list::<Pod>().await.into_iter().next().unwrap();
        let owner = pod.metadata.owner_references.first().unwrap().clone();
        assert_eq!((&*owner.api_version, &*owner.kind, &*owner.name), ("v1", "ReplicationController", "old"));
        let events = w.list::<Event>().await;
        let created = events.iter().find(|e| e.reason == "SuccessfulCreate").unwrap();
        assert_eq!(&*created.source.component, "replication-controller");
        assert_eq!(&*created.involved_object.kind, "ReplicationController");
        w.client.delete::<Pod>("default", &pod.metadata.name, &Default::default()).await.unwrap();
        w.eventually("one is gone", async |w: &World| ready(w).await.1 < 2).await;
        w.eventually("both are ready again", async |w: &World| ready(w).await == (2, 2, 1)).await;
    });
}
