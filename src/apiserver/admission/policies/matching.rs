//! Which requests a policy, a binding or a webhook is about (admission/plugin/policy/matching and
//! webhook/predicates).

use api::json::Value;
use api::selector::LabelSelector;
use api::{KindInfo, Map, Object, Str};

use super::Seen;
use crate::registry::convert;

/// What matched: the resource of the request, or one that is the same in another version.
pub(super) struct Matched {
    pub kind: &'static KindInfo,
}

struct Rule {
    operations: Vec<Str>,
    groups: Vec<Str>,
    versions: Vec<Str>,
    resources: Vec<Str>,
    names: Vec<Str>,
    scope: Str,
}

/// The rules and selectors.
pub(super) struct Matching {
    namespaces: Result<LabelSelector, String>,
    objects: Result<LabelSelector, String>,
    excluded: Vec<Rule>,
    rules: Vec<Rule>,
    /// A binding without rules is about all that its policy is about.
    any: bool,
    equivalent: bool,
}

/// A label selector as JSON.
pub(super) fn selector(value: &Value) -> Result<LabelSelector, String> {
    let mut selector = api::meta_v1::LabelSelector::default();
    api::json::from_value(value, &mut selector, false).map_err(|error| error.to_string())?;
    LabelSelector::from_api(Some(&selector))
}

impl Matching {
    /// Reads `matchConstraints`, `matchResources` or a webhook.
    pub fn new(of: &Value, rules: &str) -> Matching {
        let none = Value::object();
        let chosen = |field: &str| selector(of.get(field).filter(|v| !v.is_null()).unwrap_or(&none));
        let read = |field: &str| -> Vec<Rule> {
            let list = of.get(field).and_then(Value::as_array);
            list.into_iter().flat_map(|list| list.iter()).map(Rule::new).collect()
        };
        let found = read(rules);
        Matching {
            namespaces: chosen("namespaceSelector"),
            objects: chosen("objectSelector"),
            excluded: read("excludeResourceRules"),
            any: found.is_empty() && rules == "resourceRules",
            rules: found,
            equivalent: of.str_at(&["matchPolicy"]) != "Exact",
        }
    }

    /// What the request matches, if anything. An error is one of the selectors'.
    pub fn matches(&self, seen: &Seen) -> Result<Option<Matched>, String> {
        let namespaces = self.namespaces.as_ref().map(|selector| in_namespace(selector, seen));
        let objects = self.objects.as_ref().map(|selector| of_object(selector, seen));
        if matches!(namespaces, Ok(false)) || matches!(objects, Ok(false)) {
            return Ok(None);
        }
        if self.by_rules(&self.excluded, seen).is_some() {
            return Ok(None);
        }
        let matched =
            if self.any { Some(Matched { kind: seen.attributes.call.kind }) } else { self.by_rules(&self.rules, seen) };
        let Some(matched) = matched else { return Ok(None) };
        match (namespaces, objects) {
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
            _ => Ok(Some(matched)),
        }
    }

    fn by_rules(&self, rules: &[Rule], seen: &Seen) -> Option<Matched> {
        if rules.is_empty() {
            return None;
        }
        let kind = seen.attributes.call.kind;
        if rules.iter().any(|rule| rule.matches(kind, seen)) {
            return Some(Matched { kind });
        }
        if !self.equivalent {
            return None;
        }
        let stored = convert::stored_as(kind);
        let others = || api::scheme::resources().iter().filter(|k| convert::stored_as(k) == stored && **k != kind);
        rules.iter().find_map(|rule| {
            let other = others().find(|other| rule.matches(other, seen))?;
            Some(Matched { kind: other })
        })
    }
}

impl Rule {
    fn new(rule: &Value) -> Rule {
        let texts = |field: &str| -> Vec<Str> {
            let list = rule.get(field).and_then(Value::as_array);
            list.into_iter().flat_map(|list| list.iter()).filter_map(Value::as_str).map(Str::from).collect()
        };
        Rule {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            scope: rule.str_at(&["scope"]).into(),
        }
    }

    fn matches(&self, kind: &KindInfo, seen: &Seen) -> bool {
        let call = seen.attributes.call;
        let has = |list: &[Str], wanted: &str| list.iter().any(|item| &**item == "*" || &**item == wanted);
        let namespaced = kind.namespaced;
        let scope = match &*self.scope {
            "Namespaced" => namespaced,
            "Cluster" => !namespaced,
            _ => true,
        };
        let resource = |item: &Str| {
            let (resource, subresource) = item.split_once('/').unwrap_or((item, ""));
            (resource == "*" || resource == kind.plural) && (subresource == "*" || subresource == &*call.subresource)
        };
        scope
            && has(&self.operations, seen.operation())
            && has(&self.groups, kind.group)
            && has(&self.versions, kind.version)
            && self.resources.iter().any(resource)
            && (self.names.is_empty() || self.names.contains(&seen.name()))
    }
}

/// Whether the namespace is one that is chosen. What is in none always is.
fn in_namespace(selector: &LabelSelector, seen: &Seen) -> bool {
    let call = seen.attributes.call;
    if selector.is_empty() {
        return true;
    }
    let labels = |object: Option<&dyn Object>| object.and_then(|object| object.metadata()).map(|m| m.labels.clone());
    if seen.attributes.kind().kind == "Namespace" && call.kind.group.is_empty() {
        let own = labels(seen.new).or_else(|| labels(seen.old));
        return selector.matches(&own.unwrap_or_default());
    }
    if !call.kind.namespaced {
        return true;
    }
    let namespace = seen.attributes.find(call.server.namespaces, &call.namespace);
    let labels: Map<Str> =
        namespace.and_then(|found| found.body.metadata().map(|m| m.labels.clone())).unwrap_or_default();
    selector.matches(&labels)
}

/// Whether the object, or what it was, is one that is chosen.
fn of_object(selector: &LabelSelector, seen: &Seen) -> bool {
    let matches = |object: Option<&dyn Object>| {
        object.and_then(|object| object.metadata()).is_some_and(|metadata| selector.matches(&metadata.labels))
    };
    selector.is_empty() || matches(seen.new) || matches(seen.old)
}
