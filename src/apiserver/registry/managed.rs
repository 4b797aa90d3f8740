//! Managed fields: who wrote what.
//!
//! Writes in bytes, of people and their tools, are worked out at once and kept in the object. Writes of typed objects,
//! of the cluster's own components, only leave a note, from which they are worked out when somebody outside looks or
//! applies. The notes are stored beside the object, so that other servers have them, too, and so that they outlive a
//! server.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::apply;
use api::meta_v1::ManagedFieldsEntry;
use api::rest::Body;
use api::{AnyRev, List, Object, Str, Time};

use super::Call;
use crate::cache::Cache;
use crate::storage::{Change, Entry};

/// Bound of the objects with notes; those with the first keys are forgotten beyond it.
const OBJECTS: usize = 65_536;
/// Bound of the notes of one object; beyond it they are worked out and begun anew.
const NOTES: usize = 8;

/// One or more writes in a row by the same writer.
#[derive(Clone)]
struct Note {
    manager: Str,
    subresource: Str,
    api_version: &'static str,
    time: Time,
    before: Option<Rc<dyn Object>>,
    after: Rc<dyn Object>,
}

/// The notes of one object since everything was in it.
#[derive(Clone, Default)]
pub struct Log {
    uid: Str,
    /// What was worked out already, where it isn't in the object.
    folded: Option<List<ManagedFieldsEntry>>,
    notes: Vec<Note>,
}

/// The newest notes of an object that are known, none where everything is in it, and the revision that they are of.
struct Kept {
    revision: u64,
    log: Option<Rc<Log>>,
}

/// The notes of all objects, by resource and key.
#[derive(Default)]
pub struct Writers {
    logs: RefCell<BTreeMap<(usize, Rc<str>), Kept>>,
}

fn uid(object: &dyn Object) -> Str {
    object.metadata().map_or(Str::default(), |metadata| metadata.uid.clone())
}

fn with_fields(object: &dyn Object, fields: Option<&List<ManagedFieldsEntry>>) -> Box<dyn Object> {
    let mut copy = object.boxed();
    if let (Some(fields), Some(metadata)) = (fields, copy.metadata_mut()) {
        metadata.managed_fields = fields.clone();
    }
    copy
}

impl Log {
    /// Works the notes out.
    fn fold(&self) -> Option<List<ManagedFieldsEntry>> {
        let mut fields = self.folded.clone();
        for note in &self.notes {
            let before = match &note.before {
                Some(before) => with_fields(&**before, fields.as_ref()),
                None => note.after.desc().new_object(),
            };
            let mut after = with_fields(&*note.after, fields.as_ref());
            let reset = apply::reset_fields(&note.subresource);
            let request = apply::Request {
                manager: &note.manager,
                subresource: &note.subresource,
                api_version: note.api_version,
                now: note.time,
                reset: &reset,
            };
            apply::update(&*before, &mut *after, &request);
            fields = after.metadata().map(|metadata| metadata.managed_fields.clone());
        }
        fields
    }
}

impl Writers {
    /// The notes once a typed object is written.
    fn next(&self, call: &Call, key: &str, uid: Str, before: Option<&Rc<dyn Object>>, after: &Rc<dyn Object>) -> Log {
        let known = self.log_of(call.resource, key).filter(|log| log.uid == uid);
        let mut log = known.map_or_else(|| Log { uid, ..Log::default() }, |log| (*log).clone());
        let (manager, time) = (call.manager(), call.moment().time());
        if let Some(last) = log.notes.last_mut()
            && last.manager == manager
            && last.subresource == call.subresource
            // What admission added to a new object is nobody's; the next write has it before and after.
            && last.before.is_some()
        {
            last.after = after.clone();
            last.time = time;
            return log;
        }
        if log.notes.len() >= NOTES {
            log.folded = log.fold();
            log.notes.clear();
        }
        log.notes.push(Note {
            manager,
            subresource: call.subresource.clone(),
            api_version: call.kind.api_version,
            time,
            before: before.cloned(),
            after: after.clone(),
        });
        log
    }

