//! Names of resources: what discovery knows, looked up as kubectl's REST mapper does.

use crate::error::{Error, NO_PREFIX};
use crate::print::human::quote;
use std::rc::Rc;

/// A resource and its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// API group, empty for the core one.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Plural name.
    pub plural: String,
    /// Singular name.
    pub singular: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Verbs that the server has for it.
    pub verbs: Vec<String>,
    /// Categories such as `all`.
    pub categories: Vec<String>,
    /// Its subresources.
    pub subresources: Vec<String>,
}

impl Mapping {
    /// `apps/v1`, or `v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods`.
    pub fn group_resource(&self) -> String {
        qualified(&self.plural, &self.group)
    }

    /// `deployment.apps`, or `pod`: as names are printed.
    pub fn printed_kind(&self) -> String {
        qualified(&self.kind.to_lowercase(), &self.group)
    }

    /// Go's text of a GroupVersionResource: `apps/v1, Resource=deployments`.
    pub fn gvr(&self) -> String {
        format!("{}/{}, Resource={}", self.group, self.version, self.plural)
    }

    /// `apps/v1, Kind=Deployment`, the group empty in the core group
    pub fn gvk(&self) -> String {
        format!("{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

/// `name.group`, or `name` in the core group.
pub fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_string() } else { format!("{name}.{group}") }
}

/// What discovery gave.
#[derive(Clone, Debug, Default)]
pub struct Mapper {
    /// All resources, preferred versions first, in the order of discovery.
    pub resources: Vec<Rc<Mapping>>,
}

impl Mapper {
    /// What else a short name could stand for, in words.
    pub fn ambiguous(&self, typed: &str) -> Option<String> {
        let mut found = self.resources.iter().filter(|m| m.short_names.iter().any(|short| short == typed));
        let first = found.next()?;
        let other = found.find(|m| (&m.group, &m.plural) != (&first.group, &first.plural))?;
        let other = qualified(&other.plural, &other.group);
        Some(format!("short name {} could also match lower priority resource {other}", quote(typed)))
    }

    /// The mapping of what a user typed: `po`, `pods`, `pod`, `deployments.apps`, `deployments.v1.apps`, `Pod`.
    pub fn for_argument(&self, typed: &str) -> Result<Rc<Mapping>, Error> {
        self.find_argument(typed).ok_or_else(|| {
            let (resource, group) = split_group(typed);
            let shown = if group.is_empty() {
                format!("the server doesn't have a resource type {}", quote(resource))
            } else {
                format!("the server doesn't have a resource type {} in group {}", quote(resource), quote(group))
            };
            Error::text(shown)
        })
    }

    /// The same without an error.
    pub fn find_argument(&self, typed: &str) -> Option<Rc<Mapping>> {
        let name_matches = |m: &Mapping, name: &str| {
            let lower = name.to_lowercase();
            // Short names are expanded as they are.
            m.plural == lower || m.singular == lower || m.short_names.iter().any(|short| short == name)
        };
        // resource.version.group; of a version that is not there the group's preferred one.
        let mut parts = typed.splitn(3, '.');
        if let (Some(resource), Some(version), Some(group)) = (parts.next(), parts.next(), parts.next()) {
            let fits = |m: &&Rc<Mapping>| name_matches(m, resource) && m.group == group;
            // A version behind a short name counts for nothing.
            let short = |m: &Mapping| m.short_names.iter().any(|short| short == resource);
            let exact = self.resources.iter().find(|m| fits(m) && m.version == version && !short(m));
            if let Some(m) = exact.or_else(|| self.resources.iter().find(fits)) {
                return Some(m.clone());
            }
        }
        let (resource, group) = split_group(typed);
        if group.is_empty() {
            // Short names are tried last, as the shortcut expander does for what is no resource.
            let exact = self.resources.iter().find(|m| {
                let lower = resource.to_lowercase();
                m.plural == lower || m.singular == lower
            });
            if let Some(m) = exact.or_else(|| self.resources.iter().find(|m| name_matches(m, resource))) {
                return Some(m.clone());
            }
            return self.resources.iter().find(|m| m.kind == resource).cloned();
        }
        let in_group = |m: &Mapping| m.group == group || (m.group.starts_with(group) && !group.is_empty());
        self.resources
            .iter()
            .find(|m| name_matches(m, resource) && m.group == group)
            .or_else(|| self.resources.iter().find(|m| name_matches(m, resource) && in_group(m)))
            .or_else(|| {
                self.resources.iter().find(|m| name_matches(m, resource) && m.version == group && m.group.is_empty())
            })
            .or_else(|| self.resources.iter().find(|m| m.kind == resource && m.group == group))
            .cloned()
    }

    /// The mapping of an object's apiVersion and kind.
    pub fn for_kind(&self, api_version: &str, kind: &str) -> Option<Rc<Mapping>> {
        let (group, version) = split_version(api_version);
        // Discovery knows each kind in small letters too.
        let is = |m: &Mapping| m.kind == kind || m.kind.to_lowercase() == kind;
        self.resources.iter().find(|m| m.group == group && m.version == version && is(m)).cloned()
    }

    /// A resource of a group by its plural name.
    pub fn by_resource(&self, group: &str, plural: &str) -> Option<Rc<Mapping>> {
        self.resources.iter().find(|m| m.group == group && m.plural == plural).cloned()
    }

    /// The resources of a category, as names to look up; None when there is no such category.
    pub fn category(&self, name: &str) -> Option<Vec<String>> {
        let list: Vec<String> = self
            .resources
            .iter()
            .filter(|m| m.categories.iter().any(|c| c == name))
            .map(|m| m.group_resource())
            .collect();
        (!list.is_empty()).then_some(list)
    }
}

/// The error of a resource that is not there, printed without `error: `.
pub fn no_resource(name: &str) -> Error {
    Error::text(format!("{NO_PREFIX}the server doesn't have a resource type {}", quote(name)))
}

fn split_group(typed: &str) -> (&str, &str) {
    typed.split_once('.').unwrap_or((typed, ""))
}

/// `apps/v1` as group and version.
pub fn split_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
