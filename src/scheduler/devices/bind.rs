//! Promises devices to claims, writes that down before the pod is bound, and takes it back (`Reserve`, `PreBind`,
//! `Unreserve`).

use super::Devices;
use super::extended::{self, Needed};
use api::core_v1::{ContainerExtendedResourceRequest, Pod};
use api::json::Value;
use api::resource_claim::{self, FINALIZER};
use api::resource_v1::{AllocationResult, ResourceClaim};
use api::rest::PatchType;
use api::{List, OStr, Rev, Status, Str, Time};
use client::{Client, Key};
use sim::Duration;

/// Conflicts that are tried again (`retry.DefaultRetry`).
const TRIES: u32 = 5;

/// How often the informer is asked for a claim that was made, and how often at most
/// (`AssumeExtendedResourceTimeoutDefaultSeconds`).
const SEEN: (Duration, u32) = (Duration::from_secs(1), 120);

/// What the pod's claims get on the node that was chosen.
pub struct Chosen {
    /// The pod's claims.
    pub claims: Vec<Rev<ResourceClaim>>,
    /// One for each of those that have nothing, and for the one that is needed.
    pub found: Vec<AllocationResult>,
    /// The claim for the pod's extended resources.
    pub(crate) special: Option<Needed>,
}

/// A claim of the pod that is to be written: what it gets, if it had nothing.
pub struct Promise {
    pub(super) claim: Rev<ResourceClaim>,
    /// The UID by which others know of it.
    uid: Str,
    allocation: Option<AllocationResult>,
    /// If it is for extended resources: which request is for which container.
    mappings: Option<List<ContainerExtendedResourceRequest>>,
}

impl Devices {
    /// Promises what was found to the claims that have nothing yet, before another pod asks. Shares of devices get their
    /// names.
    pub(crate) fn reserve(&self, chosen: Chosen, rng: &mut sim::Rng) -> Vec<Promise> {
        let Chosen { claims, mut found, special } = chosen;
        let results = found.iter_mut().filter(|f| f.devices.results.iter().any(|r| r.share_id.is_some()));
        for result in results.flat_map(|found| found.devices.results.make()).filter(|r| r.share_id.is_some()) {
            result.share_id = OStr::some(rng.uuid());
        }
        let mut found = found.into_iter();
        let mut tracked = self.tracked.borrow_mut();
        let all = claims.into_iter().map(|claim| (claim, None));
        let all = all.chain(special.map(|special| (special.claim, Some(special.mappings))));
        let promise = |(claim, mappings): (Rev<ResourceClaim>, _)| {
            let uid = claim.metadata.uid.clone();
            let allocation = if claim.status.allocation.is_none() { found.next() } else { None };
            if let Some(allocation) = &allocation {
                tracked.pending.insert(uid.clone(), allocation.clone());
            }
            Promise { claim, uid, allocation, mappings }
        };
        all.map(promise).collect()
    }

    /// Writes what was promised, and that the pod uses the claims.
    ///
    /// # Errors
    /// What went wrong; all promises must then be taken back.
    pub(crate) async fn write(&self, client: &Client, pod: &Pod, promises: &mut [Promise]) -> Result<(), String> {
        for promise in promises.iter_mut().filter(|p| !resource_claim::is_reserved_for(pod, &p.claim)) {
            if extended::is_unwritten(&promise.claim) {
                promise.claim = create(client, &promise.claim).await?;
            }
            let written = self.write_one(client, pod, promise).await?;
            let key = Key::of(&written.metadata);
            self.tracked.borrow_mut().assumed.insert(key.clone(), written.clone());
            promise.claim = written;
            if let Some(mappings) = &promise.mappings {
                tell(client, pod, &key.name, mappings).await?;
                let mut tries = 0..SEEN.1;
                while self.claims.by_key(&key).is_none() && tries.next().is_some() {
                    client.ctx().sleep(SEEN.0).await;
                }
            }
        }
        promises.iter().for_each(|p| self.settle(p));
        Ok(())
    }

