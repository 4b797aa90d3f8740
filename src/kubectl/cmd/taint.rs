//! `kubectl taint`.

use super::{DryRun, manager};
use crate::builder::Builder;
use crate::error::Error;
use crate::merge;
use crate::print::human::quote;
use crate::print::object::for_write;
use crate::server::Write;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::PatchType;

#[derive(Clone, PartialEq)]
struct Taint {
    key: String,
    value: String,
    effect: String,
}

impl Taint {
    /// Go's `Taint.ToString`.
    fn text(&self) -> String {
        match (self.effect.as_str(), self.value.as_str()) {
            ("", "") => self.key.clone(),
            ("", v) => format!("{}={v}:", self.key),
            (e, "") => format!("{}:{e}", self.key),
            (e, v) => format!("{}={v}:{e}", self.key),
        }
    }

    fn matches(&self, other: &Value) -> bool {
        other.str("key") == self.key && other.str("effect") == self.effect
    }

    fn value(&self) -> Value {
        let mut v = object([("effect", self.effect.as_str().into()), ("key", self.key.as_str().into())]);
        if !self.value.is_empty() {
            v.set("value", self.value.as_str());
        }
        v
    }
}

fn parse_one(text: &str) -> Result<Taint, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (key, value, effect) = match parts.as_slice() {
        [key] => (*key, "", ""),
        [pair, effect] => {
            if !["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(effect) {
                return Err(format!("invalid taint effect: {effect}, unsupported taint effect"));
            }
            let kv: Vec<&str> = pair.split('=').collect();
            match kv.as_slice() {
                [key] => (*key, "", *effect),
                [key, value] => {
                    let bad = ::api::names::label_value(value);
                    if !bad.is_empty() {
                        return Err(format!("invalid taint spec: {text}, {}", bad.join("; ")));
                    }
                    (*key, *value, *effect)
                }
                _ => return Err(format!("invalid taint spec: {text}")),
            }
        }
        _ => return Err(format!("invalid taint spec: {text}")),
    };
    let bad = ::api::names::qualified_name(key);
    if !bad.is_empty() {
        return Err(format!("invalid taint spec: {text}, {}", bad.join("; ")));
    }
    Ok(Taint { key: key.into(), value: value.into(), effect: effect.into() })
}

fn parse(specs: &[String]) -> Result<(Vec<Taint>, Vec<Taint>), String> {
    let (mut add, mut remove): (Vec<Taint>, Vec<Taint>) = (Vec::new(), Vec::new());
    for s in specs {
        if let Some(bare) = s.strip_suffix('-') {
            let t = parse_one(bare)?;
            remove.push(Taint { value: String::new(), ..t });
        } else {
            let t = parse_one(s)?;
            if t.effect.is_empty() {
                return Err(format!("invalid taint spec: {s}"));
            }
            if add.iter().any(|a| a.key == t.key && a.effect == t.effect) {
                return Err(format!(
                    "duplicated taints with the same key and effect: {{{} {} {} <nil>}}",
                    t.key, t.value, t.effect
                ));
            }
            add.push(t);
        }
    }
    Ok((add, remove))
}

