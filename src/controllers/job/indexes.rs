//! The indexes of an Indexed job (`indexed_job_utils.go`).

use api::SortSmall;
use std::collections::BTreeSet;
use std::fmt;

use api::Rev;
use api::core_v1::{Container, EnvVar, Pod, PodTemplateSpec};

/// The annotation and label with a pod's index.
pub const INDEX: &str = "batch.kubernetes.io/job-completion-index";
/// How often pods of an index have failed.
pub const FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How often they have failed without being counted.
pub const IGNORED_FAILURES: &str = "batch.kubernetes.io/job-index-ignored-failure-count";

/// Indexes as intervals, in order, apart from each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(i32, i32)>);

impl Intervals {
    /// Reads `0,2-5`; what is not below `completions` is left out.
    pub fn parse(text: &str, completions: i32) -> Intervals {
        let mut result = Intervals::default();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let mut limits = part.split('-');
            let Some(Ok(first)) = limits.next().map(str::parse::<i32>) else { continue };
            if first >= completions {
                break;
            }
            let last = match limits.next().map(str::parse::<i32>) {
                None => first,
                Some(Ok(last)) => last.min(completions.saturating_sub(1)),
                Some(Err(_)) => continue,
            };
            result.push(first, last);
        }
        result
    }

    fn push(&mut self, first: i32, last: i32) {
        match self.0.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => self.0.push((first, last)),
        }
    }

    /// These and others.
    pub fn merge(&self, other: &Intervals) -> Intervals {
        let mut all: Vec<(i32, i32)> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_small();
        let mut result = Intervals::default();
        all.into_iter().for_each(|(first, last)| result.push(first, last));
        result
    }

    /// These and single indexes.
    pub fn with(&self, indexes: &BTreeSet<i32>) -> Intervals {
        self.merge(&Intervals(indexes.iter().map(|i| (*i, *i)).collect()))
    }

    /// How many there are.
    pub fn total(&self) -> i32 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Whether an index is among them.
    pub fn has(&self, index: i32) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&index))
    }

    /// How many are in both.
    pub fn overlap(&self, other: &Intervals) -> i32 {
        let common = |a: &(i32, i32), b: &(i32, i32)| (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
        self.0.iter().map(|a| other.0.iter().map(|b| common(a, b)).sum::<i32>()).sum()
    }

    /// The first `count` indexes below `completions` that are not among them.
    pub fn first_missing(&self, count: usize, completions: i32) -> Vec<i32> {
        let mut result = Vec::new();
        let mut candidate = 0;
        for (first, last) in self.0.iter().copied().chain([(completions, completions)]) {
            while candidate < first.min(completions) && result.len() < count {
                result.push(candidate);
                candidate += 1;
            }
            candidate = candidate.max(last.saturating_add(1));
        }
        result
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            write!(f, "{first}")?;
            match last - first {
                0 => {}
                1 => write!(f, ",{last}")?,
                _ => write!(f, "-{last}")?,
            }
        }
        Ok(())
    }
}

/// The pod's index, if it has one.
pub fn index_of(pod: &Pod) -> Option<i32> {
    pod.metadata.annotations.get(INDEX)?.parse().ok().filter(|i| *i >= 0)
}

/// The indexes of pods.
pub fn indexes_of(pods: &[Rev<Pod>]) -> BTreeSet<i32> {
    pods.iter().filter_map(|p| index_of(p)).collect()
}

fn count(pod: &Pod, annotation: &str) -> i32 {
    pod.metadata.annotations.get(annotation).and_then(|v| v.parse().ok()).filter(|n| *n >= 0).unwrap_or(0)
}

/// How often pods of this pod's index had failed before it: counted ones.
pub fn failures(pod: &Pod) -> i32 {
    count(pod, FAILURES)
}

/// The same, and those that were not counted.
pub fn ignored_failures(pod: &Pod) -> i32 {
    count(pod, IGNORED_FAILURES)
}

/// Gives every container `JOB_COMPLETION_INDEX`.
pub fn add_environment(template: &mut PodTemplateSpec) {
    const NAME: &str = "JOB_COMPLETION_INDEX";
    let add = |container: &mut Container| {
        if container.env.iter().any(|v| v.name == NAME) {
            return;
        }
        let mut variable = EnvVar { name: NAME.into(), ..Default::default() };
        let path = format!("metadata.labels['{INDEX}']");
        variable.value_from.make().field_ref.make().field_path = path.into();
        container.env.push(variable);
    };
    let spec = template.spec.make();
    if !spec.init_containers.is_empty() {
        spec.init_containers.make().iter_mut().for_each(add);
    }
    spec.containers.make().iter_mut().for_each(add);
}

/// The beginning of the name of an index's pods.
pub fn name_prefix(job: &str, index: i32) -> String {
    let suffix = format!("-{index}-");
    let mut end = job.len().min(58usize.saturating_sub(suffix.len()));
    while !job.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", job.get(..end).unwrap_or(job))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_written_short() {
        let all = Intervals::parse("0,2,3,7-9", 9);
        assert_eq!(all.to_string(), "0,2,3,7,8");
        let more = all.with(&BTreeSet::from([1, 4]));
        assert_eq!((more.to_string().as_str(), more.total()), ("0-4,7,8", 7));
        assert!(more.has(4) && !more.has(5));
        assert_eq!(more.first_missing(2, 12), [5, 6]);
        assert_eq!(more.first_missing(9, 11), [5, 6, 9, 10]);
        assert_eq!(Intervals::default().first_missing(2, 3), [0, 1]);
        assert_eq!(more.overlap(&Intervals::parse("3-7", 20)), 3);
    }
}
