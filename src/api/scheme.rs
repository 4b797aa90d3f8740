//! The scheme: one table of kinds, generated from discovery, and look-ups in it.
use crate::object::{Object, TypeDesc};

#[rustfmt::skip]
pub mod table;

/// A kind, and the resource that serves it if there is one.
pub struct KindInfo {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// Version, `v1`.
    pub version: &'static str,
    /// `Deployment`
    pub kind: &'static str,
    /// `apps/v1`
    pub api_version: &'static str,
    /// The resource's name, `deployments`; empty for kinds that no resource of their own serves.
    pub plural: &'static str,
    /// `deployment`
    pub singular: &'static str,
    /// `deploy`
    pub short_names: &'static [&'static str],
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// Verbs of the resource, sorted.
    pub verbs: &'static [&'static str],
    /// `all`
    pub categories: &'static [&'static str],
    /// `status`, `scale` and so on.
    pub subresources: &'static [Subresource],
    /// As discovery gives it.
    pub storage_version_hash: &'static str,
    /// The type.
    pub desc: &'static TypeDesc,
}

/// A subresource and the kind that it serves.
pub struct Subresource {
    /// `status`
    pub name: &'static str,
    /// Group of the kind.
    pub group: &'static str,
    /// Version of the kind.
    pub version: &'static str,
    /// `Scale`
    pub kind: &'static str,
    /// Verbs, sorted.
    pub verbs: &'static [&'static str],
}

impl KindInfo {
    /// A zero value of the kind, `apiVersion` and `kind` empty.
    pub fn new_object(&self) -> Box<dyn Object> {
        self.desc.new_object()
    }
    /// `deployments.apps`, or `pods` in the core group: how Status messages name the resource.
    pub fn group_resource(&self) -> String {
        qualified(self.group, self.plural)
    }
    /// `Deployment.apps`, or `Pod`: how Status messages name the kind.
    pub fn group_kind(&self) -> String {
        qualified(self.group, self.kind)
    }
    /// `PodList`
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }
    /// The table row of the list kind.
    pub fn list(&self) -> Option<&'static KindInfo> {
        by_kind(self.group, self.version, &self.list_kind())
    }
    /// A subresource.
    pub fn subresource(&self, name: &str) -> Option<&'static Subresource> {
        self.subresources.iter().find(|s| s.name == name)
    }
    /// Whether the resource has a verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }
    /// Whether a store keeps objects of it (and not only answers create, as reviews do).
    pub fn stored(&self) -> bool {
        self.has_verb("get") && self.has_verb("list")
    }
}

impl PartialEq for KindInfo {
    fn eq(&self, o: &Self) -> bool {
        std::ptr::eq(self, o)
    }
}
impl Eq for KindInfo {}
impl std::fmt::Debug for KindInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, Kind={}", self.api_version, self.kind)
    }
}

fn qualified(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_string() } else { format!("{name}.{group}") }
}

/// Splits `apps/v1` into group and version; `v1` has the empty group.
pub fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Every kind, sorted by group, version and kind.
pub fn kinds() -> &'static [&'static KindInfo] {
    table::KINDS
}

/// The kinds that are resources, in the order of discovery.
pub fn resources() -> &'static [&'static KindInfo] {
    table::RESOURCES
}

/// A kind by group, version and kind.
pub fn by_kind(group: &str, version: &str, kind: &str) -> Option<&'static KindInfo> {
    table::KINDS
        .binary_search_by(|k| (k.group, k.version, k.kind).cmp(&(group, version, kind)))
        .ok()
        .and_then(|i| table::KINDS.get(i).copied())
}

/// A kind by `apiVersion` and `kind`.
pub fn by_api_version(api_version: &str, kind: &str) -> Option<&'static KindInfo> {
    let (group, version) = group_version(api_version);
    by_kind(group, version, kind)
}

/// A resource by group, version and plural name.
pub fn by_resource(group: &str, version: &str, plural: &str) -> Option<&'static KindInfo> {
    table::RESOURCES.iter().copied().find(|k| k.group == group && k.version == version && k.plural == plural)
}

/// A zero value of a kind.
pub fn new_object(api_version: &str, kind: &str) -> Option<Box<dyn Object>> {
    by_api_version(api_version, kind).map(KindInfo::new_object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_ups() {
        let d = by_api_version("apps/v1", "Deployment").map(|k| (k.plural, k.group_resource(), k.short_names));
        assert_eq!(d, Some(("deployments", "deployments.apps".to_string(), &["deploy"][..])));
        assert!(by_resource("", "v1", "pods").is_some_and(|k| k.stored() && k.subresource("status").is_some()));
        assert!(by_api_version("v1", "Lamp").is_none());
        for k in kinds() {
            let o = k.new_object();
            assert_eq!(o.kind_info().map(|i| i.kind), Some(k.kind));
        }
    }
}
