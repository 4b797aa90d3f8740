//! Deployment, ReplicaSet, DaemonSet, StatefulSet, Job.

use super::template::pod_template;
use super::writer::{bool_text, controller_of, date, format_labels, format_selector, join, or_none, selector_text};
use super::{Related, Writer};
use crate::print::human::human_duration;
use crate::print::time::parse_rfc3339;
use crate::value::Value;
use api::SortSmall;

fn conditions(w: &mut Writer, object: &Value) {
    if object.list("status/conditions").is_empty() {
        return;
    }
    w.put(0, "Conditions:\n  Type\tStatus\tReason\n");
    w.put(1, "----\t------\t------\n");
    for c in object.list("status/conditions") {
        w.put(1, &format!("{} \t{}\t{}\n", c.str("type"), c.str("status"), c.str("reason")));
    }
}

fn pods_status(w: &mut Writer, object: &Value, related: &Related) {
    let uid = object.str("metadata/uid");
    let count = |phase: &str| {
        related
            .pods
            .iter()
            .filter(|p| controller_of(p).is_some_and(|o| o.str("uid") == uid))
            .filter(|p| p.str("status/phase") == phase)
            .count()
    };
    w.put(
        0,
        &format!(
            "{} Running / {} Waiting / {} Succeeded / {} Failed\n",
            count("Running"),
            count("Pending"),
            count("Succeeded"),
            count("Failed")
        ),
    );
}

/// Describes a Deployment.
pub fn deployment(w: &mut Writer, d: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", d.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", d.str("metadata/namespace")));
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(d.str("metadata/creationTimestamp"))));
    w.labels("Labels", d.at("metadata/labels"));
    w.annotations("Annotations", d.at("metadata/annotations"));
    w.put(0, &format!("Selector:\t{}\n", selector_text(d.at("spec/selector"))));
    w.put(
        0,
        &format!(
            "Replicas:\t{} desired | {} updated | {} total | {} available | {} unavailable\n",
            d.int("spec/replicas"),
            d.int("status/updatedReplicas"),
            d.int("status/replicas"),
            d.int("status/availableReplicas"),
            d.int("status/unavailableReplicas")
        ),
    );
    w.put(0, &format!("StrategyType:\t{}\n", d.str("spec/strategy/type")));
    w.put(0, &format!("MinReadySeconds:\t{}\n", d.int("spec/minReadySeconds")));
    if d.has("spec/strategy/rollingUpdate") {
        let ru = d.at("spec/strategy/rollingUpdate");
        w.put(
            0,
            &format!(
                "RollingUpdateStrategy:\t{} max unavailable, {} max surge\n",
                ru.at("maxUnavailable").go_v(),
                ru.at("maxSurge").go_v()
            ),
        );
    }
    pod_template(w, d.at("spec/template"));
    conditions(w, d);
    let (old, new) = replica_sets_of(d, &related.replica_sets);
    if !old.is_empty() || new.is_some() {
        let text = |sets: &[&Value]| {
            let texts: Vec<String> = sets
                .iter()
                .map(|r| {
                    format!(
                        "{} ({}/{} replicas created)",
                        r.str("metadata/name"),
                        r.int("status/replicas"),
                        r.int("spec/replicas")
                    )
                })
                .collect();
            if texts.is_empty() { "<none>".to_string() } else { texts.join(", ") }
        };
        w.put(0, &format!("OldReplicaSets:\t{}\n", text(&old)));
        let new: Vec<&Value> = new.into_iter().collect();
        w.put(0, &format!("NewReplicaSet:\t{}\n", text(&new)));
    }
    w.events(&related.events);
}

/// A template without the hash label, as deployments are compared to their ReplicaSets.
fn bare_template(object: &Value) -> Value {
    let mut t = object.at("spec/template").clone();
    t.remove_key("metadata/labels", "pod-template-hash");
    if t.at("metadata/labels").is_empty() {
        t.remove_key("metadata", "labels");
    }
    t.remove_key("metadata", "creationTimestamp");
    t
}

