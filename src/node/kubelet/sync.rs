//! Makes a pod run (pkg/kubelet/kubelet.go, SyncPod; pkg/kubelet/kuberuntime, SyncPod).

use super::actions::{self, Actions};
use super::kubelet::Kubelet;
use super::phase::is_terminal;
use super::record::PodRecordExt;
use super::restart::is_restarting_all;
use super::worker::{Eviction, Outcome, Worker};
use super::{ephemeral, resize, start, statuses, terminate};
use crate::runtime::cri::{Call, PodRecord, Reply, SandboxConfig, State};
use api::core_v1::{Container, Pod, PodStatus};
use api::{Rev, Str};
use client::klog;
use sim::{Duration, Instant};
use std::rc::Rc;

/// The status of a pod as of now.
pub fn status_of(kubelet: &Kubelet, pod: &Rev<Pod>, record: &PodRecord, terminal: bool) -> PodStatus {
    let uid = &pod.metadata.uid;
    let old = kubelet.status_of(pod);
    let reasons = kubelet.reasons.borrow().get(uid).cloned().unwrap_or_default();
    let probes = |name: &str, id: &str| kubelet.probes.verdict(pod, name, id, &old);
    let actuated = |name: &str| kubelet.resizes.actuated(uid, name);
    let mut status = statuses::generate(&statuses::Sources {
        pod,
        old: &old,
        record,
        reasons: &reasons,
        terminal,
        host_ip: &kubelet.host_ip,
        actuated: &actuated,
        resize: kubelet.resizes.conditions(uid),
        probes: &probes,
    });
    if let Some(eviction) = kubelet.worker(uid).and_then(|w| w.eviction()) {
        status.phase = super::phase::FAILED.into();
        if let Some(text) = &eviction.disruption {
            let condition = super::eviction::condition(pod, text);
            match status.conditions.make().iter_mut().find(|c| c.type_ == condition.type_) {
                Some(slot) => *slot = condition,
                None => status.conditions.push(condition),
            }
        }
        status.reason = eviction.reason.into();
        status.message = eviction.message.into();
    }
    status
}

/// Brings a pod nearer to what its spec says.
pub async fn sync_pod(kubelet: &Rc<Kubelet>, worker: &Worker, pod: &Rev<Pod>, record: &Rc<PodRecord>) -> Outcome {
    let meta = &pod.metadata;
    if let Some(end) = past_deadline(kubelet, pod) {
        if end <= kubelet.ctx.now() {
            const MESSAGE: &str = "Pod was active on the node longer than the specified deadline";
            kubelet.event(pod, None, "Normal", "DeadlineExceeded", MESSAGE);
            worker
                .evict(Eviction { reason: "DeadlineExceeded".into(), message: MESSAGE.into(), disruption: None }, None);
            return Outcome::CutShort;
        }
        watch_deadline(kubelet, meta.uid.clone(), end);
    }
    resize::settle(kubelet, pod, record);
    let status = status_of(kubelet, pod, record, false);
    let (phase, restart_all) = (status.phase.clone(), is_restarting_all(&status));
    kubelet.statuses.set(pod, status, false);
    if is_terminal(&phase) {
        return Outcome::Terminal;
    }

    kubelet.objects.register(pod);
    let cut_short = worker.cut_short().notified();
    if worker.is_ending() {
        return Outcome::CutShort;
    }
    let mounting = kubelet.volumes.wait_for_mount(kubelet, pod);
    futures_util::pin_mut!(mounting);
    match futures_util::future::select(mounting, cut_short).await {
        futures_util::future::Either::Left((Ok(()), _)) => {}
        futures_util::future::Either::Left((Err(why), _)) => {
            kubelet.event(pod, None, "Warning", "FailedMount", &format!("Unable to attach or mount volumes: {why}"));
            klog::error("Unable to attach or mount volumes for pod; skipping pod")
                .err(&why)
                .obj("pod", &meta.namespace, &meta.name)
                .log(&kubelet.ctx, "kubelet.go:2239");
            return Outcome::Failed(why, None);
        }
        futures_util::future::Either::Right(_) => return Outcome::CutShort,
    }
    kubelet.probes.add_pod(kubelet, pod);

    let verdict = |probe, id: &str| kubelet.probes.life_verdict(probe, id);
    let mut actions = actions::compute(pod, record, restart_all, &verdict);
    let updates = resize_steps(kubelet, pod, record, &mut actions);
    let changes = !updates.is_empty()
        || actions.kill_pod
        || actions.create_sandbox
        || !actions.reset.is_empty()
        || !(actions.kill.is_empty()
            && actions.start_ephemeral.is_empty()
            && actions.start_init.is_empty()
            && actions.start.is_empty());
    let reset = !actions.reset.is_empty();
    let mut run = Run { kubelet, pod, record, failures: Vec::new(), retry_at: None };
    run.perform(actions).await;
    if reset && run.failures.is_empty() {
        // The next sync starts them, without waiting for anything.
        kubelet.sync_soon(&meta.uid);
    }
    run.update(updates).await;
    if run.failures.is_empty() {
        Outcome::Synced(changes)
    } else {
        let why =
            if run.failures.len() == 1 { run.failures.concat() } else { format!("[{}]", run.failures.join(", ")) };
        Outcome::Failed(why, run.retry_at)
    }
}

