//! The client: one multiplexed connection to one of the endpoints, calls with etcd's retry rules, watches that resume.

use crate::rpc::{
    Alarm, ClientFrame, DeleteRangeRequest, Error, Event, KeyValue, MemberInfo, Operation, PutRequest, RangeRequest,
    Request, Response, ServerFrame, Span, Status, TxnRequest, TxnResponse, Value,
};
use futures_util::future::{Either, select};
use sim::sync::{Notify, oneshot};
use sim::{Addr, Conn, Ctx, Duration, Instant, NetError, Rng};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// How often a read is tried (clientv3: defaultUnaryMaxRetries).
const MAX_RETRIES: u32 = 100;
/// The pause between two tries (clientv3: defaultBackoffWaitBetween), give or take a tenth.
const RETRY_PAUSE: Duration = Duration::from_millis(25);
/// gRPC's first pause after a connection could not be made, the factor, and clientv3's greatest one.
const CONNECT_PAUSE: Duration = Duration::from_secs(1);
const CONNECT_PAUSE_MAX: Duration = Duration::from_secs(3);
/// How long a connection may take (kube-apiserver's dialTimeout).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// gRPC keepalive: silence after which the member is asked whether it lives, and how long it may take to say so
/// (kube-apiserver's keepaliveTime and keepaliveTimeout).
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Events that wait for one watch's reader at most; beyond that the watch is closed and resumed once they are read.
const WATCH_BOUND: usize = 65_536;

/// A client; clones share its connection.
pub struct Client<V: Value>(Rc<Inner<V>>);

impl<V: Value> Clone for Client<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

struct Inner<V: Value> {
    ctx: Ctx,
    endpoints: Vec<Addr>,
    state: RefCell<State<V>>,
    /// The connection came, broke, or could not be made.
    changed: Notify,
    /// The present connection is to be given up.
    hang_up: Notify,
}

struct State<V: Value> {
    link: Link,
    /// Which endpoint is next.
    endpoint: usize,
    /// The pause after the next failure to connect.
    pause: Duration,
    next_stream: u64,
    /// Bounded by the callers, who wait.
    calls: BTreeMap<u64, oneshot::Sender<Result<Response<V>, Error>>>,
    watches: BTreeMap<u64, Rc<RefCell<WatchState<V>>>>,
    rng: Rng,
    heard: Instant,
}

#[derive(Clone)]
enum Link {
    Idle,
    Connecting,
    Up(Conn),
    /// Not before this moment again; why.
    Failed(Instant, Rc<str>),
}

struct WatchState<V> {
    queue: VecDeque<Batch<V>>,
    queued: usize,
    error: Option<Error>,
    /// The member knows of it, on the present connection.
    open: bool,
    /// The next revision to ask for; 0 until the first answer of a watch from now on.
    next: u64,
    seen: u64,
    waker: Notify,
}

struct Batch<V> {
    events: Vec<Rc<Event<V>>>,
    revision: u64,
}

/// Keys found, with the store's revision at that moment.
#[derive(Clone, Debug)]
pub struct Ranged<V> {
    /// The store's revision.
    pub revision: u64,
    /// The keys, as many as allowed.
    pub kvs: Vec<Rc<KeyValue<V>>>,
    /// Whether there are more.
    pub more: bool,
    /// How many there are in all, after `after`.
    pub count: usize,
}

/// Changes of whole revisions, in order.
#[derive(Clone, Debug)]
pub struct WatchBatch<V> {
    /// The changes; none in a progress notice.
    pub events: Vec<Rc<Event<V>>>,
    /// All changes up to this revision have been seen now.
    pub revision: u64,
}

impl<V: Value> Client<V> {
    /// A client of these members; it connects when first used.
    pub fn new(ctx: &Ctx, endpoints: Vec<Addr>) -> Self {
        let state = State {
            link: Link::Idle,
            endpoint: 0,
            pause: CONNECT_PAUSE,
            next_stream: 1,
            calls: BTreeMap::new(),
            watches: BTreeMap::new(),
            rng: ctx.rng("etcd-client"),
            heard: ctx.now(),
        };
        Self(Rc::new(Inner {
            ctx: ctx.clone(),
            endpoints,
            state: RefCell::new(state),
            changed: Notify::new(),
            hang_up: Notify::new(),
        }))
    }

