//! Affinities and spreading.

use super::super::at::{At, Errors};
use super::super::labels;
use super::Options;
use crate::core_v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm,
    TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use crate::meta_v1::LabelSelector;
use crate::{Ptr, Str, names};

const WEIGHT: &str = "must be in the range 1-100";

/// `affinity`
pub(super) fn affinity(affinity: &Affinity, options: &Options, at: &At, errors: &mut Errors) {
    if let Some(node) = affinity.node_affinity.get() {
        node_affinity(node, options, &at.child("nodeAffinity"), errors);
    }
    if let Some(pod) = affinity.pod_affinity.get() {
        let at = &at.child("podAffinity");
        required(&pod.required_during_scheduling_ignored_during_execution, options, at, errors);
        preferred(&pod.preferred_during_scheduling_ignored_during_execution, options, at, errors);
    }
    if let Some(pod) = affinity.pod_anti_affinity.get() {
        let at = &at.child("podAntiAffinity");
        required(&pod.required_during_scheduling_ignored_during_execution, options, at, errors);
        preferred(&pod.preferred_during_scheduling_ignored_during_execution, options, at, errors);
    }
}

fn node_affinity(affinity: &NodeAffinity, options: &Options, at: &At, errors: &mut Errors) {
    if let Some(selector) = affinity.required_during_scheduling_ignored_during_execution.get() {
        let at = &at.child("requiredDuringSchedulingIgnoredDuringExecution");
        node_selector(selector, options.bad_node_values, at, errors);
    }
    let at = at.child("preferredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in affinity.preferred_during_scheduling_ignored_during_execution.iter().enumerate() {
        let at = at.index(i);
        if !(1..=100).contains(&term.weight) {
            errors.invalid(&at.child("weight"), term.weight, WEIGHT);
        }
        node_term(&term.preference, true, &at.child("preference"), errors);
    }
}

/// A node selector; `bad_values` lets values be that are no label values.
pub(in super::super) fn node_selector(selector: &NodeSelector, bad_values: bool, at: &At, errors: &mut Errors) {
    let at = &at.child("nodeSelectorTerms");
    if selector.node_selector_terms.is_empty() {
        errors.required(at, "must have at least one node selector term");
    }
    for (i, term) in selector.node_selector_terms.iter().enumerate() {
        node_term(term, bad_values, &at.index(i), errors);
    }
}

fn node_term(term: &NodeSelectorTerm, bad_values: bool, at: &At, errors: &mut Errors) {
    let expressions = at.child("matchExpressions");
    for (i, requirement) in term.match_expressions.iter().enumerate() {
        node_requirement(requirement, bad_values, &expressions.index(i), errors);
    }
    let fields = at.child("matchFields");
    for (i, requirement) in term.match_fields.iter().enumerate() {
        node_field(requirement, &fields.index(i), errors);
    }
}

