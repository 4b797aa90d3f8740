//! VolumeZone: nodes in the zone and region that the pod's volumes are labelled with.

use crate::change::{About, Change, Hint};
use crate::framework::{Cycle, Plugin, PreFilter};
use crate::node_info::{NodeInfo, PodInfo};
use crate::verdict::Rejection;
use api::Str;
use api::core_v1::PersistentVolume;
use api::volume::claim_class;

/// Its row in the table.
pub static PLUGIN: Plugin = Plugin {
    pre_filter: Some(pre_filter),
    filter: Some(filter),
    hints: &[
        Hint::when(&[Change::StorageClassAdded], after_class_added),
        Hint::always(&[Change::NodeAdded, Change::NodeLabels]),
        Hint::when(&[Change::ClaimAdded, Change::ClaimUpdated], after_claim_changed),
        Hint::when(&[Change::VolumeAdded, Change::VolumeUpdated], after_volume_changed),
    ],
    ..Plugin::named("VolumeZone")
};

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
/// The labels that volumes and nodes may have, with their names of today.
const LABELS: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", ZONE),
    ("failure-domain.beta.kubernetes.io/region", REGION),
    (ZONE, ZONE),
    (REGION, REGION),
];

/// Where a volume is: a label, its name of today, and the values it may have on a node.
type Topology = (&'static str, &'static str, Vec<Str>);

/// Of the filter: where the pod's volumes are.
#[derive(Default)]
pub struct State(Vec<Topology>);

/// The labels of a volume; several zones stand as `a__b`. A label with an empty part is ignored (`LabelZonesToSet`).
fn topologies(volume: &PersistentVolume) -> Vec<Topology> {
    let read = |(label, today): (&'static str, &'static str)| {
        let value = volume.metadata.labels.get(label)?;
        let values: Vec<Str> = value.split("__").map(|part| Str::from(part.trim())).collect();
        values.iter().all(|part| !part.is_empty()).then_some((label, today, values))
    };
    LABELS.into_iter().filter_map(read).collect()
}

fn pre_filter(cycle: &Cycle<'_>) -> PreFilter {
    match of_pod(cycle) {
        Err(text) => PreFilter::Reject(Rejection::unresolvable(text)),
        Ok(all) if all.is_empty() => PreFilter::Skip,
        Ok(all) => {
            let _ = cycle.state.zones.set(State(all));
            PreFilter::Go
        }
    }
}

/// Where the pod's volumes are, or what is missing (`getPVbyPod`).
fn of_pod(cycle: &Cycle<'_>) -> Result<Vec<Topology>, String> {
    let (pod, storage) = (&cycle.pod.pod, &cycle.snapshot.storage);
    let mut all = Vec::new();
    for source in pod.spec.volumes.iter().filter_map(|v| v.persistent_volume_claim.get()) {
        let name = &source.claim_name;
        if name.is_empty() {
            return Err("PersistentVolumeClaim had no name".into());
        }
        let quote = |name: &str| api::go::quote(name);
        let Some(claim) = storage.claims.get(&pod.metadata.namespace, name) else {
            return Err(format!("persistentvolumeclaim {} not found", quote(name)));
        };
        let volume = &claim.spec.volume_name;
        if volume.is_empty() {
            let class_name = claim_class(&claim);
            if class_name.is_empty() {
                return Err("PersistentVolumeClaim had no pv name and storageClass name".into());
            }
            let Some(class) = storage.classes.get("", &class_name) else {
                return Err(format!("storageclass.storage.k8s.io {} not found", quote(&class_name)));
            };
            match class.volume_binding_mode.get() {
                None => return Err(format!("VolumeBindingMode not set for StorageClass {}", quote(&class_name))),
                // Its volume is still to be chosen.
                Some("WaitForFirstConsumer") => continue,
                Some(_) => return Err("PersistentVolume had no name".into()),
            }
        }
        match storage.volumes.get("", volume) {
            Some(volume) => all.extend(topologies(&volume)),
            None => return Err(format!("persistentvolume {} not found", quote(volume))),
        }
    }
    Ok(all)
}

fn filter(cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    let state = cycle.state.zones.get()?;
    let labels = &node.node.metadata.labels;
    // A node without any such label is in a cluster without zones.
    if !LABELS.iter().any(|(label, _)| labels.contains_key(label)) {
        return None;
    }
    let (label, _, values) = state.0.iter().find(|(label, today, values)| {
        !labels.get(label).or_else(|| labels.get(today)).is_some_and(|value| values.contains(value))
    })?;
    let wanted: Vec<&str> = values.iter().map(|v| &**v).collect();
    let numbers = format!("volume's {label}: {}", wanted.join(", "));
    Some(Rejection::unresolvable("node(s) had no available volume zone").with(numbers))
}

fn after_class_added(_: &PodInfo, about: &About) -> bool {
    match about {
        About::Class(_, new) => new.volume_binding_mode.get() == Some("WaitForFirstConsumer"),
        _ => true,
    }
}

fn after_claim_changed(info: &PodInfo, about: &About) -> bool {
    let pod = &info.pod;
    about.claim().is_none_or(|claim| {
        claim.metadata.namespace == pod.metadata.namespace
            && pod
                .spec
                .volumes
                .iter()
                .any(|v| v.persistent_volume_claim.get().is_some_and(|c| c.claim_name == claim.metadata.name))
    })
}

fn after_volume_changed(_: &PodInfo, about: &About) -> bool {
    match about {
        About::Volume(Some(old), new) => topologies(old) != topologies(new),
        _ => true,
    }
}
