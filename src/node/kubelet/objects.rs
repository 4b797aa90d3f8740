//! The ConfigMaps and Secrets that pods of this node use, each watched by itself while one does
//! (pkg/kubelet/util/manager/watch_based_manager.go).

use api::core_v1::{ConfigMap, Pod, Secret, Volume};
use api::rest::{EventType, ListOptions, WatchBody};
use api::{AnyRev, KindInfo, Resource, Rev, Str};
use client::{Client, klog};
use sim::sync::Notify;
use sim::{Ctx, Duration, JoinHandle};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How long a first look waits for the server.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which kind is meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    ConfigMap,
    Secret,
}

type Key = (Kind, Str, Str);

#[derive(Default)]
struct Entry {
    value: RefCell<Option<AnyRev>>,
    synced: Cell<bool>,
    changed: Notify,
}

struct Watched {
    entry: Rc<Entry>,
    pods: BTreeSet<Str>,
    task: JoinHandle<()>,
}

/// Keeps what pods refer to at hand. Bounded by what the pods of the node refer to.
pub struct ObjectCache {
    ctx: Ctx,
    client: Client,
    watched: RefCell<BTreeMap<Key, Watched>>,
}

impl ObjectCache {
    /// An empty cache.
    pub fn new(ctx: &Ctx, client: Client) -> Rc<Self> {
        Rc::new(Self { ctx: ctx.clone(), client, watched: RefCell::default() })
    }

    /// Watches what a pod refers to.
    pub fn register(&self, pod: &Pod) {
        let uid = &pod.metadata.uid;
        for (kind, name) in references(pod) {
            let key = (kind, pod.metadata.namespace.clone(), name);
            let mut watched = self.watched.borrow_mut();
            let slot = watched.entry(key.clone()).or_insert_with(|| {
                let entry = Rc::new(Entry::default());
                let task =
                    self.ctx.spawn("object watch", watch(self.ctx.clone(), self.client.clone(), key, entry.clone()));
                Watched { entry, pods: BTreeSet::new(), task }
            });
            slot.pods.insert(uid.clone());
        }
    }

    /// A pod is done.
    pub fn unregister(&self, pod: &Pod) {
        let uid = &pod.metadata.uid;
        self.watched.borrow_mut().retain(|_, slot| {
            slot.pods.remove(uid);
            if slot.pods.is_empty() {
                slot.task.abort();
            }
            !slot.pods.is_empty()
        });
    }

    /// A ConfigMap; the error is the kubelet's text, and whether the object does not exist.
    pub async fn config_map(&self, namespace: &Str, name: &Str) -> Result<Rev<ConfigMap>, (String, bool)> {
        self.get(Kind::ConfigMap, namespace, name).await
    }
    /// A Secret.
    pub async fn secret(&self, namespace: &Str, name: &Str) -> Result<Rev<Secret>, (String, bool)> {
        self.get(Kind::Secret, namespace, name).await
    }

    async fn get<T: Resource>(&self, kind: Kind, namespace: &Str, name: &Str) -> Result<Rev<T>, (String, bool)> {
        let what = match kind {
            Kind::ConfigMap => "configmap",
            Kind::Secret => "secret",
        };
        let entry = self.watched.borrow().get(&(kind, namespace.clone(), name.clone())).map(|w| w.entry.clone());
        let Some(entry) = entry else {
            return Err((format!("object \"{namespace}\"/\"{name}\" not registered"), false));
        };
        let synced = async {
            while !entry.synced.get() {
                entry.changed.notified().await;
            }
        };
        if self.ctx.timeout(PATIENCE, synced).await.is_err() {
            return Err((format!("failed to sync {what} cache: timed out waiting for the condition"), false));
        }
        let value = entry.value.borrow().as_ref().and_then(AnyRev::downcast::<T>);
        value.ok_or_else(|| (format!("{what} {} not found", api::go::quote(name)), true))
    }
}

async fn watch(ctx: Ctx, client: Client, key: Key, entry: Rc<Entry>) {
    let (kind, namespace, name) = key;
    let info: &'static KindInfo = match kind {
        Kind::ConfigMap => ConfigMap::KIND,
        Kind::Secret => Secret::KIND,
    };
    let options = ListOptions { field_selector: format!("metadata.name={name}").into(), ..ListOptions::default() };
    loop {
        let listed = client.list_kind(info, &namespace, &options).await;
        match listed {
            Ok(list) => {
                entry.value.replace(list.items.into_iter().next());
                entry.synced.set(true);
                entry.changed.notify();
                let from = ListOptions {
                    resource_version: list.revision.to_string().into(),
                    allow_watch_bookmarks: true,
                    ..options.clone()
                };
                if let Ok(mut events) = client.watch_kind(info, &namespace, from).await {
                    while let Some(Ok(event)) = events.next().await {
                        let WatchBody::Object(object) = event.body else { continue };
                        entry.value.replace((event.type_ != EventType::Deleted).then_some(object));
                        entry.changed.notify();
                    }
                }
            }
            Err(why) => {
                klog::error("Failed to watch").err(&why).str("reflector", "object-").log(&ctx, "reflector.go:204");
            }
        }
        ctx.sleep(Duration::from_secs(1)).await;
    }
}

/// All that a pod's containers and volumes name.
fn references(pod: &Pod) -> BTreeSet<(Kind, Str)> {
    let mut all = BTreeSet::new();
    let mut add = |kind: Kind, name: &Str| {
        if !name.is_empty() {
            all.insert((kind, name.clone()));
        }
    };
    for container in pod.spec.init_containers.iter().chain(pod.spec.containers.iter()) {
        for from in container.env_from.iter() {
            if let Some(map) = from.config_map_ref.get() {
                add(Kind::ConfigMap, &map.name);
            }
            if let Some(secret) = from.secret_ref.get() {
                add(Kind::Secret, &secret.name);
            }
        }
        for source in container.env.iter().filter_map(|e| e.value_from.get()) {
            if let Some(map) = source.config_map_key_ref.get() {
                add(Kind::ConfigMap, &map.name);
            }
            if let Some(secret) = source.secret_key_ref.get() {
                add(Kind::Secret, &secret.name);
            }
        }
    }
    for secret in pod.spec.image_pull_secrets.iter() {
        add(Kind::Secret, &secret.name);
    }
    for volume in pod.spec.volumes.iter() {
        volume_references(volume, &mut add);
    }
    all
}

fn volume_references(volume: &Volume, add: &mut impl FnMut(Kind, &Str)) {
    if let Some(map) = volume.config_map.get() {
        add(Kind::ConfigMap, &map.name);
    }
    if let Some(secret) = volume.secret.get() {
        add(Kind::Secret, &secret.secret_name);
    }
    for source in volume.projected.get().iter().flat_map(|p| p.sources.iter()) {
        if let Some(map) = source.config_map.get() {
            add(Kind::ConfigMap, &map.name);
        }
        if let Some(secret) = source.secret.get() {
            add(Kind::Secret, &secret.name);
        }
    }
}
