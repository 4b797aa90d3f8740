//! Informers: a cache kept by a reflector, and handlers told of every change (client-go `tools/cache`).

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::Duration;

use api::object::Object;
use api::{AnyRev, KindInfo, Resource, Rev, Str};
use sim::sync::Notify;

use crate::Client;
use crate::key::Key;
use crate::reflector;
use crate::store::{Lister, Store};
use crate::tally::{Counted, Tally};

/// A change of one object as its informer saw it.
#[derive(Debug, Clone)]
pub enum Delta<T: ?Sized> {
    /// It is new to the cache.
    Added(Rev<T>),
    /// It changed; a resync sends both the same.
    Updated {
        /// As it was.
        old: Rev<T>,
        /// As it is.
        new: Rev<T>,
    },
    /// It is gone; this is its last known state.
    Deleted(Rev<T>),
}

/// A change of an object of any kind.
pub type AnyDelta = Delta<dyn Object>;

impl<T: ?Sized> Delta<T> {
    /// The object as it is, or was last.
    pub fn object(&self) -> &Rev<T> {
        match self {
            Delta::Added(o) | Delta::Deleted(o) | Delta::Updated { new: o, .. } => o,
        }
    }

    /// The revision of that state.
    pub fn revision(&self) -> u64 {
        self.object().revision
    }
}

type Handler = Rc<dyn Fn(&AnyDelta)>;

/// What an informer and its reflector share.
pub(crate) struct Shared {
    pub kind: &'static KindInfo,
    pub options: InformerOptions,
    pub store: Rc<RefCell<Store>>,
    handlers: RefCell<Vec<Handler>>,
    is_synced: Cell<bool>,
    synced: Notify,
    started: Cell<bool>,
}

/// Which objects an informer watches, and how.
#[derive(Debug, Clone, Default)]
pub struct InformerOptions {
    /// Only this namespace; empty for all.
    pub namespace: Str,
    /// Only objects that this field selector matches.
    pub field_selector: Str,
    /// Only objects that this label selector matches.
    pub label_selector: Str,
    /// Tell the handlers of every object again this often, without asking the server.
    pub resync: Option<Duration>,
    /// The reflector's name in log lines.
    pub name: &'static str,
}

impl Shared {
    pub fn dispatch(&self, delta: &AnyDelta) {
        // Handlers may add handlers, so the list is not borrowed while they run.
        let mut i = 0;
        loop {
            let Some(handler) = self.handlers.borrow().get(i).cloned() else { return };
            handler(delta);
            i += 1;
        }
    }

    pub fn set_synced(&self) {
        if !self.is_synced.replace(true) {
            self.synced.notify();
        }
    }

    /// Takes over one object from the server, unless the cache has it as new already.
    pub fn upsert(&self, object: AnyRev) {
        let Some(meta) = object.metadata() else { return };
        let key = Key::of(meta);
        let known = self.store.borrow().get(&key).is_some_and(|old| old.revision >= object.revision);
        if known {
            return;
        }
        let old = self.store.borrow_mut().insert(key, object.clone());
        self.dispatch(&match old {
            Some(old) => Delta::Updated { old, new: object },
            None => Delta::Added(object),
        });
    }

    /// Takes an object out; `last` is its last state as the server tells it.
    pub fn remove(&self, key: &Key, last: Option<AnyRev>) {
        let old = self.store.borrow_mut().remove(key);
        if let Some(object) = last.or(old) {
            self.dispatch(&Delta::Deleted(object));
        }
    }

    /// Tells the handlers of every object as if it had changed.
    pub fn resync(&self) {
        let objects: Vec<AnyRev> = self.store.borrow().iter().cloned().collect();
        for object in objects {
            self.dispatch(&Delta::Updated { old: object.clone(), new: object });
        }
    }
}

/// An informer of a kind known only at run time.
#[derive(Clone)]
pub struct DynInformer {
    pub(crate) shared: Rc<Shared>,
    client: Client,
}

impl DynInformer {
    /// An informer that has not started; [`run`](Self::run) starts it.
    pub fn new(client: Client, kind: &'static KindInfo, options: InformerOptions) -> DynInformer {
        let shared = Rc::new(Shared {
            kind,
            options,
            store: Rc::default(),
            handlers: RefCell::default(),
            is_synced: Cell::new(false),
            synced: Notify::new(),
            started: Cell::new(false),
        });
        DynInformer { shared, client }
    }

