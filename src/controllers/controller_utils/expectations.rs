//! What a controller waits to see in its cache before it acts again (`UIDTrackingControllerExpectations`).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use client::{Key, klog};
use sim::{Ctx, Instant};

/// After this long without a sign the cache is trusted again.
const TIMEOUT: Duration = Duration::from_secs(300);

struct Expected {
    add: i64,
    del: i64,
    /// Pods whose deletion is awaited, each to be counted once.
    deletions: BTreeSet<Key>,
    since: Instant,
}

/// The expectations of one controller by the key of its object. Bounded by the number of such objects.
pub struct Expectations {
    ctx: Ctx,
    logger: &'static str,
    by_key: RefCell<BTreeMap<Key, Expected>>,
}

impl Expectations {
    /// Nothing is expected.
    pub fn new(ctx: &Ctx, logger: &'static str) -> Expectations {
        Expectations { ctx: ctx.clone(), logger, by_key: RefCell::new(BTreeMap::new()) }
    }

    fn log(&self, message: &str, place: &'static str) {
        klog::info(message).raw("expectations", "{}").log(&self.ctx, place);
    }

    /// Whether all that was expected has been seen, or too long ago.
    pub fn satisfied(&self, key: &Key) -> bool {
        let by_key = self.by_key.borrow();
        let Some(e) = by_key.get(key) else {
            klog::info("Controller either never recorded expectations, or the ttl expired")
                .obj("controller", &key.namespace, &key.name)
                .log(&self.ctx, "controller_utils.go:215");
            return true;
        };
        if e.add <= 0 && e.del <= 0 {
            self.log("Controller expectations fulfilled", "controller_utils.go:198");
            true
        } else if self.ctx.now().since(e.since) > TIMEOUT {
            self.log("Controller expectations expired", "controller_utils.go:201");
            true
        } else {
            self.log("Controller still waiting on expectations", "controller_utils.go:204");
            false
        }
    }

    fn set(&self, key: &Key, add: i64, deletions: BTreeSet<Key>) {
        let del = i64::try_from(deletions.len()).unwrap_or(i64::MAX);
        let expected = Expected { add, del, deletions, since: self.ctx.now() };
        self.log("Setting expectations", "controller_utils.go:232");
        self.by_key.borrow_mut().insert(key.clone(), expected);
    }

    /// This many pods were asked for.
    pub fn expect_creations(&self, key: &Key, count: usize) {
        self.set(key, i64::try_from(count).unwrap_or(i64::MAX), BTreeSet::new());
    }

    /// These pods were asked to go.
    pub fn expect_deletions(&self, key: &Key, pods: impl Iterator<Item = Key>) {
        let pods: BTreeSet<Key> = pods.collect();
        klog::info("Controller waiting on deletions")
            .obj("controller", &key.namespace, &key.name)
            .objs("keys", pods.iter().map(|p| (&*p.namespace, &*p.name)))
            .log(&self.ctx, "controller_utils.go:366");
        self.set(key, 0, pods);
    }

    /// Pods were asked for and pods were asked to go.
    pub fn expect(&self, key: &Key, creations: usize, deletions: impl Iterator<Item = Key>) {
        self.set(key, i64::try_from(creations).unwrap_or(i64::MAX), deletions.collect());
    }

    /// One more pod has come, or will never.
    pub fn creation_observed(&self, key: &Key) {
        if let Some(e) = self.by_key.borrow_mut().get_mut(key) {
            e.add = e.add.saturating_sub(1);
            klog::info("Lowered expectations")
                .str("logger", self.logger)
                .raw("expectations", "{}")
                .log(&self.ctx, "controller_utils.go:249");
        }
    }

    /// A pod is going.
    pub fn deletion_observed(&self, key: &Key, pod: &Key) {
        let mut by_key = self.by_key.borrow_mut();
        let Some(e) = by_key.get_mut(key) else { return };
        if e.deletions.remove(pod) {
            klog::info("Controller received delete for pod")
                .str("logger", self.logger)
                .obj("controller", &key.namespace, &key.name)
                .obj("key", &pod.namespace, &pod.name)
                .log(&self.ctx, "controller_utils.go:386");
            e.del = e.del.saturating_sub(1);
            klog::info("Lowered expectations")
                .str("logger", self.logger)
                .raw("expectations", "{}")
                .log(&self.ctx, "controller_utils.go:249");
        }
    }

    /// The object is gone.
    pub fn delete(&self, key: &Key) {
        self.by_key.borrow_mut().remove(key);
    }

    /// Pods still awaited: created and deleted.
    pub fn outstanding(&self, key: &Key) -> (i64, i64) {
        self.by_key.borrow().get(key).map_or((0, 0), |e| (e.add.max(0), e.del.max(0)))
    }
}