/// Adds what a resize has restarted to the actions; gives what it changes while it runs.
fn resize_steps(kubelet: &Kubelet, pod: &Pod, record: &PodRecord, actions: &mut Actions) -> Vec<(Str, Container)> {
    let mut updates = Vec::new();
    if actions.kill_pod || actions.create_sandbox || !actions.reset.is_empty() {
        return updates;
    }
    for step in resize::steps(kubelet, pod, record) {
        let id = match &step {
            resize::Step::Update(id, _) | resize::Step::Restart(_, _, id) => id,
        };
        if actions.kill.iter().any(|k| k.id == *id) {
            continue;
        }
        match step {
            resize::Step::Update(id, container) => updates.push((id, *container)),
            resize::Step::Restart(init, at, id) => {
                let list = if init { &pod.spec.init_containers } else { &pod.spec.containers };
                let name = list.get(at).map(|c| c.name.clone()).unwrap_or_default();
                let message = format!("Container {name} resize requires restart");
                actions.kill.push(actions::Kill { id, name, message, probe: None });
                if init { &mut actions.start_init } else { &mut actions.start }.push(at);
            }
        }
    }
    updates
}

/// When a pod's `activeDeadlineSeconds` are over (pkg/kubelet/active_deadline.go).
fn past_deadline(kubelet: &Kubelet, pod: &Pod) -> Option<Instant> {
    let seconds = u64::try_from(pod.spec.active_deadline_seconds?).ok()?;
    let started = kubelet.status_of(pod).start_time.unix()?;
    let now = kubelet.ctx.now();
    let gone = kubelet.ctx.unix_nanos().saturating_sub(started.saturating_mul(1_000_000_000));
    let left = Duration::from_secs(seconds).saturating_sub(Duration::from_nanos(u64::try_from(gone).unwrap_or(0)));
    Some(now + left)
}

fn watch_deadline(kubelet: &Rc<Kubelet>, uid: Str, end: Instant) {
    let (kubelet, at) = (kubelet.clone(), kubelet.next_tick(end));
    kubelet.ctx.clone().spawn("deadline", async move {
        kubelet.ctx.sleep_until(at).await;
        if kubelet.worker(&uid).is_some_and(|w| !w.is_ending()) {
            kubelet.sync_soon(&uid);
        }
    });
}

/// One sync's work with the runtime.
pub struct Run<'a> {
    /// The kubelet.
    pub kubelet: &'a Rc<Kubelet>,
    /// The pod.
    pub pod: &'a Rev<Pod>,
    /// What was known of it when the sync began.
    pub record: &'a PodRecord,
    /// What failed, as the kubelet words it.
    pub failures: Vec<String>,
    /// The earliest end of a back-off among the failures.
    pub retry_at: Option<Instant>,
}

