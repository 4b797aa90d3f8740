//! Which pods go first when a set shrinks (`ActivePodsWithRanks` of `pkg/controller/controller_utils.go`).

use api::SortSmall;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use api::Rev;
use api::core_v1::Pod;

use super::{is_pod_active, is_pod_ready};

const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The `count` pods to delete of `pods`. `related` are the pods of all sets of the same owner: of two pods the one goes
/// that shares its node with more of them. `now` is in nanoseconds since 1970.
pub fn pods_to_delete(pods: &[Rev<Pod>], related: &[Rev<Pod>], count: usize, now: i64) -> Vec<Rev<Pod>> {
    let mut ranked: Vec<Rev<Pod>> = pods.to_vec();
    if count < ranked.len() {
        let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in related.iter().filter(|p| is_pod_active(p)) {
            *on_node.entry(&pod.spec.node_name).or_default() += 1;
        }
        let rank = |pod: &Pod| on_node.get(&*pod.spec.node_name).copied().unwrap_or(0);
        ranked.sort_small_by(|a, b| compare(a, b, rank(a), rank(b), now));
    }
    ranked.truncate(count);
    ranked
}

fn phase_rank(pod: &Pod) -> u8 {
    match &*pod.status.phase {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

fn deletion_cost(pod: &Pod) -> i32 {
    let Some(value) = pod.metadata.annotations.get(DELETION_COST) else { return 0 };
    // A leading plus or zero makes the number invalid, and an invalid one counts as 0.
    let first = value.bytes().next();
    if first == Some(b'+') || (first == Some(b'0') && value.len() > 1) {
        return 0;
    }
    value.parse().unwrap_or(0)
}

fn compare(a: &Pod, b: &Pod, rank_a: usize, rank_b: usize, now: i64) -> Ordering {
    let assigned = |p: &Pod| !p.spec.node_name.is_empty();
    let (ready_a, ready_b) = (is_pod_ready(a), is_pod_ready(b));
    let first = assigned(a)
        .cmp(&assigned(b))
        .then_with(|| phase_rank(a).cmp(&phase_rank(b)))
        .then_with(|| ready_a.cmp(&ready_b))
        .then_with(|| deletion_cost(a).cmp(&deletion_cost(b)))
        .then_with(|| rank_b.cmp(&rank_a));
    if first != Ordering::Equal {
        return first;
    }
    if ready_a && ready_b {
        let by_time = compare_ages(ready_since(a), ready_since(b), a, b, now);
        if by_time != Ordering::Equal {
            return by_time;
        }
    }
    restarts(b).cmp(&restarts(a)).then_with(|| {
        compare_ages(a.metadata.creation_timestamp.unix(), b.metadata.creation_timestamp.unix(), a, b, now)
    })
}

fn ready_since(pod: &Pod) -> Option<i64> {
    let ready = pod.status.conditions.iter().find(|c| c.type_ == "Ready" && c.status == "True");
    ready.and_then(|c| c.last_transition_time.unix())
}

/// The younger first, on a scale of powers of two; within one power the lower uid. No time at all is youngest.
fn compare_ages(a: Option<i64>, b: Option<i64>, x: &Pod, y: &Pod, now: i64) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (Some(a), Some(b)) if a == b => Ordering::Equal,
        (Some(a), Some(b)) => {
            let (ra, rb) = (log2_age(a, now), log2_age(b, now));
            ra.cmp(&rb).then_with(|| x.metadata.uid.cmp(&y.metadata.uid))
        }
    }
}

fn log2_age(seconds: i64, now: i64) -> i64 {
    let age = now.saturating_sub(seconds.saturating_mul(1_000_000_000));
    if age > 0 { i64::from(63 - age.leading_zeros()) } else { -1 }
}

