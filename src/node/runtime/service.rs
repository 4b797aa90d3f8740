//! The runtime's server: takes calls from the kubelet and keeps sandboxes and containers going.

use super::cri::{Call, CriError, Event, PORT, Reply, Request, SandboxConfig, SandboxStatus};
use super::ipam::PodRange;
use super::log::Stream;
use super::program::SinkOutput;
use super::reference::Reference;
use super::registry::{Registry, digest};
use super::state::{Disk, Feed, Sandbox, Stored, image, parse_ip};
use api::Str;
use shell::process::Output;
use shell::tty::TtyOutput;
use sim::{Conn, Ctx, Duration, JoinHandle, Rng, Severity};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What the runtime's work takes, in virtual time: containerd 2 with runc on one machine, as read off the recorded
/// clusters' kubelet logs.
#[derive(Clone, Debug)]
pub struct Costs {
    /// Making a sandbox: the pause container and its network.
    pub run_sandbox: Duration,
    /// Stopping it: taking the network down.
    pub stop_sandbox: Duration,
    /// Making a container: unpacking its root, writing its specification.
    pub create: Duration,
    /// Starting it through the shim.
    pub start: Duration,
    /// Noticing that a container's first process has ended by itself: the shim reaps it, the runtime is told.
    pub exit: Duration,
    /// Answering that a stopped container has ended.
    pub stop: Duration,
    /// Removing a container or sandbox.
    pub remove: Duration,
    /// Starting a command in a running container.
    pub exec: Duration,
    /// Answering from memory.
    pub query: Duration,
}

impl Default for Costs {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            run_sandbox: ms(110),
            stop_sandbox: ms(70),
            create: ms(30),
            start: ms(60),
            exit: ms(20),
            stop: ms(5),
            remove: ms(15),
            exec: ms(40),
            query: Duration::from_micros(300),
        }
    }
}

/// How a node's runtime is set up.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The pods' addresses.
    pub pod_range: PodRange,
    /// The registries.
    pub registry: Registry,
    /// What its work takes.
    pub costs: Costs,
}

/// The runtime of one node.
pub(super) struct Runtime {
    pub ctx: Ctx,
    pub disk: Rc<Disk>,
    pub settings: Settings,
    rng: RefCell<Rng>,
    peers: RefCell<Vec<Rc<Peer>>>,
}

/// One connection of a kubelet.
pub(super) struct Peer {
    conn: Conn,
    changed: RefCell<BTreeSet<Str>>,
    told: Cell<bool>,
    /// Calls that can be cancelled: logs and execs that run.
    running: RefCell<BTreeMap<u64, JoinHandle<()>>>,
    inputs: RefCell<BTreeMap<u64, Feed>>,
}

/// Runs the runtime until its process ends.
pub async fn run(ctx: Ctx, disk: Rc<Disk>, settings: Settings) {
    disk.boot(ctx.unix_nanos());
    let rng = RefCell::new(ctx.rng("ids"));
    let runtime = Rc::new(Runtime { ctx: ctx.clone(), disk, settings, rng, peers: RefCell::default() });
    let listener = match ctx.listen(PORT) {
        Ok(listener) => listener,
        Err(why) => {
            ctx.log(Severity::Error, "server.go:0", format!("failed to listen: {why}"));
            return;
        }
    };
    while let Ok(conn) = listener.accept().await {
        let known = runtime.disk.pods.borrow().keys().cloned().collect();
        let peer = Rc::new(Peer {
            conn,
            changed: RefCell::new(known),
            told: Cell::new(false),
            running: RefCell::default(),
            inputs: RefCell::default(),
        });
        runtime.peers.borrow_mut().push(peer.clone());
        ctx.spawn("connection", serve(runtime.clone(), peer));
    }
}

