//! `pkg/apis/apps/v1/defaults.go`

use super::core::{percent, pod_template};
use super::text;
use crate::apps_v1::*;
use crate::{IntOrString, Object, Ptr};

pub(super) fn apply(object: &mut dyn Object) -> bool {
    if let Some(deployment) = object.downcast_mut::<Deployment>() {
        self::deployment(deployment);
    } else if let Some(set) = object.downcast_mut::<ReplicaSet>() {
        replica_set(set);
    } else if let Some(set) = object.downcast_mut::<StatefulSet>() {
        stateful_set(set);
    } else if let Some(set) = object.downcast_mut::<DaemonSet>() {
        daemon_set(set);
    } else {
        return false;
    }
    true
}

fn number(field: &mut Option<i32>, value: i32) {
    if field.is_none() {
        *field = Some(value);
    }
}

fn deployment(deployment: &mut Deployment) {
    let spec = &deployment.spec;
    let rolling = |r: &RollingUpdateDeployment| r.max_unavailable.is_some() && r.max_surge.is_some();
    if spec.replicas.is_some()
        && spec.revision_history_limit.is_some()
        && spec.progress_deadline_seconds.is_some()
        && match &*spec.strategy.type_ {
            "RollingUpdate" => spec.strategy.rolling_update.get().is_some_and(rolling),
            kind => !kind.is_empty(),
        }
        && super::core::is_complete(&spec.template.spec)
    {
        return;
    }
    let spec = deployment.spec.make();
    number(&mut spec.replicas, 1);
    text(&mut spec.strategy.type_, "RollingUpdate");
    if spec.strategy.type_ == *"RollingUpdate" {
        let rolling = spec.strategy.rolling_update.make();
        if rolling.max_unavailable.is_none() {
            rolling.max_unavailable = Some(percent(25));
        }
        if rolling.max_surge.is_none() {
            rolling.max_surge = Some(percent(25));
        }
    }
    number(&mut spec.revision_history_limit, 10);
    number(&mut spec.progress_deadline_seconds, 600);
    pod_template(spec.template.make());
}

fn replica_set(set: &mut ReplicaSet) {
    if set.spec.replicas.is_some() && super::core::is_complete(&set.spec.template.spec) {
        return;
    }
    let spec = set.spec.make();
    number(&mut spec.replicas, 1);
    pod_template(spec.template.make());
}

fn stateful_set(set: &mut StatefulSet) {
    let spec = set.spec.make();
    text(&mut spec.pod_management_policy, "OrderedReady");
    text(&mut spec.update_strategy.type_, "RollingUpdate");
    if spec.update_strategy.type_ == *"RollingUpdate" {
        let rolling = spec.update_strategy.rolling_update.make();
        number(&mut rolling.partition, 0);
        if rolling.max_unavailable.is_none() {
            rolling.max_unavailable = Some(IntOrString::Int(1));
        }
    }
    if spec.persistent_volume_claim_retention_policy.is_none() {
        spec.persistent_volume_claim_retention_policy =
            Ptr::some(StatefulSetPersistentVolumeClaimRetentionPolicy::default());
    }
    let retention = spec.persistent_volume_claim_retention_policy.make();
    text(&mut retention.when_deleted, "Retain");
    text(&mut retention.when_scaled, "Retain");
    number(&mut spec.replicas, 1);
    number(&mut spec.revision_history_limit, 10);
    pod_template(spec.template.make());
    if !spec.volume_claim_templates.is_empty() {
        for claim in spec.volume_claim_templates.make() {
            claim.api_version = "v1".into();
            claim.kind = "PersistentVolumeClaim".into();
            claim.status.make().phase = "Pending".into();
            super::core::claim_spec(claim.spec.make());
        }
    }
}

fn daemon_set(set: &mut DaemonSet) {
    let spec = set.spec.make();
    text(&mut spec.update_strategy.type_, "RollingUpdate");
    if spec.update_strategy.type_ == *"RollingUpdate" {
        let rolling = spec.update_strategy.rolling_update.make();
        if rolling.max_unavailable.is_none() {
            rolling.max_unavailable = Some(IntOrString::Int(1));
        }
        if rolling.max_surge.is_none() {
            rolling.max_surge = Some(IntOrString::Int(0));
        }
    }
    number(&mut spec.revision_history_limit, 10);
    pod_template(spec.template.make());
}
