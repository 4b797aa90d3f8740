//! create (endpoints/handlers/create.go, registry/rest/create.go, Store.Create).

use std::rc::Rc;

use api::{AnyRev, Object, Status, Str, Time};

use super::Call;
use crate::admission::{self, Operation};
use crate::audit::Stage;
use crate::errors;
use crate::storage::Write;
use crate::strategy::Moment;
use api::names::{SUFFIX_ALPHABET, SUFFIX_LENGTH};

/// How often a generated name is drawn anew when it is taken.
const GENERATE_NAME_TRIES: usize = 8;
/// Longest base of a generated name: 63 less the suffix.
const GENERATE_NAME_BASE: usize = 58;

impl Call {
    /// Creates the request's object.
    pub async fn create(&self) -> Result<AnyRev, Status> {
        let mut object = super::convert::incoming(self.decode(self.kind)?);
        api::defaults::apply(&mut *object);
        self.create_object(object).await
    }

    /// Creates an object.
    pub async fn create_object(&self, mut object: Box<dyn Object>) -> Result<AnyRev, Status> {
        wipe(&mut *object);
        self.match_namespace(&mut *object)?;
        let now = self.moment();
        // What the plugins and the strategy make of it below is not the writer's.
        if self.tracks() && !self.applies() {
            self.track(&mut *object, None);
        }
        let sent = if self.notes() { Some(Rc::from(object.boxed())) } else { None };
        let mut attributes = admission::Attributes::new(self, Operation::Create);
        admission::look_up(&mut attributes, &*object).await?;
        admission::mutate_calling(&mut attributes, &mut object).await?;
        let uid = self.server.uid();
        let metadata = object.metadata_mut().ok_or_else(|| Status::internal("object has no metadata"))?;
        metadata.resource_version = Str::default();
        metadata.creation_timestamp = now.time();
        metadata.uid = uid;
        if !metadata.name.is_empty() || metadata.generate_name.is_empty() {
            attributes.name = metadata.name.clone();
            return self.store_new(object, sent.as_ref(), &mut attributes, &now).await;
        }
        let base = metadata.generate_name.clone();
        let mut attempt = 1;
        loop {
            let name = self.server.generate_name(&base);
            if let Some(metadata) = object.metadata_mut() {
                metadata.name = name.clone();
            }
            attributes.name = name.clone();
            match self.store_new(object.boxed(), sent.as_ref(), &mut attributes, &now).await {
                Err(status) if status.is_already_exists() && attempt < GENERATE_NAME_TRIES => attempt += 1,
                Err(status) if status.is_already_exists() => {
                    return Err(Status::generate_name_conflict(self.resource().kind, &name, 1));
                }
                other => return other,
            }
        }
    }

    async fn store_new(
        &self,
        mut object: Box<dyn Object>,
        sent: Option<&Rc<dyn Object>>,
        attributes: &mut admission::Attributes<'_>,
        now: &Moment,
    ) -> Result<AnyRev, Status> {
        let allocated = self.server.allocate(self, &mut *object, None).await?;
        match self.store_allocated(object, sent, attributes, now).await {
            // A dry run keeps nothing.
            Ok(created) if created.revision == 0 => {
                self.server.release(self, allocated).await;
                Ok(created)
            }
            Ok(created) => {
                if let Some(service) = created.body.downcast_ref::<api::core_v1::Service>() {
                    self.server.note_ports(self, service);
                    self.server.log_allocation(service);
                }
                Ok(created)
            }
            Err(status) => {
                self.server.release(self, allocated).await;
                Err(status)
            }
        }
    }

