//! What observers can reach: the store as the API server's cache holds it, and the time.

use super::Inputs;
use crate::World;
use api::{AnyRev, KindInfo, Resource, Rev};
use std::rc::Rc;
use view::ObjectRef;

/// A look at a world between two polls.
pub struct Look<'a> {
    /// The world.
    pub world: &'a World,
    /// The reader's inputs so far.
    pub inputs: &'a Inputs,
    /// The API server that is looked at: the first that runs, or the last that ran.
    pub server: Rc<apiserver::Inner>,
}

impl<'a> Look<'a> {
    /// A look; nothing before the first API server has started.
    pub fn new(world: &'a World, inputs: &'a Inputs) -> Option<Self> {
        let servers = world.observed().api_servers.borrow();
        let running = servers.iter().find(|(name, _)| world.sim().process(name).is_some());
        let server = running.or_else(|| servers.iter().next()).map(|(_, inner)| inner.clone())?;
        drop(servers);
        Some(Self { world, inputs, server })
    }
    /// Virtual time in nanoseconds.
    pub fn now(&self) -> u64 {
        self.world.sim().now().as_nanos()
    }
    /// Wall time of the cluster in nanoseconds since 1970.
    pub fn wall(&self) -> i64 {
        self.world.sim().unix_nanos()
    }
    /// Virtual time of a moment given in seconds since 1970.
    pub fn virtual_time(&self, unix: i64) -> u64 {
        let epoch = self.wall() - i64::try_from(self.now()).unwrap_or(0);
        u64::try_from(unix.saturating_mul(1_000_000_000) - epoch).unwrap_or(0)
    }
    /// The same of a moment in microseconds.
    pub fn virtual_time_of_micros(&self, micros: i64) -> u64 {
        let part = u64::try_from(micros.rem_euclid(1_000_000)).unwrap_or(0);
        self.virtual_time(micros.div_euclid(1_000_000)) + part * 1000
    }
    /// The kind of that name, the built-in one that is stored.
    pub fn kind(&self, kind: &str) -> Option<&'static KindInfo> {
        self.server.resources.iter().map(|r| r.kind).find(|k| k.kind == kind)
    }
    /// An object as stored.
    pub fn get(&self, object: &ObjectRef) -> Option<AnyRev> {
        let kind = self.kind(&object.kind)?;
        let index = self.server.resource_of(kind)?;
        let key = if kind.namespaced { format!("{}/{}", object.namespace, object.name) } else { object.name.clone() };
        self.server.cache.resource(index).get(&key)
    }
    /// An object of a known type.
    pub fn typed<T: Resource>(&self, namespace: &str, name: &str) -> Option<Rev<T>> {
        let object = ObjectRef { kind: T::KIND.kind.into(), namespace: namespace.into(), name: name.into() };
        self.get(&object)?.downcast()
    }
    /// All objects of a type in a namespace, or in all.
    pub fn list<T: Resource>(&self, namespace: &str) -> Vec<Rev<T>> {
        let Some(index) = self.server.resource_of(T::KIND) else { return Vec::new() };
        let mut found = Vec::new();
        self.server.cache.resource(index).each(namespace, |object| found.extend(object.downcast()));
        found
    }
}
