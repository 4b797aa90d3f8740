//! What an observer sees of each control loop, without a message or a moment of time.

use std::cell::RefCell;
use std::rc::Rc;

use client::{Key, WorkQueue};
use sim::Instant;

/// The last run of a loop in a few words.
#[derive(Debug, Clone, Default)]
pub struct LastRun {
    /// What it was about.
    pub key: Key,
    /// What should be.
    pub desired: String,
    /// What was.
    pub actual: String,
    /// What the loop did last to bring them together; kept until it does something else.
    pub action: String,
    /// The key that action was for.
    pub action_key: Key,
}

/// A queue in a few words.
#[derive(Debug, Clone, Default)]
pub struct QueueState {
    /// Keys ready for a worker, first to run first.
    pub ready: Vec<String>,
    /// Keys being worked on.
    pub processing: Vec<String>,
    /// Keys that wait, with when they become ready.
    pub waiting: Vec<(Instant, String)>,
    /// How many keys were ever added.
    pub adds: u64,
}

type Queue = Box<dyn Fn() -> QueueState>;

/// One controller as observers see it.
pub struct Observed {
    /// The controller's name: `deployment-controller`.
    pub name: &'static str,
    last: RefCell<LastRun>,
    queues: RefCell<Vec<(&'static str, Queue)>>,
}

impl Observed {
    /// Its last run.
    pub fn last_run(&self) -> LastRun {
        self.last.borrow().clone()
    }

    /// Its queues by name, as they are now.
    pub fn queues(&self) -> Vec<(&'static str, QueueState)> {
        self.queues.borrow().iter().map(|(name, state)| (*name, state())).collect()
    }
}

/// A controller's own end: what it tells observers.
#[derive(Clone)]
pub struct Handle(Rc<Observed>);

impl Handle {
    /// The end of a controller of that name.
    pub fn new(name: &'static str) -> Handle {
        Handle(Rc::new(Observed { name, last: RefCell::default(), queues: RefCell::default() }))
    }

    /// What observers hold.
    pub fn observed(&self) -> Rc<Observed> {
        self.0.clone()
    }

    /// Shows a queue.
    pub fn watch_queue<K: Ord + Clone + ToString + 'static>(&self, queue: &WorkQueue<K>) {
        let (name, queue) = (queue.name(), queue.clone());
        let state = move || {
            let view = queue.view();
            let texts = |keys: Vec<K>| keys.iter().map(K::to_string).collect();
            QueueState {
                ready: texts(view.ready),
                processing: texts(view.processing),
                waiting: view.waiting.into_iter().map(|(at, k)| (at, k.to_string())).collect(),
                adds: view.adds,
            }
        };
        self.0.queues.borrow_mut().push((name, Box::new(state)));
    }

    /// A run for `key` wants this.
    pub fn desired(&self, key: &Key, what: String) {
        let mut last = self.0.last.borrow_mut();
        last.key = key.clone();
        last.desired = what;
    }

    /// A run for `key` found this.
    pub fn actual(&self, key: &Key, what: String) {
        let mut last = self.0.last.borrow_mut();
        last.key = key.clone();
        last.actual = what;
    }

    /// A run for `key` did this.
    pub fn action(&self, key: &Key, what: String) {
        let mut last = self.0.last.borrow_mut();
        last.action_key = key.clone();
        last.action = what;
    }
}
