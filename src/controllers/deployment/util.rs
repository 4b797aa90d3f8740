//! The arithmetic of deployments (`pkg/controller/deployment/util/deployment_util.go`): pure functions of a Deployment
//! and its ReplicaSets.

use api::apps_v1::{Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition};
use api::{IntOrString, Rev, Str, Time};

/// A ReplicaSet's place in the rollout's history.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Revisions that a ReplicaSet had before it was rolled back to.
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The deployment's replicas when the set was last scaled.
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The same with the surge.
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// A rollback asked for by an old API version.
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The condition that a rollout gets on.
pub const PROGRESSING: &str = "Progressing";
/// The condition that enough pods serve.
pub const AVAILABLE: &str = "Available";
/// The condition that pods cannot be created or deleted.
pub const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Characters kept of the list of old revisions (`maxRevHistoryLengthInChars`).
const MAX_HISTORY_CHARS: usize = 2000;

/// `spec.replicas` after defaulting.
pub fn replicas(d: &Deployment) -> i32 {
    d.spec.replicas.unwrap_or(1)
}

/// `spec.replicas` of a ReplicaSet after defaulting.
pub fn rs_replicas(rs: &ReplicaSet) -> i32 {
    rs.spec.replicas.unwrap_or(1)
}

/// Whether the strategy is RollingUpdate.
pub fn is_rolling(d: &Deployment) -> bool {
    d.spec.strategy.type_ == "RollingUpdate"
}

/// `maxSurge` and `maxUnavailable` as numbers of pods for `desired`; both zero means one unavailable
/// (`ResolveFenceposts`).
pub fn resolve_fenceposts(surge: Option<&IntOrString>, unavailable: Option<&IntOrString>, desired: i32) -> (i32, i32) {
    let surge = surge.map_or(0, |v| scaled(v, desired, true));
    let mut unavailable = unavailable.map_or(0, |v| scaled(v, desired, false));
    if surge == 0 && unavailable == 0 {
        unavailable = 1;
    }
    (surge, unavailable)
}

/// A number, or a percentage of `total` (`GetScaledValueFromIntOrPercent`). What validation would refuse counts as 0.
pub fn scaled(value: &IntOrString, total: i32, round_up: bool) -> i32 {
    match value {
        IntOrString::Int(n) => *n,
        IntOrString::Str(s) => {
            let Some(percent) = s.strip_suffix('%').and_then(|p| p.parse::<i64>().ok()) else { return 0 };
            let product = percent.saturating_mul(i64::from(total));
            let pods = if round_up { product.saturating_add(99).div_euclid(100) } else { product.div_euclid(100) };
            i32::try_from(pods).unwrap_or(i32::MAX)
        }
    }
}

fn fenceposts(d: &Deployment) -> (i32, i32) {
    let rolling = d.spec.strategy.rolling_update.get();
    resolve_fenceposts(
        rolling.and_then(|r| r.max_surge.as_ref()),
        rolling.and_then(|r| r.max_unavailable.as_ref()),
        replicas(d),
    )
}

/// Pods that may be missing during a rollout.
pub fn max_unavailable(d: &Deployment) -> i32 {
    if !is_rolling(d) || replicas(d) == 0 {
        return 0;
    }
    fenceposts(d).1.min(replicas(d))
}

/// Pods that may be there beyond the desired number during a rollout.
pub fn max_surge(d: &Deployment) -> i32 {
    if is_rolling(d) { fenceposts(d).0 } else { 0 }
}

/// Sum of `spec.replicas`.
pub fn desired_count<'a>(sets: impl IntoIterator<Item = &'a Rev<ReplicaSet>>) -> i32 {
    sets.into_iter().fold(0, |n, rs| n.saturating_add(rs_replicas(rs)))
}

/// Sum of one number of the statuses.
pub fn status_count<'a>(
    sets: impl IntoIterator<Item = &'a Rev<ReplicaSet>>,
    of: impl Fn(&api::apps_v1::ReplicaSetStatus) -> i32,
) -> i32 {
    sets.into_iter().fold(0, |n, rs| n.saturating_add(of(&rs.status)))
}