async fn serve(runtime: Rc<Runtime>, peer: Rc<Peer>) {
    while let Ok(Request { id, call }) = peer.conn.recv::<Request>().await {
        match call {
            Call::Cancel(which) => {
                if let Some(task) = peer.running.borrow_mut().remove(&which) {
                    task.abort();
                }
                peer.inputs.borrow_mut().remove(&which);
            }
            Call::ExecInput(which, chunk) => {
                let input = peer.inputs.borrow().get(&which).cloned();
                match (input, chunk) {
                    // The kubelet's other calls don't wait for a slow reader.
                    (Some(input), Some(chunk)) => {
                        runtime.ctx.spawn("input", async move { input.write(&chunk).await });
                    }
                    (input, _) => {
                        input.inspect(Feed::close);
                        peer.inputs.borrow_mut().remove(&which);
                    }
                }
            }
            Call::Attach(container) => {
                let (runtime, to) = (runtime.clone(), peer.clone());
                let task = runtime.ctx.clone().spawn("attach", async move {
                    let result =
                        runtime.attach(&container, |stream, bytes| to.part(id, Reply::Exec(stream, bytes))).await;
                    to.answer(id, result.map(|()| Reply::Done));
                    to.running.borrow_mut().remove(&id);
                });
                peer.running.borrow_mut().insert(id, task);
            }
            Call::ReadLog(container, query) => {
                let (runtime, to) = (runtime.clone(), peer.clone());
                let task = runtime.ctx.clone().spawn("log", async move {
                    let result = runtime.read_log(&container, &query, |lines| to.part(id, Reply::Log(lines))).await;
                    to.answer(id, result.map(|()| Reply::Done));
                    to.running.borrow_mut().remove(&id);
                });
                peer.running.borrow_mut().insert(id, task);
            }
            Call::Exec(container, argv, stdin) => {
                let (runtime, to) = (runtime.clone(), peer.clone());
                let (input, feed) = Feed::new(stdin);
                let tty = match &feed {
                    Some(Feed::Tty(tty)) => Some(tty.clone()),
                    _ => None,
                };
                if let Some(feed) = feed {
                    peer.inputs.borrow_mut().insert(id, feed);
                }
                let output = |stream| -> Rc<dyn Output> {
                    let to = to.clone();
                    Rc::new(SinkOutput(move |bytes: &[u8]| to.part(id, Reply::Exec(stream, bytes.into()))))
                };
                let (out, err) = match &tty {
                    None => (output(Stream::Stdout), output(Stream::Stderr)),
                    Some(_) => {
                        let screen: Rc<dyn Output> = Rc::new(TtyOutput(output(Stream::Stdout)));
                        (screen.clone(), screen)
                    }
                };
                let task = runtime.ctx.clone().spawn("exec", async move {
                    runtime.ctx.sleep(runtime.settings.costs.exec).await;
                    let result = runtime.exec(&container, argv, input, out, err, tty).await;
                    to.answer(id, result.map(Reply::Exited));
                    to.inputs.borrow_mut().remove(&id);
                    to.running.borrow_mut().remove(&id);
                });
                peer.running.borrow_mut().insert(id, task);
            }
            call => {
                let (runtime, to) = (runtime.clone(), peer.clone());
                runtime.ctx.clone().spawn("call", async move {
                    let result = runtime.call(&to, call).await;
                    to.answer(id, result);
                });
            }
        }
    }
    for (_, task) in std::mem::take(&mut *peer.running.borrow_mut()) {
        task.abort();
    }
    runtime.peers.borrow_mut().retain(|p| !Rc::ptr_eq(p, &peer));
}

impl Peer {
    fn answer(&self, id: u64, reply: Result<Reply, CriError>) {
        let _ = self.conn.send_as("cri", Event::Reply { id, reply, last: true });
    }
    fn part(&self, id: u64, reply: Reply) {
        let _ = self.conn.send_as("cri", Event::Reply { id, reply: Ok(reply), last: false });
    }
    fn tell(&self) {
        if !self.told.replace(true) {
            let _ = self.conn.send_as("cri", Event::Changed);
        }
    }
}

impl Runtime {
    pub fn new_id(&self) -> Str {
        Str::from(self.rng.borrow_mut().hex(32))
    }

    /// Something of a pod changed: the kubelets hear of it.
    pub fn touch(&self, uid: &Str) {
        for peer in self.peers.borrow().iter() {
            peer.changed.borrow_mut().insert(uid.clone());
            peer.tell();
        }
    }

