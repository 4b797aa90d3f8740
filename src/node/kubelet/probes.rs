//! Startup, liveness and readiness probes (pkg/kubelet/prober): one task for each probe of each container.

use super::actions::{LifeProbe, Verdict};
use super::kubelet::Kubelet;
use super::phase::is_terminal;
use super::restart::{container_should_restart, is_restarting_all};
use super::{hooks, sync};
use crate::runtime::cri::{Call, Reply};
use crate::runtime::grpc::{Health, HealthCheck};
use crate::runtime::http::HttpRequest;
use crate::runtime::program::fetch;
use api::core_v1::{Container, ContainerStatus, GRPCAction, Pod, PodStatus, Probe};
use api::pod::is_sidecar;
use api::{Rev, Str};
use futures_util::future::select;
use sim::sync::Notify;
use sim::{Addr, Conn, Duration, Instant, JoinHandle, NetError};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes of a probe's output that its event shows.
const OUTPUT: usize = 10 << 10;

/// Which probe of a container.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
        }
    }
    fn of(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.get(),
            Self::Liveness => container.liveness_probe.get(),
            Self::Readiness => container.readiness_probe.get(),
        }
    }
}

struct Task {
    handle: JoinHandle<()>,
    trigger: Notify,
    triggered: Rc<Cell<bool>>,
}

type Key = (Str, Str, Kind);

/// The probes of the node's pods. Bounded by their containers.
pub struct Probes {
    tasks: RefCell<BTreeMap<Key, Task>>,
    /// By container id.
    results: RefCell<BTreeMap<(Str, Kind), Verdict>>,
    /// No probe is set off by looking.
    quiet: Cell<bool>,
}

impl Probes {
    /// No probes yet.
    pub fn new() -> Rc<Self> {
        Rc::new(Self { tasks: RefCell::default(), results: RefCell::default(), quiet: Cell::new(false) })
    }

    /// What a probe last said of a container that may have to be killed.
    pub fn life_verdict(&self, probe: LifeProbe, id: &str) -> Option<Verdict> {
        let kind = if probe == LifeProbe::Liveness { Kind::Liveness } else { Kind::Startup };
        self.results.borrow().get(&(Str::from(id), kind)).copied()
    }

    /// Whether a running container has started, and whether it is ready (`None`: no probe has a say).
    pub fn verdict(&self, pod: &Pod, name: &str, container_id: &str, old: &PodStatus) -> (bool, Option<bool>) {
        let id = Str::from(container_id.strip_prefix("containerd://").unwrap_or(container_id));
        let uid = &pod.metadata.uid;
        let result = |kind| self.results.borrow().get(&(id.clone(), kind)).copied();
        let exists = |kind| self.tasks.borrow().contains_key(&(uid.clone(), Str::from(name), kind));
        // After a restart of the kubelet a container keeps the state it had until its probes say otherwise.
        let before = old.container_statuses.iter().chain(old.init_container_statuses.iter()).find(|s| s.name == *name);
        let before = before.filter(|s| s.container_id == *container_id);
        let container = pod.spec.containers.iter().chain(pod.spec.init_containers.iter()).find(|c| c.name == *name);
        let has = |kind: Kind| container.is_some_and(|c| kind.of(c).is_some());
        let started = match result(Kind::Startup) {
            Some(verdict) => verdict == Verdict::Success,
            None => !has(Kind::Startup) || before.and_then(|s| s.started).unwrap_or(false),
        };
        let ready = match result(Kind::Readiness) {
            Some(Verdict::Success) => Some(true),
            seen => {
                if exists(Kind::Readiness) && !self.quiet.get() {
                    self.trigger(&(uid.clone(), Str::from(name), Kind::Readiness));
                }
                has(Kind::Readiness).then(|| seen.is_none() && before.is_some_and(|s| s.ready))
            }
        };
        (started, ready)
    }

    fn trigger(&self, key: &Key) {
        if let Some(task) = self.tasks.borrow().get(key)
            && !task.triggered.replace(true)
        {
            task.trigger.notify();
        }
    }