fn node_requirement(r: &NodeSelectorRequirement, bad_values: bool, at: &At, errors: &mut Errors) {
    let values = &at.child("values");
    match &*r.operator {
        "In" | "NotIn" => {
            if r.values.is_empty() {
                errors.required(values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !r.values.is_empty() {
                errors.forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
        }
        "Gt" | "Lt" => {
            if r.values.len() != 1 {
                errors.required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
        }
        _ => errors.invalid(&at.child("operator"), &r.operator, "not a valid selector operator"),
    }
    labels::key(&r.key, &at.child("key"), errors);
    if !bad_values {
        for (i, value) in r.values.iter().enumerate() {
            errors.each(&values.index(i), value, names::label_value(value));
        }
    }
}

fn node_field(r: &NodeSelectorRequirement, at: &At, errors: &mut Errors) {
    let values = &at.child("values");
    if !matches!(&*r.operator, "In" | "NotIn") {
        errors.invalid(&at.child("operator"), &r.operator, "not a valid selector operator");
    } else if r.values.len() != 1 {
        errors.required(values, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    }
    if r.key != "metadata.name" {
        return errors.invalid(&at.child("key"), &r.key, "not a valid field selector key");
    }
    for (i, value) in r.values.iter().enumerate() {
        errors.each(&values.index(i), value, names::dns1123_subdomain(value));
    }
}

fn required(terms: &[PodAffinityTerm], options: &Options, at: &At, errors: &mut Errors) {
    let at = at.child("requiredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in terms.iter().enumerate() {
        pod_term(term, options, &at.index(i), errors);
    }
}

fn preferred(terms: &[WeightedPodAffinityTerm], options: &Options, at: &At, errors: &mut Errors) {
    let at = at.child("preferredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in terms.iter().enumerate() {
        let at = at.index(i);
        if !(1..=100).contains(&term.weight) {
            errors.invalid(&at.child("weight"), term.weight, WEIGHT);
        }
        pod_term(&term.pod_affinity_term, options, &at.child("podAffinityTerm"), errors);
    }
}

fn pod_term(term: &PodAffinityTerm, options: &Options, at: &At, errors: &mut Errors) {
    labels::selector_with(&term.label_selector, options.bad_selector_values, &at.child("labelSelector"), errors);
    let at_namespaces = &at.child("namespaceSelector");
    labels::selector_with(&term.namespace_selector, options.bad_selector_values, at_namespaces, errors);
    for namespace in &term.namespaces {
        errors.each(&at.child("namespace"), namespace, names::dns1123_label(namespace));
    }
    label_keys(&term.match_label_keys, &term.mismatch_label_keys, &term.label_selector, at, errors);
    let key = &at.child("topologyKey");
    if term.topology_key.is_empty() {
        errors.required(key, "can not be empty");
    }
    labels::key(&term.topology_key, key, errors);
}

/// `matchLabelKeys` and `mismatchLabelKeys` (`ValidateMatchLabelKeysAndMismatchLabelKeys`).
fn label_keys(matching: &[Str], mismatching: &[Str], selector: &Ptr<LabelSelector>, at: &At, errors: &mut Errors) {
    if matching.is_empty() && mismatching.is_empty() {
        return;
    }
    for (name, keys) in [("matchLabelKeys", matching), ("mismatchLabelKeys", mismatching)] {
        let at = &at.child(name);
        if keys.is_empty() {
        } else if selector.is_none() {
            errors.forbidden(at, "must not be specified when labelSelector is not set");
        } else {
            for (i, key) in keys.iter().enumerate() {
                labels::key(key, &at.index(i), errors);
            }
        }
    }
    if let Some(selector) = selector.get() {
        for (i, expression) in selector.match_expressions.iter().enumerate() {
            let key = &expression.key;
            let seen = selector.match_labels.contains_key(key)
                || selector.match_expressions.iter().take(i).any(|e| e.key == *key);
            if seen && let Some(at_key) = matching.iter().rposition(|k| k == key) {
                errors.invalid(&at.index(at_key), key, "exists in both matchLabelKeys and labelSelector");
            }
        }
    }
    let at = at.child("matchLabelKeys");
    for (i, key) in matching.iter().enumerate().filter(|(_, key)| mismatching.contains(key)) {
        errors.invalid(&at.index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

/// `topologySpreadConstraints`
pub(super) fn spread(list: &[TopologySpreadConstraint], options: &Options, at: &At, errors: &mut Errors) {
    for (i, constraint) in list.iter().enumerate() {
        let at = &at.index(i);
        errors.positive(&at.child("maxSkew"), constraint.max_skew);
        if constraint.topology_key.is_empty() {
            errors.required(&at.child("topologyKey"), "can not be empty");
        }
        let action = &*constraint.when_unsatisfiable;
        errors.one_of(&at.child("whenUnsatisfiable"), action, &["DoNotSchedule", "ScheduleAnyway"]);
        let twin =
            |c: &TopologySpreadConstraint| c.topology_key == constraint.topology_key && c.when_unsatisfiable == *action;
        if list.iter().skip(i + 1).any(twin) {
            let shown = format!("{{{}, {action}}}", constraint.topology_key);
            errors.duplicate(&at.child("{topologyKey, whenUnsatisfiable}"), shown);
        }
        if let Some(domains) = constraint.min_domains {
            let at = &at.child("minDomains");
            errors.positive(at, domains);
            if action != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.invalid(at, domains, why);
            }
        }
        let policies = [
            ("nodeAffinityPolicy", &constraint.node_affinity_policy),
            ("nodeTaintsPolicy", &constraint.node_taints_policy),
        ];
        for (name, policy) in policies {
            if let Some(policy) = policy.get() {
                errors.one_of(&at.child(name), policy, &["Honor", "Ignore"]);
            }
        }
        label_keys(&constraint.match_label_keys, &[], &constraint.label_selector, at, errors);
        if !options.bad_spread_selectors {
            labels::selector(&constraint.label_selector, &at.child("labelSelector"), errors);
        }
    }
}
