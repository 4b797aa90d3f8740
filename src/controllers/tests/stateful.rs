//! A StatefulSet: in order up, in order down, in order to another image.

use api::apps_v1::{ControllerRevision, StatefulSet, StatefulSetSpec};
use api::core_v1::{Container, Event, PersistentVolumeClaim, Pod};
use api::meta_v1::LabelSelector;
use api::{List, Map, Ptr};

use super::{World, with_world};

fn database(policy: &str) -> StatefulSet {
    let labels: Map<api::Str> = Map::from([("app", "db".into())]);
    let mut set = StatefulSet::default();
    set.metadata.name = "db".into();
    set.metadata.namespace = "default".into();
    let mut spec = StatefulSetSpec {
        replicas: Some(3),
        service_name: "db".into(),
        pod_management_policy: policy.into(),
        selector: Ptr::some(LabelSelector { match_labels: labels.clone(), ..Default::default() }),
        revision_history_limit: Some(10),
        ..Default::default()
    };
    spec.update_strategy.type_ = "RollingUpdate".into();
    spec.update_strategy.rolling_update.make().partition = Some(0);
    let template = spec.template.make();
    template.metadata.labels = labels;
    let pod = template.spec.make();
    let container = Container { name: "db".into(), image: "redis:7".into(), ..Default::default() };
    pod.containers = List::from(vec![container]);
    pod.restart_policy = "Always".into();
    pod.termination_grace_period_seconds = Some(30);
    let mut claim = PersistentVolumeClaim::default();
    claim.metadata.name = "data".into();
    let spec_of_claim = claim.spec.make();
    spec_of_claim.access_modes = List::from(vec!["ReadWriteOnce".into()]);
    spec_of_claim.resources.requests = [("storage", api::Quantity::parse("1Gi").unwrap())].into();
    spec.volume_claim_templates = List::from(vec![claim]);
    *set.spec.make() = spec;
    set
}

async fn ready(w: &World) -> (i32, i32, i32) {
    let s = w.client.get::<StatefulSet>("default", "db").await.unwrap().status.clone();
    (s.replicas, s.ready_replicas, s.updated_replicas)
}

async fn names(w: &World) -> Vec<String> {
    let mut pods: Vec<String> = w.list::<Pod>().await.iter().map(|p| p.metadata.name.to_string()).collect();
    pods.sort();
    pods
}

async fn change(w: &World, edit: impl Fn(&mut StatefulSetSpec)) {
    let now = w.client.get::<StatefulSet>("default", "db").await.unwrap();
    let mut new = (*now).clone();
    edit(new.spec.make());
    w.client.update(new, now.revision).await.unwrap();
}

fn image_of(p: &Pod) -> &str {
    p.spec.containers.first().map_or("", |c| &c.image)
}

#[test]
fn pods_come_and_go_in_order() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", database("OrderedReady")).await.unwrap();
        w.eventually("three, one after another", async |w: &World| {
            let pods = w.list::<Pod>().await;
            let running = pods.iter().filter(|p| p.status.phase == "Running").count();
            assert!(pods.len() <= running + 1, "more than one is on its way");
            ready(w).await == (3, 3, 3)
        })
        .await;
        assert_eq!(names(&w).await, ["db-0", "db-1", "db-2"]);
        let mut claims: Vec<String> =
            w.list::<PersistentVolumeClaim>().await.iter().map(|c| c.metadata.name.to_string()).collect();
        claims.sort();
        assert_eq!(claims, ["data-db-0", "data-db-1", "data-db-2"]);
        // The highest number first; the first stays behind the partition.
        change(&w, |s| {
            s.update_strategy.rolling_update.make().partition = Some(1);
            s.template.make().spec.make().containers.make()[0].image = "redis:8".into();
        })
        .await;
        w.eventually("two updated", async |w: &World| {
            let pods = w.list::<Pod>().await;
            let gone = 3 - pods.iter().filter(|p| p.metadata.deletion_timestamp.unix().is_none()).count();
            assert!(gone <= 1, "more than one is away");
            ready(w).await == (3, 3, 2)
        })
        .await;
        let mut pods = w.list::<Pod>().await;
        pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let images: Vec<&str> = pods.iter().map(|p| image_of(p)).collect();
        assert_eq!(images, ["redis:7", "redis:8", "redis:8"]);
        assert_eq!(w.list::<ControllerRevision>().await.len(), 2);
        change(&w, |s| s.replicas = Some(1)).await;
        w.eventually("one", async |w: &World| names(w).await == ["db-0"] && ready(w).await == (1, 1, 0)).await;
        // A pod that is gone comes back at the revision of its number.
        w.client.delete::<Pod>("default", "db-0", &Default::default()).await.unwrap();
        w.ctx.sleep(std::time::Duration::from_secs(1)).await;
        w.eventually("one again", async |w: &World| ready(w).await.1 == 1 && names(w).await == ["db-0"]).await;
        assert_eq!(image_of(&w.list::<Pod>().await[0]), "redis:7");
        let events = w.list::<Event>().await;
        for said in [
            "Create Pod db-0 in StatefulSet db successful",
            "Create Claim data-db-0 Pod db-0 in StatefulSet db success",
            "Delete Pod db-2 in StatefulSet db successful",
        ] {
            assert!(events.iter().any(|e| e.message == said), "{said}");
        }
    });
}

#[test]
fn parallel_sets_do_not_wait() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        *w.broken_image.borrow_mut() = "redis:7".into();
        w.client.create("default", database("Parallel")).await.unwrap();
        w.eventually("three at once", async |w: &World| names(w).await.len() == 3).await;
        // None is ever ready: the update replaces them all the same.
        change(&w, |s| s.template.make().spec.make().containers.make()[0].image = "redis:8".into()).await;
        w.eventually("three that run", async |w: &World| ready(w).await == (3, 3, 3)).await;
        change(&w, |s| s.replicas = Some(0)).await;
        w.eventually("none", async |w: &World| names(w).await.is_empty() && ready(w).await.0 == 0).await;
    });
}

/// As a real cluster has it: the API server takes the set, and the second pod's name can't hold its number.
#[test]
fn numbers_beyond_what_names_hold() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        let mut set = database("OrderedReady");
        set.metadata.name = "s".into();
        set.spec.make().ordinals.make().start = i32::MAX;
        set.spec.make().volume_claim_templates = List::default();
        w.client.create("default", set).await.unwrap();
        let failed = "Create Pod s--1 in StatefulSet s failed error: Pod \"s--1\" is invalid: metadata.labels: \
                      Invalid value: \"-1\": a valid label must be an empty string or consist of alphanumeric \
                      characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
                      'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                      '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        w.eventually("the failure", async |w: &World| {
            w.list::<Event>().await.iter().any(|e| e.reason == "FailedCreate" && e.message == failed)
        })
        .await;
        assert_eq!(names(&w).await, ["s-2147483647"]);
    });
}

#[test]
fn a_set_of_all_integers_is_planned_bit_by_bit() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        let mut set = database("OrderedReady");
        set.spec.make().replicas = Some(i32::MAX);
        w.client.create("default", set).await.unwrap();
        w.eventually("some pods", async |w: &World| names(w).await.len() >= 3).await;
        change(&w, |s| s.replicas = Some(1)).await;
        w.eventually("one", async |w: &World| names(w).await == ["db-0"]).await;
    });
}
