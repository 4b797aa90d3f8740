//! Pods from their first container to their end.

use super::*;
use api::core_v1::{ContainerRestartRule, ContainerRestartRuleOnExitCodes};
use api::meta_v1::DeleteOptions;

fn seconds(from: &sim::Instant, to: sim::Instant) -> f64 {
    to.since(*from).as_secs_f64()
}

#[test]
fn a_pod_runs_and_ends() {
    with_node(|world| async move {
        let began = world.ctx.now();
        world.run("web", |_| {}).await;
        let pod = world.until_ready("web").await;
        let took = seconds(&began, world.ctx.now());
        assert!((0.5..1.2).contains(&took), "ready after {took} s");
        assert_eq!(pod.status.pod_ip, "10.244.0.2");
        assert_eq!(pod.status.host_ip, "172.18.0.11");
        assert_eq!(pod.status.qos_class, "BestEffort");
        let order: Vec<_> = pod.status.conditions.iter().map(|c| format!("{}={}", c.type_, c.status)).collect();
        assert_eq!(
            order,
            [
                "PodReadyToStartContainers=True",
                "Initialized=True",
                "Ready=True",
                "ContainersReady=True",
                "PodScheduled=True"
            ]
        );
        let one = &pod.status.container_statuses[0];
        assert_eq!((one.started, one.ready, one.restart_count), (Some(true), true, 0));
        assert_eq!(
            one.image_id,
            "docker.io/library/nginx@sha256:196be35087f6304104d4d344d2ea85eb9353a78a2044489623ff9f8e1e63a41a"
        );
        let events = world.events("web").await;
        assert_eq!(events.len(), 4, "{events:#?}");
        assert_eq!(events[0], "Normal Pulling: Pulling image \"nginx:1.27\"");
        assert!(events[1].starts_with("Normal Pulled: Successfully pulled image \"nginx:1.27\" in "), "{}", events[1]);
        assert_eq!(events[2..], ["Normal Created: Container created", "Normal Started: Container started"]);

        let began = world.ctx.now();
        world.client.delete::<Pod>("default", "web", &DeleteOptions::default()).await.unwrap();
        world.until(|w| async move { w.client.get::<Pod>("default", "web").await.is_err().then_some(()) }).await;
        let took = seconds(&began, world.ctx.now());
        assert!((0.2..2.0).contains(&took), "gone after {took} s");
        assert_eq!(
            world.events("web").await.last().map(String::as_str),
            Some("Normal Killing: Stopping container app")
        );
        world.sleep(70.0).await;
        assert!(world.node.look().is_empty(), "nothing is left on the node");
    });
}

#[test]
fn a_missing_image_backs_off() {
    with_node(|world| async move {
        world.run("missing", |pod| pod.spec.make().containers.make()[0].image = "nginx:nope".into()).await;
        world.sleep(5.0).await;
        let pod = world.pod("missing").await;
        let waiting = pod.status.container_statuses[0].state.waiting.get().cloned().unwrap();
        assert_eq!(waiting.reason, "ErrImagePull");
        const WHY: &str = "rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/library/nginx:nope\": failed to resolve image: docker.io/library/nginx:nope: not found";
        assert_eq!(waiting.message, WHY);
        assert_eq!(pod.status.phase, "Pending");
        world.sleep(13.0).await;
        // A status shows what the sync before it met.
        let pod = world.pod("missing").await;
        let waiting = pod.status.container_statuses[0].state.waiting.get().cloned().unwrap();
        assert_eq!(waiting.reason, "ImagePullBackOff");
        assert_eq!(waiting.message, format!("Back-off pulling image \"nginx:nope\": ErrImagePull: {WHY}"));
        // How often they came is the recorder's to count.
        let events = world.events("missing").await;
        let events: Vec<_> = events.iter().map(|e| e.trim_end_matches(" (x2)")).collect();
        assert_eq!(
            events,
            [
                "Normal Pulling: Pulling image \"nginx:nope\"".to_string(),
                format!("Warning Failed: Failed to pull image \"nginx:nope\": {WHY}"),
                "Warning Failed: Error: ErrImagePull".to_string(),
                "Normal BackOff: Back-off pulling image \"nginx:nope\"".to_string(),
                "Warning Failed: Error: ImagePullBackOff".to_string(),
            ]
        );
    });
}

