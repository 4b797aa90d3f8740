//! The watch cache: what the store holds, kept in memory from one watch, and the recent past of every resource.
//! Lists and watches are served from here (apiserver's storage/cacher).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use api::{AnyRev, Object, Str};
use sim::sync::Notify;

use crate::storage::{Change, Entry};

/// Bound of a resource's event ring. The oldest events beyond it are forgotten, and a watch that asks for them is
/// told that its resource version is too old.
pub const RING_CAPACITY: usize = 4096;
/// Bound of the events waiting for one watcher; a slower one is cut off, as the real server does.
pub const WATCHER_CAPACITY: usize = 8192;

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
}

/// One event of a resource.
pub struct Event {
    /// The object's key after the resource.
    pub key: Rc<str>,
    /// The store's revision.
    pub revision: u64,
    /// What happened.
    pub kind: ChangeKind,
    /// The object after it; for a deletion the last state, with the deletion's revision.
    pub object: AnyRev,
    /// The object before it.
    pub previous: Option<Rc<dyn Object>>,
}

/// The part of a resource that a watcher wants to hear of, by which it is found. The most selective one that its
/// selectors allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Everything.
    All,
    /// One namespace.
    Namespace(Str),
    /// One object: the key's part after the resource (`default/web`, or `node-1`).
    Key(Rc<str>),
    /// Pods of one node (`spec.nodeName`).
    Node(Str),
}

/// A watcher's place: what waits for it, and how it is woken.
pub struct Watcher {
    scope: Scope,
    queue: RefCell<VecDeque<Rc<Event>>>,
    wake: Notify,
    ended: Cell<bool>,
}

impl Watcher {
    /// The next event that waits, if any.
    pub fn pop(&self) -> Option<Rc<Event>> {
        self.queue.borrow_mut().pop_front()
    }

    /// Waits for an event or the end.
    pub fn woken(&self) -> sim::sync::Notified {
        self.wake.notified()
    }

    /// Whether nothing more will come (it was too slow, or the cache began anew).
    pub fn ended(&self) -> bool {
        self.ended.get() && self.queue.borrow().is_empty()
    }

    fn push(&self, event: &Rc<Event>) {
        let mut queue = self.queue.borrow_mut();
        if queue.len() >= WATCHER_CAPACITY {
            self.ended.set(true);
        } else if !self.ended.get() {
            queue.push_back(event.clone());
        }
        drop(queue);
        self.wake.notify();
    }

    fn end(&self) {
        self.ended.set(true);
        self.wake.notify();
    }
}

/// One resource's objects, recent events and watchers.
#[derive(Default)]
pub struct ResourceCache {
    objects: RefCell<BTreeMap<Rc<str>, AnyRev>>,
    /// The keys of pods by their node, which the Node authorizer asks for at every request of a kubelet.
    by_node: RefCell<BTreeMap<Str, BTreeSet<Rc<str>>>>,
    ring: RefCell<VecDeque<Rc<Event>>>,
    /// The newest revision that the ring does not reach back to.
    forgotten: Cell<u64>,
    /// The revision of the resource's last change.
    changed: Cell<u64>,
    watchers: RefCell<BTreeMap<Scope, Vec<Rc<Watcher>>>>,
    standing: Cell<Standing>,
}

/// How many watchers stand under each kind of scope.
#[derive(Clone, Copy, Default)]
struct Standing {
    all: isize,
    namespaces: isize,
    keys: isize,
    nodes: isize,
}

impl ResourceCache {
    /// One object, by the key's part after the resource.
    pub fn get(&self, key: &str) -> Option<AnyRev> {
        self.objects.borrow().get(key).cloned()
    }