/// The command.
pub async fn taint(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let dry_run = DryRun::of(k)?;
    let validation = super::validation(f)?;
    let (mut resources, mut specs) = (Vec::new(), Vec::new());
    for a in k.args() {
        let is_taint = a.contains('=') || a.contains(':') || a.ends_with('-');
        match (is_taint, specs.is_empty()) {
            (true, _) => specs.push(a.clone()),
            (false, true) => resources.push(a.clone()),
            (false, false) => {
                return Err(Error::text(format!("all resources must be specified before taint changes: {a}")));
            }
        }
    }
    let Some(kind) = resources.first().map(|r| r.to_lowercase()) else {
        return Err(Error::text("one or more resources must be specified as <resource> <name>"));
    };
    if specs.is_empty() {
        return Err(Error::text("at least one taint update is required"));
    }
    let (add, remove) = parse(&specs).map_err(|e| k.usage_error(&e))?;
    let mapper = k.mapper();
    let mapping = mapper.find_argument(&kind).ok_or_else(|| crate::mapping::no_resource(&kind))?;
    if mapping.kind != "Node" {
        return Err(Error::text(format!("invalid resource type {kind}, only node types are supported")));
    }
    let conflicts: Vec<String> = add
        .iter()
        .flat_map(|a| {
            remove
                .iter()
                .filter(move |r| a.key == r.key && (r.effect.is_empty() || a.effect == r.effect))
                .map(|r| format!("{}={}", r.key, r.effect))
        })
        .collect();
    if !conflicts.is_empty() {
        return Err(Error::text(format!(
            "can not both modify and remove the following taint(s) in the same command: {}",
            conflicts.join(", ")
        )));
    }
    let (all, selector) = (f.bool("all"), f.str("selector"));
    if all && !selector.is_empty() {
        return Err(Error::text("setting 'all' parameter with a non empty selector is prohibited"));
    }
    if !all && selector.is_empty() && resources.len() < 2 {
        return Err(Error::text("at least one resource name must be specified since 'all' parameter is not set"));
    }
    let b = Builder::new(k);
    let mut b = if all {
        b.select_all(true).arguments(k, false, &["nodes".to_string()])
    } else if !selector.is_empty() {
        b.labels(selector).arguments(k, false, &["nodes".to_string()])
    } else {
        b.resource_names("nodes", resources.get(1..).unwrap_or(&[]))
    };
    b.latest = true;
    let visit = b.run(k).await?;
    let mut errors = Vec::new();
    for item in visit.items {
        let done = async {
            let info = item?;
            let (word, taints) = change(&info.object, &add, &remove, f.bool("overwrite"))?;
            let mut wanted = info.object.clone();
            if taints.is_empty() {
                wanted.remove_key("spec", "taints");
            } else {
                wanted.set("spec/taints", taints);
            }
            let mut printer = for_write(k, &dry_run.operation(word))?;
            if dry_run != DryRun::Client {
                let patch = merge::two_way(&info.object, &wanted, merge::schema_of("v1", "Node")).to_json();
                let w = Write {
                    dry_run: dry_run == DryRun::Server,
                    manager: manager(k, "kubectl-taint"),
                    validation,
                    force: false,
                };
                wanted = k.patch(&info.mapping, "", &info.name, "", PatchType::Strategic, patch.as_bytes(), &w).await?;
            }
            printer.show(k, &wanted)?;
            Ok(())
        };
        if let Err(e) = done.await {
            errors.push(e);
        }
    }
    Error::aggregate(errors)
}

/// The word for what happens and the node's taints after it.
fn change(node: &Value, add: &[Taint], remove: &[Taint], overwrite: bool) -> Result<(&'static str, Vec<Value>), Error> {
    let old = node.list("spec/taints");
    if !overwrite {
        let there: Vec<&str> =
            add.iter().filter(|t| old.iter().any(|o| t.matches(o))).map(|t| t.key.as_str()).collect();
        if !there.is_empty() {
            return Err(Error::text(format!(
                "node {} already has {} taint(s) with same effect(s) and --overwrite is false",
                node.str("metadata/name"),
                there.join(",")
            )));
        }
    }
    let mut taints: Vec<Value> = add.iter().map(Taint::value).collect();
    for o in old {
        if !add.iter().any(|t| t.matches(o)) {
            taints.push(o.clone());
        }
    }
    let added = old.len() != taints.len();
    let mut errors = Vec::new();
    let mut deleted = false;
    for r in remove {
        let before = taints.len();
        taints.retain(|t| t.str("key") != r.key || (!r.effect.is_empty() && t.str("effect") != r.effect));
        deleted = taints.len() != before;
        if !deleted {
            errors.push(Error::text(format!("taint {} not found", quote(&r.text()))));
        }
    }
    Error::aggregate(errors)?;
    let word = if (added && deleted) || overwrite {
        "modified"
    } else if added {
        "tainted"
    } else {
        "untainted"
    };
    Ok((word, taints))
}
