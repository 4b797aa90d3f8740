//! The generic registry: every kind is stored, listed and watched by the same code
//! (apiserver's registry/generic and endpoints/handlers); `strategy` says what differs.

mod autoscalers;
pub mod body;
mod budget;
pub mod convert;
mod create;
mod delete;
mod get;
mod list;
pub mod managed;
mod patch;
mod scale;
mod subresource;
mod update;
pub mod watch;

pub use create::generated;
pub use delete::remove;
pub use list::cached;
pub use managed::Writers;
pub use update::Face;

use std::cell::RefCell;
use std::rc::Rc;

use api::rest::{Request, Verb, WriteOptions};
use api::{AnyRev, KindInfo, Object, Status, Str};

use crate::admission::{self, Operation};
use crate::audit::{Entry, Stage};
use crate::strategy::{self, Strategy};
use crate::user::User;
use crate::{Inner, errors};

/// A resource as it is stored.
pub struct Resource {
    /// Its number, in the table and in the cache.
    pub index: usize,
    /// The stored kind.
    pub kind: &'static KindInfo,
    /// How it behaves.
    pub strategy: &'static Strategy,
    /// The keys' common part: `/registry/pods/`.
    pub prefix: Rc<str>,
}

impl Resource {
    /// An object's key.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        if self.kind.namespaced {
            format!("{}{namespace}/{name}", self.prefix)
        } else {
            format!("{}{name}", self.prefix)
        }
    }

    /// The key's part after the resource.
    pub fn short_key(&self, namespace: &str, name: &str) -> String {
        if self.kind.namespaced { format!("{namespace}/{name}") } else { name.to_string() }
    }
}

/// All resources, in the order of discovery. Kinds that two groups serve are stored once.
pub fn resources() -> Vec<Resource> {
    let stored = api::scheme::resources().iter().filter(|kind| kind.stored() && convert::stored_as(kind) == **kind);
    stored
        .filter(|kind| kind.kind != "ComponentStatus")
        .enumerate()
        .map(|(index, kind)| {
            let strategy = strategy::of(kind.group, kind.plural);
            let key = if strategy.key.is_empty() { kind.plural } else { strategy.key };
            Resource { index, kind, strategy, prefix: Rc::from(format!("/registry/{key}/")) }
        })
        .collect()
}

/// A request on its way through the registry.
pub struct Call {
    /// The server.
    pub server: Rc<Inner>,
    /// The request.
    pub request: Rc<Request>,
    /// Who asks.
    pub user: Rc<User>,
    /// The kind in the version of the request.
    pub kind: &'static KindInfo,
    /// Where it is stored: a number of the table.
    pub resource: usize,
    /// The subresource, empty for the object itself.
    pub subresource: Str,
    /// The namespace.
    pub namespace: Str,
    /// The object's name, empty for a collection.
    pub name: Str,
    /// The options of a write.
    pub write: WriteOptions,
    /// `Warning` headers.
    pub warnings: RefCell<Vec<Str>>,
    /// The audit's entry.
    pub entry: Rc<Entry>,
}

impl Call {
    /// The stored resource.
    pub fn resource(&self) -> &Resource {
        // The number comes from the table itself.
        &self.server.resources[self.resource]
    }

    /// The key of the object that the request names.
    pub fn key(&self) -> String {
        self.resource().key(&self.namespace, &self.name)
    }

