//! The words of a failed try (`FitError.Error`).

use crate::verdict::{NodeVerdict, Rejection};
use api::SortSmall;
use std::collections::BTreeMap;

/// `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s).`
pub fn fit_error<'a>(all: usize, reasons: impl Iterator<Item = &'a str>, pre_filter: Option<&Rejection>) -> String {
    let mut text = format!("0/{all} nodes are available:");
    if let Some(rejection) = pre_filter {
        let words: Vec<&str> = rejection.reasons.iter().map(|r| &*r.text).collect();
        text.push_str(&format!(" {}.", words.join(", ")));
        return text;
    }
    let mut counts = BTreeMap::<&str, usize>::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    // Sorted as texts, count included.
    let mut parts: Vec<String> = counts.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
    parts.sort_small();
    if !parts.is_empty() {
        text.push_str(&format!(" {}.", parts.join(", ")));
    }
    text
}

/// The whole message of a pod that fits nowhere.
pub fn failed(all: usize, nodes: &[NodeVerdict], pre_filter: Option<&Rejection>, post_filter: &str) -> String {
    if all == 0 {
        return "no nodes available to schedule pods".into();
    }
    let reasons =
        nodes.iter().filter_map(|n| n.rejected.as_ref()).flat_map(|(_, r)| r.reasons.iter().map(|r| &*r.text));
    let mut text = fit_error(all, reasons, pre_filter);
    if !post_filter.is_empty() {
        text.push_str(&format!(" {post_filter}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_sorted_as_texts() {
        let reasons = ["Insufficient cpu", "node(s) had untolerated taint(s)", "Insufficient cpu"];
        assert_eq!(
            fit_error(3, reasons.into_iter(), None),
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
        );
        let rejection = Rejection::unresolvable("pod has unbound immediate PersistentVolumeClaims");
        assert_eq!(
            fit_error(3, std::iter::empty(), Some(&rejection)),
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."
        );
    }
}