    /// The newest notes of an object that are known.
    pub fn log_of(&self, resource: usize, key: &str) -> Option<Rc<Log>> {
        self.logs.borrow().get(&(resource, Rc::from(key)))?.log.clone()
    }

    /// An object's managed fields, where they are not those in it.
    fn of(&self, resource: usize, key: &str, object: &dyn Object) -> Option<List<ManagedFieldsEntry>> {
        let log = self.log_of(resource, key)?;
        if log.uid != uid(object) {
            return None;
        }
        log.fold()
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, resource: usize, key: &str) {
        self.logs.borrow_mut().remove(&(resource, Rc::from(key)));
    }

    /// Takes in the notes of a revision, if they are the newest.
    pub fn learn(&self, resource: usize, key: Rc<str>, revision: u64, log: Option<Rc<Log>>) {
        let mut logs = self.logs.borrow_mut();
        let place = (resource, key);
        let known = logs.get(&place).map(|kept| kept.revision);
        if known.is_some_and(|known| known > revision) || known.is_none() && log.is_none() {
            return;
        }
        while logs.len() >= OBJECTS {
            logs.pop_first();
        }
        logs.insert(place, Kept { revision, log });
    }

    /// Begins anew with what the store holds.
    pub fn begin(&self, cache: &Cache, entries: &[Entry]) {
        self.logs.borrow_mut().clear();
        for entry in entries.iter().filter(|entry| entry.log.is_some()) {
            if let Some((resource, key)) = cache.find(&entry.key) {
                self.learn(resource, key, entry.revision, entry.log.clone());
            }
        }
    }

    /// Takes in what the store tells, in its order; what has no notes any more needs no place.
    pub fn follow(&self, cache: &Cache, changes: &[Change]) {
        for change in changes {
            let Some((resource, key)) = cache.find(&change.key) else { continue };
            if change.log.is_some() {
                self.learn(resource, key, change.revision, change.log.clone());
                continue;
            }
            let mut logs = self.logs.borrow_mut();
            let place = (resource, key);
            if logs.get(&place).is_some_and(|kept| kept.revision <= change.revision) {
                logs.remove(&place);
            }
        }
    }
}

/// An apply that changes nothing but times changes nothing.
pub(super) fn keep_times(new: &mut dyn Object, old: &dyn Object) {
    let Some(before) = old.metadata().map(|metadata| metadata.managed_fields.clone()) else { return };
    let Some(metadata) = new.metadata_mut() else { return };
    let alike = |a: &ManagedFieldsEntry, b: &ManagedFieldsEntry| {
        let mut timed = b.clone();
        timed.time = a.time;
        *a == timed
    };
    let fields = &metadata.managed_fields;
    let same = fields.len() == before.len() && fields.iter().zip(before.iter()).all(|(a, b)| alike(a, b));
    if !same {
        return;
    }
    let after = std::mem::replace(&mut metadata.managed_fields, before);
    if !new.equal(old)
        && let Some(metadata) = new.metadata_mut()
    {
        metadata.managed_fields = after;
    }
}

impl Call {
    /// Whether this write is worked out at once.
    pub(super) fn tracks(&self) -> bool {
        matches!(self.request.body, Body::Bytes(_)) && !self.owns_nothing()
    }

    /// A binding and an eviction are objects of their own: what they change of the pod becomes nobody's.
    fn owns_nothing(&self) -> bool {
        matches!(&*self.subresource, "binding" | "eviction")
    }

    /// Whether this write leaves a note. Events and leases are many, and nobody applies them.
    pub(super) fn notes(&self) -> bool {
        !self.tracks() && !matches!(self.resource().kind.kind, "Event" | "Lease")
    }

    fn key_of(&self, object: &dyn Object) -> String {
        object.metadata().map_or(String::new(), |m| self.resource().short_key(&m.namespace, &m.name))
    }

