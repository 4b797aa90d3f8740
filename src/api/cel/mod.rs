//! CEL, the language of admission policies: parser, type checker, evaluator and Kubernetes' libraries, with cel-go's
//! messages (`apiserver/pkg/cel` and `admission/plugin/cel`).

mod check;
mod costs;
mod declared;
pub mod device;
mod estimate;
mod eval;
mod fold;
mod format;
mod functions;
mod lexer;
mod lists;
mod macros;
pub(crate) mod network;
mod operators;
mod quantities;
pub mod regex;
mod semver;
mod strings;
mod syntax;
#[cfg(test)]
mod tests;
mod types;
mod validators;
mod value;

pub use declared::Declared;
pub use eval::{Activation, Fail};
pub use types::Type;
pub use value::{Entries, Items, Other, Val};

use crate::Str;

/// What one expression may cost (`PerCallLimit`).
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// What all expressions of a policy may cost for one request (`RuntimeCELCostBudget`).
pub const BUDGET: u64 = 10_000_000;
/// What all match conditions of one request may cost.
pub const MATCH_CONDITIONS_BUDGET: u64 = 2_500_000;

/// What an authorizer is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// A service account's name, if not the request's user is meant.
    pub service_account: Option<(Str, Str)>,
    /// The path, of what is no resource.
    pub path: Str,
    /// The group.
    pub group: Str,
    /// The resource.
    pub resource: Str,
    /// The subresource.
    pub subresource: Str,
    /// The namespace.
    pub namespace: Str,
    /// The object's name.
    pub name: Str,
    /// The verb.
    pub verb: Str,
}

/// What an authorizer answers.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Whether it may be.
    pub allowed: bool,
    /// Why.
    pub reason: Str,
    /// What went wrong.
    pub error: Option<Str>,
}

/// The names that an expression may use.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// Whether there is `params`.
    pub params: bool,
    /// Whether there is nothing but `device`, for device selectors.
    pub device: bool,
    /// Whether it is estimated what a selector may cost.
    pub estimated: bool,
    /// Whether there is `authorizer`.
    pub authorizer: bool,
    /// Whether there are `Object{}` and `JSONPatch{}`, for mutations.
    pub patches: bool,
    /// The types of `variables`; none where there are none at all.
    pub variables: Option<Vec<(Str, Type)>>,
    /// The kind of `object` and `oldObject`, where expressions are checked against one.
    pub object: Option<Declared>,
    /// The kind of `params`, likewise.
    pub params_kind: Option<Declared>,
}

impl Env {
    fn variable(&self, name: &str) -> Option<Type> {
        let of = |name: &str| Some(Type::Struct(name.into()));
        if self.device {
            return if name == "device" { of("kubernetes.DRADevice") } else { None };
        }
        match name {
            "object" | "oldObject" => Some(self.object.as_ref().map_or(Type::Dyn, Declared::whole)),
            "params" if self.params => Some(self.params_kind.as_ref().map_or(Type::Dyn, Declared::whole)),
            "request" => of("kubernetes.AdmissionRequest"),
            "namespaceObject" => of("kubernetes.Namespace"),
            "authorizer" if self.authorizer => of("kubernetes.authorization.Authorizer"),
            "authorizer.requestResource" if self.authorizer => of("kubernetes.authorization.ResourceCheck"),
            "variables" if self.variables.is_some() => of("kubernetes.variables"),
            _ => None,
        }
    }

    fn is_message(&self, name: &str) -> bool {
        self.patches && (name == "JSONPatch" || name == "Object" || name.starts_with("Object."))
    }

    /// The type of a declared type's field.
    fn field(&self, of: &str, name: &str) -> Option<Type> {
        if of == "kubernetes.variables" {
            return self.variables.iter().flatten().find(|(n, _)| **n == *name).map(|(_, t)| t.clone());
        }
        if of == "JSONPatch" {
            return match name {
                "op" | "path" | "from" => Some(Type::Str),
                "value" => Some(Type::Dyn),
                _ => None,
            };
        }
        if self.is_message(of) {
            return Some(Type::Dyn);
        }
        let kinds = [&self.object, &self.params_kind];
        if let Some(found) = kinds.into_iter().flatten().find_map(|kind| kind.field(of, name)) {
            return found;
        }
        let (_, fields) = FIELDS.iter().find(|(n, _)| *n == of)?;
        let text = fields.split(' ').find_map(|field| field.split_once(':').filter(|(n, _)| *n == name))?.1;
        Some(types::read(text, &mut |_| Type::Dyn))
    }
}

/// The declared types (`BuildRequestType`, `BuildNamespaceType`).
const FIELDS: [(&str, &str); 10] = [
    (
        "kubernetes.AdmissionRequest",
        "kind:kubernetes.GroupVersionKind resource:kubernetes.GroupVersionResource subResource:string requestKind:kubernetes.GroupVersionKind requestResource:kubernetes.GroupVersionResource requestSubResource:string name:string namespace:string operation:string userInfo:kubernetes.UserInfo dryRun:bool options:dyn",
    ),
    ("kubernetes.GroupVersionKind", "group:string version:string kind:string"),
    ("kubernetes.GroupVersionResource", "group:string version:string resource:string"),
    ("kubernetes.UserInfo", "username:string uid:string groups:list(string) extra:map(string,list(string))"),
    (
        "kubernetes.Namespace",
        "metadata:kubernetes.NamespaceMetadata spec:kubernetes.NamespaceSpec status:kubernetes.NamespaceStatus",
    ),
    (
        "kubernetes.NamespaceMetadata",
        "name:string generateName:string namespace:string labels:map(string,string) annotations:map(string,string) UID:string creationTimestamp:timestamp deletionGracePeriodSeconds:int deletionTimestamp:timestamp generation:int resourceVersion:string finalizers:list(string)",
    ),
    ("kubernetes.NamespaceSpec", "finalizers:list(string)"),
    ("kubernetes.NamespaceStatus", "conditions:list(kubernetes.NamespaceCondition) phase:string"),
    (
        "kubernetes.NamespaceCondition",
        "status:string type:string lastTransitionTime:timestamp message:string reason:string",
    ),
    (
        "kubernetes.DRADevice",
        "driver:string attributes:map(string,map(string,dyn)) capacity:map(string,map(string,quantity)) allowMultipleAllocations:bool",
    ),
];