/// The old ReplicaSets of a deployment and its new one (`deploymentutil.GetAllReplicaSets`).
pub fn replica_sets_of<'a>(d: &Value, sets: &'a [Value]) -> (Vec<&'a Value>, Option<&'a Value>) {
    let uid = d.str("metadata/uid");
    let mut owned: Vec<&Value> =
        sets.iter().filter(|r| controller_of(r).is_some_and(|o| o.str("uid") == uid)).collect();
    let template = bare_template(d);
    owned.sort_small_by_key(|r| (parse_rfc3339(r.str("metadata/creationTimestamp")), r.str("metadata/name")));
    let new = owned.iter().copied().find(|r| bare_template(r) == template);
    let new_uid = new.map(|n| n.str("metadata/uid"));
    let old = owned.into_iter().filter(|r| Some(r.str("metadata/uid")) != new_uid).collect();
    (old, new)
}

/// Describes a ReplicaSet.
pub fn replica_set(w: &mut Writer, rs: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", rs.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", rs.str("metadata/namespace")));
    w.put(0, &format!("Selector:\t{}\n", format_selector(rs.at("spec/selector"))));
    w.labels("Labels", rs.at("metadata/labels"));
    w.annotations("Annotations", rs.at("metadata/annotations"));
    w.controlled_by(rs);
    w.put(0, &format!("Replicas:\t{} current / {} desired\n", rs.int("status/replicas"), rs.int("spec/replicas")));
    w.put(0, "Pods Status:\t");
    match &related.pods_error {
        Some(e) => w.put(0, &format!("error in fetching pods: {e}\n")),
        None => pods_status(w, rs, related),
    }
    pod_template(w, rs.at("spec/template"));
    conditions(w, rs);
    w.events(&related.events);
}

/// Describes a ReplicationController.
pub fn replication_controller(w: &mut Writer, rc: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", rc.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", rc.str("metadata/namespace")));
    w.put(0, &format!("Selector:\t{}\n", format_labels(rc.at("spec/selector"))));
    w.labels("Labels", rc.at("metadata/labels"));
    w.annotations("Annotations", rc.at("metadata/annotations"));
    w.put(0, &format!("Replicas:\t{} current / {} desired\n", rc.int("status/replicas"), rc.int("spec/replicas")));
    w.put(0, "Pods Status:\t");
    match &related.pods_error {
        Some(e) => w.put(0, &format!("error in fetching pods: {e}\n")),
        None => pods_status(w, rc, related),
    }
    pod_template(w, rc.at("spec/template"));
    conditions(w, rc);
    w.events(&related.events);
}

