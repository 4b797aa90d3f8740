//! The cache of an informer: the objects of one kind by key and by index. Only its reflector writes into it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use api::object::Object;
use api::{AnyRev, Resource, Rev, Str};

use crate::key::Key;
use crate::tally::Follow;

/// Says under which values an index holds an object.
pub(crate) type IndexFn = Rc<dyn Fn(&dyn Object) -> Vec<Str>>;

struct Index {
    of: IndexFn,
    /// The objects themselves, so that reading a large group looks nothing up.
    values: BTreeMap<Str, BTreeMap<Key, AnyRev>>,
}

impl Index {
    fn insert(&mut self, key: &Key, object: &AnyRev) {
        for value in (self.of)(&*object.body) {
            self.values.entry(value).or_default().insert(key.clone(), object.clone());
        }
    }

    fn remove(&mut self, key: &Key, object: &dyn Object) {
        for value in (self.of)(object) {
            if let Some(objects) = self.values.get_mut(&value) {
                objects.remove(key);
                if objects.is_empty() {
                    self.values.remove(&value);
                }
            }
        }
    }
}

/// The cache; as large as the objects of its kind are many.
#[derive(Default)]
pub(crate) struct Store {
    objects: BTreeMap<Key, AnyRev>,
    indexes: BTreeMap<&'static str, Index>,
    followers: Vec<Box<dyn Follow>>,
    /// The revision up to which the cache is known to be right.
    pub revision: u64,
}

impl Store {
    pub fn get(&self, key: &Key) -> Option<&AnyRev> {
        self.objects.get(key)
    }

    /// Puts an object in and returns what it replaces.
    pub fn insert(&mut self, key: Key, object: AnyRev) -> Option<AnyRev> {
        let old = self.objects.insert(key.clone(), object.clone());
        for index in self.indexes.values_mut() {
            // Most updates change nothing that is indexed: then the insertion below replaces in place.
            if let Some(old) = &old
                && (index.of)(&*old.body) != (index.of)(&*object.body)
            {
                index.remove(&key, &*old.body);
            }
            index.insert(&key, &object);
        }
        for follower in &self.followers {
            follower.changed(old.as_ref().map(|o| &*o.body), Some(&*object.body));
        }
        old
    }

    pub fn remove(&mut self, key: &Key) -> Option<AnyRev> {
        let old = self.objects.remove(key)?;
        for index in self.indexes.values_mut() {
            index.remove(key, &*old.body);
        }
        for follower in &self.followers {
            follower.changed(Some(&*old.body), None);
        }
        Some(old)
    }

    pub fn keys(&self) -> Vec<Key> {
        self.objects.keys().cloned().collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &AnyRev> {
        self.objects.values()
    }

    pub fn in_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a AnyRev> {
        let from = Key::new(namespace, "");
        self.objects.range(from..).take_while(move |(k, _)| k.namespace == *namespace).map(|(_, v)| v)
    }

    pub fn add_index(&mut self, name: &'static str, of: IndexFn) {
        if self.indexes.contains_key(name) {
            return;
        }
        let mut index = Index { of, values: BTreeMap::new() };
        for (key, object) in &self.objects {
            index.insert(key, object);
        }
        self.indexes.insert(name, index);
    }

    /// Tells `follower` of all objects and from now on of every change.
    pub fn follow(&mut self, follower: Box<dyn Follow>) {
        for object in self.objects.values() {
            follower.changed(None, Some(&*object.body));
        }
        self.followers.push(follower);
    }

    pub fn by_index<'a>(&'a self, index: &str, value: &str) -> impl Iterator<Item = &'a AnyRev> {
        let objects = self.indexes.get(index).and_then(|i| i.values.get(value));
        objects.into_iter().flat_map(BTreeMap::values)
    }
}

/// Reads an informer's cache. The objects are shared with it and with the server: never changed in place.
pub struct Lister<T> {
    pub(crate) store: Rc<RefCell<Store>>,
    pub(crate) kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Lister { store: self.store.clone(), kind: PhantomData }
    }
}

