//! Admission policies and webhooks: what is written about requests in objects (apiserver's admission/plugin/policy and
//! admission/plugin/webhook).

mod definition;
mod matching;
pub(crate) mod mutating;
pub(crate) mod validating;
pub(crate) mod webhooks;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::cel::{Activation, BUDGET, Check, Decision, Fail, Val};
use api::json::Value;
use api::{AnyRev, KindInfo, Object, Status, Str};

use super::{Attributes, Operation};
use crate::authz;
use crate::user::User;
use definition::{Condition, Definition};
use matching::Matched;

/// The group of policies and webhooks, which are not judged by themselves.
const GROUP: &str = "admissionregistration.k8s.io";

/// Their resources.
pub const KINDS: [&str; 6] = [
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
];

/// One of them: its place in the list.
#[derive(Clone, Copy)]
enum Kind {
    ValidatingPolicy,
    ValidatingBinding,
    MutatingPolicy,
    MutatingBinding,
    ValidatingWebhook,
    MutatingWebhook,
}

/// The compiled objects of this group, by resource and name, at their revisions. There are as many as objects.
pub struct Compiled {
    resources: [usize; 6],
    known: RefCell<BTreeMap<(usize, Str), (u64, Rc<Definition>)>>,
}

impl Compiled {
    /// None yet; with the numbers of the resources.
    pub fn new(resources: [usize; 6]) -> Compiled {
        Compiled { resources, known: RefCell::default() }
    }

    fn resource(&self, kind: Kind) -> usize {
        self.resources.get(kind as usize).copied().unwrap_or_default()
    }
}

/// Whether there are webhooks that may change objects.
pub(crate) fn has_webhooks(server: &crate::Inner) -> bool {
    !server.cache.resource(server.compiled.resource(Kind::MutatingWebhook)).is_empty()
}

/// Lets policies and webhooks refuse the action of a subresource, of which the other plugins know nothing.
pub(crate) async fn judge(attributes: &mut Attributes<'_>, object: &dyn Object) -> Result<(), Status> {
    let server = &attributes.call.server;
    let none = |kind: Kind| server.cache.resource(server.compiled.resource(kind)).is_empty();
    if none(Kind::ValidatingPolicy) && none(Kind::ValidatingWebhook) && none(Kind::MutatingWebhook) {
        return Ok(());
    }
    loop {
        let mut result = webhooks::mutate_deletion(attributes, Some(object), None);
        if result.is_ok() {
            validating::validate(attributes, Some(object), None)?;
            result = webhooks::validate(attributes, Some(object), None);
        }
        // Boxed: few requests come here, and all would carry its state.
        if !Box::pin(webhooks::call_wanted(attributes)).await {
            return result;
        }
    }
}

/// Policies, bindings or configurations, unless the request is about one itself.
fn objects(attributes: &Attributes, kind: Kind) -> Vec<(Str, AnyRev)> {
    let server = &attributes.call.server;
    let mut found = Vec::new();
    let objects = server.cache.resource(server.compiled.resource(kind));
    if !objects.is_empty() && attributes.kind().group != GROUP {
        objects.each("", |object| {
            if let Some(metadata) = object.body.metadata() {
                found.push((metadata.name.clone(), object.clone()));
            }
        });
    }
    found
}

/// The policies, or configurations, compiled.
fn definitions(attributes: &Attributes, kind: Kind) -> Vec<Rc<Definition>> {
    let found = objects(attributes, kind);
    let server = &attributes.call.server;
    let resource = server.compiled.resource(kind);
    let mut known = server.compiled.known.borrow_mut();
    if found.is_empty() {
        if !known.is_empty() {
            known.retain(|(of, _), _| *of != resource);
        }
        return Vec::new();
    }
    known.retain(|(of, name), _| *of != resource || found.iter().any(|(n, _)| n == name));
    found
        .into_iter()
        .map(|(name, object)| match known.get(&(resource, name.clone())) {
            Some((revision, definition)) if *revision == object.revision => definition.clone(),
            _ => {
                let definition = Rc::new(Definition::new(&name, &api::json::to_value_bare(&*object.body)));
                known.insert((resource, name), (object.revision, definition.clone()));
                definition
            }
        })
        .collect()
}

/// A request as the policies see it.
struct Seen<'a> {
    attributes: &'a Attributes<'a>,
    new: Option<&'a dyn Object>,
    old: Option<&'a dyn Object>,
}

