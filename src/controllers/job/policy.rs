//! What a pod's failure means for its job, and when enough indexes have succeeded.

use api::batch_v1::{Job, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, SuccessPolicy};
use api::core_v1::{ContainerStatus, Pod};

use super::indexes::Intervals;

/// What the policy says of a failed pod.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Why the job fails, if it does.
    pub fail_job: Option<String>,
    /// Whether the failure counts.
    pub counts: bool,
    /// Whether the pod's index fails.
    pub fail_index: bool,
}

const COUNTED: Verdict = Verdict { fail_job: None, counts: true, fail_index: false };

/// Whether the job waits for a pod's end before it makes another.
pub fn only_replace_failed(job: &Job) -> bool {
    job.spec.pod_replacement_policy.get() == Some("Failed")
}

/// Whether a pod counts as failed; one that is being deleted may never get so far.
pub fn is_failed(pod: &Pod, job: &Job) -> bool {
    if pod.status.phase == "Failed" {
        return true;
    }
    !only_replace_failed(job) && pod.metadata.deletion_timestamp.unix().is_some() && pod.status.phase != "Succeeded"
}

/// Matches a failed pod against the rules (`matchPodFailurePolicy`).
pub fn judge(policy: Option<&PodFailurePolicy>, pod: &Pod) -> Verdict {
    let Some(policy) = policy else { return COUNTED };
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    for (i, rule) in policy.rules.iter().enumerate() {
        let action = &rule.action;
        let message = if let Some(codes) = rule.on_exit_codes.get() {
            let status = &pod.status;
            let found = matching(&status.container_statuses, codes)
                .or_else(|| matching(&status.init_container_statuses, codes));
            found.map(|(container, code)| {
                format!(
                    "Container {container} for pod {namespace}/{name} failed with exit code {code} matching {action} rule at index {i}"
                )
            })
        } else {
            let patterns = &rule.on_pod_conditions;
            let hit =
                |c: &&api::core_v1::PodCondition| patterns.iter().any(|p| p.type_ == c.type_ && p.status == c.status);
            pod.status.conditions.iter().find(hit).map(|c| {
                format!("Pod {namespace}/{name} has condition {} matching {action} rule at index {i}", c.type_)
            })
        };
        let Some(message) = message else { continue };
        match &**action {
            "Ignore" => return Verdict { counts: false, ..COUNTED },
            "FailIndex" => return Verdict { fail_index: true, ..COUNTED },
            "Count" => return COUNTED,
            "FailJob" => return Verdict { fail_job: Some(message), ..COUNTED },
            _ => {}
        }
    }
    COUNTED
}

fn matching<'a>(
    statuses: &'a [ContainerStatus],
    codes: &PodFailurePolicyOnExitCodesRequirement,
) -> Option<(&'a str, i32)> {
    statuses.iter().find_map(|s| {
        let code = s.state.terminated.get()?.exit_code;
        let named = codes.container_name.get().is_none_or(|n| *s.name == *n);
        let listed = codes.values.contains(&code);
        let matches = match &*codes.operator {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        (named && code != 0 && matches).then_some((&*s.name, code))
    })
}

/// Which rule the succeeded indexes satisfy, in words.
pub fn success(policy: Option<&SuccessPolicy>, completions: i32, succeeded: &Intervals) -> Option<String> {
    if succeeded.total() == 0 {
        return None;
    }
    let rule = policy?.rules.iter().position(|rule| match rule.succeeded_indexes.get() {
        Some(indexes) => {
            let wanted = Intervals::parse(indexes, completions);
            let there = wanted.overlap(succeeded);
            wanted.total() > 0 && (there == wanted.total() || rule.succeeded_count.is_some_and(|n| there >= n))
        }
        None => rule.succeeded_count.is_some_and(|n| succeeded.total() >= n),
    })?;
    Some(format!("Matched rules at index {rule}"))
}

#[cfg(test)]
mod tests {
    use api::List;
    use api::batch_v1::{PodFailurePolicyRule, SuccessPolicyRule};

    use super::*;

    #[test]
    fn exit_codes_decide() {
        let mut pod = Pod::default();
        pod.metadata.namespace = "default".into();
        pod.metadata.name = "p".into();
        let mut status = ContainerStatus { name: "main".into(), ..Default::default() };
        status.state.terminated.make().exit_code = 42;
        pod.status.make().container_statuses = List::from(vec![status]);
        let rule = |action: &str, operator: &str, values: Vec<i32>| {
            let mut rule = PodFailurePolicyRule { action: action.into(), ..Default::default() };
            let codes = rule.on_exit_codes.make();
            codes.operator = operator.into();
            codes.values = List::from(values);
            rule
        };
        let judged =
            |rules: Vec<PodFailurePolicyRule>| judge(Some(&PodFailurePolicy { rules: List::from(rules) }), &pod);
        assert!(!judged(vec![rule("Ignore", "In", vec![42])]).counts);
        assert_eq!(judged(vec![rule("Ignore", "NotIn", vec![42])]), COUNTED);
        let verdict = judged(vec![rule("Ignore", "In", vec![1]), rule("FailJob", "NotIn", vec![1])]);
        let message = "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 1";
        assert_eq!(verdict.fail_job.as_deref(), Some(message));
    }

    #[test]
    fn enough_indexes_are_success() {
        let rule = |indexes: &str, count: Option<i32>| {
            let succeeded_indexes = if indexes.is_empty() { Default::default() } else { api::OStr::some(indexes) };
            let rule = SuccessPolicyRule { succeeded_indexes, succeeded_count: count };
            SuccessPolicy { rules: List::from(vec![rule]) }
        };
        let done = Intervals::parse("0,3,4", 10);
        assert!(success(Some(&rule("0,3", None)), 10, &done).is_some());
        assert!(success(Some(&rule("0-3", None)), 10, &done).is_none());
        assert!(success(Some(&rule("0-3", Some(2))), 10, &done).is_some());
        assert!(success(Some(&rule("", Some(4))), 10, &done).is_none());
    }
}
