//! A pod's worker (pkg/kubelet/pod_workers.go): one task a pod, that syncs it, ends it, and cleans up after it, in that
//! order and never back.

use super::kubelet::Kubelet;
use super::phase::is_terminal;
use super::{sync, terminate, ticks};
use api::Rev;
use api::core_v1::Pod;
use client::klog;
use futures_util::future::{Either, select};
use sim::sync::Notify;
use sim::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How often a pod is synced although nothing happened.
const RESYNC: Duration = Duration::from_secs(60);
/// How long a failed sync waits before the next.
const BACK_OFF: Duration = Duration::from_secs(10);

/// Why a worker is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// The pod is new here.
    Create,
    /// It changed.
    Update,
    /// Look again.
    Sync,
    /// It must not run any more.
    Kill,
}

/// How far a pod's end has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// It is to run.
    Sync,
    /// Its containers are being stopped.
    Terminating,
    /// They have; what is left is being cleaned up.
    Terminated,
    /// All is done.
    Finished,
}

/// A reason to end a pod that the kubelet itself has.
#[derive(Clone, Debug)]
pub struct Eviction {
    /// `DeadlineExceeded`, `Evicted`, ...
    pub reason: String,
    /// In words.
    pub message: String,
    /// What the pod's condition DisruptionTarget says, if it was disrupted.
    pub disruption: Option<String>,
}

/// A pod's worker.
pub struct Worker {
    pod: RefCell<Rev<Pod>>,
    stage: Cell<Stage>,
    pending: Cell<bool>,
    wake: Notify,
    /// Wakes when the pod is to end, or to end sooner.
    cut_short: Notify,
    grace: Cell<Option<i64>>,
    eviction: RefCell<Option<Eviction>>,
    /// The pod is gone from the API server.
    removed: Cell<bool>,
    last_sync: Cell<Instant>,
    /// What its timer is called: `sync default/web-1`.
    timer: Rc<str>,
}

/// What a sync of a pod came to.
pub enum Outcome {
    /// All is as it should be; true if something was done for it.
    Synced(bool),
    /// Nothing of it will run again.
    Terminal,
    /// It failed; try again at the given moment, or after the usual time.
    Failed(String, Option<Instant>),
    /// It was cut short because the pod is to end.
    CutShort,
}

impl Worker {
    pub(super) fn start(kubelet: &Rc<Kubelet>, pod: Rev<Pod>) -> Rc<Self> {
        let worker = Rc::new(Self {
            timer: format!("sync {}/{}", pod.metadata.namespace, pod.metadata.name).into(),
            pod: RefCell::new(pod),
            stage: Cell::new(Stage::Sync),
            pending: Cell::new(false),
            wake: Notify::new(),
            cut_short: Notify::new(),
            grace: Cell::new(None),
            eviction: RefCell::default(),
            removed: Cell::new(false),
            last_sync: Cell::new(Instant::ZERO),
        });
        kubelet.ctx.spawn("pod worker", run(kubelet.clone(), worker.clone()));
        worker
    }

    /// The pod as last seen.
    pub fn pod(&self) -> Rev<Pod> {
        self.pod.borrow().clone()
    }
    /// How far its end has come.
    pub fn stage(&self) -> Stage {
        self.stage.get()
    }
    /// Whether all is done.
    pub fn is_finished(&self) -> bool {
        self.stage.get() == Stage::Finished
    }
    /// Whether the pod is to end.
    pub fn is_ending(&self) -> bool {
        self.stage.get() != Stage::Sync
    }
    /// Whether the containers have been stopped.
    pub fn is_stopped(&self) -> bool {
        self.stage.get() >= Stage::Terminated
    }
    /// The time that its containers get to end, in seconds.
    pub fn grace(&self) -> Option<i64> {
        self.grace.get()
    }
    /// Why the kubelet ends it, if it is the kubelet.
    pub fn eviction(&self) -> Option<Eviction> {
        self.eviction.borrow().clone()
    }
    /// Completes when the pod is to end, or to end sooner.
    pub fn cut_short(&self) -> Notify {
        self.cut_short.clone()
    }

    /// Takes a newer version of the pod, without waking anybody.
    pub fn replace(&self, pod: Rev<Pod>) {
        *self.pod.borrow_mut() = pod;
    }