#[test]
fn a_missing_config_map_holds_the_container_until_it_is_there() {
    with_node(|world| async move {
        world
            .run("needy", |pod| {
                let source =
                    api::core_v1::ConfigMapKeySelector { name: "settings".into(), key: "mode".into(), optional: None };
                let from =
                    api::core_v1::EnvVarSource { config_map_key_ref: api::Ptr::some(source), ..Default::default() };
                let var = api::core_v1::EnvVar {
                    name: "MODE".into(),
                    value_from: api::Ptr::some(from),
                    ..Default::default()
                };
                pod.spec.make().containers.make()[0].env = [var].into();
            })
            .await;
        world.sleep(4.0).await;
        let pod = world.pod("needy").await;
        let waiting = pod.status.container_statuses[0].state.waiting.get().cloned().unwrap();
        assert_eq!(
            (&*waiting.reason, &*waiting.message),
            ("CreateContainerConfigError", "configmap \"settings\" not found")
        );
        let mut settings = ConfigMap::default();
        settings.metadata.name = "settings".into();
        settings.data.insert("mode", Str::from("x"));
        world.client.create("default", settings).await.unwrap();
        world.until_ready("needy").await;
        let events = world.events("needy").await;
        assert!(
            events.iter().any(|e| e.starts_with("Warning Failed: Error: configmap \"settings\" not found")),
            "{events:#?}"
        );
    });
}

#[test]
fn a_container_that_fails_is_restarted_later_and_later() {
    with_node(|world| async move {
        world
            .run("crash", |pod| {
                let container = &mut pod.spec.make().containers.make()[0];
                container.image = "busybox:1.36".into();
                container.command = ["false".into()].into();
            })
            .await;
        world.sleep(25.0).await;
        let pod = world.pod("crash").await;
        let one = &pod.status.container_statuses[0];
        assert_eq!(one.restart_count, 2);
        assert_eq!(pod.status.phase, "Running");
        assert_eq!(
            one.last_state.terminated.get().map(|t| (t.exit_code, t.reason.to_string())),
            Some((1, "Error".to_string()))
        );
        let uid = &pod.metadata.uid;
        // The back-off shows only once a second sync has met it.
        let message = world
            .until(|world| async move {
                let pod = world.pod("crash").await;
                let waiting = pod.status.container_statuses[0].state.waiting.get()?;
                (waiting.reason == "CrashLoopBackOff").then(|| waiting.message.to_string())
            })
            .await;
        let (delay, rest) = message.strip_prefix("back-off ").and_then(|m| m.split_once(' ')).unwrap();
        assert!(["20s", "40s", "1m20s"].contains(&delay), "{message}");
        assert_eq!(rest, format!("restarting failed container=app pod=crash_default({uid})"));
        let events = world.events("crash").await;
        assert!(
            events.iter().any(|e| e.starts_with(&format!(
                "Warning BackOff: Back-off restarting failed container app in pod crash_default({uid})"
            ))),
            "{events:#?}"
        );
    });
}

#[test]
fn a_pod_that_is_not_restarted_completes() {
    with_node(|world| async move {
        for (name, command, phase, reason) in
            [("done", "true", "Succeeded", "PodCompleted"), ("failed", "false", "Failed", "PodFailed")]
        {
            world
                .run(name, |pod| {
                    let spec = pod.spec.make();
                    spec.restart_policy = "Never".into();
                    let container = &mut spec.containers.make()[0];
                    container.image = "busybox:1.36".into();
                    container.command = [command.into()].into();
                })
                .await;
            let pod = world.until_phase(name, phase).await;
            assert_eq!(condition(&pod, "Ready"), ("False".to_string(), reason.to_string()));
            assert_eq!(condition(&pod, "Initialized").0, "True");
        }
        assert!(world.node.look().iter().all(|c| c.status.state == crate::runtime::cri::State::Exited));
    });
}

#[test]
fn containers_outlive_the_kubelet() {
    let (sim, node) = with_node(|world| async move {
        world.run("web", |_| {}).await;
        world.until_ready("web").await;
    });
    let before = node.look();
    sim.kill(node.kubelet().unwrap());
    sim.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(node.look()[0].status.state, crate::runtime::cri::State::Running);
    node.start_kubelet();
    sim.run_for(Duration::from_secs(60)).unwrap();
    let after = node.look();
    assert_eq!(after.len(), 1);
    assert_eq!(after[0].status, before[0].status, "the same container runs on");
}

