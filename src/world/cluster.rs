//! The cluster: builds the machines of a blueprint, starts their programs, and lets observers look.

use crate::blueprint::Blueprint;
use crate::machine::{FaultHooks, Machines};
use crate::programs::{self, Running};
use crate::terminal;
use api::rest::Credential;
use apiserver::etcd_storage::Stored;
use client::ClientConfig;
use controllers::{ControllerManager, ManagerConfig};
use etcd::{Member, MemberConfig, MemberInfo};
use node::{Node, NodeBlueprint};
use scheduler::Scheduler;
use shell::process::{Process, Program};
use sim::{Addr, Duration, HostId, Livelock, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The port of API servers.
const API_PORT: u16 = 6443;
/// How long a cluster of transcripts has been up: longer than events live.
const OLD: Duration = Duration::from_secs(2 * 3600);
/// What `kube-root-ca.crt` holds: there is no TLS here, so it certifies nothing.
const ROOT_CA: &str = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";
/// The fsync time of a healthy disk.
pub const FSYNC: Duration = Duration::from_millis(1);

/// What observers read of the running programs; each is there while its program runs.
#[derive(Default)]
pub struct Observed {
    /// etcd members by process name.
    pub etcd: RefCell<BTreeMap<String, Member<Stored>>>,
    /// API servers by process name.
    pub api_servers: RefCell<BTreeMap<String, Rc<apiserver::Inner>>>,
    /// Controller managers by process name.
    pub managers: RefCell<BTreeMap<String, ControllerManager>>,
    /// Schedulers by process name.
    pub schedulers: RefCell<BTreeMap<String, Scheduler>>,
    /// Runs that faults make controllers leave out.
    skips: controllers::Skips,
}

impl FaultHooks for Observed {
    fn skip(&self, controller: &str, share: f64) -> bool {
        self.skips.set(controller, share)
    }
}

/// A simulated cluster with the reader's machine beside it.
pub struct World {
    sim: Sim,
    blueprint: Blueprint,
    machines: Rc<Machines>,
    observed: Rc<Observed>,
    workstation: HostId,
    programs: BTreeMap<&'static str, Program>,
    editors: terminal::Editors,
}

impl World {
    /// Builds and starts everything; nothing has run yet.
    pub fn new(blueprint: &Blueprint) -> Self {
        let sim = Sim::new(sim::Options {
            seed: blueprint.seed,
            epoch_unix_nanos: blueprint.epoch.saturating_mul(1_000_000_000),
            interleave: if blueprint.shuffled { sim::Interleave::Seeded } else { sim::Interleave::Fifo },
            ..sim::Options::default()
        });
        let observed = Rc::new(Observed::default());
        let machines = Rc::new(Machines::new(sim.clone(), observed.clone(), FSYNC));
        let control: Vec<HostId> = (1..=blueprint.machines())
            .map(|n| sim.add_host(&format!("cp-{n}"), Blueprint::control_plane_ip(n)))
            .collect();
        let workstation = sim.add_host("workstation", Blueprint::workstation_ip());
        let server = Addr { ip: Blueprint::control_plane_ip(1), port: API_PORT };
        let editors = terminal::Editors::default();
        let programs = BTreeMap::from([
            ("curl", Rc::new(shell::tools::curl::run) as Program),
            ("kubectl", terminal::kubectl(kubectl::Config::admin(server), &editors)),
            ("cluster", programs::cluster(&machines)),
        ]);
        let world = Self { sim, blueprint: blueprint.clone(), machines, observed, workstation, programs, editors };
        world.start_etcd(&control);
        world.start_api_servers(&control);
        world.start_controller_managers(&control);
        world.start_schedulers(&control);
        world.start_nodes();
        world
    }

    /// The name of replica `n` (from 1): the recorded cluster's one etcd and API server go without a number.
    fn replica_name(kind: &str, n: u32, count: u32) -> String {
        if count == 1 { kind.to_string() } else { format!("{kind}-{n}") }
    }

    fn start_etcd(&self, control: &[HostId]) {
        let count = self.blueprint.control_planes;
        let members: Vec<MemberInfo> = (1..=count)
            .map(|n| {
                let ip = Blueprint::control_plane_ip(n);
                let name = Self::replica_name("etcd", n, count);
                let (peer, client) = (Addr { ip, port: 2380 }, Addr { ip, port: 2379 });
                MemberInfo { id: u64::from(n), name: name.as_str().into(), peer, client }
            })
            .collect();
        for (n, host) in (1..=count).zip(control) {
            let (members, observed) = (members.clone(), self.observed.clone());
            self.machines.add(
                &Self::replica_name("etcd", n, count),
                "etcd",
                *host,
                Rc::new(move |ctx, name| {
                    let (members, observed, own) = (members.clone(), observed.clone(), name.to_string());
                    Box::pin(async move {
                        let member = Member::start(&ctx, MemberConfig::new(u64::from(n), members));
                        observed.etcd.borrow_mut().insert(own, member);
                        std::future::pending::<()>().await;
                    })
                }),
            );
        }
    }

    fn start_api_servers(&self, control: &[HostId]) {
        let count = self.blueprint.control_planes;
        for (n, host) in (1..=count).zip(control) {
            let observed = self.observed.clone();
            // Each server talks to the member on its own machine first.
            let own = Blueprint::control_plane_ip(n);
            let mut etcd = vec![Addr { ip: own, port: 2379 }];
            etcd.extend(
                (1..=count).map(|m| Addr { ip: Blueprint::control_plane_ip(m), port: 2379 }).filter(|a| a.ip != own),
            );
            self.machines.add(
                &Self::replica_name("kube-apiserver", n, count),
                "kube-apiserver",
                *host,
                Rc::new(move |ctx, name| {
                    let (etcd, observed, key) = (etcd.clone(), observed.clone(), name.to_string());
                    Box::pin(async move {
                        let server = apiserver::Server::new(&ctx, apiserver::Config::new(own, etcd));
                        observed.api_servers.borrow_mut().insert(key, server.inner().clone());
                        server.run().await;
                    })
                }),
            );
        }
    }

    /// The API server that replica `n` talks to: the one on its own machine, where there is one.
    pub(crate) fn server_of(&self, n: u32) -> Addr {
        let n = if n <= self.blueprint.control_planes { n } else { 1 };
        Addr { ip: Blueprint::control_plane_ip(n), port: API_PORT }
    }

    fn start_controller_managers(&self, control: &[HostId]) {
        let rate = self.blueprint.client_rate.max(1);
        for (n, host) in (1..=self.blueprint.replicas).zip(control) {
            let observed = self.observed.clone();
            let mut config = ManagerConfig::new(self.server_of(n));
            config.qps *= f64::from(rate);
            config.burst = config.burst.saturating_mul(rate);
            config.root_ca = ROOT_CA.into();
            config.skips = self.observed.skips.clone();
            self.machines.add(
                &format!("kube-controller-manager-{n}"),
                "kube-controller-manager",
                *host,
                Rc::new(move |ctx, name| {
                    let (manager, config) = (ControllerManager::default(), config.clone());
                    observed.managers.borrow_mut().insert(name.to_string(), manager.clone());
                    Box::pin(manager.run(ctx, config))
                }),
            );
        }
    }

    fn start_schedulers(&self, control: &[HostId]) {
        let rate = self.blueprint.client_rate.max(1);
        for (n, host) in (1..=self.blueprint.replicas).zip(control) {
            let observed = self.observed.clone();
            let credential = Credential::Certificate {
                user: "system:kube-scheduler".into(),
                groups: vec!["system:authenticated".into()],
            };
            let agent = "kube-scheduler/v1.37.2 (linux/amd64) kubernetes/scheduler";
            let client =
                ClientConfig::new(self.server_of(n), credential, agent).limited(50.0 * f64::from(rate), 100 * rate);
            self.machines.add(
                &format!("kube-scheduler-{n}"),
                "kube-scheduler",
                *host,
                Rc::new(move |ctx, name| {
                    let (client, observed, own) = (client.clone(), observed.clone(), name.to_string());
                    Box::pin(async move {
                        let identity = format!("{}_{}", ctx.host_name(), ctx.rng("identity").uuid());
                        let scheduler = Scheduler::new(&ctx, scheduler::Config { client, identity });
                        observed.schedulers.borrow_mut().insert(own, scheduler.clone());
                        scheduler.run().await;
                    })
                }),
            );
        }
    }

    fn start_nodes(&self) {
        let server = Addr { ip: Blueprint::control_plane_ip(1), port: API_PORT };
        for n in 1..=self.blueprint.nodes {
            let name = format!("node-{n}");
            let mut blueprint = NodeBlueprint::new(&name, Blueprint::node_ip(n), &Blueprint::pod_range(n), server);
            blueprint.cpus = self.blueprint.node_cpus;
            blueprint.memory = format!("{}Ki", self.blueprint.node_memory / 1024);
            if self.blueprint.node_memory == 8 << 30 {
                blueprint.memory = "8Gi".into();
            }
            blueprint.max_pods = self.blueprint.node_pods;
            blueprint.client_rate = self.blueprint.client_rate;
            blueprint.labels.extend(self.blueprint.zone(n).map(|zone| ("topology.kubernetes.io/zone".into(), zone)));
            if let Some(node) = Node::start(&self.sim, blueprint) {
                self.machines.add_node(&node);
            }
        }
    }

    /// The simulated world.
    pub fn sim(&self) -> &Sim {
        &self.sim
    }
    /// What it was made from.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }
    /// What runs where.
    pub fn machines(&self) -> &Rc<Machines> {
        &self.machines
    }
    /// What observers read.
    pub fn observed(&self) -> &Rc<Observed> {
        &self.observed
    }
    /// The controller manager that leads.
    pub fn leading_manager(&self) -> Option<ControllerManager> {
        let all = self.observed.managers.borrow();
        all.iter().find(|(name, m)| m.is_leading() && self.machines.is_running(name)).map(|(_, m)| m.clone())
    }
    /// The scheduler that leads.
    pub fn leading_scheduler(&self) -> Option<Scheduler> {
        let all = self.observed.schedulers.borrow();
        all.iter().find(|(name, s)| s.leads() && self.machines.is_running(name)).map(|(_, s)| s.clone())
    }
    /// Whether writes find their way: etcd has a leader, an API server runs, and controllers and scheduler are led.
    pub fn is_whole(&self) -> bool {
        let members = self.observed.etcd.borrow();
        let leads = |m: &Member<Stored>| m.status().is_some_and(|s| s.role == etcd::raft::Role::Leader);
        let servers = self.observed.api_servers.borrow();
        members.iter().any(|(name, m)| self.machines.is_running(name) && leads(m))
            && servers.keys().any(|name| self.machines.is_running(name))
            && self.leading_manager().is_some()
            && self.leading_scheduler().is_some()
    }
    /// Whether this API server reaches a member of etcd that leads or reaches the one that does.
    pub fn store_answers(&self, server: &str) -> bool {
        let members = self.observed.etcd.borrow();
        let leads = |m: &Member<Stored>| m.status().is_some_and(|s| s.role == etcd::raft::Role::Leader);
        let process = |name: &str| self.sim.process(name);
        let leaders = members.iter().filter(|(_, m)| leads(m)).filter_map(|(name, _)| process(name));
        let leaders: Vec<sim::ProcessId> = leaders.collect();
        let led = |member| leaders.iter().any(|l| *l == member || self.sim.reaches(member, *l));
        let Some(server) = process(server) else { return false };
        members.keys().filter_map(|name| process(name)).any(|m| self.sim.reaches(server, m) && led(m))
    }
    /// The programs of the reader's machine.
    pub fn programs(&self) -> &BTreeMap<&'static str, Program> {
        &self.programs
    }

    /// The reader's machine.
    pub fn workstation(&self) -> HostId {
        self.workstation
    }

    /// Boots and lets hours pass, as the recorded cluster had: all nodes are Ready, no events are left.
    pub fn grow_old(&mut self) -> Result<(), Livelock> {
        self.sim.run_for(OLD)
    }

    /// Runs a program of the reader's machine. One that is not there ends with 127 at once.
    pub fn run(&self, process: Process) -> Running {
        let name = process.args.first().cloned().unwrap_or_default();
        let missing: Program = Rc::new(|_, process: Process| {
            Box::pin(async move {
                let text = format!("bash: line 1: {}: command not found\n", process.args.first().map_or("", |a| a));
                let _ = process.stderr.write(text.as_bytes()).await;
                127
            })
        });
        let tool = || shell::tools::find(&name, shell::Dialect::Bash);
        let program = self.programs.get(name.as_str()).cloned().or_else(tool).unwrap_or(missing);
        Running::start(&self.sim, self.workstation, &name, &program, process)
    }

    /// What a shell on the reader's machine finds by name.
    pub fn tools(&self) -> Rc<dyn shell::Tools> {
        let mut all = self.programs.clone();
        all.extend(self.editors.borrow().iter().map(|(name, program)| (*name, program.clone())));
        Rc::new(programs::Found(all))
    }

    /// Gives the reader's machine an editor, which shells started from now on find, and kubectl.
    pub fn add_editor(&self, name: &'static str, program: Program) {
        self.editors.borrow_mut().insert(name, program);
    }

    /// Runs `text` as `bash -c` does, in the project's shell, with what [`programs::bash`] gave.
    pub fn run_shell(&self, text: &str, mut process: Process) -> Running {
        process.args.extend(["-c".to_string(), text.to_string()]);
        let tools = self.tools();
        let program: Program = Rc::new(move |ctx, process| {
            let signals = shell::Signals::default();
            Box::pin(shell::sh(ctx, process, tools.clone(), shell::Dialect::Bash, signals))
        });
        Running::start(&self.sim, self.workstation, "bash", &program, process)
    }
    /// How the recorded cluster's administrator is known.
    pub fn admin() -> Credential {
        Credential::Certificate { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] }
    }
}
