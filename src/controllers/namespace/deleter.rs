//! Deleting all that is in a namespace, pods first (`namespace/deletion/namespaced_resources_deleter.go`).

use api::core_v1::{Namespace, Pod};
use api::meta_v1::DeleteOptions;
use api::rest::ListOptions;
use api::{KindInfo, List, Resource, Rev, Status, Time};
use client::{Client, Key, klog};

use super::conditions::Findings;
use crate::controller_utils::{SyncError, aggregate};

/// The finalizer that stands for this controller.
const FINALIZER: &str = "kubernetes";
/// How long objects with finalizers are given, in seconds.
const FINALIZER_ESTIMATE: u64 = 15;

/// One pass over one namespace.
pub(super) struct Deleter<'a> {
    pub ctx: &'a sim::Ctx,
    pub client: Client,
    pub observed: &'a crate::observed::Handle,
}

/// What is left of one kind.
#[derive(Default)]
struct Left {
    estimate: u64,
    remaining: usize,
    finalizers: Vec<String>,
}

impl Deleter<'_> {
    /// Deletes what can be deleted; the seconds it may take until the rest is gone, 0 when all is done.
    pub async fn delete(&self, name: &str) -> Result<u64, SyncError> {
        let namespace: Rev<Namespace> = match self.client.get("", name).await {
            Ok(namespace) => namespace,
            Err(err) if err.is_not_found() => return Ok(0),
            Err(err) => return Err(err.into()),
        };
        if namespace.metadata.deletion_timestamp.unix().is_none() {
            return Ok(0);
        }
        let marked = self.retry_on_conflict(namespace, async |n: Rev<Namespace>| {
            if n.metadata.deletion_timestamp.unix().is_none() || n.status.phase == "Terminating" {
                return Ok(n);
            }
            let mut copy = (*n).clone();
            copy.status.make().phase = "Terminating".into();
            self.client.update_status(copy, n.revision).await
        });
        let namespace = match marked.await {
            Ok(namespace) => namespace,
            Err(err) if err.is_not_found() => return Ok(0),
            Err(err) => return Err(err.into()),
        };
        if namespace.metadata.deletion_timestamp.unix().is_none() || namespace.spec.finalizers.is_empty() {
            return Ok(0);
        }
        let estimate = self.delete_all_content(&namespace).await?;
        if estimate > 0 {
            return Ok(estimate);
        }
        let finalized = self.retry_on_conflict(namespace, async |n: Rev<Namespace>| {
            let mut copy = (*n).clone();
            let left = n.spec.finalizers.iter().filter(|f| **f != FINALIZER).cloned().collect::<Vec<_>>();
            copy.spec.make().finalizers = List::from(left);
            self.client.update_subresource(copy, n.revision, "finalize").await
        });
        match finalized.await {
            Ok(_) => Ok(0),
            Err(err) if err.is_not_found() => Ok(0),
            Err(err) => Err(err.into()),
        }
    }

    async fn retry_on_conflict(
        &self,
        mut namespace: Rev<Namespace>,
        write: impl AsyncFn(Rev<Namespace>) -> Result<Rev<Namespace>, Status>,
    ) -> Result<Rev<Namespace>, Status> {
        loop {
            match write(namespace.clone()).await {
                Err(err) if err.is_conflict() => {}
                result => return result,
            }
            let latest: Rev<Namespace> = self.client.get("", &namespace.metadata.name).await?;
            if latest.metadata.uid != namespace.metadata.uid {
                return Err(Status::transport("namespace uid has changed across retries"));
            }
            namespace = latest;
        }
    }

    async fn delete_all_content(&self, namespace: &Rev<Namespace>) -> Result<u64, SyncError> {
        let name = &namespace.metadata.name;
        let deleted_at = namespace.metadata.deletion_timestamp.unix().unwrap_or(0);
        klog::info("namespace controller - deleteAllContent")
            .str("namespace", name)
            .log(self.ctx, "namespaced_resources_deleter.go:508");
        let mut findings = Findings::default();
        let mut errors = Vec::new();
        let mut estimate = 0;
        // Pods may still need what else is in the namespace.
        match self.delete_kind(Pod::KIND, name, deleted_at).await {
            Ok(left) => {
                estimate = estimate.max(left.estimate);
                if left.remaining > 0 {
                    self.observed.actual(&Key::new("", name), format!("{} pods remain", left.remaining));
                    self.update_conditions(namespace, &findings).await;
                    return Ok(estimate);
                }
            }
            Err((left, err)) => {
                estimate = estimate.max(left.estimate);
                let err = SyncError::from(format!("failed to delete pods for namespace: {name}, err: {err}"));
                findings.errors.push(err.to_string());
                errors.push(err);
            }
        }
        for kind in api::scheme::resources() {
            if !kind.namespaced || !kind.has_verb("delete") || *kind == Pod::KIND {
                continue;
            }
            let left = match self.delete_kind(kind, name, deleted_at).await {
                Ok(left) => left,
                Err((left, err)) => {
                    findings.errors.push(err.to_string());
                    errors.push(err);
                    left
                }
            };
            estimate = estimate.max(left.estimate);
            if left.remaining > 0 {
                findings.remaining.push((kind, left.remaining));
                for finalizer in left.finalizers {
                    *findings.finalizers.entry(finalizer).or_default() += 1;
                }
            }
        }
        self.update_conditions(namespace, &findings).await;
        let result = aggregate(errors);
        let mut line =
            klog::info("namespace controller - deleteAllContent").str("namespace", name).raw("estimate", estimate);
        line = match &result {
            Ok(()) => line.raw("err", "null"),
            Err(err) => line.err(err),
        };
        line.log(self.ctx, "namespaced_resources_deleter.go:587");
        result.map(|()| estimate)
    }

    async fn update_conditions(&self, namespace: &Rev<Namespace>, findings: &Findings) {
        let mut copy = (**namespace).clone();
        let now = Time::from_unix_nanos(self.ctx.unix_nanos());
        if !findings.update(copy.status.make(), now) {
            return;
        }
        if let Err(err) = self.client.update_status(copy, namespace.revision).await {
            klog::error("Couldn't update status condition for namespace")
                .err(&err)
                .str("logger", "UnhandledError")
                .str("namespace", &namespace.metadata.name)
                .log(self.ctx, "namespaced_resources_deleter.go:581");
        }
    }

    async fn delete_kind(
        &self,
        kind: &'static KindInfo,
        namespace: &str,
        deleted_at: i64,
    ) -> Result<Left, (Left, SyncError)> {
        let mut left = Left::default();
        if kind == Pod::KIND {
            let pods = match self.client.list::<Pod>(namespace, &ListOptions::default()).await {
                Ok(pods) => pods.items,
                Err(err) => return Err((left, err.into())),
            };
            let running = pods.iter().filter(|p| !matches!(&*p.status.phase, "Succeeded" | "Failed"));
            let grace = running.filter_map(|p| p.spec.termination_grace_period_seconds).max().unwrap_or(0).max(0);
            let since = self.ctx.unix_nanos().div_euclid(1_000_000_000).saturating_sub(deleted_at);
            left.estimate = if since >= grace { 0 } else { u64::try_from(grace).unwrap_or(0) };
        }
        let options = DeleteOptions { propagation_policy: api::OStr::some("Background"), ..Default::default() };
        let result = if kind.has_verb("deletecollection") {
            self.client.delete_collection(kind, namespace, &options, &ListOptions::default()).await
        } else {
            self.delete_each(kind, namespace, &options).await
        };
        match result {
            Ok(()) => {}
            Err(err) if err.is_not_found() || err.is_method_not_supported() => {}
            Err(err) => return Err((left, err.into())),
        }
        let items = match self.client.list_kind(kind, namespace, &ListOptions::default()).await {
            Ok(list) => list.items,
            Err(err) if err.is_not_found() || err.is_method_not_supported() => return Ok(left),
            Err(err) => return Err((left, err.into())),
        };
        if items.is_empty() {
            return Ok(Left::default());
        }
        left.remaining = items.len();
        for meta in items.iter().filter_map(|o| o.metadata()) {
            left.finalizers.extend(meta.finalizers.iter().map(|f| f.to_string()));
        }
        if left.estimate != 0 {
            return Ok(left);
        }
        if !left.finalizers.is_empty() {
            left.estimate = FINALIZER_ESTIMATE;
            return Ok(left);
        }
        let gvr = format!("{}/{}, Resource={}", kind.group, kind.version, kind.plural);
        let err = format!("unexpected items still remain in namespace: {namespace} for gvr: {gvr}");
        Err((left, err.into()))
    }

    async fn delete_each(
        &self,
        kind: &'static KindInfo,
        namespace: &str,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let items = self.client.list_kind(kind, namespace, &ListOptions::default()).await?.items;
        for item in items {
            let Some(meta) = item.metadata() else { continue };
            match self.client.delete_kind(kind, namespace, &meta.name, options).await {
                Ok(()) => {}
                Err(err) if err.is_not_found() || err.is_method_not_supported() => {}
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }
}
