//! Questions that are asked by creating an object: who am I, may I, is this token good.

use std::rc::Rc;

use api::authentication_v1::{SelfSubjectReview, TokenReview, UserInfo};
use api::authorization_v1::{
    LocalSubjectAccessReview, NonResourceAttributes, NonResourceRule, ResourceAttributes, ResourceRule,
    SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview, SubjectAccessReviewStatus,
};
use api::field::{self, BadValue, ErrorList, Path};
use api::rest::{Answer, Body, Request, Target, Verb};
use api::{AnyRev, List, Object, Status, Str};

use crate::authz::{Attributes, Decision, authorize};
use crate::user::User;
use crate::{Inner, authn};

/// Answers a review; none if the request is about something else.
pub(crate) fn answer(server: &Inner, user: &User, request: &Request) -> Result<Option<Answer>, Status> {
    let Target::Resource { group, version, resource, namespace, .. } = &request.target else { return Ok(None) };
    if !matches!(&**group, "authentication.k8s.io" | "authorization.k8s.io") {
        return Ok(None);
    }
    let kind = api::scheme::by_resource(group, version, resource).ok_or_else(Status::not_found_path)?;
    if request.verb != Verb::Create {
        return Err(Status::method_not_supported(kind, request.verb.name()));
    }
    let mut object: Box<dyn Object> = match &request.body {
        Body::Object(object) => object.boxed(),
        Body::Bytes(bytes) => {
            let mut object = kind.new_object();
            api::json::decode(bytes, &mut *object, false).map_err(|error| {
                Status::bad_request(format!(
                    "{} in version {:?} cannot be handled as a {}: {error}",
                    kind.kind, kind.version, kind.kind
                ))
            })?;
            object
        }
        Body::Empty => kind.new_object(),
    };
    check(&mut *object, namespace)?;
    if let Some(review) = object.downcast_mut::<SelfSubjectReview>() {
        review.metadata.creation_timestamp = api::Time::from_unix_nanos(server.ctx.unix_nanos());
        review.status.make().user_info = info(user);
    } else if let Some(review) = object.downcast_mut::<SelfSubjectAccessReview>() {
        let spec = review.spec.clone();
        review.status = may(
            server,
            user,
            spec.resource_attributes.get(),
            spec.non_resource_attributes.get().map(|a| (&a.verb, &a.path)),
        )
        .into();
    } else if let Some(review) = object.downcast_mut::<SubjectAccessReview>() {
        let spec = review.spec.clone();
        let other = User { name: spec.user.clone(), groups: spec.groups.to_vec(), ..User::default() };
        review.status = may(
            server,
            &other,
            spec.resource_attributes.get(),
            spec.non_resource_attributes.get().map(|a| (&a.verb, &a.path)),
        )
        .into();
    } else if let Some(review) = object.downcast_mut::<LocalSubjectAccessReview>() {
        let spec = review.spec.clone();
        let other = User { name: spec.user.clone(), groups: spec.groups.to_vec(), ..User::default() };
        review.status = may(server, &other, spec.resource_attributes.get(), None).into();
    } else if let Some(review) = object.downcast_mut::<SelfSubjectRulesReview>() {
        rules(server, user, review);
    } else if let Some(review) = object.downcast_mut::<TokenReview>() {
        token(server, review);
    }
    Ok(Some(Answer::Object(AnyRev { revision: 0, body: Rc::from(object) })))
}

/// A value as an error shows it.
struct Shown(String);

impl BadValue for Shown {
    fn shown(&self) -> String {
        self.0.clone()
    }
}