    /// Keys in order. Tried again, elsewhere if possible, while members are unavailable.
    ///
    /// # Errors
    /// [`Error::Compacted`], [`Error::FutureRevision`]; or unavailability that lasted about three seconds.
    pub async fn range(&self, request: RangeRequest) -> Result<Ranged<V>, Error> {
        match self.read(Request::Range(request)).await? {
            Response::Range { revision, range } => {
                Ok(Ranged { revision, kvs: range.kvs, more: range.more, count: range.count })
            }
            _ => Err(Error::Protocol),
        }
    }
    /// One key, if it is there, and the store's revision.
    ///
    /// # Errors
    /// As [`Client::range`].
    pub async fn get(&self, key: impl Into<Rc<str>>) -> Result<(Option<Rc<KeyValue<V>>>, u64), Error> {
        let found = self.range(RangeRequest::key(key)).await?;
        Ok((found.kvs.into_iter().next(), found.revision))
    }
    /// A transaction. Not tried again once it may have reached a member: an error can mean that it was done.
    ///
    /// # Errors
    /// Those of the store, or unavailability.
    pub async fn txn(&self, txn: TxnRequest<V>) -> Result<TxnResponse<V>, Error> {
        match self.write(Operation::Txn(txn)).await? {
            Response::Txn(response) => Ok(response),
            _ => Err(Error::Protocol),
        }
    }
    /// Writes a key; the store's revision after it.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn put(&self, key: impl Into<Rc<str>>, value: V) -> Result<u64, Error> {
        let put = PutRequest { key: key.into(), value, lease: 0, prev_kv: false };
        match self.write(Operation::Put(put)).await? {
            Response::Put { revision, .. } => Ok(revision),
            _ => Err(Error::Protocol),
        }
    }
    /// Deletes keys; how many and the store's revision after it.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn delete_range(&self, key: impl Into<Rc<str>>, span: Span) -> Result<(usize, u64), Error> {
        match self.write(Operation::DeleteRange(DeleteRangeRequest { key: key.into(), span, prev_kv: false })).await? {
            Response::DeleteRange { deleted, revision, .. } => Ok((deleted, revision)),
            _ => Err(Error::Protocol),
        }
    }
    /// Forgets history before `revision`.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn compact(&self, revision: u64) -> Result<(), Error> {
        self.write(Operation::Compact { revision }).await.map(|_| ())
    }
    /// A lease of `ttl` seconds (two at least); its identity.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn lease_grant(&self, ttl: u64) -> Result<i64, Error> {
        match self.write(Operation::LeaseGrant { id: 0, ttl }).await? {
            Response::LeaseGrant { id, .. } => Ok(id),
            _ => Err(Error::Protocol),
        }
    }
    /// Ends a lease, its keys with it.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn lease_revoke(&self, id: i64) -> Result<(), Error> {
        self.write(Operation::LeaseRevoke { id }).await.map(|_| ())
    }
    /// Renews a lease for its full time, in seconds.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn lease_keep_alive(&self, id: i64) -> Result<u64, Error> {
        match self.write(Operation::LeaseKeepAlive { id }).await? {
            Response::LeaseKeepAlive { ttl, .. } => Ok(ttl),
            _ => Err(Error::Protocol),
        }
    }
    /// Seconds left and granted of a lease (-1 left if there is none such), and its keys.
    ///
    /// # Errors
    /// As [`Client::range`].
    pub async fn lease_time_to_live(&self, id: i64) -> Result<(i64, u64, Vec<Rc<str>>), Error> {
        match self.read(Request::LeaseTimeToLive { id }).await? {
            Response::LeaseTimeToLive { ttl, granted_ttl, keys, .. } => Ok((ttl, granted_ttl, keys)),
            _ => Err(Error::Protocol),
        }
    }
    /// How the member at the other end stands.
    ///
    /// # Errors
    /// As [`Client::range`].
    pub async fn status(&self) -> Result<Status, Error> {
        match self.read(Request::Status).await? {
            Response::Status(status) => Ok(*status),
            _ => Err(Error::Protocol),
        }
    }
    /// The members.
    ///
    /// # Errors
    /// As [`Client::range`].
    pub async fn member_list(&self) -> Result<Vec<MemberInfo>, Error> {
        match self.read(Request::MemberList).await? {
            Response::MemberList(members) => Ok(members),
            _ => Err(Error::Protocol),
        }
    }
    /// The alarms, by member.
    ///
    /// # Errors
    /// As [`Client::range`].
    pub async fn alarms(&self) -> Result<Vec<(u64, Alarm)>, Error> {
        match self.read(Request::Alarms).await? {
            Response::Alarms(alarms) => Ok(alarms),
            _ => Err(Error::Protocol),
        }
    }
    /// Ends all alarms.
    ///
    /// # Errors
    /// As [`Client::txn`].
    pub async fn disarm(&self) -> Result<(), Error> {
        self.write(Operation::Alarm { member: 0, alarm: Alarm::NoSpace, active: false }).await.map(|_| ())
    }
    /// Hands leadership from the member at the other end, which must lead, to another.
    ///
    /// # Errors
    /// [`Error::NotLeader`], [`Error::BadLeaderTransferee`], [`Error::TimeoutLeaderTransfer`], or unavailability.
    pub async fn move_leader(&self, to: u64) -> Result<(), Error> {
        self.call(Request::MoveLeader { to }).await.map(|_| ())
    }
    /// Watches keys from revision `from` on (0: from the next change on).
    pub fn watch(&self, key: impl Into<Rc<str>>, span: Span, from: u64) -> Watch<V> {
        let stream = {
            let mut state = self.0.state.borrow_mut();
            state.next_stream += 1;
            state.next_stream
        };
        let state = Rc::new(RefCell::new(WatchState {
            queue: VecDeque::new(),
            queued: 0,
            error: None,
            open: false,
            next: from,
            seen: from.saturating_sub(1),
            waker: Notify::new(),
        }));
        self.0.state.borrow_mut().watches.insert(stream, state.clone());
        Watch { client: self.clone(), stream, key: key.into(), span, state }
    }
    /// Asks for a progress notice on every watch of this client that has seen everything.
    pub fn request_progress(&self) {
        if let Link::Up(conn) = &self.0.state.borrow().link {
            let _ = conn.send(ClientFrame::<V>::Progress);
        }
    }

    /// A read: safe to try again.
    async fn read(&self, request: Request<V>) -> Result<Response<V>, Error> {
        let mut tries = 0;
        loop {
            match self.call(request.clone()).await {
                Err(error) if error.is_unavailable() && tries < MAX_RETRIES => {
                    tries += 1;
                    if self.0.endpoints.len() > 1 && !matches!(error, Error::Unavailable(_)) {
                        self.leave();
                    }
                    let jitter = 0.9 + 0.2 * self.0.state.borrow_mut().rng.f64();
                    self.0.ctx.sleep(RETRY_PAUSE.mul_f64(jitter)).await;
                }
                other => return other,
            }
        }
    }
    async fn write(&self, operation: Operation<V>) -> Result<Response<V>, Error> {
        self.call(Request::Propose(operation)).await
    }

    async fn call(&self, request: Request<V>) -> Result<Response<V>, Error> {
        let conn = self.conn().await?;
        let (sender, answer) = oneshot::channel();
        let stream = {
            let mut state = self.0.state.borrow_mut();
            state.next_stream += 1;
            let stream = state.next_stream;
            state.calls.insert(stream, sender);
            stream
        };
        let mut guard = CallGuard { client: self, stream, done: false };
        if let Err(error) = conn.send_as("etcd", ClientFrame::Call { stream, request }) {
            return Err(Error::Unavailable(transport_error(error)));
        }
        let result = answer.await.unwrap_or_else(|_| Err(Error::Unavailable("transport is closing".into())));
        guard.done = true;
        result
    }

    /// The connection, made if there is none. Fails at once while the last failure to connect is fresh.
    async fn conn(&self) -> Result<Conn, Error> {
        loop {
            let link = self.0.state.borrow().link.clone();
            match link {
                Link::Up(conn) if conn.ended().is_none() => return Ok(conn),
                Link::Up(_) | Link::Connecting => self.0.changed.notified().await,
                Link::Failed(until, why) if self.0.ctx.now() < until => return Err(Error::Unavailable(why)),
                Link::Idle | Link::Failed(..) => {
                    self.connect();
                    self.0.changed.notified().await;
                }
            }
        }
    }

    fn connect(&self) {
        let addr = {
            let mut state = self.0.state.borrow_mut();
            let Some(addr) = self.0.endpoints.get(state.endpoint % self.0.endpoints.len().max(1)).copied() else {
                state.link = Link::Failed(Instant::FAR, "there is no address available".into());
                self.0.changed.notify();
                return;
            };
            state.endpoint = state.endpoint.wrapping_add(1);
            state.link = Link::Connecting;
            addr
        };
        let client = self.clone();
        self.0.ctx.spawn("etcd-client", async move {
            let ctx = client.0.ctx.clone();
            let dialed = ctx.timeout(CONNECT_TIMEOUT, ctx.connect(addr)).await.unwrap_or(Err(NetError::TimedOut));
            match dialed {
                Ok(conn) => {
                    {
                        let mut state = client.0.state.borrow_mut();
                        state.link = Link::Up(conn.clone());
                        state.pause = CONNECT_PAUSE;
                        state.heard = ctx.now();
                    }
                    client.0.changed.notify();
                    client.serve(conn).await;
                }
                Err(error) => {
                    let mut state = client.0.state.borrow_mut();
                    let text = format!(
                        "connection error: desc = \"transport: Error while dialing: dial tcp {addr}: {error}\""
                    );
                    // With other endpoints left the next one is tried at once.
                    let tried_all = state.endpoint.is_multiple_of(client.0.endpoints.len().max(1));
                    let pause = if tried_all { state.pause } else { Duration::ZERO };
                    if tried_all {
                        state.pause = state.pause.mul_f64(1.6).min(CONNECT_PAUSE_MAX);
                    }
                    state.link = Link::Failed(ctx.now() + pause, text.into());
                }
            }
            client.0.changed.notify();
        });
    }

    /// Reads answers and events until the connection breaks.
    async fn serve(&self, conn: Conn) {
        let keepalive = self.0.ctx.spawn("etcd-keepalive", self.clone().keep_alive(conn.clone()));
        let mut hang_up = self.0.hang_up.notified();
        let error = loop {
            let frame = std::pin::pin!(conn.recv::<ServerFrame<V>>());
            match select(frame, &mut hang_up).await {
                Either::Left((Ok(frame), _)) => {
                    self.0.state.borrow_mut().heard = self.0.ctx.now();
                    self.take(&conn, frame);
                }
                Either::Left((Err(error), _)) => break error,
                Either::Right(_) => break NetError::Closed,
            }
        };
        keepalive.abort();
        conn.close();
        let (calls, watches) = {
            let mut state = self.0.state.borrow_mut();
            state.link = Link::Idle;
            (std::mem::take(&mut state.calls), state.watches.values().cloned().collect::<Vec<_>>())
        };
        let text = transport_error(error);
        for (_, call) in calls {
            let _ = call.send(Err(Error::Unavailable(text.clone())));
        }
        for watch in watches {
            let mut watch = watch.borrow_mut();
            watch.open = false;
            watch.waker.notify();
        }
    }
    /// gRPC's keepalive: a silent member is asked, and given up if it does not answer.
    async fn keep_alive(self, conn: Conn) {
        let ctx = self.0.ctx.clone();
        loop {
            let heard = self.0.state.borrow().heard;
            if ctx.now() < heard + KEEPALIVE_TIME {
                ctx.sleep_until(heard + KEEPALIVE_TIME).await;
                continue;
            }
            // gRPC asks only while something is open.
            let idle = {
                let state = self.0.state.borrow();
                state.calls.is_empty() && state.watches.is_empty()
            };
            if !idle {
                let _ = conn.send_as("etcd-ping", ClientFrame::<V>::Ping);
                ctx.sleep(KEEPALIVE_TIMEOUT).await;
                if self.0.state.borrow().heard == heard {
                    self.0.hang_up.notify();
                    return;
                }
            } else {
                ctx.sleep(KEEPALIVE_TIME).await;
            }
        }
    }

    fn take(&self, conn: &Conn, frame: ServerFrame<V>) {
        match frame {
            ServerFrame::Answer { stream, result } => {
                let call = self.0.state.borrow_mut().calls.remove(&stream);
                if let Some(call) = call {
                    let _ = call.send(result);
                }
            }
            ServerFrame::Watching { stream, revision } => {
                if let Some(watch) = self.watch_state(stream) {
                    let mut watch = watch.borrow_mut();
                    // A watch from now on is from a known revision on, should the connection break.
                    if watch.next == 0 {
                        watch.next = revision + 1;
                    }
                }
            }
            ServerFrame::Events { stream, events, revision } => {
                let Some(watch) = self.watch_state(stream) else { return };
                let mut watch = watch.borrow_mut();
                if !watch.open {
                    return;
                }
                if watch.queued >= WATCH_BOUND {
                    watch.open = false;
                    let _ = conn.send(ClientFrame::<V>::Cancel { stream });
                    return;
                }
                watch.next = watch.next.max(revision + 1);
                watch.queued += events.len();
                watch.queue.push_back(Batch { events, revision });
                watch.waker.notify();
            }
            ServerFrame::Canceled { stream, error } => {
                if let Some(watch) = self.watch_state(stream) {
                    let mut watch = watch.borrow_mut();
                    if watch.open {
                        watch.error = Some(error);
                        watch.waker.notify();
                    }
                }
            }
            ServerFrame::Pong => {}
        }
    }
    fn watch_state(&self, stream: u64) -> Option<Rc<RefCell<WatchState<V>>>> {
        self.0.state.borrow().watches.get(&stream).cloned()
    }
    /// Leaves the present endpoint for the next one.
    fn leave(&self) {
        self.0.hang_up.notify();
    }
}

