//! Room for a critical pod: pods that are not give theirs up (pkg/kubelet/preemption).

use super::admission::{self, Failure, Rejection};
use super::eviction::is_critical;
use super::kubelet::Kubelet;
use super::qos;
use super::worker::{Eviction, Update};
use api::core_v1::Pod;
use api::{Rev, Str};
use sim::Duration;
use std::rc::Rc;

const MESSAGE: &str = "Preempted in order to admit critical pod";
const DISRUPTION: &str = "Pod was preempted by Kubelet to accommodate a critical pod.";
/// How often the victims are looked at while they end.
const POLL: Duration = Duration::from_millis(100);

/// What is missing of a resource.
type Shortage = (String, i64);

/// What a node with these pods makes of another one: the pods that have to go first, or why it is not taken.
///
/// # Errors
/// Why it is not taken.
pub fn admit(pod: &Pod, others: &[Rev<Pod>], node: &api::core_v1::Node) -> Result<Vec<Rev<Pod>>, Rejection> {
    let failures = admission::failures(pod, others, node)?;
    if !is_critical(pod) {
        return failures.into_iter().next().map_or(Ok(Vec::new()), |failure| Err(failure.rejection()));
    }
    let mut shortages = Vec::new();
    for failure in failures {
        match failure {
            Failure::Short(_, resource, missing) => shortages.push((resource, missing)),
            Failure::Other(rejection) => return Err(rejection),
        }
    }
    victims(pod, others, &shortages).map_err(|why| Rejection {
        reason: "UnexpectedAdmissionError".to_string(),
        message: format!(
            "Unexpected error while attempting to recover from admission failure: \
             preemption: error finding a set of pods to preempt: {why}"
        ),
    })
}

fn request(pod: &Pod, resource: &str) -> i64 {
    if resource == "pods" {
        return 1;
    }
    qos::pod_requests(&pod.spec).get(resource).map_or(0, |asked| admission::amount(resource, asked))
}

fn may_preempt(pod: &Pod, other: &Pod) -> bool {
    let lower = pod.spec.priority.zip(other.spec.priority).is_some_and(|(own, its)| own > its);
    (is_critical(pod) && !is_critical(other)) || lower
}

/// What is still missing once these pods are gone.
fn without<'a>(shortages: &[Shortage], gone: impl Iterator<Item = &'a Rev<Pod>> + Clone) -> Vec<Shortage> {
    let left = |(resource, missing): &Shortage| {
        let freed = gone.clone().map(|p| request(p, resource)).fold(0i64, i64::saturating_add);
        (resource.clone(), missing.saturating_sub(freed))
    };
    shortages.iter().map(left).filter(|(_, missing)| *missing > 0).collect()
}

fn nothing_found(shortages: &[Shortage]) -> String {
    let each: String =
        shortages.iter().map(|(resource, missing)| format!("(res: {resource}, q: {missing}), ")).collect();
    format!("no set of running pods found to reclaim resources: [{each}]")
}

/// The pods to end: those of the better classes only if the worse ones don't do, and of a class those that fit what is
/// missing best (`getPodsToPreempt`).
fn victims(pod: &Pod, others: &[Rev<Pod>], shortages: &[Shortage]) -> Result<Vec<Rev<Pod>>, String> {
    let of_class = |class: &str| -> Vec<Rev<Pod>> {
        others.iter().filter(|p| may_preempt(pod, p) && qos::class(p) == class).cloned().collect()
    };
    let (best_effort, burstable, guaranteed) = (of_class("BestEffort"), of_class("Burstable"), of_class("Guaranteed"));
    let missing = without(shortages, best_effort.iter().chain(&burstable).chain(&guaranteed));
    if !missing.is_empty() {
        return Err(nothing_found(&missing));
    }
    let missing = without(shortages, best_effort.iter().chain(&burstable));
    let guaranteed = nearest(guaranteed, missing)?;
    let missing = without(shortages, best_effort.iter().chain(&guaranteed));
    let burstable = nearest(burstable, missing)?;
    let missing = without(shortages, burstable.iter().chain(&guaranteed));
    let best_effort = nearest(best_effort, missing)?;
    Ok(best_effort.into_iter().chain(burstable).chain(guaranteed).collect())
}

/// How far the pod is from freeing all that is missing.
#[expect(clippy::cast_precision_loss, reason = "a measure")]
fn distance(shortages: &[Shortage], pod: &Pod) -> f64 {
    let part = |(resource, missing): &Shortage| {
        let left = missing.saturating_sub(request(pod, resource)).max(0) as f64 / *missing as f64;
        left * left
    };
    shortages.iter().map(part).sum()
}

