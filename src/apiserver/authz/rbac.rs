//! The RBAC authorizer (plugin/pkg/auth/authorizer/rbac): roles and bindings, worked out once a user and namespace and
//! kept until one of them changes.

use std::collections::BTreeMap;
use std::rc::Rc;

use api::rbac_v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use api::{List, Str};

use super::Attributes;
use crate::Inner;
use crate::user::User;

/// How many users' rules are kept.
const USERS: usize = 1024;

type Rules = List<PolicyRule>;

/// One binding, ready to be asked.
struct Binding {
    /// Empty for a ClusterRoleBinding.
    namespace: Str,
    subjects: List<Subject>,
    rules: Rules,
}

/// What one user may do.
#[derive(Default)]
struct UserRules {
    cluster: Vec<Rules>,
    namespaces: BTreeMap<Str, Vec<Rules>>,
}

/// The authorizer's memory.
#[derive(Default)]
pub struct Rbac {
    /// The four resources' last changes that this was made of.
    made_of: [u64; 4],
    bindings: Vec<Binding>,
    users: BTreeMap<User, Rc<UserRules>>,
}

impl Rbac {
    /// Reads roles and bindings anew if any of them changed.
    pub fn refresh(&mut self, server: &Inner) {
        let indexes = &server.rbac_resources;
        let changed = indexes.map(|index| server.cache.resource(index).changed());
        if changed == self.made_of {
            return;
        }
        self.made_of = changed;
        self.users.clear();
        self.bindings.clear();
        let [roles, role_bindings, cluster_roles, cluster_role_bindings] = indexes.map(|i| server.cache.resource(i));
        let rules = |namespace: &str, role: &RoleRef| -> Option<Rules> {
            if &*role.kind == "Role" {
                let found = roles.get(&format!("{namespace}/{}", role.name))?;
                return found.body.downcast_ref::<Role>().map(|role| role.rules.clone());
            }
            let found = cluster_roles.get(&role.name)?;
            found.body.downcast_ref::<ClusterRole>().map(|role| role.rules.clone())
        };
        let bindings = &mut self.bindings;
        cluster_role_bindings.each("", |object| {
            if let Some(binding) = object.body.downcast_ref::<ClusterRoleBinding>()
                && let Some(rules) = rules("", &binding.role_ref)
            {
                bindings.push(Binding { namespace: Str::default(), subjects: binding.subjects.clone(), rules });
            }
        });
        role_bindings.each("", |object| {
            if let Some(binding) = object.body.downcast_ref::<RoleBinding>()
                && let Some(rules) = rules(&binding.metadata.namespace, &binding.role_ref)
            {
                let namespace = binding.metadata.namespace.clone();
                bindings.push(Binding { namespace, subjects: binding.subjects.clone(), rules });
            }
        });
    }

    /// Whether any rule allows it.
    pub fn allows(&mut self, user: &User, attributes: &Attributes) -> bool {
        let rules = self.of(user);
        let namespaced = rules.namespaces.get(attributes.namespace).into_iter().flatten();
        let namespaced = namespaced.filter(|_| !attributes.namespace.is_empty());
        rules.cluster.iter().chain(namespaced).any(|rules| rules.iter().any(|rule| matches(rule, attributes)))
    }

    /// All rules that hold for a user in a namespace (SelfSubjectRulesReview).
    pub fn rules(&mut self, user: &User, namespace: &str) -> Vec<PolicyRule> {
        let rules = self.of(user);
        let namespaced = rules.namespaces.get(namespace).into_iter().flatten();
        rules.cluster.iter().chain(namespaced).flat_map(|rules| rules.iter().cloned()).collect()
    }

    fn of(&mut self, user: &User) -> Rc<UserRules> {
        if let Some(rules) = self.users.get(user) {
            return rules.clone();
        }
        let mut found = UserRules::default();
        for binding in &self.bindings {
            if binding.subjects.iter().any(|subject| is(user, subject, &binding.namespace)) {
                let place = if binding.namespace.is_empty() {
                    &mut found.cluster
                } else {
                    found.namespaces.entry(binding.namespace.clone()).or_default()
                };
                place.push(binding.rules.clone());
            }
        }
        if self.users.len() >= USERS {
            self.users.clear();
        }
        let found = Rc::new(found);
        self.users.insert(user.clone(), found.clone());
        found
    }
}

fn is(user: &User, subject: &Subject, namespace: &str) -> bool {
    match &*subject.kind {
        "User" => user.name == subject.name,
        "Group" => user.is_in(&subject.name),
        "ServiceAccount" => {
            let of = if subject.namespace.is_empty() { namespace } else { &subject.namespace };
            user.service_account() == Some((of, &subject.name))
        }
        _ => false,
    }
}

fn has(list: &[Str], value: &str) -> bool {
    list.iter().any(|item| &**item == "*" || &**item == value)
}

/// Whether a rule allows something (pkg/apis/rbac/v1/evaluation_helpers.go).
pub fn matches(rule: &PolicyRule, attributes: &Attributes) -> bool {
    if !has(&rule.verbs, attributes.verb) {
        return false;
    }
    if attributes.resource.is_empty() {
        return rule.non_resource_urls.iter().any(|url| match url.strip_suffix('*') {
            Some(prefix) => attributes.path.starts_with(prefix),
            None => &**url == attributes.path,
        });
    }
    if !has(&rule.api_groups, attributes.group) {
        return false;
    }
    let resource = rule.resources.iter().any(|resource| {
        if &**resource == "*" {
            return true;
        }
        if attributes.subresource.is_empty() {
            return &**resource == attributes.resource;
        }
        match resource.split_once('/') {
            Some((resource, subresource)) => {
                subresource == attributes.subresource && (resource == "*" || resource == attributes.resource)
            }
            None => false,
        }
    });
    let named = rule.resource_names.is_empty() || rule.resource_names.iter().any(|name| &**name == attributes.name);
    resource && named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], names: &[&str], verbs: &[&str]) -> PolicyRule {
        let list = |texts: &[&str]| texts.iter().map(|text| Str::from(*text)).collect();
        PolicyRule {
            api_groups: list(groups),
            resources: list(resources),
            resource_names: list(names),
            verbs: list(verbs),
            ..Default::default()
        }
    }

    fn ask<'a>(verb: &'a str, resource: &'a str, subresource: &'a str, name: &'a str) -> Attributes<'a> {
        Attributes { verb, group: "", resource, subresource, namespace: "default", name, field_selector: "", path: "" }
    }

    #[test]
    fn rules_match_as_in_kubernetes() {
        let read = rule(&[""], &["pods", "*/status"], &[], &["get"]);
        assert!(matches(&read, &ask("get", "pods", "", "a")));
        assert!(!matches(&read, &ask("list", "pods", "", "")));
        assert!(!matches(&read, &ask("get", "pods", "log", "a")));
        assert!(matches(&read, &ask("get", "nodes", "status", "a")));
        let one = rule(&["*"], &["*"], &["a"], &["*"]);
        assert!(matches(&one, &ask("delete", "pods", "exec", "a")));
        assert!(!matches(&one, &ask("delete", "pods", "", "b")));
        let url = PolicyRule {
            verbs: ["get"].iter().map(|v| Str::from(*v)).collect(),
            non_resource_urls: ["/healthz", "/version/*"].iter().map(|u| Str::from(*u)).collect(),
            ..Default::default()
        };
        let path = |path| Attributes { path, resource: "", ..ask("get", "", "", "") };
        assert!(matches(&url, &path("/healthz")));
        assert!(matches(&url, &path("/version/x")));
        assert!(!matches(&url, &path("/healthz/x")));
    }
}