/// Describes a DaemonSet.
pub fn daemon_set(w: &mut Writer, ds: &Value, related: &Related) {
    w.put(0, &format!("Name:\t{}\n", ds.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", ds.str("metadata/namespace")));
    w.put(0, &format!("Selector:\t{}\n", selector_text(ds.at("spec/selector"))));
    w.put(0, &format!("Node-Selector:\t{}\n", format_labels(ds.at("spec/template/spec/nodeSelector"))));
    w.labels("Labels", ds.at("metadata/labels"));
    w.annotations("Annotations", ds.at("metadata/annotations"));
    for (title, key) in [
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        w.put(0, &format!("{title}: {}\n", ds.at("status").int(key)));
    }
    w.put(0, "Pods Status:\t");
    pods_status(w, ds, related);
    pod_template(w, ds.at("spec/template"));
    w.events(&related.events);
}

/// Describes a StatefulSet.
pub fn stateful_set(w: &mut Writer, ps: &Value, related: &Related) {
    let spec = ps.at("spec");
    w.put(0, &format!("Name:\t{}\n", ps.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", ps.str("metadata/namespace")));
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(ps.str("metadata/creationTimestamp"))));
    w.put(0, &format!("Selector:\t{}\n", selector_text(spec.at("selector"))));
    w.labels("Labels", ps.at("metadata/labels"));
    w.annotations("Annotations", ps.at("metadata/annotations"));
    for (title, key) in [("Service Name", "serviceName"), ("Pod Management Policy", "podManagementPolicy")] {
        if !spec.str(key).is_empty() {
            w.put(0, &format!("{title}:\t{}\n", spec.str(key)));
        }
    }
    w.put(0, &format!("Replicas:\t{} desired | {} total\n", spec.int("replicas"), ps.int("status/replicas")));
    w.put(0, &format!("Update Strategy:\t{}\n", spec.str("updateStrategy/type")));
    let ru = spec.at("updateStrategy/rollingUpdate");
    if ru.has("partition") {
        w.put(1, &format!("Partition:\t{}\n", ru.int("partition")));
        if ru.has("maxUnavailable") {
            w.put(1, &format!("MaxUnavailable:\t{}\n", ru.at("maxUnavailable").go_v()));
        }
    }
    if spec.has("persistentVolumeClaimRetentionPolicy") {
        let policy = spec.at("persistentVolumeClaimRetentionPolicy");
        w.put(0, "Persistent Volume Claim Retention Policy:\n");
        w.put(1, &format!("WhenDeleted:\t{}\n", policy.str("whenDeleted")));
        w.put(1, &format!("WhenScaled:\t{}\n", policy.str("whenScaled")));
    }
    w.put(0, "Pods Status:\t");
    pods_status(w, ps, related);
    pod_template(w, spec.at("template"));
    claim_templates(w, spec.list("volumeClaimTemplates"));
    w.events(&related.events);
}

fn claim_templates(w: &mut Writer, templates: &[Value]) {
    if templates.is_empty() {
        w.put(0, "Volume Claims:\t<none>\n");
        return;
    }
    w.put(0, "Volume Claims:\n");
    for c in templates {
        w.put(1, &format!("Name:\t{}\n", c.str("metadata/name")));
        w.put(1, &format!("StorageClass:\t{}\n", c.str("spec/storageClassName")));
        for (title, key) in [("  Labels", "labels"), ("  Annotations", "annotations")] {
            let mut first = true;
            w.put(0, &format!("{title}:\t"));
            for (k, v) in c.at("metadata").map(key) {
                if !std::mem::take(&mut first) {
                    w.put(0, "  \t");
                }
                w.put(0, &format!("{k}={}\n", v.go_v()));
            }
            if first {
                w.put(0, "<none>\n");
            }
        }
        let capacity = c.at("spec/resources/requests/storage").as_str().unwrap_or("<default>");
        w.put(1, &format!("Capacity:\t{capacity}\n"));
        w.put(1, &format!("Access Modes:\t[{}]\n", join(c.list("spec/accessModes"), " ")));
    }
}

/// Describes a Job.
pub fn job(w: &mut Writer, job: &Value, related: &Related) {
    let (spec, status) = (job.at("spec"), job.at("status"));
    w.put(0, &format!("Name:\t{}\n", job.str("metadata/name")));
    w.put(0, &format!("Namespace:\t{}\n", job.str("metadata/namespace")));
    w.put(0, &format!("Selector:\t{}\n", selector_text(spec.at("selector"))));
    w.labels("Labels", job.at("metadata/labels"));
    w.annotations("Annotations", job.at("metadata/annotations"));
    w.controlled_by(job);
    if spec.has("parallelism") {
        w.put(0, &format!("Parallelism:\t{}\n", spec.int("parallelism")));
    }
    match spec.at("completions").as_int() {
        Some(n) => w.put(0, &format!("Completions:\t{n}\n")),
        None => w.put(0, "Completions:\t<unset>\n"),
    }
    for (title, key) in [
        ("Completion Mode", "completionMode"),
        ("Suspend", "suspend"),
        ("Backoff Limit", "backoffLimit"),
        ("TTL Seconds After Finished", "ttlSecondsAfterFinished"),
    ] {
        if spec.has(key) {
            w.put(0, &format!("{title}:\t{}\n", spec.at(key).go_v()));
        }
    }
    if status.has("startTime") {
        w.put(0, &format!("Start Time:\t{}\n", date(status.str("startTime"))));
    }
    if status.has("completionTime") {
        w.put(0, &format!("Completed At:\t{}\n", date(status.str("completionTime"))));
    }
    if let (Some(start), Some(end)) =
        (parse_rfc3339(status.str("startTime")), parse_rfc3339(status.str("completionTime")))
    {
        w.put(0, &format!("Duration:\t{}\n", human_duration(end - start)));
    }
    if spec.has("activeDeadlineSeconds") {
        w.put(0, &format!("Active Deadline Seconds:\t{}s\n", spec.int("activeDeadlineSeconds")));
    }
    let ready = match status.at("ready").as_int() {
        Some(n) => format!(" ({n} Ready)"),
        None => String::new(),
    };
    w.put(
        0,
        &format!(
            "Pods Statuses:\t{} Active{ready} / {} Succeeded / {} Failed\n",
            status.int("active"),
            status.int("succeeded"),
            status.int("failed")
        ),
    );
    if spec.str("completionMode") == "Indexed" {
        w.put(0, &format!("Completed Indexes:\t{}\n", capped(status.str("completedIndexes"), 50)));
    }
    pod_template(w, spec.at("template"));
    w.events(&related.events);
}

/// Describes a CronJob.
pub fn cron_job(w: &mut Writer, cj: &Value, related: &Related) {
    let spec = cj.at("spec");
    let set = |v: &Value| if v.is_null() { "<unset>".to_string() } else { v.go_v() };
    let seconds = |v: &Value| if v.is_null() { "<unset>".to_string() } else { format!("{}s", v.go_v()) };
    w.head(cj);
    w.put(0, &format!("Schedule:\t{}\n", spec.str("schedule")));
    w.put(0, &format!("Concurrency Policy:\t{}\n", spec.str("concurrencyPolicy")));
    w.put(0, &format!("Suspend:\t{}\n", bool_text(spec.at("suspend"))));
    w.put(0, &format!("Time Zone:\t{}\n", set(spec.at("timeZone"))));
    w.put(0, &format!("Successful Job History Limit:\t{}\n", set(spec.at("successfulJobsHistoryLimit"))));
    w.put(0, &format!("Failed Job History Limit:\t{}\n", set(spec.at("failedJobsHistoryLimit"))));
    w.put(0, &format!("Starting Deadline Seconds:\t{}\n", seconds(spec.at("startingDeadlineSeconds"))));
    let job = spec.at("jobTemplate/spec");
    let selector = if job.has("selector") { selector_text(job.at("selector")) } else { "<unset>".into() };
    w.put(0, &format!("Selector:\t{selector}\n"));
    w.put(0, &format!("Parallelism:\t{}\n", set(job.at("parallelism"))));
    w.put(0, &format!("Completions:\t{}\n", set(job.at("completions"))));
    if job.has("activeDeadlineSeconds") {
        w.put(0, &format!("Active Deadline Seconds:\t{}\n", seconds(job.at("activeDeadlineSeconds"))));
    }
    pod_template(w, job.at("template"));
    let last = match cj.str("status/lastScheduleTime") {
        "" => "<unset>".to_string(),
        t => date(t),
    };
    w.put(0, &format!("Last Schedule Time:\t{last}\n"));
    let active: Vec<&str> = cj.list("status/active").iter().map(|j| j.str("name")).collect();
    w.put(0, &format!("Active Jobs:\t{}\n", or_none(&active.join(", "))));
    w.events(&related.events);
}

fn capped(indexes: &str, soft_limit: usize) -> String {
    if indexes.is_empty() {
        return "<none>".into();
    }
    match indexes.get(soft_limit..).and_then(|t| t.find(',')) {
        Some(at) => format!("{}...", indexes.get(..soft_limit + at + 1).unwrap_or("")),
        None => indexes.to_string(),
    }
}
