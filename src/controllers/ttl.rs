//! The TTL controller (`pkg/controller/ttl`): tells kubelets by annotation how long to keep Secrets and ConfigMaps, the
//! longer the more nodes there are.

use std::cell::Cell;
use std::rc::Rc;

use api::core_v1::Node;
use api::rest::PatchType;
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";
/// Sizes from which to which a step applies, and its seconds.
const STEPS: [(usize, usize, u32); 5] =
    [(0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, usize::MAX, 300)];

struct TtlController {
    ctx: sim::Ctx,
    client: Client,
    nodes: Lister<Node>,
    queue: WorkQueue<Key>,
    step: Cell<usize>,
    count: Cell<usize>,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting TTL controller").str("logger", "ttl-controller").log(&cc.ctx, "ttl_controller.go:127");
    let nodes = cc.informer::<Node>();
    let ttl = Rc::new(TtlController {
        ctx: cc.ctx.clone(),
        client: cc.client("ttl-controller"),
        nodes: nodes.lister(),
        queue: WorkQueue::new(&cc.ctx, "ttlcontroller"),
        step: Cell::new(0),
        count: Cell::new(0),
    });
    cc.observed.watch_queue(&ttl.queue);
    let this = ttl.clone();
    nodes.on(move |delta| {
        match delta {
            Delta::Added(_) => this.count.set(this.count.get() + 1),
            Delta::Deleted(_) => this.count.set(this.count.get().saturating_sub(1)),
            Delta::Updated { .. } => {}
        }
        this.adjust();
        if !matches!(delta, Delta::Deleted(_)) {
            this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision());
        }
    });
    nodes.synced().await;
    Worker::spawn(&cc.ctx, 5, ttl.queue.clone(), ttl);
}

impl TtlController {
    fn adjust(&self) {
        let (count, mut step) = (self.count.get(), self.step.get());
        while STEPS.get(step).is_some_and(|(_, max, _)| count > *max) && step + 1 < STEPS.len() {
            step += 1;
        }
        while STEPS.get(step).is_some_and(|(min, _, _)| count < *min) && step > 0 {
            step -= 1;
        }
        self.step.set(step);
    }
}

impl Reconcile<Key> for TtlController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(node) = self.nodes.by_key(&work.key) else { return Ok(()) };
        let seconds = STEPS.get(self.step.get()).map_or(0, |(_, _, s)| *s).to_string();
        if node.metadata.annotations.get(ANNOTATION).is_some_and(|v| **v == *seconds) {
            return Ok(());
        }
        let body = format!(r#"{{"metadata":{{"annotations":{{"{ANNOTATION}":"{seconds}"}}}}}}"#);
        let client = self.client.caused_by(&work.causes);
        match client.patch::<Node>("", &work.key.name, PatchType::Strategic, body, "").await {
            Ok(_) => {
                klog::info("Changed ttl annotation")
                    .str("logger", "ttl-controller")
                    .obj("node", "", &work.key.name)
                    .duration("TTL", std::time::Duration::from_secs(seconds.parse().unwrap_or(0)))
                    .log(&self.ctx, "ttl_controller.go:283");
                Ok(())
            }
            Err(err) => {
                klog::error("Failed to change ttl annotation for node")
                    .err(&err)
                    .str("logger", "ttl-controller")
                    .obj("node", "", &work.key.name)
                    .log(&self.ctx, "ttl_controller.go:280");
                Err(err.into())
            }
        }
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(_) => self.queue.retry(work),
        }
    }
}
