//! Tolerations and the effects of taints.

use super::super::at::{At, Errors};
use super::super::labels;
use crate::core_v1::Toleration;
use crate::names;

/// What a taint does.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// `tolerations`
pub(in super::super) fn tolerations(list: &[Toleration], at: &At, errors: &mut Errors) {
    for (i, toleration) in list.iter().enumerate() {
        let at = &at.index(i);
        if !toleration.key.is_empty() {
            labels::key(&toleration.key, &at.child("key"), errors);
        }
        let operator = &at.child("operator");
        if toleration.key.is_empty() && toleration.operator != "Exists" {
            errors.invalid(
                operator,
                &toleration.operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            );
        }
        if toleration.toleration_seconds.is_some() && toleration.effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(&at.child("effect"), &toleration.effect, why);
        }
        match &*toleration.operator {
            "Equal" | "" => {
                let wrong = names::label_value(&toleration.value);
                if !wrong.is_empty() {
                    errors.invalid(operator, &toleration.value, wrong.join(";"));
                }
            }
            "Exists" => {
                if !toleration.value.is_empty() {
                    errors.invalid(operator, &toleration.value, "value must be empty when `operator` is 'Exists'");
                }
            }
            "Lt" | "Gt" => errors.not_supported(operator, &toleration.operator, &["Equal", "Exists", "Lt", "Gt"]),
            _ => errors.not_supported(operator, &toleration.operator, &["Equal", "Exists"]),
        }
        if !toleration.effect.is_empty() {
            effect(&toleration.effect, true, &at.child("effect"), errors);
        }
    }
}

/// A taint's effect (`validateTaintEffect`).
pub(in super::super) fn effect(effect: &str, may_be_empty: bool, at: &At, errors: &mut Errors) {
    if effect.is_empty() && !may_be_empty {
        errors.required(at, "");
    } else {
        errors.one_of(at, effect, &EFFECTS);
    }
}
