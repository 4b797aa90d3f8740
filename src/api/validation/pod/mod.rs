//! Pods and pod templates (core's ValidatePodSpec, ValidatePodTemplateSpec).

mod affinity;
mod annotations;
mod containers;
mod env;
mod mounts;
mod paths;
mod probes;
mod security;
mod spec;
mod status;
mod tolerations;
mod update;
mod volumes;

pub(super) use affinity::node_selector;
pub(super) use containers::port_number;
pub(super) use paths::no_backsteps;
pub(super) use probes::port;
pub(super) use status::update as update_status;
pub(super) use tolerations::{effect, tolerations};
pub(super) use update::{ephemeral_containers, resize, update};
pub(super) use volumes::{HOST_PATH_TYPES, csi_driver, nfs};

use super::at::{At, Errors};
use super::{labels, metadata};
use crate::core_v1::{Pod, PodSpec, PodTemplate, PodTemplateSpec};

/// What old objects may keep though new ones may not have it (`PodValidationOptions`).
#[derive(Default)]
pub(super) struct Options {
    pub(super) bad_selector_values: bool,
    pub(super) bad_node_values: bool,
    pub(super) bad_spread_selectors: bool,
    pub(super) non_local_token_path: bool,
    pub(super) empty_image_reference: bool,
    pub(super) host_sysctls: bool,
    pub(super) bad_deletion_cost: bool,
    pub(super) block_devices_with_users: bool,
}

impl Options {
    /// What the old spec has already.
    pub(super) fn of(old: &PodSpec) -> Options {
        let affinity = old.affinity.get();
        let terms = affinity.iter().flat_map(|a| {
            let of = |required: &crate::List<crate::core_v1::PodAffinityTerm>,
                      preferred: &crate::List<crate::core_v1::WeightedPodAffinityTerm>| {
                required
                    .iter()
                    .chain(preferred.iter().map(|t| &t.pod_affinity_term))
                    .any(|t| labels::has_bad_value(&t.label_selector) || labels::has_bad_value(&t.namespace_selector))
            };
            let pod = a.pod_affinity.get().is_some_and(|p| {
                of(
                    &p.required_during_scheduling_ignored_during_execution,
                    &p.preferred_during_scheduling_ignored_during_execution,
                )
            });
            let anti = a.pod_anti_affinity.get().is_some_and(|p| {
                of(
                    &p.required_during_scheduling_ignored_during_execution,
                    &p.preferred_during_scheduling_ignored_during_execution,
                )
            });
            [pod, anti]
        });
        let mut errors = Errors::default();
        for constraint in &old.topology_spread_constraints {
            labels::selector(&constraint.label_selector, &At::none(), &mut errors);
        }
        let sysctls = old.security_context.get().map(|s| s.sysctls.as_slice()).unwrap_or_default();
        Options {
            bad_selector_values: terms.into_iter().any(|bad| bad),
            bad_node_values: affinity
                .and_then(|a| a.node_affinity.get())
                .and_then(|n| n.required_during_scheduling_ignored_during_execution.get())
                .is_some_and(|s| {
                    s.node_selector_terms
                        .iter()
                        .flat_map(|t| &t.match_expressions)
                        .flat_map(|e| &e.values)
                        .any(|v| !crate::names::label_value(v).is_empty())
                }),
            bad_spread_selectors: errors.len() > 0,
            non_local_token_path: old
                .volumes
                .iter()
                .filter_map(|v| v.projected.get())
                .flat_map(|p| &p.sources)
                .filter_map(|s| s.service_account_token.get())
                .any(|t| t.path.starts_with('/') || paths::has_backsteps(&t.path) || t.path.starts_with("..")),
            empty_image_reference: old.volumes.iter().any(|v| v.image.get().is_some_and(|i| i.reference.is_empty())),
            host_sysctls: sysctls.iter().any(|s| security::host_sysctl(&s.name, old).is_some()),
            bad_deletion_cost: false,
            block_devices_with_users: old.host_users == Some(false)
                && old.containers.iter().chain(&old.init_containers).any(|c| !c.volume_devices.is_empty()),
        }
    }
}

/// A new pod (`ValidatePodCreate`).
pub(super) fn create(pod: &Pod, errors: &mut Errors) {
    metadata_and_spec(pod, &Options::default(), errors);
    let at = &At::new("spec");
    if !pod.spec.ephemeral_containers.is_empty() {
        errors.forbidden(&at.child("ephemeralContainers"), "cannot be set on create");
    }
    if !pod.spec.node_name.is_empty() && !pod.spec.scheduling_gates.is_empty() {
        errors.forbidden(&at.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    annotations::match_fields(&pod.metadata.annotations, &pod.spec, at, errors);
}

fn metadata_and_spec(pod: &Pod, options: &Options, errors: &mut Errors) {
    metadata::create(&pod.metadata, true, metadata::subdomain, errors);
    let meta = At::new("metadata");
    annotations::annotations(&pod.metadata.annotations, &pod.spec, options, &meta.child("annotations"), errors);
    let at = &At::new("spec");
    spec::spec(&pod.spec, Some(&pod.metadata), options, at, errors);
    only_in_pod(&pod.spec, at, errors);
}

/// What is checked of pods but not of templates.
fn only_in_pod(spec: &PodSpec, at: &At, errors: &mut Errors) {
    if spec.service_account_name.is_empty() {
        let volumes = at.child("volumes");
        for (i, volume) in spec.volumes.iter().enumerate() {
            let Some(projected) = volume.projected.get() else { continue };
            for (j, _) in projected.sources.iter().enumerate().filter(|(_, s)| s.service_account_token.is_some()) {
                errors.forbidden(
                    &volumes.index(i).child("projected").child("sources").index(j).child("serviceAccountToken"),
                    "must not be specified when serviceAccountName is not set",
                );
            }
        }
    }
    if let Some(seconds) = spec.termination_grace_period_seconds {
        errors.not_negative(&at.child("terminationGracePeriodSeconds"), seconds);
    }
    for (name, list) in [("containers", &spec.containers), ("initContainers", &spec.init_containers)] {
        let at = at.child(name);
        for (i, container) in list.iter().enumerate() {
            containers::only_in_pod(&container.image, &at.index(i), errors);
        }
    }
}

/// A pod template inside another object (`ValidatePodTemplateSpec`).
pub(super) fn template(template: &PodTemplateSpec, options: &Options, at: &At, errors: &mut Errors) {
    labels::labels(&template.metadata.labels, &at.child("labels"), errors);
    let at_annotations = &at.child("annotations");
    metadata::annotations(&template.metadata.annotations, at_annotations, errors);
    annotations::annotations(&template.metadata.annotations, &template.spec, options, at_annotations, errors);
    let at_spec = &at.child("spec");
    spec::spec(&template.spec, None, options, at_spec, errors);
    annotations::match_fields(&template.metadata.annotations, &template.spec, at_spec, errors);
    if !template.spec.ephemeral_containers.is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.forbidden(&at_spec.child("ephemeralContainers"), why);
    }
}

/// A new PodTemplate.
pub(super) fn create_template(object: &PodTemplate, errors: &mut Errors) {
    metadata::create(&object.metadata, true, metadata::subdomain, errors);
    template(&object.template, &Options::default(), &At::new("template"), errors);
}

/// A changed PodTemplate.
pub(super) fn update_template(new: &PodTemplate, old: &PodTemplate, errors: &mut Errors) {
    metadata::update(&new.metadata, &old.metadata, errors);
    template(&new.template, &Options::of(&old.template.spec), &At::new("template"), errors);
}
