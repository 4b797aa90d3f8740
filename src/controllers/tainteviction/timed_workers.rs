//! Work to be done at a time, unless it is cancelled (`tainteviction/timed_workers.go`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

use api::Status;
use client::{Key, klog};
use sim::{Ctx, Instant, JoinHandle};

/// One pod's eviction.
struct Scheduled {
    created: Instant,
    /// The task that waits; `None` for work that began at once and cannot be cancelled.
    timer: Option<JoinHandle<()>>,
}

/// The evictions that wait. Bounded by the pods.
pub(super) struct TimedWorkers {
    ctx: Ctx,
    workers: Rc<RefCell<BTreeMap<Key, Scheduled>>>,
}

impl TimedWorkers {
    pub fn new(ctx: &Ctx) -> TimedWorkers {
        TimedWorkers { ctx: ctx.clone(), workers: Rc::default() }
    }

    fn time(ctx: &Ctx, at: Instant) -> String {
        let now = ctx.now();
        let ahead = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX) - i64::try_from(now.as_nanos()).unwrap_or(0);
        klog::go_time(ctx.unix_nanos().saturating_add(ahead), Some(at.as_nanos()))
    }

    /// When the work for a key was asked for, if it waits.
    pub fn scheduled(&self, key: &Key) -> Option<Instant> {
        let workers = self.workers.borrow();
        workers.get(key).filter(|w| w.timer.is_some()).map(|w| w.created)
    }

    /// Does `work` at `fire`, unless there is work for the key already.
    pub fn add<F>(&self, key: Key, created: Instant, fire: Instant, work: impl FnOnce() -> F + 'static)
    where
        F: Future<Output = Result<(), Status>> + 'static,
    {
        let (created_text, fire_text) = (Self::time(&self.ctx, created), Self::time(&self.ctx, fire));
        let message = if self.workers.borrow().contains_key(&key) {
            ("Trying to add already existing work, skipping", "timed_workers.go:154")
        } else {
            ("Adding TimedWorkerQueue item and to be fired at firedTime", "timed_workers.go:157")
        };
        klog::info(message.0)
            .str("item", &key.to_string())
            .str("createTime", &created_text)
            .str("firedTime", &fire_text)
            .log(&self.ctx, message.1);
        if self.workers.borrow().contains_key(&key) {
            return;
        }
        let (ctx, workers, item) = (self.ctx.clone(), self.workers.clone(), key.clone());
        let task = self.ctx.spawn("eviction", async move {
            if fire > ctx.now() {
                ctx.sleep_until(fire).named(format!("evict {item}")).await;
            }
            // From here on it cannot be cancelled.
            if let Some(own) = workers.borrow_mut().get_mut(&item) {
                own.timer = None;
            }
            klog::info("Firing worker")
                .str("item", &item.to_string())
                .str("firedTime", &fire_text)
                .log(&ctx, "timed_workers.go:134");
            let result = work().await;
            let line = klog::info("Worker finished, removing").str("item", &item.to_string());
            match &result {
                Ok(()) => line.raw("err", "null"),
                Err(err) => line.err(err),
            }
            .log(&ctx, "timed_workers.go:138");
            workers.borrow_mut().remove(&item);
            if let Err(err) = result {
                klog::error("TaintEvictionController: timed worker failed").err(&err).log(&ctx, "timed_workers.go:75");
            }
        });
        let timer = (fire > created).then_some(task);
        self.workers.borrow_mut().insert(key, Scheduled { created, timer });
    }

    /// Drops the work for a key; says whether it waited still.
    pub fn cancel(&self, key: &Key) -> bool {
        let Some(worker) = self.workers.borrow_mut().remove(key) else { return false };
        klog::info("Cancelling TimedWorkerQueue item")
            .str("item", &key.to_string())
            .str("time", &Self::time(&self.ctx, self.ctx.now()))
            .log(&self.ctx, "timed_workers.go:196");
        match worker.timer {
            Some(timer) => {
                timer.abort();
                true
            }
            None => false,
        }
    }
}
