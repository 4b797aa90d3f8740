//! The process: starts, fills its cache, listens, and serves connections.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::rest::{ClientFrame, ServerFrame};
use futures_util::FutureExt;
use sim::sync::mpsc;
use sim::{Addr, Conn, Ctx, Duration, Ip, JoinHandle, Severity};

use crate::alloc::Cidr;
use crate::etcd_storage::EtcdStorage;
use crate::storage::{Changes, Storage, StoreError};
use crate::{Inner, bootstrap, identity};

/// The server's flags.
#[derive(Clone, Debug)]
pub struct Config {
    /// `--secure-port`
    pub port: u16,
    /// `--advertise-address`
    pub advertise: Ip,
    /// `--etcd-servers`
    pub etcd: Vec<Addr>,
    /// `--service-cluster-ip-range`
    pub service_cidr: (Ip, u8),
    /// `--service-account-signing-key-file`: the same for all servers of a cluster.
    pub token_key: Vec<u8>,
}

impl Config {
    /// What the recorded cluster has, for a server at `advertise`.
    pub fn new(advertise: Ip, etcd: Vec<Addr>) -> Config {
        Config {
            port: 6443,
            advertise,
            etcd,
            service_cidr: (Ip::new(10, 96, 0, 0), 12),
            token_key: crate::token::KEY.to_vec(),
        }
    }

    /// The range of service addresses.
    pub(crate) fn cidr(&self) -> Cidr {
        Cidr { network: self.service_cidr.0, bits: self.service_cidr.1 }
    }
}

/// Bound of the frames that wait for one stream.
const STREAM_FRAMES: usize = 1024;
/// How long to wait before the store is asked again after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// `--etcd-compaction-interval`
const COMPACT_EVERY: Duration = Duration::from_secs(300);

/// A kube-apiserver.
#[derive(Clone)]
pub struct Server {
    inner: Rc<Inner>,
}

impl Server {
    /// A server over etcd.
    pub fn new(ctx: &Ctx, config: Config) -> Server {
        let storage = Rc::new(EtcdStorage::new(ctx, config.etcd.clone()));
        Server::over(ctx, config, storage)
    }

    /// A server over any store.
    pub fn over(ctx: &Ctx, config: Config, storage: Rc<dyn Storage>) -> Server {
        Server { inner: Rc::new(Inner::new(ctx.clone(), config, storage)) }
    }

    /// What observers read between polls.
    pub fn inner(&self) -> &Rc<Inner> {
        &self.inner
    }

    /// Runs until the process ends: SIGTERM stops it, in-flight requests are cut.
    pub async fn run(self) {
        let inner = self.inner;
        let ctx = inner.ctx.clone();
        ctx.log(Severity::Info, "server.go:150", "Version: v1.37.2");
        ctx.log(Severity::Info, "server.go:152", "\"Golang settings\" GOGC=\"\" GOMAXPROCS=\"\" GOTRACEBACK=\"\"");
        ctx.spawn("watch-cache", feed(inner.clone()));
        inner.cache.reached(0).await;
        ctx.spawn("compactor", compact(inner.clone()));
        let listener = match ctx.listen(inner.config.port) {
            Ok(listener) => listener,
            Err(error) => {
                ctx.log(
                    Severity::Error,
                    "run.go:72",
                    format!("\"command failed\" err=\"failed to listen on 0.0.0.0:{}: {error}\"", inner.config.port),
                );
                ctx.exit();
                return;
            }
        };
        ctx.log(
            Severity::Info,
            "secure_serving.go:211",
            format!("\"Serving securely\" address=\"[::]:{}\"", inner.config.port),
        );
        let range = inner.config.cidr();
        ctx.log(
            Severity::Info,
            "cidrallocator.go:278",
            format!("updated ClusterIP allocator for Service CIDR {range}"),
        );
        ctx.spawn("post-start-hooks", start(inner.clone()));
        let terminated = ctx.terminated();
        let stopping = inner.clone();
        ctx.spawn("signal", async move {
            terminated.await;
            identity::stop(&stopping).await;
            stopping.ctx.exit();
        });
        loop {
            match listener.accept().await {
                Ok(conn) => {
                    ctx.spawn("connection", serve(inner.clone(), conn));
                }
                Err(_) => return,
            }
        }
    }
}

