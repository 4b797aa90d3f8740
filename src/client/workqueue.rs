//! The work queue of a control loop (client-go `util/workqueue`): a key is in it once however often it was added, never
//! worked on twice at a time, and waits with back-off after a failure.
//!
//! Beyond client-go, it keeps for each key the revisions that put it there since its last run, so that a write can say
//! what caused it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use sim::{Ctx, Instant, Rng};

use crate::causes::Causes;
use crate::limiter::RateLimiter;

/// A rate limited, delaying queue of keys. Clones share the queue.
///
/// Its bound is the number of distinct keys, which are names of objects that exist or existed a moment ago.
pub struct WorkQueue<K> {
    inner: Rc<Inner<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        WorkQueue { inner: self.inner.clone() }
    }
}

struct Inner<K> {
    ctx: Ctx,
    name: &'static str,
    state: RefCell<State<K>>,
}

struct State<K> {
    queue: VecDeque<K>,
    dirty: BTreeSet<K>,
    processing: BTreeSet<K>,
    causes: BTreeMap<K, Causes>,
    limiter: RateLimiter<K>,
    /// Delayed keys by when they are due, then by order of arrival.
    waiting: BTreeMap<(Instant, u64), K>,
    waiting_by_key: BTreeMap<K, (Instant, u64)>,
    sequence: u64,
    timer: Option<(Instant, sim::JoinHandle<()>)>,
    idle_workers: VecDeque<Waker>,
    adds: u64,
    /// A fault: the share of runs that are left out, with where it is drawn from.
    skip: Option<(Rc<Cell<f64>>, Rng)>,
    skipped: u64,
    /// When the keys being worked on were taken.
    begun: BTreeMap<K, Instant>,
    runs: VecDeque<Run<K>>,
}

/// Runs that are remembered.
const RUNS: usize = 8;

/// A key's run, from being taken to done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run<K> {
    /// What was reconciled.
    pub key: K,
    /// When it was taken.
    pub at: Instant,
    /// How long it took.
    pub took: Duration,
}

/// A key taken from the queue, with the revisions that put it there.
#[derive(Debug, Clone)]
pub struct Work<K> {
    /// What to reconcile.
    pub key: K,
    /// Revisions whose arrival enqueued the key since its last run.
    pub causes: Causes,
}

/// What an observer sees of a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueView<K> {
    /// Keys ready for a worker, first to run first.
    pub ready: Vec<K>,
    /// Keys being worked on.
    pub processing: Vec<K>,
    /// Keys that wait, with when they become ready and how often in a row they have failed.
    pub waiting: Vec<(Instant, K, u32)>,
    /// How many keys were ever added.
    pub adds: u64,
    /// How many runs were left out by a fault.
    pub skipped: u64,
    /// The last runs, at most 8, newest last.
    pub runs: Vec<Run<K>>,
}