    async fn call(self: &Rc<Self>, peer: &Peer, call: Call) -> Result<Reply, CriError> {
        let costs = &self.settings.costs;
        let ctx = &self.ctx;
        match call {
            Call::Snapshot => {
                ctx.sleep(costs.query).await;
                let changed = std::mem::take(&mut *peer.changed.borrow_mut());
                peer.told.set(false);
                Ok(Reply::Snapshot(
                    changed.into_iter().map(|uid| (uid.clone(), Rc::new(self.disk.record(&uid)))).collect(),
                ))
            }
            Call::PodStatus(uid) => {
                ctx.sleep(costs.query).await;
                Ok(Reply::Pod(Rc::new(self.disk.record(&uid))))
            }
            Call::RunSandbox(config) => {
                ctx.sleep(costs.run_sandbox).await;
                self.run_sandbox(&config).map(|s| Reply::Sandbox(Rc::new(s)))
            }
            Call::StopSandbox(id) => {
                ctx.sleep(costs.stop_sandbox).await;
                self.stop_sandbox(&id);
                Ok(Reply::Done)
            }
            Call::RemoveSandbox(id) => {
                ctx.sleep(costs.remove).await;
                self.remove_sandbox(&id);
                Ok(Reply::Done)
            }
            Call::CreateContainer(sandbox, config) => {
                ctx.sleep(costs.create).await;
                self.create_container(&sandbox, config).map(Reply::Id)
            }
            Call::StartContainer(id) => {
                ctx.sleep(costs.start).await;
                self.start_container(&id).map(|()| Reply::Done)
            }
            Call::StopContainer(id, grace) => {
                self.stop_container(&id, grace).await?;
                ctx.sleep(costs.stop).await;
                Ok(Reply::Done)
            }
            Call::RemoveContainer(id) => {
                ctx.sleep(costs.remove).await;
                self.remove_container(&id);
                Ok(Reply::Done)
            }
            Call::ImageStatus(name) => {
                ctx.sleep(costs.query).await;
                Ok(Reply::Image(self.local_image(&name)))
            }
            Call::ListImages => {
                ctx.sleep(costs.query).await;
                Ok(Reply::Images(self.disk.images()))
            }
            Call::RemoveImage(name) => {
                ctx.sleep(costs.remove).await;
                self.disk.images.borrow_mut().remove(&name);
                Ok(Reply::Done)
            }
            Call::UpdateContainer(id, limit) => {
                ctx.sleep(costs.query).await;
                self.update_container(&id, limit)
            }
            Call::Input(id, chunk) => {
                if let Some(stdin) = self.stdin_of(&id, chunk.is_none()) {
                    stdin.write(chunk.as_deref().unwrap_or_default()).await;
                }
                Ok(Reply::Done)
            }
            Call::Stats => {
                ctx.sleep(costs.query).await;
                Ok(Reply::Stats(self.disk.usage()))
            }
            Call::PullImage(name) => self.pull(&name).await,
            Call::ExecSync(id, argv, patience) => {
                ctx.sleep(costs.exec).await;
                self.exec_sync(&id, argv, patience).await.map(|(code, out)| Reply::Ran(code, out))
            }
            Call::ReadLog(..) | Call::Attach(..) | Call::Exec(..) | Call::ExecInput(..) | Call::Cancel(_) => {
                Ok(Reply::Done)
            }
        }
    }

    fn local_image(&self, name: &str) -> Option<Rc<super::cri::Image>> {
        let images = self.disk.images.borrow();
        if let Some(stored) = images.get(name) {
            return Some(Rc::new(image(name, stored)));
        }
        let full = Reference::parse(name).ok()?.to_string();
        let found = images.iter().find(|(key, stored)| **key == full || stored.names.contains(&full));
        found.map(|(key, stored)| Rc::new(image(key, stored)))
    }

