//! The disruption controller (`pkg/controller/disruption`): counts for every PodDisruptionBudget how many of its pods
//! are healthy and how many may be evicted, and takes back a pod's announced disruption that never came.

mod scale;

use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Pod, PodCondition};
use api::meta_v1::Condition;
use api::policy_v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use api::selector::LabelSelector;
use api::{IntOrString, Map, Rev, Time};
use client::{Client, Delta, EventRecorder, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};
use scale::Owners;

const LOGGER: &str = "disruption-controller";
/// An evicted pod is expected to be gone after so long (`DeletionTimeout`).
const DELETION_TIMEOUT: i64 = 120;
/// A pod that said so long that it will be disrupted, and was not, takes it back (`stalePodDisruptionTimeout`).
const STALE_AFTER: i64 = 120;
const NANOS: i64 = 1_000_000_000;

struct DisruptionController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    budgets: Lister<PodDisruptionBudget>,
    pods: Lister<Pod>,
    owners: Owners,
    queue: WorkQueue<Key>,
    recheck: WorkQueue<Key>,
    stale: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    let log = |text: &str, place: &'static str| klog::info(text).str("logger", LOGGER).log(&cc.ctx, place);
    log("Sending events to api server.", "disruption.go:453");
    log("Starting disruption controller", "disruption.go:460");
    let client = cc.client("disruption-controller");
    let recorder = cc.recorder(&client, "controllermanager", LOGGER);
    let (pods, budgets) = (cc.informer::<Pod>(), cc.informer::<PodDisruptionBudget>());
    let (rcs, sets) = (cc.informer::<api::core_v1::ReplicationController>(), cc.informer());
    let (deployments, stateful_sets) = (cc.informer(), cc.informer());
    let dc = Rc::new(DisruptionController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        budgets: budgets.lister(),
        pods: pods.lister(),
        owners: Owners {
            controllers: rcs.lister(),
            replica_sets: sets.lister(),
            deployments: deployments.lister(),
            stateful_sets: stateful_sets.lister(),
        },
        queue: WorkQueue::new(&cc.ctx, "disruption"),
        recheck: WorkQueue::new(&cc.ctx, "disruption_recheck"),
        stale: WorkQueue::new(&cc.ctx, "stale_pod_disruption"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&dc.queue);
    cc.observed.watch_queue(&dc.stale);
    let this = dc.clone();
    pods.on(move |delta| this.on_pod(delta));
    let this = dc.clone();
    budgets.on(move |delta| this.on_budget(delta));
    futures_util::join!(
        pods.synced(),
        budgets.synced(),
        rcs.synced(),
        sets.synced(),
        deployments.synced(),
        stateful_sets.synced()
    );
    Worker::spawn(&cc.ctx, 1, dc.queue.clone(), dc.clone());
    let this = dc.clone();
    cc.ctx.spawn("recheck", async move { this.recheck().await });
    cc.ctx.spawn("stale", async move { dc.watch_stale().await });
}

impl DisruptionController {
    fn now(&self) -> Time {
        Time::from_unix_nanos(self.ctx.unix_nanos())
    }

    fn on_budget(&self, delta: &Delta<PodDisruptionBudget>) {
        let meta = &delta.object().metadata;
        let (text, place) = match delta {
            Delta::Added(_) => ("Add DB", "disruption.go:491"),
            Delta::Updated { .. } => ("Update DB", "disruption.go:497"),
            Delta::Deleted(_) => ("Remove DB", "disruption.go:515"),
        };
        klog::info(text)
            .str("logger", LOGGER)
            .obj("podDisruptionBudget", &meta.namespace, &meta.name)
            .log(&self.ctx, place);
        self.queue.add_caused(Key::of(meta), delta.revision());
    }

    fn on_pod(&self, delta: &Delta<Pod>) {
        let pod = delta.object();
        let (text, place) = match delta {
            Delta::Added(_) => ("AddPod called on pod", "disruption.go:521"),
            Delta::Updated { .. } => ("UpdatePod called on pod", "disruption.go:536"),
            Delta::Deleted(_) => ("DeletePod called on pod", "disruption.go:568"),
        };
        let line =
            |text: &str| klog::info(text).str("logger", LOGGER).obj("pod", &pod.metadata.namespace, &pod.metadata.name);
        line(text).log(&self.ctx, place);
        match self.budget_of(pod) {
            Some(budget) => self.queue.add_caused(Key::of(&budget.metadata), delta.revision()),
            None => {
                line("No PodDisruptionBudgets found for pod, PodDisruptionBudget controller will avoid syncing.")
                    .log(&self.ctx, "disruption.go:612");
                let place = match delta {
                    Delta::Added(_) => "disruption.go:524",
                    Delta::Updated { .. } => "disruption.go:539",
                    Delta::Deleted(_) => "disruption.go:571",
                };
                line("No matching PDB for pod").log(&self.ctx, place);
            }
        }
        if !matches!(delta, Delta::Deleted(_))
            && let Some(left) = self.stale_after(pod)
        {
            self.stale.add_after(Key::of(&pod.metadata), left);
        }
    }

