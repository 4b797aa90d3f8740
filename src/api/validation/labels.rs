//! Labels and label selectors (apimachinery's meta/v1 validation).

use super::at::{At, Errors};
use crate::meta_v1::{LabelSelector, LabelSelectorRequirement};
use crate::names;
use crate::{Map, Ptr, Str};

/// A label's key (`ValidateLabelName`).
pub(super) fn key(key: &str, at: &At, errors: &mut Errors) {
    errors.each(at, key, names::qualified_name(key));
}

/// A map of labels (`ValidateLabels`).
pub(super) fn labels(labels: &Map<Str>, at: &At, errors: &mut Errors) {
    for (k, v) in labels {
        key(k, at, errors);
        errors.each(at, v, names::label_value(v));
    }
}

/// A label selector (`ValidateLabelSelector`).
pub(super) fn selector(selector: &Ptr<LabelSelector>, at: &At, errors: &mut Errors) {
    selector_with(selector, false, at, errors);
}

/// A label selector; old objects may keep bad values.
pub(super) fn selector_with(selector: &Ptr<LabelSelector>, bad_values: bool, at: &At, errors: &mut Errors) {
    if let Some(selector) = selector.get() {
        plain(selector, bad_values, at, errors);
    }
}

/// A label selector that is no pointer.
pub(super) fn plain(selector: &LabelSelector, bad_values: bool, at: &At, errors: &mut Errors) {
    labels(&selector.match_labels, &at.child("matchLabels"), errors);
    let list = at.child("matchExpressions");
    for (i, expression) in selector.match_expressions.iter().enumerate() {
        requirement(expression, bad_values, &list.index(i), errors);
    }
}

fn requirement(r: &LabelSelectorRequirement, bad_values: bool, at: &At, errors: &mut Errors) {
    let values = at.child("values");
    match &*r.operator {
        "In" | "NotIn" => {
            if r.values.is_empty() {
                errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
        }
        "Exists" | "DoesNotExist" => {
            if !r.values.is_empty() {
                errors.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
        }
        _ => errors.invalid(&at.child("operator"), &r.operator, "not a valid selector operator"),
    }
    key(&r.key, &at.child("key"), errors);
    if !bad_values {
        for (i, value) in r.values.iter().enumerate() {
            errors.each(&values.index(i), value, names::label_value(value));
        }
    }
}

/// Whether a selector has a value that is no label value (`LabelSelectorHasInvalidLabelValue`).
pub(super) fn has_bad_value(selector: &Ptr<LabelSelector>) -> bool {
    selector.get().is_some_and(|s| {
        s.match_expressions.iter().flat_map(|e| e.values.iter()).any(|v| !names::label_value(v).is_empty())
    })
}
