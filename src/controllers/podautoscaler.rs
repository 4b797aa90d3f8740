//! The horizontal pod autoscaler (`pkg/controller/podautoscaler`): keeps a workload between its fewest and its most
//! replicas.
//!
//! Between the two it would follow metrics, but nothing in this cluster serves a metrics API, as in one without a
//! metrics server: every computation ends with the error of the missing API.

use std::rc::Rc;
use std::time::Duration;

use api::SortSmall;
use api::autoscaling_v1::Scale;
use api::autoscaling_v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, MetricSpec, MetricStatus, MetricTarget,
};
use api::core_v1::Pod;
use api::rest::{Answer, Verb};
use api::selector::LabelSelector;
use api::{KindInfo, List, Rev, Status, Str, Time};
use client::{Client, Delta, EventRecorder, Key, Lister, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::{self as utils, SyncError};
use crate::worker::{Reconcile, Worker};

const LOGGER: &str = "horizontal-pod-autoscaler-controller";
/// Every autoscaler is looked at this often (`--horizontal-pod-autoscaler-sync-period`).
const SYNC_PERIOD: Duration = Duration::from_secs(15);
/// How often a scale is written again after a conflict (`retry.DefaultRetry`).
const CONFLICTS: usize = 5;
const ABLE: &str = "AbleToScale";
const ACTIVE: &str = "ScalingActive";

struct HorizontalController {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    autoscalers: Lister<HorizontalPodAutoscaler>,
    pods: Lister<Pod>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting HPA controller").str("logger", LOGGER).log(&cc.ctx, "horizontal.go:228");
    let client = cc.client("horizontal-pod-autoscaler");
    let recorder = cc.recorder(&client, "horizontal-pod-autoscaler", LOGGER);
    let (autoscalers, pods) = (cc.informer::<HorizontalPodAutoscaler>(), cc.informer::<Pod>());
    let limiter = RateLimiter::exponential(SYNC_PERIOD, SYNC_PERIOD);
    let controller = Rc::new(HorizontalController {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        autoscalers: autoscalers.lister(),
        pods: pods.lister(),
        queue: WorkQueue::with_limiter(&cc.ctx, "horizontalpodautoscaler", limiter),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&controller.queue);
    let this = controller.clone();
    autoscalers.on(move |delta| {
        let meta = &delta.object().metadata;
        let key = Key::of(meta);
        match delta {
            Delta::Updated { old, new } if old.metadata.generation == new.metadata.generation => {
                this.queue.add_rate_limited(key);
            }
            Delta::Added(_) | Delta::Updated { .. } => this.queue.add_caused(key, delta.revision()),
            Delta::Deleted(_) => this.queue.forget(&key),
        }
    });
    futures_util::join!(autoscalers.synced(), pods.synced());
    Worker::spawn(&cc.ctx, 5, controller.queue.clone(), controller);
}

/// An autoscaler while it is looked at.
struct Draft {
    hpa: HorizontalPodAutoscaler,
    revision: u64,
}

/// A metric that can't be had.
struct Failed {
    reason: &'static str,
    /// What went wrong.
    error: String,
    /// Which metric it went wrong for.
    of: String,
}

impl HorizontalController {
    fn event(&self, draft: &Draft, type_: &str, reason: &str, text: &str) {
        let about = utils::object_ref::<HorizontalPodAutoscaler>(&draft.hpa.metadata, draft.revision);
        self.recorder.event(&about, type_, reason, text);
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(self.ctx.unix_nanos())
    }

    fn set_condition(&self, draft: &mut Draft, type_: &str, is_true: bool, reason: &str, message: &str) {
        let now = self.now();
        let conditions = draft.hpa.status.make().conditions.make();
        if !conditions.iter().any(|c| c.type_ == type_) {
            conditions.push(HorizontalPodAutoscalerCondition { type_: type_.into(), ..Default::default() });
        }
        let Some(condition) = conditions.iter_mut().find(|c| c.type_ == type_) else { return };
        let value = if is_true { "True" } else { "False" };
        if condition.status != value {
            condition.last_transition_time = now;
        }
        condition.status = value.into();
        condition.reason = reason.into();
        condition.message = message.into();
    }

    fn set_status(&self, draft: &mut Draft, current: i32, desired: i32, metrics: List<MetricStatus>, rescaled: bool) {
        let now = self.now();
        let generation = draft.hpa.metadata.generation;
        let status = draft.hpa.status.make();
        status.current_replicas = current;
        status.desired_replicas = desired;
        status.current_metrics = metrics;
        status.observed_generation = Some(generation);
        if rescaled {
            status.last_scale_time = now;
        }
    }

    async fn write(&self, client: &Client, draft: Draft, old: &HorizontalPodAutoscaler) -> Result<(), SyncError> {
        if utils::equal(&*draft.hpa.status, &*old.status) {
            return Ok(());
        }
        let about = utils::object_ref::<HorizontalPodAutoscaler>(&draft.hpa.metadata, draft.revision);
        let name = draft.hpa.metadata.name.clone();
        if let Err(err) = client.update_status(draft.hpa, draft.revision).await {
            self.recorder.event(&about, "Warning", "FailedUpdateStatus", &err.to_string());
            return Err(format!("failed to update status for {name}: {err}").into());
        }
        Ok(())
    }

    /// The autoscaler can't scale: says so, and fails.
    async fn unable(
        &self,
        client: &Client,
        mut draft: Draft,
        old: &HorizontalPodAutoscaler,
        error: &str,
        result: String,
    ) -> Result<(), SyncError> {
        self.event(&draft, "Warning", "FailedGetScale", error);
        let text = format!("the HPA controller was unable to get the target's current scale: {error}");
        self.set_condition(&mut draft, ABLE, false, "FailedGetScale", &text);
        if let Err(err) = self.write(client, draft, old).await {
            klog::unhandled(err).log(&self.ctx, "horizontal.go:852");
        }
        Err(result.into())
    }

    async fn reconcile_autoscaler(&self, client: &Client, old: &Rev<HorizontalPodAutoscaler>) -> Result<(), SyncError> {
        let mut draft = Draft { hpa: (**old).clone(), revision: old.revision };
        let target = old.spec.scale_target_ref.clone();
        let namespace = old.metadata.namespace.clone();
        let key = Key::of(&old.metadata);
        let reference = format!("{}/{namespace}/{}", target.kind, target.name);
        let Some(kind) = api::scheme::by_api_version(&target.api_version, &target.kind) else {
            let (group, _) = api::scheme::group_version(&target.api_version);
            let error = format!("no matches for kind \"{}\" in group \"{group}\"", target.kind);
            let result = format!("unable to determine resource for scale target reference: {error}");
            return self.unable(client, draft, old, &error, result).await;
        };
        let scale = match get_scale(client, kind, &namespace, &target.name).await {
            Ok(scale) => scale,
            Err(err) => {
                let result = format!("failed to query scale subresource for {reference}: {err}");
                return self.unable(client, draft, old, &err.to_string(), result).await;
            }
        };
        let text = "the HPA controller was able to get the target's current scale";
        self.set_condition(&mut draft, ABLE, true, "SucceededGetScale", text);
        let current = scale.spec.replicas;
        let (least, most) = (old.spec.min_replicas.unwrap_or(1), old.spec.max_replicas);
        self.observed.desired(&key, format!("{least} to {most} replicas"));
        self.observed.actual(&key, format!("{current} replicas"));
        if current == 0 {
            let text = "scaling is disabled since the replica count of the target is zero";
            self.set_condition(&mut draft, ACTIVE, false, "ScalingDisabled", text);
            self.set_status(&mut draft, current, current, List::default(), false);
            return self.write(client, draft, old).await;
        }
        let (desired, why) = if current > most {
            (most, "Current number of replicas above Spec.MaxReplicas")
        } else if current < least {
            (least, "Current number of replicas below Spec.MinReplicas")
        } else {
            return self.follow_metrics(client, draft, old, &scale, &reference).await;
        };
        self.observed.action(&key, format!("scale to {desired}"));
        if let Err(err) = self.rescale(client, kind, &scale, desired).await {
            let text = format!("New size: {desired}; reason: {why}; error: {err}");
            self.event(&draft, "Warning", "FailedRescale", &text);
            let text = format!("the HPA controller was unable to update the target scale: {err}");
            self.set_condition(&mut draft, ABLE, false, "FailedUpdateScale", &text);
            let kept = draft.hpa.status.desired_replicas;
            self.set_status(&mut draft, current, kept, List::default(), false);
            if let Err(err) = self.write(client, draft, old).await {
                klog::unhandled(err).log(&self.ctx, "horizontal.go:1023");
            }
            return Err(format!("failed to rescale {reference}: {err}").into());
        }
        let text = format!("the HPA controller was able to update the target scale to {desired}");
        self.set_condition(&mut draft, ABLE, true, "SucceededRescale", &text);
        self.event(&draft, "Normal", "SuccessfulRescale", &format!("New size: {desired}; reason: {why}"));
        klog::info("Successfully rescaled")
            .str("logger", LOGGER)
            .obj("HPA", &namespace, &old.metadata.name)
            .raw("currentReplicas", current)
            .raw("desiredReplicas", desired)
            .str("reason", why)
            .log(&self.ctx, "horizontal.go:1032");
        self.set_status(&mut draft, current, desired, List::default(), true);
        self.write(client, draft, old).await
    }

    async fn rescale(&self, client: &Client, kind: &KindInfo, scale: &Rev<Scale>, desired: i32) -> Result<(), Status> {
        let mut scale = scale.clone();
        let mut result = Ok(());
        for _ in 0..CONFLICTS {
            let mut wanted = (*scale).clone();
            wanted.spec.make().replicas = desired;
            result = client.update_kind(kind, "scale", Box::new(wanted), scale.revision).await.map(drop);
            if !result.as_ref().is_err_and(Status::is_conflict) {
                return result;
            }
            scale = get_scale(client, kind, &scale.metadata.namespace, &scale.metadata.name).await?;
        }
        result
    }

    /// Would follow the metrics.
    async fn follow_metrics(
        &self,
        client: &Client,
        mut draft: Draft,
        old: &HorizontalPodAutoscaler,
        scale: &Scale,
        reference: &str,
    ) -> Result<(), SyncError> {
        let current = scale.spec.replicas;
        let kept = draft.hpa.status.desired_replicas;
        let metrics = &old.spec.metrics;
        let (error, statuses) = match self.check_selector(&mut draft, &scale.status.selector) {
            Err(error) => (error, List::default()),
            Ok(()) => {
                let mut first: Option<Failed> = None;
                for metric in metrics.iter() {
                    let failed = failure(metric, &old.metadata.namespace);
                    self.event(&draft, "Warning", failed.reason, &failed.error);
                    first.get_or_insert(failed);
                }
                let Some(failed) = first else { return Ok(()) };
                let text = format!("the HPA was unable to compute the replica count: {}", failed.error);
                self.set_condition(&mut draft, ACTIVE, false, failed.reason, &text);
                let count = metrics.len();
                let error = format!(
                    "invalid metrics ({count} invalid out of {count}), first error is: {}{}",
                    failed.of, failed.error
                );
                // Nothing was measured: a status for each metric with nothing in it.
                (error, metrics.iter().map(|_| MetricStatus::default()).collect())
            }
        };
        self.set_status(&mut draft, current, kept, statuses, false);
        let about = utils::object_ref::<HorizontalPodAutoscaler>(&draft.hpa.metadata, draft.revision);
        if let Err(err) = self.write(client, draft, old).await {
            klog::unhandled(err).log(&self.ctx, "horizontal.go:944");
        }
        self.recorder.event(&about, "Warning", "FailedComputeMetricsReplicas", &error);
        Err(format!("failed to compute desired number of replicas based on listed metrics for {reference}: {error}")
            .into())
    }

    /// The target must select pods, and no other autoscaler's target the same ones.
    fn check_selector(&self, draft: &mut Draft, selector: &Str) -> Result<(), String> {
        if selector.is_empty() {
            self.event(draft, "Warning", "SelectorRequired", "selector is required");
            let text = "the HPA target's scale is missing a selector";
            self.set_condition(draft, ACTIVE, false, "InvalidSelector", text);
            return Err("selector is required".to_string());
        }
        let parsed = match LabelSelector::parse(selector) {
            Ok(parsed) => parsed,
            Err(err) => {
                let text = format!("couldn't convert selector into a corresponding internal selector object: {err}");
                self.event(draft, "Warning", "InvalidSelector", &text);
                self.set_condition(draft, ACTIVE, false, "InvalidSelector", &text);
                return Err(text);
            }
        };
        let (namespace, name) = (draft.hpa.metadata.namespace.clone(), draft.hpa.metadata.name.clone());
        let selects_any = self.pods.in_namespace(&namespace).iter().any(|p| parsed.matches(&p.metadata.labels));
        let target = draft.hpa.spec.scale_target_ref.clone();
        let same = |other: &Rev<HorizontalPodAutoscaler>| {
            let t = &other.spec.scale_target_ref;
            other.metadata.name != name && t.kind == target.kind && t.name == target.name
        };
        let mut others = self.autoscalers.in_namespace(&namespace).into_iter().filter(same);
        if let Some(other) = others.next().filter(|_| selects_any) {
            let mut names = [format!("{namespace}/{name}"), format!("{namespace}/{}", other.metadata.name)];
            names.sort_small();
            let text =
                format!("pods by selector {selector} are controlled by more than one HPA (e.g. [{}])", names.join(" "));
            self.event(draft, "Warning", "AmbiguousSelector", &text);
            self.set_condition(draft, ACTIVE, false, "AmbiguousSelector", &text);
            return Err(text);
        }
        Ok(())
    }
}

async fn get_scale(client: &Client, kind: &KindInfo, namespace: &str, name: &str) -> Result<Rev<Scale>, Status> {
    let answer = client.request(client.prepare(Verb::Get, kind, namespace, name, "scale")).await?.answer;
    let Answer::Object(object) = answer else { return Err(Status::internal("not a Scale")) };
    object.downcast::<Scale>().ok_or_else(|| Status::internal("not a Scale"))
}

/// How asking for a metric fails where no metrics API is served.
fn failure(metric: &MetricSpec, namespace: &str) -> Failed {
    const NO_RESOURCE: &str = "unable to fetch metrics from resource metrics API: the server could not find the \
        requested resource (get pods.metrics.k8s.io)";
    const NO_CUSTOM: &str =
        "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";
    let resource = |name: &Str, target: &MetricTarget| {
        if target.average_value.is_none() && target.average_utilization.is_none() {
            let text = "invalid resource metric source: neither an average utilization target nor an average value \
                (usage) target was set";
            return text.to_string();
        }
        let what = if target.average_value.is_some() { "usage" } else { "utilization" };
        format!("failed to get {name} {what}: unable to get metrics for resource {name}: {NO_RESOURCE}")
    };
    if let Some(source) = metric.resource.get() {
        return Failed {
            reason: "FailedGetResourceMetric",
            error: resource(&source.name, &source.target),
            of: format!("failed to get {} resource metric value: ", source.name),
        };
    }
    if let Some(source) = metric.container_resource.get() {
        return Failed {
            reason: "FailedGetContainerResourceMetric",
            error: resource(&source.name, &source.target),
            of: format!("failed to get {} container metric value: ", source.container),
        };
    }
    if let Some(source) = metric.pods.get() {
        return Failed {
            reason: "FailedGetPodsMetric",
            error: format!("unable to get metric {}: {NO_CUSTOM}", source.metric.name),
            of: "failed to get pods metric value: ".to_string(),
        };
    }
    if let Some(source) = metric.object.get() {
        let (name, about) = (&source.metric.name, &source.described_object);
        return Failed {
            reason: "FailedGetObjectMetric",
            error: format!("unable to get metric {name} on {} {namespace}/{}: {NO_CUSTOM}", about.kind, about.name),
            of: format!("failed to get object metric value: failed to get {name} object metric: "),
        };
    }
    if let Some(source) = metric.external.get() {
        let name = &source.metric.name;
        let selector = utils::label_selector_text(source.metric.selector.get());
        return Failed {
            reason: "FailedGetExternalMetric",
            error: format!(
                "unable to get external metric {namespace}/{name}/{selector}: unable to fetch metrics from external \
                 metrics API: the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
            ),
            of: format!("failed to get {name} external metric value: failed to get {name} external metric: "),
        };
    }
    Failed {
        reason: "InvalidMetricSourceType",
        error: format!("unknown metric source type {}", api::go::quote(&metric.type_)),
        of: String::new(),
    }
}

impl Reconcile<Key> for HorizontalController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let key = &work.key;
        let Some(hpa) = self.autoscalers.by_key(key) else {
            klog::info("Horizontal Pod Autoscaler has been deleted")
                .str("logger", LOGGER)
                .obj("HPA", &key.namespace, &key.name)
                .log(&self.ctx, "horizontal.go:572");
            return Ok(());
        };
        self.reconcile_autoscaler(&self.client.caused_by(&work.causes), &hpa).await
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        if let Err(err) = result {
            klog::unhandled(err).log(&self.ctx, "horizontal.go:354");
        }
        // Looked at again after the sync period, as long as it is there.
        if self.autoscalers.by_key(&work.key).is_some() {
            self.queue.add_rate_limited(work.key);
        } else {
            self.queue.forget(&work.key);
        }
    }
}
