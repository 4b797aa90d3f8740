//! ResourceQuota: what a namespace's objects may use in all (apiserver's admission/plugin/resourcequota).
//!
//! It comes last and waits: a write is charged to the status of every quota that is about it before it is stored.
//! Requests of one namespace are judged together, one bunch at a time, so that they seldom get in each other's way;
//! what was charged for a write that then fails is given back when the quota controller counts anew.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::core_v1::ResourceQuota;
use api::quota::{self, Around, Evaluator, ResourceList, amounts};
use api::rest::{Body, Verb};
use api::{KindInfo, Object, Resource, Rev, Status, Str};
use sim::Duration;
use sim::sync::oneshot;

use super::{Attributes, Operation};
use crate::Inner;
use crate::registry::Call;

/// How often the charge to a quota that changed meanwhile is tried again.
const RETRIES: usize = 3;
/// How long a request waits to be judged.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bound of the quotas whose last charge is remembered; those with the first names are forgotten beyond it.
const REMEMBERED: usize = 100;

/// A write to be judged. There are as many as there are requests in flight.
struct Waiter {
    evaluator: Evaluator,
    subresource: Str,
    new: Box<dyn Object>,
    old: Option<Rc<dyn Object>>,
    dry_run: bool,
    answer: Option<oneshot::Sender<Result<(), Refusal>>>,
}

/// Why a write may not be.
#[derive(Clone)]
enum Refusal {
    /// `exceeded quota: ...`
    Forbidden(String),
    Failed(Status),
}

/// The writes that wait, by namespace, and the quotas as last charged.
#[derive(Default)]
pub struct Quotas {
    /// An entry is there while a task judges the namespace's.
    waiting: RefCell<BTreeMap<Str, Vec<Waiter>>>,
    /// Newer than the cache has them.
    charged: RefCell<BTreeMap<(Str, Str), Rev<ResourceQuota>>>,
}

/// Judges a write and charges it. An update has the old object too.
pub async fn admit(
    call: &Call,
    operation: Operation,
    new: &dyn Object,
    old: Option<&Rc<dyn Object>>,
) -> Result<(), Status> {
    let kind = call.resource().kind;
    // Namespaces are in themselves, but no quota counts them.
    if call.namespace.is_empty() || !kind.namespaced || !has_quotas(&call.server, &call.namespace) {
        return Ok(());
    }
    match quota::evaluator(kind) {
        Some(evaluator) if evaluator.handles(&call.subresource, new, old.map(|old| &**old)) => {
            // Boxed: few requests come here, and all would carry its state.
            Box::pin(ask(call, operation, evaluator, new, old)).await
        }
        _ => Ok(()),
    }
}

async fn ask(
    call: &Call,
    operation: Operation,
    evaluator: Evaluator,
    new: &dyn Object,
    old: Option<&Rc<dyn Object>>,
) -> Result<(), Status> {
    let (sender, answer) = oneshot::channel();
    let waiter = Waiter {
        evaluator,
        subresource: call.subresource.clone(),
        new: new.boxed(),
        old: old.cloned(),
        dry_run: call.write.dry_run,
        answer: Some(sender),
    };
    wait(&call.server, &call.namespace, waiter);
    match call.server.ctx.timeout(PATIENCE, answer).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(Refusal::Failed(status)))) => Err(status),
        Ok(Ok(Err(Refusal::Forbidden(reason)))) => {
            let mut attributes = Attributes::new(call, operation);
            if let Some(metadata) = new.metadata() {
                attributes.name = metadata.name.clone();
            }
            Err(attributes.forbidden(Some(new), &reason))
        }
        _ => Err(Status::internal("resource quota evaluation timed out")),
    }
}

fn has_quotas(server: &Inner, namespace: &str) -> bool {
    let quotas = server.cache.resource(server.resource_quotas);
    let mut any = false;
    if !quotas.is_empty() {
        quotas.each(namespace, |_| any = true);
    }
    any
}

/// Puts a write with those that wait, and starts a task for them if there is none.
fn wait(server: &Rc<Inner>, namespace: &Str, waiter: Waiter) {
    let mut waiting = server.quotas.waiting.borrow_mut();
    if let Some(others) = waiting.get_mut(namespace) {
        others.push(waiter);
        return;
    }
    waiting.insert(namespace.clone(), vec![waiter]);
    drop(waiting);
    let (server, namespace) = (server.clone(), namespace.clone());
    let ctx = server.ctx.clone();
    ctx.spawn("quota-evaluator", async move {
        loop {
            let bunch = {
                let mut waiting = server.quotas.waiting.borrow_mut();
                match waiting.get_mut(&namespace).map(std::mem::take) {
                    Some(bunch) if !bunch.is_empty() => bunch,
                    _ => {
                        waiting.remove(&namespace);
                        return;
                    }
                }
            };
            judge(&server, &namespace, bunch).await;
        }
    });
}

/// The namespace's quotas, as new as is known.
fn quotas_of(server: &Inner, namespace: &Str) -> Vec<Rev<ResourceQuota>> {
    let mut found = Vec::new();
    let mut charged = server.quotas.charged.borrow_mut();
    server.cache.resource(server.resource_quotas).each(namespace, |object| {
        let Some(quota) = object.downcast::<ResourceQuota>() else { return };
        let key = (namespace.clone(), quota.metadata.name.clone());
        match charged.get(&key) {
            Some(newer) if newer.revision > quota.revision => found.push(newer.clone()),
            _ => {
                charged.remove(&key);
                found.push(quota);
            }
        }
    });
    found
}

fn answer(waiter: &mut Waiter, result: Result<(), Refusal>) {
    if let Some(sender) = waiter.answer.take() {
        // A request that was cut doesn't want it.
        let _ = sender.send(result);
    }
}

