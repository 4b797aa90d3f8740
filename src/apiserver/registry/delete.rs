//! delete and deletecollection (registry/rest/delete.go, Store.Delete): grace periods, finalizers, propagation.

use std::rc::Rc;

use api::field::{self, ErrorList, Path};
use api::meta_v1::{DeleteOptions, ObjectMeta, StatusDetails};
use api::rest::{Answer, ListOptions, ObjectList};
use api::{AnyRev, List, Object, Status, Str, Time};

use super::{Call, Change, guaranteed_update};
use crate::admission::{self, Operation};
use crate::strategy::Dependents;
use crate::{errors, storage};

/// Finalizer of a deletion that first orphans the dependents.
const ORPHAN: &str = "orphan";
/// Finalizer of a deletion that waits for the dependents.
const FOREGROUND: &str = "foregroundDeletion";

/// What a deletion's next step is.
enum Step {
    /// The object stays, marked.
    Mark,
    /// It goes.
    Remove,
    /// Its deletion is on the way already.
    Pending,
}

impl Call {
    /// Deletes the request's object.
    pub async fn delete(&self) -> Result<Answer, Status> {
        let options = self.delete_options();
        check_options(&options)?;
        self.delete_named(&self.namespace, &self.name, &options).await
    }

    fn delete_options(&self) -> DeleteOptions {
        self.request.delete.as_deref().cloned().unwrap_or_default()
    }

    /// Deletes an evicted pod.
    pub(super) async fn delete_evicted(&self, options: &DeleteOptions) -> Result<Answer, Status> {
        self.delete_named(&self.namespace, &self.name, options).await
    }

    async fn delete_named(&self, namespace: &Str, name: &Str, options: &DeleteOptions) -> Result<Answer, Status> {
        let resource = self.resource();
        let mut attributes = admission::Attributes::new(self, Operation::Delete);
        attributes.name = name.clone();
        if resource.kind.kind == "Namespace" && resource.kind.group.is_empty() {
            let found = self.server.cache.resource(resource.index).get(name);
            let old = found.as_ref().map(|found| &*found.body);
            admission::validate_calling(&mut attributes, None, old).await?;
            return self.delete_namespace(name, options).await;
        }
        let now = Time::from_unix_nanos(self.server.ctx.unix_nanos());
        let mut pending = false;
        let mut removed = false;
        let updated = loop {
            let mut change = |old: &AnyRev| -> Result<Change, Status> {
                pending = false;
                removed = false;
                admission::validate(&mut attributes, None, Some(&*old.body))?;
                let mut new = old.body.boxed();
                match self.next_step(&mut *new, old, options, now)? {
                    Step::Pending => {
                        pending = true;
                        Ok(Change::Keep)
                    }
                    Step::Mark => Ok(Change::Write(new)),
                    Step::Remove => {
                        removed = true;
                        Ok(Change::Delete(new))
                    }
                }
            };
            let updated = guaranteed_update(self, namespace, name, &mut change).await;
            if !admission::policies::webhooks::call_wanted(&mut attributes).await {
                break updated?;
            }
        };
        if updated.deleted && !self.write.dry_run {
            self.server.deleted(&*updated.object.body).await;
        }
        if pending || removed {
            return Ok(self.finished(updated.object));
        }
        Ok(Answer::Object(self.outgoing(updated.object)))
    }

