//! kube-apiserver: the only door to the store.
//!
//! A request passes authentication, audit, authorization, admission and validation, and then reaches the store; what
//! the store holds comes back through one watch into the cache that lists and watches are served from.

pub mod admission;
mod alloc;
pub mod audit;
pub mod authn;
pub mod authz;
mod base64;
pub mod bootstrap;
pub mod cache;
pub mod causes;
mod components;
mod connect;
mod discovery;
mod errors;
pub mod etcd_storage;
mod handler;
mod identity;
mod openapi;
mod proxy;
mod ranges;
pub mod registry;
mod repair;
mod reviews;
pub mod server;
pub(crate) use api::sha256;
pub mod storage;
pub mod strategy;
pub mod table;
pub mod token;
pub mod user;

#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use api::{KindInfo, Str};
use sim::Ctx;

pub use server::{Config, Server};

use registry::Resource;

/// What the server is made of. Observers read it between the world's polls.
pub struct Inner {
    /// The process.
    pub ctx: Ctx,
    /// Its flags.
    pub config: Config,
    /// The store.
    pub storage: Rc<dyn storage::Storage>,
    /// What the store holds, and its recent past.
    pub cache: cache::Cache,
    /// The stored resources; their numbers are their places here and in the cache.
    pub resources: Vec<Resource>,
    /// What is served: group, version and plural name, with the kind and the number of its stored resource.
    served: BTreeMap<(&'static str, &'static str, &'static str), (&'static KindInfo, usize)>,
    /// Requests, for observers.
    pub audit: audit::Audit,
    /// Why each revision was written, for observers.
    pub causes: causes::Causes,
    pub(crate) certificates: RefCell<BTreeMap<Str, Rc<user::User>>>,
    pub(crate) rbac: RefCell<authz::rbac::Rbac>,
    /// roles, rolebindings, clusterroles, clusterrolebindings.
    pub(crate) rbac_resources: [usize; 4],
    pub(crate) writers: registry::Writers,
    pub(crate) alloc: RefCell<alloc::Allocator>,
    pub(crate) draw: RefCell<sim::Rng>,
    uids: RefCell<sim::Rng>,
    names: RefCell<sim::Rng>,
    pub(crate) ready: Cell<bool>,
    pub(crate) pods: usize,
    pub(crate) nodes: usize,
    pub(crate) namespaces: usize,
    pub(crate) service_accounts: usize,
    pub(crate) services: usize,
    pub(crate) ip_addresses: usize,
    pub(crate) service_cidrs: usize,
    pub(crate) priority_classes: usize,
    pub(crate) storage_classes: usize,
    pub(crate) ingress_classes: usize,
    pub(crate) runtime_classes: usize,
    pub(crate) limit_ranges: usize,
    pub(crate) resource_quotas: usize,
    pub(crate) quotas: admission::resource_quota::Quotas,
    pub(crate) compiled: admission::policies::Compiled,
}

impl Inner {
    fn new(ctx: Ctx, config: Config, storage: Rc<dyn storage::Storage>) -> Inner {
        let resources = registry::resources();
        let index = |group: &str, plural: &str| {
            // The table is generated with these in it.
            resources.iter().position(|r| r.kind.plural == plural && r.kind.group == group).unwrap_or_default()
        };
        let served = api::scheme::resources().iter().filter_map(|kind| {
            let stored = registry::convert::stored_as(kind);
            let index = resources.iter().position(|resource| resource.kind == stored)?;
            Some(((kind.group, kind.version, kind.plural), (*kind, index)))
        });
        const RBAC: &str = "rbac.authorization.k8s.io";
        Inner {
            cache: cache::Cache::new(resources.iter().map(|resource| resource.prefix.clone())),
            rbac_resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"].map(|r| index(RBAC, r)),
            pods: index("", "pods"),
            nodes: index("", "nodes"),
            namespaces: index("", "namespaces"),
            service_accounts: index("", "serviceaccounts"),
            services: index("", "services"),
            ip_addresses: index("networking.k8s.io", "ipaddresses"),
            service_cidrs: index("networking.k8s.io", "servicecidrs"),
            priority_classes: index("scheduling.k8s.io", "priorityclasses"),
            ingress_classes: index("networking.k8s.io", "ingressclasses"),
            runtime_classes: index("node.k8s.io", "runtimeclasses"),
            limit_ranges: index("", "limitranges"),
            resource_quotas: index("", "resourcequotas"),
            quotas: Default::default(),
            compiled: admission::policies::Compiled::new(
                admission::policies::KINDS.map(|plural| index("admissionregistration.k8s.io", plural)),
            ),
            storage_classes: index("storage.k8s.io", "storageclasses"),
            draw: RefCell::new(ctx.rng("draw")),
            uids: RefCell::new(ctx.rng("uid")),
            names: RefCell::new(ctx.rng("generateName")),
            certificates: RefCell::default(),
            rbac: RefCell::default(),
            writers: registry::Writers::default(),
            alloc: RefCell::default(),
            served: served.collect(),
            audit: audit::Audit::default(),
            causes: causes::Causes::default(),
            ready: Cell::new(false),
            resources,
            storage,
            config,
            ctx,
        }
    }

    /// A new object's uid.
    pub fn uid(&self) -> Str {
        Str::from(self.uids.borrow_mut().uuid())
    }

    /// A name for a base of `generateName`.
    pub fn generate_name(&self, base: &str) -> Str {
        registry::generated(base, &mut self.names.borrow_mut())
    }

    /// The kind that a path names, and the number of its stored resource.
    pub fn served(&self, group: &str, version: &str, plural: &str) -> Option<(&'static KindInfo, usize)> {
        self.served.get(&(group, version, plural)).copied()
    }

    /// The stored resource of a kind, by its number.
    pub fn resource_of(&self, kind: &'static KindInfo) -> Option<usize> {
        let stored = registry::convert::stored_as(kind);
        self.resources.iter().position(|resource| resource.kind == stored)
    }

    /// The stored resource by group and plural name.
    pub fn resource_named(&self, group: &str, plural: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.kind.plural == plural && resource.kind.group == group)
    }
}

/// The program's name in a `User-Agent`: what is before the first `/`.
pub fn agent(user_agent: &str) -> Str {
    Str::from(user_agent.split('/').next().unwrap_or_default())
}
