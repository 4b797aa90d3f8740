//! Actions on objects: binding, eviction, tokens.

use std::rc::Rc;

use api::authentication_v1::TokenRequest;
use api::core_v1::{Binding, Pod, PodCondition, ServiceAccount};
use api::policy_v1::{Eviction, PodDisruptionBudget};
use api::rest::Answer;
use api::selector::LabelSelector;
use api::{AnyRev, Object, Resource, Status, Str, Time};

use super::{Call, Change, guaranteed_update, read};
use crate::admission::{self, Operation};
use crate::audit::Stage;
use crate::strategy::pod;
use crate::token::{self, Bound, Claims, ISSUER};

/// Shortest and longest life of a token, in seconds.
const TOKEN_SECONDS: std::ops::RangeInclusive<i64> = 600..=1 << 32;
/// A pod's token of this life is good for a year, for clients that don't read it anew (`--service-account-extend-token-expiration`).
const EXTENDABLE: i64 = 3607;
const EXTENDED: i64 = 365 * 24 * 3600;

fn success() -> Answer {
    Answer::Status(Rc::new(Status::from_object(api::meta_v1::Status {
        status: "Success".into(),
        code: 201,
        ..Default::default()
    })))
}

impl Call {
    fn now(&self) -> Time {
        Time::from_unix_nanos(self.server.ctx.unix_nanos())
    }

    /// Binds the pod to the node that the body names.
    pub async fn bind(&self) -> Result<Answer, Status> {
        let mut object = self.decode(Binding::KIND)?;
        self.match_namespace(&mut *object)?;
        let mut attributes = admission::Attributes::new(self, Operation::Create);
        admission::look_up(&mut attributes, &*object).await?;
        admission::mutate_calling(&mut attributes, &mut object).await?;
        admission::policies::judge(&mut attributes, &*object).await?;
        self.reach(Stage::Admitted);
        let Some(binding) = object.downcast_ref::<Binding>() else {
            return Err(Status::bad_request("not a Binding object"));
        };
        if binding.metadata.name != self.name {
            return Err(Status::bad_request("name in URL does not match name in Binding object"));
        }
        self.check_binding(binding)?;
        self.reach(Stage::Validated);
        let now = self.now();
        let wanted = binding.metadata.resource_version.clone();
        let mut change = |old: &AnyRev| -> Result<Change, Status> {
            let uid = old.body.metadata().map_or(Str::default(), |m| m.uid.clone());
            if !binding.metadata.uid.is_empty() && binding.metadata.uid != uid {
                let why = format!(
                    "Precondition failed: UID in precondition: {}, UID in object meta: {uid}",
                    binding.metadata.uid
                );
                return Err(Status::conflict(Pod::KIND, &self.name, why));
            }
            if !wanted.is_empty() && *wanted != *old.resource_version() {
                return Err(Status::optimistic_lock(Pod::KIND, &self.name));
            }
            let mut new = old.body.boxed();
            let Some(pod) = new.downcast_mut::<Pod>() else { return Err(Status::internal("not a Pod")) };
            let metadata = &binding.metadata;
            pod::bind(pod, &binding.target.name, &metadata.annotations, &metadata.labels, now)
                .map_err(|why| Status::conflict(("", "pods/binding"), &self.name, why))?;
            Ok(Change::Write(new))
        };
        guaranteed_update(self, &self.namespace, &self.name, &mut change).await?;
        Ok(success())
    }

    /// validation.ValidatePodBinding
    fn check_binding(&self, binding: &Binding) -> Result<(), Status> {
        let path = api::field::Path::new("target");
        let kind = &binding.target.kind;
        let mut failures = api::field::ErrorList::default();
        if !kind.is_empty() && &**kind != "Node" {
            failures.push(api::field::not_supported(&path.child("kind"), kind.clone(), &["Node", "<empty>"]));
        }
        if binding.target.name.is_empty() {
            failures.push(api::field::required(&path.child("name"), ""));
        }
        if failures.is_empty() { Ok(()) } else { Err(Status::internal(failures.to_string())) }
    }