    /// Marks the object for deletion, or says that it goes at once (rest.BeforeDelete and what follows it).
    fn next_step(
        &self,
        object: &mut dyn Object,
        old: &AnyRev,
        options: &DeleteOptions,
        now: Time,
    ) -> Result<Step, Status> {
        let strategy = self.resource().strategy;
        self.check_delete_preconditions(old, options)?;
        let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
        let graceful = strategy.grace.map(|grace| grace(object, asked));
        let metadata = object.metadata_mut().ok_or_else(|| Status::internal("object has no metadata"))?;
        let mut graceful_step = false;
        if let Some(period) = graceful {
            let held = metadata.deletion_grace_period_seconds;
            if metadata.deletion_timestamp.is_zero() {
                metadata.deletion_timestamp = later(now, period);
                metadata.deletion_grace_period_seconds = Some(period);
                if metadata.generation > 0 {
                    metadata.generation += 1;
                }
                graceful_step = true;
            } else if let Some(held) = held.filter(|held| *held != 0) {
                // It is on its way; only a shorter time may be asked for.
                match asked {
                    Some(asked) if asked < held => {
                        let mut at = later(metadata.deletion_timestamp, asked - held);
                        let mut period = asked;
                        if at.unix() < now.unix() {
                            at = now;
                            period = period.min(1);
                        }
                        metadata.deletion_timestamp = at;
                        metadata.deletion_grace_period_seconds = Some(period);
                        graceful_step = true;
                    }
                    _ => return Ok(Step::Pending),
                }
            }
        }
        self.set_finalizers(metadata, options);
        let held = !metadata.finalizers.is_empty();
        if graceful_step {
            let period = metadata.deletion_grace_period_seconds.unwrap_or_default();
            return Ok(if held || period > 0 { Step::Mark } else { Step::Remove });
        }
        if !held {
            return Ok(Step::Remove);
        }
        if metadata.deletion_timestamp.is_zero() && metadata.generation > 0 {
            metadata.generation += 1;
        }
        if metadata.deletion_timestamp.is_zero() || metadata.deletion_timestamp.unix() > now.unix() {
            metadata.deletion_timestamp = now;
        }
        metadata.deletion_grace_period_seconds = Some(0);
        Ok(Step::Mark)
    }

    fn check_delete_preconditions(&self, old: &AnyRev, options: &DeleteOptions) -> Result<(), Status> {
        let Some(wanted) = options.preconditions.get() else { return Ok(()) };
        let Some(metadata) = old.body.metadata() else { return Ok(()) };
        let kind = self.resource().kind;
        if let Some(uid) = wanted.uid.get()
            && *uid != *metadata.uid
        {
            let reason = format!(
                "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
                metadata.uid
            );
            return Err(Status::conflict((kind.group, kind.kind), &metadata.name, &reason));
        }
        if let Some(version) = wanted.resource_version.get()
            && *version != *old.resource_version()
        {
            let reason = format!(
                "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
                old.revision
            );
            return Err(Status::conflict((kind.group, kind.kind), &metadata.name, &reason));
        }
        Ok(())
    }

    /// The garbage collector's finalizers, as the propagation policy wants them.
    fn set_finalizers(&self, metadata: &mut ObjectMeta, options: &DeleteOptions) {
        let default = self.resource().strategy.dependents;
        let has = |name: &str| metadata.finalizers.iter().any(|f| &**f == name);
        let (orphan, foreground) = if default == Dependents::Unsupported {
            (false, false)
        } else if let Some(orphan) = options.orphan_dependents {
            (orphan, false)
        } else {
            match options.propagation_policy.get() {
                Some("Orphan") => (true, false),
                Some("Foreground") => (false, true),
                Some("Background") => (false, false),
                _ if has(ORPHAN) => (true, false),
                _ if has(FOREGROUND) => (false, true),
                _ => (default == Dependents::Orphan, false),
            }
        };
        if has(ORPHAN) == orphan && has(FOREGROUND) == foreground {
            return;
        }
        let mut finalizers: Vec<Str> =
            metadata.finalizers.iter().filter(|f| !matches!(&***f, ORPHAN | FOREGROUND)).cloned().collect();
        if orphan {
            finalizers.push(ORPHAN.into());
        }
        if foreground {
            finalizers.push(FOREGROUND.into());
        }
        metadata.finalizers = if finalizers.is_empty() { List::default() } else { List::from(finalizers) };
    }

