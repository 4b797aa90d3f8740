//! A pod's name, number and volumes in its set (`stateful_set_utils.go`).

use api::apps_v1::StatefulSet;
use api::core_v1::{PersistentVolumeClaim, Pod, PodTemplateSpec, Volume};
use api::{List, Str};

use crate::controller_utils::{self as utils, pod_from_template};
use crate::history::HASH_LABEL;

const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

/// `web-2` is number 2 of `web`.
pub fn parent_and_ordinal(name: &str) -> Option<(&str, i32)> {
    let (parent, number) = name.rsplit_once('-')?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((parent, number.parse().ok()?))
}

/// The pod's number, -1 if it has none.
pub fn ordinal(pod: &Pod) -> i32 {
    parent_and_ordinal(&pod.metadata.name).map_or(-1, |(_, n)| n)
}

/// Whether the pod is one of the set's by its name.
pub fn is_member(set: &StatefulSet, pod: &Pod) -> bool {
    parent_and_ordinal(&pod.metadata.name).is_some_and(|(parent, _)| parent == &*set.metadata.name)
}

/// The first number.
pub fn start_ordinal(set: &StatefulSet) -> i32 {
    set.spec.ordinals.get().map_or(0, |o| o.start)
}

/// The numbers the set should have. They may go beyond those that can be read from a name.
pub fn ordinals(set: &StatefulSet) -> std::ops::Range<i64> {
    let start = i64::from(start_ordinal(set));
    start..start + i64::from(set.spec.replicas.unwrap_or(1).max(0))
}

/// The revision a pod is of.
pub fn revision(pod: &Pod) -> &str {
    pod.metadata.labels.get(HASH_LABEL).map_or("", |s| s)
}

/// Whether the pod has the labels that its name asks for.
pub fn identity_matches(set: &StatefulSet, pod: &Pod) -> bool {
    is_member(set, pod) && pod.metadata.labels.get(NAME_LABEL) == Some(&pod.metadata.name)
}

/// Gives the pod the name of its number, and the labels of that.
pub fn update_identity(set: &StatefulSet, pod: &mut Pod) {
    let number = ordinal(pod);
    let name = Str::from(format!("{}-{number}", set.metadata.name));
    pod.metadata.name = name.clone();
    pod.metadata.labels.insert(NAME_LABEL, name);
    pod.metadata.labels.insert(INDEX_LABEL, number.to_string().into());
}

/// `<template>-<set>-<number>`.
pub fn claim_name(set: &StatefulSet, template: &PersistentVolumeClaim, number: i32) -> Str {
    format!("{}-{}-{number}", template.metadata.name, set.metadata.name).into()
}

/// Whether the pod mounts the claims that are its own.
pub fn storage_matches(set: &StatefulSet, pod: &Pod) -> bool {
    let number = ordinal(pod);
    number >= 0
        && set.spec.volume_claim_templates.iter().all(|t| {
            let volume = pod.spec.volumes.iter().find(|v| v.name == t.metadata.name);
            let source = volume.and_then(|v| v.persistent_volume_claim.get());
            source.is_some_and(|s| s.claim_name == claim_name(set, t, number))
        })
}

/// Mounts the pod's claims, instead of what has their names.
pub fn update_storage(set: &StatefulSet, pod: &mut Pod) {
    let number = ordinal(pod);
    let templates = &set.spec.volume_claim_templates;
    let mut volumes: Vec<Volume> = Vec::new();
    for template in templates.iter() {
        let mut volume = Volume { name: template.metadata.name.clone(), ..Default::default() };
        volume.persistent_volume_claim.make().claim_name = claim_name(set, template, number);
        volumes.push(volume);
    }
    let own = |v: &&Volume| templates.iter().any(|t| t.metadata.name == v.name);
    volumes.extend(pod.spec.volumes.iter().filter(|v| !own(v)).cloned());
    if !volumes.is_empty() {
        pod.spec.make().volumes = List::from(volumes);
    }
}

/// The claims of a pod, as the set's templates say.
pub fn claims(set: &StatefulSet, pod: &Pod) -> Vec<PersistentVolumeClaim> {
    let number = ordinal(pod);
    let labels = set.spec.selector.get().map(|s| s.match_labels.clone()).unwrap_or_default();
    let make = |template: &PersistentVolumeClaim| {
        let mut claim = template.clone();
        claim.metadata.name = claim_name(set, template, number);
        claim.metadata.namespace = set.metadata.namespace.clone();
        for (key, value) in labels.iter() {
            claim.metadata.labels.insert(key, value.clone());
        }
        claim
    };
    set.spec.volume_claim_templates.iter().map(make).collect()
}

/// A pod of the set by number, made by a template of one of its revisions.
pub fn new_pod(set: &StatefulSet, template: &PodTemplateSpec, revision: &str, number: i64) -> Pod {
    let reference = utils::new_controller_ref::<StatefulSet>(&set.metadata);
    let mut pod = pod_from_template(template, &set.metadata, reference);
    pod.metadata.name = format!("{}-{number}", set.metadata.name).into();
    pod.metadata.namespace = set.metadata.namespace.clone();
    update_identity(set, &mut pod);
    let name = pod.metadata.name.clone();
    let spec = pod.spec.make();
    spec.hostname = name;
    spec.subdomain = set.spec.service_name.clone();
    update_storage(set, &mut pod);
    pod.metadata.labels.insert(HASH_LABEL, revision.into());
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real cluster says `Create Pod s--1 in StatefulSet s failed` of the second pod of such a set.
    #[test]
    fn a_number_that_no_name_can_hold_becomes_minus_one() {
        let mut set = StatefulSet::default();
        set.metadata.name = "s".into();
        let spec = set.spec.make();
        spec.replicas = Some(3);
        spec.ordinals.make().start = i32::MAX;
        let numbers: Vec<i64> = ordinals(&set).collect();
        assert_eq!(numbers, [2_147_483_647, 2_147_483_648, 2_147_483_649]);
        let of = |number: i64| new_pod(&set, &PodTemplateSpec::default(), "r", number).metadata.clone();
        let index = |meta: &api::meta_v1::ObjectMeta| meta.labels.get(INDEX_LABEL).map(ToString::to_string);
        let (first, second) = (of(numbers[0]), of(numbers[1]));
        assert_eq!((&*first.name, index(&first).as_deref()), ("s-2147483647", Some("2147483647")));
        assert_eq!((&*second.name, index(&second).as_deref()), ("s--1", Some("-1")));
    }

    #[test]
    fn numbers_are_read_from_names() {
        assert_eq!(parent_and_ordinal("web-12"), Some(("web", 12)));
        assert_eq!(parent_and_ordinal("a-b-0"), Some(("a-b", 0)));
        assert_eq!(parent_and_ordinal("web-x1"), None);
        assert_eq!(parent_and_ordinal("web"), None);
    }

    #[test]
    fn a_pod_has_its_own_claims() {
        let mut set = StatefulSet::default();
        set.metadata.name = "db".into();
        set.spec.make().service_name = "db".into();
        let mut template = PersistentVolumeClaim::default();
        template.metadata.name = "data".into();
        set.spec.make().volume_claim_templates = List::from(vec![template]);
        let pod = new_pod(&set, &PodTemplateSpec::default(), "db-1", 2);
        assert_eq!(&*pod.metadata.name, "db-2");
        assert_eq!((&*pod.spec.hostname, &*pod.spec.subdomain), ("db-2", "db"));
        assert!(identity_matches(&set, &pod) && storage_matches(&set, &pod));
        assert_eq!(&*claims(&set, &pod)[0].metadata.name, "data-db-2");
    }
}
