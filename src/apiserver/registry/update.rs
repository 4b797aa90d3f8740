//! update, of objects and of their status (endpoints/handlers/update.go, registry/rest/update.go, Store.Update).

use api::rest::Verb;
use api::{AnyRev, Object, Status, Str};

use super::{Call, Change, guaranteed_update};
use crate::admission::{self, Operation};
use crate::audit::Stage;
use crate::strategy::Moment;

/// How Go prints the missing resourceVersion in this one message.
struct HexZero;

impl api::field::BadValue for HexZero {
    fn shown(&self) -> String {
        "0x0".to_string()
    }
}

/// What an update of the main resource or of a subresource may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
    /// A namespace's finalizers.
    Finalize,
    /// A signing request's approval.
    Approval,
    /// A pod's ephemeral containers or resources: the main rules for that part alone, validated by kind.
    Other,
}

impl Call {
    /// Which face of the object the request's subresource is.
    pub fn face(&self) -> Face {
        match &*self.subresource {
            "" => Face::Main,
            "status" => Face::Status,
            "finalize" => Face::Finalize,
            "approval" => Face::Approval,
            _ => Face::Other,
        }
    }

    /// Replaces the request's object.
    pub async fn update(&self) -> Result<(AnyRev, bool), Status> {
        let mut object = super::convert::incoming(self.decode(self.kind)?);
        if self.face() != Face::Status {
            api::defaults::apply(&mut *object);
        }
        self.match_namespace(&mut *object)?;
        self.match_name(&*object)?;
        let may_create = self.resource().strategy.create_on_update && self.face() == Face::Main;
        let updated = self.update_with(&mut |_| Ok(object.boxed()), true).await;
        match updated {
            Err(status) if may_create && status.is_not_found() => {
                // Creating by an update needs the right to create.
                self.server.authorize_as(self, "create")?;
                Ok((self.create_object(object).await?, true))
            }
            other => other.map(|object| (object, false)),
        }
    }

    /// Changes the object by a function of its state. `checked`: the new state carries the resourceVersion that the
    /// writer saw, to be checked.
    pub async fn update_with(
        &self,
        make: &mut dyn FnMut(&AnyRev) -> Result<Box<dyn Object>, Status>,
        checked: bool,
    ) -> Result<AnyRev, Status> {
        let resource = self.resource();
        let mut attributes = admission::Attributes::new(self, Operation::Update);
        let now = self.moment();
        let face = self.face();
        if face == Face::Main && resource.index == self.server.services {
            return self.update_service(make, checked, &mut attributes, &now).await;
        }
        loop {
            let mut change = |old: &AnyRev| -> Result<Change, Status> {
                let new = make(old)?;
                self.next_state(new, old, checked, face, &mut attributes, &now)
            };
            let updated = guaranteed_update(self, &self.namespace, &self.name, &mut change).await;
            if !admission::policies::webhooks::call_wanted(&mut attributes).await {
                return updated.map(|updated| updated.object);
            }
        }
    }

    /// The new state of an object, ready to be written.
    pub(super) fn next_state(
        &self,
        mut new: Box<dyn Object>,
        old: &AnyRev,
        checked: bool,
        face: Face,
        attributes: &mut admission::Attributes,
        now: &Moment,
    ) -> Result<Change, Status> {
        let resource = self.resource();
        self.check_preconditions(&mut *new, old, checked)?;
        if self.tracks() && !self.applies() {
            self.track(&mut *new, Some(&*old.body));
        }
        admission::mutate(attributes, &mut *new, Some(&*old.body))?;
        self.prepare_update(&mut *new, &*old.body, face, now);
        let failures = match face {
            Face::Main if self.kind.group == "events.k8s.io" => {
                api::validation::new_event(&*new, Some(&*old.body)).unwrap_or_default()
            }
            Face::Main => api::validation::update(&*new, &*old.body),
            Face::Status => api::validation::update_status(&*new, &*old.body),
            Face::Finalize | Face::Approval | Face::Other => {
                api::validation::update_subresource(&self.subresource, &*new, &*old.body)
            }
        };
        if !failures.is_empty() {
            return Err(Status::invalid_kind(resource.kind, &self.name, &failures));
        }
        if face == Face::Main {
            self.warnings_of(&*new, Some(&*old.body));
        }
        if self.entry.stage() < Stage::Validated {
            self.reach(Stage::Validated);
        }
        admission::validate(attributes, Some(&*new), Some(&*old.body))?;
        if self.entry.stage() < Stage::Admitted {
            self.reach(Stage::Admitted);
        }
        if self.tracks() {
            super::managed::keep_times(&mut *new, &*old.body);
        }
        (resource.strategy.read_back)(&mut *new);
        if ends(&*new, &*old.body) {
            return Ok(Change::Delete(new));
        }
        Ok(Change::Write(new))
    }