/// What gRPC says of a broken connection.
fn transport_error(error: NetError) -> Rc<str> {
    match error {
        NetError::Closed => "error reading from server: EOF".into(),
        other => format!("error reading from server: {other}").into(),
    }
}

/// A caller that stops waiting withdraws its call.
struct CallGuard<'a, V: Value> {
    client: &'a Client<V>,
    stream: u64,
    done: bool,
}

impl<V: Value> Drop for CallGuard<'_, V> {
    fn drop(&mut self) {
        if !self.done {
            let mut state = self.client.0.state.borrow_mut();
            let withdrawn = state.calls.remove(&self.stream).is_some();
            if let (true, Link::Up(conn)) = (withdrawn, &state.link) {
                let _ = conn.send(ClientFrame::<V>::Cancel { stream: self.stream });
            }
        }
    }
}

/// A stream of changes. It outlives broken connections: each change is seen once, in order.
pub struct Watch<V: Value> {
    client: Client<V>,
    stream: u64,
    key: Rc<str>,
    span: Span,
    state: Rc<RefCell<WatchState<V>>>,
}

impl<V: Value> Watch<V> {
    /// The next changes. Connects, and connects again, for as long as it takes.
    ///
    /// # Errors
    /// [`Error::Compacted`] if it fell behind what history is left, [`Error::NoLeader`]: the stream is over.
    pub async fn next(&mut self) -> Result<WatchBatch<V>, Error> {
        loop {
            let waiting = {
                let mut state = self.state.borrow_mut();
                if let Some(batch) = state.queue.pop_front() {
                    state.queued = state.queued.saturating_sub(batch.events.len());
                    state.seen = state.seen.max(batch.revision);
                    return Ok(WatchBatch { events: batch.events, revision: batch.revision });
                }
                if let Some(error) = &state.error {
                    return Err(error.clone());
                }
                state.open.then(|| state.waker.notified())
            };
            match waiting {
                Some(notified) => notified.await,
                None => self.open().await,
            }
        }
    }
    /// All changes up to this revision have been returned by [`Watch::next`].
    pub fn revision(&self) -> u64 {
        self.state.borrow().seen
    }