    /// A stored object with all its managed fields.
    pub(super) fn live(&self, object: &dyn Object) -> Box<dyn Object> {
        let fields = self.server.writers.of(self.resource, &self.key_of(object), object);
        with_fields(object, fields.as_ref())
    }

    /// An object as programs outside of the cluster see it. Components never look at managed fields, and get objects
    /// as they are stored.
    pub fn shown(&self, object: AnyRev) -> AnyRev {
        if &*crate::agent(&self.request.user_agent) != "kubectl" {
            return object;
        }
        match self.server.writers.of(self.resource, &self.key_of(&*object.body), &*object.body) {
            Some(fields) => {
                let body = Rc::from(with_fields(&*object.body, Some(&fields)));
                AnyRev { revision: object.revision, body }
            }
            None => object,
        }
    }

    /// Sets the managed fields of an object that is about to be written. `old` is what is stored.
    pub(super) fn track(&self, new: &mut dyn Object, old: Option<&dyn Object>) {
        let Some(old) = old else {
            let zero = new.desc().new_object();
            return self.track_from(&*zero, new);
        };
        // What changes nothing else doesn't change the times.
        let kept = old.metadata().map(|metadata| metadata.managed_fields.clone()).unwrap_or_default();
        if let Some(metadata) = new.metadata_mut() {
            // A request that writes the managed fields themselves means them.
            let asked = std::mem::replace(&mut metadata.managed_fields, kept.clone());
            if (asked == kept || asked.is_nil()) && new.equal(old) {
                return;
            }
            if let Some(metadata) = new.metadata_mut() {
                metadata.managed_fields = asked;
            }
        }
        let live = self.live(old);
        // A writer that read the object saw the fields in it; the notes come on top of those.
        let unchanged = |new: &dyn Object| {
            let (Some(new), Some(old)) = (new.metadata(), old.metadata()) else { return true };
            new.managed_fields.is_nil() || new.managed_fields == old.managed_fields
        };
        if unchanged(new)
            && let (Some(metadata), Some(live)) = (new.metadata_mut(), live.metadata())
        {
            metadata.managed_fields = live.managed_fields.clone();
        }
        self.track_from(&*live, new);
    }

    fn track_from(&self, live: &dyn Object, new: &mut dyn Object) {
        let reset = apply::reset_fields(&self.subresource);
        apply::update(live, new, &self.apply_request(&self.manager(), &reset));
    }

    /// Who writes, for the tracking of fields.
    pub(super) fn apply_request<'a>(&'a self, manager: &'a str, reset: &'a apply::Set) -> apply::Request<'a> {
        apply::Request {
            manager,
            subresource: &self.subresource,
            api_version: self.kind.api_version,
            now: self.moment().time(),
            reset,
        }
    }

    /// The notes to be stored with an object; none where everything is in it. `after` is the object as its writer sent
    /// it, where that is known: what admission and the strategy made of it belongs to nobody.
    pub(super) fn log(
        &self,
        before: Option<&Rc<dyn Object>>,
        after: &Rc<dyn Object>,
        stored: &dyn Object,
    ) -> Option<Rc<Log>> {
        if !self.notes() {
            return None;
        }
        let (key, uid) = (self.key_of(stored), uid(stored));
        if self.owns_nothing() {
            return self.server.writers.log_of(self.resource, &key).filter(|log| log.uid == uid);
        }
        Some(Rc::new(self.server.writers.next(self, &key, uid, before, after)))
    }

    /// After a write: what was stored is known at once.
    pub(super) fn written(&self, after: &dyn Object, revision: u64, log: Option<Rc<Log>>) {
        let key = Rc::from(self.key_of(after));
        let writers = &self.server.writers;
        if log.is_some() || writers.log_of(self.resource, &key).is_some() {
            writers.learn(self.resource, key, revision, log);
        }
    }
}