    /// The kind it watches.
    pub fn kind(&self) -> &'static KindInfo {
        self.shared.kind
    }

    /// Calls `handler` for every change from now on; objects that the cache holds already come first, as added.
    ///
    /// Handlers run inside the reflector's task: they decide what to enqueue and return.
    pub fn on(&self, handler: impl Fn(&AnyDelta) + 'static) {
        let known: Vec<AnyRev> = self.shared.store.borrow().iter().cloned().collect();
        for object in known {
            handler(&Delta::Added(object));
        }
        self.shared.handlers.borrow_mut().push(Rc::new(handler));
    }

    /// Starts the reflector's task, once.
    pub fn run(&self) {
        if !self.shared.started.replace(true) {
            let (client, shared) = (self.client.clone(), self.shared.clone());
            self.client.ctx().spawn("reflector", async move { reflector::run(client, shared).await });
        }
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.shared.is_synced.get()
    }

    /// Completes once the first list is in the cache.
    pub async fn synced(&self) {
        while !self.has_synced() {
            self.shared.synced.notified().await;
        }
    }

    /// The objects of the cache, by namespace and name.
    pub fn list(&self) -> Vec<AnyRev> {
        self.shared.store.borrow().iter().cloned().collect()
    }

    /// The objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<AnyRev> {
        self.shared.store.borrow().in_namespace(namespace).cloned().collect()
    }

    /// The object of a key.
    pub fn get(&self, key: &Key) -> Option<AnyRev> {
        self.shared.store.borrow().get(key).cloned()
    }

    /// The revision up to which the cache is known to be right.
    pub fn revision(&self) -> u64 {
        self.shared.store.borrow().revision
    }

    /// The keys of the cache.
    pub fn keys(&self) -> Vec<Key> {
        self.shared.store.borrow().keys()
    }

    /// The same with its type.
    pub fn typed<T: Resource>(&self) -> Informer<T> {
        Informer { inner: self.clone(), kind: PhantomData }
    }
}

/// An informer of one type. Clones share the cache.
pub struct Informer<T> {
    inner: DynInformer,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Informer<T> {
    fn clone(&self) -> Self {
        Informer { inner: self.inner.clone(), kind: PhantomData }
    }
}

impl<T: Resource> Informer<T> {
    /// An informer that has not started; [`run`](Self::run) starts it.
    pub fn new(client: Client, options: InformerOptions) -> Informer<T> {
        DynInformer::new(client, T::KIND, options).typed()
    }

    /// Reads its cache.
    pub fn lister(&self) -> Lister<T> {
        Lister { store: self.inner.shared.store.clone(), kind: PhantomData }
    }

    /// [`DynInformer::on`] with typed objects.
    pub fn on(&self, handler: impl Fn(&Delta<T>) + 'static) {
        self.inner.on(move |delta| {
            let typed = match delta {
                Delta::Added(o) => o.downcast().map(Delta::Added),
                Delta::Deleted(o) => o.downcast().map(Delta::Deleted),
                Delta::Updated { old, new } => {
                    old.downcast().zip(new.downcast()).map(|(old, new)| Delta::Updated { old, new })
                }
            };
            if let Some(delta) = typed {
                handler(&delta);
            }
        });
    }

    /// Holds the objects by the values that `of` gives, for [`Lister::by_index`]. A name that exists keeps its index.
    pub fn add_index(&self, name: &'static str, of: impl Fn(&T) -> Vec<Str> + 'static) {
        let of = move |object: &dyn Object| object.downcast_ref::<T>().map(&of).unwrap_or_default();
        self.inner.shared.store.borrow_mut().add_index(name, Rc::new(of));
    }

    /// Counts the objects by the group and the class that `class` gives; none for those that are not counted.
    pub fn tally<C: Ord + Clone + 'static>(&self, class: impl Fn(&T) -> Option<(Str, C)> + 'static) -> Tally<C> {
        let tally = Tally::default();
        let class = move |object: &dyn Object| object.downcast_ref::<T>().and_then(&class);
        self.inner.shared.store.borrow_mut().follow(Box::new(Counted { tally: tally.clone(), class }));
        tally
    }

    /// Starts the reflector's task, once.
    pub fn run(&self) {
        self.inner.run();
    }

    /// Whether the first list is in the cache.
    pub fn has_synced(&self) -> bool {
        self.inner.has_synced()
    }

    /// Completes once the first list is in the cache.
    pub async fn synced(&self) {
        self.inner.synced().await;
    }
}
