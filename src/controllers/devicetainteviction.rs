//! The device taint eviction controller (`pkg/controller/devicetainteviction`): pods whose devices have a NoExecute taint
//! that their claim does not tolerate are deleted, at once or when the toleration runs out. It says in the status of the
//! rules that taint devices how far that has come.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Pod, PodCondition};
use api::json::Value;
use api::meta_v1::{Condition, DeleteOptions, Preconditions};
use api::resource_claim;
use api::resource_v1::{
    Device, DeviceRequestAllocationResult, DeviceTaint, DeviceTaintRule, ResourceClaim, ResourceSlice,
};
use api::rest::{Body, PatchType, Query, Verb, WriteOptions};
use api::{OStr, Resource, Rev, Status, Str, Time};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog, object_reference};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const NAME: &str = "device-taint-eviction-controller";
const WORKERS: usize = 8;
/// Shortest time between two updates of a rule's status while pods are evicted.
const STATUS_PERIOD: Duration = Duration::from_secs(10);
/// Bound of the pods that are remembered as evicted; the oldest are forgotten beyond it.
const EVICTED: usize = 500;
const CONDITION: &str = "EvictionInProgress";
const SECOND: i64 = 1_000_000_000;

/// An object that may come again under its name: key and uid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    /// It may have to be deleted.
    Pod(Key, Str),
    /// Its status may have to be written.
    Rule(Str, Str),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Pod(key, _) => write!(f, "pod:{key}"),
            Item::Rule(name, _) => write!(f, "rule:{name}"),
        }
    }
}

/// When a pod is to go (nanoseconds since 1970), and because of which rules: name and uid. Taints of drivers have none.
#[derive(Clone, Debug, PartialEq)]
struct Eviction {
    when: i64,
    rules: BTreeSet<(Str, Str)>,
}

impl Eviction {
    /// The earlier of two, for the reasons of both.
    fn and(mut self, other: Eviction) -> Eviction {
        self.when = self.when.min(other.when);
        self.rules.extend(other.rules);
        self
    }
}