    /// Ends the pod for a reason of the kubelet's.
    pub fn evict(&self, eviction: Eviction, grace: Option<i64>) {
        if self.is_ending() {
            return;
        }
        *self.eviction.borrow_mut() = Some(eviction);
        self.begin_end(grace);
        self.pending.set(true);
        self.wake.notify();
    }

    /// Tells the worker what happened (UpdatePod).
    pub fn update(&self, pod: Option<Rev<Pod>>, update: Update) {
        if let Some(pod) = pod {
            *self.pod.borrow_mut() = pod;
        }
        if update == Update::Kill {
            self.removed.set(true);
        }
        let (deleted, done) = {
            let pod = self.pod.borrow();
            let deleted = !pod.metadata.deletion_timestamp.is_zero();
            (deleted, is_terminal(&pod.status.phase))
        };
        if deleted || done || update == Update::Kill {
            let asked = self.pod.borrow().metadata.deletion_grace_period_seconds;
            self.begin_end(asked);
        }
        self.pending.set(true);
        self.wake.notify();
    }

    /// Notes that the pod is to end within `asked` seconds, or sooner than was known.
    fn begin_end(&self, asked: Option<i64>) {
        let known = self.grace.get();
        let grace = match (known, asked) {
            (Some(known), Some(asked)) => known.min(asked),
            (Some(known), None) => known,
            (None, Some(asked)) => asked,
            (None, None) => self.pod.borrow().spec.termination_grace_period_seconds.unwrap_or(30),
        }
        .max(1);
        let sooner = known.is_some_and(|k| grace < k);
        self.grace.set(Some(grace));
        if self.stage.get() == Stage::Sync {
            self.stage.set(Stage::Terminating);
            self.cut_short.notify();
        } else if sooner {
            self.cut_short.notify();
        }
    }
}

async fn run(kubelet: Rc<Kubelet>, worker: Rc<Worker>) {
    let ctx = kubelet.ctx.clone();
    let mut due: Option<Instant> = None;
    loop {
        let wake = worker.wake.notified();
        if !worker.pending.get() {
            match due {
                Some(at) => {
                    if let Either::Left(_) = select(wake, ctx.sleep_until(at).named(worker.timer.clone())).await {
                        continue;
                    }
                }
                None => {
                    wake.await;
                    continue;
                }
            }
        }
        worker.pending.set(false);
        let pod = worker.pod();
        let uid = pod.metadata.uid.clone();
        let stage = worker.stage();
        // Not before the runtime was looked at since the last sync; the first time what is known will do.
        let record = if worker.last_sync.get() == Instant::ZERO || stage == Stage::Terminated {
            kubelet.pleg.record(&uid)
        } else {
            kubelet.pleg.newer_than(&uid, worker.last_sync.get()).await
        };
        let pod = worker.pod();
        let stage = worker.stage();
        // Boxed: most pods wait most of the time.
        let outcome = match stage {
            Stage::Sync => Box::pin(sync::sync_pod(&kubelet, &worker, &pod, &record)).await,
            Stage::Terminating => Box::pin(terminate::sync_terminating(&kubelet, &worker, &pod, &record)).await,
            Stage::Terminated => Box::pin(terminate::sync_terminated(&kubelet, &worker, &pod, &record)).await,
            Stage::Finished => return,
        };
        worker.last_sync.set(ctx.now());
        let wait = match outcome {
            Outcome::CutShort => {
                worker.pending.set(true);
                continue;
            }
            Outcome::Terminal => {
                match stage {
                    Stage::Sync => worker.begin_end(None),
                    Stage::Terminating => worker.stage.set(Stage::Terminated),
                    Stage::Terminated | Stage::Finished => {
                        worker.stage.set(Stage::Finished);
                        if worker.removed.get() {
                            kubelet.drop_worker(&uid);
                        }
                        return;
                    }
                }
                worker.pending.set(true);
                continue;
            }
            Outcome::Synced(changed) => {
                if changed {
                    kubelet.pleg.request(&uid);
                }
                RESYNC
            }
            Outcome::Failed(why, until) => {
                klog::error("Error syncing pod, skipping")
                    .err(&why)
                    .obj("pod", &pod.metadata.namespace, &pod.metadata.name)
                    .str("podUID", &uid)
                    .log(&ctx, "pod_workers.go:1338");
                until.map_or(BACK_OFF, |at| at.since(ctx.now())).min(RESYNC)
            }
        };
        let wait = ticks::jitter(wait, &mut kubelet.rng.borrow_mut());
        due = Some(kubelet.next_tick(ctx.now() + wait));
    }
}