impl Run<'_> {
    fn fail(&mut self, action: &str, target: &str, error: &str, message: &str) {
        let quote = api::go::quote;
        self.failures.push(format!(
            "failed to {} for {} with {error}: {}",
            quote(action),
            quote(target),
            quote(message)
        ));
    }

    /// Gives running containers what their pod was given.
    async fn update(&mut self, updates: Vec<(Str, Container)>) {
        let (kubelet, pod) = (self.kubelet, self.pod);
        for (id, container) in updates {
            kubelet.pleg.reinspect(&pod.metadata.uid);
            if let Err(why) = resize::update(kubelet, pod, &id, &container).await {
                resize::failed(kubelet, pod, &why);
                self.fail("ResizePodInPlace", &pod.metadata.uid, "ResizePodInPlaceError", &why);
                return;
            }
        }
    }

    async fn perform(&mut self, actions: Actions) {
        let (kubelet, pod) = (self.kubelet, self.pod);
        if actions.create_sandbox && actions.sandbox_id.is_some() {
            kubelet.event(
                pod,
                None,
                "Normal",
                "SandboxChanged",
                "Pod sandbox changed, it will be killed and re-created.",
            );
        }
        if actions.kill_pod {
            if let Err(why) = terminate::kill_pod(kubelet, pod, self.record, None).await {
                self.fail("KillPodSandbox", &pod.metadata.uid, "KillPodSandboxError", &why);
                return;
            }
            if actions.create_sandbox {
                self.remove_init_containers(0).await;
            }
        } else {
            for kill in &actions.kill {
                let grace = terminate::probe_grace(pod, &kill.name, kill.probe);
                if let Err(why) =
                    terminate::kill_container(kubelet, pod, &kill.id, &kill.name, &kill.message, grace, None).await
                {
                    self.fail("KillContainer", &kill.name, "KillContainerError", &why);
                    return;
                }
            }
        }
        if !actions.kill_pod && !self.reset(&actions.reset).await {
            return;
        }
        self.remove_init_containers(1).await;

        let mut sandbox_id = actions.sandbox_id.clone();
        let mut ip = Str::from(self.record.ip());
        if actions.create_sandbox {
            match self.create_sandbox(actions.attempt).await {
                Some(sandbox) => (sandbox_id, ip) = (Some(sandbox.0), sandbox.1),
                None => return,
            }
        }
        if pod.spec.host_network {
            ip = kubelet.host_ip.clone();
        }
        let Some(sandbox_id) = sandbox_id else { return };
        for at in actions.start_ephemeral {
            if let Some(container) = pod.spec.ephemeral_containers.get(at).map(ephemeral::as_container) {
                self.start(&container, &sandbox_id, &ip).await;
            }
        }
        for at in actions.start_init {
            let Some(container) = pod.spec.init_containers.get(at) else { continue };
            if !self.start(container, &sandbox_id, &ip).await && !api::pod::is_sidecar(container) {
                return;
            }
        }
        for at in actions.start {
            if let Some(container) = pod.spec.containers.get(at) {
                self.start(container, &sandbox_id, &ip).await;
            }
        }
    }

    /// Removes containers, those that run are killed at once; whether that went well.
    async fn reset(&mut self, runs: &[actions::Reset]) -> bool {
        let (kubelet, pod) = (self.kubelet, self.pod);
        for run in runs {
            if run.kill {
                let killed = terminate::kill_container(kubelet, pod, &run.id, &run.name, "killing", 0, None).await;
                if let Err(why) = killed {
                    self.fail("RemoveContainer", &run.name, "KillContainerError", &why);
                    return false;
                }
            }
            if let Err(why) = kubelet.runtime.done(Call::RemoveContainer(run.id.clone())).await {
                self.fail("RemoveContainer", &run.name, "RemoveContainerError", &why.to_string());
                return false;
            }
        }
        true
    }

    /// Removes ended runs of init containers but for the newest `keep` of each.
    async fn remove_init_containers(&self, keep: usize) {
        for container in self.pod.spec.init_containers.iter() {
            let runs = self.record.containers.iter().filter(|c| c.name == container.name);
            let ended = runs.filter(|c| matches!(c.state, State::Exited | State::Unknown) || keep == 0);
            let gone: Vec<Str> = ended.skip(keep).map(|c| c.id.clone()).collect();
            for id in gone {
                let _ = self.kubelet.runtime.done(Call::RemoveContainer(id)).await;
            }
        }
    }

    /// Makes a sandbox: its id and address.
    async fn create_sandbox(&mut self, attempt: u32) -> Option<(Str, Str)> {
        let (kubelet, pod) = (self.kubelet, self.pod);
        let meta = &pod.metadata;
        let mut port_mappings = Vec::new();
        for port in pod.spec.containers.iter().flat_map(|c| c.ports.iter()).filter(|p| p.host_port != 0) {
            if let (Ok(host), Ok(inside)) = (u16::try_from(port.host_port), u16::try_from(port.container_port)) {
                port_mappings.push((host, inside));
            }
        }
        let config = SandboxConfig {
            pod_uid: meta.uid.clone(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            attempt,
            hostname: hostname(pod, &kubelet.config.node_name),
            host_network: pod.spec.host_network,
            port_mappings,
        };
        if let Err(why) = super::dynamic_resources::prepare(kubelet, pod).await {
            // No failure of the sync: the next one tries again.
            let text = format!("Failed to prepare dynamic resources: {why}");
            kubelet.event(pod, None, "Warning", "FailedPrepareDynamicResources", &text);
            return None;
        }
        match kubelet.runtime.call(Call::RunSandbox(Rc::new(config))).await {
            Ok(Reply::Sandbox(sandbox)) => {
                let mut status = (*kubelet.status_of(pod)).clone();
                let ready = super::conditions::sandbox_ready(pod);
                match status.conditions.make().iter_mut().find(|c| c.type_ == ready.type_) {
                    Some(slot) => *slot = ready,
                    None => status.conditions.push(ready),
                }
                kubelet.statuses.set(pod, status, false);
                Some((sandbox.id.clone(), sandbox.ip.clone()))
            }
            Ok(_) => None,
            Err(why) => {
                if !kubelet.worker(&meta.uid).is_some_and(|w| w.is_ending()) {
                    let why = why.to_string();
                    kubelet.event(
                        pod,
                        None,
                        "Warning",
                        "FailedCreatePodSandBox",
                        &format!("Failed to create pod sandbox: {why}"),
                    );
                    let whole = format!("{}_{}({})", meta.name, meta.namespace, meta.uid);
                    let message = format!("Failed to create sandbox for pod {}: {why}", api::go::quote(&whole));
                    self.fail("CreatePodSandbox", &whole, "CreatePodSandboxError", &message);
                }
                None
            }
        }
    }

    /// Starts a container unless it is backing off; whether it did.
    async fn start(&mut self, container: &Container, sandbox_id: &Str, ip: &Str) -> bool {
        let (kubelet, pod, uid) = (self.kubelet, self.pod, &self.pod.metadata.uid);
        let result = match self.back_off(container) {
            Some((message, until)) => {
                self.retry_at = Some(self.retry_at.map_or(until, |at| at.min(until)));
                Err(("CrashLoopBackOff".to_string(), message))
            }
            None => start::start_container(kubelet, pod, container, self.record, sandbox_id, ip).await,
        };
        let mut reasons = kubelet.reasons.borrow_mut();
        match result {
            Ok(()) => {
                if let Some(of_pod) = reasons.get_mut(uid) {
                    of_pod.forget(&container.name);
                }
                true
            }
            Err((reason, message)) => {
                reasons.entry(uid.clone()).or_default().fail(&container.name, reason.as_str(), message.as_str());
                drop(reasons);
                self.fail("StartContainer", &container.name, &reason, &message);
                false
            }
        }
    }

    /// Whether a container that ended must wait: what the status says, and until when (doBackOff).
    fn back_off(&self, container: &Container) -> Option<(String, Instant)> {
        let (kubelet, pod) = (self.kubelet, self.pod);
        let meta = &pod.metadata;
        let ended = self.record.containers.iter().find(|c| c.name == container.name && c.state == State::Exited)?;
        let now = kubelet.ctx.now();
        let gone = kubelet.ctx.unix_nanos().saturating_sub(ended.finished_at);
        let finished = Instant::from_nanos(now.as_nanos().saturating_sub(u64::try_from(gone).unwrap_or(0)));
        let whole = format!("{}_{}({})", meta.name, meta.namespace, meta.uid);
        let key = format!("{whole}_{}_{:x}", container.name, super::hash::container_hash(container));
        let mut backoff = kubelet.crash_backoff.borrow_mut();
        if backoff.in_backoff_since(&key, finished, now) {
            let delay = backoff.get(&key);
            drop(backoff);
            kubelet.event(
                pod,
                Some(&container.name),
                "Warning",
                "BackOff",
                &format!("Back-off restarting failed container {} in pod {whole}", container.name),
            );
            let message = format!(
                "back-off {} restarting failed container={} pod={whole}",
                super::go::duration(delay),
                container.name
            );
            return Some((message, finished + delay));
        }
        backoff.next(&key, finished, now);
        None
    }
}

/// The host name inside a pod: what it says, or its own name, at most 63 characters.
pub fn hostname(pod: &Pod, node: &Str) -> Str {
    if pod.spec.host_network {
        return node.clone();
    }
    if let Some(name) = pod.spec.hostname_override.get() {
        return name.into();
    }
    let name = if pod.spec.hostname.is_empty() { &pod.metadata.name } else { &pod.spec.hostname };
    let cut: String = name.chars().take(63).collect();
    cut.trim_end_matches(['-', '.']).into()
}