    /// Starts the probes of a pod that are not yet there.
    pub fn add_pod(&self, kubelet: &Rc<Kubelet>, pod: &Rev<Pod>) {
        let sidecars = pod.spec.init_containers.iter().filter(|c| is_sidecar(c));
        for container in pod.spec.containers.iter().chain(sidecars) {
            for kind in [Kind::Startup, Kind::Readiness, Kind::Liveness] {
                if kind.of(container).is_none() {
                    continue;
                }
                let key = (pod.metadata.uid.clone(), container.name.clone(), kind);
                if self.tasks.borrow().contains_key(&key) {
                    continue;
                }
                let (trigger, triggered) = (Notify::new(), Rc::new(Cell::new(false)));
                let prober = Prober {
                    kubelet: kubelet.clone(),
                    pod: pod.clone(),
                    container: container.clone(),
                    kind,
                    id: Str::default(),
                    last: None,
                    run: 0,
                    on_hold: false,
                };
                let handle = kubelet.ctx.spawn("probe", run(prober, trigger.clone(), triggered.clone()));
                self.tasks.borrow_mut().insert(key, Task { handle, trigger, triggered });
            }
        }
    }

    /// The pod is being ended: its containers are no longer killed for their probes.
    pub fn stop_liveness_and_startup(&self, uid: &Str) {
        self.stop(uid, |kind| kind != Kind::Readiness);
    }

    /// The pod has ended.
    pub fn remove_pod(&self, uid: &Str) {
        self.stop(uid, |_| true);
    }

    fn stop(&self, uid: &Str, which: impl Fn(Kind) -> bool) {
        self.tasks.borrow_mut().retain(|(of, _, kind), task| {
            let stop = of == uid && which(*kind);
            if stop {
                task.handle.abort();
            }
            !stop
        });
    }

    fn forget(&self, id: &Str, kind: Kind) {
        self.results.borrow_mut().remove(&(id.clone(), kind));
    }
}

/// One probe at work.
struct Prober {
    kubelet: Rc<Kubelet>,
    pod: Rev<Pod>,
    container: Container,
    kind: Kind,
    /// The container that was probed last.
    id: Str,
    last: Option<Verdict>,
    run: i32,
    on_hold: bool,
}

async fn run(mut prober: Prober, trigger: Notify, triggered: Rc<Cell<bool>>) {
    let ctx = prober.kubelet.ctx.clone();
    let Some(spec) = prober.kind.of(&prober.container) else { return };
    let period = Duration::from_secs(u64::try_from(spec.period_seconds.max(1)).unwrap_or(10));
    if period > ctx.now().since(prober.kubelet.started) {
        let part = prober.kubelet.rng.borrow_mut().below(1_000);
        ctx.sleep(period * part / 1_000).await;
    }
    let mut first = ctx.now();
    let meta = &prober.pod.metadata;
    let name: Rc<str> = match prober.kind {
        Kind::Liveness => format!("liveness {}/{}", meta.namespace, meta.name),
        Kind::Readiness | Kind::Startup => format!("probe {}/{}", meta.namespace, meta.name),
    }
    .into();
    loop {
        if !prober.probe_once().await {
            break;
        }
        let set_off = trigger.notified();
        if triggered.replace(false) {
            first = ctx.now();
            continue;
        }
        let next: Instant = super::ticks::next(first, period, ctx.now());
        select(set_off, ctx.sleep_until(next).named(name.clone())).await;
        if triggered.replace(false) {
            first = ctx.now();
        }
    }
    let probes = prober.kubelet.probes.clone();
    probes.forget(&prober.id, prober.kind);
    probes.tasks.borrow_mut().remove(&(prober.pod.metadata.uid.clone(), prober.container.name.clone(), prober.kind));
}

impl Prober {
    /// Sets a result, and tells of a change.
    fn set(&self, verdict: Verdict) {
        let probes = &self.kubelet.probes;
        let old = probes.results.borrow_mut().insert((self.id.clone(), self.kind), verdict);
        if old == Some(verdict) {
            return;
        }
        let uid = &self.pod.metadata.uid;
        let concerns = self.kind != Kind::Liveness || verdict == Verdict::Failure;
        if concerns && let Some(pod) = self.kubelet.pod(uid) {
            if self.kind != Kind::Liveness {
                probes.quiet.set(true);
                let record = self.kubelet.pleg.record(uid);
                let status = sync::status_of(&self.kubelet, &pod, &record, false);
                probes.quiet.set(false);
                self.kubelet.statuses.set(&pod, status, false);
            }
            self.kubelet.sync_soon(uid);
        }
    }

