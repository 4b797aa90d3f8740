//! Resource claims of pods (`pkg/controller/resourceclaim`): makes them from templates, takes back what a pod that is
//! over had reserved, and frees claims that nobody uses.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use api::core_v1::{Pod, PodResourceClaim};
use api::json::Value;
use api::meta_v1::{DeleteOptions, OwnerReference};
use api::resource_claim::{self, FINALIZER, POD_CLAIM_NAME};
use api::resource_v1::{ResourceClaim, ResourceClaimConsumerReference, ResourceClaimTemplate};
use api::rest::{Body, PatchType, Query, Verb, WriteOptions};
use api::{List, Resource, Rev, Str};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "resourceclaim-controller";
/// Pods by `namespace/name` of their claims, and of the templates that they name.
const POD_CLAIM_INDEX: &str = "podResourceClaim";
const POD_TEMPLATE_INDEX: &str = "podResourceClaimTemplate";
/// Claims by `namespace/uid` of the pod that they were made for.
const OWNER_INDEX: &str = "claimPodOwner";
/// A generated name leaves room for a hyphen and five characters.
const LONGEST_BASE: usize = 57;

/// What is to be looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Claim(Key),
    Pod(Key),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Claim(key) => write!(f, "claim:{key}"),
            Item::Pod(key) => write!(f, "pod:{key}"),
        }
    }
}