/// Pods that terminate, unknown (`None`) while a set that was synced does not say.
pub fn terminating_count<'a>(sets: impl IntoIterator<Item = &'a Rev<ReplicaSet>>) -> Option<i32> {
    let mut total: i32 = 0;
    for rs in sets {
        match rs.status.terminating_replicas {
            Some(n) => total = total.saturating_add(n),
            None if rs.status.observed_generation == 0 => {}
            None => return None,
        }
    }
    Some(total)
}

/// The size a new ReplicaSet should have now (`NewRSNewReplicas`). `current` is the sum over all sets, `own` the new
/// set's own size.
pub fn new_rs_new_replicas(d: &Deployment, current: i32, own: i32) -> Result<i32, String> {
    match &*d.spec.strategy.type_ {
        "RollingUpdate" => {
            // Only the surge counts here, so the rule that both may not be zero does not apply.
            let surge = d.spec.strategy.rolling_update.get().and_then(|r| r.max_surge.as_ref());
            let surge = surge.map_or(0, |v| scaled(v, replicas(d), true));
            let max_total = replicas(d).saturating_add(surge);
            if current >= max_total {
                return Ok(own);
            }
            let grow = max_total.saturating_sub(current).min(replicas(d).saturating_sub(own));
            Ok(own.saturating_add(grow))
        }
        "Recreate" => Ok(replicas(d)),
        other => Err(format!("deployment type {other} isn't supported")),
    }
}

/// Whether the new set holds all that is desired and all of it is available.
pub fn is_saturated(d: &Deployment, rs: Option<&Rev<ReplicaSet>>) -> bool {
    let Some(rs) = rs else { return false };
    let annotated = rs.metadata.annotations.get(DESIRED_REPLICAS).and_then(|v| v.parse::<i32>().ok());
    rs_replicas(rs) == replicas(d) && annotated == Some(replicas(d)) && rs.status.available_replicas == replicas(d)
}

fn annotation_count(rs: &ReplicaSet, key: &str) -> Option<i32> {
    let value = rs.metadata.annotations.get(key)?.parse::<u32>().ok()?;
    i32::try_from(value).ok()
}

/// The desired number that the set was last scaled for.
pub fn desired_annotation(rs: &ReplicaSet) -> Option<i32> {
    annotation_count(rs, DESIRED_REPLICAS)
}

/// By how much one of several active sets grows or shrinks when the whole changes by `to_add`, `added` of which are
/// given out already (`GetReplicaSetProportion`).
pub fn proportion(rs: &ReplicaSet, d: &Deployment, to_add: i32, added: i32) -> i32 {
    if rs_replicas(rs) == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let fraction = fraction(rs, d);
    let allowed = to_add.saturating_sub(added);
    if to_add > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
}

/// The set's share of the new size, less what it has (`getReplicaSetFraction`).
fn fraction(rs: &ReplicaSet, d: &Deployment) -> i32 {
    if replicas(d) == 0 {
        return rs_replicas(rs).saturating_neg();
    }
    let new_size = f64::from(replicas(d).saturating_add(max_surge(d)));
    let old_size = match annotation_count(rs, MAX_REPLICAS) {
        Some(n) if n > 0 => f64::from(n),
        // Without the annotation the current size stands in, as far as it is known.
        _ => f64::from(d.status.replicas),
    };
    if old_size == 0.0 {
        return 0;
    }
    let scaled = f64::from(rs_replicas(rs)) * new_size / old_size;
    // Round half away from zero, as integer.RoundToInt32 does.
    let rounded = if scaled < 0.0 { (scaled - 0.5) as i32 } else { (scaled + 0.5) as i32 };
    rounded.saturating_sub(rs_replicas(rs))
}