    fn settle(&self, promise: &Promise) {
        if promise.allocation.is_some() {
            self.tracked.borrow_mut().pending.remove(&promise.uid);
        }
    }

    async fn write_one(&self, client: &Client, pod: &Pod, promise: &Promise) -> Result<Rev<ResourceClaim>, String> {
        let meta = &promise.claim.metadata;
        let name = format!("{}/{}", meta.namespace, meta.name);
        let mut claim = promise.claim.clone();
        for left in (0..TRIES).rev() {
            if !claim.metadata.deletion_timestamp.is_zero() {
                return Err(format!("claim {name} got deleted in the meantime"));
            }
            let (what, result) = match &promise.allocation {
                Some(_) if claim.status.allocation.is_some() => {
                    return Err(format!("claim {name} got allocated elsewhere in the meantime"));
                }
                Some(allocation) => allocate(client, pod, &claim, allocation).await,
                None if claim.status.allocation.is_none() => {
                    return Err(format!("claim {name} got deallocated elsewhere in the meantime"));
                }
                None => ("add reservation", reserve(client, pod, (*claim).clone(), claim.revision).await),
            };
            match result {
                Ok(written) => return Ok(written),
                Err(status) if status.is_conflict() && left > 0 => {
                    let again = client.get::<ResourceClaim>(&meta.namespace, &meta.name).await;
                    claim = again.map_err(|status| format!("get updated claim {name} after conflict: {status}"))?;
                }
                Err(status) => return Err(format!("{what} to claim {name}: {status}")),
            }
        }
        Err(format!("add reservation to claim {name}: too many conflicts"))
    }

    /// Takes back what was promised: the pod did not get its node.
    pub(crate) async fn unreserve(&self, client: &Client, pod: &Pod, promises: &[Promise]) {
        for promise in promises {
            self.settle(promise);
            let meta = &promise.claim.metadata;
            if promise.mappings.is_some() {
                if !extended::is_unwritten(&promise.claim) {
                    // If that fails, the next try finds it.
                    let _ = Devices::delete(client, promise.claim.clone()).await;
                }
                continue;
            }
            if promise.claim.status.allocation.is_none() || !resource_claim::is_reserved_for(pod, &promise.claim) {
                continue;
            }
            let gone = object(vec![("$patch", text("delete")), ("uid", text(&pod.metadata.uid))]);
            let body = object(vec![
                ("metadata", object(vec![("uid", text(&meta.uid))])),
                ("status", object(vec![("reservedFor", Value::Array(vec![gone].into()))])),
            ]);
            let (kind, body) = (PatchType::Strategic, body.to_json());
            // If that fails, the next try of the pod comes here again.
            let _ = client.patch::<ResourceClaim>(&meta.namespace, &meta.name, kind, body, "status").await;
        }
    }

    /// Deletes a claim that the scheduler has made.
    ///
    /// # Errors
    /// What went wrong.
    pub(crate) async fn delete(client: &Client, mut claim: Rev<ResourceClaim>) -> Result<(), String> {
        let (namespace, name) = (claim.metadata.namespace.clone(), claim.metadata.name.clone());
        for left in (0..TRIES).rev() {
            let mut new = (*claim).clone();
            new.metadata.finalizers.make().retain(|f| **f != *FINALIZER);
            match client.update(new, claim.revision).await {
                Ok(_) => break,
                Err(status) if status.is_conflict() && left > 0 => {
                    let again = client.get::<ResourceClaim>(&namespace, &name).await;
                    claim = again.map_err(|status| format!("get resourceclaim {namespace}/{name}: {status}"))?;
                }
                Err(status) => return Err(format!("update resourceclaim {namespace}/{name}: {status}")),
            }
        }
        match client.delete::<ResourceClaim>(&namespace, &name, &Default::default()).await {
            Err(status) if !status.is_not_found() => Err(status.to_string()),
            _ => Ok(()),
        }
    }

