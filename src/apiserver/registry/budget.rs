//! What a PodDisruptionBudget says to an eviction (registry/core/pod/storage/eviction.go).

use api::core_v1::Pod;
use api::meta_v1::Condition;
use api::policy_v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use api::{Resource, Status, Str, Time};

/// Evictions that the disruption controller has yet to see done (`MaxDisruptedPodSize`).
const DISRUPTED_MAX: usize = 2000;
const CAUSE: &str = "DisruptionBudget";
const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

/// Whether the pod may go without spending anything: it is not ready, and its budget does not count on it.
pub(super) fn spares(pod: &Pod, budget: &PodDisruptionBudget) -> bool {
    if pod.status.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True") {
        return false;
    }
    let status = &budget.status;
    budget.spec.unhealthy_pod_eviction_policy.get() == Some("AlwaysAllow")
        || (status.current_healthy >= status.desired_healthy && status.desired_healthy > 0)
}

/// Whether one more pod may go.
///
/// # Errors
/// 429 with the reason as its cause; 403 if the status can't be right.
pub(super) fn check(budget: &PodDisruptionBudget) -> Result<(), Status> {
    let (name, status) = (&budget.metadata.name, &budget.status);
    if status.observed_generation < budget.metadata.generation {
        let text = format!("The disruption budget {name} is still being processed by the server.");
        return Err(Status::too_many_requests(REFUSED, 10).with_cause(CAUSE, &text, ""));
    }
    let forbidden = |why: &str, cause: &str| {
        let text = format!("The disruption budget {name} does not allow evicting pods currently: {cause}");
        Status::forbidden(PodDisruptionBudget::KIND, name, why).with_cause(CAUSE, &text, "")
    };
    if status.disruptions_allowed < 0 {
        return Err(forbidden("pdb disruptions allowed is negative", "pdb disruptions allowed is negative"));
    }
    if status.disrupted_pods.len() > DISRUPTED_MAX {
        return Err(forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            "too many pending evictions not confirmed by PDB controller",
        ));
    }
    if status.disruptions_allowed > 0 {
        return Ok(());
    }
    let refused = status.conditions.iter().find(|c| c.type_ == "DisruptionAllowed" && c.status == "False");
    let text = match refused.filter(|c| !c.message.is_empty()) {
        Some(c) if c.reason == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            c.message
        ),
        _ if status.current_healthy <= status.desired_healthy => format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            status.desired_healthy, status.current_healthy
        ),
        Some(c) => {
            format!("The disruption budget {name} does not allow evicting pods currently ({}): {}", c.reason, c.message)
        }
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    };
    Err(Status::too_many_requests(REFUSED, 0).with_cause(CAUSE, &text, ""))
}

/// Spends one disruption on a pod.
pub(super) fn spend(budget: &mut PodDisruptionBudget, pod: &Str, now: Time) {
    let status = budget.status.make();
    status.disruptions_allowed -= 1;
    if status.disruptions_allowed == 0 {
        close(status, now);
    }
    status.disrupted_pods.insert(pod.clone(), now);
}

/// The condition says that nothing more may go.
fn close(status: &mut PodDisruptionBudgetStatus, now: Time) {
    let mut condition = Condition {
        type_: "DisruptionAllowed".into(),
        status: "False".into(),
        reason: "InsufficientPods".into(),
        observed_generation: status.observed_generation,
        last_transition_time: now,
        ..Default::default()
    };
    match status.conditions.make().iter_mut().find(|c| c.type_ == condition.type_) {
        Some(old) => {
            if old.status == condition.status {
                condition.last_transition_time = old.last_transition_time;
            }
            *old = condition;
        }
        None => status.conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(allowed: i32, healthy: i32, desired: i32) -> PodDisruptionBudget {
        let mut budget = PodDisruptionBudget::default();
        budget.metadata.name = "web".into();
        let status = budget.status.make();
        status.disruptions_allowed = allowed;
        status.current_healthy = healthy;
        status.desired_healthy = desired;
        budget
    }

    fn cause(budget: &PodDisruptionBudget) -> String {
        let err = check(budget).unwrap_err();
        err.into_object()
            .details
            .get()
            .and_then(|d| d.causes.first())
            .map(|c| c.message.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn a_budget_says_why_it_refuses() {
        assert!(check(&budget(1, 3, 2)).is_ok());
        assert_eq!(cause(&budget(0, 3, 3)), "The disruption budget web needs 3 healthy pods and has 3 currently");
        let mut failed = budget(0, 3, 2);
        assert_eq!(cause(&failed), "The disruption budget web does not allow evicting pods currently");
        failed.status.make().conditions.push(Condition {
            type_: "DisruptionAllowed".into(),
            status: "False".into(),
            reason: "SyncFailed".into(),
            message: "found no controllers for pod \"x\"".into(),
            ..Default::default()
        });
        assert_eq!(
            cause(&failed),
            "The disruption budget web does not allow evicting pods currently because it failed sync: found no \
             controllers for pod \"x\""
        );
        let mut changed = budget(1, 3, 2);
        changed.metadata.generation = 2;
        assert_eq!(cause(&changed), "The disruption budget web is still being processed by the server.");
        assert_eq!(check(&changed).unwrap_err().message, REFUSED);
    }

    #[test]
    fn the_last_disruption_closes_the_budget() {
        let mut two = budget(2, 4, 2);
        spend(&mut two, &"a".into(), Time::from_unix(5));
        assert_eq!((two.status.disruptions_allowed, two.status.conditions.len()), (1, 0));
        spend(&mut two, &"b".into(), Time::from_unix(6));
        assert_eq!(two.status.conditions.first().map(|c| c.reason.to_string()).as_deref(), Some("InsufficientPods"));
        assert_eq!(two.status.disrupted_pods.get("b"), Some(&Time::from_unix(6)));
    }

    #[test]
    fn an_unready_pod_may_go_while_the_others_are_enough() {
        let pod = Pod::default();
        assert!(spares(&pod, &budget(0, 2, 2)));
        assert!(!spares(&pod, &budget(0, 1, 2)));
        let mut always = budget(0, 1, 2);
        always.spec.make().unhealthy_pod_eviction_policy = api::OStr::some("AlwaysAllow");
        assert!(spares(&pod, &always));
    }
}