/// What a question must say (authorization's validation).
fn check(object: &mut dyn Object, namespace: &Str) -> Result<(), Status> {
    let mut failures = ErrorList::default();
    let spec = Path::new("spec");
    let mut one_of = |resource: bool, path: Option<&NonResourceAttributes>| {
        if resource != path.is_some() {
            return;
        }
        let shown = path.map_or("null".to_string(), |path| {
            format!("{{\"Path\":{},\"Verb\":{}}}", api::go::quote(&path.path), api::go::quote(&path.verb))
        });
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        failures.push(field::invalid(&spec, Shown(shown), why));
    };
    if let Some(review) = object.downcast_ref::<SelfSubjectAccessReview>() {
        one_of(review.spec.resource_attributes.is_some(), review.spec.non_resource_attributes.get());
    }
    let asked = match (object.downcast_ref::<SubjectAccessReview>(), object.downcast_ref::<LocalSubjectAccessReview>())
    {
        (Some(review), _) => Some(review.spec.clone()),
        (_, Some(review)) => Some(review.spec.clone()),
        _ => None,
    };
    if let Some(asked) = asked {
        one_of(asked.resource_attributes.is_some(), asked.non_resource_attributes.get());
        if asked.user.is_empty() && asked.groups.is_empty() {
            let why = "at least one of user or group must be specified";
            failures.push(field::invalid(&spec.child("user"), &asked.user, why));
        }
        if object.downcast_ref::<LocalSubjectAccessReview>().is_some() {
            if let Some(resource) = asked.resource_attributes.get().filter(|a| a.namespace != *namespace) {
                let path = spec.child("resourceAttributes").child("namespace");
                failures.push(field::invalid(&path, &resource.namespace, "must match metadata.namespace"));
            }
            if let Some(metadata) = object.metadata_mut() {
                metadata.namespace = namespace.clone();
            }
        }
    }
    if object.downcast_ref::<TokenReview>().is_some_and(|review| review.spec.token.is_empty()) {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(("authorization.k8s.io", ""), "", &failures))
}

fn info(user: &User) -> UserInfo {
    UserInfo {
        username: user.name.clone(),
        uid: user.uid.clone(),
        groups: List::from(user.groups.clone()),
        extra: user.extra.iter().map(|(key, values)| (key.clone(), List::from(values.clone()))).collect(),
    }
}

fn may(
    server: &Inner,
    user: &User,
    resource: Option<&ResourceAttributes>,
    path: Option<(&Str, &Str)>,
) -> SubjectAccessReviewStatus {
    let attributes = match (resource, path) {
        (Some(a), _) => Attributes {
            verb: &a.verb,
            group: &a.group,
            resource: &a.resource,
            subresource: &a.subresource,
            namespace: &a.namespace,
            name: &a.name,
            field_selector: "",
            path: "",
        },
        (None, Some((verb, path))) => Attributes {
            verb,
            group: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            field_selector: "",
            path,
        },
        (None, None) => return SubjectAccessReviewStatus::default(),
    };
    match authorize(server, user, &attributes) {
        Decision::Allow => SubjectAccessReviewStatus { allowed: true, ..Default::default() },
        Decision::Deny(reason) => SubjectAccessReviewStatus { reason: Str::from(reason), ..Default::default() },
    }
}

fn rules(server: &Inner, user: &User, review: &mut SelfSubjectRulesReview) {
    let namespace = review.spec.namespace.clone();
    let mut rbac = server.rbac.borrow_mut();
    rbac.refresh(server);
    let mut resources = Vec::new();
    let mut paths = Vec::new();
    if user.is_in(crate::user::MASTERS) {
        let all = || List::from(vec![Str::from("*")]);
        resources.push(ResourceRule { verbs: all(), api_groups: all(), resources: all(), ..Default::default() });
        paths.push(NonResourceRule { verbs: all(), non_resource_urls: all() });
    }
    for rule in rbac.rules(user, &namespace) {
        if rule.resources.is_empty() {
            paths.push(NonResourceRule { verbs: rule.verbs, non_resource_urls: rule.non_resource_urls });
        } else {
            resources.push(ResourceRule {
                verbs: rule.verbs,
                api_groups: rule.api_groups,
                resources: rule.resources,
                resource_names: rule.resource_names,
            });
        }
    }
    let status = review.status.make();
    status.resource_rules = List::from(resources);
    status.non_resource_rules = List::from(paths);
    status.incomplete = false;
}

fn token(server: &Inner, review: &mut TokenReview) {
    let audiences = review.spec.audiences.to_vec();
    let found = authn::of_token(server, &review.spec.token, &audiences);
    let status = review.status.make();
    match found {
        Some((user, good)) => {
            status.authenticated = true;
            status.user = info(&user);
            status.audiences = List::from(good);
        }
        None => status.error = "invalid bearer token".into(),
    }
}