struct DeviceTaintEviction {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    pods: Lister<Pod>,
    claims: Lister<ResourceClaim>,
    slices: Lister<ResourceSlice>,
    rules: Lister<DeviceTaintRule>,
    queue: WorkQueue<Item>,
    /// The pods to be deleted. Bounded by the pods.
    delete_at: RefCell<BTreeMap<Item, Eviction>>,
    evicted: RefCell<VecDeque<Str>>,
    /// Pods evicted by rules, by their uid. Bounded by the rules.
    done: RefCell<BTreeMap<Str, usize>>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting")
        .str("controller", NAME)
        .raw("numWorkers", WORKERS)
        .log(&cc.ctx, "device_taint_eviction.go:785");
    let client = cc.client(NAME);
    let recorder = cc.recorder(&client, NAME, NAME);
    klog::info("Sending events to api server").log(&cc.ctx, "device_taint_eviction.go:825");
    let (pods, claims) = (cc.informer::<Pod>(), cc.informer::<ResourceClaim>());
    let (slices, rules) = (cc.informer::<ResourceSlice>(), cc.informer::<DeviceTaintRule>());
    let controller = Rc::new(DeviceTaintEviction {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        pods: pods.lister(),
        claims: claims.lister(),
        slices: slices.lister(),
        rules: rules.lister(),
        queue: WorkQueue::new(&cc.ctx, NAME),
        delete_at: RefCell::default(),
        evicted: RefCell::default(),
        done: RefCell::default(),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    futures_util::join!(pods.synced(), claims.synced(), slices.synced(), rules.synced());
    let this = controller.clone();
    claims.on(move |delta| this.on_claim(delta));
    let this = controller.clone();
    pods.on(move |delta| this.on_pod(delta));
    let this = controller.clone();
    rules.on(move |delta| this.on_rule(delta));
    let this = controller.clone();
    slices.on(move |delta| this.on_slice(delta));
    Worker::spawn(&cc.ctx, WORKERS, controller.queue.clone(), controller);
}

fn item(pod: &Pod) -> Item {
    Item::Pod(Key::of(&pod.metadata), pod.metadata.uid.clone())
}

fn rule_item(rule: &DeviceTaintRule) -> Item {
    Item::Rule(rule.metadata.name.clone(), rule.metadata.uid.clone())
}

fn is_evicting(taint: &DeviceTaint) -> bool {
    taint.effect == "NoExecute"
}

/// Whether a rule is about a device; about none without a selector.
fn selects(rule: &DeviceTaintRule, driver: &str, pool: &str, device: &str) -> bool {
    let is = |wanted: &OStr, has: &str| wanted.get().is_none_or(|wanted| wanted == has);
    let selector = rule.spec.device_selector.get();
    selector.is_some_and(|s| is(&s.driver, driver) && is(&s.pool, pool) && is(&s.device, device))
}

/// When a taint ends what a device was allocated for; never, if it is tolerated for ever.
fn ends(result: &DeviceRequestAllocationResult, taint: &DeviceTaint) -> Option<i64> {
    let mut shortest: Option<i64> = None;
    let tolerations = result.tolerations.iter().filter(|t| t.effect == "NoExecute");
    for toleration in tolerations.filter(|t| resource_claim::tolerates(t, taint)) {
        let seconds = toleration.toleration_seconds?.max(0);
        shortest = Some(shortest.map_or(seconds, |s| s.min(seconds)));
    }
    let added = taint.time_added.unix().unwrap_or(0);
    Some(added.saturating_add(shortest.unwrap_or(0)).saturating_mul(SECOND))
}

impl DeviceTaintEviction {
    fn on_claim(&self, delta: &Delta<ResourceClaim>) {
        let claim = delta.object();
        let was = match delta {
            Delta::Updated { old, .. } => Some(old),
            _ => None,
        };
        if claim.status.allocation.get().is_none() && was.is_none_or(|old| old.status.allocation.get().is_none()) {
            return;
        }
        if let Some(old) = was.filter(|old| old.status.reserved_for != claim.status.reserved_for) {
            self.check_pods(old, None);
        }
        self.check_pods(claim, None);
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        match delta {
            Delta::Deleted(pod) => {
                self.delete_at.borrow_mut().remove(&item(pod));
            }
            // Pods change often; only their node and their claims count here.
            Delta::Updated { old, new }
                if old.spec.node_name == new.spec.node_name
                    && old.status.resource_claim_statuses == new.status.resource_claim_statuses
                    && old.status.extended_resource_claim_status == new.status.extended_resource_claim_status => {}
            Delta::Added(pod) | Delta::Updated { new: pod, .. } => self.check_pod(pod),
        }
    }

    fn on_rule(&self, delta: &Delta<DeviceTaintRule>) {
        let rule = delta.object();
        match delta {
            Delta::Updated { old, new } if utils::equal(&*old.spec, &*new.spec) => return,
            Delta::Deleted(_) => {
                self.done.borrow_mut().remove(&rule.metadata.uid);
            }
            // The status says something at once, before any pod goes.
            _ => self.queue.add_caused(rule_item(rule), rule.revision),
        }
        self.check_claims();
    }

    fn on_slice(&self, delta: &Delta<ResourceSlice>) {
        let tainted = |s: &ResourceSlice| s.spec.devices.iter().any(|d| d.taints.iter().any(is_evicting));
        let before = matches!(delta, Delta::Updated { old, .. } if tainted(old));
        if before || tainted(delta.object()) {
            self.check_claims();
        }
    }

    fn check_claims(&self) {
        for claim in self.claims.list() {
            if claim.status.allocation.get().is_some() {
                self.check_pods(&claim, Some(()));
            }
        }
    }

    /// Looks at the pods that use a claim; at those that are concerned only, where all claims are looked at.
    fn check_pods(&self, claim: &ResourceClaim, all: Option<()>) {
        for consumer in claim.status.reserved_for.iter().filter(|c| c.api_group.is_empty() && c.resource == "pods") {
            let pod = self.pods.get(&claim.metadata.namespace, &consumer.name);
            let Some(pod) = pod.filter(|pod| pod.metadata.uid == consumer.uid) else { continue };
            let known = self.delete_at.borrow().get(&item(&pod)).cloned();
            if all.is_none() || self.eviction(&pod, &self.rules.list()) != known {
                self.check_pod(&pod);
            }
        }
    }

    fn check_pod(&self, pod: &Rev<Pod>) {
        let key = item(pod);
        let Some(eviction) = self.eviction(pod, &self.rules.list()) else {
            if self.delete_at.borrow_mut().remove(&key).is_some() {
                self.tell(pod, "Cancelling deletion");
            }
            return;
        };
        let now = self.ctx.unix_nanos();
        let wait = Duration::from_nanos(u64::try_from(eviction.when.saturating_sub(now)).unwrap_or(0));
        for (name, uid) in &eviction.rules {
            // More may change; the status waits for it.
            self.queue.add_after(Item::Rule(name.clone(), uid.clone()), STATUS_PERIOD);
        }
        self.observed.desired(&Key::of(&pod.metadata), "gone, for a taint of its devices".into());
        self.delete_at.borrow_mut().insert(key.clone(), eviction);
        if wait.is_zero() {
            self.queue.add_caused(key, pod.revision);
        } else {
            self.queue.add_caused_after(key, pod.revision, wait);
        }
    }

    fn tell(&self, pod: &Pod, what: &str) {
        let meta = &pod.metadata;
        let about = object_reference("v1", "Pod", &meta.namespace, &meta.name, &meta.uid);
        self.recorder.event(&about, "Normal", "DeviceTaintManagerEviction", what);
    }

    /// The device of an allocation, as the newest slices of its pool have it.
    fn device(&self, result: &DeviceRequestAllocationResult) -> Option<Device> {
        let slices = self.slices.list();
        let own = || slices.iter().filter(|s| s.spec.driver == result.driver && s.spec.pool.name == result.pool);
        let newest = own().map(|s| s.spec.pool.generation).max()?;
        let devices = own().filter(|s| s.spec.pool.generation == newest).flat_map(|s| s.spec.devices.iter());
        devices.into_iter().find(|device| device.name == result.device).cloned()
    }

    fn claim_eviction(&self, claim: &ResourceClaim, rules: &[Rev<DeviceTaintRule>]) -> Option<Eviction> {
        let mut found: Option<Eviction> = None;
        for result in claim.status.allocation.get()?.devices.results.iter() {
            let device = self.device(result);
            let own = device.iter().flat_map(|d| d.taints.iter()).map(|taint| (taint, None));
            let ruled = rules.iter().filter(|r| selects(r, &result.driver, &result.pool, &result.device));
            let ruled = ruled.map(|r| (&r.spec.taint, Some((r.metadata.name.clone(), r.metadata.uid.clone()))));
            for (taint, rule) in own.chain(ruled).filter(|(taint, _)| is_evicting(taint)) {
                let Some(when) = ends(result, taint) else { continue };
                let one = Eviction { when, rules: rule.into_iter().collect() };
                found = Some(found.map_or(one.clone(), |found| found.and(one)));
            }
        }
        found
    }

    /// When a pod is to go because of the claims that it uses, with these rules.
    fn eviction(&self, pod: &Pod, rules: &[Rev<DeviceTaintRule>]) -> Option<Eviction> {
        if pod.spec.node_name.is_empty() {
            return None;
        }
        let extended = pod.status.extended_resource_claim_status.get().map(|s| s.resource_claim_name.clone());
        let named = pod.spec.resource_claims.iter().filter_map(|c| {
            let name = resource_claim::name(pod, c).ok().flatten()?;
            Some((name, c.resource_claim_name.get_str().is_none()))
        });
        let mut found: Option<Eviction> = None;
        for (name, own) in named.chain(extended.map(|name| (name, true))) {
            let Some(claim) = self.claims.get(&pod.metadata.namespace, &name) else { continue };
            if own && resource_claim::is_for_pod(pod, &claim).is_err() || !resource_claim::is_reserved_for(pod, &claim)
            {
                continue;
            }
            if let Some(one) = self.claim_eviction(&claim, rules) {
                found = Some(found.map_or(one.clone(), |found| found.and(one)));
            }
        }
        found
    }

    /// Deletes a pod whose time has come; says how long to wait otherwise.
    async fn evict(&self, client: &Client, work: &Item, key: &Key, uid: &Str) -> Result<Duration, Status> {
        let Some(eviction) = self.delete_at.borrow().get(work).cloned() else { return Ok(Duration::ZERO) };
        if self.evicted.borrow().contains(uid) {
            return Ok(Duration::ZERO);
        }
        let left = eviction.when.saturating_sub(self.ctx.unix_nanos());
        if left > 0 {
            return Ok(Duration::from_nanos(u64::try_from(left).unwrap_or(0)));
        }
        self.observed.action(key, "delete".into());
        let gone = match self.mark_and_delete(client, key, uid).await {
            Err(status) if status.is_not_found() => true,
            other => other.map(|()| false)?,
        };
        self.delete_at.borrow_mut().remove(work);
        let mut evicted = self.evicted.borrow_mut();
        while evicted.len() >= EVICTED {
            evicted.pop_front();
        }
        evicted.push_back(uid.clone());
        for (name, rule) in eviction.rules.into_iter().filter(|_| !gone) {
            *self.done.borrow_mut().entry(rule.clone()).or_default() += 1;
            self.queue.add_after(Item::Rule(name, rule), STATUS_PERIOD);
        }
        Ok(Duration::ZERO)
    }

    async fn mark_and_delete(&self, client: &Client, key: &Key, uid: &Str) -> Result<(), Status> {
        let pod: Rev<Pod> = client.get(&key.namespace, &key.name).await?;
        if pod.metadata.uid != *uid {
            return Err(Status::not_found(Pod::KIND, &key.name));
        }
        if pod.metadata.deletion_timestamp.unix().is_some() {
            return Ok(());
        }
        self.tell(&pod, "Marking for deletion");
        let mut status = (*pod.status).clone();
        let condition = PodCondition {
            type_: "DisruptionTarget".into(),
            status: "True".into(),
            reason: "DeletionByDeviceTaintManager".into(),
            message: "Device Taint manager: deleting due to NoExecute taint".into(),
            ..PodCondition::default()
        };
        if utils::update_pod_condition(&mut status, condition, &Time::from_unix_nanos(self.ctx.unix_nanos())) {
            let condition = status.conditions.iter().find(|c| c.type_ == "DisruptionTarget");
            utils::patch_pod_status(client, &pod, None, condition).await?;
        }
        let mut options = DeleteOptions::default();
        *options.preconditions.make() = Preconditions { uid: OStr::some(uid), ..Preconditions::default() };
        client.delete::<Pod>(&key.namespace, &key.name, &options).await
    }

    /// Writes how far a rule's evictions have come; says how long to wait if it was written just now.
    async fn write_status(&self, client: &Client, name: &Str, uid: &Str) -> Result<Duration, Status> {
        let rule = self.rules.get("", name).filter(|rule| rule.metadata.uid == *uid);
        let Some(rule) = rule else { return Ok(Duration::ZERO) };
        let now = self.ctx.unix_nanos();
        let existing = rule.status.conditions.iter().find(|c| c.type_ == CONDITION).cloned();
        if let Some(old) = existing.as_ref().filter(|old| old.observed_generation == rule.metadata.generation) {
            let since = now.saturating_sub(old.last_transition_time.unix().unwrap_or(0).saturating_mul(SECOND));
            let since = Duration::from_nanos(u64::try_from(since).unwrap_or(0));
            if since < STATUS_PERIOD {
                return Ok(STATUS_PERIOD.saturating_sub(since));
            }
        }
        let mut new = self.condition(&rule);
        if let Some(old) = &existing {
            new.last_transition_time = old.last_transition_time;
            if *old == new {
                return Ok(Duration::ZERO);
            }
        }
        new.last_transition_time = Time::from_unix_nanos(now);
        let object = |fields: &[(&str, Value)]| -> Value { fields.iter().cloned().collect() };
        let body = object(&[
            ("apiVersion", DeviceTaintRule::KIND.api_version.into()),
            ("kind", DeviceTaintRule::KIND.kind.into()),
            ("metadata", object(&[("name", Value::from(name)), ("uid", Value::from(uid))])),
            ("status", object(&[("conditions", Value::from(vec![api::json::to_value_bare(&new)]))])),
        ]);
        let verb = Verb::Patch(PatchType::Apply);
        let mut request = client.prepare(verb, DeviceTaintRule::KIND, "", name, "status");
        let options = WriteOptions { field_manager: NAME.into(), force: true, ..WriteOptions::default() };
        request.query = Query::Write(options);
        request.body = Body::Bytes(body.to_json().as_bytes().into());
        self.observed.action(&Key::of(&rule.metadata), "write how far the evictions have come".into());
        client.request(request).await?;
        Ok(Duration::ZERO)
    }

    /// The pods that a rule would have go or has go, and how many namespaces they are in.
    fn pending(&self, rule: &DeviceTaintRule, rules: &[Rev<DeviceTaintRule>]) -> (usize, usize) {
        let (mut count, mut namespaces) = (0, BTreeSet::new());
        for pod in self.pods.list() {
            let claims =
                !pod.spec.resource_claims.is_empty() || pod.status.extended_resource_claim_status.get().is_some();
            if !claims || pod.metadata.deletion_timestamp.unix().is_some() {
                continue;
            }
            let eviction = self.eviction(&pod, rules);
            if eviction.is_some_and(|e| e.rules.iter().any(|(_, uid)| *uid == rule.metadata.uid)) {
                count += 1;
                namespaces.insert(pod.metadata.namespace.clone());
            }
        }
        (count, namespaces.len())
    }

    fn condition(&self, rule: &Rev<DeviceTaintRule>) -> Condition {
        let plural = |n: usize, one: &str, many: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {many}") };
        let evicted = self.done.borrow().get(&rule.metadata.uid).copied().unwrap_or(0);
        let (mut status, mut message) = ("False", String::new());
        let reason = match &*rule.spec.taint.effect {
            "NoExecute" => match self.pending(rule, &self.rules.list()) {
                (0, _) if evicted > 0 => "Completed",
                (0, _) => "NotStarted",
                (pods, namespaces) => {
                    status = "True";
                    let pods = plural(pods, "pod needs", "pods need");
                    let namespaces = plural(namespaces, "namespace", "different namespaces");
                    message = format!("{pods} to be evicted in {namespaces}.");
                    "PodsPendingEviction"
                }
            },
            "None" => {
                // As if it were the other effect, and the only rule.
                let mut simulated = (**rule).clone();
                simulated.spec.make().taint.effect = "NoExecute".into();
                let (pods, namespaces) = self.pending(rule, &[Rev::new(rule.revision, simulated)]);
                let (published, allocated) = self.selected(rule);
                message = format!(
                    "{} selected. {} selected. {} be evicted in {} if the effect was NoExecute. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.",
                    plural(published, "published device", "published devices"),
                    plural(allocated, "allocated device", "allocated devices"),
                    plural(pods, "pod would", "pods would"),
                    plural(namespaces, "namespace", "different namespaces"),
                );
                "NoEffect"
            }
            _ => {
                message = "Eviction only happens for the NoExecute effect.".into();
                "OtherEffect"
            }
        };
        if evicted > 0 {
            let space = if message.is_empty() { "" } else { " " };
            message =
                format!("{message}{space}{} evicted since starting the controller.", plural(evicted, "pod", "pods"));
        }
        Condition {
            type_: CONDITION.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: rule.metadata.generation,
            ..Condition::default()
        }
    }

    /// How many devices a rule is about: of those in slices, and of those allocated.
    fn selected(&self, rule: &DeviceTaintRule) -> (usize, usize) {
        let slices = self.slices.list();
        let newest = |slice: &ResourceSlice| {
            let same = slices
                .iter()
                .filter(|s| s.spec.driver == slice.spec.driver && s.spec.pool.name == slice.spec.pool.name);
            same.map(|s| s.spec.pool.generation).max() == Some(slice.spec.pool.generation)
        };
        let published = slices.iter().filter(|s| newest(s)).map(|s| {
            let devices = s.spec.devices.iter();
            devices.filter(|d| selects(rule, &s.spec.driver, &s.spec.pool.name, &d.name)).count()
        });
        let allocated = self.claims.list().into_iter().map(|claim| {
            let results = claim.status.allocation.get().map(|a| a.devices.results.clone()).unwrap_or_default();
            results.iter().filter(|r| selects(rule, &r.driver, &r.pool, &r.device)).count()
        });
        (published.sum(), allocated.sum())
    }
}

impl Reconcile<Item> for DeviceTaintEviction {
    async fn reconcile(&self, work: &Work<Item>) -> Result<(), SyncError> {
        let client = self.client.caused_by(&work.causes);
        let again = match &work.key {
            Item::Pod(key, uid) => self.evict(&client, &work.key, key, uid).await?,
            Item::Rule(name, uid) => self.write_status(&client, name, uid).await?,
        };
        if !again.is_zero() {
            self.queue.add_after(work.key.clone(), again);
        }
        Ok(())
    }

    fn finished(&self, work: Work<Item>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(_) => self.queue.retry(work),
        }
    }
}