/// Whether all that is desired is updated and available and nothing else is left.
pub fn complete(d: &Deployment, status: &DeploymentStatus) -> bool {
    let n = replicas(d);
    status.updated_replicas == n
        && status.replicas == n
        && status.available_replicas == n
        && status.observed_generation >= d.metadata.generation
}

/// Whether the new status is nearer to the goal than the old.
pub fn progressing(d: &Deployment, status: &DeploymentStatus) -> bool {
    let old = &d.status;
    let old_left = old.replicas.saturating_sub(old.updated_replicas);
    let new_left = status.replicas.saturating_sub(status.updated_replicas);
    status.updated_replicas > old.updated_replicas
        || new_left < old_left
        || status.ready_replicas > old.ready_replicas
        || status.available_replicas > old.available_replicas
}

/// Whether lack of progress is reported at all.
pub fn progress_deadline(d: &Deployment) -> Option<i32> {
    d.spec.progress_deadline_seconds.filter(|n| *n != i32::MAX)
}

/// How many old ReplicaSets are kept; `None` for all.
pub fn history_limit(d: &Deployment) -> Option<i32> {
    d.spec.revision_history_limit.filter(|n| *n != i32::MAX)
}

/// A condition that begins now.
pub fn condition(type_: &str, status: &str, reason: &str, message: String, now: &Time) -> DeploymentCondition {
    DeploymentCondition {
        type_: type_.into(),
        status: status.into(),
        last_update_time: *now,
        last_transition_time: *now,
        reason: reason.into(),
        message: message.into(),
    }
}

/// The condition of a type.
pub fn get_condition<'a>(status: &'a DeploymentStatus, type_: &str) -> Option<&'a DeploymentCondition> {
    status.conditions.iter().find(|c| c.type_ == type_)
}

/// Sets a condition unless it stands with the same status and reason; it moves to the end of the list.
pub fn set_condition(status: &mut DeploymentStatus, mut condition: DeploymentCondition) {
    if let Some(current) = get_condition(status, &condition.type_) {
        if current.status == condition.status && current.reason == condition.reason {
            return;
        }
        if current.status == condition.status {
            condition.last_transition_time = current.last_transition_time;
        }
    }
    remove_condition(status, &condition.type_.clone());
    status.conditions.make().push(condition);
}

/// Takes a condition away.
pub fn remove_condition(status: &mut DeploymentStatus, type_: &str) {
    if get_condition(status, type_).is_some() {
        status.conditions.make().retain(|c| c.type_ != type_);
    }
}

/// A ReplicaSet's failure as the deployment's own.
pub fn from_replica_set_condition(c: &ReplicaSetCondition) -> DeploymentCondition {
    DeploymentCondition {
        type_: c.type_.clone(),
        status: c.status.clone(),
        last_transition_time: c.last_transition_time,
        last_update_time: c.last_transition_time,
        reason: c.reason.clone(),
        message: c.message.clone(),
    }
}

/// The revision in the annotations; 0 without one, `None` if it is not a number.
pub fn revision(rs: &ReplicaSet) -> Option<i64> {
    match rs.metadata.annotations.get(REVISION) {
        None => Some(0),
        Some(v) => v.parse().ok(),
    }
}

/// The highest revision of the sets.
pub fn max_revision<'a>(sets: impl IntoIterator<Item = &'a Rev<ReplicaSet>>) -> i64 {
    sets.into_iter().filter_map(|rs| revision(rs)).max().unwrap_or(0).max(0)
}

fn skip_annotation(key: &str) -> bool {
    [LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO].contains(&key)
}

/// Sets an annotation; says whether that changed something.
pub fn annotate(meta: &mut api::meta_v1::ObjectMeta, key: &str, value: impl Into<Str>) -> bool {
    let value = value.into();
    if meta.annotations.get(key) == Some(&value) {
        return false;
    }
    meta.annotations.insert(key, value);
    true
}