    /// Adds a warning, once.
    pub fn warn(&self, text: impl Into<Str>) {
        let text = text.into();
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Lights a stage of the request.
    pub fn reach(&self, stage: Stage) {
        self.entry.reach(stage, self.server.ctx.now());
    }

    /// Who is named in managed fields: the request's fieldManager, or the program.
    pub fn manager(&self) -> Str {
        if self.write.field_manager.is_empty() {
            crate::agent(&self.request.user_agent)
        } else {
            self.write.field_manager.clone()
        }
    }

    /// The object as the request's version has it.
    pub fn outgoing(&self, object: AnyRev) -> AnyRev {
        convert::outgoing(self.kind, object)
    }

    /// Notes the revision that the request wrote, and why.
    pub fn wrote(&self, revision: u64, name: &Str, namespace: &Str) {
        self.entry.revision.set(revision);
        if self.entry.name.borrow().is_empty() {
            *self.entry.name.borrow_mut() = name.clone();
        }
        self.reach(Stage::Stored);
        self.server.causes.note(
            revision,
            crate::causes::Cause {
                causes: self.request.causes.clone(),
                user: self.user.name.clone(),
                agent: crate::agent(&self.request.user_agent),
                verb: self.request.verb.name(),
                subresource: self.subresource.clone(),
                kind: self.resource().kind,
                namespace: namespace.clone(),
                name: name.clone(),
                time: self.server.ctx.now(),
            },
        );
    }
}

/// What an update's function makes of the object.
pub enum Change {
    /// A new state, to be written.
    Write(Box<dyn Object>),
    /// The end of the object: its last finalizer went, or a deletion needs no more steps. With the state to answer.
    Delete(Box<dyn Object>),
    /// Nothing is to be done; the object stays as it is.
    Keep,
}

/// What became of an update.
pub struct Updated {
    /// The object as it is now (or was, if it is deleted).
    pub object: AnyRev,
    /// Whether it is gone.
    pub deleted: bool,
}

/// Changes a stored object: `change` is called with its state, again and again until nobody else wrote in between
/// (storage.GuaranteedUpdate). It starts with the cache's state; an error or a change of nothing that came of a stale
/// state is checked against the store.
pub async fn guaranteed_update(
    call: &Call,
    namespace: &str,
    name: &str,
    change: &mut dyn FnMut(&AnyRev) -> Result<Change, Status>,
) -> Result<Updated, Status> {
    let server = &call.server;
    let resource = call.resource();
    let key = resource.key(namespace, name);
    let mut fresh = false;
    let mut current = server.cache.resource(resource.index).get(&resource.short_key(namespace, name));
    loop {
        let Some(state) = current.clone() else {
            if fresh {
                return Err(Status::not_found(resource.kind, name));
            }
            (current, fresh) = (read(server, &key).await?, true);
            continue;
        };
        let changed = match change(&state) {
            Ok(Change::Write(new)) => charged(call, new, &state.body).await,
            other => other,
        };
        let changed = match changed {
            Ok(changed) => changed,
            Err(status) if fresh => return Err(status),
            Err(status) => {
                (current, fresh) = (read(server, &key).await?, true);
                match &current {
                    Some(now) if now.revision == state.revision => return Err(status),
                    _ => continue,
                }
            }
        };
        let written = match changed {
            Change::Write(object) if same(&*object, &*state.body) => None,
            Change::Keep => None,
            Change::Write(object) => {
                let body: Rc<dyn Object> = Rc::from(object);
                if call.write.dry_run {
                    return Ok(Updated { object: AnyRev { revision: state.revision, body }, deleted: false });
                }
                let ttl = resource.strategy.ttl;
                let log = call.log(Some(&state.body), &body, &*body);
                let stored = (body.clone(), log.clone());
                Some((body, server.storage.put(&key, state.revision, stored, ttl).await, Some(log)))
            }
            Change::Delete(object) => {
                let body: Rc<dyn Object> = Rc::from(object);
                if call.write.dry_run {
                    return Ok(Updated { object: AnyRev { revision: state.revision, body }, deleted: true });
                }
                Some((body, server.storage.delete(&key, state.revision).await, None))
            }
        };
        match written {
            None if fresh => return Ok(Updated { object: state, deleted: false }),
            None => {
                let now = read(server, &key).await?;
                if now.as_ref().is_some_and(|now| now.revision == state.revision) {
                    return Ok(Updated { object: state, deleted: false });
                }
                (current, fresh) = (now, true);
            }
            Some((body, result, kept)) => match result.map_err(errors::store)? {
                crate::storage::Write::Done(revision) => {
                    let (namespace, name) = (Str::from(namespace), Str::from(name));
                    call.wrote(revision, &name, &namespace);
                    let deleted = kept.is_none();
                    match kept {
                        None => server.writers.forget(resource.index, &resource.short_key(&namespace, &name)),
                        Some(log) => call.written(&*body, revision, log),
                    }
                    return Ok(Updated { object: AnyRev { revision, body }, deleted });
                }
                crate::storage::Write::Conflict(now) => {
                    current = now.map(|entry| seen(server, entry));
                    fresh = true;
                }
            },
        }
    }
}

/// A change once quotas allow it.
async fn charged(call: &Call, new: Box<dyn Object>, old: &Rc<dyn Object>) -> Result<Change, Status> {
    if matches!(call.request.verb, Verb::Update | Verb::Patch(_)) {
        admission::resource_quota::admit(call, Operation::Update, &*new, Some(old)).await?;
    }
    Ok(Change::Write(new))
}

/// Reads one key from the store.
pub async fn read(server: &Inner, key: &str) -> Result<Option<AnyRev>, Status> {
    let (entry, _) = server.storage.get(key).await.map_err(errors::store)?;
    Ok(entry.map(|entry| seen(server, entry)))
}

/// An object read from the store, whose writers are known from now on.
fn seen(server: &Inner, entry: crate::storage::Entry) -> AnyRev {
    if let Some((resource, key)) = server.cache.find(&entry.key) {
        server.writers.learn(resource, key, entry.revision, entry.log);
    }
    AnyRev { revision: entry.revision, body: entry.body }
}

fn same(new: &dyn Object, old: &dyn Object) -> bool {
    api::equality::semantic(new, old)
}