    /// The budget that counts the pod; of several, the first, with an event.
    fn budget_of(&self, pod: &Rev<Pod>) -> Option<Rev<PodDisruptionBudget>> {
        let meta = &pod.metadata;
        let selects = |b: &Rev<PodDisruptionBudget>| {
            LabelSelector::from_ptr(&b.spec.selector).is_ok_and(|s| s.matches(&meta.labels))
        };
        let mut found = self.budgets.in_namespace(&meta.namespace).into_iter().filter(selects);
        let budget = found.next()?;
        if found.next().is_some() {
            let text = format!(
                "Pod \"{}\"/\"{}\" matches multiple PodDisruptionBudgets.  Chose \"{}\" arbitrarily.",
                meta.namespace, meta.name, budget.metadata.name
            );
            klog::info(&text).str("logger", LOGGER).log(&self.ctx, "disruption.go:618");
            let about = utils::object_ref::<Pod>(meta, pod.revision);
            self.recorder.event(&about, "Warning", "MultiplePodDisruptionBudgets", &text);
        }
        Some(budget)
    }

    /// How long until the pod's announced disruption is stale; none if it announces none.
    fn stale_after(&self, pod: &Pod) -> Option<Duration> {
        if pod.metadata.deletion_timestamp.unix().is_some() || matches!(&*pod.status.phase, "Succeeded" | "Failed") {
            return None;
        }
        let condition = pod.status.conditions.iter().find(|c| c.type_ == "DisruptionTarget")?;
        if condition.status != "True" || condition.reason == "TerminationByKubelet" {
            return None;
        }
        let due = condition.last_transition_time.unix().unwrap_or(0).saturating_add(STALE_AFTER).saturating_mul(NANOS);
        let left = due.saturating_sub(self.ctx.unix_nanos());
        Some(Duration::from_nanos(u64::try_from(left).unwrap_or(0)))
    }

    async fn recheck(&self) {
        loop {
            let work = self.recheck.get().await;
            self.queue.add_rate_limited(work.key.clone());
            self.recheck.done(&work.key);
        }
    }

    async fn watch_stale(&self) {
        loop {
            let work = self.stale.get().await;
            let key = work.key.clone();
            match self.sync_stale(&work).await {
                Ok(()) => self.stale.forget(&key),
                Err(err) => {
                    klog::unhandled(format!(
                        "error syncing Pod {key} to clear DisruptionTarget condition, requeueing: {err}"
                    ))
                    .log(&self.ctx, "disruption.go:693");
                    self.stale.retry(work);
                }
            }
            self.stale.done(&key);
        }
    }

    async fn sync_stale(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(pod) = self.pods.by_key(&work.key) else { return Ok(()) };
        let Some(left) = self.stale_after(&pod) else { return Ok(()) };
        if !left.is_zero() {
            self.stale.add_after(work.key.clone(), left);
            return Ok(());
        }
        let mut new = (*pod).clone();
        let condition = PodCondition {
            type_: "DisruptionTarget".into(),
            status: "False".into(),
            observed_generation: new.metadata.generation,
            ..Default::default()
        };
        if !utils::update_pod_condition(new.status.make(), condition, &self.now()) {
            return Ok(());
        }
        self.client.caused_by(&work.causes).update_status(new, pod.revision).await?;
        klog::info("Reset stale DisruptionTarget condition to False")
            .str("logger", LOGGER)
            .obj("pod", &work.key.namespace, &work.key.name)
            .log(&self.ctx, "disruption.go:811");
        Ok(())
    }

