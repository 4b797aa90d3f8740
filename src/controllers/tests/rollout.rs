//! Deployments and replica sets.

use api::apps_v1::{Deployment, ReplicaSet};
use api::core_v1::{Event, Pod};
use api::rest::PatchType;

use super::{World, deployment, sizes, with_world};

async fn status_is(world: &World, name: &str, ready: i32, updated: i32) -> bool {
    let d = world.client.get::<Deployment>("default", name).await.unwrap();
    d.status.ready_replicas == ready
        && d.status.updated_replicas == updated
        && d.status.replicas == ready
        && d.status.observed_generation == d.metadata.generation
}

async fn messages(world: &World, kind: &str) -> Vec<String> {
    let events = world.list::<Event>().await;
    let mut own: Vec<_> = events.iter().filter(|e| e.involved_object.kind == kind).collect();
    own.sort_by_key(|e| e.first_timestamp);
    own.iter().map(|e| format!("{} {}", e.reason, e.message)).collect()
}

#[test]
fn three_replicas() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", deployment("web", 3, "nginx:1.27")).await.unwrap();
        w.eventually("three ready", async |w: &World| status_is(w, "web", 3, 3).await).await;
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let conditions: Vec<String> =
            d.status.conditions.iter().map(|c| format!("{} {} {}", c.type_, c.status, c.reason)).collect();
        assert_eq!(conditions, ["Available True MinimumReplicasAvailable", "Progressing True NewReplicaSetAvailable"]);
        assert_eq!(d.metadata.annotations.get("deployment.kubernetes.io/revision").map(|v| &**v), Some("1"));
        let rs = w.list::<ReplicaSet>().await.remove(0);
        assert_eq!(rs.metadata.annotations.get("deployment.kubernetes.io/max-replicas").map(|v| &**v), Some("4"));
        assert_eq!(rs.status.terminating_replicas, Some(0));
        assert!(rs.metadata.name.starts_with("web-"));
        w.ctx.sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(
            messages(&w, "Deployment").await,
            [format!("ScalingReplicaSet Scaled up replica set {} from 0 to 3", rs.metadata.name)]
        );
        assert_eq!(messages(&w, "ReplicaSet").await.len(), 3);
        let loops = w.manager.controllers();
        let rsc = loops.iter().find(|c| c.name == "replicaset-controller").unwrap();
        assert_eq!(rsc.last_run().action, "create 3 pods");
    });
}

#[test]
fn rolling_update_keeps_three_of_four() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", deployment("web", 4, "nginx:1.26")).await.unwrap();
        w.eventually("four ready", async |w: &World| status_is(w, "web", 4, 4).await).await;
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let mut new = (*d).clone();
        new.spec.make().template.make().spec.make().containers.make()[0].image = "nginx:1.27".into();
        w.client.update(new, d.revision).await.unwrap();
        w.eventually("four new ready", async |w: &World| {
            let ready = w.list::<Pod>().await.iter().filter(|p| crate::controller_utils::is_pod_ready(p)).count();
            assert!((3..=5).contains(&ready), "{ready} ready pods");
            status_is(w, "web", 4, 4).await && sizes(w).await.len() == 2
        })
        .await;
        let all = sizes(&w).await;
        assert_eq!(all, [("nginx:1.26".to_string(), 0, 0), ("nginx:1.27".to_string(), 4, 4)]);
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        assert_eq!(d.metadata.annotations.get("deployment.kubernetes.io/revision").map(|v| &**v), Some("2"));
    });
}

#[test]
fn a_broken_image_stops_half_way() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        *w.broken_image.borrow_mut() = "nginx:nope".into();
        w.client.create("default", deployment("web", 4, "nginx:1.27")).await.unwrap();
        w.eventually("four ready", async |w: &World| status_is(w, "web", 4, 4).await).await;
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let mut new = (*d).clone();
        new.spec.make().progress_deadline_seconds = Some(20);
        new.spec.make().template.make().spec.make().containers.make()[0].image = "nginx:nope".into();
        w.client.update(new, d.revision).await.unwrap();
        w.eventually("the deadline", async |w: &World| {
            let d = w.client.get::<Deployment>("default", "web").await.unwrap();
            d.status.conditions.iter().any(|c| c.reason == "ProgressDeadlineExceeded")
        })
        .await;
        assert_eq!(sizes(&w).await, [("nginx:1.27".to_string(), 3, 3), ("nginx:nope".to_string(), 2, 0)]);
    });
}

