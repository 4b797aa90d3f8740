//! Tables of what the real kubelet gives: phases, conditions, classes, restarts (pkg/kubelet/kubelet_pods_test.go,
//! pkg/kubelet/status/generate_test.go, pkg/apis/core/v1/helper/qos/qos_test.go).

use super::restart::container_should_restart;
use super::{conditions, phase, qos};
use api::core_v1::{
    Container, ContainerRestartRule, ContainerRestartRuleOnExitCodes, ContainerState, ContainerStateRunning,
    ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod, PodReadinessGate, PodStatus,
};
use api::{Map, Ptr, Quantity};

/// A container's state in a word: `run`, `wait`, `exit0`, `back1` (waits after it ended with 1), `none` (no status).
fn status(name: &str, word: &str) -> Option<ContainerStatus> {
    let mut status = ContainerStatus { name: name.into(), started: Some(word == "run"), ..ContainerStatus::default() };
    status.ready = word == "run";
    let ended = |code: &str| {
        let exit_code = code.parse().unwrap();
        Ptr::some(ContainerStateTerminated { exit_code, ..ContainerStateTerminated::default() })
    };
    let waiting =
        || ContainerState { waiting: Ptr::some(ContainerStateWaiting::default()), ..ContainerState::default() };
    match word {
        "none" => return None,
        "run" => status.state.running = Ptr::some(ContainerStateRunning::default()),
        "wait" => status.state = waiting(),
        _ if word.starts_with("back") => {
            status.state = waiting();
            status.last_state.terminated = ended(word.trim_start_matches("back"));
        }
        _ => {
            status.state.terminated = ended(word.trim_start_matches("exit"));
            status.ready = word == "exit0";
        }
    }
    Some(status)
}

/// A pod and its statuses from words; init containers stand first, a sidecar's word begins with `side-`.
fn pod(policy: &str, init: &str, regular: &str) -> (Pod, Vec<ContainerStatus>) {
    let mut pod = Pod::default();
    let mut statuses = Vec::new();
    let spec = pod.spec.make();
    spec.restart_policy = policy.into();
    let mut take = |prefix: &str, words: &str| -> Vec<Container> {
        let each = |(at, word): (usize, &str)| {
            let mut container = Container { name: format!("{prefix}{at}").into(), ..Container::default() };
            let bare = word.strip_prefix("side-");
            if bare.is_some() {
                container.restart_policy = "Always".into();
            }
            let mut one = status(&container.name, bare.unwrap_or(word));
            if let Some(one) = one.as_mut().filter(|_| prefix == "i" && bare.is_none()) {
                // An init container is ready once it is done.
                one.ready = word == "exit0";
            }
            statuses.extend(one);
            container
        };
        words.split_whitespace().enumerate().map(each).collect()
    };
    let (inits, containers) = (take("i", init), take("c", regular));
    spec.init_containers = inits.into();
    spec.containers = containers.into();
    (pod, statuses)
}