    async fn try_sync(&self, client: &Client, key: &Key, budget: &Rev<PodDisruptionBudget>) -> Result<(), SyncError> {
        let about = utils::object_ref::<PodDisruptionBudget>(&budget.metadata, budget.revision);
        let selector = match LabelSelector::from_ptr(&budget.spec.selector) {
            Ok(selector) => selector,
            Err(err) => {
                self.recorder.event(&about, "Warning", "NoPods", &format!("Failed to get pods: {err}"));
                return Err(err.into());
            }
        };
        let mut pods = self.pods.in_namespace(&key.namespace);
        pods.retain(|pod| selector.matches(&pod.metadata.labels));
        if pods.is_empty() {
            self.recorder.event(&about, "Normal", "NoPods", "No matching pods found");
        }
        let (expected, desired) = match self.expected(client, budget, &pods).await {
            Ok((expected, desired, unmanaged)) => {
                if !unmanaged.is_empty() {
                    self.recorder.event(&about, "Warning", "UnmanagedPods", &unmanaged_text(budget));
                }
                (expected, desired)
            }
            Err(err) => {
                let text = format!("Failed to calculate the number of expected pods: {err}");
                self.recorder.event(&about, "Warning", "CalculateExpectedPodCountFailed", &text);
                return Err(err);
            }
        };
        let (disrupted, recheck) = self.disrupted(budget, &pods);
        let now = self.ctx.unix_nanos();
        let healthy = pods.iter().filter(|pod| is_healthy(pod, &disrupted, now)).count();
        let healthy = i32::try_from(healthy).unwrap_or(i32::MAX);
        self.observed.desired(key, format!("{desired} of {expected} healthy"));
        self.observed.actual(key, format!("{healthy} healthy"));
        self.write(client, key, budget, Counted { healthy, desired, expected, disrupted }).await?;
        if let Some(at) = recheck {
            self.recheck
                .add_after(key.clone(), Duration::from_nanos(u64::try_from(at.saturating_sub(now)).unwrap_or(0)));
        }
        Ok(())
    }

    /// How many pods there should be, how many of them healthy, and which nobody owns.
    async fn expected(
        &self,
        client: &Client,
        budget: &PodDisruptionBudget,
        pods: &[Rev<Pod>],
    ) -> Result<(i32, i32, Vec<api::Str>), SyncError> {
        let spec = &budget.spec;
        if let Some(most) = &spec.max_unavailable {
            let (expected, unmanaged) = scale::expected(&self.owners, client, pods).await?;
            let most = most.scaled_value(expected, true)?;
            return Ok((expected, expected.saturating_sub(most).max(0), unmanaged));
        }
        match &spec.min_available {
            None => Ok((0, 0, Vec::new())),
            Some(IntOrString::Int(least)) => Ok((i32::try_from(pods.len()).unwrap_or(i32::MAX), *least, Vec::new())),
            Some(share) => {
                let (expected, unmanaged) = scale::expected(&self.owners, client, pods).await?;
                Ok((expected, share.scaled_value(expected, true)?, unmanaged))
            }
        }
    }

    /// Pods whose eviction was granted and whose deletion is still to come, and when to look again (nanoseconds since
    /// 1970).
    fn disrupted(&self, budget: &PodDisruptionBudget, pods: &[Rev<Pod>]) -> (Map<Time>, Option<i64>) {
        let (mut kept, mut recheck): (Map<Time>, Option<i64>) = (Map::default(), None);
        for pod in pods.iter().filter(|p| p.metadata.deletion_timestamp.unix().is_none()) {
            let meta = &pod.metadata;
            let Some(since) = budget.status.disrupted_pods.get(&meta.name) else { continue };
            let due = due(since);
            if due < self.ctx.unix_nanos() {
                klog::info("pod was expected to be deleted but it wasn't, updating PDB")
                    .str("logger", LOGGER)
                    .obj("pod", &meta.namespace, &meta.name)
                    .obj("podDisruptionBudget", &budget.metadata.namespace, &budget.metadata.name)
                    .log(&self.ctx, "disruption.go:961");
                // The namespace stands where the name was meant to; so it does in Kubernetes.
                let namespace = &budget.metadata.namespace;
                let text = format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
                self.recorder.event(&utils::object_ref::<Pod>(meta, pod.revision), "Warning", "NotDeleted", &text);
                continue;
            }
            recheck = Some(recheck.map_or(due, |at| at.min(due)));
            kept.insert(meta.name.clone(), *since);
        }
        (kept, recheck)
    }

