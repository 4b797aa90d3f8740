//! Nodes that fall silent and come back.

use std::time::Duration;

use api::core_v1::{Event, Node, Pod};

use super::{World, deployment, with_world};

async fn node(w: &World, name: &str) -> api::Rev<Node> {
    w.client.get("", name).await.unwrap()
}

fn taints(n: &Node) -> Vec<String> {
    n.spec.taints.iter().map(|t| format!("{}:{}", t.key.trim_start_matches("node.kubernetes.io/"), t.effect)).collect()
}

#[test]
fn nodes_get_ranges_and_labels() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.eventually("ranges", async |w: &World| {
            let mut ranges = Vec::new();
            for i in 1..=3 {
                let n = node(w, &format!("node-{i}")).await;
                if n.metadata.labels.get("beta.kubernetes.io/os").is_none() {
                    return false;
                }
                ranges.push(n.spec.pod_cidr.to_string());
            }
            ranges.sort();
            ranges == ["10.244.0.0/24", "10.244.1.0/24", "10.244.2.0/24"]
        })
        .await;
    });
}

#[test]
fn a_silent_node_is_tainted_and_emptied() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", deployment("web", 3, "nginx:1.27")).await.unwrap();
        w.eventually("three running", async |w: &World| {
            w.list::<Pod>().await.iter().filter(|p| p.status.phase == "Running").count() == 3
        })
        .await;
        w.ctx.sleep(Duration::from_secs(20)).await;
        let silent_since = w.ctx.now();
        w.silent.borrow_mut().push("node-2".into());
        w.eventually("NotReady", async |w: &World| {
            node(w, "node-2").await.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "Unknown")
        })
        .await;
        let after = w.ctx.now().since(silent_since).as_secs();
        assert!((40..=60).contains(&after), "NotReady after {after} s");
        w.ctx.sleep(Duration::from_secs(1)).await;
        let mut found = taints(&*node(&w, "node-2").await);
        found.sort();
        assert_eq!(found, ["unreachable:NoExecute", "unreachable:NoSchedule"]);
        let pods = w.list::<Pod>().await;
        let lost = pods.iter().find(|p| p.spec.node_name == "node-2").unwrap();
        assert!(!crate::controller_utils::is_pod_ready(lost));
        let events = w.list::<Event>().await;
        let said = |m: &str| events.iter().any(|e| e.message == m);
        assert!(said("Node node-2 status is now: NodeNotReady") && said("Node is not ready"));
        // 300 seconds of toleration, then the pod is marked and another takes its place.
        let name = lost.metadata.name.clone();
        w.eventually("the eviction", async |w: &World| {
            let pod = w.client.get::<Pod>("default", &name).await.unwrap();
            pod.metadata.deletion_timestamp.unix().is_some()
                && pod.status.conditions.iter().any(|c| c.reason == "DeletionByTaintManager")
        })
        .await;
        let evicted = w.ctx.now().since(silent_since).as_secs();
        assert!((340..=365).contains(&evicted), "evicted after {evicted} s");
        // Back again: the taints go.
        w.silent.borrow_mut().clear();
        let n = node(&w, "node-2").await;
        let mut back = (*n).clone();
        for c in back.status.make().conditions.make() {
            c.status = if c.type_ == "Ready" { "True".into() } else { "False".into() };
            c.last_heartbeat_time = api::Time::from_unix_nanos(w.ctx.unix_nanos());
        }
        w.client.update_status(back, n.revision).await.unwrap();
        w.eventually("no taints", async |w: &World| taints(&*node(w, "node-2").await).is_empty()).await;
    });
}

#[test]
fn pods_of_a_deleted_node_are_collected() {
    with_world(|w| async move {
        w.start_nodes(2).await;
        w.client.create("default", deployment("web", 2, "nginx:1.27")).await.unwrap();
        w.eventually("two running", async |w: &World| {
            w.list::<Pod>().await.iter().filter(|p| p.status.phase == "Running").count() == 2
        })
        .await;
        w.silent.borrow_mut().push("node-2".into());
        let lost = w.list::<Pod>().await.into_iter().find(|p| p.spec.node_name == "node-2").unwrap();
        w.client.delete::<Node>("", "node-2", &Default::default()).await.unwrap();
        w.eventually("the pod gone", async |w: &World| {
            w.client.get::<Pod>("default", &lost.metadata.name).await.is_err_and(|e| e.is_not_found())
        })
        .await;
    });
}
