//! The kubelet's side of the runtime's socket.

use crate::runtime::cri::{Call, CriError, Event, PORT, PodRecord, Reply, Request};
use api::Str;
use futures_util::StreamExt;
use sim::sync::{Notify, mpsc};
use sim::{Addr, Conn, Ctx, Duration};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

type Answers = mpsc::UnboundedSender<(Result<Reply, CriError>, bool)>;

/// Calls to the container runtime of the node. Reconnects when the runtime went away.
pub struct CriClient {
    ctx: Ctx,
    conn: RefCell<Option<Conn>>,
    next: Cell<u64>,
    /// Bounded by the calls that the kubelet has under way.
    waiting: RefCell<BTreeMap<u64, Answers>>,
    /// Whether something changed since the last snapshot, and who wants to know.
    changed: Cell<bool>,
    on_change: Notify,
}

/// The answers of a call that has more than one. Dropping it cancels the call.
pub struct Answering {
    client: Rc<CriClient>,
    id: u64,
    answers: mpsc::UnboundedReceiver<(Result<Reply, CriError>, bool)>,
    over: bool,
}

impl CriClient {
    /// Connects and keeps connected.
    pub fn new(ctx: &Ctx) -> Rc<Self> {
        let client = Rc::new(Self {
            ctx: ctx.clone(),
            conn: RefCell::default(),
            next: Cell::new(1),
            waiting: RefCell::default(),
            changed: Cell::new(false),
            on_change: Notify::new(),
        });
        ctx.spawn("runtime connection", pump(client.clone()));
        client
    }

    /// Whether the runtime answers.
    pub fn connected(&self) -> bool {
        self.conn.borrow().is_some()
    }

    /// Whether something changed since the last snapshot.
    pub fn has_changed(&self) -> bool {
        self.changed.get()
    }

    /// Wakes when something changed, or the connection came or went.
    pub fn on_change(&self) -> Notify {
        self.on_change.clone()
    }

    /// Starts a call whose answers are read one by one.
    pub fn start(self: &Rc<Self>, call: Call) -> Answering {
        let (tx, answers) = mpsc::unbounded();
        let id = self.next.get();
        self.next.set(id + 1);
        let sent = self.conn.borrow().as_ref().is_some_and(|conn| conn.send_as("cri", Request { id, call }).is_ok());
        if sent {
            self.waiting.borrow_mut().insert(id, tx);
        } else {
            let _ = tx.unbounded_send((Err(unavailable()), true));
        }
        Answering { client: self.clone(), id, answers, over: false }
    }

    /// Input for a running exec; `None` ends it.
    pub fn input(&self, exec: u64, data: Option<Rc<[u8]>>) {
        if let Some(conn) = self.conn.borrow().as_ref() {
            let _ = conn.send_as("cri", Request { id: 0, call: Call::ExecInput(exec, data) });
        }
    }

    /// One call, one answer.
    pub async fn call(self: &Rc<Self>, call: Call) -> Result<Reply, CriError> {
        self.start(call).next().await.unwrap_or_else(|| Err(unavailable()))
    }

    /// A call whose answer says no more than that it was done.
    pub async fn done(self: &Rc<Self>, call: Call) -> Result<(), CriError> {
        self.call(call).await.map(|_| ())
    }

    /// What changed since the last snapshot.
    pub async fn snapshot(self: &Rc<Self>) -> Result<Vec<(Str, Rc<PodRecord>)>, CriError> {
        self.changed.set(false);
        match self.call(Call::Snapshot).await? {
            Reply::Snapshot(pods) => Ok(pods),
            _ => Err(unavailable()),
        }
    }
}

impl Answering {
    /// The number of the call.
    pub fn id(&self) -> u64 {
        self.id
    }
    /// The next answer, `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Reply, CriError>> {
        if self.over {
            return None;
        }
        match self.answers.next().await {
            Some((answer, last)) => {
                self.over = last;
                Some(answer)
            }
            None => {
                self.over = true;
                Some(Err(unavailable()))
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let unfinished = self.client.waiting.borrow_mut().remove(&self.id).is_some();
        if unfinished && let Some(conn) = self.client.conn.borrow().as_ref() {
            let _ = conn.send_as("cri", Request { id: 0, call: Call::Cancel(self.id) });
        }
    }
}

fn unavailable() -> CriError {
    CriError::new(
        "Unavailable",
        "connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"",
    )
}

async fn pump(client: Rc<CriClient>) {
    loop {
        let addr = Addr { ip: client.ctx.host_ip(), port: PORT };
        if let Ok(conn) = client.ctx.connect(addr).await {
            *client.conn.borrow_mut() = Some(conn.clone());
            client.changed.set(true);
            client.on_change.notify();
            while let Ok(event) = conn.recv::<Event>().await {
                match event {
                    Event::Changed => {
                        client.changed.set(true);
                        client.on_change.notify();
                    }
                    Event::Reply { id, reply, last } => {
                        let mut waiting = client.waiting.borrow_mut();
                        if let Some(to) = waiting.get(&id) {
                            let _ = to.unbounded_send((reply, last));
                        }
                        if last {
                            waiting.remove(&id);
                        }
                    }
                }
            }
            *client.conn.borrow_mut() = None;
            // Their senders go, and with them the calls fail.
            client.waiting.borrow_mut().clear();
            client.on_change.notify();
        }
        client.ctx.sleep(Duration::from_millis(200)).await;
    }
}
