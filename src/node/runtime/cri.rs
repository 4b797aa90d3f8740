//! What the kubelet and the container runtime say to each other (k8s.io/cri-api), over one connection on the node.
//!
//! Requests carry a number and are answered in any order. [`Event::Changed`] comes unasked, at most once between two
//! [`Call::Snapshot`]s: it stands for the kubelet's periodic relist finding something, without the idle polling.

use super::log::Line;
use super::signal::Signal;
use crate::files::Mount;
use api::Str;
use sim::Duration;
use std::rc::Rc;

/// The runtime's socket: a port on the node's own address.
pub const PORT: u16 = 10_010;

/// A failed call: gRPC's code and text; `Display` as grpc-go prints it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CriError {
    /// gRPC code.
    pub code: &'static str,
    /// What went wrong.
    pub desc: String,
}

impl CriError {
    /// An error with gRPC's `code`.
    pub fn new(code: &'static str, desc: impl Into<String>) -> Self {
        Self { code, desc: desc.into() }
    }
    /// `NotFound`.
    pub fn not_found(desc: impl Into<String>) -> Self {
        Self::new("NotFound", desc)
    }
    /// `Unknown`, what containerd answers when it knows no better.
    pub fn unknown(desc: impl Into<String>) -> Self {
        Self::new("Unknown", desc)
    }
}

impl std::fmt::Display for CriError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", self.code, self.desc)
    }
}

/// Where a container is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Made, not started.
    Created,
    /// Its first process runs.
    Running,
    /// Its first process ended.
    Exited,
    /// The runtime lost track of it.
    Unknown,
}

/// A pod's sandbox.
#[derive(Clone, PartialEq, Debug)]
pub struct SandboxStatus {
    /// 64 hexadecimal digits.
    pub id: Str,
    /// Whose.
    pub pod_uid: Str,
    /// The pod's namespace.
    pub namespace: Str,
    /// The pod's name.
    pub name: Str,
    /// How many came before it for this pod.
    pub attempt: u32,
    /// Whether it and its network stand.
    pub ready: bool,
    /// Whether it uses the node's network.
    pub host_network: bool,
    /// Its address, empty on the node's network or once it is stopped.
    pub ip: Str,
    /// Wall time in nanoseconds since 1970.
    pub created_at: i64,
}

/// One run of a container.
#[derive(Clone, PartialEq, Debug)]
pub struct ContainerStatus {
    /// 64 hexadecimal digits.
    pub id: Str,
    /// Its name in the pod.
    pub name: Str,
    /// Whose.
    pub pod_uid: Str,
    /// In which sandbox.
    pub sandbox_id: Str,
    /// Where it is in its life.
    pub state: State,
    /// Wall times in nanoseconds since 1970; 0: not yet.
    pub created_at: i64,
    /// When its first process began.
    pub started_at: i64,
    /// When it ended.
    pub finished_at: i64,
    /// How it ended.
    pub exit_code: i32,
    /// `Completed`, `Error`, `OOMKilled`, ...
    pub reason: Str,
    /// The termination message.
    pub message: Str,
    /// The image's full name: `docker.io/library/nginx:1.27`.
    pub image: Str,
    /// `docker.io/library/nginx@sha256:...`.
    pub image_ref: Str,
    /// How many runs came before it.
    pub restart_count: u32,
    /// Hash of the container's definition.
    pub hash: u64,
    /// User and group of its first process.
    pub uid: i64,
    /// Its group.
    pub gid: i64,
}

/// All that the runtime knows of a pod: the newest of each come first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PodRecord {
    /// Its sandboxes.
    pub sandboxes: Vec<SandboxStatus>,
    /// Its containers' runs.
    pub containers: Vec<ContainerStatus>,
}

/// What a sandbox is made from.
#[derive(Clone, Debug)]
pub struct SandboxConfig {
    /// The pod's identity.
    pub pod_uid: Str,
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// See [`SandboxStatus::attempt`].
    pub attempt: u32,
    /// The host name inside.
    pub hostname: Str,
    /// Whether the node's network is used.
    pub host_network: bool,
    /// Ports of the node that lead to the pod: (host port, container port).
    pub port_mappings: Vec<(u16, u16)>,
}

/// What a container is made from.
#[derive(Clone)]
pub struct ContainerConfig {
    /// Its name in the pod.
    pub name: Str,
    /// How many runs came before.
    pub attempt: u32,
    /// The image as the pod names it.
    pub image: Str,
    /// What [`Call::PullImage`] or [`Call::ImageStatus`] answered.
    pub image_ref: Str,
    /// Instead of the image's entry point; empty: that.
    pub command: Vec<String>,
    /// Instead of the image's arguments.
    pub args: Vec<String>,
    /// Directory to start in; empty: the image's.
    pub workdir: String,
    /// Environment beyond the image's.
    pub env: Vec<(String, String)>,
    /// The container of its pod whose processes it sees; empty: only its own.
    pub target: Str,
    /// Files of the node inside it.
    pub mounts: Vec<Mount>,
    /// Whether its root may not be written.
    pub read_only_root: bool,
    /// Hash of its definition.
    pub hash: u64,
    /// Instead of the image's stop signal.
    pub stop_signal: Option<Signal>,
    /// Instead of the image's user.
    pub uid: Option<i64>,
    /// Instead of the image's group.
    pub gid: Option<i64>,
    /// Memory limit in bytes; 0: none.
    pub memory_limit: i64,
    /// Where it writes why it ended.
    pub termination_message_path: Str,
    /// Whether the log's end stands in for an empty message.
    pub fallback_to_logs: bool,
    /// Whether standard input stays open.
    pub stdin: bool,
    /// Whether standard input ends with the first who attached.
    pub stdin_once: bool,
    /// Whether it has a terminal.
    pub tty: bool,
    /// Its `/etc/resolv.conf`.
    pub resolv_conf: String,
    /// Its `/etc/hosts`.
    pub hosts: String,
}

