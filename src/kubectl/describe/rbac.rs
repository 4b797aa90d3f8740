//! Roles and bindings.

use super::{Related, Writer};
use crate::value::Value;
use api::SortSmall;

/// One rule broken down to a single resource, group and name list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Verbs.
    pub verbs: Vec<String>,
    /// API groups.
    pub groups: Vec<String>,
    /// Resources.
    pub resources: Vec<String>,
    /// Names of objects.
    pub names: Vec<String>,
    /// Paths that are no resources.
    pub urls: Vec<String>,
}

impl Rule {
    /// What rules are sorted by: the text of Go's PolicyRule.
    fn key(&self) -> String {
        format!(
            "Verbs:[{}],APIGroups:[{}],Resources:[{}],ResourceNames:[{}],NonResourceURLs:[{}]",
            self.verbs.join(" "),
            self.groups.join(" "),
            self.resources.join(" "),
            self.names.join(" "),
            self.urls.join(" ")
        )
    }
}

fn texts(v: &Value) -> Vec<String> {
    match v {
        Value::Array(a) => a.iter().filter_map(Value::as_str).map(String::from).collect(),
        _ => Vec::new(),
    }
}

/// `rbac.BreakdownRule`, `CompactRules` and the stable sort.
pub fn compact(rules: &[Value]) -> Vec<Rule> {
    let mut out: Vec<Rule> = Vec::new();
    // Rules that differ in verbs only are joined.
    let mut add = |rule: Rule| {
        let simple = rule.resources.len() == 1 && rule.groups.len() == 1 && rule.urls.is_empty();
        if simple
            && let Some(same) = out
                .iter_mut()
                .find(|r| r.groups == rule.groups && r.resources == rule.resources && r.names == rule.names)
        {
            same.verbs.extend(rule.verbs);
            return;
        }
        out.push(rule);
    };
    for r in rules {
        let names = texts(r.at("resourceNames"));
        for group in texts(r.at("apiGroups")) {
            for resource in texts(r.at("resources")) {
                for verb in texts(r.at("verbs")) {
                    let base = Rule {
                        verbs: vec![verb],
                        groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        ..Rule::default()
                    };
                    if names.is_empty() {
                        add(base);
                    } else {
                        for name in &names {
                            add(Rule { names: vec![name.clone()], ..base.clone() });
                        }
                    }
                }
            }
        }
        for url in texts(r.at("nonResourceURLs")) {
            for verb in texts(r.at("verbs")) {
                add(Rule { verbs: vec![verb], urls: vec![url.clone()], ..Rule::default() });
            }
        }
    }
    out.sort_small_by_key(Rule::key);
    out
}

/// `CombineResourceGroup`.
pub fn resource_group(resource: &str, group: &str) -> String {
    let (name, sub) = match resource.split_once('/') {
        Some((n, s)) => (n, Some(s)),
        None => (resource, None),
    };
    let mut out = name.to_string();
    if !group.is_empty() {
        out = format!("{out}.{group}");
    }
    match sub {
        Some(s) => format!("{out}/{s}"),
        None => out,
    }
}

/// Describes a Role or ClusterRole.
pub fn role(w: &mut Writer, role: &Value, _: &Related) {
    w.put(0, &format!("Name:\t{}\n", role.str("metadata/name")));
    w.labels("Labels", role.at("metadata/labels"));
    w.annotations("Annotations", role.at("metadata/annotations"));
    w.put(0, "PolicyRule:\n");
    w.put(1, "Resources\tNon-Resource URLs\tResource Names\tVerbs\n");
    w.put(1, "---------\t-----------------\t--------------\t-----\n");
    for r in compact(role.list("rules")) {
        let resource = match r.resources.first() {
            Some(res) => resource_group(res, r.groups.first().map_or("", |g| g)),
            None => String::new(),
        };
        w.put(1, &format!("{resource}\t[{}]\t[{}]\t[{}]\n", r.urls.join(" "), r.names.join(" "), r.verbs.join(" ")));
    }
}

/// Describes a RoleBinding or ClusterRoleBinding.
pub fn binding(w: &mut Writer, b: &Value, _: &Related) {
    w.put(0, &format!("Name:\t{}\n", b.str("metadata/name")));
    w.labels("Labels", b.at("metadata/labels"));
    w.annotations("Annotations", b.at("metadata/annotations"));
    w.put(0, "Role:\n");
    w.put(1, &format!("Kind:\t{}\n", b.str("roleRef/kind")));
    w.put(1, &format!("Name:\t{}\n", b.str("roleRef/name")));
    w.put(0, "Subjects:\n");
    w.put(1, "Kind\tName\tNamespace\n");
    w.put(1, "----\t----\t---------\n");
    for s in b.list("subjects") {
        w.put(1, &format!("{}\t{}\t{}\n", s.str("kind"), s.str("name"), s.str("namespace")));
    }
}
