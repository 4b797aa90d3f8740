//! Memory that runs out, in a container and on a node; resources that change; containers added to a running pod.

use super::*;
use api::core_v1::{ContainerResizePolicy, EphemeralContainer};
use api::rest::PatchType;
use api::{Map, Quantity};

fn memory(amount: &str) -> Map<Quantity> {
    Map::from([("memory", Quantity::parse(amount).unwrap())])
}

/// A container that fills so much memory and holds it.
fn stress(amount: &str) -> Container {
    let mut one = container("app", "polinux/stress");
    one.command = ["stress", "--vm", "1", "--vm-bytes", amount, "--vm-hang", "1"].map(Str::from).into();
    one
}

#[test]
fn a_container_that_eats_memory_is_killed_at_its_limit() {
    with_node(|world| async move {
        world
            .run("greedy", |pod| {
                let mut one = stress("250M");
                one.resources.limits = memory("100Mi");
                pod.spec.make().restart_policy = "Never".into();
                pod.spec.make().containers = [one].into();
            })
            .await;
        let pod = world.until_phase("greedy", "Failed").await;
        let ended = pod.status.container_statuses.first().unwrap().state.terminated.get().unwrap().clone();
        assert_eq!((&*ended.reason, ended.exit_code), ("OOMKilled", 137));
        world
            .run("endless", |pod| {
                let mut one = shell("tail /dev/zero");
                one.resources.limits = memory("50Mi");
                pod.spec.make().restart_policy = "Never".into();
                pod.spec.make().containers = [one].into();
            })
            .await;
        let pod = world.until_phase("endless", "Failed").await;
        let ended = pod.status.container_statuses.first().unwrap().state.terminated.get().unwrap().clone();
        assert_eq!((&*ended.reason, ended.exit_code), ("OOMKilled", 137));
    });
}

#[test]
fn a_node_without_memory_evicts_who_exceeds_its_request() {
    with_node(|world| async move {
        world
            .run("modest", |pod| {
                let mut one = container("app", "nginx:1.27");
                one.resources.requests = memory("100Mi");
                pod.spec.make().containers = [one].into();
            })
            .await;
        world.run("greedy", |pod| pod.spec.make().containers = [stress("300M")].into()).await;
        world.until_ready("modest").await;
        world.until_ready("greedy").await;
        world.sleep(2.0).await;
        world.node.hardware().fill_memory(0.96);
        let pod = world.until_phase("greedy", "Failed").await;
        assert_eq!(pod.status.reason, "Evicted");
        let text = pod.status.message.to_string();
        assert!(
            text.starts_with("The node was low on resource: memory. Threshold quantity: 100Mi, available: "),
            "{text}"
        );
        assert!(
            text.ends_with("Container app was using 302Mi, request is 0, has larger consumption of memory. "),
            "{text}"
        );
        assert_eq!(condition(&pod, "DisruptionTarget"), ("True".into(), "TerminationByKubelet".into()));
        let told = world.events("node-1").await;
        assert!(told.contains(&"Warning EvictionThresholdMet: Attempting to reclaim memory".to_string()), "{told:?}");
        world.sleep(12.0).await;
        let node = world.client.get::<api::core_v1::Node>("", "node-1").await.unwrap();
        let pressure = node.status.conditions.iter().find(|c| c.type_ == "MemoryPressure").unwrap();
        assert_eq!((&*pressure.status, &*pressure.reason), ("True", "KubeletHasInsufficientMemory"));
        assert_eq!(world.pod("modest").await.status.phase, "Running");
        // Pods that promise nothing are not taken meanwhile.
        world.run("late", |_| {}).await;
        let late = world.until_phase("late", "Failed").await;
        assert_eq!(late.status.message, "Pod was rejected: The node had condition: [MemoryPressure]. ");
    });
}

