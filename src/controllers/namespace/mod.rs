//! The namespace controller (`pkg/controller/namespace`): empties a namespace that is being deleted and lets it go.

mod conditions;
mod deleter;

use std::rc::Rc;
use std::time::Duration;

use api::core_v1::Namespace;
use client::{Client, Delta, Key, Lister, RateLimiter, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

/// Highly available API servers may take a moment to see the deletion everywhere.
const GRACE_PERIOD: Duration = Duration::from_secs(5);
/// All namespaces are looked at again this often.
const RESYNC: Duration = Duration::from_secs(5 * 60);

struct NamespaceController {
    ctx: sim::Ctx,
    client: Client,
    namespaces: Lister<Namespace>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting namespace controller").log(&cc.ctx, "namespace_controller.go:207");
    let namespaces = cc.informer::<Namespace>();
    let mut config = cc.config.client_as("namespace-controller");
    // Emptying a namespace takes many calls: its client may make more of them than others.
    config.qps *= 20.0;
    config.burst = config.burst.saturating_mul(100);
    let limiter = RateLimiter::exponential_with_bucket(Duration::from_millis(5), Duration::from_secs(60));
    let nc = Rc::new(NamespaceController {
        ctx: cc.ctx.clone(),
        client: Client::new(&cc.ctx, config),
        namespaces: namespaces.lister(),
        queue: WorkQueue::with_limiter(&cc.ctx, "namespace", limiter),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&nc.queue);
    let this = nc.clone();
    namespaces.on(move |delta| {
        if !matches!(delta, Delta::Deleted(_)) {
            this.enqueue(delta.object());
        }
    });
    namespaces.synced().await;
    Worker::spawn(&cc.ctx, 10, nc.queue.clone(), nc.clone());
    loop {
        cc.ctx.sleep(RESYNC).await;
        nc.namespaces.list().iter().for_each(|n| nc.enqueue(n));
    }
}

impl NamespaceController {
    fn enqueue(&self, namespace: &api::Rev<Namespace>) {
        if namespace.metadata.deletion_timestamp.unix().is_some() {
            self.queue.add_after(Key::of(&namespace.metadata), GRACE_PERIOD);
        }
    }
}

impl Reconcile<Key> for NamespaceController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let name = &work.key.name;
        let result = if self.namespaces.by_key(&work.key).is_none() {
            klog::info("Namespace has been deleted")
                .str("namespace", name)
                .log(&self.ctx, "namespace_controller.go:180");
            Ok(())
        } else {
            let deleter = deleter::Deleter {
                ctx: &self.ctx,
                client: self.client.caused_by(&work.causes),
                observed: &self.observed,
            };
            match deleter.delete(name).await {
                Ok(0) => Ok(()),
                Ok(estimate) => {
                    let wait = estimate / 2 + 1;
                    klog::info("Content remaining in namespace")
                        .str("namespace", name)
                        .raw("waitSeconds", wait)
                        .log(&self.ctx, "namespace_controller.go:151");
                    self.queue.add_after(work.key.clone(), Duration::from_secs(wait));
                    Ok(())
                }
                Err(err) => Err(err),
            }
        };
        klog::info("Finished syncing namespace")
            .str("namespace", name)
            .duration("duration", self.ctx.now().since(started))
            .log(&self.ctx, "namespace_controller.go:175");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::error("Deletion of namespace failed")
                    .err(&err)
                    .str("logger", "UnhandledError")
                    .str("namespace", &work.key.name)
                    .log(&self.ctx, "namespace_controller.go:156");
                self.queue.retry(work);
            }
        }
    }
}