/// The post-start hooks: the objects that every cluster has, then this server's identity.
async fn start(server: Rc<Inner>) {
    bootstrap::run(&server).await;
    server.ready.set(true);
    server.ctx.spawn("kubernetes-service", bootstrap::keep_service(server.clone()));
    server.ctx.spawn("default-service-cidr", crate::ranges::keep(server.clone()));
    server.ctx.spawn("ipallocator-repair", crate::repair::keep(server.clone()));
    identity::keep(server).await;
}

/// Fills the cache and keeps it up to date.
async fn feed(server: Rc<Inner>) {
    let ctx = server.ctx.clone();
    let warn = |error: &StoreError| {
        ctx.log(Severity::Warning, "reflector.go:569", format!("\"Watch of the store ended\" err=\"{error}\""));
    };
    loop {
        let (entries, revision) = match server.storage.range("").await {
            Ok(found) => found,
            Err(error) => {
                warn(&error);
                ctx.sleep(RETRY).await;
                continue;
            }
        };
        server.writers.begin(&server.cache, &entries);
        server.cache.reset(entries, revision);
        let mut changes = match server.storage.watch(revision + 1).await {
            Ok(changes) => changes,
            Err(error) => {
                warn(&error);
                ctx.sleep(RETRY).await;
                continue;
            }
        };
        let error = take_in(&server, &mut *changes).await;
        warn(&error);
    }
}

async fn take_in(server: &Inner, changes: &mut dyn Changes) -> StoreError {
    loop {
        match changes.next().await {
            Ok(changes) => {
                server.writers.follow(&server.cache, &changes);
                server.cache.apply(&changes);
            }
            Err(error) => return error,
        }
    }
}

/// Forgets the store's history five minutes after it was made (etcd3's compactor).
async fn compact(server: Rc<Inner>) {
    let mut last = 0;
    loop {
        server.ctx.sleep(COMPACT_EVERY).await;
        let now = server.cache.revision();
        if last > 0 && server.storage.compact(last).await.is_err() {
            continue;
        }
        last = now;
    }
}

/// A stream of a connection: its task, and where what the client says on it goes.
pub(crate) struct Stream {
    pub(crate) task: JoinHandle<()>,
    pub(crate) frames: mpsc::Sender<ClientFrame>,
}

/// A connection's open streams.
pub(crate) type Streams = Rc<RefCell<BTreeMap<u64, Stream>>>;

/// Serves one connection.
async fn serve(server: Rc<Inner>, conn: Conn) {
    let streams: Streams = Rc::default();
    while let Ok(frame) = conn.recv::<ClientFrame>().await {
        match frame {
            ClientFrame::Request { stream, request } => {
                let (frames, incoming) = mpsc::channel(STREAM_FRAMES);
                let answer = crate::handler::answer(server.clone(), conn.clone(), stream, Rc::new(*request), incoming);
                let open = streams.clone();
                let task = server.ctx.spawn(
                    "request",
                    answer.map(move |()| {
                        open.borrow_mut().remove(&stream);
                    }),
                );
                streams.borrow_mut().insert(stream, Stream { task, frames });
            }
            ClientFrame::Data { stream, .. } | ClientFrame::Forward { stream, .. } => {
                // A stream that doesn't read is too slow; its bytes are lost, as its window is full.
                if let Some(stream) = streams.borrow_mut().get_mut(&stream) {
                    let _ = stream.frames.try_send(frame);
                }
            }
            ClientFrame::Cancel { stream } => {
                let cancelled = streams.borrow_mut().remove(&stream);
                if let Some(cancelled) = cancelled {
                    cancelled.task.abort();
                }
            }
        }
    }
    let rest = std::mem::take(&mut *streams.borrow_mut());
    for stream in rest.into_values() {
        stream.task.abort();
    }
}

/// Sends the end of a stream; whether the client is still there.
pub(crate) fn end(conn: &Conn, stream: u64, status: Option<Rc<api::Status>>) -> bool {
    conn.send_as("end", ServerFrame::End { stream, status }).is_ok()
}
