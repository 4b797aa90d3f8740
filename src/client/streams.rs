//! Answers that go on: watches, logs, programs.

use std::collections::VecDeque;
use std::rc::Rc;

use api::Status;
use api::rest::{Channel, EventType, WatchBody, WatchEvent};
use sim::NetError;

use crate::transport::{Incoming, Stream};

/// An open watch.
pub struct Watch {
    stream: Stream,
    url: String,
    /// Events that came in one frame and were not asked for yet.
    buffered: VecDeque<WatchEvent>,
    over: bool,
}

impl Watch {
    pub(crate) fn new(stream: Stream, url: String) -> Watch {
        Watch { stream, url, buffered: VecDeque::new(), over: false }
    }

    /// The next event; `None` when the server ended the watch, an error when the connection broke or the server says
    /// what is wrong (410 for a revision that is compacted).
    pub async fn next(&mut self) -> Option<Result<WatchEvent, Status>> {
        loop {
            if let Some(event) = self.buffered.pop_front() {
                if event.type_ == EventType::Error {
                    self.over = true;
                    if let WatchBody::Status(status) = event.body {
                        return Some(Err((*status).clone()));
                    }
                    return Some(Err(Status::transport("watch failed")));
                }
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            match self.stream.next().await {
                Incoming::Events(events) => self.buffered.extend(events),
                Incoming::End(_) => {
                    self.stream.set_ended();
                    self.over = true;
                }
                Incoming::Failed(NetError::Closed) => {
                    // A server that goes away in order ends its watches.
                    self.stream.set_ended();
                    self.over = true;
                }
                Incoming::Failed(err) => {
                    self.stream.set_ended();
                    self.over = true;
                    return Some(Err(Status::transport(format!("Get \"{}\": {err}", self.url))));
                }
                Incoming::Response(_) | Incoming::Data(..) => {}
            }
        }
    }

    /// Events that have arrived already, without waiting.
    pub fn buffered(&mut self) -> Option<WatchEvent> {
        if self.buffered.front().is_some_and(|e| e.type_ == EventType::Error) {
            return None;
        }
        self.buffered.pop_front()
    }
}

/// What a stream of bytes brings.
#[derive(Debug, Clone)]
pub enum StreamEvent {
    /// Bytes of a channel.
    Data(Channel, Rc<[u8]>),
    /// The end; a program's Status says how it ended.
    End(Option<Rc<Status>>),
}

/// A log that is followed, or a program with its input and output.
pub struct ByteStream {
    stream: Stream,
    over: bool,
}

impl ByteStream {
    pub(crate) fn new(stream: Stream) -> ByteStream {
        ByteStream { stream, over: false }
    }

    /// The next bytes or the end; after the end, the end again.
    pub async fn next(&mut self) -> Result<StreamEvent, NetError> {
        loop {
            if self.over {
                return Ok(StreamEvent::End(None));
            }
            match self.stream.next().await {
                Incoming::Data(channel, data) => return Ok(StreamEvent::Data(channel, data)),
                Incoming::End(status) => {
                    self.over = true;
                    self.stream.set_ended();
                    return Ok(StreamEvent::End(status));
                }
                Incoming::Failed(err) => {
                    self.over = true;
                    self.stream.set_ended();
                    return Err(err);
                }
                Incoming::Response(_) | Incoming::Events(_) => {}
            }
        }
    }

    /// Sends bytes to the program's input; empty bytes end it.
    pub fn send(&self, data: Rc<[u8]>) -> Result<(), NetError> {
        self.stream.send(data)
    }
}
