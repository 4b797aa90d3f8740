//! What a namespace says of its own deletion (`namespace/deletion/status_condition_utils.go`).

use api::SortSmall;
use std::collections::BTreeMap;

use api::core_v1::{NamespaceCondition, NamespaceStatus};
use api::{KindInfo, Time};

/// The conditions in the order they are kept, with reason and message while all is well.
const CONDITIONS: [(&str, &str, &str); 5] = [
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// What one pass over a namespace found.
#[derive(Default)]
pub(super) struct Findings {
    /// Errors of deletions.
    pub errors: Vec<String>,
    /// Objects left, by kind, once all kinds were tried.
    pub remaining: Vec<(&'static KindInfo, usize)>,
    /// Objects left, by finalizer.
    pub finalizers: BTreeMap<String, usize>,
}

impl Findings {
    fn problem(&self, type_: &str) -> Option<(&'static str, String)> {
        let list = |items: Vec<String>| {
            let mut items = items;
            items.sort_small();
            items.join(", ")
        };
        match type_ {
            "NamespaceDeletionContentFailure" if !self.errors.is_empty() => Some((
                "ContentDeletionFailed",
                format!(
                    "Failed to delete all resource types, {} remaining: {}",
                    self.errors.len(),
                    list(self.errors.clone())
                ),
            )),
            "NamespaceContentRemaining" if !self.remaining.is_empty() => {
                let items = self.remaining.iter();
                let texts =
                    items.map(|(k, n)| format!("{}.{} has {n} resource instances", k.plural, k.group)).collect();
                Some(("SomeResourcesRemain", format!("Some resources are remaining: {}", list(texts))))
            }
            "NamespaceFinalizersRemaining" if !self.finalizers.is_empty() => {
                let texts = self.finalizers.iter().map(|(f, n)| format!("{f} in {n} resource instances")).collect();
                Some((
                    "SomeFinalizersRemain",
                    format!("Some content in the namespace has finalizers remaining: {}", list(texts)),
                ))
            }
            _ => None,
        }
    }

    /// Brings the conditions up to date; says whether any changed.
    pub fn update(&self, status: &mut NamespaceStatus, now: Time) -> bool {
        let mut changed = false;
        for (type_, ok_reason, ok_message) in CONDITIONS {
            let (state, reason, message) = match self.problem(type_) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", ok_reason, ok_message.to_string()),
            };
            let Some(at) = status.conditions.iter().position(|c| c.type_ == type_) else {
                status.conditions.push(NamespaceCondition {
                    type_: type_.into(),
                    status: state.into(),
                    last_transition_time: now,
                    reason: reason.into(),
                    message: message.into(),
                });
                changed = true;
                continue;
            };
            let Some(old) = status.conditions.make().get_mut(at) else { continue };
            if old.status == state && old.reason == reason && old.message == message {
                continue;
            }
            if old.status != state {
                old.last_transition_time = now;
            }
            old.status = state.into();
            old.reason = reason.into();
            old.message = message.into();
            changed = true;
        }
        changed
    }
}