    /// Frees a claim that has what the pod cannot reach, if nobody else uses it (`PostFilter`); whether it did.
    ///
    /// # Errors
    /// The API server said no.
    pub(crate) async fn deallocate(client: &Client, pod: &Pod, claim: &Rev<ResourceClaim>) -> Result<bool, Status> {
        if claim.status.reserved_for.iter().any(|r| r.uid != pod.metadata.uid) {
            return Ok(false);
        }
        let mut new = (**claim).clone();
        new.status = Default::default();
        client.update_status(new, claim.revision).await?;
        Ok(true)
    }
}

fn object(fields: Vec<(&str, Value)>) -> Value {
    let mut object = Value::object();
    fields.into_iter().for_each(|(name, value)| object.set(name, value));
    object
}

fn text(text: &str) -> Value {
    Value::from(text)
}

/// Makes the claim for a pod's extended resources.
async fn create(client: &Client, claim: &ResourceClaim) -> Result<Rev<ResourceClaim>, String> {
    let mut new = claim.clone();
    (new.metadata.name, new.metadata.uid) = (Str::new(), Str::new());
    let namespace = new.metadata.namespace.clone();
    let created = client.create(&namespace, new).await;
    created.map_err(|status| format!("create claim for extended resources {namespace}/: {status}"))
}

/// Writes into the pod's status which claim is for its extended resources.
async fn tell(
    client: &Client,
    pod: &Pod,
    claim: &str,
    mappings: &[ContainerExtendedResourceRequest],
) -> Result<(), String> {
    let mapping = |m: &ContainerExtendedResourceRequest| {
        object(vec![
            ("containerName", text(&m.container_name)),
            ("requestName", text(&m.request_name)),
            ("resourceName", text(&m.resource_name)),
        ])
    };
    let mappings: Vec<Value> = mappings.iter().map(mapping).collect();
    let status = object(vec![("requestMappings", Value::Array(mappings.into())), ("resourceClaimName", text(claim))]);
    let meta = &pod.metadata;
    let body = object(vec![
        ("status", object(vec![("extendedResourceClaimStatus", status)])),
        ("metadata", object(vec![("uid", text(&meta.uid))])),
    ]);
    let patched =
        client.patch::<Pod>(&meta.namespace, &meta.name, PatchType::Strategic, body.to_json(), "status").await;
    patched
        .map(drop)
        .map_err(|status| format!("update pod {}/{} ExtendedResourceClaimStatus: {status}", meta.namespace, meta.name))
}

/// The finalizer needs a write of its own; then the allocation goes with the reservation.
async fn allocate(
    client: &Client,
    pod: &Pod,
    claim: &Rev<ResourceClaim>,
    allocation: &AllocationResult,
) -> (&'static str, Result<Rev<ResourceClaim>, Status>) {
    let mut held = claim.clone();
    if !claim.metadata.finalizers.iter().any(|f| *f == *FINALIZER) {
        let mut new = (**claim).clone();
        new.metadata.finalizers.push(FINALIZER.into());
        match client.update(new, claim.revision).await {
            Ok(written) => held = written,
            Err(status) => return ("add finalizer", Err(status)),
        }
    }
    let mut new = (*held).clone();
    let mut allocation = allocation.clone();
    allocation.allocation_timestamp = Time::from_unix(client.ctx().unix_nanos() / 1_000_000_000);
    new.status.make().allocation = api::Ptr::some(allocation);
    ("add allocation and reservation", reserve(client, pod, new, held.revision).await)
}

async fn reserve(
    client: &Client,
    pod: &Pod,
    mut claim: ResourceClaim,
    revision: u64,
) -> Result<Rev<ResourceClaim>, Status> {
    claim.status.make().reserved_for.push(resource_claim::consumer(pod));
    client.update_status(claim, revision).await
}
