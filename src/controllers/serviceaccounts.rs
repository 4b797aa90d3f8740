//! The serviceaccount controller (`pkg/controller/serviceaccount`): every namespace has the ServiceAccount `default`.

use std::rc::Rc;

use api::core_v1::{Namespace, ServiceAccount};
use client::{Client, Delta, Key, Lister, Work, WorkQueue, klog};

use crate::context::ControllerContext;
use crate::controller_utils::SyncError;
use crate::worker::{Reconcile, Worker};

const NAME: &str = "default";

struct ServiceAccountsController {
    ctx: sim::Ctx,
    client: Client,
    namespaces: Lister<Namespace>,
    accounts: Lister<ServiceAccount>,
    queue: WorkQueue<Key>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    klog::info("Starting service account controller").log(&cc.ctx, "serviceaccounts_controller.go:110");
    let (namespaces, accounts) = (cc.informer::<Namespace>(), cc.informer::<ServiceAccount>());
    let sac = Rc::new(ServiceAccountsController {
        ctx: cc.ctx.clone(),
        client: cc.client("service-account-controller"),
        namespaces: namespaces.lister(),
        accounts: accounts.lister(),
        queue: WorkQueue::new(&cc.ctx, "serviceaccount"),
        observed: cc.observed.clone(),
    });
    cc.observed.watch_queue(&sac.queue);
    let this = sac.clone();
    namespaces.on(move |delta| {
        if !matches!(delta, Delta::Deleted(_)) {
            this.queue.add_caused(Key::of(&delta.object().metadata), delta.revision());
        }
    });
    let this = sac.clone();
    accounts.on(move |delta| {
        if let Delta::Deleted(account) = delta {
            this.queue.add_caused(Key::new("", &account.metadata.namespace), account.revision);
        }
    });
    futures_util::join!(accounts.synced(), namespaces.synced());
    Worker::spawn(&cc.ctx, 1, sac.queue.clone(), sac);
}

impl ServiceAccountsController {
    async fn sync_namespace(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let Some(namespace) = self.namespaces.by_key(&work.key) else { return Ok(()) };
        if namespace.status.phase != "Active" || self.accounts.get(&namespace.metadata.name, NAME).is_some() {
            return Ok(());
        }
        let mut account = ServiceAccount::default();
        account.metadata.name = NAME.into();
        account.metadata.namespace = namespace.metadata.name.clone();
        self.observed.action(&work.key, format!("create service account {NAME}"));
        match self.client.caused_by(&work.causes).create(&namespace.metadata.name, account).await {
            Ok(_) => Ok(()),
            Err(err) if err.is_already_exists() || err.has_cause("NamespaceTerminating") => Ok(()),
            Err(err) => Err(err.into()),
        }
    }
}

impl Reconcile<Key> for ServiceAccountsController {
    async fn reconcile(&self, work: &Work<Key>) -> Result<(), SyncError> {
        let started = self.ctx.now();
        let result = self.sync_namespace(work).await;
        klog::info("Finished syncing namespace")
            .str("namespace", &work.key.name)
            .duration("duration", self.ctx.now().since(started))
            .log(&self.ctx, "serviceaccounts_controller.go:187");
        result
    }

    fn finished(&self, work: Work<Key>, result: Result<(), SyncError>) {
        match result {
            Ok(()) => self.queue.forget(&work.key),
            Err(err) => {
                klog::error("Service account work item failed")
                    .err(&err)
                    .str("item", &work.key.name)
                    .str("logger", "UnhandledError")
                    .log(&self.ctx, "serviceaccounts_controller.go:176");
                self.queue.retry(work);
            }
        }
    }
}