impl<T: Resource> Lister<T> {
    /// The object of that name; the namespace is empty for cluster-scoped kinds.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Rev<T>> {
        self.by_key(&Key::new(namespace, name))
    }

    /// The object of that key.
    pub fn by_key(&self, key: &Key) -> Option<Rev<T>> {
        self.store.borrow().get(key)?.downcast()
    }

    /// All objects, by namespace and name.
    pub fn list(&self) -> Vec<Rev<T>> {
        self.store.borrow().iter().filter_map(|o| o.downcast()).collect()
    }

    /// The objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Rev<T>> {
        self.store.borrow().in_namespace(namespace).filter_map(|o| o.downcast()).collect()
    }

    /// The objects that an index holds under a value, by namespace and name. None for an index that does not exist.
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Rev<T>> {
        self.store.borrow().by_index(index, value).filter_map(|o| o.downcast()).collect()
    }

    /// The revision up to which the cache is known to be right; 0 before the first list.
    pub fn revision(&self) -> u64 {
        self.store.borrow().revision
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.store.borrow().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Resource> Lister<T> {
    /// A lister of fixed objects, for tests of reconcile functions.
    pub fn of(objects: impl IntoIterator<Item = Rev<T>>) -> Lister<T> {
        let mut store = Store::default();
        for object in objects {
            store.revision = store.revision.max(object.revision);
            store.insert(Key::of(object.body.metadata()), object.any());
        }
        Lister { store: Rc::new(RefCell::new(store)), kind: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Counted, Tally};
    use api::core_v1::Pod;

    fn pod(namespace: &str, name: &str, node: &str, revision: u64) -> Rev<Pod> {
        let mut p = Pod::default();
        p.metadata.namespace = namespace.into();
        p.metadata.name = name.into();
        p.spec.make().node_name = node.into();
        Rev::new(revision, p)
    }

    fn names(pods: &[Rev<Pod>]) -> Vec<&str> {
        pods.iter().map(|p| &*p.metadata.name).collect()
    }

    #[test]
    fn lists_by_namespace_and_index() {
        let lister = Lister::of([pod("a", "x", "n1", 1), pod("a", "y", "", 2), pod("b", "z", "n1", 3)]);
        let by_node: IndexFn = Rc::new(|o: &dyn Object| {
            let Some(p) = o.downcast_ref::<Pod>() else { return Vec::new() };
            vec![p.spec.node_name.clone()]
        });
        lister.store.borrow_mut().add_index("node", by_node);
        assert_eq!(names(&lister.in_namespace("a")), ["x", "y"]);
        assert_eq!(names(&lister.by_index("node", "n1")), ["x", "z"]);

        let moved = pod("a", "y", "n1", 4);
        lister.store.borrow_mut().insert(Key::new("a", "y"), moved.any());
        lister.store.borrow_mut().remove(&Key::new("b", "z"));
        assert_eq!(names(&lister.by_index("node", "n1")), ["x", "y"]);
        assert!(lister.by_index("node", "").is_empty());
        assert_eq!(lister.get("a", "y").map(|p| p.revision), Some(4));
    }

    #[test]
    fn a_tally_follows_every_change() {
        let lister = Lister::of([pod("a", "x", "n1", 1), pod("a", "y", "", 2), pod("b", "z", "n1", 3)]);
        let tally = Tally::<Str>::default();
        let class = |o: &dyn Object| {
            let pod = o.downcast_ref::<Pod>()?;
            Some((pod.metadata.namespace.clone(), pod.spec.node_name.clone()))
        };
        lister.store.borrow_mut().follow(Box::new(Counted { tally: tally.clone(), class }));
        let all = || {
            let counts = ["a", "b", "c"].map(|group| tally.of(group));
            counts.iter().flatten().map(|(node, n)| format!("{node}={n}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(all(), "=1 n1=1 n1=1");
        lister.store.borrow_mut().insert(Key::new("a", "y"), pod("a", "y", "n1", 4).any());
        lister.store.borrow_mut().insert(Key::new("a", "y"), pod("a", "y", "n1", 5).any());
        assert_eq!(all(), "n1=2 n1=1");
        lister.store.borrow_mut().insert(Key::new("c", "w"), pod("c", "w", "n2", 6).any());
        lister.store.borrow_mut().remove(&Key::new("b", "z"));
        lister.store.borrow_mut().remove(&Key::new("a", "x"));
        assert_eq!(all(), "n1=1 n2=1");
        assert!(tally.of("b").is_empty());
    }
}
