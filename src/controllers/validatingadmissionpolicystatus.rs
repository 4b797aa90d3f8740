//! The controller of ValidatingAdmissionPolicies' status (`pkg/controller/validatingadmissionpolicystatus`): checks
//! their expressions against the types of what they match (apiserver's policy/validating `TypeChecker`).

use std::collections::BTreeSet;
use std::rc::Rc;

use api::cel::{Declared, Env, Type, type_of};
use api::json::Value;
use api::rest::{Body, PatchType, Query, Verb, WriteOptions};
use api::{KindInfo, Str};
use client::{Client, Delta, DynInformer, Key, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

/// Most kinds that one rule's expressions are checked against.
const MAX_TYPES: usize = 10;
/// Who applies the status.
const MANAGER: &str = "validatingadmissionpolicy-status";
/// Workers (`--concurrent-validating-admission-policy-status-syncs`).
const WORKERS: usize = 5;

struct PolicyStatus {
    ctx: sim::Ctx,
    client: Client,
    kind: &'static KindInfo,
    policies: DynInformer,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    let Some(kind) = api::scheme::by_api_version("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy") else {
        return;
    };
    let policies = cc.informers.of_kind(kind);
    let controller = Rc::new(PolicyStatus {
        ctx: cc.ctx.clone(),
        client: cc.client("validatingadmissionpolicy-status-controller"),
        kind,
        policies: policies.clone(),
        queue: WorkQueue::new(&cc.ctx, "validatingadmissionpolicy-status"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let queue = controller.queue.clone();
    policies.on(move |delta| {
        if !matches!(delta, Delta::Deleted(_))
            && let Some(metadata) = delta.object().body.metadata()
        {
            queue.add_caused(Key::of(metadata), delta.revision());
        }
    });
    policies.synced().await;
    Worker::spawn(&cc.ctx, WORKERS, controller.queue.clone(), controller);
}

impl Reconcile<Key> for PolicyStatus {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(found) = self.policies.get(&work.key) else { return Ok(()) };
        let policy = api::json::to_value_bare(&*found.body);
        let generation = found.body.metadata().map_or(0, |metadata| metadata.generation);
        let observed = policy.at(&["status", "observedGeneration"]).and_then(Value::as_i64).unwrap_or(0);
        if generation <= observed {
            return Ok(());
        }
        // The names of types end in a number that the clock gives.
        let number = self.ctx.unix_nanos().rem_euclid(1_000_000_000);
        let warnings = warnings(&policy, number);
        let object = |fields: &[(&str, Value)]| -> Value { fields.iter().cloned().collect() };
        let warnings: Vec<Value> = warnings
            .iter()
            .map(|(field, warning)| {
                object(&[("fieldRef", field.as_str().into()), ("warning", warning.as_str().into())])
            })
            .collect();
        let checking = if warnings.is_empty() {
            Value::object()
        } else {
            object(&[("expressionWarnings", Value::from(warnings))])
        };
        let body = object(&[
            ("apiVersion", self.kind.api_version.into()),
            ("kind", self.kind.kind.into()),
            ("metadata", object(&[("name", Value::from(&work.key.name))])),
            ("status", object(&[("observedGeneration", generation.into()), ("typeChecking", checking)])),
        ]);
        let client = self.client.caused_by(&work.causes);
        let mut request = client.prepare(Verb::Patch(PatchType::Apply), self.kind, "", &work.key.name, "status");
        let options = WriteOptions { field_manager: MANAGER.into(), force: true, ..WriteOptions::default() };
        request.query = Query::Write(options);
        request.body = Body::Bytes(body.to_json().as_bytes().into());
        self.observed.action(&work.key, "write what the expressions' types say".to_string());
        client.request(request).await?;
        Ok(())
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(error) => {
                klog::unhandled(error).log(&self.ctx, "controller.go:154");
                self.queue.retry(work);
            }
        }
    }
}

/// What is wrong with a policy's expressions: the field, and the warning with a paragraph a kind. `number` ends the
/// names of types.
fn warnings(policy: &Value, number: i64) -> Vec<(String, String)> {
    let kinds = kinds(policy);
    let declared = |kind: &'static KindInfo| Declared { name: format!("{}{number}", kind.kind).into(), kind };
    let param_kind = policy.at(&["spec", "paramKind"]);
    let params =
        param_kind.and_then(|of| api::scheme::by_api_version(of.str_at(&["apiVersion"]), of.str_at(&["kind"])));
    let list = |field: &str| policy.at(&["spec", field]).and_then(Value::as_array).into_iter().flat_map(|l| l.iter());
    let environments: Vec<(&KindInfo, Env)> = kinds
        .into_iter()
        .map(|kind| {
            let mut env = Env {
                params: param_kind.is_some(),
                params_kind: params.map(declared),
                authorizer: true,
                variables: Some(Vec::new()),
                object: Some(declared(kind)),
                ..Env::default()
            };
            for variable in list("variables") {
                let of = type_of(&env, variable.str_at(&["expression"])).unwrap_or(Type::Dyn);
                env.add_variable(&Str::from(variable.str_at(&["name"])), &of);
            }
            (kind, env)
        })
        .collect();
    let mut found = Vec::new();
    for (i, validation) in list("validations").enumerate() {
        for field in ["expression", "messageExpression"] {
            let expression = validation.str_at(&[field]);
            if expression.is_empty() {
                continue;
            }
            let wrong = environments.iter().filter_map(|(kind, env)| {
                let issues = type_of(env, expression).err()?;
                Some(format!("{}/{}, Kind={}: {issues}\n", kind.group, kind.version, kind.kind))
            });
            let wrong: Vec<String> = wrong.collect();
            if !wrong.is_empty() {
                found.push((format!("spec.validations[{i}].{field}"), wrong.join("\n")));
            }
        }
    }
    found
}

/// The kinds that a policy's rules name one by one, by group, version and kind.
fn kinds(policy: &Value) -> Vec<&'static KindInfo> {
    let mut found: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    let rules = policy.at(&["spec", "matchConstraints", "resourceRules"]).and_then(Value::as_array);
    'rules: for rule in rules.into_iter().flat_map(|rules| rules.iter()) {
        let texts = |field: &str| -> Vec<&str> {
            let list = rule.get(field).and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
            let mut texts: Vec<&str> = list.filter_map(Value::as_str).collect();
            texts.sort_unstable();
            texts
        };
        let (groups, versions) = (texts("apiGroups"), texts("apiVersions"));
        if groups.iter().chain(&versions).any(|text| text.contains('*')) {
            continue;
        }
        let resources = texts("resources").into_iter().filter(|name| !name.contains(['*', '/'])).collect::<Vec<_>>();
        let mut count = 0;
        for group in groups {
            for version in &versions {
                for resource in &resources {
                    // No group means any group to the mapper.
                    let meant = |kind: &KindInfo| {
                        (group.is_empty() || kind.group == group)
                            && kind.version == *version
                            && (kind.plural == *resource || kind.singular == *resource)
                    };
                    for kind in api::scheme::resources().iter().filter(|kind| meant(kind)) {
                        found.insert((kind.group, kind.version, kind.kind));
                        count += 1;
                        if count == MAX_TYPES {
                            break 'rules;
                        }
                    }
                }
            }
        }
    }
    found.into_iter().filter_map(|(group, version, kind)| api::scheme::by_kind(group, version, kind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the numbers that types are given.
    fn plain(text: &str) -> String {
        let mut out = text.to_string();
        for kind in ["Pod", "Deployment", "StatefulSet", "ConfigMap"] {
            let parts: Vec<String> = out.split(kind).map(String::from).collect();
            let rest = parts.iter().skip(1).map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit()));
            out = parts.first().into_iter().map(String::as_str).chain(rest).collect::<Vec<_>>().join(kind);
        }
        out
    }

    /// A policy with the status that a real v1.37.2 cluster gave it.
    #[test]
    fn warnings_are_those_of_a_real_cluster() {
        let policy = Value::parse(include_str!("testdata/typechecked.json")).unwrap();
        let found = warnings(&policy, 7);
        let recorded = policy.at(&["status", "typeChecking", "expressionWarnings"]).and_then(Value::as_array).unwrap();
        for (wanted, (field, warning)) in recorded.iter().zip(&found) {
            assert_eq!((wanted.str_at(&["fieldRef"]), plain(wanted.str_at(&["warning"]))), (&**field, plain(warning)));
        }
        assert_eq!(recorded.len(), found.len());
        assert!(found.iter().any(|(_, warning)| warning.contains("'(Deployment7.spec, string)'")));
    }
}
