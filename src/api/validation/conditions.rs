//! Conditions of a status (apimachinery's `ValidateConditions`).

use super::at::{At, Errors};
use super::labels;
use super::tree::Tree;

const REASON_MAX: usize = 1024;
const MESSAGE_MAX: usize = 32 * 1024;

/// `status.conditions`
pub(super) fn conditions(conditions: Tree, at: &At, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, condition) in conditions.items().enumerate() {
        let at = &at.index(i);
        let kind = condition.get("type").text();
        if seen.contains(&kind) {
            errors.duplicate(at, kind);
        }
        seen.push(kind);
        if kind.is_empty() {
            errors.required(&at.child("type"), "is required");
        } else {
            labels::key(kind, &at.child("type"), errors);
        }
        errors.required_one_of(&at.child("status"), condition.get("status").text(), &["False", "True", "Unknown"]);
        let generation = condition.get("observedGeneration").int();
        if generation < 0 {
            errors.invalid(&at.child("observedGeneration"), generation, "must be greater than or equal to zero");
        }
        errors.need(&at.child("lastTransitionTime"), condition.get("lastTransitionTime").text());
        let (reason, at_reason) = (condition.get("reason").text(), &at.child("reason"));
        errors.need(at_reason, reason);
        if !reason.is_empty() && !is_reason(reason) {
            let why = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
            let regex = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
            errors.invalid(
                at_reason,
                reason,
                crate::names::regex_error(
                    why,
                    regex,
                    &["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"],
                ),
            );
        }
        if reason.len() > REASON_MAX {
            errors.too_long(at_reason, REASON_MAX);
        }
        if condition.get("message").text().len() > MESSAGE_MAX {
            errors.too_long(&at.child("message"), MESSAGE_MAX);
        }
    }
}

fn is_reason(reason: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    reason.starts_with(|c: char| c.is_ascii_alphabetic())
        && reason.bytes().all(|b| word(b) || matches!(b, b',' | b':'))
        && reason.bytes().next_back().is_some_and(word)
}