impl<K: Ord + Clone + 'static> WorkQueue<K> {
    /// An empty queue with the controllers' default limiter.
    pub fn new(ctx: &Ctx, name: &'static str) -> WorkQueue<K> {
        WorkQueue::with_limiter(ctx, name, RateLimiter::controller_default())
    }

    /// An empty queue.
    pub fn with_limiter(ctx: &Ctx, name: &'static str, limiter: RateLimiter<K>) -> WorkQueue<K> {
        WorkQueue {
            inner: Rc::new(Inner {
                ctx: ctx.clone(),
                name,
                state: RefCell::new(State {
                    queue: VecDeque::new(),
                    dirty: BTreeSet::new(),
                    processing: BTreeSet::new(),
                    causes: BTreeMap::new(),
                    limiter,
                    waiting: BTreeMap::new(),
                    waiting_by_key: BTreeMap::new(),
                    sequence: 0,
                    timer: None,
                    idle_workers: VecDeque::new(),
                    adds: 0,
                    skip: None,
                    skipped: 0,
                    begun: BTreeMap::new(),
                    runs: VecDeque::new(),
                }),
            }),
        }
    }

    /// The name of the queue, which is its controller's.
    pub fn name(&self) -> &'static str {
        self.inner.name
    }

    /// From now on the workers leave out this share of their runs, 0 to 1, as a fault may set it: the key of such a
    /// run waits and comes again, as after a failure.
    pub fn skip_by(&self, share: Rc<Cell<f64>>) {
        let rng = self.inner.ctx.rng(&format!("skip {}", self.inner.name));
        self.inner.state.borrow_mut().skip = Some((share, rng));
    }

    /// Puts a key in unless it is in already. While it is being worked on it comes in again afterwards.
    pub fn add(&self, key: K) {
        self.inner.state.borrow_mut().add(key);
    }

    /// [`add`](Self::add), remembering the revision that made it necessary.
    pub fn add_caused(&self, key: K, revision: u64) {
        let mut state = self.inner.state.borrow_mut();
        state.causes.entry(key.clone()).or_default().insert(revision);
        state.add(key);
    }

    /// Puts a key in after a while; an earlier deadline of the same key wins.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let due = self.inner.ctx.now() + delay;
        let mut state = self.inner.state.borrow_mut();
        if let Some(at) = state.waiting_by_key.get(&key).copied() {
            if at.0 <= due {
                return;
            }
            state.waiting.remove(&at);
        }
        state.sequence += 1;
        let at = (due, state.sequence);
        state.waiting.insert(at, key.clone());
        state.waiting_by_key.insert(key, at);
        Inner::arm(&self.inner, &mut state);
    }

    /// [`add_after`](Self::add_after), remembering the revision that made it necessary.
    pub fn add_caused_after(&self, key: K, revision: u64, delay: Duration) {
        self.inner.state.borrow_mut().causes.entry(key.clone()).or_default().insert(revision);
        self.add_after(key, delay);
    }

    /// Puts a key in after the delay that its failures have earned.
    pub fn add_rate_limited(&self, key: K) {
        let now = self.inner.ctx.now().as_nanos();
        let delay = self.inner.state.borrow_mut().limiter.when(now, &key);
        self.add_after(key, delay);
    }

    /// [`add_rate_limited`](Self::add_rate_limited) after a failed run; its causes stay for the next.
    pub fn retry(&self, work: Work<K>) {
        {
            let mut state = self.inner.state.borrow_mut();
            state.causes.entry(work.key.clone()).or_default().extend(&work.causes);
        }
        self.add_rate_limited(work.key);
    }

    /// The key succeeded; its next failure is its first again.
    pub fn forget(&self, key: &K) {
        self.inner.state.borrow_mut().limiter.forget(key);
    }

    /// How often in a row the key has failed.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.inner.state.borrow().limiter.num_requeues(key)
    }

    /// The next key, once there is one. Call [`done`](Self::done) after working on it.
    pub async fn get(&self) -> Work<K> {
        poll_fn(|cx| {
            loop {
                let mut state = self.inner.state.borrow_mut();
                match state.queue.pop_front() {
                    Some(key) if state.leaves_out() => {
                        state.dirty.remove(&key);
                        state.skipped += 1;
                        drop(state);
                        self.add_rate_limited(key);
                    }
                    Some(key) => {
                        state.dirty.remove(&key);
                        state.processing.insert(key.clone());
                        state.begun.insert(key.clone(), self.inner.ctx.now());
                        let causes = state.causes.remove(&key).unwrap_or_default();
                        return Poll::Ready(Work { key, causes });
                    }
                    None => {
                        if !state.idle_workers.iter().any(|w| w.will_wake(cx.waker())) {
                            state.idle_workers.push_back(cx.waker().clone());
                        }
                        return Poll::Pending;
                    }
                }
            }
        })
        .await
    }

    /// The worker has finished with the key; what was added meanwhile becomes ready.
    pub fn done(&self, key: &K) {
        let mut state = self.inner.state.borrow_mut();
        state.processing.remove(key);
        if let Some(at) = state.begun.remove(key) {
            if state.runs.len() >= RUNS {
                state.runs.pop_front();
            }
            let took = self.inner.ctx.now().since(at);
            state.runs.push_back(Run { key: key.clone(), at, took });
        }
        if state.dirty.contains(key) {
            state.queue.push_back(key.clone());
            state.wake_one();
        }
    }

    /// Number of keys that are ready.
    pub fn len(&self) -> usize {
        self.inner.state.borrow().queue.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is in the queue, for observers.
    pub fn view(&self) -> QueueView<K> {
        let state = self.inner.state.borrow();
        QueueView {
            ready: state.queue.iter().cloned().collect(),
            processing: state.processing.iter().cloned().collect(),
            waiting: state.waiting.iter().map(|((at, _), k)| (*at, k.clone(), state.limiter.num_requeues(k))).collect(),
            adds: state.adds,
            skipped: state.skipped,
            runs: state.runs.iter().cloned().collect(),
        }
    }
}

impl<K: Ord + Clone> State<K> {
    /// Whether a fault leaves this run out. Nothing is drawn where none stands.
    fn leaves_out(&mut self) -> bool {
        self.skip.as_mut().is_some_and(|(share, rng)| share.get() > 0.0 && rng.chance(share.get()))
    }

    fn add(&mut self, key: K) {
        if !self.dirty.insert(key.clone()) {
            return;
        }
        self.adds += 1;
        if self.processing.contains(&key) {
            return;
        }
        self.queue.push_back(key);
        self.wake_one();
    }

    fn wake_one(&mut self) {
        if let Some(waker) = self.idle_workers.pop_front() {
            waker.wake();
        }
    }
}