    /// One turn; false if there will be nothing to probe any more.
    async fn probe_once(&mut self) -> bool {
        let kubelet = self.kubelet.clone();
        let Some(status) = kubelet.statuses.get(&self.pod.metadata.uid) else { return true };
        if is_terminal(&status.phase) {
            return false;
        }
        let all = status.container_statuses.iter().chain(status.init_container_statuses.iter());
        let Some(one) = all.into_iter().find(|s| s.name == self.container.name && !s.container_id.is_empty()) else {
            return true;
        };
        let one: ContainerStatus = one.clone();
        let id = Str::from(one.container_id.strip_prefix("containerd://").unwrap_or(&one.container_id));
        if id != self.id {
            kubelet.probes.forget(&self.id, self.kind);
            self.id = id;
            let began = one.state.running.get().and_then(|r| r.started_at.unix()).unwrap_or(i64::MAX);
            let up = i64::try_from(kubelet.ctx.now().since(kubelet.started).as_secs()).unwrap_or(0);
            let older =
                began.saturating_add(10) < kubelet.ctx.unix_nanos().div_euclid(1_000_000_000).saturating_sub(up);
            if !older {
                match self.kind {
                    Kind::Readiness => self.set(Verdict::Failure),
                    Kind::Liveness => self.set(Verdict::Success),
                    Kind::Startup => {}
                }
            } else if self.kind == Kind::Startup && one.started == Some(true) {
                self.set(Verdict::Success);
            }
            self.on_hold = false;
        }
        if self.on_hold {
            return true;
        }
        let Some(running) = one.state.running.get() else {
            self.set(Verdict::Failure);
            return one
                .state
                .terminated
                .get()
                .is_none_or(|t| container_should_restart(&self.container, &self.pod.spec, t.exit_code))
                || is_restarting_all(&status);
        };
        let ending = kubelet.pod(&self.pod.metadata.uid).is_some_and(|p| !p.metadata.deletion_timestamp.is_zero());
        if ending && self.kind != Kind::Readiness {
            self.set(Verdict::Success);
            return false;
        }
        let Some(spec) = self.kind.of(&self.container).cloned() else { return false };
        let since = kubelet.ctx.unix_nanos().div_euclid(1_000_000_000) - running.started_at.unix().unwrap_or(0);
        if since < i64::from(spec.initial_delay_seconds) {
            return true;
        }
        if (one.started == Some(true)) == (self.kind == Kind::Startup) {
            return true;
        }
        let Some(verdict) = self.ask(&spec, &status).await else { return true };
        self.run = if self.last == Some(verdict) { self.run.saturating_add(1) } else { 1 };
        self.last = Some(verdict);
        let threshold = if verdict == Verdict::Failure { spec.failure_threshold } else { spec.success_threshold };
        if self.run < threshold {
            return true;
        }
        self.set(verdict);
        if self.kind == Kind::Startup || (self.kind == Kind::Liveness && verdict == Verdict::Failure) {
            self.on_hold = true;
            self.run = 0;
        }
        true
    }