    /// The name of the object must be that of the URL (`checkName`).
    pub(super) fn match_name(&self, object: &dyn Object) -> Result<(), Status> {
        let Some(metadata) = object.metadata().filter(|metadata| metadata.name != self.name) else { return Ok(()) };
        let (name, asked) = (&metadata.name, &self.name);
        Err(Status::bad_request(if name.is_empty() {
            format!("the name of the object ({asked} based on URL) was undeterminable: name must be provided")
        } else {
            format!("the name of the object ({name}) does not match the name on the URL ({asked})")
        }))
    }

    /// As `update_with`, for services: what the new state needs is allocated first, and what it gave up released.
    async fn update_service(
        &self,
        make: &mut dyn FnMut(&AnyRev) -> Result<Box<dyn Object>, Status>,
        checked: bool,
        attributes: &mut admission::Attributes<'_>,
        now: &Moment,
    ) -> Result<AnyRev, Status> {
        let key = self.key();
        loop {
            let Some(old) = super::read(&self.server, &key).await? else {
                return Err(Status::not_found(self.resource().kind, &self.name));
            };
            let mut new = make(&old)?;
            let version = new.metadata().map_or(Str::default(), |m| m.resource_version.clone());
            crate::strategy::service::before_update(&mut *new, &*old.body);
            // Addresses that may not change are refused before anybody asks whether they are free; before that, what
            // doesn't fit together (`initIPFamilyFields`).
            let found = match names_addresses(&*new, &*old.body) {
                true => api::validation::update(&*new, &*old.body),
                false => Default::default(),
            };
            let about = |what: &dyn Fn(&str) -> bool| {
                let mut some = api::field::ErrorList::default();
                some.extend(found.iter().filter(|failure| what(&failure.field)).cloned());
                some
            };
            for failures in [about(&|f| f == "spec.clusterIPs"), about(&|f| f.starts_with("spec.clusterIPs["))] {
                if !failures.is_empty() {
                    return Err(Status::invalid_kind(self.resource().kind, &self.name, &failures));
                }
            }
            let allocated = self.server.allocate(self, &mut *new, Some(&*old.body)).await?;
            if let Some(metadata) = new.metadata_mut() {
                metadata.resource_version = version;
            }
            let mut state = Some(new);
            let mut lost = false;
            let mut change = |current: &AnyRev| -> Result<Change, Status> {
                match state.take() {
                    Some(new) if current.revision == old.revision => {
                        self.next_state(new, current, checked, Face::Main, attributes, now)
                    }
                    _ => {
                        lost = true;
                        Ok(Change::Keep)
                    }
                }
            };
            let updated = guaranteed_update(self, &self.namespace, &self.name, &mut change).await;
            match updated {
                Ok(updated) if !lost => {
                    self.server.give_up(self, &*updated.object.body, &*old.body).await;
                    return Ok(updated.object);
                }
                Ok(_) => self.server.release(self, allocated).await,
                Err(status) => {
                    self.server.release(self, allocated).await;
                    if !admission::policies::webhooks::call_wanted(attributes).await {
                        return Err(status);
                    }
                }
            }
        }
    }

