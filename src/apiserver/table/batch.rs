//! Rows of jobs and autoscaling.

use api::autoscaling_v1::Scale;
use api::autoscaling_v2::{HorizontalPodAutoscaler, MetricSpec, MetricStatus};
use api::batch_v1::{CronJob, Job};
use api::table::{Cell, Column};

use super::Env;
use super::apps::selector;
use super::core::containers;

pub static JOB: &[Column] = &[
    Column::name(),
    Column::new("Status", "string"),
    Column::new("Completions", "string"),
    Column::new("Duration", "string"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
    Column::wide("Selector", "string"),
];
pub static CRON_JOB: &[Column] = &[
    Column::name(),
    Column::new("Schedule", "string"),
    Column::new("Timezone", "string"),
    Column::new("Suspend", "boolean"),
    Column::new("Active", "integer"),
    Column::new("Last Schedule", "string"),
    Column::new("Age", "string"),
    Column::wide("Containers", "string"),
    Column::wide("Images", "string"),
    Column::wide("Selector", "string"),
];
pub static SCALE: &[Column] = &[
    Column::new("Name", "string"),
    Column::new("Desired", "integer"),
    Column::new("Available", "integer"),
    Column::new("Age", "string"),
];
pub static HPA: &[Column] = &[
    Column::name(),
    Column::new("Reference", "string"),
    Column::new("Targets", "string"),
    Column::new("MinPods", "string"),
    Column::new("MaxPods", "string"),
    Column::new("Replicas", "string"),
    Column::new("Age", "string"),
];

pub fn job(object: &Job, env: &Env) -> Vec<Cell> {
    let succeeded = object.status.succeeded;
    let completions = match (object.spec.completions, object.spec.parallelism.unwrap_or_default()) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let duration = match (object.status.start_time.unix(), object.status.completion_time.unix()) {
        (None, _) => String::new(),
        (Some(_), None) => env.since(&object.status.start_time),
        (Some(start), Some(end)) => api::duration::human((end - start) * 1_000_000_000),
    };
    let has = |kind: &str| {
        let condition = object.status.conditions.iter().find(|c| &*c.type_ == kind);
        condition.is_some_and(|c| &*c.status == "True")
    };
    let status = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if object.metadata.deletion_timestamp.unix().is_some() {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    let [names, images] = containers(&object.spec.template.spec.containers);
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(status),
        Cell::from(completions),
        Cell::from(duration),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(selector(object.spec.selector.get())),
    ]
}

pub fn cron_job(object: &CronJob, env: &Env) -> Vec<Cell> {
    let job = &object.spec.job_template.spec;
    let [names, images] = containers(&job.template.spec.containers);
    let last = match object.status.last_schedule_time.unix() {
        None => "<none>".to_string(),
        Some(_) => env.since(&object.status.last_schedule_time),
    };
    let suspend = match object.spec.suspend {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(&object.spec.schedule),
        Cell::from(object.spec.time_zone.get().unwrap_or("<none>")),
        Cell::from(suspend),
        Cell::from(object.status.active.len()),
        Cell::from(last),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
        names,
        images,
        Cell::from(selector(job.selector.get())),
    ]
}

pub fn scale(object: &Scale, env: &Env) -> Vec<Cell> {
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(object.spec.replicas),
        Cell::from(object.status.replicas),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

pub fn hpa(object: &HorizontalPodAutoscaler, env: &Env) -> Vec<Cell> {
    let target = &object.spec.scale_target_ref;
    vec![
        Cell::from(&object.metadata.name),
        Cell::from(format!("{}/{}", target.kind, target.name)),
        Cell::from(metrics(&object.spec.metrics, &object.status.current_metrics)),
        Cell::from(object.spec.min_replicas.map_or("<unset>".to_string(), |n| n.to_string())),
        Cell::from(object.spec.max_replicas),
        Cell::from(object.status.current_replicas),
        Cell::from(env.since(&object.metadata.creation_timestamp)),
    ]
}

fn metrics(specs: &[MetricSpec], statuses: &[MetricStatus]) -> String {
    if specs.is_empty() {
        return "<none>".to_string();
    }
    const SHOWN: usize = 2;
    let list: Vec<String> =
        specs.iter().take(SHOWN).enumerate().map(|(i, spec)| metric(spec, statuses.get(i))).collect();
    let text = list.join(", ");
    if specs.len() > SHOWN { format!("{text} + {} more...", specs.len() - SHOWN) } else { text }
}

fn metric(spec: &MetricSpec, status: Option<&MetricStatus>) -> String {
    if &*spec.type_ != "Resource" {
        return "<unknown type>".to_string();
    }
    let Some(resource) = spec.resource.get() else { return "<unknown type>".to_string() };
    let current = status.and_then(|s| s.resource.get()).map(|s| &s.current);
    let unknown = "<unknown>".to_string();
    if let Some(average) = &resource.target.average_value {
        let current = current.and_then(|c| c.average_value.as_ref()).map_or(unknown, |q| q.to_string());
        return format!("{}: {current}/{average}", resource.name);
    }
    let current = current.and_then(|c| c.average_utilization).map_or(unknown, |n| format!("{n}%"));
    let target = resource.target.average_utilization.map_or("<auto>".to_string(), |n| format!("{n}%"));
    format!("{}: {current}/{target}", resource.name)
}