#[test]
fn a_resize_is_given_or_deferred() {
    with_node(|world| async move {
        world
            .run("grows", |pod| {
                let mut one = container("app", "nginx:1.27");
                one.resources.requests = Map::from([("cpu", Quantity::parse("500m").unwrap())]);
                one.resize_policy =
                    [ContainerResizePolicy { resource_name: "cpu".into(), restart_policy: "NotRequired".into() }]
                        .into();
                pod.spec.make().containers = [one].into();
            })
            .await;
        let before = world.until_ready("grows").await;
        world
            .run("other", |pod| {
                let mut one = container("app", "nginx:1.27");
                one.resources.requests = Map::from([("cpu", Quantity::parse("2").unwrap())]);
                pod.spec.make().containers = [one].into();
            })
            .await;
        world.until_ready("other").await;
        let resize = |amount: &str| {
            let patch = format!(
                "{{\"spec\":{{\"containers\":[{{\"name\":\"app\",\"resources\":{{\"requests\":{{\"cpu\":\"{amount}\"}}}}}}]}}}}"
            );
            let client = world.client.clone();
            async move { client.patch::<Pod>("default", "grows", PatchType::Strategic, &patch, "resize").await }
        };
        resize("1").await.unwrap();
        world.sleep(3.0).await;
        let pod = world.pod("grows").await;
        let status = pod.status.container_statuses.first().unwrap();
        assert_eq!(status.resources.get().unwrap().requests.get("cpu").unwrap().canonical(), "1");
        assert_eq!(status.allocated_resources.get("cpu").unwrap().canonical(), "1");
        assert_eq!(status.container_id, before.status.container_statuses.first().unwrap().container_id);
        assert_eq!(condition(&pod, "PodResizeInProgress").0, "");

        resize("3").await.unwrap();
        world.sleep(3.0).await;
        let pod = world.pod("grows").await;
        assert_eq!(condition(&pod, "PodResizePending"), ("True".into(), "Deferred".into()));
        let pending = pod.status.conditions.iter().find(|c| c.type_ == "PodResizePending").unwrap();
        assert_eq!(
            pending.message,
            "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
        );
        let status = pod.status.container_statuses.first().unwrap();
        assert_eq!(status.allocated_resources.get("cpu").unwrap().canonical(), "1");
        let told: Vec<String> = world.events("grows").await.into_iter().filter(|e| e.contains("esize")).collect();
        assert_eq!(
            told,
            [
                "Normal ResizeStarted: Pod resize started: {\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"generation\":2}",
                "Normal ResizeCompleted: Pod resize completed: {\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"generation\":2}",
                "Warning ResizeDeferred: Pod resize Deferred: {\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}],\"generation\":3,\"error\":\"Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000\"}",
            ]
        );
        // Room that comes free is given at once.
        let now = api::meta_v1::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        world.client.delete::<Pod>("default", "other", &now).await.unwrap();
        world.sleep(5.0).await;
        let pod = world.pod("grows").await;
        assert_eq!(condition(&pod, "PodResizePending").0, "");
        let status = pod.status.container_statuses.first().unwrap();
        assert_eq!(status.allocated_resources.get("cpu").unwrap().canonical(), "3");
    });
}

#[test]
fn new_limits_are_seen_at_the_next_look_at_the_runtime() {
    with_node(|world| async move {
        world
            .run("grows", |pod| {
                let mut one = container("app", "nginx:1.27");
                one.resources.requests = Map::from([("cpu", Quantity::parse("100m").unwrap())]);
                one.resources.limits = Map::from([("cpu", Quantity::parse("200m").unwrap())]);
                pod.spec.make().containers = [one].into();
            })
            .await;
        world.until_ready("grows").await;
        world.sleep(2.0).await;
        let patch = r#"{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"150m"},"limits":{"cpu":"300m"}}}]}}"#;
        world.client.patch::<Pod>("default", "grows", PatchType::Strategic, patch, "resize").await.unwrap();
        world.sleep(4.0).await;
        let pod = world.pod("grows").await;
        let status = pod.status.container_statuses.first().unwrap();
        assert_eq!(status.resources.get().unwrap().limits.get("cpu").unwrap().canonical(), "300m");
        assert_eq!(condition(&pod, "PodResizeInProgress").0, "");
    });
}

#[test]
fn an_ephemeral_container_joins_a_running_pod() {
    with_node(|world| async move {
        world.run("web", |_| {}).await;
        let pod = world.until_ready("web").await;
        let mut changed = (*pod.body).clone();
        changed.spec.make().ephemeral_containers = [EphemeralContainer {
            name: "debugger".into(),
            image: "busybox:1.36".into(),
            command: ["sh", "-c", "echo here; exit 3"].map(Str::from).into(),
            image_pull_policy: "IfNotPresent".into(),
            termination_message_path: "/dev/termination-log".into(),
            termination_message_policy: "File".into(),
            ..EphemeralContainer::default()
        }]
        .into();
        let body = String::from_utf8(api::json::encode(&changed)).unwrap();
        let spec = body.get(body.find("\"ephemeralContainers\":").unwrap()..).unwrap();
        let list = spec.get(..=spec.find("}]").unwrap() + 1).unwrap();
        let patch = format!("{{\"spec\":{{{list}}}}}");
        world.client.patch::<Pod>("default", "web", PatchType::Strategic, &patch, "ephemeralcontainers").await.unwrap();
        let ended = world
            .until(|world| async move {
                let pod = world.client.get::<Pod>("default", "web").await.ok()?;
                let status = pod.status.ephemeral_container_statuses.first()?.clone();
                status.state.terminated.get().cloned()
            })
            .await;
        assert_eq!(ended.exit_code, 3);
        world.sleep(30.0).await;
        let pod = world.pod("web").await;
        assert_eq!(pod.status.ephemeral_container_statuses.first().unwrap().restart_count, 0);
        assert_eq!(condition(&pod, "Ready").0, "True");
    });
}
