//! The garbage collector (`pkg/controller/garbagecollector`): objects go with the last of their owners.

mod graph;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use api::meta_v1::{DeleteOptions, ObjectMeta, OwnerReference, Preconditions};
use api::rest::PatchType;
use api::{AnyRev, KindInfo, OStr, Ptr, Str};
use client::{AnyDelta, Causes, Client, Delta, EventRecorder, Key, WorkQueue, klog, object_reference};
use futures_util::future::join_all;

use crate::context::ControllerContext;
use crate::controller_utils::{SyncError, delete_owner_refs_patch};
use graph::{FOREGROUND, Graph, Identity, Node, ORPHAN, Seen, Work};

const WORKERS: usize = 20;

struct GarbageCollector {
    ctx: sim::Ctx,
    client: Client,
    recorder: EventRecorder,
    graph: RefCell<Graph>,
    attempt_to_delete: WorkQueue<Identity>,
    attempt_to_orphan: WorkQueue<Identity>,
    observed: crate::observed::Handle,
}

/// What becomes of a queue's item.
enum Next {
    Forget,
    Requeue,
}

/// The kinds that can be deleted, listed and watched, each group's resource once; events are nobody's dependents.
pub fn deletable_kinds() -> Vec<&'static KindInfo> {
    let mut seen = BTreeSet::new();
    let able = |k: &&&'static KindInfo| ["delete", "list", "watch"].iter().all(|v| k.has_verb(v));
    let kinds = api::scheme::resources().iter().filter(able).filter(|k| k.plural != "events");
    kinds.filter(|k| seen.insert((k.group, k.plural))).copied().collect()
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting controller").str("controller", "garbagecollector").log(&cc.ctx, "garbagecollector.go:145");
    let client = cc.client("generic-garbage-collector");
    let recorder = cc.recorder(&client, "garbage-collector-controller", "garbage-collector-controller");
    let gc = Rc::new(GarbageCollector {
        ctx: cc.ctx.clone(),
        client,
        recorder,
        graph: RefCell::default(),
        attempt_to_delete: WorkQueue::new(&cc.ctx, "garbage_collector_attempt_to_delete"),
        attempt_to_orphan: WorkQueue::new(&cc.ctx, "garbage_collector_attempt_to_orphan"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&gc.attempt_to_delete);
    cc.observed.watch_queue(&gc.attempt_to_orphan);
    klog::info("Running").str("component", "GraphBuilder").log(&cc.ctx, "graph_builder.go:319");
    let informers: Vec<_> = deletable_kinds().into_iter().map(|kind| cc.informers.of_kind(kind)).collect();
    for informer in &informers {
        let (this, kind) = (gc.clone(), informer.kind());
        informer.on(move |delta| this.on_object(kind, delta));
    }
    join_all(informers.iter().map(|i| i.synced())).await;
    klog::info("Garbage collector: all resource monitors have synced").log(&cc.ctx, "garbagecollector.go:171");
    klog::info("Proceeding to collect garbage").log(&cc.ctx, "garbagecollector.go:174");
    for _ in 0..WORKERS {
        let (this, queue) = (gc.clone(), gc.attempt_to_delete.clone());
        cc.ctx.spawn("attempt to delete", async move {
            loop {
                let work = queue.get().await;
                let key = work.key.clone();
                match this.attempt_to_delete(&key, &work.causes).await {
                    Next::Forget => queue.forget(&key),
                    Next::Requeue => queue.retry(work),
                }
                queue.done(&key);
            }
        });
        let (this, queue) = (gc.clone(), gc.attempt_to_orphan.clone());
        cc.ctx.spawn("attempt to orphan", async move {
            loop {
                let work = queue.get().await;
                let key = work.key.clone();
                match this.attempt_to_orphan(&key, &work.causes).await {
                    Next::Forget => queue.forget(&key),
                    Next::Requeue => queue.retry(work),
                }
                queue.done(&key);
            }
        });
    }
}

impl GarbageCollector {
    fn on_object(&self, kind: &'static KindInfo, delta: &AnyDelta) {
        let Some(new) = delta.object().metadata() else { return };
        let work = match delta {
            Delta::Added(_) => self.graph.borrow_mut().upsert(&Seen { kind, old: None, new }),
            Delta::Updated { old, .. } => self.graph.borrow_mut().upsert(&Seen { kind, old: old.metadata(), new }),
            Delta::Deleted(_) => self.graph.borrow_mut().delete(kind, new),
        };
        self.enqueue(work, Some(delta.revision()));
    }

    fn enqueue(&self, work: Work, cause: Option<u64>) {
        let add = |queue: &WorkQueue<Identity>, identity| match cause {
            Some(revision) => queue.add_caused(identity, revision),
            None => queue.add(identity),
        };
        work.attempt_to_delete.into_iter().for_each(|i| add(&self.attempt_to_delete, i));
        work.attempt_to_delete_later.into_iter().for_each(|i| self.attempt_to_delete.add_rate_limited(i));
        work.attempt_to_orphan.into_iter().for_each(|i| add(&self.attempt_to_orphan, i));
        for (item, owner) in work.invalid_namespace {
            let about = object_reference(&item.api_version, &item.kind, &item.namespace, &item.name, &item.uid);
            let message = format!("ownerRef {owner} does not exist in namespace \"{}\"", item.namespace);
            self.recorder.event(&about, "Warning", "OwnerRefInvalidNamespace", &message);
        }
    }

    fn virtual_delete(&self, identity: &Identity) {
        let work = self.graph.borrow_mut().delete_virtually(identity);
        self.enqueue(work, None);
    }

    async fn attempt_to_delete(&self, identity: &Identity, causes: &Causes) -> Next {
        let node = self.graph.borrow().get(&identity.uid).cloned();
        // Gone meanwhile, or known by another identity now, under which it is enqueued where that matters.
        let Some(node) = node.filter(|n| n.identity == *identity) else { return Next::Forget };
        let client = self.client.caused_by(causes);
        match self.attempt_to_delete_item(&client, &node).await {
            Ok(()) => {
                let unseen = self.graph.borrow().get(&identity.uid).is_some_and(|n| n.is_virtual);
                if unseen { Next::Requeue } else { Next::Forget }
            }
            Err(err) => {
                klog::unhandled(format!("error syncing item {identity}: {err}"))
                    .log(&self.ctx, "garbagecollector.go:361");
                Next::Requeue
            }
        }
    }

    async fn attempt_to_delete_item(&self, client: &Client, node: &Node) -> Result<(), SyncError> {
        let identity = &node.identity;
        klog::info("Processing item")
            .str("item", &identity.to_string())
            .raw("virtual", node.is_virtual)
            .log(&self.ctx, "garbagecollector.go:506");
        if node.being_deleted && !node.deleting_dependents {
            return Ok(());
        }
        let latest = match self.get(client, identity).await {
            Ok(latest) => latest,
            Err(err) if err.is_not_found() => {
                self.virtual_delete(identity);
                return Ok(());
            }
            Err(err) => return Err(err),
        };
        let Some(meta) = latest.metadata().filter(|m| m.uid == identity.uid) else {
            self.virtual_delete(identity);
            return Ok(());
        };
        if node.deleting_dependents {
            return self.process_deleting_dependents(client, node).await;
        }
        if meta.owner_references.is_empty() {
            klog::info("item doesn't have an owner, continue on next item")
                .str("item", &identity.to_string())
                .log(&self.ctx, "garbagecollector.go:556");
            return Ok(());
        }
        let namespaced = |r: &OwnerReference| kind_of(&r.api_version, &r.kind).is_ok_and(|k| k.namespaced);
        if identity.namespace.is_empty() && meta.owner_references.iter().any(namespaced) {
            // Such a reference can never be resolved.
            klog::info("item is cluster-scoped, but refers to a namespaced owner")
                .str("item", &identity.to_string())
                .log(&self.ctx, "garbagecollector.go:422");
            return Ok(());
        }
        let (solid, dangling, waiting) = self.classify(client, identity, &meta.owner_references).await?;
        if !solid.is_empty() {
            klog::info("item has at least one existing owner, will not garbage collect")
                .str("item", &identity.to_string())
                .log(&self.ctx, "garbagecollector.go:581");
            let lost: Vec<&str> = dangling.iter().chain(&waiting).map(|r| &*r.uid).collect();
            if lost.is_empty() {
                return Ok(());
            }
            return self.patch(client, identity, delete_owner_refs_patch(&identity.uid, lost)).await;
        }
        let dependents = self.graph.borrow().dependents(&identity.uid);
        if !waiting.is_empty() && !dependents.is_empty() {
            if let Some(dependent) = dependents.iter().find(|d| d.deleting_dependents) {
                klog::info("processing item, some of its owners and its dependent have FinalizerDeletingDependents, to prevent potential cycle, its ownerReferences are going to be modified to be non-blocking, then the item is going to be deleted with Foreground")
                    .str("item", &identity.to_string())
                    .str("dependent", &dependent.identity.to_string())
                    .log(&self.ctx, "garbagecollector.go:612");
                self.patch(client, identity, unblock_patch(node)).await?;
            }
            klog::info("at least one owner of item has FinalizerDeletingDependents, and the item itself has dependents, so it is going to be deleted in Foreground")
                .str("item", &identity.to_string())
                .log(&self.ctx, "garbagecollector.go:625");
            return self.delete(client, identity, &latest, meta, "Foreground").await;
        }
        let has = |finalizer: &str| meta.finalizers.iter().any(|f| *f == finalizer);
        let policy = match (has(ORPHAN), has(FOREGROUND)) {
            (true, _) => "Orphan",
            (_, true) => "Foreground",
            _ => "Background",
        };
        klog::info("Deleting item")
            .str("item", &identity.to_string())
            .str("propagationPolicy", policy)
            .log(&self.ctx, "garbagecollector.go:650");
        self.observed.action(&Key::new(&identity.namespace, &identity.name), format!("delete {}", identity.kind));
        self.delete(client, identity, &latest, meta, policy).await
    }

    async fn process_deleting_dependents(&self, client: &Client, node: &Node) -> Result<(), SyncError> {
        let blocking = self.graph.borrow().blocking_dependents(&node.identity.uid);
        if blocking.is_empty() {
            klog::info("remove DeleteDependents finalizer for item")
                .str("item", &node.identity.to_string())
                .log(&self.ctx, "garbagecollector.go:669");
            return self.remove_finalizer(client, &node.identity, FOREGROUND).await;
        }
        for dependent in blocking.into_iter().filter(|d| !d.deleting_dependents) {
            klog::info("adding dependent to attemptToDelete, because its owner is deletingDependents")
                .str("item", &node.identity.to_string())
                .str("dependent", &dependent.identity.to_string())
                .log(&self.ctx, "garbagecollector.go:676");
            self.attempt_to_delete.add(dependent.identity);
        }
        Ok(())
    }

    /// Owners that are there, that are gone, and that wait for their dependents to go.
    async fn classify(
        &self,
        client: &Client,
        identity: &Identity,
        references: &[OwnerReference],
    ) -> Result<(Vec<OwnerReference>, Vec<OwnerReference>, Vec<OwnerReference>), SyncError> {
        let (mut solid, mut dangling, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for reference in references {
            match self.owner(client, identity, reference).await? {
                None => dangling.push(reference.clone()),
                Some(owner) => {
                    let foreground = owner.metadata().is_some_and(|m| {
                        m.deletion_timestamp.unix().is_some() && m.finalizers.iter().any(|f| *f == FOREGROUND)
                    });
                    if foreground { waiting.push(reference.clone()) } else { solid.push(reference.clone()) }
                }
            }
        }
        Ok((solid, dangling, waiting))
    }

    /// The owner that a reference names, unless it is gone.
    async fn owner(
        &self,
        client: &Client,
        identity: &Identity,
        reference: &OwnerReference,
    ) -> Result<Option<AnyRev>, SyncError> {
        let in_cluster = Identity::referred(reference, &Str::default());
        let in_namespace = Identity::referred(reference, &identity.namespace);
        let known_absent = {
            let graph = self.graph.borrow();
            graph.is_absent(&in_cluster) || graph.is_absent(&in_namespace)
        };
        if known_absent {
            return Ok(None);
        }
        let kind = kind_of(&reference.api_version, &reference.kind)?;
        let absent = if kind.namespaced { in_namespace } else { in_cluster };
        match client.get_kind(kind, &identity.namespace, &reference.name).await {
            Ok(owner) if owner.metadata().is_some_and(|m| m.uid == reference.uid) => Ok(Some(owner)),
            Ok(_) => {
                self.graph.borrow_mut().add_absent(absent);
                Ok(None)
            }
            Err(err) if err.is_not_found() => {
                self.graph.borrow_mut().add_absent(absent);
                Ok(None)
            }
            Err(err) => Err(err.into()),
        }
    }

    async fn attempt_to_orphan(&self, owner: &Identity, causes: &Causes) -> Next {
        let client = self.client.caused_by(causes);
        let dependents = self.graph.borrow().dependents(&owner.uid);
        let client = &client;
        let patches = dependents.iter().map(|d| async move {
            let body = delete_owner_refs_patch(&d.identity.uid, [&*owner.uid]);
            match self.patch(client, &d.identity, body).await {
                Err(err) if !err.is_not_found() => Err(format!("orphaning {} failed, {err}", d.identity)),
                _ => Ok(()),
            }
        });
        let failures: Vec<String> = join_all(patches).await.into_iter().filter_map(Result::err).collect();
        if !failures.is_empty() {
            klog::unhandled(format!(
                "orphanDependents for {owner} failed with failed to orphan dependents of owner {owner}, got errors: {}",
                failures.join(", ")
            ))
            .log(&self.ctx, "garbagecollector.go:754");
            return Next::Requeue;
        }
        match self.remove_finalizer(client, owner, ORPHAN).await {
            Ok(()) => Next::Forget,
            Err(err) => {
                klog::unhandled(format!("removeOrphanFinalizer for {owner} failed with {err}"))
                    .log(&self.ctx, "garbagecollector.go:760");
                Next::Requeue
            }
        }
    }

    async fn get(&self, client: &Client, identity: &Identity) -> Result<AnyRev, SyncError> {
        let kind = kind_of(&identity.api_version, &identity.kind)?;
        Ok(client.get_kind(kind, &identity.namespace, &identity.name).await?)
    }

    async fn patch(&self, client: &Client, identity: &Identity, body: String) -> Result<(), SyncError> {
        let kind = kind_of(&identity.api_version, &identity.kind)?;
        client.patch_kind(kind, &identity.namespace, &identity.name, PatchType::Strategic, body, "").await?;
        Ok(())
    }

    /// Deletes an object as it was read; changed meanwhile, it goes all the same as long as its owners are the same.
    async fn delete(
        &self,
        client: &Client,
        identity: &Identity,
        latest: &AnyRev,
        meta: &ObjectMeta,
        policy: &str,
    ) -> Result<(), SyncError> {
        let kind = kind_of(&identity.api_version, &identity.kind)?;
        let options = |revision: u64| DeleteOptions {
            propagation_policy: OStr::some(policy),
            preconditions: Ptr::some(Preconditions {
                uid: OStr::some(identity.uid.clone()),
                resource_version: match revision {
                    0 => OStr::default(),
                    n => OStr::some(n.to_string()),
                },
            }),
            ..DeleteOptions::default()
        };
        let mut result = client.delete_kind(kind, &identity.namespace, &identity.name, &options(latest.revision)).await;
        if matches!(&result, Err(err) if err.is_conflict()) {
            let live = client.get_kind(kind, &identity.namespace, &identity.name).await;
            let unchanged = live.ok().is_some_and(|live| {
                live.metadata().is_some_and(|m| m.uid == identity.uid && m.owner_references == meta.owner_references)
            });
            if unchanged {
                result = client.delete_kind(kind, &identity.namespace, &identity.name, &options(0)).await;
            }
        }
        match result {
            Err(err) if err.is_not_found() => {
                self.virtual_delete(identity);
                Ok(())
            }
            Err(err) => Err(err.into()),
            Ok(()) => Ok(()),
        }
    }

    async fn remove_finalizer(&self, client: &Client, identity: &Identity, finalizer: &str) -> Result<(), SyncError> {
        const TRIES: u32 = 5;
        let kind = kind_of(&identity.api_version, &identity.kind)?;
        for attempt in 1..=TRIES {
            let object = match client.get_kind(kind, &identity.namespace, &identity.name).await {
                Ok(object) => object,
                Err(err) if err.is_not_found() => return Ok(()),
                Err(err) => {
                    return Err(format!("cannot finalize owner {identity}, because cannot get it: {err}. The garbage collector will retry later").into());
                }
            };
            let Some(meta) = object.metadata() else { return Ok(()) };
            if !meta.finalizers.iter().any(|f| *f == finalizer) {
                return Ok(());
            }
            let left: Vec<String> =
                meta.finalizers.iter().filter(|f| **f != finalizer).map(|f| format!("\"{f}\"")).collect();
            let body = format!(
                r#"{{"metadata":{{"resourceVersion":"{}","finalizers":[{}]}}}}"#,
                object.revision,
                left.join(",")
            );
            match client.patch_kind(kind, &identity.namespace, &identity.name, PatchType::Merge, body, "").await {
                Ok(_) => return Ok(()),
                Err(err) if err.is_not_found() => return Ok(()),
                Err(err) if err.is_conflict() && attempt < TRIES => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }
}

fn kind_of(api_version: &str, kind: &str) -> Result<&'static KindInfo, SyncError> {
    let found = api::scheme::by_api_version(api_version, kind).filter(|k| !k.plural.is_empty());
    found.ok_or_else(|| format!("unable to get REST mapping for {api_version}/{kind}.").into())
}

/// A patch after which the node no longer holds up its owners' deletion.
fn unblock_patch(node: &Node) -> String {
    let blocking = node.owners.iter().filter(|o| o.block_owner_deletion == Some(true));
    let refs: Vec<String> = blocking
        .map(|o| {
            let controller = o.controller.map(|c| format!(r#","controller":{c}"#)).unwrap_or_default();
            format!(
                r#"{{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}"{controller},"blockOwnerDeletion":false}}"#,
                o.api_version, o.kind, o.name, o.uid
            )
        })
        .collect();
    format!(r#"{{"metadata":{{"ownerReferences":[{}],"uid":"{}"}}}}"#, refs.join(","), node.identity.uid)
}
