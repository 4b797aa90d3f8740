//! What runs where: components and nodes by name, how to start each of them again, and the supervisor that does so.

use crate::faults::{Fault, Filled, HELP};
use node::Node;
use node::kubelet::backoff::Backoff;
use shell::process::LocalFuture;
use sim::{Ctx, Duration, HostId, Instant, ProcessId, Scope, Sim};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// Starts a component on its machine.
type Starter = Rc<dyn Fn(&Sim, HostId, &str)>;
/// What a component's process runs, each time it is started; it is told the component's name.
pub type Main = Rc<dyn Fn(Ctx, &str) -> LocalFuture<'static, ()>>;

/// How long it takes until a component that ended by itself is missed: a kubelet lists its containers once a second.
const NOTICED: Duration = Duration::from_secs(1);
/// What a kubelet waits before it starts the container of a static pod once more: nothing the first time, then 10 s and
/// twice as long each time, five minutes at most; forgotten after ten minutes of running (kuberuntime_manager.go,
/// doBackOff; systemd's units are as patient in their own way).
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(300));

/// A process of the cluster that can be stopped and started by name.
#[derive(Clone)]
pub struct Component {
    /// `kube-scheduler-1`, `etcd-1`; `node-2/kubelet` for a part of a node. The process has the same name.
    pub name: Rc<str>,
    /// `kube-scheduler`, `etcd`; `kubelet`.
    pub kind: &'static str,
    /// Where it runs.
    pub host: HostId,
    /// The node whose part it is.
    pub node: Option<Rc<str>>,
    start: Starter,
}

/// A share of a node or a loop that a fault took.
#[derive(Clone, PartialEq, Debug)]
enum Standing {
    SlowDisk(HostId, Duration),
    Fill(Rc<str>, Filled, f64),
    Skip(Rc<str>, f64),
}

/// Hooks of rooms that know how to skip.
pub trait FaultHooks {
    /// A controller skips this share of its loops from now on; false if there is no such controller.
    fn skip(&self, controller: &str, share: f64) -> bool;
}

/// All machines' programs.
pub struct Machines {
    sim: Sim,
    components: RefCell<Vec<Component>>,
    nodes: RefCell<Vec<Rc<Node>>>,
    standing: RefCell<Vec<Standing>>,
    /// Processes that were asked to end, by component; at most one each.
    stopping: RefCell<BTreeMap<Rc<str>, ProcessId>>,
    /// Components that ended by themselves: when each starts again; at most one each.
    restarts: RefCell<BTreeMap<Rc<str>, Instant>>,
    backoff: RefCell<Backoff>,
    hooks: Rc<dyn FaultHooks>,
    fsync: Duration,
}

