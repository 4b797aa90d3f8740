//! Jobs and CronJobs (pkg/apis/batch/validation).

use super::at::{At, Errors, IMMUTABLE};
use super::internal::Internal;
use super::{labels, metadata, pod};
use crate::batch_v1::{CronJob, CronJobSpec, Job, JobSpec, PodFailurePolicyRule, SuccessPolicyRule};
use crate::core_v1::PodTemplateSpec;
use crate::cron::Schedule;
use crate::object::Object;
use crate::selector::LabelSelector as Selector;
use crate::timezone::TimeZone;
use crate::{OStr, Ptr, field, go, names};

const CRON_NAME_MAX: usize = 52;
const MANAGED_BY_MAX: usize = 63;
const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const INDEXED_MAX: i32 = 100_000;
const HIGH_COMPLETIONS: i32 = 100_000;
const HIGH_PARALLELISM_MAX: i32 = 10_000;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// A new Job.
pub(super) fn create_job(job: &Job, errors: &mut Errors) {
    metadata::create(&job.metadata, true, metadata::subdomain, errors);
    generated_selector(job, true, errors);
    job_spec(&job.spec, &pod::Options::default(), &At::new("spec"), errors);
    with_selector(&job.spec, &At::new("spec"), errors);
    indexed_name(job, errors);
}

/// A changed Job.
pub(super) fn update_job(new: &Job, old: &Job, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.spec.same(&old.spec) {
        return;
    }
    let at = &At::new("spec");
    let (now, was) = (&*new.spec, &*old.spec);
    job_spec(now, &pod::Options::of(&was.template.spec), at, errors);
    with_selector(now, at, errors);
    let completions = &at.child("completions");
    if now.completion_mode.get() != Some("Indexed") {
        if now.completions != was.completions {
            errors.invalid(completions, now.completions, IMMUTABLE);
        }
    } else if now.completions.is_some() && now.completions != was.completions && now.completions != now.parallelism {
        errors.invalid(completions, now.completions, "can only be modified in tandem with spec.parallelism");
    }
    errors.immutable(&at.child("selector"), &now.selector, &was.selector);
    template_update(new, old, at, errors);
    errors.immutable(&at.child("completionMode"), &now.completion_mode, &was.completion_mode);
    same_struct(&at.child("podFailurePolicy"), &now.pod_failure_policy, &was.pod_failure_policy, errors);
    if now.backoff_limit_per_index != was.backoff_limit_per_index {
        errors.invalid(&at.child("backoffLimitPerIndex"), now.backoff_limit_per_index, IMMUTABLE);
    }
    errors.immutable(&at.child("managedBy"), &now.managed_by, &was.managed_by);
    same_struct(&at.child("successPolicy"), &now.success_policy, &was.success_policy, errors);
    indexed_name(new, errors);
}

fn same_struct<T: Object + Clone + PartialEq>(at: &At, new: &Ptr<T>, old: &Ptr<T>, errors: &mut Errors) {
    if new != old {
        match new.get() {
            Some(new) => errors.invalid(at, Internal(new), IMMUTABLE),
            None => errors.invalid(at, crate::json::Value::Null, IMMUTABLE),
        }
    }
}

/// The template stays as it is, but for what a suspended Job may change.
fn template_update(new: &Job, old: &Job, at: &At, errors: &mut Errors) {
    let template: &PodTemplateSpec = &new.spec.template;
    if new.spec.template.same(&old.spec.template) {
        return;
    }
    let mut was: PodTemplateSpec = (*old.spec.template).clone();
    let suspended = old.spec.suspend == Some(true);
    if suspended && old.status.start_time.is_zero() {
        was.metadata.labels = template.metadata.labels.clone();
        was.metadata.annotations = template.metadata.annotations.clone();
        let spec = was.spec.make();
        let affinity = template.spec.affinity.get().map(|a| a.node_affinity.clone()).unwrap_or_default();
        match (template.spec.affinity.is_some(), spec.affinity.is_some()) {
            (false, false) => {}
            (false, true) => {
                spec.affinity.make().node_affinity.clear();
                if spec.affinity.get().is_some_and(|a| a.pod_affinity.is_none() && a.pod_anti_affinity.is_none()) {
                    spec.affinity.clear();
                }
            }
            (true, _) => spec.affinity.make().node_affinity = affinity,
        }
        spec.node_selector = template.spec.node_selector.clone();
        spec.tolerations = template.spec.tolerations.clone();
        spec.scheduling_gates = template.spec.scheduling_gates.clone();
        for (list, now) in [
            (&mut spec.containers, &template.spec.containers),
            (&mut spec.init_containers, &template.spec.init_containers),
        ] {
            if list.len() == now.len() {
                for (was, now) in list.make().iter_mut().zip(now).filter(|(was, now)| was.name == now.name) {
                    was.resources = now.resources.clone();
                }
            }
        }
    }
    if suspended && old.status.start_time.is_zero() {
        if template.spec != was.spec {
            errors.invalid(&at.child("template").child("spec"), Internal(&*template.spec), IMMUTABLE);
        }
    } else if *template != was {
        errors.invalid(&at.child("template"), Internal(template), IMMUTABLE);
    }
}