/// What the expression of a mutation gives: `Object{...}`, or a list of `JSONPatch{...}`.
pub fn mutation_type(patch_type: &str) -> Type {
    if patch_type == "JSONPatch" { Type::list(Type::Struct("JSONPatch".into())) } else { Type::Struct("Object".into()) }
}

/// What is wrong with an expression, and where.
#[derive(Clone, Debug)]
struct Issue {
    /// In characters.
    at: usize,
    message: String,
}

/// Why an expression does not compile.
#[derive(Clone, Debug)]
pub enum CompileError {
    /// A fault of the expression.
    Invalid(Str),
    /// An internal error, as Kubernetes tells constants that can't be converted.
    Internal(Str),
}

impl CompileError {
    /// What is said.
    pub fn detail(&self) -> &Str {
        match self {
            CompileError::Invalid(detail) | CompileError::Internal(detail) => detail,
        }
    }
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    expr: syntax::Expr,
    /// The type of what it gives.
    pub of: Type,
    /// The most that a selector of devices may cost, if that was to be estimated.
    pub most: u64,
}

/// Compiles an expression; what it gives must be of one of the types, unless there are none.
///
/// # Errors
/// `compilation failed: ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')` with the line and a mark.
pub fn compile(env: &Env, text: &str, wanted: &[Type]) -> Result<Program, CompileError> {
    let checked = checked(env, text);
    let (mut expr, of) = checked.map_err(|why| CompileError::Invalid(format!("compilation failed: {why}").into()))?;
    if !wanted.is_empty() && !wanted.contains(&of) {
        let names: Vec<String> = wanted.iter().map(kind_name).collect();
        let reason = match &names[..] {
            [one] => format!("must evaluate to {one} but got {}", kind_name(&of)),
            _ => format!("must evaluate to one of [{}] but got {}", names.join(" "), kind_name(&of)),
        };
        return Err(CompileError::Invalid(reason.into()));
    }
    if let Some(why) = validators::constants(&expr) {
        return Err(CompileError::Internal(format!("program instantiation failed: {why}").into()));
    }
    let most = if env.estimated { estimate::most(&expr) } else { 0 };
    fold::constants(&mut expr);
    Ok(Program { expr, of, most })
}

/// The type of what an expression gives.
///
/// # Errors
/// As those of `compile`, from `ERROR` on.
pub fn type_of(env: &Env, text: &str) -> Result<Type, String> {
    checked(env, text).map(|(_, of)| of)
}

fn checked(env: &Env, text: &str) -> Result<(syntax::Expr, Type), String> {
    let chars: Vec<char> = text.chars().collect();
    let failed = |issues: Vec<Issue>| shown(&chars, issues);
    let mut expr = syntax::parse(&chars).map_err(failed)?;
    let of = check::check(env, &mut expr).map_err(failed)?;
    let mut issues = Vec::new();
    validators::validate(&expr, &mut issues);
    if issues.is_empty() { Ok((expr, of)) } else { Err(failed(issues)) }
}

/// A type as `cel.Type` prints itself.
fn kind_name(of: &Type) -> String {
    match of {
        Type::Null => "null_type".to_string(),
        Type::Duration => "google.protobuf.Duration".to_string(),
        Type::Timestamp => "google.protobuf.Timestamp".to_string(),
        other => other.to_string(),
    }
}

/// Most errors of one expression that are told.
const ISSUES: usize = 100;
/// Longest line that is shown with an error.
const SNIPPET: usize = 16_384;

/// The errors by place, each with its line and a mark.
fn shown(chars: &[char], mut issues: Vec<Issue>) -> String {
    let place = |at: usize| {
        let before = chars.get(..at).unwrap_or(chars);
        let line = before.iter().filter(|c| **c == '\n').count();
        (line, before.iter().rev().take_while(|c| **c != '\n').count())
    };
    issues.sort_by_key(|issue| issue.at);
    let mut out: Vec<String> = Vec::new();
    for issue in issues.iter().take(ISSUES) {
        let (line, column) = place(issue.at);
        let mut text = format!("ERROR: <input>:{}:{}: {}", line + 1, column + 1, issue.message);
        let snippet: String = chars.split(|c| *c == '\n').nth(line).unwrap_or_default().iter().collect();
        if snippet.len() <= SNIPPET {
            let snippet = snippet.replace('\t', " ");
            text.push_str(&format!("\n | {snippet}\n | "));
            let mut rest = snippet.chars();
            text.extend(rest.by_ref().take(column).map(|c| if c.len_utf8() > 1 { '\u{ff0e}' } else { '.' }));
            text.push(if rest.next().is_some_and(|c| c.len_utf8() > 1) { '\u{ff3e}' } else { '^' });
        }
        out.push(text);
    }
    out.join("\n")
}