    /// The writer's resourceVersion and uid must be the object's.
    fn check_preconditions(&self, new: &mut dyn Object, old: &AnyRev, checked: bool) -> Result<(), Status> {
        let resource = self.resource();
        let Some(before) = old.body.metadata() else { return Ok(()) };
        let Some(metadata) = new.metadata_mut() else { return Ok(()) };
        let version = std::mem::take(&mut metadata.resource_version);
        // A patch has no preconditions: its uid is a change, which validation refuses.
        let patches = matches!(self.request.verb, Verb::Patch(_));
        if !patches && !metadata.uid.is_empty() && metadata.uid != before.uid {
            return Err(Status::conflict(
                resource.kind,
                &self.name,
                format!(
                    "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                    self.key(),
                    metadata.uid,
                    before.uid
                ),
            ));
        }
        if !checked {
            return Ok(());
        }
        if version.is_empty() || &*version == "0" {
            if resource.strategy.unconditional_update {
                return Ok(());
            }
            let path = api::field::Path::new("metadata").child("resourceVersion");
            let failures = api::field::invalid(&path, HexZero, "must be specified for an update").into();
            return Err(Status::invalid(resource.kind, &self.name, &failures));
        }
        let Ok(revision) = version.parse::<u64>() else {
            let version = api::go::quote(&version);
            return Err(crate::errors::plain(format!("strconv.ParseUint: parsing {version}: invalid syntax")));
        };
        if revision != old.revision {
            return Err(Status::optimistic_lock(resource.kind, &self.name));
        }
        Ok(())
    }

    fn prepare_update(&self, new: &mut dyn Object, old: &dyn Object, face: Face, now: &Moment) {
        let strategy = self.resource().strategy;
        let Some(before) = old.metadata().cloned() else { return };
        if let Some(metadata) = new.metadata_mut() {
            metadata.generation = before.generation;
            metadata.namespace = before.namespace.clone();
        }
        match face {
            Face::Main | Face::Other => {
                if self.resource().kind.subresource("status").is_some() {
                    new.assign("status", old);
                }
                (strategy.narrow)(&self.subresource, new, old);
                (strategy.prepare_update)(new, old, now);
                if strategy.generation.grows(new, old)
                    && let Some(metadata) = new.metadata_mut()
                {
                    metadata.generation = before.generation + 1;
                }
            }
            Face::Status => {
                new.assign("spec", old);
                (strategy.prepare_status)(new, old);
            }
            Face::Finalize => {
                new.assign("status", old);
            }
            Face::Approval => (strategy.prepare_approval)(new, old, now),
        }
        if let Some(metadata) = new.metadata_mut() {
            if metadata.uid.is_empty() {
                metadata.uid = before.uid;
            }
            metadata.creation_timestamp = before.creation_timestamp;
            if !before.deletion_timestamp.is_zero() {
                metadata.deletion_timestamp = before.deletion_timestamp;
            }
            if metadata.deletion_grace_period_seconds.is_none() {
                metadata.deletion_grace_period_seconds = before.deletion_grace_period_seconds;
            }
        }
    }
}

/// Whether a Service asks for other addresses than it has.
fn names_addresses(new: &dyn Object, old: &dyn Object) -> bool {
    let ips = |object: &dyn Object| Some(object.downcast_ref::<api::core_v1::Service>()?.spec.cluster_ips.clone());
    ips(new).is_some_and(|new| !new.is_empty() && ips(old).is_some_and(|old| old != new))
}

/// Whether an update ends the object: it was to be deleted, and nothing holds it any more. A namespace also waits for
/// its spec's finalizers.
fn ends(new: &dyn Object, old: &dyn Object) -> bool {
    let (Some(new_metadata), Some(old_metadata)) = (new.metadata(), old.metadata()) else { return false };
    if !new_metadata.finalizers.is_empty() || old_metadata.deletion_timestamp.is_zero() {
        return false;
    }
    if let Some(namespace) = new.downcast_ref::<api::core_v1::Namespace>()
        && !namespace.spec.finalizers.is_empty()
    {
        return false;
    }
    matches!(old_metadata.deletion_grace_period_seconds, None | Some(0))
}