    /// The objects of a namespace (all for the empty one) in key order, starting after `after`.
    pub fn list(&self, namespace: &str, after: Option<&str>) -> Vec<(Rc<str>, AnyRev)> {
        let objects = self.objects.borrow();
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        let start = match after {
            Some(after) if after > prefix.as_str() => after,
            _ => prefix.as_str(),
        };
        let from: (std::ops::Bound<&str>, std::ops::Bound<&str>) =
            (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        objects
            .range::<str, _>(from)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    /// Calls `f` with each object of a namespace (all for the empty one) in key order, without copying the list.
    pub fn each(&self, namespace: &str, mut f: impl FnMut(&AnyRev)) {
        let objects = self.objects.borrow();
        if namespace.is_empty() {
            objects.values().for_each(f);
            return;
        }
        let prefix = format!("{namespace}/");
        let from: (std::ops::Bound<&str>, std::ops::Bound<&str>) =
            (std::ops::Bound::Included(prefix.as_str()), std::ops::Bound::Unbounded);
        for (_, object) in objects.range::<str, _>(from).take_while(|(key, _)| key.starts_with(&prefix)) {
            f(object);
        }
    }

    /// Calls `f` with each pod of a node in key order.
    pub fn each_on_node(&self, node: &str, mut f: impl FnMut(&AnyRev)) {
        let (objects, by_node) = (self.objects.borrow(), self.by_node.borrow());
        by_node.get(node).into_iter().flatten().filter_map(|key| objects.get(key)).for_each(&mut f);
    }

    /// Keeps the index by node: an object of that key was `before` and is `now`.
    fn moved(&self, key: &Rc<str>, before: Option<&dyn Object>, now: Option<&dyn Object>) {
        let (before, now) = (before.and_then(node_of), now.and_then(node_of));
        if before == now {
            return;
        }
        let mut by_node = self.by_node.borrow_mut();
        if let Some(before) = before
            && let Some(keys) = by_node.get_mut(&before)
        {
            keys.remove(key);
            if keys.is_empty() {
                by_node.remove(&before);
            }
        }
        if let Some(now) = now {
            by_node.entry(now).or_default().insert(key.clone());
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The revision of the resource's last change.
    pub fn changed(&self) -> u64 {
        self.changed.get()
    }

    /// A watcher of what comes after `since`; the error is the oldest revision that can still be asked for.
    pub fn watch(&self, scope: Scope, since: u64) -> Result<Rc<Watcher>, u64> {
        if since < self.forgotten.get() {
            return Err(self.forgotten.get());
        }
        let watcher = Rc::new(Watcher {
            scope: scope.clone(),
            queue: RefCell::default(),
            wake: Notify::new(),
            ended: Cell::new(false),
        });
        for event in self.ring.borrow().iter().filter(|event| event.revision > since) {
            if stands_under(event, &scope) {
                watcher.push(event);
            }
        }
        self.stand(&scope, 1);
        self.watchers.borrow_mut().entry(scope).or_default().push(watcher.clone());
        Ok(watcher)
    }

    /// Forgets a watcher.
    pub fn unwatch(&self, watcher: &Rc<Watcher>) {
        let mut watchers = self.watchers.borrow_mut();
        if let Some(list) = watchers.get_mut(&watcher.scope) {
            let before = list.len();
            list.retain(|other| !Rc::ptr_eq(other, watcher));
            if list.len() < before {
                self.stand(&watcher.scope, -1);
            }
            if list.is_empty() {
                watchers.remove(&watcher.scope);
            }
        }
    }

    /// How many watch, for observers.
    pub fn watchers(&self) -> usize {
        self.watchers.borrow().values().map(Vec::len).sum()
    }

    fn stand(&self, scope: &Scope, count: isize) {
        let mut standing = self.standing.get();
        match scope {
            Scope::All => standing.all += count,
            Scope::Namespace(_) => standing.namespaces += count,
            Scope::Key(_) => standing.keys += count,
            Scope::Node(_) => standing.nodes += count,
        }
        self.standing.set(standing);
    }

    fn apply(&self, key: Rc<str>, change: &Change) {
        let previous = match &change.body {
            Some(body) => {
                self.objects.borrow_mut().insert(key.clone(), AnyRev { revision: change.revision, body: body.clone() })
            }
            None => self.objects.borrow_mut().remove(&key),
        };
        self.moved(&key, previous.as_ref().map(|p| &*p.body), change.body.as_deref());
        let (kind, body) = match (&change.body, &previous) {
            (Some(body), None) => (ChangeKind::Added, body.clone()),
            (Some(body), Some(_)) => (ChangeKind::Modified, body.clone()),
            (None, Some(previous)) => (ChangeKind::Deleted, previous.body.clone()),
            // A key that was never there cannot go.
            (None, None) => return,
        };
        let event = Rc::new(Event {
            key,
            revision: change.revision,
            kind,
            object: AnyRev { revision: change.revision, body },
            previous: previous.map(|previous| previous.body),
        });
        self.changed.set(change.revision);
        let mut ring = self.ring.borrow_mut();
        if ring.len() >= RING_CAPACITY
            && let Some(oldest) = ring.pop_front()
        {
            self.forgotten.set(oldest.revision);
        }
        ring.push_back(event.clone());
        drop(ring);
        let watchers = self.watchers.borrow();
        if watchers.is_empty() {
            return;
        }
        // Only the scopes that somebody stands under are looked at.
        let mut tell = |scope: Scope| {
            for watcher in watchers.get(&scope).into_iter().flatten() {
                watcher.push(&event);
            }
        };
        let standing = self.standing.get();
        if standing.all > 0 {
            tell(Scope::All);
        }
        if standing.keys > 0 {
            tell(Scope::Key(event.key.clone()));
        }
        if standing.namespaces > 0 {
            event.namespace().map(Scope::Namespace).into_iter().for_each(&mut tell);
        }
        if standing.nodes > 0 {
            event.nodes().into_iter().flatten().map(Scope::Node).for_each(&mut tell);
        }
    }

    fn reset(&self, objects: BTreeMap<Rc<str>, AnyRev>, revision: u64) {
        self.by_node.borrow_mut().clear();
        for (key, object) in &objects {
            self.moved(key, None, Some(&*object.body));
        }
        *self.objects.borrow_mut() = objects;
        self.ring.borrow_mut().clear();
        self.forgotten.set(revision);
        self.changed.set(revision);
        self.standing.set(Standing::default());
        for watcher in self.watchers.take().into_values().flatten() {
            watcher.end();
        }
    }
}

/// The node that a pod is on.
fn node_of(object: &dyn Object) -> Option<Str> {
    let pod = object.downcast_ref::<api::core_v1::Pod>()?;
    (!pod.spec.node_name.is_empty()).then(|| pod.spec.node_name.clone())
}

impl Event {
    fn namespace(&self) -> Option<Str> {
        let metadata = self.object.body.metadata()?;
        (!metadata.namespace.is_empty()).then(|| metadata.namespace.clone())
    }

    /// The node of a pod: the one it is on, and the one it was on, where that is another.
    fn nodes(&self) -> [Option<Str>; 2] {
        let now = node_of(&*self.object.body);
        let before = self.previous.as_deref().and_then(node_of).filter(|before| Some(before) != now.as_ref());
        [before, now]
    }
}

/// Whether a watcher with this scope hears of an event.
fn stands_under(event: &Event, scope: &Scope) -> bool {
    match scope {
        Scope::All => true,
        Scope::Key(key) => *key == event.key,
        Scope::Namespace(namespace) => event.namespace().as_ref() == Some(namespace),
        Scope::Node(node) => event.nodes().iter().flatten().any(|other| other == node),
    }
}

/// All resources' caches, fed by one watch of the store, so that they stand at one revision.
pub struct Cache {
    resources: Vec<ResourceCache>,
    /// `/registry/pods/` -> index, in the order of the stores.
    prefixes: BTreeMap<Rc<str>, usize>,
    revision: Cell<u64>,
    ready: Cell<bool>,
    progress: Notify,
}

impl Cache {
    /// An empty cache for the resources with these key prefixes.
    pub fn new(prefixes: impl Iterator<Item = Rc<str>>) -> Cache {
        let prefixes: BTreeMap<Rc<str>, usize> = prefixes.enumerate().map(|(i, prefix)| (prefix, i)).collect();
        Cache {
            resources: prefixes.iter().map(|_| ResourceCache::default()).collect(),
            prefixes,
            revision: Cell::new(0),
            ready: Cell::new(false),
            progress: Notify::new(),
        }
    }

    /// The cache of a resource, by its number.
    pub fn resource(&self, index: usize) -> &ResourceCache {
        // The numbers come from the table the cache was made of.
        &self.resources[index]
    }

    /// The revision up to which everything is known.
    pub fn revision(&self) -> u64 {
        self.revision.get()
    }

    /// Whether it was filled.
    pub fn ready(&self) -> bool {
        self.ready.get()
    }

    /// Completes once everything up to `revision` is known.
    pub async fn reached(&self, revision: u64) {
        while !self.ready.get() || self.revision.get() < revision {
            self.progress.notified().await;
        }
    }

    /// Begins anew with all that the store held at `revision`. All watches end.
    pub fn reset(&self, entries: Vec<Entry>, revision: u64) {
        let mut objects: Vec<BTreeMap<Rc<str>, AnyRev>> = self.resources.iter().map(|_| BTreeMap::new()).collect();
        for entry in entries {
            if let Some((index, key)) = self.find(&entry.key)
                && let Some(objects) = objects.get_mut(index)
            {
                objects.insert(key, AnyRev { revision: entry.revision, body: entry.body });
            }
        }
        for (resource, objects) in self.resources.iter().zip(objects) {
            resource.reset(objects, revision);
        }
        self.revision.set(revision);
        self.ready.set(true);
        self.progress.notify();
    }

    /// Takes in changes, in the store's order.
    pub fn apply(&self, changes: &[Change]) {
        for change in changes {
            if let Some((index, key)) = self.find(&change.key) {
                self.resource(index).apply(key, change);
            }
            self.revision.set(change.revision);
        }
        self.progress.notify();
    }

    /// The resource of a key, and the key's part after it.
    pub fn find(&self, key: &str) -> Option<(usize, Rc<str>)> {
        let (prefix, index) =
            self.prefixes.range::<str, _>((std::ops::Bound::Unbounded, std::ops::Bound::Included(key))).next_back()?;
        let rest = key.strip_prefix(&**prefix)?;
        Some((*index, Rc::from(rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core_v1::ConfigMap;

    fn change(name: &str, revision: u64, there: bool) -> Change {
        let mut object = ConfigMap::default();
        object.metadata.namespace = "default".into();
        object.metadata.name = name.into();
        let body: Option<Rc<dyn Object>> = if there { Some(Rc::new(object)) } else { None };
        Change { key: format!("/registry/configmaps/default/{name}").into(), revision, body, log: None }
    }

    fn cache() -> Cache {
        let cache = Cache::new([Rc::from("/registry/configmaps/"), Rc::from("/registry/pods/")].into_iter());
        cache.reset(Vec::new(), 10);
        cache
    }

    #[test]
    fn what_the_ring_forgot_is_refused() {
        let cache = cache();
        assert_eq!(cache.resource(0).watch(Scope::All, 9).err(), Some(10));
        for i in 0..RING_CAPACITY as u64 + 5 {
            cache.apply(&[change("a", 11 + i, true)]);
        }
        assert_eq!(cache.resource(0).watch(Scope::All, 14).err(), Some(15));
        let watcher = cache.resource(0).watch(Scope::All, 15).ok().unwrap();
        assert_eq!(watcher.pop().map(|event| event.revision), Some(16));
    }

    #[test]
    fn a_slow_watcher_is_cut_off_and_others_are_found_by_their_scope() {
        let cache = cache();
        let all = cache.resource(0).watch(Scope::All, 10).ok().unwrap();
        let one = cache.resource(0).watch(Scope::Key(Rc::from("default/b")), 10).ok().unwrap();
        let other = cache.resource(0).watch(Scope::Namespace("other".into()), 10).ok().unwrap();
        cache.apply(&[change("b", 11, true), change("b", 12, false), change("c", 13, true)]);
        let kinds = |watcher: &Watcher| {
            std::iter::from_fn(|| watcher.pop()).map(|event| (event.revision, event.kind)).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&one), [(11, ChangeKind::Added), (12, ChangeKind::Deleted)]);
        assert!(kinds(&other).is_empty());
        for i in 0..=WATCHER_CAPACITY as u64 {
            cache.apply(&[change("a", 14 + i, true)]);
        }
        assert!(kinds(&all).len() >= WATCHER_CAPACITY - 3 && all.ended());
        cache.reset(Vec::new(), 100_000);
        assert!(one.ended() && other.ended());
    }

    #[test]
    fn lists_are_in_the_order_of_keys() {
        let cache = cache();
        cache.apply(&[change("b", 11, true), change("a", 12, true), change("a-b", 13, true)]);
        let keys = |namespace: &str| {
            let list = cache.resource(0).list(namespace, None);
            list.into_iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(keys("default"), ["default/a", "default/a-b", "default/b"]);
        assert!(keys("defaul").is_empty());
        assert_eq!(cache.revision(), 13);
        assert!(cache.resource(1).is_empty());
    }
}