impl Machines {
    /// None yet.
    pub fn new(sim: Sim, hooks: Rc<dyn FaultHooks>, fsync: Duration) -> Self {
        Self {
            sim,
            components: RefCell::default(),
            nodes: RefCell::default(),
            standing: RefCell::default(),
            stopping: RefCell::default(),
            restarts: RefCell::default(),
            backoff: RefCell::new(Backoff::new(BACK_OFF.0, BACK_OFF.1)),
            hooks,
            fsync,
        }
    }
    /// Adds a component and starts it; its machine starts it again whenever it ends by itself.
    pub fn add(self: &Rc<Self>, name: &str, kind: &'static str, host: HostId, main: Main) {
        let supervisor = Rc::downgrade(self);
        let start: Starter = Rc::new(move |sim, host, name| {
            let (supervisor, main, name) = (supervisor.clone(), main.clone(), Rc::<str>::from(name));
            sim.start(host, &name.clone(), move |ctx| {
                let process = ctx.process();
                let program = main(ctx, &name);
                async move {
                    program.await;
                    if let Some(machines) = supervisor.upgrade() {
                        machines.ended(&name, host, process);
                    }
                }
            });
        });
        start(&self.sim, host, name);
        self.components.borrow_mut().push(Component { name: name.into(), kind, host, node: None, start });
    }
    /// A component's program came to its end: unless that was asked for, it is started again.
    fn ended(self: &Rc<Self>, name: &Rc<str>, host: HostId, process: ProcessId) {
        if self.stopping.borrow().get(name) == Some(&process) {
            return;
        }
        let ended = self.sim.now();
        let back_off = {
            let known = self.backoff.borrow();
            if known.in_backoff_since(name, ended, ended) { known.get(name) } else { Duration::ZERO }
        };
        let at = ended + back_off.max(NOTICED);
        self.restarts.borrow_mut().insert(name.clone(), at);
        let (machines, name) = (self.clone(), name.clone());
        self.sim.start(host, &format!("{name}/supervisor"), move |ctx| async move {
            ctx.sleep_until(at).named(format!("restart {name}")).await;
            // It may have been started or stopped meanwhile.
            if machines.restarts.borrow().get(&name) == Some(&at) {
                machines.backoff.borrow_mut().next(&name, ended, at);
                machines.named(&name).iter().for_each(|c| machines.resume(c));
            }
        });
    }
    /// When a component that ended by itself is started again.
    pub fn restart_of(&self, name: &str) -> Option<Instant> {
        self.restarts.borrow().get(name).copied()
    }
    /// Adds a node that has been started, and its parts.
    pub fn add_node(&self, node: &Rc<Node>) {
        let mut components = self.components.borrow_mut();
        let mut part = |name: String, kind, start: Starter| {
            let (name, node_name) = (name.as_str().into(), Some(node.name().into()));
            components.push(Component { name, kind, host: node.host(), node: node_name, start });
        };
        let own = node.clone();
        part(node.runtime_name(), "containerd", Rc::new(move |_, _, _| own.start_runtime()));
        let own = node.clone();
        part(node.kubelet_name(), "kubelet", Rc::new(move |_, _, _| own.start_kubelet()));
        let own = node.clone();
        part(node.kube_proxy_name(), "kube-proxy", Rc::new(move |_, _, _| own.start_kube_proxy()));
        self.nodes.borrow_mut().push(node.clone());
    }
    /// All nodes, in order.
    pub fn nodes(&self) -> Vec<Rc<Node>> {
        self.nodes.borrow().clone()
    }
    /// All components, in the order in which they were added.
    pub fn components(&self) -> Vec<Component> {
        self.components.borrow().clone()
    }
    /// Whether the component runs.
    pub fn is_running(&self, name: &str) -> bool {
        self.sim.process(name).is_some()
    }

    fn node(&self, name: &str) -> Option<Rc<Node>> {
        self.nodes.borrow().iter().find(|n| n.name() == name).cloned()
    }
    /// The components that a name means; none if there is no such thing.
    fn named(&self, name: &str) -> Vec<Component> {
        // `node-2/runtime` is whatever the runtime's program is called.
        let name = name.strip_suffix("/runtime").map_or_else(|| name.to_string(), |node| format!("{node}/containerd"));
        let fits = |c: &&Component| *c.name == *name || c.node.is_none() && c.kind == name;
        self.components.borrow().iter().filter(fits).cloned().collect()
    }
    fn scope(&self, name: &str) -> Result<Vec<Scope>, String> {
        if let Some(node) = self.node(name) {
            return Ok(vec![Scope::Host(node.host())]);
        }
        let found = self.named(name);
        if found.is_empty() {
            return Err(self.unknown(name));
        }
        Ok(found.into_iter().map(|c| Scope::Process(c.name)).collect())
    }
    fn host_of(&self, name: &str) -> Result<HostId, String> {
        let host = self.node(name).map(|n| n.host()).or_else(|| self.named(name).first().map(|c| c.host));
        host.ok_or_else(|| self.unknown(name))
    }