#[test]
fn phases() {
    for (policy, init, regular, terminal, expected) in [
        ("Always", "", "wait wait", false, "Pending"),
        ("Always", "", "run run", false, "Running"),
        ("Always", "", "exit0 exit1", false, "Running"),
        ("Always", "", "exit0 exit1", true, "Failed"),
        ("Always", "", "exit0 exit0", true, "Succeeded"),
        ("Always", "", "run exit0", false, "Running"),
        ("Always", "", "run none", false, "Pending"),
        ("Always", "", "run wait", false, "Pending"),
        ("Always", "", "run back0", false, "Running"),
        ("Always", "", "back1 back0", false, "Running"),
        ("Never", "", "wait wait", false, "Pending"),
        ("Never", "", "run run", false, "Running"),
        ("Never", "", "exit0 exit0", false, "Succeeded"),
        ("Never", "", "exit1 exit1", false, "Failed"),
        ("Never", "", "run exit0", false, "Running"),
        ("Never", "", "run none", false, "Pending"),
        ("Never", "", "exit0 exit1", false, "Failed"),
        ("OnFailure", "", "exit0 exit0", false, "Succeeded"),
        ("OnFailure", "", "exit1 exit1", false, "Running"),
        ("OnFailure", "", "exit0 exit1", false, "Running"),
        ("OnFailure", "", "run wait", false, "Pending"),
        ("OnFailure", "", "back1 exit0", false, "Running"),
        ("Always", "none", "none", false, "Pending"),
        ("Always", "run", "wait", false, "Pending"),
        ("Always", "exit0", "run", false, "Running"),
        ("Always", "exit1", "wait", false, "Pending"),
        ("Never", "exit1", "wait", false, "Failed"),
        ("Never", "exit0 run", "wait", false, "Pending"),
        ("Never", "exit0", "exit0", false, "Succeeded"),
        ("Always", "side-run", "run", false, "Running"),
        ("Always", "side-wait", "wait", false, "Pending"),
        ("Never", "side-exit0", "exit0", false, "Succeeded"),
    ] {
        let (pod, statuses) = pod(policy, init, regular);
        let all: Vec<&ContainerStatus> = statuses.iter().collect();
        let initialized = regular.contains("run") || regular.contains("exit");
        let got = phase::phase(&pod, &all, terminal, initialized);
        assert_eq!(got, expected, "{policy} [{init}] [{regular}] terminal={terminal}");
    }
}

#[test]
fn conditions_of_containers() {
    for (init, regular, phase, initialized, ready) in [
        ("", "run run", "Running", "True  ", "True  "),
        ("", "run wait", "Pending", "True  ", "False ContainersNotReady containers with unready status: [c1]"),
        ("", "run none", "Pending", "True  ", "False ContainersNotReady containers with unknown status: [c1]"),
        (
            "",
            "none wait",
            "Pending",
            "True  ",
            "False ContainersNotReady containers with unknown status: [c0], containers with unready status: [c1]",
        ),
        ("", "exit0", "Succeeded", "True PodCompleted ", "False PodCompleted "),
        ("", "exit1", "Failed", "True  ", "False PodFailed "),
        (
            "run",
            "wait",
            "Pending",
            "False ContainersNotInitialized containers with incomplete status: [i0]",
            "False ContainersNotReady containers with unready status: [c0]",
        ),
        (
            "exit0 none",
            "wait",
            "Pending",
            "False ContainersNotInitialized containers with unknown status: [i1]",
            "False ContainersNotReady containers with unready status: [c0]",
        ),
        ("exit0", "wait", "Pending", "True  ", "False ContainersNotReady containers with unready status: [c0]"),
        ("side-run", "run", "Running", "True  ", "True  "),
        ("side-back1", "run", "Running", "True  ", "False ContainersNotReady containers with unready status: [i0]"),
    ] {
        let (pod, statuses) = pod("Always", init, regular);
        let shown = |c: api::core_v1::PodCondition| format!("{} {} {}", c.status, c.reason, c.message);
        let got = shown(conditions::initialized(&pod, &PodStatus::default(), &statuses, phase));
        assert_eq!(got, initialized, "Initialized of [{init}] [{regular}]");
        assert_eq!(shown(conditions::containers_ready(&pod, &statuses, phase)), ready, "[{init}] [{regular}]");
        assert_eq!(shown(conditions::ready(&pod, &[], &statuses, phase)), ready, "[{init}] [{regular}]");
    }
}

#[test]
fn readiness_gates_hold_a_pod_back() {
    let (mut pod, statuses) = pod("Always", "", "run");
    pod.spec.make().readiness_gates = [PodReadinessGate { condition_type: "example.com/lb".into() }].into();
    let ready = conditions::ready(&pod, &[], &statuses, "Running");
    assert_eq!(ready.reason, "ReadinessGatesNotReady");
    assert_eq!(ready.message, "corresponding condition of pod readiness gate \"example.com/lb\" does not exist.");
    let gate = |status: &str| api::core_v1::PodCondition {
        type_: "example.com/lb".into(),
        status: status.into(),
        ..api::core_v1::PodCondition::default()
    };
    let ready = conditions::ready(&pod, &[gate("False")], &statuses, "Running");
    assert_eq!(ready.message, "the status of pod readiness gate \"example.com/lb\" is not \"True\", but False");
    assert_eq!(conditions::ready(&pod, &[gate("True")], &statuses, "Running").status, "True");
}

