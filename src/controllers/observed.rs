//! What an observer sees of each control loop, without a message or a moment of time.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use client::{Key, WorkQueue};
use sim::{Duration, Instant, Rng};

use crate::table::CONTROLLERS;

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
    /// Keys that wait, with when they become ready and how often in a row they have failed.
    pub waiting: Vec<(Instant, String, u32)>,
    /// How many keys were ever added.
    pub adds: u64,
    /// How many runs a fault left out.
    pub skipped: u64,
    /// The last runs, newest last: key, when it began, how long it took.
    pub runs: Vec<(String, Instant, Duration)>,
}

/// The fault that makes controllers leave out a share of their runs. Clones share it: it is set for a controller of
/// whichever manager leads.
#[derive(Debug, Clone, Default)]
pub struct Skips(Rc<RefCell<BTreeMap<&'static str, Rc<Cell<f64>>>>>);

impl Skips {
    /// A controller leaves out this share of its runs from now on, 0 to 1. It may be named with or without its
    /// `-controller`; false if there is none of that name.
    pub fn set(&self, controller: &str, share: f64) -> bool {
        let short = |name: &'static str| name.strip_suffix("-controller").unwrap_or(name);
        let row = CONTROLLERS.iter().find(|c| c.name == controller || short(c.name) == controller);
        row.map(|row| self.of(row.name).set(share)).is_some()
    }

    /// A controller's share.
    pub(crate) fn of(&self, controller: &'static str) -> Rc<Cell<f64>> {
        self.0.borrow_mut().entry(controller).or_default().clone()
    }
}

type Queue = Box<dyn Fn() -> QueueState>;

/// One controller as observers see it.
pub struct Observed {
    /// The controller's name: `deployment-controller`.
    pub name: &'static str,
    skip: Rc<Cell<f64>>,
    skipped: Cell<u64>,
    last: RefCell<LastRun>,
    queues: RefCell<Vec<(&'static str, Queue)>>,
}

impl Observed {
    /// Its last run.
    pub fn last_run(&self) -> LastRun {
        self.last.borrow().clone()
    }

    /// The share of its runs that a fault leaves out, 0 to 1.
    pub fn skip(&self) -> f64 {
        self.skip.get()
    }

    /// How many runs a fault left out.
    pub fn skipped(&self) -> u64 {
        self.skipped.get() + self.queues().iter().map(|(_, q)| q.skipped).sum::<u64>()
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
    /// The end of a controller of that name, which leaves out runs as `skips` says.
    pub fn new(name: &'static str, skips: &Skips) -> Handle {
        Handle(Rc::new(Observed {
            name,
            skip: skips.of(name),
            skipped: Cell::new(0),
            last: RefCell::default(),
            queues: RefCell::default(),
        }))
    }

    /// Whether a fault leaves out the run that is about to begin; for loops without a queue. Nothing is drawn where
    /// no fault stands.
    pub fn leaves_out(&self, rng: &mut Rng) -> bool {
        let out = self.0.skip.get() > 0.0 && rng.chance(self.0.skip.get());
        self.0.skipped.set(self.0.skipped.get() + u64::from(out));
        out
    }

    /// What observers hold.
    pub fn observed(&self) -> Rc<Observed> {
        self.0.clone()
    }

    /// Shows a queue, and lets faults at it.
    pub fn watch_queue<K: Ord + Clone + ToString + 'static>(&self, queue: &WorkQueue<K>) {
        let (name, queue) = (queue.name(), queue.clone());
        queue.skip_by(self.0.skip.clone());
        let state = move || {
            let view = queue.view();
            let texts = |keys: Vec<K>| keys.iter().map(K::to_string).collect();
            QueueState {
                ready: texts(view.ready),
                processing: texts(view.processing),
                waiting: view.waiting.into_iter().map(|(at, k, failures)| (at, k.to_string(), failures)).collect(),
                adds: view.adds,
                skipped: view.skipped,
                runs: view.runs.iter().map(|r| (r.key.to_string(), r.at, r.took)).collect(),
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