    async fn pull(&self, name: &str) -> Result<Reply, CriError> {
        let reference = Reference::parse(name).map_err(|why| {
            CriError::new("InvalidArgument", format!("failed to parse image reference \"{name}\": {why}"))
        })?;
        let registry = &self.settings.registry;
        let found = match registry.resolve(&reference) {
            Ok(found) => found,
            Err(why) => {
                self.ctx.sleep(registry.latency / 2).await;
                return Err(why);
            }
        };
        let key = format!("{}@{}", reference.repository(), digest(found.repository, found.tag));
        let here = self.disk.images.borrow().contains_key(&key);
        // What is here already is only looked up.
        let transfer = registry.transfer(if here { 0 } else { found.tag.size });
        self.ctx.sleep(transfer).named(format!("pull {name}")).await;
        let mut images = self.disk.images.borrow_mut();
        if reference.digest.is_none() {
            // A tag names one image.
            for stored in images.values_mut() {
                stored.names.remove(&reference.to_string());
            }
        }
        let stored =
            images.entry(key.clone()).or_insert_with(|| Stored::new(found.repository, found.tag, BTreeSet::new()));
        if reference.digest.is_none() {
            stored.names.insert(reference.to_string());
        }
        Ok(Reply::Image(Some(Rc::new(image(&key, stored)))))
    }

    fn run_sandbox(&self, config: &SandboxConfig) -> Result<SandboxStatus, CriError> {
        let id = self.new_id();
        let ip = if config.host_network {
            Str::default()
        } else {
            let given = self.disk.ipam.borrow_mut().allocate(self.settings.pod_range);
            let Some(ip) = given else {
                return Err(CriError::unknown(format!(
                    "failed to setup network for sandbox \"{id}\": plugin type=\"bridge\" failed (add): failed to allocate for range 0: no IP addresses available in range set: {}",
                    self.settings.pod_range
                )));
            };
            self.ctx.add_address(ip);
            ip.to_string().into()
        };
        let status = SandboxStatus {
            id: id.clone(),
            pod_uid: config.pod_uid.clone(),
            namespace: config.namespace.clone(),
            name: config.name.clone(),
            attempt: config.attempt,
            ready: true,
            host_network: config.host_network,
            ip,
            created_at: self.ctx.unix_nanos(),
        };
        self.disk
            .sandboxes
            .borrow_mut()
            .insert(id.clone(), Sandbox { status: status.clone(), hostname: config.hostname.to_string() });
        self.disk.pods.borrow_mut().entry(config.pod_uid.clone()).or_default().0.push(id);
        self.touch(&config.pod_uid);
        Ok(status)
    }

    fn stop_sandbox(&self, id: &str) {
        let within: Vec<Str> = self
            .disk
            .containers
            .borrow()
            .values()
            .filter(|c| c.status.sandbox_id == *id)
            .map(|c| c.status.id.clone())
            .collect();
        for container in within {
            self.kill_container(&container);
        }
        let uid = {
            let mut sandboxes = self.disk.sandboxes.borrow_mut();
            let Some(sandbox) = sandboxes.get_mut(id).filter(|s| s.status.ready) else { return };
            sandbox.status.ready = false;
            if let Some(ip) = parse_ip(&sandbox.status.ip) {
                self.ctx.remove_address(ip);
                self.disk.ipam.borrow_mut().release(ip);
            }
            sandbox.status.ip = Str::default();
            sandbox.status.pod_uid.clone()
        };
        self.touch(&uid);
    }

    fn remove_sandbox(&self, id: &str) {
        self.stop_sandbox(id);
        let within: Vec<Str> = self
            .disk
            .containers
            .borrow()
            .values()
            .filter(|c| c.status.sandbox_id == *id)
            .map(|c| c.status.id.clone())
            .collect();
        for container in within {
            self.remove_container(&container);
        }
        let Some(gone) = self.disk.sandboxes.borrow_mut().remove(id) else { return };
        let uid = gone.status.pod_uid;
        let mut pods = self.disk.pods.borrow_mut();
        if let Some((sandboxes, containers)) = pods.get_mut(&uid) {
            sandboxes.retain(|s| *s != *id);
            if sandboxes.is_empty() && containers.is_empty() {
                pods.remove(&uid);
            }
        }
        drop(pods);
        self.touch(&uid);
    }
}