    async fn store_allocated(
        &self,
        mut object: Box<dyn Object>,
        sent: Option<&Rc<dyn Object>>,
        attributes: &mut admission::Attributes<'_>,
        now: &Moment,
    ) -> Result<AnyRev, Status> {
        let resource = self.resource();
        self.prepare_create(&mut *object, now);
        let (namespace, name) = match object.metadata() {
            Some(metadata) => (metadata.namespace.clone(), metadata.name.clone()),
            None => Default::default(),
        };
        let own = (self.kind.group == "events.k8s.io").then(|| api::validation::new_event(&*object, None)).flatten();
        let failures = own.unwrap_or_else(|| api::validation::create(&*object));
        if !failures.is_empty() {
            return Err(Status::invalid_kind(resource.kind, &name, &failures));
        }
        self.warnings_of(&*object, None);
        self.reach(Stage::Validated);
        admission::validate_calling(attributes, Some(&*object), None).await?;
        admission::resource_quota::admit(self, Operation::Create, &*object, None).await?;
        self.reach(Stage::Admitted);
        (resource.strategy.read_back)(&mut *object);
        let key = resource.key(&namespace, &name);
        let body: Rc<dyn Object> = Rc::from(object);
        if self.write.dry_run {
            if super::read(&self.server, &key).await?.is_some() {
                return Err(Status::already_exists(resource.kind, &name));
            }
            return Ok(AnyRev { revision: 0, body });
        }
        let log = self.log(None, sent.unwrap_or(&body), &*body);
        let stored = (body.clone(), log.clone());
        match self.server.storage.put(&key, 0, stored, resource.strategy.ttl).await.map_err(errors::store)? {
            Write::Done(revision) => {
                self.wrote(revision, &name, &namespace);
                self.written(&*body, revision, log);
                Ok(AnyRev { revision, body })
            }
            Write::Conflict(_) => Err(Status::already_exists(resource.kind, &name)),
        }
    }

    /// Now.
    pub fn moment(&self) -> Moment {
        Moment { nanos: self.server.ctx.unix_nanos(), user: self.user.clone() }
    }

    fn prepare_create(&self, object: &mut dyn Object, now: &Moment) {
        let resource = self.resource();
        let strategy = resource.strategy;
        // A kubelet registers its node with the status it has; what the server keeps itself has its status at once.
        let keeps_status = (resource.kind.group.is_empty() && resource.kind.kind == "Node")
            || (matches!(resource.kind.kind, "APIService" | "FlowSchema") && &*self.user.name == "system:apiserver");
        if !keeps_status && resource.kind.subresource("status").is_some() {
            object.reset("status");
        }
        if let Some(metadata) = object.metadata_mut() {
            metadata.generation = strategy.generation.first().unwrap_or_default();
        }
        (strategy.prepare_create)(object, now);
    }

    /// The strategy's warnings.
    pub fn warnings_of(&self, new: &dyn Object, old: Option<&dyn Object>) {
        for text in crate::strategy::warnings::of(new, old) {
            self.warn(text);
        }
    }

    /// The object's namespace is the request's, or none of its own.
    pub fn match_namespace(&self, object: &mut dyn Object) -> Result<(), Status> {
        let wanted = if self.kind.namespaced { self.namespace.clone() } else { Str::default() };
        let Some(metadata) = object.metadata_mut() else { return Ok(()) };
        if metadata.namespace == wanted || metadata.namespace.is_empty() || wanted.is_empty() {
            metadata.namespace = wanted;
            return Ok(());
        }
        Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ))
    }
}

/// Erases what only the server may set.
fn wipe(object: &mut dyn Object) {
    if let Some(metadata) = object.metadata_mut() {
        metadata.creation_timestamp = Time::default();
        metadata.uid = Str::default();
        metadata.deletion_timestamp = Time::default();
        metadata.deletion_grace_period_seconds = None;
        metadata.self_link = Str::default();
    }
}

/// A base and five letters.
pub fn generated(base: &str, draw: &mut sim::Rng) -> Str {
    let mut end = base.len().min(GENERATE_NAME_BASE);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    Str::from(format!("{}{}", &base[..end], draw.token(SUFFIX_LENGTH, SUFFIX_ALPHABET)))
}