/// The selector and labels that the server makes (`validateGeneratedSelector`).
fn generated_selector(job: &Job, prefixed: bool, errors: &mut Errors) {
    if job.spec.manual_selector == Some(true) || job.spec.selector.is_none() {
        return;
    }
    let spec = At::new("spec");
    let template = spec.child("template");
    let meta = template.child("metadata");
    let at = &meta.child("labels");
    let (uid, name) = (&job.metadata.uid, &job.metadata.name);
    if uid.is_empty() {
        errors.required(&At::new("metadata").child("uid"), "");
    }
    let mut wanted = vec![("controller-uid", uid), ("job-name", name)];
    if prefixed {
        wanted.extend([("batch.kubernetes.io/controller-uid", uid), ("batch.kubernetes.io/job-name", name)]);
    }
    let labels = &job.spec.template.metadata.labels;
    for (key, value) in &wanted {
        match labels.get(key) {
            None => errors.required(&at.key(key), format!("must be '{value}'")),
            Some(is) if is != *value => errors.invalid(&at.key(key), labels, format!("must be '{value}'")),
            Some(_) => {}
        }
    }
    let expected = wanted.into_iter().map(|(key, value)| (key, value.clone())).collect();
    if Selector::from_ptr(&job.spec.selector).is_ok_and(|s| !s.matches(&expected)) {
        errors.invalid(&spec.child("selector"), &job.spec.selector, "`selector` not auto-generated");
    }
}

/// The host name of the last pod must be one.
fn indexed_name(job: &Job, errors: &mut Errors) {
    if job.spec.completion_mode.get() == Some("Indexed")
        && let Some(completions) = job.spec.completions.filter(|c| *c > 0)
    {
        let host = format!("{}-{}", job.metadata.name, completions - 1);
        if !names::dns1123_label(&host).is_empty() {
            let why = format!("will not able to create pod with invalid DNS label: {host}");
            errors.invalid(&At::new("metadata").child("name"), &job.metadata.name, why);
        }
    }
}

fn with_selector(spec: &JobSpec, at: &At, errors: &mut Errors) {
    let at_selector = &at.child("selector");
    if spec.selector.is_none() {
        errors.required(at_selector, "");
    }
    labels::selector(&spec.selector, at_selector, errors);
    if let Ok(selector) = Selector::from_ptr(&spec.selector) {
        let labels = &spec.template.metadata.labels;
        if !selector.matches(labels) {
            let why = "`selector` does not match template `labels`";
            errors.invalid(&at.child("template").child("metadata").child("labels"), labels, why);
        }
    }
}

