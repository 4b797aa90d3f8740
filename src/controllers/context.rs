//! What every controller is started with (`ControllerContext` of `cmd/kube-controller-manager/app`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::core_v1::Pod;
use api::{KindInfo, Resource};
use client::{Client, DynInformer, EventRecorder, Informer, InformerOptions};
use sim::Ctx;

use crate::ManagerConfig;
use crate::controller_utils as utils;
use crate::observed::Handle;

/// Informers shared by all controllers of the process, one for each kind.
#[derive(Clone)]
pub struct SharedInformers {
    client: Client,
    by_kind: Rc<RefCell<BTreeMap<(&'static str, &'static str), DynInformer>>>,
}

impl SharedInformers {
    /// None yet; they will read as `client`.
    pub fn new(client: Client) -> SharedInformers {
        SharedInformers { client, by_kind: Rc::default() }
    }

    /// The informer of a kind, started if it is new.
    pub fn of_kind(&self, kind: &'static KindInfo) -> DynInformer {
        let key = (kind.group, kind.kind);
        if let Some(informer) = self.by_kind.borrow().get(&key) {
            return informer.clone();
        }
        let options = InformerOptions { name: "k8s.io/client-go/informers/factory.go:160", ..Default::default() };
        let informer = DynInformer::new(self.client.clone(), kind, options);
        if kind == Pod::KIND {
            index_pods(&informer.typed());
        }
        self.by_kind.borrow_mut().insert(key, informer.clone());
        informer.run();
        informer
    }
}

/// Pods by node, and by controller with orphans under their namespace.
fn index_pods(pods: &Informer<Pod>) {
    pods.add_index(utils::NODE_NAME_INDEX, |pod: &Pod| {
        if pod.spec.node_name.is_empty() { Vec::new() } else { vec![pod.spec.node_name.clone()] }
    });
    pods.add_index(utils::POD_CONTROLLER_INDEX, |pod: &Pod| {
        let owner = utils::controller_of(&pod.metadata).map(|r| r.uid.clone());
        vec![owner.unwrap_or_else(|| pod.metadata.namespace.clone())]
    });
}

/// A controller's surroundings.
#[derive(Clone)]
pub struct ControllerContext {
    /// The process.
    pub ctx: Ctx,
    /// How the manager was started.
    pub config: Rc<ManagerConfig>,
    /// The shared informers.
    pub informers: SharedInformers,
    /// Where the controller tells observers what it does.
    pub observed: Handle,
}

impl ControllerContext {
    /// A client that acts as the controller's own ServiceAccount, `kube-system/<name>`
    /// (`--use-service-account-credentials`).
    pub fn client(&self, service_account: &str) -> Client {
        Client::new(&self.ctx, self.config.client_as(service_account))
    }

    /// A client with the manager's own rights, for what controllers' ServiceAccounts hang on.
    pub fn own_client(&self, purpose: &str) -> Client {
        Client::new(&self.ctx, self.config.client(purpose))
    }

    /// The shared informer of a type.
    pub fn informer<T: Resource>(&self) -> Informer<T> {
        self.informers.of_kind(T::KIND).typed()
    }

    /// A recorder of core/v1 events.
    pub fn recorder(&self, client: &Client, component: &str, logger: &'static str) -> EventRecorder {
        EventRecorder::new(&self.ctx, client, component, "", logger)
    }
}