#[test]
fn after_a_loss_of_power_the_pod_runs_again() {
    let (sim, node) = with_node(|world| async move {
        world.run("web", |_| {}).await;
        world.until_ready("web").await;
    });
    node.power_off();
    sim.run_for(Duration::from_secs(5)).unwrap();
    node.power_on();
    sim.run_for(Duration::from_secs(30)).unwrap();
    let running: Vec<_> =
        node.look().into_iter().filter(|c| c.status.state == crate::runtime::cri::State::Running).collect();
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].status.restart_count, 1);
}

/// As a real cluster did it.
#[test]
fn a_rule_restarts_all_containers_in_place() {
    with_node(|world| async move {
        world
            .run("whole", |pod| {
                let spec = pod.spec.make();
                spec.restart_policy = "Never".into();
                let named = |name: &str, command: &str| Container { name: name.into(), ..shell(command) };
                let mut main = named("main", "sleep 8; exit 88");
                main.restart_policy = api::OStr::some("Never");
                let codes = ContainerRestartRuleOnExitCodes { operator: "In".into(), values: [88].into() };
                let rule =
                    ContainerRestartRule { action: "RestartAllContainers".into(), exit_codes: api::Ptr::some(codes) };
                main.restart_policy_rules = [rule].into();
                spec.init_containers = [named("init", "echo init")].into();
                spec.containers = [main, named("side", "sleep 1000")].into();
            })
            .await;
        let pod = world.until_ready("whole").await;
        let first = pod.status.pod_ip.clone();
        assert_eq!(condition(&pod, "AllContainersRestarting"), ("False".into(), String::new()));
        let restarting = world
            .until(|w| async move {
                let pod = w.pod("whole").await;
                (condition(&pod, "AllContainersRestarting").0 == "True").then_some(pod)
            })
            .await;
        let said = restarting.status.conditions.iter().find(|c| c.type_ == *"AllContainersRestarting").unwrap().clone();
        assert_eq!(
            (&*said.reason, &*said.message),
            ("RestartAllContainersStarted", "container exited with restart policy rule")
        );
        let pod = world.until_ready("whole").await;
        assert_eq!((&pod.status.phase, &pod.status.pod_ip), (&"Running".into(), &first));
        for one in pod.status.init_container_statuses.iter().chain(pod.status.container_statuses.iter()) {
            assert_eq!(one.restart_count, 1, "{}", one.name);
            let last = one.last_state.terminated.get().unwrap();
            assert_eq!((&*last.reason, last.exit_code), ("RestartingAllContainers", 137), "{}", one.name);
            assert_eq!(&*last.message, "The container is removed because RestartAllContainers in place");
        }
        let order: Vec<_> = pod.status.conditions.iter().map(|c| &*c.type_).collect();
        assert_eq!(order.last(), Some(&"AllContainersRestarting"));
        let events = world.events("whole").await;
        assert!(events.iter().any(|e| e.starts_with("Normal Killing: killing")), "{events:#?}");
    });
}

/// As a real cluster did it.
#[test]
fn a_critical_pod_takes_the_room_of_another() {
    with_node(|world| async move {
        let asking = |cpu: &str| {
            let mut one = shell("sleep 1000");
            one.resources.requests = api::Map::from([("cpu", api::Quantity::parse(cpu).unwrap())]);
            [one].into()
        };
        let filler = asking("2");
        world
            .run("filler", |pod| {
                let spec = pod.spec.make();
                spec.termination_grace_period_seconds = Some(3);
                spec.containers = filler;
            })
            .await;
        world.until_ready("filler").await;
        let large = asking("3500m");
        world.run("plain", |pod| pod.spec.make().containers = large.clone()).await;
        let refused = world.until_phase("plain", "Failed").await;
        assert_eq!(refused.status.reason, "OutOfcpu");
        world
            .run("critical", |pod| {
                pod.spec.make().priority_class_name = "system-node-critical".into();
                pod.spec.make().containers = large;
            })
            .await;
        let ended = world.until_phase("filler", "Failed").await;
        assert_eq!(
            (&*ended.status.reason, &*ended.status.message),
            ("Preempting", "Preempted in order to admit critical pod")
        );
        let said = ended.status.conditions.iter().find(|c| c.type_ == *"DisruptionTarget").unwrap().clone();
        assert_eq!(
            (&*said.reason, &*said.message),
            ("TerminationByKubelet", "Pod was preempted by Kubelet to accommodate a critical pod.")
        );
        world.until_ready("critical").await;
        let events = world.events("filler").await;
        assert!(events.contains(&"Warning Preempting: Preempted in order to admit critical pod".into()), "{events:#?}");
    });
}