impl<K: Ord + Clone + 'static> Inner<K> {
    /// Makes sure that a timer runs for the earliest waiting key.
    fn arm(this: &Rc<Inner<K>>, state: &mut State<K>) {
        let Some(((due, _), _)) = state.waiting.first_key_value() else { return };
        let due = *due;
        if let Some((armed, handle)) = &state.timer {
            if *armed <= due {
                return;
            }
            handle.abort();
        }
        let weak = Rc::downgrade(this);
        let ctx = this.ctx.clone();
        let handle = this.ctx.spawn("delayed queue", async move {
            ctx.sleep_until(due).await;
            Inner::fire(&weak);
        });
        state.timer = Some((due, handle));
    }

    fn fire(weak: &Weak<Inner<K>>) {
        let Some(this) = weak.upgrade() else { return };
        let now = this.ctx.now();
        let mut state = this.state.borrow_mut();
        state.timer = None;
        while let Some(entry) = state.waiting.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let key = entry.remove();
            state.waiting_by_key.remove(&key);
            state.add(key);
        }
        Inner::arm(&this, &mut state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Ip, Options, Sim};

    const MS: Duration = Duration::from_millis(1);

    /// Runs `program` in a process of its own until nothing is left to do.
    fn run<F: Future<Output = ()> + 'static>(program: impl FnOnce(Ctx) -> F + 'static) {
        let sim = Sim::new(Options::default());
        let host = sim.add_host("a", Ip::new(10, 0, 0, 1));
        let done = Rc::new(std::cell::Cell::new(false));
        let mark = done.clone();
        sim.start(host, "p", |ctx| async move {
            program(ctx).await;
            mark.set(true);
        });
        sim.run_for(Duration::from_secs(3600)).unwrap();
        assert!(done.get(), "the program did not end");
    }

    #[test]
    fn a_key_is_in_once_and_keeps_its_causes() {
        run(|ctx| async move {
            let q = WorkQueue::new(&ctx, "q");
            q.add_caused("a", 1);
            q.add_caused("b", 2);
            q.add_caused("a", 3);
            let work = q.get().await;
            assert_eq!((work.key, work.causes.as_slice()), ("a", &[1, 3][..]));
            assert_eq!(q.get().await.key, "b");
            assert!(q.is_empty());
        });
    }

    #[test]
    fn a_key_added_while_it_is_worked_on_comes_again() {
        run(|ctx| async move {
            let q = WorkQueue::new(&ctx, "q");
            q.add("a");
            let work = q.get().await;
            q.add_caused("a", 7);
            assert!(q.is_empty());
            q.done(&work.key);
            assert_eq!(q.get().await.causes.as_slice(), [7]);
        });
    }

    #[test]
    fn the_earliest_delay_of_a_key_wins() {
        run(|ctx| async move {
            let q = WorkQueue::new(&ctx, "q");
            q.add_after("a", 50 * MS);
            q.add_after("b", 20 * MS);
            q.add_after("a", 10 * MS);
            q.add_after("a", 30 * MS);
            let mut seen = Vec::new();
            for _ in 0..2 {
                let work = q.get().await;
                seen.push((work.key, ctx.now().as_nanos() / 1_000_000));
                q.done(&work.key);
            }
            assert_eq!(seen, [("a", 10), ("b", 20)]);
            assert!(ctx.timeout(1000 * MS, q.get()).await.is_err());
        });
    }

    #[test]
    fn failures_wait_longer_each_time() {
        run(|ctx| async move {
            let q = WorkQueue::new(&ctx, "q");
            q.add_caused("a", 5);
            let mut at = Vec::new();
            for _ in 0..4 {
                let work = q.get().await;
                assert_eq!(work.causes.as_slice(), [5]);
                at.push(ctx.now().as_nanos() / 1_000_000);
                q.done(&work.key);
                q.retry(work);
            }
            assert_eq!(at, [0, 5, 15, 35]);
        });
    }

    #[test]
    fn a_fault_leaves_runs_out_and_drops_no_key() {
        run(|ctx| async move {
            let q = WorkQueue::new(&ctx, "q");
            let share = Rc::new(Cell::new(0.5));
            q.skip_by(share.clone());
            (0..50u32).for_each(|k| q.add_caused(k, u64::from(k)));
            let mut seen = BTreeSet::new();
            for _ in 0..50 {
                let work = q.get().await;
                assert_eq!(work.causes.as_slice(), [u64::from(work.key)]);
                q.forget(&work.key);
                q.done(&work.key);
                seen.insert(work.key);
            }
            let view = q.view();
            assert_eq!(seen.len(), 50);
            assert!((20..120).contains(&view.skipped), "{}", view.skipped);
            assert_eq!(view.runs.len(), RUNS);
            share.set(0.0);
            q.add(7);
            assert_eq!(q.get().await.key, 7);
            assert_eq!(q.view().skipped, view.skipped);
        });
    }

    #[test]
    fn workers_share_the_keys() {
        run(|ctx| async move {
            let q: WorkQueue<u32> = WorkQueue::new(&ctx, "q");
            let seen = Rc::new(RefCell::new(Vec::new()));
            for _ in 0..3 {
                let (q, seen, ctx2) = (q.clone(), seen.clone(), ctx.clone());
                ctx.spawn("worker", async move {
                    loop {
                        let work = q.get().await;
                        ctx2.sleep(10 * MS).await;
                        seen.borrow_mut().push(work.key);
                        q.done(&work.key);
                    }
                });
            }
            ctx.sleep(MS).await;
            (0..6).for_each(|k| q.add(k));
            ctx.sleep(25 * MS).await;
            assert_eq!(*seen.borrow(), [0, 1, 2, 3, 4, 5]);
        });
    }
}
