//! A DaemonSet on three nodes.

use api::apps_v1::{ControllerRevision, DaemonSet, DaemonSetSpec};
use api::core_v1::{Container, Node, Pod};
use api::meta_v1::LabelSelector;
use api::{List, Map, Ptr};

use super::{World, with_world};

fn agent() -> DaemonSet {
    let labels: Map<api::Str> = Map::from([("app", "agent".into())]);
    let mut ds = DaemonSet::default();
    ds.metadata.name = "agent".into();
    ds.metadata.namespace = "default".into();
    let mut spec = DaemonSetSpec {
        selector: Ptr::some(LabelSelector { match_labels: labels.clone(), ..Default::default() }),
        revision_history_limit: Some(10),
        ..Default::default()
    };
    spec.update_strategy.type_ = "RollingUpdate".into();
    let rolling = spec.update_strategy.rolling_update.make();
    rolling.max_surge = Some(0.into());
    rolling.max_unavailable = Some(1.into());
    let template = spec.template.make();
    template.metadata.labels = labels;
    let pod = template.spec.make();
    let container = Container { name: "agent".into(), image: "busybox:1.36".into(), ..Default::default() };
    pod.containers = List::from(vec![container]);
    pod.restart_policy = "Always".into();
    *ds.spec.make() = spec;
    ds
}

async fn counts(w: &World) -> (i32, i32, i32, i32) {
    let s = w.client.get::<DaemonSet>("default", "agent").await.unwrap().status.clone();
    (s.desired_number_scheduled, s.number_available, s.updated_number_scheduled, s.number_misscheduled)
}

async fn change(w: &World, edit: impl Fn(&mut DaemonSetSpec)) {
    let now = w.client.get::<DaemonSet>("default", "agent").await.unwrap();
    let mut new = (*now).clone();
    edit(new.spec.make());
    w.client.update(new, now.revision).await.unwrap();
}

#[test]
fn runs_a_pod_on_every_node_and_rolls() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", agent()).await.unwrap();
        w.eventually("three daemons", async |w: &World| counts(w).await == (3, 3, 3, 0)).await;
        change(&w, |s| s.template.make().spec.make().containers.make()[0].image = "busybox:1.37".into()).await;
        w.eventually("the new image everywhere", async |w: &World| {
            assert!(counts(w).await.1 >= 2, "more than one is down");
            let pods = w.list::<Pod>().await;
            let new = |p: &Pod| p.spec.containers[0].image == "busybox:1.37" && p.status.phase == "Running";
            pods.len() == 3 && pods.iter().all(|p| new(p))
        })
        .await;
        assert_eq!(w.list::<ControllerRevision>().await.len(), 2);
        // Only where the disk is fast: nowhere, then on one node.
        change(&w, |s| {
            s.template.make().spec.make().node_selector = Map::from([("disk", "ssd".into())]);
        })
        .await;
        w.eventually("none", async |w: &World| counts(w).await == (0, 0, 0, 0) && w.list::<Pod>().await.is_empty())
            .await;
        let node = w.client.get::<Node>("", "node-2").await.unwrap();
        let mut labelled = (*node).clone();
        labelled.metadata.labels.insert("disk", "ssd".into());
        w.client.update(labelled, node.revision).await.unwrap();
        w.eventually("one", async |w: &World| counts(w).await == (1, 1, 1, 0)).await;
        let pods = w.list::<Pod>().await;
        assert_eq!(pods[0].spec.node_name, "node-2");
    });
}