    /// Asks the container; `None` if the question itself failed.
    async fn ask(&self, spec: &Probe, status: &PodStatus) -> Option<Verdict> {
        let kubelet = &self.kubelet;
        let patience = Duration::from_secs(u64::try_from(spec.timeout_seconds.max(1)).unwrap_or(1));
        let answer: Result<Option<String>, String> = if let Some(exec) = spec.exec.get() {
            let argv = exec.command.iter().map(ToString::to_string).collect();
            match kubelet.runtime.call(Call::ExecSync(self.id.clone(), argv, patience)).await {
                Ok(Reply::Ran(0, _)) => Ok(None),
                Ok(Reply::Ran(_, output)) => Ok(Some(
                    String::from_utf8_lossy(output.get(..OUTPUT.min(output.len())).unwrap_or_default()).into_owned(),
                )),
                Ok(_) => Ok(None),
                Err(why) if why.code == "DeadlineExceeded" => Ok(Some(format!(
                    "command timed out: {} timed out after {}",
                    api::go::quote(&exec.command.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
                    super::go::duration(patience)
                ))),
                Err(why) => Err(why.to_string()),
            }
        } else if let Some(get) = spec.http_get.get() {
            self.get(get, status, patience).await
        } else if let Some(socket) = spec.tcp_socket.get() {
            let host = if socket.host.is_empty() { &status.pod_ip } else { &socket.host };
            match (hooks::port_of(&self.container, &socket.port), hooks::parse(host)) {
                (None, _) => Err(format!("couldn't find port: {}", socket.port)),
                (_, None) => Ok(Some(format!("dial tcp: lookup {host}: no such host"))),
                (Some(port), Some(ip)) => {
                    let addr = Addr { ip, port };
                    let dial = kubelet.ctx.connect(addr);
                    match kubelet.ctx.timeout(patience, dial).await.unwrap_or(Err(NetError::TimedOut)) {
                        Ok(_) => Ok(None),
                        Err(why) => Ok(Some(format!("dial tcp {addr}: {why}"))),
                    }
                }
            }
        } else if let Some(grpc) = spec.grpc.get() {
            Ok(self.check(grpc, status, patience).await)
        } else {
            Err("missing probe handler".to_string())
        };
        let kind = self.kind.name();
        let warn = |message: String| {
            let pod = kubelet.pod(&self.pod.metadata.uid).unwrap_or_else(|| self.pod.clone());
            kubelet.event(&pod, Some(&self.container.name), "Warning", "Unhealthy", &message);
        };
        match answer {
            Ok(None) => Some(Verdict::Success),
            Ok(Some(output)) => {
                warn(format!("{kind} probe failed: {output}"));
                Some(Verdict::Failure)
            }
            Err(why) => {
                warn(format!("{kind} probe errored and resulted in unknown state: {why}"));
                None
            }
        }
    }

    /// Asks by gRPC's health protocol (pkg/probe/grpc/grpc.go).
    async fn check(&self, grpc: &GRPCAction, status: &PodStatus, patience: Duration) -> Option<String> {
        let ctx = &self.kubelet.ctx;
        let host = &status.pod_ip;
        let service = grpc.service.get().unwrap_or_default().to_string();
        let deadline = ctx.now() + patience;
        let said = super::go::duration(patience);
        let (Some(ip), Ok(port)) = (hooks::parse(host), u16::try_from(grpc.port)) else {
            return Some(format!("error: failed to connect service at \"{host}:{}\": no address", grpc.port));
        };
        let call = async {
            let conn: Conn = ctx.connect(Addr { ip, port }).await?;
            conn.send(HealthCheck { service: service.clone() })?;
            conn.recv::<Health>().await
        };
        match ctx.timeout(patience, call).await {
            Ok(Ok(Health::Serving)) => None,
            Ok(Ok(Health::NotServing)) => Some("service unhealthy (responded with \"NOT_SERVING\")".to_string()),
            Ok(Ok(Health::UnknownService)) => {
                Some("error: health rpc probe failed: rpc error: code = NotFound desc = unknown service".to_string())
            }
            _ => {
                // The client tries to connect until its time is over.
                ctx.sleep_until(deadline).await;
                Some(format!(
                    "timeout: failed to connect service \"{host}:{port}\" within {said}: context deadline exceeded"
                ))
            }
        }
    }

    async fn get(
        &self,
        get: &api::core_v1::HTTPGetAction,
        status: &PodStatus,
        patience: Duration,
    ) -> Result<Option<String>, String> {
        let kubelet = &self.kubelet;
        let host = if get.host.is_empty() { &status.pod_ip } else { &get.host };
        let Some(port) = hooks::port_of(&self.container, &get.port) else {
            return Err(format!("couldn't find port: {}", get.port));
        };
        let scheme = if get.scheme.is_empty() { "http".to_string() } else { get.scheme.to_lowercase() };
        let path = if get.path.starts_with('/') { get.path.to_string() } else { format!("/{}", get.path) };
        let url = format!("{scheme}://{host}:{port}{path}");
        let Some(ip) = hooks::parse(host) else {
            return Ok(Some(format!("Get {}: dial tcp: lookup {host}: no such host", api::go::quote(&url))));
        };
        let addr = Addr { ip, port };
        let mut request = HttpRequest::get(&path, &format!("{host}:{port}"), "kube-probe/1.37");
        request.headers.extend(get.http_headers.iter().map(|h| (h.name.to_string(), h.value.to_string())));
        Ok(match fetch(&kubelet.ctx, kubelet.ctx.host_ip(), addr, request, patience).await {
            Ok(_) if scheme == "https" => {
                // No program of the world speaks TLS.
                Some(format!("Get {}: http: server gave HTTP response to HTTPS client", api::go::quote(&url)))
            }
            Ok(answer) if (200..400).contains(&answer.status) => None,
            Ok(answer) => Some(format!("HTTP probe failed with statuscode: {}", answer.status)),
            Err(NetError::TimedOut) => Some(format!(
                "Get {}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                api::go::quote(&url)
            )),
            Err(why @ (NetError::Closed | NetError::Reset | NetError::Type)) => {
                Some(format!("Get {}: {why}", api::go::quote(&url)))
            }
            Err(why) => Some(format!("Get {}: dial tcp {addr}: {why}", api::go::quote(&url))),
        })
    }
}