/// Most restarts of a container, then of a sidecar.
fn restarts(pod: &Pod) -> (i32, i32) {
    let regular = pod.status.container_statuses.iter().map(|c| c.restart_count).max().unwrap_or(0).max(0);
    let is_sidecar = |name: &str| {
        let mut init = pod.spec.init_containers.iter();
        init.any(|c| c.name == name && c.restart_policy.get() == Some("Always"))
    };
    let sidecars = pod.status.init_container_statuses.iter().filter(|c| is_sidecar(&c.name));
    (regular, sidecars.map(|c| c.restart_count).max().unwrap_or(0).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Str;
    use api::core_v1::{ContainerStatus, PodCondition};

    const NOW: i64 = 1_000_000_000_000;

    fn pod(name: &str, node: &str, ready_for: Option<i64>) -> Rev<Pod> {
        let mut p = Pod::default();
        p.metadata.name = name.into();
        p.metadata.uid = name.into();
        p.metadata.creation_timestamp = api::Time::from_unix(0);
        p.spec.make().node_name = node.into();
        p.status.make().phase = "Running".into();
        if let Some(seconds) = ready_for {
            let last_transition_time = api::Time::from_unix(NOW / 1_000_000_000 - seconds);
            let (type_, status) = ("Ready".into(), "True".into());
            let ready = PodCondition { type_, status, last_transition_time, ..Default::default() };
            p.status.make().conditions.push(ready);
        }
        Rev::new(1, p)
    }

    fn order(pods: &[Rev<Pod>], related: &[Rev<Pod>]) -> Vec<String> {
        let n = pods.len().saturating_sub(1);
        let chosen = pods_to_delete(pods, related, n, NOW);
        chosen.iter().map(|p| p.metadata.name.to_string()).collect()
    }

    #[test]
    fn unassigned_then_unready_then_young() {
        let pods = [
            pod("old", "n1", Some(500)),
            pod("young", "n2", Some(2)),
            pod("unready", "n3", None),
            pod("unassigned", "", None),
        ];
        assert_eq!(order(&pods, &pods), ["unassigned", "unready", "young"]);
    }

    #[test]
    fn the_pod_on_the_fuller_node_goes_first() {
        let pods = [pod("a", "n1", Some(400)), pod("b", "n2", Some(300)), pod("c", "n2", Some(310))];
        assert_eq!(order(&pods, &pods)[0], "b");
    }

    #[test]
    fn the_cheaper_goes_before_the_fuller_node() {
        let mut cheap = (*pod("cheap", "n1", Some(500))).clone();
        cheap.metadata.annotations.insert(DELETION_COST, "-5".into());
        let pods = [pod("b", "n2", Some(2)), Rev::new(1, cheap), pod("c", "n2", Some(2))];
        assert_eq!(order(&pods, &pods)[0], "cheap");
    }

    /// The criteria in their order, each deciding where those before it don't.
    #[test]
    fn the_order_of_the_criteria() {
        let change = |name: &str, node: &str, ready: Option<i64>, edit: &dyn Fn(&mut Pod)| {
            let mut pod = (*pod(name, node, ready)).clone();
            edit(&mut pod);
            Rev::new(1, pod)
        };
        let phase = |name: &str, phase: &str| {
            let phase = Str::from(phase);
            change(name, "n1", None, &|p| p.status.make().phase = phase.clone())
        };
        let cost = |name: &str, cost: &str, ready: Option<i64>| {
            let cost = Str::from(cost);
            change(name, "n1", ready, &|p| drop(p.metadata.annotations.insert(DELETION_COST, cost.clone())))
        };
        let restarts = |name: &str, count: i32| {
            change(name, "n1", Some(500), &|p| {
                p.status.make().container_statuses =
                    [ContainerStatus { restart_count: count, ..Default::default() }].into()
            })
        };
        let first = |pods: &[Rev<Pod>]| order(pods, pods).first().cloned().unwrap_or_default();
        assert_eq!(first(&[phase("b", "Running"), phase("a", "Pending")]), "a");
        assert_eq!(first(&[phase("b", "Unknown"), phase("a", "Pending")]), "a");
        assert_eq!(first(&[phase("b", "Running"), phase("a", "Unknown")]), "a");
        // Whether it is ready goes before what it costs, that before everything else.
        assert_eq!(first(&[cost("a", "-100", Some(500)), cost("b", "100", None)]), "b");
        assert_eq!(first(&[cost("a", "1", Some(2)), cost("b", "-2147483648", Some(500))]), "b");
        // A cost that can't be read is 0.
        assert_eq!(first(&[cost("a", "1", Some(2)), cost("b", "much", Some(500))]), "b");
        assert_eq!(first(&[restarts("a", 0), restarts("b", 3)]), "b");
    }

    #[test]
    fn within_a_power_of_two_the_uid_decides() {
        let pods = [pod("b", "n1", Some(300)), pod("a", "n2", Some(400)), pod("c", "n3", Some(350))];
        assert_eq!(order(&pods, &pods), ["a", "b"]);
    }

    // Kubernetes' comparison is no total order: equal times leave it to what follows, others to the power of two and
    // the uid.
    #[test]
    fn a_crowd_of_all_ages_is_chosen_from() {
        let pods: Vec<_> = (0..200).map(|i| pod(&format!("p{}", i * 7919 % 200), "n1", Some(300 + i % 23))).collect();
        assert_eq!(pods_to_delete(&pods, &pods, 150, NOW).len(), 150);
    }
}