#[test]
fn scaling_and_healing() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", deployment("web", 5, "nginx:1.27")).await.unwrap();
        w.eventually("five ready", async |w: &World| status_is(w, "web", 5, 5).await).await;
        let victim = w.list::<Pod>().await.remove(0);
        w.client.delete::<Pod>("default", &victim.metadata.name, &Default::default()).await.unwrap();
        w.eventually("another in its place", async |w: &World| {
            let pods = w.list::<Pod>().await;
            pods.len() == 5 && pods.iter().all(|p| p.metadata.uid != victim.metadata.uid)
        })
        .await;
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let mut new = (*d).clone();
        new.spec.make().replicas = Some(2);
        w.client.update(new, d.revision).await.unwrap();
        w.eventually("two left", async |w: &World| w.list::<Pod>().await.len() == 2).await;
        // A set that somebody else scales is scaled back.
        let rs = w.list::<ReplicaSet>().await.remove(0);
        let body = r#"{"spec":{"replicas":4}}"#;
        w.client.patch::<ReplicaSet>("default", &rs.metadata.name, PatchType::Merge, body, "").await.unwrap();
        w.ctx.sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(sizes(&w).await, [("nginx:1.27".to_string(), 2, 2)]);
    });
}

/// The example of Kubernetes' documentation: ten replicas with maxSurge 3 and maxUnavailable 2 in the middle of an
/// update, at eight old and five new, are scaled to fifteen: the new pods go to both in proportion.
#[test]
fn scaling_in_the_middle_of_an_update_is_proportional() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        *w.broken_image.borrow_mut() = "nginx:nope".into();
        let mut ten = deployment("web", 10, "nginx:1.27");
        let rolling = ten.spec.make().strategy.rolling_update.make();
        rolling.max_surge = Some(3.into());
        rolling.max_unavailable = Some(2.into());
        w.client.create("default", ten).await.unwrap();
        w.eventually("ten ready", async |w: &World| status_is(w, "web", 10, 10).await).await;
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let mut new = (*d).clone();
        new.spec.make().template.make().spec.make().containers.make()[0].image = "nginx:nope".into();
        w.client.update(new, d.revision).await.unwrap();
        let both = |old: i32, new: i32| {
            let ready = old.min(8);
            [("nginx:1.27".to_string(), old, ready), ("nginx:nope".to_string(), new, 0)]
        };
        w.eventually("eight and five", async |w: &World| sizes(w).await == both(8, 5)).await;
        let body = r#"{"spec":{"replicas":15}}"#;
        w.client.patch::<Deployment>("default", "web", PatchType::Merge, body, "").await.unwrap();
        w.eventually("eleven and seven", async |w: &World| {
            let all: Vec<(String, i32)> = sizes(w).await.into_iter().map(|(image, n, _)| (image, n)).collect();
            all == [("nginx:1.27".to_string(), 11), ("nginx:nope".to_string(), 7)]
        })
        .await;
    });
}

#[test]
fn a_paused_deployment_waits_and_old_revisions_are_dropped() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        let mut web = deployment("web", 1, "nginx:1");
        web.spec.make().revision_history_limit = Some(1);
        w.client.create("default", web).await.unwrap();
        w.eventually("one ready", async |w: &World| status_is(w, "web", 1, 1).await).await;
        let set = async |w: &World, spec: &str| {
            let body = format!(r#"{{"spec":{spec}}}"#);
            w.client.patch::<Deployment>("default", "web", PatchType::Strategic, body, "").await.unwrap();
        };
        let image = |tag: u32| {
            format!(r#"{{"template":{{"spec":{{"containers":[{{"name":"app","image":"nginx:{tag}"}}]}}}}}}"#)
        };
        set(&w, r#"{"paused":true}"#).await;
        set(&w, &image(2)).await;
        w.ctx.sleep(std::time::Duration::from_secs(5)).await;
        assert_eq!(w.list::<ReplicaSet>().await.len(), 1);
        let d = w.client.get::<Deployment>("default", "web").await.unwrap();
        let progressing = d.status.conditions.iter().find(|c| c.type_ == "Progressing").unwrap();
        assert_eq!((&*progressing.status, &*progressing.reason), ("Unknown", "DeploymentPaused"));
        set(&w, r#"{"paused":false}"#).await;
        for tag in [2, 3, 4] {
            set(&w, &image(tag)).await;
            let now = format!("nginx:{tag}");
            w.eventually("the image runs", async |w: &World| sizes(w).await.contains(&(now.clone(), 1, 1))).await;
            w.ctx.sleep(std::time::Duration::from_secs(3)).await;
        }
        let images: Vec<String> = sizes(&w).await.into_iter().map(|(image, _, _)| image).collect();
        assert_eq!(images, ["nginx:3", "nginx:4"]);
    });
}