    /// Evicts the pod, as far as its disruption budget allows (registry/core/pod/storage/eviction.go).
    pub async fn evict(&self) -> Result<Answer, Status> {
        let mut object = self.decode(Eviction::KIND)?;
        let mut attributes = admission::Attributes::new(self, Operation::Create);
        admission::policies::mutating::mutate(&mut attributes, &mut *object, None)?;
        let Some(eviction) = object.downcast_ref::<Eviction>() else {
            return Err(Status::bad_request("not an Eviction object"));
        };
        if eviction.metadata.name != self.name {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        admission::policies::judge(&mut attributes, &*object).await?;
        let resource = self.resource();
        let found = read(&self.server, &self.key()).await?;
        let found = found.ok_or_else(|| Status::not_found(resource.kind, &self.name))?;
        let Some(pod) = found.body.downcast_ref::<Pod>() else { return Err(Status::internal("not a Pod")) };
        if !can_ignore_budget(pod) {
            self.spend_budget(pod).await?;
        }
        self.mark_disrupted().await?;
        let options = eviction.delete_options.get().cloned().unwrap_or_default();
        self.delete_evicted(&options).await?;
        Ok(success())
    }

    async fn mark_disrupted(&self) -> Result<(), Status> {
        let now = self.now();
        let mut change = |old: &AnyRev| -> Result<Change, Status> {
            let mut new = old.body.boxed();
            let Some(pod) = new.downcast_mut::<Pod>() else { return Err(Status::internal("not a Pod")) };
            let generation = pod.metadata.generation;
            pod::set_condition(
                pod,
                PodCondition {
                    type_: "DisruptionTarget".into(),
                    status: "True".into(),
                    reason: "EvictionByEvictionAPI".into(),
                    message: "Eviction API: evicting".into(),
                    observed_generation: generation,
                    ..Default::default()
                },
                now,
            );
            Ok(Change::Write(new))
        };
        guaranteed_update(self, &self.namespace, &self.name, &mut change).await.map(|_| ())
    }

    async fn spend_budget(&self, pod: &Pod) -> Result<(), Status> {
        let Some(budgets) = self.server.resource_named("policy", "poddisruptionbudgets") else { return Ok(()) };
        let mut found: Vec<api::Rev<PodDisruptionBudget>> = Vec::new();
        self.server.cache.resource(budgets.index).each(&self.namespace, |object| {
            if let Some(budget) = object.downcast::<PodDisruptionBudget>() {
                let selector = LabelSelector::from_ptr(&budget.spec.selector);
                if selector.is_ok_and(|selector| selector.matches(&pod.metadata.labels)) {
                    found.push(budget);
                }
            }
        });
        let [budget] = &found[..] else {
            if found.is_empty() {
                return Ok(());
            }
            let text =
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Status::from_object(api::meta_v1::Status {
                status: "Failure".into(),
                message: text.into(),
                code: 500,
                ..Default::default()
            }));
        };
        if super::budget::spares(pod, budget) {
            return Ok(());
        }
        let name = budget.metadata.name.clone();
        let key = budgets.key(&self.namespace, &name);
        loop {
            let Some(now) = read(&self.server, &key).await? else { return Ok(()) };
            let mut new = now.body.boxed();
            let Some(budget) = new.downcast_mut::<PodDisruptionBudget>() else { return Ok(()) };
            super::budget::check(budget)?;
            super::budget::spend(budget, &self.name, self.now());
            if self.write.dry_run {
                return Ok(());
            }
            let body: Rc<dyn Object> = Rc::from(new);
            let log = self.server.writers.log_of(budgets.index, &budgets.short_key(&self.namespace, &name));
            match self.server.storage.put(&key, now.revision, (body, log), None).await.map_err(crate::errors::store)? {
                crate::storage::Write::Done(_) => return Ok(()),
                crate::storage::Write::Conflict(_) => {}
            }
        }
    }