fn is_smaller(pod: &Pod, than: &Pod) -> bool {
    let size = |p: &Pod| (request(p, "memory"), request(p, "cpu"));
    size(pod) <= size(than)
}

fn nearest(mut pods: Vec<Rev<Pod>>, mut shortages: Vec<Shortage>) -> Result<Vec<Rev<Pod>>, String> {
    let mut chosen = Vec::new();
    while !shortages.is_empty() {
        let mut best: Option<(f64, usize)> = None;
        for (at, pod) in pods.iter().enumerate() {
            let far = distance(&shortages, pod);
            let better = best.is_none_or(|(least, of)| {
                far < least || (far == least && pods.get(of).is_none_or(|other| is_smaller(pod, other)))
            });
            if better {
                best = Some((far, at));
            }
        }
        let Some((_, at)) = best else { return Err(nothing_found(&shortages)) };
        let pod = pods.swap_remove(at);
        shortages = without(&shortages, std::iter::once(&pod));
        chosen.push(pod);
    }
    Ok(chosen)
}

/// Ends the victims one after the other, then starts the pod that they made room for, if it is still wanted.
pub fn preempt(kubelet: &Rc<Kubelet>, uid: Str, victims: Vec<Rev<Pod>>) {
    let kubelet = kubelet.clone();
    kubelet.ctx.clone().spawn("preemption", async move {
        for victim in victims {
            kubelet.event(&victim, None, "Warning", "Preempting", MESSAGE);
            let Some(worker) = kubelet.worker(&victim.metadata.uid) else { continue };
            let disruption = Some(DISRUPTION.to_string());
            worker.evict(Eviction { reason: "Preempting".into(), message: MESSAGE.into(), disruption }, None);
            let grace = u64::try_from(victim.spec.termination_grace_period_seconds.unwrap_or(30)).unwrap_or(0);
            // Half as long again, at least ten seconds (killPodNow).
            let patience = Duration::from_secs(grace.saturating_add(grace / 2).max(10));
            let deadline = kubelet.ctx.now() + patience;
            while !worker.is_stopped() && kubelet.ctx.now() < deadline {
                kubelet.ctx.sleep(POLL).await;
            }
        }
        if let Some(pod) = kubelet.pod(&uid) {
            kubelet.update_worker(&pod, Update::Create);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Map;
    use api::Quantity;
    use api::core_v1::Container;

    /// A pod of a class, by requests and limits.
    fn pod(name: &str, priority: i32, cpu: &str, memory: &str, class: &str) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        let spec = pod.spec.make();
        spec.priority = Some(priority);
        let mut container = Container::default();
        let q = |text: &str| Quantity::parse(text).unwrap();
        if class != "BestEffort" {
            container.resources.requests = Map::from([("cpu", q(cpu)), ("memory", q(memory))]);
        }
        if class == "Guaranteed" {
            container.resources.limits = container.resources.requests.clone();
        }
        spec.containers = [container].into();
        Rev::new(1, pod)
    }

    fn names(found: Result<Vec<Rev<Pod>>, String>) -> Result<Vec<String>, String> {
        found.map(|all| all.iter().map(|p| p.metadata.name.to_string()).collect())
    }

    #[test]
    fn the_worse_class_goes_first_and_no_more_than_must() {
        let critical = pod("critical", 2_000_000_000, "1", "1Gi", "Burstable");
        let all = [
            pod("best-effort", 0, "0", "0", "BestEffort"),
            pod("small", 0, "100m", "100Mi", "Burstable"),
            pod("large", 0, "1", "1Gi", "Burstable"),
            pod("guaranteed", 0, "2", "2Gi", "Guaranteed"),
            pod("system", 2_000_001_000, "1", "1Gi", "Burstable"),
        ];
        let find = |shortages: &[(&str, i64)]| {
            let shortages: Vec<Shortage> = shortages.iter().map(|(r, n)| (r.to_string(), *n)).collect();
            names(victims(&critical, &all, &shortages))
        };
        assert_eq!(find(&[]), Ok(vec![]));
        assert_eq!(find(&[("pods", 1)]), Ok(vec!["best-effort".into()]));
        assert_eq!(find(&[("cpu", 100)]), Ok(vec!["small".into()]));
        assert_eq!(find(&[("cpu", 500)]), Ok(vec!["large".into()]));
        assert_eq!(find(&[("cpu", 1_100)]), Ok(vec!["large".into(), "small".into()]));
        // What no other class can give.
        assert_eq!(find(&[("cpu", 2_000)]), Ok(vec!["guaranteed".into()]));
        assert_eq!(
            find(&[("cpu", 4_000)]),
            Err("no set of running pods found to reclaim resources: [(res: cpu, q: 900), ]".into())
        );
    }
}
