//! Pods between the choice of their node and their binding (`framework/runtime/pods_in_prebind_map.go`): they can still be
//! called back, without anybody deleting them.

use api::Str;
use sim::sync::Notify;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Rc;

/// The pods that PreBind plugins work for, by UID. Bounded by the pods that are being bound.
#[derive(Default)]
pub(crate) struct PodsInPreBind(RefCell<BTreeMap<Str, Rc<PodInPreBind>>>);

/// One of them.
#[derive(Default)]
pub(crate) struct PodInPreBind {
    is_cancelled: Cell<bool>,
    cancelled: Notify,
}

impl PodsInPreBind {
    /// A pod's PreBind plugins begin.
    pub(crate) fn add(&self, uid: &Str) -> Rc<PodInPreBind> {
        let pod = Rc::<PodInPreBind>::default();
        self.0.borrow_mut().insert(uid.clone(), pod.clone());
        pod
    }
    /// They are done.
    pub(crate) fn remove(&self, uid: &Str) {
        self.0.borrow_mut().remove(uid);
    }
    /// Calls a pod back; false if it is too late for that.
    pub(crate) fn cancel(&self, uid: &Str) -> bool {
        let pods = self.0.borrow();
        let Some(pod) = pods.get(uid) else { return false };
        pod.is_cancelled.set(true);
        pod.cancelled.notify();
        true
    }
}

impl PodInPreBind {
    /// What comes of some work for the pod; none if the pod is called back before it ends.
    pub(crate) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let cancelled = self.cancelled.notified();
        if self.is_cancelled.get() {
            return None;
        }
        futures_util::pin_mut!(work, cancelled);
        match futures_util::future::select(work, cancelled).await {
            futures_util::future::Either::Left((done, _)) => Some(done).filter(|_| !self.is_cancelled.get()),
            futures_util::future::Either::Right(_) => None,
        }
    }
}
