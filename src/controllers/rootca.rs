//! The root CA publisher (`pkg/controller/certificates/rootcacertpublisher`): every namespace has the ConfigMap
//! `kube-root-ca.crt`, by which pods know the API server.

use std::rc::Rc;

use api::core_v1::{ConfigMap, Namespace};
use api::{Map, Str};
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const NAME: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIPTION_TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using \
    internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
    distributions of Kubernetes clusters.";

struct Publisher {
    ctx: sim::Ctx,
    client: Client,
    root_ca: Str,
    config_maps: Lister<ConfigMap>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting root CA cert publisher controller").log(&cc.ctx, "publisher.go:108");
    let (config_maps, namespaces) = (cc.informer::<ConfigMap>(), cc.informer::<Namespace>());
    let publisher = Rc::new(Publisher {
        ctx: cc.ctx.clone(),
        client: cc.client("root-ca-cert-publisher"),
        root_ca: cc.config.root_ca.clone(),
        config_maps: config_maps.lister(),
        queue: WorkQueue::new(&cc.ctx, "root_ca_cert_publisher"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&publisher.queue);
    let this = publisher.clone();
    config_maps.on(move |delta| {
        let (Delta::Updated { new: map, .. } | Delta::Deleted(map)) = delta else { return };
        if map.metadata.name == NAME {
            this.queue.add_caused(Key::new("", &map.metadata.namespace), map.revision);
        }
    });
    let this = publisher.clone();
    namespaces.on(move |delta| {
        let namespace = match delta {
            Delta::Added(namespace) => namespace,
            Delta::Updated { new, .. } if new.status.phase == "Active" => new,
            _ => return,
        };
        this.queue.add_caused(Key::of(&namespace.metadata), namespace.revision);
    });
    config_maps.synced().await;
    Worker::spawn(&cc.ctx, 1, publisher.queue.clone(), publisher);
}

impl Publisher {
    async fn sync_namespace(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let namespace = &work.key.name;
        let client = self.client.caused_by(&work.causes);
        let data: Map<Str> = Map::from([("ca.crt", self.root_ca.clone())]);
        let Some(current) = self.config_maps.get(namespace, NAME) else {
            let mut map = ConfigMap::default();
            map.metadata.name = NAME.into();
            map.metadata.namespace = namespace.clone();
            map.metadata.annotations.insert(DESCRIPTION, DESCRIPTION_TEXT.into());
            map.data = data;
            self.observed.action(&work.key, format!("create config map {NAME}"));
            return match client.create(namespace, map).await {
                Ok(_) => Ok(()),
                Err(err) if err.is_not_found() || err.has_cause("NamespaceTerminating") => Ok(()),
                Err(err) => Err(err.into()),
            };
        };
        let described = current.metadata.annotations.get(DESCRIPTION).is_some_and(|d| !d.is_empty());
        if current.data == data && described {
            return Ok(());
        }
        let mut map = (*current).clone();
        map.data = data;
        map.metadata.annotations.insert(DESCRIPTION, DESCRIPTION_TEXT.into());
        self.observed.action(&work.key, format!("restore config map {NAME}"));
        client.update(map, current.revision).await?;
        Ok(())
    }
}

impl Reconcile<Key> for Publisher {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_namespace(work).await;
        klog::info("Finished syncing namespace")
            .str("namespace", &work.key.name)
            .duration("elapsedTime", self.ctx.now().since(started))
            .log(&self.ctx, "publisher.go:191");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::unhandled(format!("syncing \"{}\" failed: {err}", work.key.name))
                    .log(&self.ctx, "publisher.go:178");
                self.queue.retry(work);
            }
        }
    }
}