struct ResourceClaims {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    claims: Lister<ResourceClaim>,
    templates: Lister<ResourceClaimTemplate>,
    pods: Lister<Pod>,
    queue: WorkQueue<Item>,
    /// Claims that were made and that the informer has not shown yet. Bounded by those in flight.
    made: RefCell<BTreeMap<Key, Rev<ResourceClaim>>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting resource claim controller").str("logger", LOGGER).log(&cc.ctx, "controller.go:795");
    let client = cc.client("resource-claim-controller");
    let recorder = cc.recorder(&client, "resource_claim", LOGGER);
    let (claims, pods) = (cc.informer::<ResourceClaim>(), cc.informer::<Pod>());
    let templates = cc.informer::<ResourceClaimTemplate>();
    pods.add_index(POD_CLAIM_INDEX, |pod: &Pod| {
        let named = pod.spec.resource_claims.iter().filter_map(|c| resource_claim::name(pod, c).ok().flatten());
        named.map(|name| Str::from(format!("{}/{name}", pod.metadata.namespace))).collect()
    });
    pods.add_index(POD_TEMPLATE_INDEX, |pod: &Pod| {
        let named = pod.spec.resource_claims.iter().filter_map(|c| c.resource_claim_template_name.get_str());
        named.map(|name| Str::from(format!("{}/{name}", pod.metadata.namespace))).collect()
    });
    claims.add_index(OWNER_INDEX, |claim: &ResourceClaim| {
        let owner = owning_pod(claim).map(|r| Str::from(format!("{}/{}", claim.metadata.namespace, r.uid)));
        owner.into_iter().collect()
    });
    let controller = Rc::new(ResourceClaims {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        claims: claims.lister(),
        templates: templates.lister(),
        pods: pods.lister(),
        queue: WorkQueue::new(&cc.ctx, "resource_claim"),
        made: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    pods.on(move |delta| this.enqueue_pod(delta.object(), matches!(delta, Delta::Deleted(_)), delta.revision()));
    let this = controller.clone();
    claims.on(move |delta| {
        let key = Key::of(&delta.object().metadata);
        this.made.borrow_mut().remove(&key);
        if !matches!(delta, Delta::Deleted(_)) {
            this.queue.add_caused(Item::Claim(key.clone()), delta.revision());
        }
        this.enqueue_pods_of(POD_CLAIM_INDEX, &key, delta.revision());
    });
    let this = controller.clone();
    templates.on(move |delta| {
        if !matches!(delta, Delta::Deleted(_)) {
            this.enqueue_pods_of(POD_TEMPLATE_INDEX, &Key::of(&delta.object().metadata), delta.revision());
        }
    });
    futures_util::join!(claims.synced(), pods.synced(), templates.synced());
    Worker::spawn(&cc.ctx, 50, controller.queue.clone(), controller);
}

/// The pod that a claim was made for.
fn owning_pod(claim: &ResourceClaim) -> Option<&OwnerReference> {
    let owners = &claim.metadata.owner_references;
    owners.iter().find(|r| r.controller == Some(true) && r.api_version == "v1" && r.kind == "Pod")
}

/// Whether a pod will not run any more.
fn is_done(pod: &Pod) -> bool {
    matches!(&*pod.status.phase, "Failed" | "Succeeded")
        || (!pod.metadata.deletion_timestamp.is_zero() && pod.spec.node_name.is_empty())
}

/// Pod and claim, the longer the name the more is cut, each its share.
fn base_of_name(pod: &str, claim: &str) -> String {
    let whole = format!("{pod}-{claim}-");
    if whole.len() <= LONGEST_BASE {
        return whole;
    }
    let share = |text: &str, of: usize| {
        let end = (text.len() * LONGEST_BASE).checked_div(of).unwrap_or(0);
        text.get(..end).unwrap_or(text).to_string()
    };
    format!("{}-{}", share(pod, whole.len()), share(claim, whole.len()))
}

impl ResourceClaims {
    fn enqueue_pods_of(&self, index: &str, key: &Key, revision: u64) {
        for pod in self.pods.by_index(index, &key.to_string()) {
            self.enqueue_pod(&pod, false, revision);
        }
    }

    fn enqueue_pod(&self, pod: &Rev<Pod>, deleted: bool, revision: u64) {
        let claims = &pod.spec.resource_claims;
        let extended = pod.status.extended_resource_claim_status.get();
        if claims.is_empty() && extended.is_none() {
            return;
        }
        if deleted || is_done(pod) {
            let named = claims.iter().filter_map(|c| resource_claim::name(pod, c).ok().flatten());
            for name in named.chain(extended.map(|e| e.resource_claim_name.clone())) {
                self.queue.add_caused(Item::Claim(Key::new(&pod.metadata.namespace, &name)), revision);
            }
        }
        if !deleted && pod.metadata.deletion_timestamp.is_zero() && claims.iter().any(|c| self.needs_work(pod, c)) {
            self.queue.add_caused(Item::Pod(Key::of(&pod.metadata)), revision);
        }
    }

    /// Whether a claim of a pod is to be made, or to be reserved for a pod that has its node already.
    fn needs_work(&self, pod: &Pod, own: &PodResourceClaim) -> bool {
        let Ok(name) = resource_claim::name(pod, own) else { return true };
        let Some(name) = name else { return false };
        let is_made = own.resource_claim_template_name.is_some();
        match self.claims.get(&pod.metadata.namespace, &name) {
            None => is_made,
            Some(claim) if is_made && resource_claim::is_for_pod(pod, &claim).is_err() => false,
            Some(claim) => lacks_reservation(pod, &claim),
        }
    }

    async fn sync_pod(&self, client: &Client, key: &Key) -> Result<(), SyncError> {
        let Some(pod) = self.pods.by_key(key) else { return Ok(()) };
        if !pod.metadata.deletion_timestamp.is_zero() {
            return Ok(());
        }
        let mut new = BTreeMap::<Str, Str>::new();
        for own in pod.spec.resource_claims.iter() {
            match self.handle_claim(client, &pod, own).await {
                Ok(name) => new.extend(name.map(|name| (own.name.clone(), name))),
                Err(err) => {
                    let text = format!("PodResourceClaim {}: {err}", own.name);
                    let about = utils::object_ref::<Pod>(&pod.metadata, pod.revision);
                    self.recorder.event(&about, "Warning", "FailedResourceClaimCreation", &text);
                    return Err(format!("pod {key}, {text}").into());
                }
            }
        }
        if !new.is_empty() {
            self.tell(client, &pod, new)
                .await
                .map_err(|err| SyncError::Other(format!("update pod {key} ResourceClaimStatuses: {err}")))?;
        }
        if pod.spec.node_name.is_empty() {
            // The scheduler reserves what it needs.
            return Ok(());
        }
        for own in pod.spec.resource_claims.iter() {
            let Some(name) = resource_claim::name(&pod, own)? else { continue };
            let Some(claim) = self.claims.get(&key.namespace, &name) else { return Ok(()) };
            if own.resource_claim_template_name.is_some() {
                resource_claim::is_for_pod(&pod, &claim)?;
            }
            if lacks_reservation(&pod, &claim) {
                let mut reserved = (*claim).clone();
                reserved.status.make().reserved_for.push(resource_claim::consumer(&pod));
                let written = client.update_status(reserved, claim.revision).await;
                written.map_err(|err| SyncError::Other(format!("reserve claim {}/{name}: {err}", key.namespace)))?;
            }
        }
        Ok(())
    }

    /// Makes the claim if it is missing; its name, where the pod's status does not have it yet.
    async fn handle_claim(
        &self,
        client: &Client,
        pod: &Rev<Pod>,
        own: &PodResourceClaim,
    ) -> Result<Option<Str>, SyncError> {
        let namespace = &pod.metadata.namespace;
        let Some(template) = own.resource_claim_template_name.get_str() else { return Ok(None) };
        match resource_claim::name(pod, own) {
            Ok(None) => return Ok(None),
            Ok(Some(name)) => {
                let known = self.known(&Key::new(namespace, &name));
                let claim = match known {
                    Some(claim) => Some(claim),
                    // One that the informer has not shown need not be missing.
                    None => match client.get::<ResourceClaim>(namespace, &name).await {
                        Ok(claim) => Some(claim),
                        Err(status) if status.is_not_found() => None,
                        Err(status) => return Err(format!("checking claim existence: {status}").into()),
                    },
                };
                if claim.is_some_and(|claim| resource_claim::is_for_pod(pod, &claim).is_ok()) {
                    return Ok(None);
                }
            }
            Err(_) => {}
        }
        // It may have been made by a run that could not tell the pod.
        if let Some(orphan) = self.made_for(pod, own) {
            return Ok(Some(orphan.metadata.name.clone()));
        }
        let Some(found) = self.templates.get(namespace, template) else {
            let quoted = api::go::quote(template);
            return Err(format!(
                "resource claim template {quoted}: resourceclaimtemplate.resource.k8s.io {quoted} not found"
            )
            .into());
        };
        let mut claim = ResourceClaim::default();
        claim.metadata.generate_name = base_of_name(&pod.metadata.name, &own.name).into();
        claim.metadata.namespace = namespace.clone();
        claim.metadata.labels = found.spec.metadata.labels.clone();
        claim.metadata.annotations = found.spec.metadata.annotations.clone();
        claim.metadata.annotations.insert(POD_CLAIM_NAME, own.name.clone());
        claim.metadata.owner_references = List::from(vec![resource_claim::owner(pod)]);
        claim.spec = found.spec.spec.clone();
        self.observed.action(&Key::of(&pod.metadata), format!("create claim for {}", own.name));
        let created = client.create(namespace, claim).await;
        let created = created.map_err(|err| SyncError::Other(format!("create ResourceClaim : {err}")))?;
        let (key, name) = (Key::of(&created.metadata), created.metadata.name.clone());
        if self.claims.by_key(&key).is_none() {
            self.made.borrow_mut().insert(key, created);
        }
        Ok(Some(name))
    }

    fn known(&self, key: &Key) -> Option<Rev<ResourceClaim>> {
        self.claims.by_key(key).or_else(|| self.made.borrow().get(key).cloned())
    }

    fn made_for(&self, pod: &Pod, own: &PodResourceClaim) -> Option<Rev<ResourceClaim>> {
        let seen = self.claims.by_index(OWNER_INDEX, &format!("{}/{}", pod.metadata.namespace, pod.metadata.uid));
        let made = self.made.borrow();
        let own_claims = seen.into_iter().chain(made.values().cloned());
        let for_pod = own_claims.filter(|c| owning_pod(c).is_some_and(|r| r.uid == pod.metadata.uid));
        for_pod.into_iter().find(|c| c.metadata.annotations.get(POD_CLAIM_NAME) == Some(&own.name))
    }

    /// Writes the names of new claims into the pod's status, besides those that it has.
    async fn tell(&self, client: &Client, pod: &Pod, new: BTreeMap<Str, Str>) -> Result<(), api::Status> {
        let had = pod.status.resource_claim_statuses.iter();
        let mut all: BTreeMap<Str, Str> =
            had.filter_map(|s| Some((s.name.clone(), s.resource_claim_name.get_str()?.clone()))).collect();
        all.extend(new);
        let object = |fields: Vec<(&str, Value)>| {
            let mut object = Value::object();
            fields.into_iter().for_each(|(name, value)| object.set(name, value));
            object
        };
        let text = |s: &str| Value::from(s);
        let statuses: Vec<Value> = all
            .iter()
            .map(|(name, claim)| object(vec![("name", text(name)), ("resourceClaimName", text(claim))]))
            .collect();
        let meta = &pod.metadata;
        let body = object(vec![
            ("apiVersion", text("v1")),
            ("kind", text("Pod")),
            ("metadata", object(vec![("name", text(&meta.name)), ("namespace", text(&meta.namespace))])),
            ("status", object(vec![("resourceClaimStatuses", Value::Array(statuses.into()))])),
        ]);
        let verb = Verb::Patch(PatchType::Apply);
        let mut request = client.prepare(verb, Pod::KIND, &meta.namespace, &meta.name, "status");
        request.query = Query::Write(WriteOptions {
            field_manager: "ResourceClaimController".into(),
            force: true,
            ..WriteOptions::default()
        });
        request.body = Body::Bytes(body.to_json().as_bytes().into());
        client.request(request).await.map(drop)
    }

    /// Whether the pod that a claim is reserved for is still there and may run.
    async fn still_needed(&self, client: &Client, namespace: &str, by: &ResourceClaimConsumerReference) -> bool {
        if !by.api_group.is_empty() || by.resource != "pods" {
            return true;
        }
        match self.pods.get(namespace, &by.name) {
            Some(pod) => pod.metadata.uid == by.uid && !is_done(&pod),
            // The informer may not know it yet.
            None => match client.get::<Pod>(namespace, &by.name).await {
                Ok(pod) => pod.metadata.uid == by.uid,
                Err(status) => !status.is_not_found(),
            },
        }
    }

    async fn sync_claim(&self, client: &Client, key: &Key) -> Result<(), SyncError> {
        let Some(claim) = self.claims.by_key(key) else { return Ok(()) };
        let mut remaining = Vec::new();
        for by in claim.status.reserved_for.iter() {
            if self.still_needed(client, &key.namespace, by).await {
                remaining.push(by.clone());
            }
        }
        let (unused, held) = (remaining.is_empty(), claim.metadata.finalizers.iter().any(|f| *f == *FINALIZER));
        if remaining.len() < claim.status.reserved_for.len() {
            let mut new = (*claim).clone();
            let status = new.status.make();
            status.reserved_for = List::from(remaining);
            if unused && held {
                // What nobody uses is free for others, and may be had elsewhere next time.
                status.allocation = api::Ptr::default();
            }
            let written = client.update_status(new, claim.revision).await?;
            if written.status.allocation.is_none() {
                release(client, &written).await?;
            }
        } else if held && unused && !claim.metadata.deletion_timestamp.is_zero() {
            let mut freed = claim.clone();
            if claim.status.allocation.is_some() {
                let mut new = (*claim).clone();
                new.status.make().allocation = api::Ptr::default();
                freed = client.update_status(new, claim.revision).await?;
            }
            release(client, &freed).await?;
        }
        let Some(owner) = owning_pod(&claim).filter(|_| unused) else { return Ok(()) };
        let pod = self.pods.get(&key.namespace, &owner.name);
        if pod.is_some_and(|pod| pod.metadata.uid != owner.uid || is_done(&pod)) {
            let deleted = client.delete::<ResourceClaim>(&key.namespace, &key.name, &DeleteOptions::default()).await;
            deleted.map_err(|err| SyncError::Other(format!("delete unused generated claim {key}: {err}")))?;
        }
        Ok(())
    }
}

/// Whether a pod with a node lacks the reservation of a claim that is allocated.
fn lacks_reservation(pod: &Pod, claim: &ResourceClaim) -> bool {
    !pod.spec.node_name.is_empty() && claim.status.allocation.is_some() && !resource_claim::is_reserved_for(pod, claim)
}

/// Takes the finalizer off.
async fn release(client: &Client, claim: &Rev<ResourceClaim>) -> Result<(), SyncError> {
    if !claim.metadata.finalizers.iter().any(|f| *f == *FINALIZER) {
        return Ok(());
    }
    let mut new = (**claim).clone();
    new.metadata.finalizers.make().retain(|f| **f != *FINALIZER);
    client.update(new, claim.revision).await?;
    Ok(())
}

impl Reconcile<Item> for ResourceClaims {
    async fn reconcile(&self, work: &Work<Item>) -> Result<(), SyncError> {
        let client = self.client.caused_by(&work.causes);
        match &work.key {
            Item::Claim(key) => self.sync_claim(&client, key).await,
            Item::Pod(key) => self.sync_pod(&client, key).await,
        }
    }

    fn finished(&self, work: Work<Item>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled("Work item failed")
                    .err(err)
                    .str("logger", LOGGER)
                    .str("item", &work.key.to_string())
                    .log(&self.ctx, "controller.go:838");
                self.queue.retry(work);
            }
        }
    }
}