    async fn write(
        &self,
        client: &Client,
        key: &Key,
        budget: &Rev<PodDisruptionBudget>,
        counted: Counted,
    ) -> Result<(), SyncError> {
        let Counted { healthy, desired, expected, disrupted } = counted;
        let spare = healthy.saturating_sub(desired);
        let allowed = if expected <= 0 || spare <= 0 { 0 } else { spare };
        let status = PodDisruptionBudgetStatus {
            conditions: budget.status.conditions.clone(),
            current_healthy: healthy,
            desired_healthy: desired,
            disrupted_pods: disrupted,
            disruptions_allowed: allowed,
            expected_pods: expected,
            observed_generation: budget.metadata.generation,
        };
        if utils::equal(&status, &*budget.status) && is_condition_up_to_date(budget) {
            return Ok(());
        }
        let mut new = (**budget).clone();
        *new.status.make() = status;
        let (value, reason) = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
        self.set_condition(&mut new, value, reason, "");
        self.observed.action(key, format!("{allowed} disruptions allowed"));
        client.update_status(new, budget.revision).await?;
        Ok(())
    }

    fn set_condition(&self, budget: &mut PodDisruptionBudget, value: &str, reason: &str, message: &str) {
        let status = budget.status.make();
        let condition = Condition {
            type_: "DisruptionAllowed".into(),
            status: value.into(),
            reason: reason.into(),
            message: message.into(),
            observed_generation: status.observed_generation,
            ..Default::default()
        };
        utils::set_status_condition(&mut status.conditions, condition, &self.now());
    }

    /// Nothing may be evicted while nobody knows the counts.
    async fn fail_safe(
        &self,
        client: &Client,
        budget: &Rev<PodDisruptionBudget>,
        err: &SyncError,
    ) -> Result<(), SyncError> {
        let mut new = (**budget).clone();
        new.status.make().disruptions_allowed = 0;
        self.set_condition(&mut new, "False", "SyncFailed", &err.to_string());
        client.update_status(new, budget.revision).await?;
        Ok(())
    }
}

struct Counted {
    healthy: i32,
    desired: i32,
    expected: i32,
    disrupted: Map<Time>,
}

/// When a pod whose eviction was granted must be gone, in nanoseconds since 1970.
fn due(since: &Time) -> i64 {
    since.unix().unwrap_or(0).saturating_add(DELETION_TIMEOUT).saturating_mul(NANOS)
}

fn is_healthy(pod: &Pod, disrupted: &Map<Time>, now: i64) -> bool {
    let leaving = disrupted.get(&pod.metadata.name).is_some_and(|since| due(since) > now);
    pod.metadata.deletion_timestamp.unix().is_none() && !leaving && utils::is_pod_ready(pod)
}

fn is_condition_up_to_date(budget: &PodDisruptionBudget) -> bool {
    let Some(c) = budget.status.conditions.iter().find(|c| c.type_ == "DisruptionAllowed") else { return false };
    if budget.status.disruptions_allowed > 0 {
        c.status == "True" && c.reason == "SufficientPods"
    } else {
        c.status == "False" && c.reason == "InsufficientPods"
    }
}

/// The event about pods that nobody owns, with the selector as Go prints it.
fn unmanaged_text(budget: &PodDisruptionBudget) -> String {
    format!(
        "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status of \
         the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please \
         set \".spec.minAvailable\" field of the PDB to an integer value.",
        utils::label_selector_text(budget.spec.selector.get())
    )
}

impl Reconcile<Key> for DisruptionController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = match self.budgets.by_key(&work.key) {
            None => {
                klog::info("podDisruptionBudget has been deleted")
                    .str("logger", LOGGER)
                    .str("key", &work.key.to_string())
                    .log(&self.ctx, "disruption.go:711");
                Ok(())
            }
            Some(budget) => {
                let client = self.client.caused_by(&work.causes);
                match self.try_sync(&client, &work.key, &budget).await {
                    Err(err) if !err.is_conflict() => {
                        klog::error("Failed to sync PDB")
                            .err(&err)
                            .str("logger", LOGGER)
                            .obj("podDisruptionBudget", &work.key.namespace, &work.key.name)
                            .log(&self.ctx, "disruption.go:725");
                        self.fail_safe(&client, &budget, &err).await
                    }
                    result => result,
                }
            }
        };
        klog::info("Finished syncing PodDisruptionBudget")
            .str("logger", LOGGER)
            .str("key", &work.key.to_string())
            .duration("duration", self.ctx.now().since(started))
            .log(&self.ctx, "disruption.go:702");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::error("Error syncing PodDisruptionBudget, requeuing")
                    .err(err)
                    .str("logger", "UnhandledError")
                    .str("key", &work.key.to_string())
                    .log(&self.ctx, "disruption.go:656");
                self.queue.retry(work);
            }
        }
    }
}