    /// The answer to a deletion that is done: the object, or a Status that names it.
    fn finished(&self, object: AnyRev) -> Answer {
        let resource = self.resource();
        if resource.strategy.return_deleted {
            return Answer::Object(self.outgoing(object));
        }
        let (name, uid) = object.body.metadata().map_or_else(Default::default, |m| (m.name.clone(), m.uid.clone()));
        Answer::Status(Rc::new(Status::from_object(api::meta_v1::Status {
            status: "Success".into(),
            details: StatusDetails {
                name,
                group: resource.kind.group.into(),
                kind: resource.kind.plural.into(),
                uid,
                ..Default::default()
            }
            .into(),
            ..Default::default()
        })))
    }

    /// A namespace is marked and shows that it ends; the namespace controller empties it and takes the finalizers off
    /// (core/namespace/storage).
    async fn delete_namespace(&self, name: &Str, options: &DeleteOptions) -> Result<Answer, Status> {
        let now = Time::from_unix_nanos(self.server.ctx.unix_nanos());
        let mut change = |old: &AnyRev| -> Result<Change, Status> {
            self.check_delete_preconditions(old, options)?;
            let mut new = old.body.boxed();
            let Some(namespace) = new.downcast_mut::<api::core_v1::Namespace>() else {
                return Err(Status::internal("not a Namespace"));
            };
            self.set_finalizers(&mut namespace.metadata, options);
            if namespace.metadata.deletion_timestamp.is_zero() {
                namespace.metadata.deletion_timestamp = now;
            }
            if &*namespace.status.phase != "Terminating" {
                namespace.status.make().phase = "Terminating".into();
            }
            let done = namespace.spec.finalizers.is_empty() && namespace.metadata.finalizers.is_empty();
            Ok(if done { Change::Delete(new) } else { Change::Write(new) })
        };
        let updated = guaranteed_update(self, "", name, &mut change).await?;
        Ok(Answer::Object(self.outgoing(updated.object)))
    }

    /// Deletes all objects of the collection that the selectors match.
    pub async fn delete_collection(&self, options: &ListOptions) -> Result<ObjectList, Status> {
        let delete = self.delete_options();
        check_options(&delete)?;
        let list = self.list(options).await?;
        for object in &list.items {
            let Some(metadata) = object.body.metadata() else { continue };
            let result = self.delete_named(&metadata.namespace, &metadata.name, &delete).await;
            match result {
                Err(status) if !status.is_not_found() => return Err(status),
                _ => {}
            }
        }
        Ok(list)
    }
}

/// Checks the options of a deletion (`ValidateDeleteOptions`).
fn check_options(options: &DeleteOptions) -> Result<(), Status> {
    let mut failures = ErrorList::default();
    let path = Path::new("propagationPolicy");
    if let Some(policy) = options.propagation_policy.get() {
        if options.orphan_dependents.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            failures.push(field::invalid(&path, policy, why));
        }
        let valid = ["Foreground", "Background", "Orphan", "nil"];
        if !matches!(policy, "Foreground" | "Background" | "Orphan") {
            failures.push(field::not_supported(&path, policy, &valid));
        }
    }
    if options.dry_run.iter().any(|mode| &**mode != "All") {
        failures.push(field::not_supported(&Path::new("dryRun"), options.dry_run.clone(), &["All"]));
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(("meta.k8s.io", "DeleteOptions"), "", &failures))
}

fn later(time: Time, seconds: i64) -> Time {
    match time.unix() {
        Some(unix) => Time::from_unix(unix.saturating_add(seconds)),
        None => time,
    }
}

/// Deletes a key of the server's own, whatever revision it is at.
pub async fn remove(server: &crate::Inner, key: &str) -> Result<(), Status> {
    loop {
        let Some(found) = super::read(server, key).await? else { return Ok(()) };
        match server.storage.delete(key, found.revision).await.map_err(errors::store)? {
            storage::Write::Done(_) => return Ok(()),
            storage::Write::Conflict(_) => {}
        }
    }
}
