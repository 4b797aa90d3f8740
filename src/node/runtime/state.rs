//! What the runtime keeps on the node's disk, and what of it lives only as long as the power is on.

use super::cri::{ContainerConfig, ContainerStatus, Image, PodRecord, SandboxStatus, State, Stdin, Usage};
use super::images::{REPOSITORIES, Repository, Tag};
use super::ipam::Ipam;
use super::log::{Log, Stream};
use super::program::Signals;
use super::registry::digest;
use crate::files::Tree;
use api::Str;
use shell::process::{Bytes, Input, Output, PipeWriter, pipe};
use shell::tty::Tty;
use sim::JoinHandle;
use sim::sync::{Notify, mpsc};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A sandbox.
pub(super) struct Sandbox {
    pub status: SandboxStatus,
    pub hostname: String,
}

/// A container.
pub(super) struct Container {
    pub status: ContainerStatus,
    pub config: Rc<ContainerConfig>,
    pub repository: &'static Repository,
    pub tag: &'static Tag,
    pub log: Rc<RefCell<Log>>,
    pub root: Rc<Tree>,
    /// While it runs.
    pub live: Option<Live>,
}

/// The other end of a program's standard input.
#[derive(Clone)]
pub(super) enum Feed {
    Pipe(Rc<PipeWriter>),
    Tty(Tty),
}

impl Feed {
    /// Both ends.
    pub fn new(stdin: Stdin) -> (Rc<dyn Input>, Option<Self>) {
        match stdin {
            Stdin::None => (Rc::new(Bytes::default()), None),
            Stdin::Pipe => {
                let (writer, reader) = pipe();
                (Rc::new(reader), Some(Self::Pipe(Rc::new(writer))))
            }
            Stdin::Tty => {
                let tty = Tty::default();
                (Rc::new(tty.clone()), Some(Self::Tty(tty)))
            }
        }
    }
    /// Writes into it; a program that is gone reads nothing.
    pub async fn write(&self, bytes: &[u8]) {
        match self {
            Self::Pipe(pipe) => _ = pipe.write(bytes).await,
            Self::Tty(tty) => tty.keys(bytes),
        }
    }
    /// No more comes. A pipe ends with its last writer.
    pub fn close(&self) {
        if let Self::Tty(tty) = self {
            tty.hang_up();
        }
    }
}

/// What a process writes goes to its log and to those who are attached to it.
#[derive(Default)]
pub(super) struct Watchers(RefCell<Vec<mpsc::UnboundedSender<(Stream, Rc<[u8]>)>>>);

impl Watchers {
    /// All that is written from now on.
    pub fn watch(&self) -> mpsc::UnboundedReceiver<(Stream, Rc<[u8]>)> {
        let (sender, receiver) = mpsc::unbounded();
        self.0.borrow_mut().push(sender);
        receiver
    }
    /// Something was written.
    pub fn tell(&self, stream: Stream, bytes: &[u8]) {
        let mut all = self.0.borrow_mut();
        if !all.is_empty() {
            let bytes: Rc<[u8]> = bytes.into();
            all.retain(|watcher| watcher.unbounded_send((stream, bytes.clone())).is_ok());
        }
    }
}

/// A running container.
pub(super) struct Live {
    pub machine: Rc<super::program::Machine>,
    pub signals: Signals,
    pub env: shell::Environment,
    pub cwd: String,
    /// Standard input of the first process, while it is open.
    pub stdin: Option<Feed>,
    /// Who sees what the first process writes.
    pub watchers: Rc<Watchers>,
    /// The first process and those of execs.
    pub tasks: Vec<JoinHandle<()>>,
    /// Wakes when the first process ends.
    pub ended: Notify,
}

/// A pulled image and its names here.
pub(super) struct Stored {
    pub repository: &'static Repository,
    pub tag: &'static Tag,
    pub names: BTreeSet<String>,
    /// Its files, which its containers begin with.
    pub layer: Rc<Tree>,
}

impl Stored {
    /// An image under its first names.
    pub fn new(repository: &'static Repository, tag: &'static Tag, names: BTreeSet<String>) -> Self {
        Self { repository, tag, names, layer: super::images::unpacked(repository, tag) }
    }
}

/// A pod's sandboxes and containers.
pub(super) type Ids = (Vec<Str>, Vec<Str>);

/// The runtime's part of a node's disk: images, containers' records and logs, given addresses. It outlives the process.
#[derive(Default)]
pub struct Disk {
    /// By digest reference, `docker.io/library/nginx@sha256:...`.
    pub(super) images: RefCell<BTreeMap<String, Stored>>,
    pub(super) sandboxes: RefCell<BTreeMap<Str, Sandbox>>,
    pub(super) containers: RefCell<BTreeMap<Str, Container>>,
    /// Ids by pod, in the order of creation.
    pub(super) pods: RefCell<BTreeMap<Str, Ids>>,
    pub(super) ipam: RefCell<Ipam>,
}

