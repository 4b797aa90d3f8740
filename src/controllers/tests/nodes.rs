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

/// When each of these nodes was first seen with the taint that evicts pods, in seconds from now; for so many seconds.
async fn tainted_at(w: &World, nodes: usize, seconds: u64) -> std::collections::BTreeMap<String, u64> {
    let began = w.ctx.now();
    let mut seen = std::collections::BTreeMap::new();
    while w.ctx.now().since(began).as_secs() < seconds {
        for i in 1..=nodes {
            let name = format!("node-{i}");
            if taints(&*node(w, &name).await).iter().any(|t| t == "unreachable:NoExecute") {
                seen.entry(name).or_insert_with(|| w.ctx.now().since(began).as_secs());
            }
        }
        w.ctx.sleep(Duration::from_millis(500)).await;
    }
    seen
}

#[test]
fn nodes_of_a_zone_are_given_up_one_in_ten_seconds() {
    with_world(|w| async move {
        w.start_nodes_in(6, &|_| "za".into()).await;
        w.ctx.sleep(Duration::from_secs(20)).await;
        w.silent.borrow_mut().extend((1..=3).map(|i| format!("node-{i}")));
        // Three of six are less than 55 %.
        let seen = tainted_at(&w, 6, 120).await;
        let mut times: Vec<u64> = seen.values().copied().collect();
        times.sort_unstable();
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!((40..=60).contains(&times[0]), "{times:?}");
        for pair in times.windows(2) {
            assert!((9..=11).contains(&(pair[1] - pair[0])), "{times:?}");
        }
    });
}

#[test]
fn nothing_is_given_up_in_a_small_zone_that_is_half_down() {
    with_world(|w| async move {
        w.start_nodes_in(5, &|_| "za".into()).await;
        w.ctx.sleep(Duration::from_secs(20)).await;
        w.silent.borrow_mut().extend((1..=3).map(|i| format!("node-{i}")));
        // Three of five are 60 %: the rate is 0, though each node keeps pods away.
        assert_eq!(tainted_at(&w, 5, 180).await, Default::default());
        for i in 1..=3 {
            assert_eq!(taints(&*node(&w, &format!("node-{i}")).await), ["unreachable:NoSchedule"]);
        }
    });
}

#[test]
fn with_every_zone_down_nothing_is_given_up() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.ctx.sleep(Duration::from_secs(20)).await;
        w.silent.borrow_mut().extend((1..=3).map(|i| format!("node-{i}")));
        // What had been tainted before the last one fell silent is taken back.
        tainted_at(&w, 3, 90).await;
        for i in 1..=3 {
            let left = taints(&*node(&w, &format!("node-{i}")).await);
            assert!(!left.contains(&"unreachable:NoExecute".to_string()), "{left:?}");
        }
        assert_eq!(tainted_at(&w, 3, 120).await, Default::default());
    });
}