impl Seen<'_> {
    /// The namespace; of a namespace its own name.
    fn namespace(&self) -> Str {
        let attributes = self.attributes;
        if attributes.is("", "namespaces", "") { self.name() } else { attributes.call.namespace.clone() }
    }

    fn name(&self) -> Str {
        let name = self.attributes.name.clone();
        let of = |object: Option<&dyn Object>| {
            object.and_then(|object| object.metadata()).map(|metadata| metadata.name.clone())
        };
        if name.is_empty() { of(self.new).or_else(|| of(self.old)).unwrap_or_default() } else { name }
    }

    /// The request's kind: of a subresource that of its body.
    fn kind(&self) -> &'static KindInfo {
        let call = self.attributes.call;
        if call.subresource.is_empty() {
            return call.kind;
        }
        let body = self.new.or(self.old).and_then(|object| object.kind_info());
        body.unwrap_or(call.kind)
    }

    fn operation(&self) -> &'static str {
        match self.attributes.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }

    /// An object in the version that matched.
    fn object(&self, object: Option<&dyn Object>, matched: &Matched) -> Val {
        let Some(object) = object else { return Val::Null };
        let call = self.attributes.call;
        let stored = call.resource().kind;
        if call.subresource.is_empty() && matched.kind != stored {
            let body: Rc<dyn Object> = Rc::from(object.boxed());
            let outgoing = crate::registry::convert::outgoing(matched.kind, AnyRev { revision: 0, body });
            return Val::from(&api::json::to_value(&*outgoing.body, None));
        }
        Val::from(&api::json::to_value(object, None))
    }

    /// `request` (`CreateAdmissionRequest`).
    fn request(&self, matched: &Matched) -> Val {
        let call = self.attributes.call;
        let kind = |kind: &KindInfo| {
            map([("group", kind.group.into()), ("version", kind.version.into()), ("kind", kind.kind.into())])
        };
        let resource = |kind: &KindInfo| {
            map([("group", kind.group.into()), ("version", kind.version.into()), ("resource", kind.plural.into())])
        };
        let user = &call.user;
        let mut info = map([("username", (&user.name).into())]);
        if !user.uid.is_empty() {
            info.set("uid", (&user.uid).into());
        }
        let texts = |list: &[Str]| Value::from(list.iter().map(Value::from).collect::<Vec<_>>());
        if !user.groups.is_empty() {
            info.set("groups", texts(&user.groups));
        }
        if !user.extra.is_empty() {
            info.set("extra", user.extra.iter().map(|(key, values)| (key.clone(), texts(values))).collect::<Value>());
        }
        let mut request = map([
            ("kind", kind(if call.subresource.is_empty() { matched.kind } else { self.kind() })),
            ("resource", resource(matched.kind)),
            ("requestKind", kind(self.kind())),
            ("requestResource", resource(call.kind)),
            ("operation", self.operation().into()),
            ("userInfo", info),
            ("dryRun", call.write.dry_run.into()),
            ("options", if self.attributes.operation == Operation::Connect { Value::Null } else { self.options() }),
        ]);
        for (field, text) in [
            ("subResource", call.subresource.clone()),
            ("requestSubResource", call.subresource.clone()),
            ("name", self.name()),
            ("namespace", self.namespace()),
        ] {
            if !text.is_empty() {
                request.set(field, text.into());
            }
        }
        Val::from(&request)
    }

    fn options(&self) -> Value {
        let call = self.attributes.call;
        let kind = match (self.attributes.operation, call.request.verb) {
            (Operation::Delete, _) => "DeleteOptions",
            (_, api::rest::Verb::Patch(_)) => "PatchOptions",
            (Operation::Create, _) => "CreateOptions",
            _ => "UpdateOptions",
        };
        let mut options = map([("apiVersion", "meta.k8s.io/v1".into()), ("kind", kind.into())]);
        if !call.write.field_manager.is_empty() {
            options.set("fieldManager", (&call.write.field_manager).into());
        }
        if call.write.dry_run {
            options.set("dryRun", Value::from(vec![Value::from("All")]));
        }
        options
    }

    /// `namespaceObject`: null for what is in none.
    fn namespace_object(&self) -> Val {
        let call = self.attributes.call;
        if call.namespace.is_empty() || !call.kind.namespaced {
            return Val::Null;
        }
        let found = self.attributes.find(call.server.namespaces, &call.namespace);
        found.map_or(Val::Null, |found| Val::from(&api::json::to_value(&*found.body, Some(found.revision))))
    }

    /// What the names of expressions stand for.
    fn values(&self, matched: &Matched, params: &Val) -> Vec<(&'static str, Val)> {
        vec![
            ("object", self.object(self.new, matched)),
            ("oldObject", self.object(self.old, matched)),
            ("request", self.request(matched)),
            ("namespaceObject", self.namespace_object()),
            ("params", params.clone()),
        ]
    }

    fn resource_check(&self) -> Check {
        let call = self.attributes.call;
        Check {
            group: call.kind.group.into(),
            resource: call.kind.plural.into(),
            subresource: call.subresource.clone(),
            namespace: self.namespace(),
            name: self.name(),
            ..Check::default()
        }
    }

    /// Asks the server's authorizers.
    fn authorize(&self, check: &Check) -> Decision {
        let call = self.attributes.call;
        let account = check.service_account.as_ref().map(|(namespace, name)| User {
            name: format!("system:serviceaccount:{namespace}:{name}").into(),
            groups: vec![
                crate::user::SERVICE_ACCOUNTS.into(),
                format!("{}:{namespace}", crate::user::SERVICE_ACCOUNTS).into(),
                crate::user::AUTHENTICATED.into(),
            ],
            ..User::default()
        });
        let attributes = authz::Attributes {
            verb: &check.verb,
            group: &check.group,
            resource: &check.resource,
            subresource: &check.subresource,
            namespace: &check.namespace,
            name: &check.name,
            field_selector: "",
            path: &check.path,
        };
        match authz::authorize(&call.server, account.as_ref().unwrap_or(&call.user), &attributes) {
            authz::Decision::Allow => Decision { allowed: true, ..Decision::default() },
            authz::Decision::Deny(reason) => Decision { allowed: false, reason: reason.into(), error: None },
        }
    }
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    entries.into_iter().collect()
}

