//! Policies and webhooks, with their expressions compiled.

use api::Str;
use api::cel::{self, CompileError, Env, Program, Type};
use api::json::Value;

use super::matching::{Matched, Matching};

/// An expression.
pub(super) struct Condition {
    pub expression: Str,
    pub program: Result<Program, CompileError>,
}

impl Condition {
    fn new(env: &Env, text: &str, wanted: &[Type]) -> Condition {
        Condition { expression: text.into(), program: cel::compile(env, text, wanted) }
    }
}

/// One of a policy's validations.
pub(super) struct Validation {
    pub condition: Condition,
    pub message: Str,
    pub message_expression: Option<Condition>,
    pub reason: Str,
}

/// One of a policy's mutations.
pub(super) struct Mutation {
    pub json_patch: bool,
    pub condition: Condition,
}

/// One webhook of a configuration.
pub(super) struct Hook {
    pub name: Str,
    pub matching: Matching,
    pub conditions: Vec<Condition>,
    /// `failurePolicy: Fail`
    pub fails: bool,
    /// Whether it may be called for a dry run.
    pub dry: bool,
    pub timeout: u64,
    /// `https://svc.ns.svc:443/path`, without the query.
    pub url: Str,
    /// Namespace, name and port of a Service.
    pub service: Option<(Str, Str, i64)>,
}

/// A policy, or a configuration of webhooks.
pub(super) struct Definition {
    pub name: Str,
    /// `failurePolicy: Fail`
    pub fails: bool,
    pub matching: Matching,
    pub conditions: Vec<Condition>,
    pub variables: Vec<(Str, Result<Program, CompileError>)>,
    pub validations: Vec<Validation>,
    pub annotations: Vec<Condition>,
    pub mutations: Vec<Mutation>,
    /// API version and kind.
    pub param_kind: Option<(Str, Str)>,
    /// `reinvocationPolicy: IfNeeded`
    pub again: bool,
    pub hooks: Vec<Hook>,
}

fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}

fn conditions(env: &Env, of: &Value) -> Vec<Condition> {
    items(of, "matchConditions").map(|c| Condition::new(env, c.str_at(&["expression"]), &[Type::Bool])).collect()
}

fn fails(of: &Value) -> bool {
    of.str_at(&["failurePolicy"]) != "Ignore"
}

impl Definition {
    /// Compiles an object. Expressions that do not compile fail when they are evaluated.
    pub fn new(name: &Str, object: &Value) -> Definition {
        let none = Value::Null;
        let spec = object.get("spec").unwrap_or(&none);
        let param_kind = spec
            .get("paramKind")
            .map(|kind| (Str::from(kind.str_at(&["apiVersion"])), Str::from(kind.str_at(&["kind"]))));
        let mut env =
            Env { params: param_kind.is_some(), authorizer: true, variables: Some(Vec::new()), ..Env::default() };
        let mut variables = Vec::new();
        for variable in items(spec, "variables") {
            let name = Str::from(variable.str_at(&["name"]));
            let program = cel::compile(&env, variable.str_at(&["expression"]), &[]);
            env.add_variable(&name, program.as_ref().map_or(&Type::Dyn, |program| &program.of));
            variables.push((name, program));
        }
        let messages = Env { authorizer: false, ..env.clone() };
        let validations = items(spec, "validations").map(|v| {
            let message_expression = v.str_at(&["messageExpression"]);
            Validation {
                condition: Condition::new(&env, v.str_at(&["expression"]), &[Type::Bool]),
                message: v.str_at(&["message"]).into(),
                message_expression: (!message_expression.is_empty())
                    .then(|| Condition::new(&messages, message_expression, &[Type::Str])),
                reason: v.str_at(&["reason"]).into(),
            }
        });
        let annotations = items(spec, "auditAnnotations")
            .map(|a| Condition::new(&env, a.str_at(&["valueExpression"]), &[Type::Str, Type::Null]));
        let patches = Env { patches: true, ..env.clone() };
        let mutations = items(spec, "mutations").map(|m| {
            let kind = m.str_at(&["patchType"]);
            let json_patch = kind == "JSONPatch";
            let field = if json_patch { "jsonPatch" } else { "applyConfiguration" };
            let expression = m.str_at(&[field, "expression"]).trim();
            Mutation { json_patch, condition: Condition::new(&patches, expression, &[cel::mutation_type(kind)]) }
        });
        Definition {
            name: name.clone(),
            fails: fails(spec),
            matching: Matching::new(spec.get("matchConstraints").unwrap_or(&none), "resourceRules"),
            conditions: conditions(&env, spec),
            validations: validations.collect(),
            annotations: annotations.collect(),
            mutations: mutations.collect(),
            variables,
            param_kind,
            again: spec.str_at(&["reinvocationPolicy"]) == "IfNeeded",
            hooks: items(object, "webhooks").map(hook).collect(),
        }
    }
}

impl Definition {
    /// What matched, unless the kind of the policy's parameters is not known.
    pub fn configured(&self, matched: Option<Matched>) -> Result<Option<Matched>, String> {
        match &self.param_kind {
            Some((version, kind)) if matched.is_some() && api::scheme::by_api_version(version, kind).is_none() => {
                let gvk = format!("{version}, Kind={kind}");
                let gvk = if version.contains('/') { gvk } else { format!("/{gvk}") };
                Err(format!("failed to find resource referenced by paramKind: '{gvk}'"))
            }
            _ => Ok(matched),
        }
    }
}

fn hook(hook: &Value) -> Hook {
    let env = Env { authorizer: true, ..Env::default() };
    let service = hook.at(&["clientConfig", "service"]);
    let service = service.map(|service| {
        let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
        (Str::from(service.str_at(&["namespace"])), Str::from(service.str_at(&["name"])), port)
    });
    let url = match &service {
        Some((namespace, name, port)) => {
            let path = hook.str_at(&["clientConfig", "service", "path"]);
            let slash = if path.starts_with('/') { "" } else { "/" };
            format!("https://{name}.{namespace}.svc:{port}{slash}{path}").into()
        }
        None => Str::from(hook.str_at(&["clientConfig", "url"])),
    };
    Hook {
        name: hook.str_at(&["name"]).into(),
        matching: Matching::new(hook, "rules"),
        conditions: conditions(&env, hook),
        fails: fails(hook),
        dry: matches!(hook.str_at(&["sideEffects"]), "None" | "NoneOnDryRun"),
        timeout: hook.get("timeoutSeconds").and_then(Value::as_i64).and_then(|s| u64::try_from(s).ok()).unwrap_or(10),
        url,
        service,
    }
}