/// Judges a bunch of writes, charges what they use and answers them.
async fn judge(server: &Rc<Inner>, namespace: &Str, mut bunch: Vec<Waiter>) {
    let mut quotas = quotas_of(server, namespace);
    let now = server.ctx.unix_nanos();
    let around = |kind: &'static KindInfo, with: &mut dyn FnMut(&dyn Object)| {
        let place = if kind.namespaced { &**namespace } else { "" };
        if let Some(resource) = server.resource_of(kind) {
            server.cache.resource(resource).each(place, |object| with(&*object.body));
        }
    };
    for last in (0..=RETRIES).rev().map(|left| left == 0) {
        let mut used: Vec<ResourceList> = quotas.iter().map(|quota| quota.status.used.clone()).collect();
        for waiter in bunch.iter_mut().filter(|waiter| waiter.answer.is_some()) {
            match check(&quotas, &used, waiter, now, &around) {
                Err(why) => answer(waiter, Err(Refusal::Forbidden(why))),
                Ok(_) if waiter.dry_run => answer(waiter, Ok(())),
                Ok(after) if after == used => answer(waiter, Ok(())),
                Ok(after) => used = after,
            }
        }
        let mut failed: Vec<(Str, Status)> = Vec::new();
        for (quota, used) in quotas.iter().zip(used) {
            if used != quota.status.used
                && let Err(status) = charge(server, quota, used).await
            {
                failed.push((quota.metadata.name.clone(), status));
            }
        }
        let Some((_, why)) = failed.last().cloned() else {
            bunch.iter_mut().for_each(|waiter| answer(waiter, Ok(())));
            return;
        };
        if last {
            bunch.iter_mut().for_each(|waiter| answer(waiter, Err(Refusal::Failed(why.clone()))));
            return;
        }
        // Only the quotas that changed meanwhile are looked at again; one that is gone has no say.
        quotas = quotas_of(server, namespace);
        quotas.retain(|quota| failed.iter().any(|(name, _)| *name == quota.metadata.name));
    }
}

/// Writes a quota's new usage, as a client would.
async fn charge(server: &Rc<Inner>, quota: &Rev<ResourceQuota>, used: ResourceList) -> Result<(), Status> {
    let mut new = (*quota.body).clone();
    new.metadata.resource_version = quota.resource_version();
    new.status.make().used = used;
    let (namespace, name) = (quota.metadata.namespace.clone(), quota.metadata.name.clone());
    let body = Body::Object(Rc::new(new));
    let call = crate::bootstrap::own_call(server, Verb::Update, ResourceQuota::KIND, &namespace, &name, body);
    let Some(mut call) = call else { return Ok(()) };
    call.subresource = "status".into();
    // Boxed: an update may itself have to be charged.
    let (updated, _) = Box::pin(call.update()).await?;
    if let Some(updated) = updated.downcast::<ResourceQuota>() {
        let mut charged = server.quotas.charged.borrow_mut();
        while charged.len() >= REMEMBERED {
            charged.pop_first();
        }
        charged.insert((namespace, name), updated);
    }
    Ok(())
}

/// What the quotas' usage will be with the write (`CheckRequest`); the error says which quota is against it.
fn check(
    quotas: &[Rev<ResourceQuota>],
    used: &[ResourceList],
    waiter: &Waiter,
    now: i64,
    around: Around,
) -> Result<Vec<ResourceList>, String> {
    let evaluator = waiter.evaluator;
    let new = &*waiter.new;
    let mut concerned = Vec::new();
    for (i, (quota, used)) in quotas.iter().zip(used).enumerate() {
        let name = &quota.metadata.name;
        if !evaluator.matches(quota, new, around)? {
            continue;
        }
        let restricted = evaluator.matching_resources(&amounts::names(&quota.status.hard), around);
        evaluator.constraints(&restricted, new).map_err(|why| format!("failed quota: {name}: {why}"))?;
        if restricted.iter().any(|resource| !used.contains_key(resource)) {
            return Err(format!("status unknown for quota: {name}, resources: {}", restricted.join(",")));
        }
        concerned.push(i);
    }
    let usage = evaluator.usage(new, now, around);
    let negative = amounts::negative(&usage);
    if !negative.is_empty() {
        return Err(format!("quota usage is negative for resource(s): {}", negative.join(",")));
    }
    let more =
        waiter.old.as_ref().map(|old| amounts::subtract_not_below_zero(&usage, &evaluator.usage(&**old, now, around)));
    let mut after = used.to_vec();
    for (i, quota) in quotas.iter().enumerate().filter(|(i, _)| concerned.contains(i)) {
        let delta = match (&waiter.old, &more) {
            // A quota that was not about the old object is charged for the whole of the new one.
            (Some(old), Some(more)) if evaluator.matches(quota, &**old, around)? => more,
            _ => &usage,
        };
        let delta = amounts::without_zeros(delta);
        if delta.is_empty() {
            continue;
        }
        let hard = &quota.status.hard;
        let requested = amounts::mask(&delta, &amounts::names(hard));
        let Some(now_used) = after.get_mut(i) else { continue };
        let new_used = amounts::add(now_used, &requested);
        let exceeded = amounts::exceeded(&amounts::mask(&new_used, &amounts::names(&requested)), hard);
        if &*waiter.subresource != "status" && !exceeded.is_empty() {
            return Err(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                quota.metadata.name,
                shown(&amounts::mask(&requested, &exceeded)),
                shown(&amounts::mask(now_used, &exceeded)),
                shown(&amounts::mask(hard, &exceeded))
            ));
        }
        *now_used = new_used;
    }
    Ok(after)
}

/// `pods=1,requests.cpu=600m`
fn shown(list: &ResourceList) -> String {
    list.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect::<Vec<_>>().join(",")
}