/// Evaluates expressions within what all of them may cost.
struct Judge<'a> {
    activation: Activation<'a>,
    left: u64,
}

/// The expressions cost too much.
const NO_BUDGET: &str = "validation failed due to running out of cost budget, no further validation rules will be run";

impl<'a> Judge<'a> {
    fn new(activation: Activation<'a>) -> Judge<'a> {
        Judge { activation, left: BUDGET }
    }

    /// What an expression gives, or why nothing. The outer error ends all.
    fn value(&mut self, condition: &Condition) -> Result<Result<Val, String>, String> {
        let program = match &condition.program {
            Ok(program) => program,
            Err(error) => return Ok(Err(format!("compilation error: {}", error.detail()))),
        };
        let found = self.activation.eval(program);
        let spent = self.activation.take_spent();
        if spent > self.left {
            return Err(NO_BUDGET.to_string());
        }
        self.left -= spent;
        Ok(found
            .map_err(|fail: Fail| format!("expression '{}' resulted in error: {}", condition.expression, fail.text())))
    }

    /// Whether all conditions hold; none of them counts if one is false (`matchconditions`).
    fn matches(&mut self, conditions: &[Condition], fails: bool) -> Result<bool, String> {
        let mut errors = Vec::new();
        for condition in conditions {
            match self.value(condition) {
                Err(error) if fails => return Err(error),
                Err(_) => return Ok(false),
                Ok(Err(error)) => errors.push(error),
                Ok(Ok(Val::Bool(false))) => return Ok(false),
                Ok(Ok(_)) => {}
            }
        }
        match &errors[..] {
            [] => Ok(true),
            _ if !fails => Ok(false),
            [one] => Err(one.clone()),
            _ => Err(format!("[{}]", errors.join(", "))),
        }
    }
}

/// The objects that a binding's `paramRef` means (`CollectParams`); null where the policy takes none.
fn params(seen: &Seen, policy: &Definition, reference: &Value) -> Result<Vec<Val>, String> {
    let (Some((api_version, kind)), false) = (&policy.param_kind, reference.is_null()) else {
        return Ok(vec![Val::Null]);
    };
    let server = &seen.attributes.call.server;
    let known = api::scheme::by_api_version(api_version, kind);
    let Some((known, resource)) = known.and_then(|known| Some((known, server.resource_of(known)?))) else {
        return Err(format!("paramKind kind `&ParamKind{{Kind:{kind},APIVersion:{api_version},}}` not known"));
    };
    let mut namespace = reference.str_at(&["namespace"]).to_string();
    if known.namespaced && namespace.is_empty() {
        namespace = seen.namespace().to_string();
        if namespace.is_empty() {
            return Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".into());
        }
    }
    if !known.namespaced && !namespace.is_empty() {
        return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".into());
    }
    let objects = server.cache.resource(resource);
    let shown = |object: &AnyRev| Val::from(&api::json::to_value(&*object.body, Some(object.revision)));
    let name = reference.str_at(&["name"]);
    let mut found = Vec::new();
    if name.is_empty() {
        let selector = matching::selector(reference.get("selector").unwrap_or(&Value::Null))?;
        let place = if known.namespaced { namespace.as_str() } else { "" };
        objects.each(place, |object| {
            if object.body.metadata().is_some_and(|metadata| selector.matches(&metadata.labels)) {
                found.push(shown(object));
            }
        });
    } else {
        let key = if known.namespaced { format!("{namespace}/{name}") } else { name.to_string() };
        found.extend(objects.get(&key).iter().map(shown));
    }
    if found.is_empty() && reference.str_at(&["parameterNotFoundAction"]) == "Deny" {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
    }
    Ok(found)
}

/// The bindings of a policy: name and JSON.
fn bindings(attributes: &Attributes, kind: Kind) -> Vec<(Str, Value)> {
    let found = objects(attributes, kind).into_iter();
    found.map(|(name, object)| (name, api::json::to_value_bare(&*object.body))).collect()
}