/// Copies what belongs on the new ReplicaSet: the deployment's annotations, the revision, the history of a set that
/// is rolled back to, and for a set yet to be created the replica counts. Says whether anything changed, and whether
/// the revision was raised.
pub fn set_new_rs_annotations(d: &Deployment, rs: &mut ReplicaSet, new_revision: i64, exists: bool) -> (bool, bool) {
    let mut changed = false;
    for (key, value) in d.metadata.annotations.entries() {
        if !skip_annotation(key) {
            changed |= annotate(&mut rs.metadata, key, value.clone());
        }
    }
    let old = rs.metadata.annotations.get(REVISION).cloned();
    let old_number = match &old {
        None => 0,
        Some(text) if text.is_empty() => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(n) => n,
            Err(_) => return (false, false),
        },
    };
    let raised = old_number < new_revision;
    if raised {
        annotate(&mut rs.metadata, REVISION, new_revision.to_string());
        changed = true;
        if let Some(old) = old {
            extend_history(rs, &old);
        }
    }
    if !exists {
        changed |= set_replicas_annotations(rs, replicas(d), replicas(d).saturating_add(max_surge(d)));
    }
    (changed, raised)
}

fn extend_history(rs: &mut ReplicaSet, old: &str) {
    let history = rs.metadata.annotations.get(REVISION_HISTORY).cloned().unwrap_or_default();
    if history.is_empty() {
        annotate(&mut rs.metadata, REVISION_HISTORY, old);
        return;
    }
    let mut kept: Vec<&str> = history.split(',').collect();
    let mut length = history.len() + old.len() + 1;
    while length > MAX_HISTORY_CHARS && !kept.is_empty() {
        length -= kept.remove(0).len() + 1;
    }
    if length <= MAX_HISTORY_CHARS {
        kept.push(old);
        let joined = kept.join(",");
        annotate(&mut rs.metadata, REVISION_HISTORY, joined);
    }
}

/// Notes on a set how many replicas its deployment wants and may have.
pub fn set_replicas_annotations(rs: &mut ReplicaSet, desired: i32, max: i32) -> bool {
    let a = annotate(&mut rs.metadata, DESIRED_REPLICAS, desired.to_string());
    let b = annotate(&mut rs.metadata, MAX_REPLICAS, max.to_string());
    a | b
}

/// Whether those notes are out of date.
pub fn replicas_annotations_need_update(rs: &ReplicaSet, desired: i32, max: i32) -> bool {
    desired_annotation(rs) != Some(desired) || annotation_count(rs, MAX_REPLICAS) != Some(max)
}

/// Oldest first, then by name (`ReplicaSetsByCreationTimestamp`).
pub fn by_creation(a: &Rev<ReplicaSet>, b: &Rev<ReplicaSet>) -> std::cmp::Ordering {
    let (x, y) = (&a.metadata, &b.metadata);
    x.creation_timestamp.unix().cmp(&y.creation_timestamp.unix()).then_with(|| x.name.cmp(&y.name))
}

/// Those that want pods.
pub fn active<'a>(sets: impl IntoIterator<Item = &'a Rev<ReplicaSet>>) -> Vec<Rev<ReplicaSet>> {
    sets.into_iter().filter(|rs| rs_replicas(rs) > 0).cloned().collect()
}

/// The one set to scale: the only active one, or the newest when none is active; `None` when several are active
/// (`FindActiveOrLatest`).
pub fn active_or_latest(new_rs: Option<&Rev<ReplicaSet>>, old: &[Rev<ReplicaSet>]) -> Option<Rev<ReplicaSet>> {
    let mut active = active(old.iter().chain(new_rs));
    match active.len() {
        0 => match new_rs {
            Some(rs) => Some(rs.clone()),
            None => old.iter().max_by(|a, b| by_creation(a, b)).cloned(),
        },
        1 => active.pop(),
        _ => None,
    }
}

/// `<deployment>-<hash>`, shortened to the length of a name.
pub fn replica_set_name(deployment: &str, hash: &str) -> String {
    let room = 253usize.saturating_sub(1 + hash.len());
    let mut end = deployment.len().min(room);
    while !deployment.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", deployment.get(..end).unwrap_or(deployment))
}