    /// Issues a token for the service account (registry/core/serviceaccount/storage/token.go).
    pub async fn issue_token(&self) -> Result<Answer, Status> {
        let mut object = self.decode(TokenRequest::KIND)?;
        let found = read(&self.server, &self.key()).await?;
        let found = found.ok_or_else(|| Status::not_found(self.resource().kind, &self.name))?;
        let Some(account) = found.body.downcast_ref::<ServiceAccount>() else {
            return Err(Status::internal("not a ServiceAccount"));
        };
        let Some(request) = object.downcast_mut::<TokenRequest>() else {
            return Err(Status::bad_request("not a TokenRequest object"));
        };
        let seconds = request.spec.expiration_seconds.unwrap_or(3600);
        self.check_token_seconds(seconds)?;
        let bound = self.bound(request, account).await?;
        let audiences =
            if request.spec.audiences.is_empty() { vec![Str::from(ISSUER)] } else { request.spec.audiences.to_vec() };
        let now = self.server.ctx.unix_nanos() / 1_000_000_000;
        let pod_default = seconds == EXTENDABLE && audiences.iter().any(|audience| &**audience == ISSUER);
        let (bound, node) = bound;
        let claims = Claims {
            namespace: self.namespace.clone(),
            account: self.name.clone(),
            uid: account.metadata.uid.clone(),
            bound,
            node,
            audiences: audiences.clone(),
            issued: now,
            expires: now + if pod_default { EXTENDED } else { seconds },
            id: self.server.uid(),
        };
        let spec = request.spec.make();
        spec.audiences = api::List::from(audiences);
        spec.expiration_seconds = Some(seconds);
        request.metadata.name = self.name.clone();
        request.metadata.namespace = self.namespace.clone();
        request.metadata.creation_timestamp = Time::from_unix(now);
        let status = request.status.make();
        status.token = Str::from(token::sign(&claims, &self.server.config.token_key));
        status.expiration_timestamp = Time::from_unix(now + seconds);
        Ok(Answer::Object(AnyRev { revision: 0, body: Rc::from(object) }))
    }

    fn check_token_seconds(&self, seconds: i64) -> Result<(), Status> {
        let path = api::field::Path::new("spec").child("expirationSeconds");
        let detail = if seconds < *TOKEN_SECONDS.start() {
            "may not specify a duration less than 10 minutes"
        } else if seconds > *TOKEN_SECONDS.end() {
            "may not specify a duration larger than 2^32 seconds"
        } else {
            return Ok(());
        };
        let failures = api::field::invalid(&path, seconds, detail).into();
        Err(Status::invalid_kind(TokenRequest::KIND, "", &failures))
    }

    /// The object that the token is to be bound to, which must exist and use the account.
    async fn bound(
        &self,
        request: &TokenRequest,
        account: &ServiceAccount,
    ) -> Result<(Bound, Option<(Str, Str)>), Status> {
        let Some(reference) = request.spec.bound_object_ref.get() else { return Ok((Bound::default(), None)) };
        if &*reference.kind != "Pod" || &*reference.api_version != "v1" {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount to object of type {}/{}",
                reference.api_version, reference.kind
            )));
        }
        let key = format!("/registry/pods/{}/{}", self.namespace, reference.name);
        let found = read(&self.server, &key).await?;
        let found = found.ok_or_else(|| Status::not_found(Pod::KIND, &reference.name))?;
        let Some(pod) = found.body.downcast_ref::<Pod>() else { return Err(Status::internal("not a Pod")) };
        if pod.spec.service_account_name != account.metadata.name {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                &*account.metadata.name
            )));
        }
        if !reference.uid.is_empty() && reference.uid != pod.metadata.uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                reference.uid
            );
            return Err(Status::conflict(Pod::KIND, &pod.metadata.name, why));
        }
        let node = self.server.cache.resource(self.server.nodes).get(&pod.spec.node_name);
        let node = node.and_then(|node| {
            let metadata = node.body.metadata()?;
            Some((metadata.name.clone(), metadata.uid.clone()))
        });
        let bound = Bound { kind: "Pod".into(), name: pod.metadata.name.clone(), uid: pod.metadata.uid.clone() };
        Ok((bound, node))
    }
}

/// Pods that run nowhere, or no more, are no loss.
fn can_ignore_budget(pod: &Pod) -> bool {
    matches!(&*pod.status.phase, "Succeeded" | "Failed" | "Pending") || !pod.metadata.deletion_timestamp.is_zero()
}
