//! Jobs, cron jobs, autoscalers.

use api::batch_v1::Job;
use api::{Object, Str};

use super::{Dependents, Moment, SPEC, Strategy};

pub static STRATEGIES: &[Strategy] = &[
    Strategy {
        group: "batch",
        resource: "jobs",
        generation: SPEC,
        dependents: Dependents::Orphan,
        prepare_create: job_create,
        read_back: job_read_back,
        ..Strategy::ORDINARY
    },
    Strategy { group: "batch", resource: "cronjobs", generation: SPEC, ..Strategy::ORDINARY },
    Strategy { group: "autoscaling", resource: "horizontalpodautoscalers", generation: SPEC, ..Strategy::ORDINARY },
];

const LEGACY_UID: &str = "controller-uid";
const LEGACY_NAME: &str = "job-name";
const UID: &str = "batch.kubernetes.io/controller-uid";
const NAME: &str = "batch.kubernetes.io/job-name";

/// Gives the pods the job's labels, and the job a selector for them, unless the user does so himself.
fn job_create(object: &mut dyn Object, _: &Moment) {
    let Some(job) = object.downcast_mut::<Job>() else { return };
    if job.spec.manual_selector == Some(true) {
        return;
    }
    let uid = job.metadata.uid.clone();
    let name = job.metadata.name.clone();
    let spec = job.spec.make();
    let labels = &mut spec.template.make().metadata.labels;
    // Labels that the user gave stay, and fail validation where they differ.
    for (key, value) in [(UID, &uid), (LEGACY_UID, &uid), (NAME, &name), (LEGACY_NAME, &name)] {
        labels.entry(Str::from(key), || value.clone());
    }
    // A selector that the user gave stays, and fails validation.
    let selector = spec.selector.make();
    if !selector.match_labels.contains_key(UID) {
        selector.match_labels.insert(Str::from(UID), uid);
    }
}

/// A Job without labels has its template's: the server sees those that it added itself once it reads the Job back.
fn job_read_back(object: &mut dyn Object) {
    if let Some(job) = object.downcast_mut::<Job>()
        && job.metadata.labels.is_empty()
        && !job.spec.template.metadata.labels.is_empty()
    {
        job.metadata.labels = job.spec.template.metadata.labels.clone();
    }
}