/// A container as an observer sees it, without asking anybody.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The pod's namespace and name.
    pub pod: (Str, Str),
    /// The pod's uid.
    pub pod_uid: Str,
    /// The pod's address.
    pub ip: Str,
    /// The container as the runtime knows it.
    pub status: ContainerStatus,
}

impl Disk {
    /// A disk as installed: only the sandbox image is there.
    pub fn new() -> Rc<Self> {
        let disk = Self::default();
        let pause = REPOSITORIES.iter().find(|r| r.path == "pause").and_then(|r| Some((r, r.tags.first()?)));
        if let Some((repository, tag)) = pause {
            let name = format!("{}/{}", repository.host, repository.path);
            let stored = Stored::new(repository, tag, [format!("{name}:{}", tag.name)].into());
            disk.images.borrow_mut().insert(format!("{name}@{}", digest(repository, tag)), stored);
        }
        Rc::new(disk)
    }

    /// What the runtime knows of a pod, the newest first.
    pub(super) fn record(&self, uid: &str) -> PodRecord {
        let pods = self.pods.borrow();
        let Some((sandboxes, containers)) = pods.get(uid) else { return PodRecord::default() };
        let (all_s, all_c) = (self.sandboxes.borrow(), self.containers.borrow());
        PodRecord {
            sandboxes: sandboxes.iter().rev().filter_map(|id| all_s.get(id)).map(|s| s.status.clone()).collect(),
            containers: containers.iter().rev().filter_map(|id| all_c.get(id)).map(|c| c.status.clone()).collect(),
        }
    }

    /// After a loss of power: nothing runs, sandboxes are down, addresses are free.
    pub(super) fn boot(&self, now: i64) {
        for container in self.containers.borrow_mut().values_mut() {
            container.live = None;
            if container.status.state == State::Running {
                container.status.state = State::Exited;
                container.status.exit_code = 255;
                container.status.reason = "Unknown".into();
                container.status.finished_at = now;
                container.log.borrow_mut().close(now);
            }
        }
        let mut ipam = self.ipam.borrow_mut();
        for sandbox in self.sandboxes.borrow_mut().values_mut() {
            sandbox.status.ready = false;
            if let Some(ip) = parse_ip(&sandbox.status.ip) {
                ipam.release(ip);
            }
            sandbox.status.ip = Str::default();
        }
    }

    /// All containers on the node, for observers.
    pub fn look(&self) -> Vec<Seen> {
        let sandboxes = self.sandboxes.borrow();
        let see = |c: &Container| {
            let sandbox = &sandboxes.get(&c.status.sandbox_id)?.status;
            Some(Seen {
                pod: (sandbox.namespace.clone(), sandbox.name.clone()),
                pod_uid: sandbox.pod_uid.clone(),
                ip: sandbox.ip.clone(),
                status: c.status.clone(),
            })
        };
        self.containers.borrow().values().filter_map(see).collect()
    }

    /// What all running containers hold, in bytes of memory.
    pub fn memory_used(&self) -> i64 {
        let containers = self.containers.borrow();
        containers.values().filter_map(|c| c.live.as_ref()).map(|l| l.machine.memory.used()).sum()
    }

    /// What each running container uses.
    pub(super) fn usage(&self) -> Vec<Usage> {
        let see = |c: &Container| {
            let live = c.live.as_ref()?;
            Some(Usage {
                pod_uid: c.status.pod_uid.clone(),
                name: c.status.name.clone(),
                memory: live.machine.memory.used(),
                disk: c.log.borrow().since(0).map(|l| i64::try_from(l.text.len()).unwrap_or(0)).sum(),
            })
        };
        self.containers.borrow().values().filter_map(see).collect()
    }

    /// The lines that a container has written, for observers.
    pub fn log_of(&self, container_id: &str) -> Option<Rc<RefCell<Log>>> {
        self.containers.borrow().get(container_id).map(|c| c.log.clone())
    }

    /// All images on the node, for observers and the kubelet, by digest reference.
    pub fn images(&self) -> Vec<Rc<Image>> {
        self.images.borrow().iter().map(|(key, stored)| Rc::new(image(key, stored))).collect()
    }
}

pub(super) fn image(key: &str, stored: &Stored) -> Image {
    let mut names = vec![Str::from(key)];
    names.extend(stored.names.iter().map(Str::from));
    Image {
        image_ref: key.into(),
        names,
        size: stored.tag.size,
        uid: i64::from(stored.repository.user),
        username: Str::default(),
    }
}

pub(crate) fn parse_ip(text: &str) -> Option<sim::Ip> {
    let mut octets = text.split('.').map(|o| o.parse::<u8>().ok());
    let ip = sim::Ip::new(octets.next()??, octets.next()??, octets.next()??, octets.next()??);
    octets.next().is_none().then_some(ip)
}
