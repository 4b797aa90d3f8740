//! Revisions of a pod template, kept as ControllerRevisions (`pkg/controller/history`), for daemon sets and stateful
//! sets.

use api::SortSmall;
use api::apps_v1::ControllerRevision;
use api::core_v1::PodTemplateSpec;
use api::meta_v1::ObjectMeta;
use api::selector::LabelSelector;
use api::{KindInfo, Raw, Resource, Rev};
use client::{Client, Lister};
use sim::Ctx;

use crate::controller_utils::{Claim, SyncError};

/// The label that says of which revision a pod is.
pub const HASH_LABEL: &str = "controller-revision-hash";

/// What a revision stores: the template as a patch that replaces the owner's.
pub fn template_patch(template: &PodTemplateSpec) -> String {
    let json = String::from_utf8_lossy(&api::json::encode_bare(template)).into_owned();
    let inner = json.strip_prefix('{').unwrap_or("}");
    let comma = if inner == "}" { "" } else { "," };
    format!(r#"{{"spec":{{"template":{{"$patch":"replace"{comma}{inner}}}}}"#)
}

/// Whether a revision stores this template.
pub fn matches(revision: &ControllerRevision, patch: &str) -> bool {
    revision.data.json() == Some(patch)
}

/// The hash of a revision's data (`HashControllerRevision`): 32-bit FNV-1, the collisions' count after it.
pub fn hash_revision(data: &str, collision_count: Option<i32>) -> String {
    let probe = collision_count.map(|n| n.to_string()).unwrap_or_default();
    let bytes = data.bytes().chain(probe.bytes());
    let hash = bytes.fold(0x811c_9dc5u32, |h, b| h.wrapping_mul(0x0100_0193) ^ u32::from(b));
    api::names::safe_encode(&hash.to_string())
}

/// `<prefix>-<hash>`, the prefix cut to 223 characters.
pub fn revision_name(prefix: &str, hash: &str) -> String {
    let mut end = prefix.len().min(223);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{hash}", prefix.get(..end).unwrap_or(prefix))
}

/// A revision with this data, not yet stored.
pub fn new_revision(namespace: &str, name: &str, data: String, revision: i64) -> ControllerRevision {
    let mut cr = ControllerRevision::default();
    cr.metadata.namespace = namespace.into();
    cr.metadata.name = name.into();
    cr.data = Raw::from_json(&data);
    cr.revision = revision;
    cr
}

/// Oldest revision first.
pub fn sort(revisions: &mut [Rev<ControllerRevision>]) {
    revisions.sort_small_by(|a, b| {
        let key = |r: &Rev<ControllerRevision>| {
            (r.revision_number(), r.metadata.creation_timestamp.unix(), r.metadata.name.clone())
        };
        key(a).cmp(&key(b))
    });
}

/// The revision's own number; the name `revision` alone means the store's.
pub trait RevisionNumber {
    /// `revision` of the object.
    fn revision_number(&self) -> i64;
}

impl RevisionNumber for Rev<ControllerRevision> {
    fn revision_number(&self) -> i64 {
        self.body.revision
    }
}

/// The highest number.
pub fn max_revision(revisions: &[Rev<ControllerRevision>]) -> i64 {
    revisions.iter().map(RevisionNumber::revision_number).max().unwrap_or(0).max(0)
}

/// The owner's revisions, after adopting orphans and releasing what no longer matches.
pub async fn claim<O: Resource>(
    ctx: &Ctx,
    client: &Client,
    lister: &Lister<ControllerRevision>,
    owner: &ObjectMeta,
    kind: &'static KindInfo,
    selector: &LabelSelector,
) -> Result<Vec<Rev<ControllerRevision>>, SyncError> {
    let claim = Claim { ctx, client, owner, kind, selector };
    claim.claim::<O, ControllerRevision>(lister.in_namespace(&owner.namespace)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patch_is_sorted_json() {
        let mut template = PodTemplateSpec::default();
        template.metadata.labels.insert("app", "web".into());
        let patch = template_patch(&template);
        assert!(
            patch.starts_with(r#"{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"#),
            "{patch}"
        );
        assert!(api::json::Value::parse(&patch).is_ok());
        let revision = new_revision("default", "web-1", patch.clone(), 1);
        assert!(matches(&revision, &patch));
    }
}