    /// Does what a fault command says; its output, or what is wrong with it.
    pub fn apply(&self, fault: &Fault) -> Result<String, String> {
        match fault {
            Fault::Stop(names) => self.each(names, |m, c| m.halt(c, false), Node::power_off),
            Fault::Kill(names) => self.each(names, |m, c| m.halt(c, true), Node::power_off),
            Fault::Start(names) => self.each(names, Self::resume, Node::power_on),
            Fault::Cut(a, b) => {
                let (a, b) = (self.scope(a)?, b.as_deref().map(|b| self.scope(b)).transpose()?);
                self.pairs(&a, b.as_deref(), |x, y| self.sim.cut(x, y));
                Ok(String::new())
            }
            Fault::Heal(None, _) => {
                self.sim.heal(None, None);
                Ok(String::new())
            }
            Fault::Heal(Some(a), b) => {
                let (a, b) = (self.scope(a)?, b.as_deref().map(|b| self.scope(b)).transpose()?);
                self.pairs(&a, b.as_deref(), |x, y| self.sim.heal(Some(&x), y.as_ref()));
                Ok(String::new())
            }
            Fault::SlowLink(a, b, extra) => {
                let (a, b) = (self.scope(a)?, self.scope(b)?);
                self.pairs(&a, Some(&b), |x, y| self.sim.slow(x, y, *extra));
                Ok(String::new())
            }
            Fault::SlowDisk(a, time) => {
                let host = self.host_of(a)?;
                self.sim.set_fsync(host, if time.is_zero() { self.fsync } else { *time });
                self.stand(|s| matches!(s, Standing::SlowDisk(h, _) if *h == host));
                if !time.is_zero() {
                    self.standing.borrow_mut().push(Standing::SlowDisk(host, *time));
                }
                Ok(String::new())
            }
            Fault::Fill(a, what, share) => {
                let node = self.node(a).ok_or_else(|| self.unknown(a))?;
                let host = node.host();
                match what {
                    Filled::Memory => node.fill_memory(*share),
                    Filled::Disk => {
                        let (_, capacity) = self.sim.disk_usage(host);
                        #[expect(
                            clippy::cast_possible_truncation,
                            clippy::cast_sign_loss,
                            clippy::cast_precision_loss
                        )]
                        self.sim.set_disk(host, capacity, (capacity as f64 * share) as u64);
                    }
                }
                self.stand(|s| matches!(s, Standing::Fill(n, w, _) if **n == **a && w == what));
                if *share > 0.0 {
                    self.standing.borrow_mut().push(Standing::Fill(a.as_str().into(), *what, *share));
                }
                Ok(String::new())
            }
            Fault::Skip(controller, share) => {
                if !self.hooks.skip(controller, *share) {
                    let all: Vec<&str> = controllers::table::CONTROLLERS
                        .iter()
                        .map(|c| c.name.strip_suffix("-controller").unwrap_or(c.name))
                        .collect();
                    return Err(format!("there is no controller {controller:?}\ncontrollers: {}", all.join(", ")));
                }
                self.stand(|s| matches!(s, Standing::Skip(n, _) if **n == **controller));
                if *share > 0.0 {
                    self.standing.borrow_mut().push(Standing::Skip(controller.as_str().into(), *share));
                }
                Ok(String::new())
            }
            Fault::Status => Ok(match self.status() {
                nothing if nothing.is_empty() => "no faults\n".into(),
                faults => faults,
            }),
            Fault::Help => Ok(HELP.into()),
            Fault::Restore => self.restore(),
        }
    }

    fn each(
        &self,
        names: &[String],
        component: impl Fn(&Self, &Component),
        node: impl Fn(&Node),
    ) -> Result<String, String> {
        // All names are looked up first: a mistake changes nothing.
        let mut todo = Vec::new();
        for name in names {
            let (machine, parts) = (self.node(name), self.named(name));
            if machine.is_none() && parts.is_empty() {
                return Err(self.unknown(name));
            }
            todo.push((machine, parts));
        }
        for (machine, parts) in todo {
            match machine {
                Some(machine) => node(&machine),
                None => parts.iter().for_each(|c| component(self, c)),
            }
        }
        Ok(String::new())
    }
    fn halt(&self, component: &Component, at_once: bool) {
        // What waits for its restart stays away from now on.
        self.restarts.borrow_mut().remove(&component.name);
        if let Some(process) = self.sim.process(&component.name) {
            if at_once {
                self.sim.kill(process);
            } else {
                self.sim.terminate(process);
                self.stopping.borrow_mut().insert(component.name.clone(), process);
            }
        }
    }
    fn resume(&self, component: &Component) {
        self.restarts.borrow_mut().remove(&component.name);
        // A start cuts a stop short that is still under way: otherwise the component would stay away once it is over.
        if let Some(process) = self.stopping.borrow_mut().remove(&component.name)
            && self.sim.process(&component.name) == Some(process)
        {
            self.sim.kill(process);
        }
        if self.sim.process(&component.name).is_none() && self.sim.host_up(component.host) {
            (component.start)(&self.sim, component.host, &component.name);
        }
    }
    fn pairs(&self, a: &[Scope], b: Option<&[Scope]>, act: impl Fn(Scope, Option<Scope>)) {
        for x in a {
            match b {
                None => act(x.clone(), None),
                Some(b) => b.iter().for_each(|y| act(x.clone(), Some(y.clone()))),
            }
        }
    }
    fn stand(&self, gone: impl Fn(&Standing) -> bool) {
        self.standing.borrow_mut().retain(|s| !gone(s));
    }
    fn restore(&self) -> Result<String, String> {
        self.nodes().iter().for_each(|node| node.power_on());
        self.components().iter().for_each(|c| self.resume(c));
        self.sim.heal(None, None);
        for (a, b, _) in self.sim.slowed() {
            self.sim.slow(a, b, Duration::ZERO);
        }
        for standing in self.standing.take() {
            match standing {
                Standing::SlowDisk(host, _) => self.sim.set_fsync(host, self.fsync),
                Standing::Fill(node, what, _) => {
                    self.apply(&Fault::Fill(node.to_string(), what, 0.0))?;
                }
                Standing::Skip(controller, _) => {
                    self.hooks.skip(&controller, 0.0);
                }
            }
        }
        Ok(String::new())
    }
    /// The faults that are on, and what is being started again without anybody's doing.
    fn status(&self) -> String {
        let mut text = self.faults();
        for (name, at) in self.restarts.borrow().iter() {
            let left = at.since(self.sim.now()).as_nanos().div_ceil(1_000_000_000);
            let _ = writeln!(text, "# {name} exited by itself and is restarted in {left}s");
        }
        text
    }
    /// One line a fault that is on, as the command that makes it.
    pub fn faults(&self) -> String {
        let mut text = String::new();
        for node in self.nodes.borrow().iter().filter(|n| !n.is_on()) {
            let _ = writeln!(text, "stop {}", node.name());
        }
        for component in self.components().iter().filter(|c| self.sim.host_up(c.host)) {
            if !self.is_running(&component.name) && self.restart_of(&component.name).is_none() {
                let _ = writeln!(text, "stop {}", component.name);
            }
        }
        let name = |scope: &Scope| match scope {
            Scope::Host(host) => self.sim.host_name(*host),
            Scope::Process(name) => name.clone(),
        };
        for (a, b) in self.sim.cuts() {
            let _ = writeln!(text, "cut {}{}", name(&a), b.map(|b| format!(" {}", name(&b))).unwrap_or_default());
        }
        for (a, b, extra) in self.sim.slowed() {
            let b = b.map(|b| format!("{} ", name(&b))).unwrap_or_default();
            let _ = writeln!(text, "slow {} {b}{}ms", name(&a), extra.as_millis());
        }
        for standing in self.standing.borrow().iter() {
            let _ = match standing {
                Standing::SlowDisk(host, time) => {
                    writeln!(text, "slow {} disk {}ms", self.sim.host_name(*host), time.as_millis())
                }
                Standing::Fill(node, Filled::Memory, share) => {
                    writeln!(text, "fill {node} memory {:.0}%", share * 100.0)
                }
                Standing::Fill(node, Filled::Disk, share) => writeln!(text, "fill {node} disk {:.0}%", share * 100.0),
                Standing::Skip(controller, share) => writeln!(text, "skip {controller} {:.0}%", share * 100.0),
            };
        }
        text
    }

    /// What is said of a name that nothing has: what there is.
    fn unknown(&self, name: &str) -> String {
        let mut text = format!("there is no node or component {name:?}\n");
        let nodes = self.nodes();
        if let (Some(first), Some(last)) = (nodes.first(), nodes.last()) {
            let (first, last) = (first.name(), last.name());
            let names = if nodes.len() > 1 { format!("{first} to {last}") } else { first.to_string() };
            let _ =
                writeln!(text, "nodes:      {names}, and of each {first}/kubelet, {first}/runtime, {first}/kube-proxy");
        }
        text.push_str("components:");
        let all = self.components();
        let mut kind = "";
        for component in all.iter().filter(|c| c.node.is_none()) {
            if component.kind != kind {
                kind = component.kind;
                let _ = write!(text, " {kind}");
            }
            if *component.name != *kind {
                let _ = write!(text, " {}", component.name);
            }
        }
        text
    }
}