fn job_spec(spec: &JobSpec, options: &pod::Options, at: &At, errors: &mut Errors) {
    for (name, value) in [
        ("parallelism", spec.parallelism.map(i64::from)),
        ("completions", spec.completions.map(i64::from)),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit.map(i64::from)),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished.map(i64::from)),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index.map(i64::from)),
        ("maxFailedIndexes", spec.max_failed_indexes.map(i64::from)),
    ] {
        errors.not_negative(&at.child(name), value.unwrap_or(0));
    }
    if spec.max_failed_indexes.is_some() && spec.backoff_limit_per_index.is_none() {
        errors.required(&at.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.managed_by.get() {
        domain_prefixed_path(manager, &at.child("managedBy"), errors);
        if manager.len() > MANAGED_BY_MAX {
            errors.too_long(&at.child("managedBy"), MANAGED_BY_MAX);
        }
    }
    completion_mode(spec, at, errors);
    if let Some(policy) = spec.pod_failure_policy.get() {
        failure_policy(spec, &policy.rules, &at.child("podFailurePolicy"), errors);
    }
    if let Some(policy) = spec.success_policy.get() {
        let at = &at.child("successPolicy");
        if spec.completion_mode.get() != Some("Indexed") {
            errors.invalid(at, Internal(policy), "requires indexed completion mode");
        } else {
            let at = &at.child("rules");
            if policy.rules.is_empty() {
                errors.required(at, "at least one rules must be specified when the successPolicy is specified");
            }
            if policy.rules.len() > RULES_MAX {
                errors.too_many(at, policy.rules.len(), RULES_MAX);
            }
            for (i, rule) in policy.rules.iter().enumerate() {
                success_rule(rule, spec.completions.unwrap_or(0), &at.index(i), errors);
            }
        }
    }
    if let Some(policy) = spec.pod_replacement_policy.get() {
        let valid: &[&str] =
            if spec.pod_failure_policy.is_some() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        errors.one_of(&at.child("podReplacementPolicy"), policy, valid);
    }
    let at_template = &at.child("template");
    pod::template(&spec.template, options, at_template, errors);
    let at = at_template.child("spec");
    let at = &at.child("restartPolicy");
    match &*spec.template.spec.restart_policy {
        "Always" | "" => errors.required(at, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.pod_failure_policy.is_some() => {
            errors.invalid(at, "OnFailure", "only \"Never\" is supported when podFailurePolicy is specified");
        }
        policy => errors.one_of(at, policy, &["OnFailure", "Never"]),
    }
}

fn completion_mode(spec: &JobSpec, at: &At, errors: &mut Errors) {
    let mode = spec.completion_mode.get();
    let (completions, parallelism) = (&at.child("completions"), &at.child("parallelism"));
    let failed = &at.child("maxFailedIndexes");
    if let Some(mode) = mode {
        errors.one_of(&at.child("completionMode"), mode, &["NonIndexed", "Indexed"]);
    }
    if mode == Some("Indexed") {
        if spec.completions.is_none() {
            errors.required(completions, "when completion mode is Indexed");
        }
        if let Some(count) = spec.parallelism.filter(|p| *p > INDEXED_MAX) {
            let why = format!("must be less than or equal to {INDEXED_MAX} when completion mode is Indexed");
            errors.invalid(parallelism, count, why);
        }
        if let (Some(all), Some(max)) = (spec.completions, spec.max_failed_indexes)
            && max > all
        {
            errors.invalid(failed, max, "must be less than or equal to completions");
        }
        if let Some(max) = spec.max_failed_indexes.filter(|m| *m > INDEXED_MAX) {
            errors.invalid(failed, max, format!("must be less than or equal to {INDEXED_MAX}"));
        }
        if spec.completions.is_some_and(|c| c > HIGH_COMPLETIONS) && spec.backoff_limit_per_index.is_some() {
            if spec.max_failed_indexes.is_none() {
                errors.required(failed, format!("must be specified when completions is above {HIGH_COMPLETIONS}"));
            }
            let why = format!(
                "must be less than or equal to {HIGH_PARALLELISM_MAX} when completions are above {HIGH_COMPLETIONS} and used with backoff limit per index"
            );
            for (at, count) in [(parallelism, spec.parallelism), (failed, spec.max_failed_indexes)] {
                if let Some(count) = count.filter(|c| *c > HIGH_PARALLELISM_MAX) {
                    errors.invalid(at, count, why.as_str());
                }
            }
        }
    }
    if matches!(mode, None | Some("NonIndexed")) {
        let why = "requires indexed completion mode";
        if let Some(limit) = spec.backoff_limit_per_index {
            errors.invalid(&at.child("backoffLimitPerIndex"), limit, why);
        }
        if let Some(max) = spec.max_failed_indexes {
            errors.invalid(failed, max, why);
        }
    }
}

fn failure_policy(spec: &JobSpec, rules: &[PodFailurePolicyRule], at: &At, errors: &mut Errors) {
    let at = &at.child("rules");
    if rules.len() > RULES_MAX {
        errors.too_many(at, rules.len(), RULES_MAX);
    }
    for (i, rule) in rules.iter().enumerate() {
        failure_rule(spec, rule, &at.index(i), errors);
    }
}

fn failure_rule(spec: &JobSpec, rule: &PodFailurePolicyRule, at: &At, errors: &mut Errors) {
    let action = &at.child("action");
    match &*rule.action {
        "" => errors.required(action, format!("valid values: {}", go::quote_list(ACTIONS))),
        "FailIndex" if spec.backoff_limit_per_index.is_none() => {
            errors.invalid(action, "FailIndex", "requires the backoffLimitPerIndex to be set");
        }
        other => errors.one_of(action, other, &ACTIONS),
    }
    if let Some(codes) = rule.on_exit_codes.get() {
        let at = &at.child("onExitCodes");
        let operators = ["In", "NotIn"];
        if codes.operator.is_empty() {
            errors.required(&at.child("operator"), format!("valid values: {}", go::quote_list(operators)));
        } else {
            errors.one_of(&at.child("operator"), &codes.operator, &operators);
        }
        if let Some(name) = codes.container_name.get() {
            let mut all = spec.template.spec.containers.iter().chain(&spec.template.spec.init_containers);
            if !all.any(|c| c.name == *name) {
                let why = "must be one of the container or initContainer names in the pod template";
                errors.invalid(&at.child("containerName"), name, why);
            }
        }
        let at_values = &at.child("values");
        if codes.values.is_empty() {
            errors.invalid(at_values, crate::json::Value::Null, "at least one value is required");
        } else if codes.values.len() > EXIT_CODES_MAX {
            errors.too_many(at_values, codes.values.len(), EXIT_CODES_MAX);
        }
        for (i, code) in codes.values.iter().enumerate() {
            if codes.operator == "In" && *code == 0 {
                errors.invalid(&at_values.index(i), *code, "must not be 0 for the In operator");
            }
            if codes.values.iter().take(i).any(|c| c == code) {
                errors.duplicate(&at_values.index(i), *code);
            }
        }
        if !codes.values.is_sorted() {
            errors.invalid(at_values, codes.values.as_slice(), "must be ordered");
        }
    }
    let conditions = &rule.on_pod_conditions;
    let at_conditions = &at.child("onPodConditions");
    if conditions.len() > RULES_MAX {
        errors.too_many(at_conditions, conditions.len(), RULES_MAX);
    }
    for (i, pattern) in conditions.iter().enumerate() {
        let at = &at_conditions.index(i);
        errors.each(&at.child("type"), &pattern.type_, names::qualified_name(&pattern.type_));
        let statuses = ["False", "True", "Unknown"];
        if pattern.status.is_empty() {
            errors.required(&at.child("status"), format!("valid values: {}", go::quote_list(statuses)));
        } else {
            errors.one_of(&at.child("status"), &pattern.status, &statuses);
        }
    }
    match (rule.on_exit_codes.is_some(), conditions.is_empty()) {
        (true, false) => omitted(at, "specifying both OnExitCodes and OnPodConditions is not supported", errors),
        (false, true) => omitted(at, "specifying one of OnExitCodes and OnPodConditions is required", errors),
        _ => {}
    }
}

/// `Invalid value` without the value.
fn omitted(at: &At, why: &str, errors: &mut Errors) {
    let mut error = field::invalid(&at.path(), "", why);
    error.value = None;
    errors.push(error);
}

fn success_rule(rule: &SuccessPolicyRule, completions: i32, at: &At, errors: &mut Errors) {
    if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
        errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let mut total = None;
    if let Some(text) = rule.succeeded_indexes.get() {
        match indexes(text, completions) {
            Ok(count) => total = Some(count),
            Err(why) => {
                let why = format!("error parsing succeededIndexes: {why}");
                errors.invalid(&at.child("succeededIndexes"), text, why);
            }
        }
    }
    let Some(count) = rule.succeeded_count else { return };
    let at = &at.child("succeededCount");
    errors.not_negative(at, count);
    if count > completions {
        let why = format!("must be less than or equal to {completions} (the number of specified completions)");
        errors.invalid(at, count, why);
    }
    let total = total.unwrap_or(0);
    if rule.succeeded_indexes.is_some() && count > total {
        let why = format!(
            "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(at, count, why);
    }
}

/// How many indexes `1,3-5` names.
fn indexes(text: &str, completions: i32) -> Result<i32, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut total, mut last) = (0, None);
    for interval in text.split(',') {
        let parts: Vec<&str> = interval.split('-').collect();
        if parts.len() > 2 {
            let quoted = go::quote(interval);
            return Err(format!(
                "the fragment {quoted} violates the requirement that an index interval can have at most two parts separated by '-'"
            ));
        }
        let number = |text: &str| {
            let n: i32 =
                text.parse().map_err(|_| format!("cannot convert string to integer for index: {}", go::quote(text)))?;
            if n >= completions { Err(format!("too large index: {}", go::quote(text))) } else { Ok(n) }
        };
        let from = number(parts.first().copied().unwrap_or(""))?;
        let to = parts.get(1).map_or(Ok(from), |text| number(text))?;
        if parts.len() == 2 && from >= to {
            return Err(format!("non-increasing order, previous: {from}, current: {to}"));
        }
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(format!("non-increasing order, previous: {last}, current: {from}"));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

/// `example.com/controller` (`IsDomainPrefixedPath`).
pub(super) fn domain_prefixed_path(text: &str, at: &At, errors: &mut Errors) {
    if text.is_empty() {
        return errors.required(at, "");
    }
    let Some((domain, path)) = text.split_once('/').filter(|(d, p)| !d.is_empty() && !p.is_empty()) else {
        return errors.invalid(at, text, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    errors.each(at, domain, names::dns1123_subdomain(domain));
    let good = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !path.bytes().all(good) {
        errors.invalid(at, path, names::regex_error("Invalid path", "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", &[]));
    }
}

/// A new CronJob.
pub(super) fn create_cron_job(job: &CronJob, errors: &mut Errors) {
    metadata::create(&job.metadata, true, metadata::subdomain, errors);
    cron_spec(&job.spec, None, errors);
    if job.metadata.name.len() > CRON_NAME_MAX {
        let why = format!("must be no more than {CRON_NAME_MAX} characters");
        errors.invalid(&At::new("metadata").child("name"), &job.metadata.name, why);
    }
}

/// A changed CronJob.
pub(super) fn update_cron_job(new: &CronJob, old: &CronJob, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if !new.spec.same(&old.spec) {
        cron_spec(&new.spec, Some(&old.spec), errors);
    }
}

fn cron_spec(spec: &CronJobSpec, old: Option<&CronJobSpec>, errors: &mut Errors) {
    let at = &At::new("spec");
    let schedule = &at.child("schedule");
    if spec.schedule.is_empty() {
        errors.declared_required(schedule);
    } else {
        let zone_allowed = old.is_some_and(|old| old.schedule.contains("TZ"));
        if let Err(why) = Schedule::parse(&spec.schedule) {
            errors.invalid(schedule, &spec.schedule, why);
        }
        if spec.schedule.contains("TZ") {
            if !zone_allowed {
                let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                errors.invalid(schedule, &spec.schedule, why);
            } else if spec.time_zone.is_some() {
                let why = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
                errors.invalid(schedule, &spec.schedule, why);
            }
        }
    }
    if let Some(seconds) = spec.starting_deadline_seconds {
        errors.not_negative(&at.child("startingDeadlineSeconds"), seconds);
    }
    if old.is_none_or(|old| old.time_zone != spec.time_zone) {
        time_zone(&spec.time_zone, &at.child("timeZone"), errors);
    }
    let policies = ["Allow", "Forbid", "Replace"];
    errors.required_one_of(&at.child("concurrencyPolicy"), &spec.concurrency_policy, &policies);
    let at_job = at.child("jobTemplate");
    let (at_job, job) = (&at_job.child("spec"), &spec.job_template.spec);
    let options = old.map(|o| pod::Options::of(&o.job_template.spec.template.spec)).unwrap_or_default();
    job_spec(job, &options, at_job, errors);
    if job.selector.is_some() {
        errors.invalid(&at_job.child("selector"), &job.selector, "`selector` will be auto-generated");
    }
    if job.manual_selector == Some(true) {
        errors.not_supported(&at_job.child("manualSelector"), true, &["nil", "false"]);
    }
    for (name, limit) in [
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
    ] {
        errors.not_negative(&at.child(name), limit.unwrap_or(0));
    }
}

fn time_zone(zone: &OStr, at: &At, errors: &mut Errors) {
    let Some(name) = zone.get() else { return };
    if name.is_empty() {
        return errors.invalid(at, name, "timeZone must be nil or non-empty string");
    }
    let part = |part: &str| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_+".contains(&b))
    };
    let unknown = || format!("unknown time zone {name}");
    if !name.split('/').all(part) {
        return errors.invalid(at, name, unknown());
    }
    if name.eq_ignore_ascii_case("local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(at, name, why);
    }
    if TimeZone::named(name).is_none() {
        errors.invalid(at, name, unknown());
    }
}

/// A Job's status.
pub(super) fn update_job_status(new: &Job, old: &Job, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    if new.status.same(&old.status) {
        return;
    }
    let (status, at) = (&new.status, &At::new("status"));
    for (name, count) in [
        ("active", Some(status.active)),
        ("succeeded", Some(status.succeeded)),
        ("failed", Some(status.failed)),
        ("ready", status.ready),
        ("terminating", status.terminating),
    ] {
        errors.not_negative(&at.child(name), count.unwrap_or(0));
    }
    if let Some(ready) = status.ready.filter(|ready| *ready > status.active) {
        errors.invalid(&at.child("ready"), ready, "cannot set more ready pods than active");
    }
}
