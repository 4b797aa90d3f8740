//! How long a job waits before it makes another pod (`backoff_utils.go`).

use api::SortSmall;
use std::time::Duration;

use api::Rev;
use api::core_v1::{ContainerStatus, Pod};

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);

/// Failures of a job's pods since one succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backoff {
    failures: i32,
    /// Seconds since 1970.
    last_failure: i64,
}

impl Backoff {
    /// With pods that finished since.
    pub fn with(self, succeeded: &[Rev<Pod>], failed: &[Rev<Pod>]) -> Backoff {
        let mut failures: Vec<i64> = failed.iter().map(|p| finished_at(p)).collect();
        failures.sort_small();
        let before = match succeeded.iter().map(|p| finished_at(p)).max() {
            Some(success) => {
                failures.retain(|at| *at > success);
                Backoff::default()
            }
            None => self,
        };
        let Some(last_failure) = failures.last().copied() else { return before };
        let more = i32::try_from(failures.len()).unwrap_or(i32::MAX);
        Backoff { failures: before.failures.saturating_add(more), last_failure }
    }

    /// What is left of the pause. `now` is in nanoseconds since 1970.
    pub fn remaining(self, now: i64) -> Duration {
        remaining(self.failures, self.last_failure, now)
    }
}

/// 10 s, 20 s, 40 s, .., 600 s after the last failure.
fn remaining(failures: i32, last_failure: i64, now: i64) -> Duration {
    if failures <= 0 {
        return Duration::ZERO;
    }
    let mut pause = FIRST;
    for _ in 1..failures {
        pause *= 2;
        if pause >= LONGEST {
            pause = LONGEST;
            break;
        }
    }
    let passed = now.saturating_sub(last_failure.saturating_mul(1_000_000_000));
    pause.saturating_sub(Duration::from_nanos(u64::try_from(passed).unwrap_or(0)))
}

/// What is left of an index's pause after its last failed pod.
pub fn remaining_for(last_failed: Option<&Rev<Pod>>, now: i64) -> Duration {
    last_failed.map_or(Duration::ZERO, |pod| {
        let failures = super::indexes::failures(pod) + super::indexes::ignored_failures(pod) + 1;
        remaining(failures, finished_at(pod), now)
    })
}

/// When a pod finished, in seconds since 1970: the last of its containers; or when it became unready; or when it was
/// deleted.
pub fn finished_at(pod: &Pod) -> i64 {
    let sidecar = |s: &&ContainerStatus| {
        let mut init = pod.spec.init_containers.iter();
        init.any(|c| c.name == s.name && c.restart_policy.get() == Some("Always"))
    };
    let status = &pod.status;
    let statuses = status.container_statuses.iter().chain(status.init_container_statuses.iter().filter(sidecar));
    let ends: Option<Vec<i64>> = statuses.map(|s| s.state.terminated.get()?.finished_at.unix()).collect();
    if let Some(last) = ends.and_then(|e| e.into_iter().max()) {
        return last;
    }
    let unready = status.conditions.iter().find(|c| c.type_ == "Ready" && c.status == "False");
    if let Some(at) = unready.and_then(|c| c.last_transition_time.unix()) {
        return at;
    }
    if let Some(at) = pod.metadata.deletion_timestamp.unix() {
        return at.saturating_sub(pod.metadata.deletion_grace_period_seconds.unwrap_or(0));
    }
    pod.metadata.creation_timestamp.unix().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use api::Time;

    use super::*;

    fn pod(finished: i64) -> Rev<Pod> {
        let mut pod = Pod::default();
        pod.metadata.creation_timestamp = Time::from_unix_nanos(finished * 1_000_000_000);
        Rev::new(1, pod)
    }

    #[test]
    fn the_pause_doubles_until_a_pod_succeeds() {
        let at = |s: i64| s * 1_000_000_000;
        let one = Backoff::default().with(&[], &[pod(100)]);
        assert_eq!(one.remaining(at(104)), Duration::from_secs(6));
        let three = one.with(&[], &[pod(110), pod(120)]);
        assert_eq!(three.remaining(at(121)), Duration::from_secs(39));
        assert_eq!(three.with(&[pod(130)], &[pod(125)]).remaining(at(131)), Duration::ZERO);
        assert_eq!(three.with(&[pod(130)], &[pod(140)]).remaining(at(141)), Duration::from_secs(9));
        let many = Backoff { failures: 20, last_failure: 100 };
        assert_eq!(many.remaining(at(100)), Duration::from_secs(600));
    }
}
