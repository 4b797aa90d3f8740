use crate::{ProcessId, Rng};
use async_task::{Runnable, Task};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

/// Who a task is, for kills, livelock reports and observers.
pub(crate) struct TaskMeta {
    pub process: ProcessId,
    pub id: u64,
    pub name: &'static str,
}

/// Runnable tasks, first in, first out. Bounded by the number of live tasks: a task is queued at most once.
/// A mutex because wakers may move between threads by their type; it is never contended.
#[derive(Default)]
struct RunQueue(Mutex<VecDeque<Runnable<TaskMeta>>>);

impl RunQueue {
    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<Runnable<TaskMeta>>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The tasks of the world and their order.
#[derive(Default)]
pub(crate) struct Executor {
    queue: Arc<RunQueue>,
    live: RefCell<BTreeMap<(ProcessId, u64), Task<(), TaskMeta>>>,
    next: std::cell::Cell<u64>,
}

impl Executor {
    /// Queues the future that `make` builds from the task's number as a task of `process`.
    pub fn spawn(
        &self,
        process: ProcessId,
        name: &'static str,
        make: impl FnOnce(u64) -> std::pin::Pin<Box<dyn Future<Output = ()>>>,
    ) -> u64 {
        let id = self.next.get() + 1;
        self.next.set(id);
        self.start(TaskMeta { process, id, name }, make(id));
        id
    }
    /// Not generic, so that the task cell is compiled once and not once for each future.
    fn start(&self, meta: TaskMeta, future: std::pin::Pin<Box<dyn Future<Output = ()>>>) {
        let key = (meta.process, meta.id);
        let queue = self.queue.clone();
        let (runnable, task) = async_task::Builder::new()
            .metadata(meta)
            .spawn_local(|_| future, move |runnable| queue.with(|q| q.push_back(runnable)));
        self.live.borrow_mut().insert(key, task);
        runnable.schedule();
    }
    /// Called by a task as its last act.
    pub fn finished(&self, process: ProcessId, id: u64) {
        if let Some(task) = self.live.borrow_mut().remove(&(process, id)) {
            task.detach();
        }
    }
    /// Drops a task's future now, unless it is the one that runs: that one is dropped when its poll returns.
    pub fn abort(&self, process: ProcessId, id: u64) {
        let task = self.live.borrow_mut().remove(&(process, id));
        drop(task);
        self.reap(process);
    }
    /// Drops all of a process' futures.
    pub fn abort_all(&self, process: ProcessId) {
        let tasks: Vec<_> = {
            let mut live = self.live.borrow_mut();
            let keys: Vec<_> = live.range((process, 0)..=(process, u64::MAX)).map(|(key, _)| *key).collect();
            keys.iter().filter_map(|key| live.remove(key)).collect()
        };
        drop(tasks);
        self.reap(process);
    }
    /// A cancelled task is queued once more so that its future is dropped: do that at once, before others run.
    fn reap(&self, process: ProcessId) {
        let all = self.queue.with(std::mem::take);
        let (closed, rest): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|r| r.metadata().process == process && self.is_gone(r));
        self.queue.with(|q| q.extend(rest));
        for runnable in closed {
            runnable.run();
        }
    }
    fn is_gone(&self, runnable: &Runnable<TaskMeta>) -> bool {
        let meta = runnable.metadata();
        !self.live.borrow().contains_key(&(meta.process, meta.id))
    }
    /// Polls one task; false if none is runnable.
    pub fn run_one(&self, shuffle: Option<&mut Rng>) -> Option<(ProcessId, &'static str)> {
        let runnable = self.queue.with(|q| match shuffle {
            Some(rng) if q.len() > 1 => {
                let n = rng.index(q.len());
                q.remove(n)
            }
            _ => q.pop_front(),
        })?;
        let who = (runnable.metadata().process, runnable.metadata().name);
        runnable.run();
        Some(who)
    }
    pub fn is_idle(&self) -> bool {
        self.queue.with(|q| q.is_empty())
    }
    pub fn tasks_of(&self, process: ProcessId) -> usize {
        self.live.borrow().range((process, 0)..=(process, u64::MAX)).count()
    }
}
