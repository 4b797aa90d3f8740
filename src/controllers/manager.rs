//! The process kube-controller-manager: leader election, then all controllers of the table.

use std::cell::RefCell;
use std::rc::Rc;

use api::Str;
use api::rest::Credential;
use client::{Client, ClientConfig, EventRecorder, LeaderElectionConfig, LeaderElector, klog};
use sim::{Addr, Ctx};

use crate::context::{ControllerContext, SharedInformers};
use crate::observed::{Handle, Observed, Skips};
use crate::table::CONTROLLERS;

/// Where `/healthz` is answered (`--secure-port`).
const SECURE_PORT: u16 = 10_257;
const LOCK: &str = "kube-controller-manager";

/// How a kube-controller-manager is started.
#[derive(Clone, Debug)]
pub struct ManagerConfig {
    /// The API server.
    pub server: Addr,
    /// The API server as error messages show it.
    pub url: Str,
    /// The release, in user agents: `v1.37.2`.
    pub version: Str,
    /// Requests a second of each client (`--kube-api-qps`).
    pub qps: f64,
    /// Requests at once (`--kube-api-burst`).
    pub burst: u32,
    /// Pod addresses of the cluster (`--cluster-cidr` with `--allocate-node-cidrs`), `10.244.0.0/16`; none to allocate
    /// none.
    pub cluster_cidr: Option<Str>,
    /// Length of a node's prefix (`--node-cidr-mask-size`).
    pub node_cidr_mask: u32,
    /// What `kube-root-ca.crt` holds, in PEM.
    pub root_ca: Str,
    /// What tokens of service accounts are signed with (`--service-account-private-key-file`).
    pub token_key: Vec<u8>,
    /// Whether replicas elect a leader (`--leader-elect`).
    pub leader_elect: bool,
    /// Controllers left out, by name (`--controllers=*,-name`).
    pub disabled: Vec<Str>,
    /// Runs that faults leave out.
    pub skips: Skips,
}

impl ManagerConfig {
    /// The defaults for a server.
    pub fn new(server: Addr) -> ManagerConfig {
        ManagerConfig {
            server,
            url: format!("https://{server}").into(),
            version: "v1.37.2".into(),
            qps: 20.0,
            burst: 30,
            cluster_cidr: Some("10.244.0.0/16".into()),
            node_cidr_mask: 24,
            root_ca: Str::default(),
            token_key: apiserver::token::KEY.to_vec(),
            leader_elect: true,
            disabled: Vec::new(),
            skips: Skips::default(),
        }
    }

    fn client_config(&self, user: &str, groups: &[&str], purpose: &str) -> ClientConfig {
        ClientConfig {
            server: self.server,
            url: self.url.clone(),
            credential: Credential::Certificate {
                user: user.into(),
                groups: groups.iter().map(|g| Str::from(*g)).collect(),
            },
            user_agent: format!("kube-controller-manager/{} (linux/amd64) kubernetes/{purpose}", self.version).into(),
            qps: self.qps,
            burst: self.burst,
            timeout: None,
        }
    }

    /// A controller's own client: its ServiceAccount in kube-system.
    pub fn client_as(&self, service_account: &str) -> ClientConfig {
        self.client_config(
            &format!("system:serviceaccount:kube-system:{service_account}"),
            &["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
            &format!("system:serviceaccount:kube-system:{service_account}"),
        )
    }

    /// The manager's own client.
    pub(crate) fn client(&self, purpose: &str) -> ClientConfig {
        self.client_config("system:kube-controller-manager", &["system:authenticated"], purpose)
    }
}

/// A controller manager as observers hold it.
#[derive(Clone, Default)]
pub struct ControllerManager {
    state: Rc<State>,
}

#[derive(Default)]
struct State {
    leading: std::cell::Cell<bool>,
    identity: RefCell<Str>,
    observed: RefCell<Vec<Rc<Observed>>>,
}

impl ControllerManager {
    /// Whether this replica leads.
    pub fn is_leading(&self) -> bool {
        self.state.leading.get()
    }

    /// Who it is in the lease: `cp-1_<uuid>`.
    pub fn identity(&self) -> Str {
        self.state.identity.borrow().clone()
    }

    /// The control loops that run, empty unless it leads.
    pub fn controllers(&self) -> Vec<Rc<Observed>> {
        self.state.observed.borrow().clone()
    }

    /// The process: elects a leader, runs the controllers, and ends when the lease is lost or SIGTERM comes.
    pub async fn run(self, ctx: Ctx, config: ManagerConfig) {
        let config = Rc::new(config);
        let identity: Str = format!("{}_{}", ctx.host_name(), ctx.rng("identity").uuid()).into();
        *self.state.identity.borrow_mut() = identity.clone();
        klog::info("Starting").str("version", &config.version).log(&ctx, "controllermanager.go:204");
        klog::info("Golang settings")
            .str("GOGC", "")
            .str("GOMAXPROCS", "")
            .str("GOTRACEBACK", "")
            .log(&ctx, "controllermanager.go:206");
        client::healthz::serve(&ctx, SECURE_PORT);
        let terminated = ctx.terminated();
        if !config.leader_elect {
            self.start_controllers(&ctx, &config);
            terminated.await;
            return ctx.exit();
        }
        let client = Client::new(&ctx, config.client("leader-election"));
        let recorder = EventRecorder::new(&ctx, &client, LOCK, "", "");
        let mut elector = LeaderElector::new(&ctx, client, recorder, LeaderElectionConfig::new(LOCK, &identity));
        let work = async {
            elector.acquire().await;
            self.start_controllers(&ctx, &config);
            elector.renew().await;
        };
        first(work, terminated).await;
        self.state.leading.set(false);
        // The lease is not given up: it runs out.
        klog::error("leaderelection lost/stopped").log(&ctx, "controllermanager.go:413");
        ctx.exit();
    }

    fn start_controllers(&self, ctx: &Ctx, config: &Rc<ManagerConfig>) {
        self.state.leading.set(true);
        let informers = SharedInformers::new(Client::new(ctx, config.client("shared-informers")));
        for row in CONTROLLERS {
            if config.disabled.iter().any(|name| *name == row.name) {
                continue;
            }
            klog::info("Starting controller").str("controller", row.name).log(ctx, "controllermanager.go:804");
            let observed = Handle::new(row.name, &config.skips);
            self.state.observed.borrow_mut().push(observed.observed());
            let cc = ControllerContext {
                ctx: ctx.part(row.name),
                config: config.clone(),
                informers: informers.clone(),
                observed,
            };
            ctx.spawn(row.name, (row.start)(cc));
        }
    }
}

/// Whether `a` completes before `b`.
async fn first(a: impl Future<Output = ()>, b: impl Future<Output = ()>) -> bool {
    let (a, b) = (std::pin::pin!(a), std::pin::pin!(b));
    matches!(futures_util::future::select(a, b).await, futures_util::future::Either::Left(_))
}
