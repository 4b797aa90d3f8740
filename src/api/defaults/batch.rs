//! `pkg/apis/batch/v1/defaults.go`

use super::core::pod_template;
use super::{optional_text, text};
use crate::Object;
use crate::batch_v1::{CronJob, Job, JobSpec};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(job) = object.downcast_mut::<Job>() {
        let labels = job.spec.template.metadata.labels.clone();
        if job.metadata.labels.is_empty() && !labels.is_empty() {
            job.metadata.labels = labels;
        }
        self::job(job.spec.make());
    } else if let Some(cron) = object.downcast_mut::<CronJob>() {
        let spec = cron.spec.make();
        text(&mut spec.concurrency_policy, "Allow");
        if spec.suspend.is_none() {
            spec.suspend = Some(false);
        }
        if spec.successful_jobs_history_limit.is_none() {
            spec.successful_jobs_history_limit = Some(3);
        }
        if spec.failed_jobs_history_limit.is_none() {
            spec.failed_jobs_history_limit = Some(1);
        }
        // The template is defaulted as far as the generated defaults go: its pods.
        pod_template(spec.job_template.make().spec.make().template.make());
    } else {
        return false;
    }
    true
}

fn job(spec: &mut JobSpec) {
    if spec.completions.is_none() && spec.parallelism.is_none() {
        spec.completions = Some(1);
        spec.parallelism = Some(1);
    }
    if spec.parallelism.is_none() {
        spec.parallelism = Some(1);
    }
    if spec.backoff_limit.is_none() {
        spec.backoff_limit = Some(if spec.backoff_limit_per_index.is_some() { i32::MAX } else { 6 });
    }
    optional_text(&mut spec.completion_mode, "NonIndexed");
    if spec.suspend.is_none() {
        spec.suspend = Some(false);
    }
    if spec.manual_selector.is_none() {
        spec.manual_selector = Some(false);
    }
    let replace = if spec.pod_failure_policy.is_some() { "Failed" } else { "TerminatingOrFailed" };
    optional_text(&mut spec.pod_replacement_policy, replace);
    if spec.pod_failure_policy.is_some() {
        for rule in spec.pod_failure_policy.make().rules.make() {
            if !rule.on_pod_conditions.is_empty() {
                rule.on_pod_conditions.make().iter_mut().for_each(|p| text(&mut p.status, "True"));
            }
        }
    }
    pod_template(spec.template.make());
}
