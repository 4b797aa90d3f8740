//! The workers of a controller: they take keys from its queue and reconcile them, never one key twice at a time.

use std::future::Future;
use std::rc::Rc;

use client::{Work, WorkQueue};
use sim::Ctx;

use crate::controller_utils::SyncError;

/// A control loop.
pub trait Reconcile<K> {
    /// Makes what is into what should be, for one key. Looks at listers and objects, never at events.
    fn reconcile(&self, work: &Work<K>) -> impl Future<Output = Result<(), SyncError>>;

    /// Decides what becomes of the key: forgotten, or tried again later.
    fn finished(&self, work: Work<K>, result: Result<(), SyncError>);
}

/// Starts workers.
pub struct Worker;

impl Worker {
    /// `count` workers on `queue`, as tasks of the process.
    pub fn spawn<K, R>(ctx: &Ctx, count: usize, queue: WorkQueue<K>, controller: Rc<R>)
    where
        K: Ord + Clone + 'static,
        R: Reconcile<K> + 'static,
    {
        for _ in 0..count {
            let (queue, controller) = (queue.clone(), controller.clone());
            ctx.spawn("worker", async move {
                loop {
                    let work = queue.get().await;
                    let key = work.key.clone();
                    // Boxed: most workers wait most of the time.
                    let result = Box::pin(controller.reconcile(&work)).await;
                    controller.finished(work, result);
                    queue.done(&key);
                }
            });
        }
    }
}