    async fn open(&mut self) {
        let ctx = self.client.0.ctx.clone();
        let conn = loop {
            match self.client.conn().await {
                Ok(conn) => break conn,
                Err(_) => {
                    let until = match &self.client.0.state.borrow().link {
                        Link::Failed(until, _) if *until != Instant::FAR => *until,
                        _ => ctx.now() + CONNECT_PAUSE,
                    };
                    ctx.sleep_until(until.max(ctx.now() + RETRY_PAUSE)).await;
                }
            }
        };
        let (stream, key, span) = (self.renumber(), self.key.clone(), self.span.clone());
        let mut state = self.state.borrow_mut();
        let frame = ClientFrame::<V>::Watch { stream, key, span, start_revision: state.next };
        state.open = conn.send_as("etcd-watch", frame).is_ok();
    }
    /// A new number each time, so that what is left of an older stream is not taken for this one's.
    fn renumber(&mut self) -> u64 {
        let mut state = self.client.0.state.borrow_mut();
        state.watches.remove(&self.stream);
        state.next_stream += 1;
        self.stream = state.next_stream;
        state.watches.insert(self.stream, self.state.clone());
        self.stream
    }
}

impl<V: Value> Drop for Watch<V> {
    fn drop(&mut self) {
        let mut state = self.client.0.state.borrow_mut();
        state.watches.remove(&self.stream);
        if let Link::Up(conn) = &state.link {
            let _ = conn.send(ClientFrame::<V>::Cancel { stream: self.stream });
        }
    }
}