/// A pulled image.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    /// `docker.io/library/nginx@sha256:...`.
    pub image_ref: Str,
    /// The digest form, then the tags it has here.
    pub names: Vec<Str>,
    /// Bytes.
    pub size: u64,
    /// User of its processes.
    pub uid: i64,
    /// Its user by name, if it names one that is no number.
    pub username: Str,
}

/// Which lines of a log.
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// The last so many.
    pub tail: Option<u64>,
    /// From this wall time on, in nanoseconds since 1970.
    pub since: Option<i64>,
    /// Stay and send what comes.
    pub follow: bool,
    /// Only this stream.
    pub stream: Option<super::log::Stream>,
}

/// What a command reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stdin {
    /// Nothing.
    None,
    /// Bytes that are sent to it.
    Pipe,
    /// Keys: it has a terminal, and all it writes goes to that.
    Tty,
}

/// What the kubelet asks for.
#[derive(Clone)]
pub enum Call {
    /// All pods that changed since the last snapshot on this connection; the first gives all.
    Snapshot,
    /// One pod.
    PodStatus(Str),
    /// Makes and starts a sandbox.
    RunSandbox(Rc<SandboxConfig>),
    /// Stops it: its processes die, its address goes.
    StopSandbox(Str),
    /// Forgets it and its containers.
    RemoveSandbox(Str),
    /// Makes a container in a sandbox.
    CreateContainer(Str, Rc<ContainerConfig>),
    /// Starts its first process.
    StartContainer(Str),
    /// Sends the stop signal, and SIGKILL after the grace.
    StopContainer(Str, Duration),
    /// Forgets it.
    RemoveContainer(Str),
    /// Whether an image is here.
    ImageStatus(String),
    /// Brings an image.
    PullImage(String),
    /// All images here.
    ListImages,
    /// Takes an image away, by its reference.
    RemoveImage(String),
    /// Gives a running container another memory limit, in bytes; 0: none.
    UpdateContainer(Str, i64),
    /// What running containers use.
    Stats,
    /// Runs a command to its end: answers its exit code and what it wrote, the latter cut at 10 KiB.
    ExecSync(Str, Vec<String>, Duration),
    /// Reads a log: [`Reply::Log`] until it ends or the reader goes.
    ReadLog(Str, LogQuery),
    /// Runs a command with streams: [`Reply::Exec`] until it ends.
    Exec(Str, Vec<String>, Stdin),
    /// Input for the running [`Call::Exec`] of that number; `None` ends it.
    ExecInput(u64, Option<Rc<[u8]>>),
    /// What a container's first process writes from now on: [`Reply::Exec`] until it ends.
    Attach(Str),
    /// Input for a container's first process; `None`: who attached is gone.
    Input(Str, Option<Rc<[u8]>>),
    /// Nobody waits for the answers of that number any more.
    Cancel(u64),
}

/// What a running container uses.
#[derive(Clone, PartialEq, Debug)]
pub struct Usage {
    /// Whose.
    pub pod_uid: Str,
    /// Its name in the pod.
    pub name: Str,
    /// Memory in bytes.
    pub memory: i64,
    /// What it wrote, in bytes.
    pub disk: i64,
}

/// A call and its number.
#[derive(Clone)]
pub struct Request {
    /// Unique on the connection.
    pub id: u64,
    /// What is asked.
    pub call: Call,
}

/// What the runtime answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// To [`Call::Snapshot`]; a pod without sandboxes is gone.
    Snapshot(Vec<(Str, Rc<PodRecord>)>),
    /// To [`Call::PodStatus`].
    Pod(Rc<PodRecord>),
    /// A sandbox with its address.
    Sandbox(Rc<SandboxStatus>),
    /// The id of a new container.
    Id(Str),
    /// Done.
    Done,
    /// To [`Call::ImageStatus`].
    Image(Option<Rc<Image>>),
    /// To [`Call::ListImages`].
    Images(Vec<Rc<Image>>),
    /// To [`Call::Stats`].
    Stats(Vec<Usage>),
    /// To [`Call::ExecSync`].
    Ran(i32, Rc<[u8]>),
    /// Some lines of a log.
    Log(Vec<Line>),
    /// Some output of an exec.
    Exec(super::log::Stream, Rc<[u8]>),
    /// The exec's exit code.
    Exited(i32),
}

/// What comes from the runtime.
#[derive(Clone, Debug)]
pub enum Event {
    /// An answer; `last` if no more follow for that number.
    Reply {
        /// The request's number.
        id: u64,
        /// Answer or error.
        reply: Result<Reply, CriError>,
        /// Whether it is the only or the last one.
        last: bool,
    },
    /// Something changed since the last snapshot.
    Changed,
}
