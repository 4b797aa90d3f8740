//! watch: what becomes of a collection, from the cache's ring of events.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use api::rest::{EventType, ListOptions, WatchBody, WatchEvent};
use api::{AnyRev, Status};
use sim::Instant;

use super::Call;
use super::list::{Filter, check_options, parse_resource_version};
use crate::cache::{ChangeKind, Event, Watcher};
use crate::errors;

/// How often a watcher that wants bookmarks gets one.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// `--min-request-timeout`: a watch without a timeout of its own ends after one to two times this.
const MIN_TIMEOUT_SECONDS: u32 = 1800;
/// Bound of the events that one frame carries.
const BATCH: usize = 512;

/// An open watch.
pub struct Watch {
    call: Rc<Call>,
    filter: Filter,
    watcher: Rc<Watcher>,
    /// What is to be sent before the events: the initial state.
    initial: VecDeque<WatchEvent>,
    bookmarks: Option<Instant>,
    ends: Instant,
    /// The revision up to which all was sent.
    sent: u64,
    failed: bool,
}

impl Call {
    /// Opens the watch that the request asks for.
    pub async fn watch(self: Rc<Call>, options: &ListOptions) -> Result<Watch, Status> {
        check_options(options, true)?;
        let filter = Filter::parse(&self, options)?;
        let version = parse_resource_version(&options.resource_version).map_err(errors::plain)?;
        let server = self.server.clone();
        let initial_asked = options.send_initial_events == Some(true);
        if !server.cache.ready() {
            server.cache.reached(0).await;
        }
        if initial_asked && version.is_none() {
            // A streaming list is consistent: it waits for the store's revision.
            let revision = server.storage.revision().await.map_err(errors::store)?;
            server.cache.reached(revision).await;
        }
        let scope = filter.scope(&self);
        let cache = server.cache.resource(self.resource().index);
        let with_initial = match version {
            None | Some(0) => options.send_initial_events != Some(false),
            Some(_) => initial_asked,
        };
        if with_initial && let Some(revision) = version {
            server.cache.reached(revision).await;
        }
        let since = match version {
            Some(revision) if revision != 0 && !with_initial => revision,
            _ => server.cache.revision(),
        };
        let watcher = cache
            .watch(scope, since)
            .map_err(|oldest| Status::expired(format!("too old resource version: {since} ({oldest})")))?;
        let mut initial = VecDeque::new();
        if with_initial {
            cache.each(&filter.namespace, |object| {
                if filter.matches(&*object.body) {
                    initial.push_back(WatchEvent {
                        type_: EventType::Added,
                        body: WatchBody::Object(self.outgoing(object.clone())),
                    });
                }
            });
            if initial_asked && options.allow_watch_bookmarks {
                initial.push_back(WatchEvent {
                    type_: EventType::Bookmark,
                    body: WatchBody::Bookmark(server.cache.revision(), true),
                });
            }
        }
        let now = server.ctx.now();
        let seconds = match options.timeout_seconds {
            Some(seconds) if seconds > 0 => u64::try_from(seconds).unwrap_or(u64::from(MIN_TIMEOUT_SECONDS)),
            _ => u64::from(MIN_TIMEOUT_SECONDS + server.draw.borrow_mut().below(MIN_TIMEOUT_SECONDS)),
        };
        Ok(Watch {
            filter,
            watcher,
            initial,
            bookmarks: options.allow_watch_bookmarks.then(|| now + BOOKMARK_EVERY),
            ends: now + Duration::from_secs(seconds),
            sent: since,
            failed: false,
            call: self,
        })
    }
}

impl Watch {
    /// The next events, at least one; none at the end.
    pub async fn next(&mut self) -> Option<Vec<WatchEvent>> {
        if !self.initial.is_empty() {
            let count = self.initial.len().min(BATCH);
            return Some(self.initial.drain(..count).collect());
        }
        if self.failed {
            return None;
        }
        loop {
            let woken = self.watcher.woken();
            let events = self.ready();
            if !events.is_empty() {
                return Some(events);
            }
            if self.watcher.ended() {
                return None;
            }
            let ctx = self.call.server.ctx.clone();
            let deadline = self.bookmarks.map_or(self.ends, |at| at.min(self.ends));
            let wait = deadline.since(ctx.now());
            if ctx.timeout(wait, woken).await.is_ok() {
                continue;
            }
            let now = ctx.now();
            if now >= self.ends {
                return None;
            }
            if self.bookmarks.is_some_and(|at| now >= at) {
                self.bookmarks = Some(now + BOOKMARK_EVERY);
                self.sent = self.call.server.cache.revision();
                return Some(vec![WatchEvent {
                    type_: EventType::Bookmark,
                    body: WatchBody::Bookmark(self.sent, false),
                }]);
            }
        }
    }

    /// Whether it was cut off because the cache began anew.
    pub fn cut_off(&self) -> bool {
        self.watcher.ended()
    }

    fn ready(&mut self) -> Vec<WatchEvent> {
        let mut events = Vec::new();
        while events.len() < BATCH
            && let Some(event) = self.watcher.pop()
        {
            self.sent = event.revision;
            events.extend(self.translate(&event));
        }
        events
    }

    /// What an event is to this watcher: an object may come into and go out of its sight.
    fn translate(&self, event: &Event) -> Option<WatchEvent> {
        let (type_, object) = if self.filter.is_everything() {
            match event.kind {
                ChangeKind::Added => (EventType::Added, event.object.clone()),
                ChangeKind::Modified => (EventType::Modified, event.object.clone()),
                ChangeKind::Deleted => (EventType::Deleted, event.object.clone()),
            }
        } else {
            let now = event.kind != ChangeKind::Deleted && self.filter.matches(&*event.object.body);
            let before = event.previous.as_deref().filter(|previous| self.filter.matches(*previous));
            match (before, now) {
                (None, true) => (EventType::Added, event.object.clone()),
                (Some(_), true) => (EventType::Modified, event.object.clone()),
                (Some(_), false) => {
                    let last = event.previous.clone().unwrap_or_else(|| event.object.body.clone());
                    (EventType::Deleted, AnyRev { revision: event.revision, body: last })
                }
                (None, false) => return None,
            }
        };
        Some(WatchEvent { type_, body: WatchBody::Object(self.call.outgoing(object)) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.call.server.cache.resource(self.call.resource).unwatch(&self.watcher);
    }
}