#[test]
fn classes() {
    let list = |cpu: &str, memory: &str| -> Map<Quantity> {
        let mut map = Map::default();
        for (name, amount) in [("cpu", cpu), ("memory", memory)] {
            if !amount.is_empty() {
                map.insert(name, Quantity::parse(amount).unwrap());
            }
        }
        map
    };
    // Requests and limits of each container.
    type Row = (&'static [(&'static str, &'static str, &'static str, &'static str)], &'static str);
    let rows: &[Row] = &[
        (&[("", "", "", "")], "BestEffort"),
        (&[("0", "0", "", "")], "BestEffort"),
        (&[("100m", "100Mi", "100m", "100Mi")], "Guaranteed"),
        (&[("0.1", "100Mi", "100m", "102400Ki")], "Guaranteed"),
        (&[("100m", "100Mi", "100m", "100Mi"), ("100m", "100Mi", "100m", "100Mi")], "Guaranteed"),
        // The API server's defaults have requests where there are limits.
        (&[("", "", "100m", "100Mi")], "Burstable"),
        (&[("100m", "100Mi", "100m", "200Mi")], "Burstable"),
        (&[("100m", "", "100m", "")], "Burstable"),
        (&[("100m", "100Mi", "", "")], "Burstable"),
        (&[("", "", "100m", "")], "Burstable"),
        (&[("100m", "100Mi", "100m", "100Mi"), ("", "", "", "")], "Burstable"),
        (&[("1m", "", "", ""), ("", "", "", "")], "Burstable"),
        // Beyond 64 bits, in thousandths or at all.
        (&[("1e18", "", "", "")], "Burstable"),
        (&[("9223372036854775807", "", "", "")], "Burstable"),
        (&[("", "1e30", "", "")], "Burstable"),
    ];
    for (containers, expected) in rows {
        let mut pod = Pod::default();
        let each = |(rc, rm, lc, lm): &(&str, &str, &str, &str)| {
            let mut container = Container::default();
            container.resources.requests = list(rc, rm);
            container.resources.limits = list(lc, lm);
            container
        };
        pod.spec.make().containers = containers.iter().map(each).collect();
        assert_eq!(qos::class(&pod), *expected, "{containers:?}");
    }
}

#[test]
fn restarts() {
    let rule = |action: &str, operator: &str, values: &[i32]| ContainerRestartRule {
        action: action.into(),
        exit_codes: Ptr::some(ContainerRestartRuleOnExitCodes {
            operator: operator.into(),
            values: values.to_vec().into(),
        }),
    };
    for (policy, own, rules, code, expected) in [
        ("Always", "", vec![], 0, true),
        ("OnFailure", "", vec![], 0, false),
        ("OnFailure", "", vec![], 1, true),
        ("Never", "", vec![], 1, false),
        ("Never", "Always", vec![], 0, true),
        ("Always", "Never", vec![], 1, false),
        ("Never", "Never", vec![rule("Restart", "In", &[42])], 42, true),
        ("Never", "Never", vec![rule("Restart", "In", &[42])], 1, false),
        ("Never", "Never", vec![rule("Restart", "NotIn", &[0, 1])], 7, true),
        ("Never", "OnFailure", vec![rule("Restart", "In", &[0])], 0, true),
        ("Always", "Never", vec![rule("RestartAllContainers", "In", &[9])], 9, true),
    ] {
        let mut pod = Pod::default();
        pod.spec.make().restart_policy = policy.into();
        let mut container = Container::default();
        if !own.is_empty() {
            container.restart_policy = own.into();
        }
        container.restart_policy_rules = rules.into();
        assert_eq!(container_should_restart(&container, &pod.spec, code), expected, "{policy} {own} {code}");
    }
}
