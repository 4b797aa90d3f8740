//! One connection to an API server (or a kubelet), shared by all requests of a client, as HTTP/2 does it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use api::Status;
use api::rest::{Channel, ClientFrame, Request, Response, ServerFrame, WatchEvent};
use sim::{Addr, Conn, Ctx, NetError};

/// What arrives on a stream.
pub(crate) enum Incoming {
    /// The answer, first.
    Response(Response),
    /// Events of a watch.
    Events(Vec<WatchEvent>),
    /// Bytes of a log or program.
    Data(Channel, Rc<[u8]>),
    /// Nothing more will come.
    End(Option<Rc<Status>>),
    /// The connection failed.
    Failed(NetError),
}

#[derive(Default)]
struct StreamState {
    /// As long as the sender was ahead of the reader; the server holds back by [`Conn::unread`].
    incoming: VecDeque<Incoming>,
    waker: Option<Waker>,
}

/// An open connection.
pub(crate) struct Transport {
    conn: Conn,
    streams: RefCell<BTreeMap<u64, StreamState>>,
    next: Cell<u64>,
    failed: Cell<Option<NetError>>,
}

impl Transport {
    /// Dials the server; its frames are taken off the connection by a task of the process.
    pub async fn dial(ctx: &Ctx, addr: Addr) -> Result<Rc<Transport>, NetError> {
        let conn = ctx.connect(addr).await?;
        let transport = Rc::new(Transport {
            conn: conn.clone(),
            streams: RefCell::default(),
            next: Cell::new(1),
            failed: Cell::new(None),
        });
        let weak = Rc::downgrade(&transport);
        ctx.spawn("connection", async move {
            loop {
                let frame = conn.recv::<ServerFrame>().await;
                let Some(transport) = weak.upgrade() else { return };
                match frame {
                    Ok(frame) => transport.take(frame),
                    Err(err) => return transport.fail(err),
                }
            }
        });
        Ok(transport)
    }

    /// Whether it can carry requests still.
    pub fn usable(&self) -> bool {
        self.failed.get().is_none() && self.conn.ended().is_none()
    }

    /// Opens a stream with a request.
    pub fn open(self: &Rc<Self>, label: &'static str, request: Request) -> Result<Stream, NetError> {
        if let Some(err) = self.failed.get() {
            return Err(err);
        }
        let number = self.next.get();
        self.next.set(number + 1);
        self.conn.send_as(label, ClientFrame::Request { stream: number, request: Box::new(request) })?;
        self.streams.borrow_mut().insert(number, StreamState::default());
        Ok(Stream { transport: self.clone(), number, ended: Cell::new(false) })
    }

    fn take(&self, frame: ServerFrame) {
        let (stream, incoming) = match frame {
            ServerFrame::Response { stream, response } => (stream, Incoming::Response(response)),
            ServerFrame::Events { stream, events } => (stream, Incoming::Events(events)),
            ServerFrame::Data { stream, channel, data } => (stream, Incoming::Data(channel, data)),
            ServerFrame::End { stream, status } => (stream, Incoming::End(status)),
            // No component forwards connections.
            ServerFrame::Forward { .. } => return,
        };
        // A stream that is not there was given up by its reader.
        if let Some(state) = self.streams.borrow_mut().get_mut(&stream) {
            state.incoming.push_back(incoming);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }

    fn fail(&self, err: NetError) {
        self.failed.set(Some(err));
        self.conn.close();
        for state in self.streams.borrow_mut().values_mut() {
            state.incoming.push_back(Incoming::Failed(err));
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        }
    }
}

/// One request and all that answers it. Dropping it tells the server that nobody reads any more.
pub(crate) struct Stream {
    transport: Rc<Transport>,
    number: u64,
    /// The last frame was read.
    ended: Cell<bool>,
}

impl Stream {
    /// The next frame.
    pub async fn next(&self) -> Incoming {
        poll_fn(|cx| {
            let mut streams = self.transport.streams.borrow_mut();
            let Some(state) = streams.get_mut(&self.number) else {
                return Poll::Ready(Incoming::Failed(self.transport.failed.get().unwrap_or(NetError::Closed)));
            };
            match state.incoming.pop_front() {
                Some(incoming) => Poll::Ready(incoming),
                None => {
                    state.waker = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Sends bytes to the program behind the stream; empty bytes end its input.
    pub fn send(&self, data: Rc<[u8]>) -> Result<(), NetError> {
        self.transport.conn.send_as("data", ClientFrame::Data { stream: self.number, data })
    }

    /// The last frame has been read: nothing to cancel.
    pub fn set_ended(&self) {
        self.ended.set(true);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.transport.streams.borrow_mut().remove(&self.number);
        if !self.ended.get() && self.transport.usable() {
            // If it cannot be sent the connection is gone, and the stream with it.
            let _ = self.transport.conn.send_as("cancel", ClientFrame::Cancel { stream: self.number });
        }
    }
}
