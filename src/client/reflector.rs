//! The reflector: lists, then watches, and never leaves a gap (client-go `tools/cache/reflector.go`).

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use api::rest::{EventType, ListOptions, WatchBody};
use api::{AnyRev, Status, Str};
use sim::{Ctx, Instant, Rng};

use crate::Client;
use crate::informer::Shared;
use crate::key::Key;
use crate::klog;

/// A watch ends after five to ten minutes and is opened again where it ended.
const MIN_WATCH_TIMEOUT: i64 = 300;
const BACKOFF_INIT: Duration = Duration::from_millis(800);
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// After this long without a failure the back-off starts over.
const BACKOFF_RESET: Duration = Duration::from_secs(120);
/// Events handled before other tasks get their turn.
const BATCH: usize = 64;

/// Growing, jittered pauses between failures.
struct Backoff {
    next: Duration,
    last: Instant,
}

impl Backoff {
    fn new() -> Backoff {
        Backoff { next: BACKOFF_INIT, last: Instant::ZERO }
    }

    fn delay(&mut self, now: Instant, rng: &mut Rng) -> Duration {
        if now.since(self.last) > BACKOFF_RESET {
            self.next = BACKOFF_INIT;
        }
        self.last = now;
        let delay = self.next.mul_f64(1.0 + rng.f64());
        self.next = (self.next * 2).min(BACKOFF_MAX);
        delay
    }
}

/// Keeps the cache of an informer for as long as the process lives.
pub(crate) async fn run(client: Client, shared: Rc<Shared>) {
    let ctx = client.ctx().clone();
    let stream = format!("reflector {} {} {}", shared.kind.group, shared.kind.plural, shared.options.field_selector);
    let mut reflector = Reflector {
        rng: ctx.rng(&stream),
        ctx: ctx.clone(),
        client,
        type_: format!("*{}.{}", shared.kind.version, shared.kind.kind),
        shared,
        backoff: Backoff::new(),
        expired: false,
        resync_at: None,
    };
    reflector.resync_at = reflector.shared.options.resync.map(|every| ctx.now() + every);
    loop {
        if let Err(err) = reflector.list_and_watch().await {
            reflector.report(&err);
        }
        let delay = reflector.backoff.delay(ctx.now(), &mut reflector.rng);
        ctx.sleep(delay).await;
    }
}

struct Reflector {
    ctx: Ctx,
    client: Client,
    shared: Rc<Shared>,
    rng: Rng,
    backoff: Backoff,
    type_: String,
    /// The server no longer knows the revision we had: list the newest state.
    expired: bool,
    resync_at: Option<Instant>,
}

/// How a watch ended.
enum Ended {
    /// In order: open another from where it was.
    Normally,
    /// The state must be listed again.
    Relist,
}

impl Reflector {
    fn report(&self, err: &Status) {
        if err.is_expired() {
            klog::info("Watch closed")
                .str("reflector", self.shared.options.name)
                .str("type", &self.type_)
                .err(err)
                .log(&self.ctx, "reflector.go:221");
        } else {
            klog::error("Failed to watch")
                .err(err)
                .str("logger", "UnhandledError")
                .str("reflector", self.shared.options.name)
                .str("type", &self.type_)
                .log(&self.ctx, "reflector.go:227");
        }
    }

    async fn list_and_watch(&mut self) -> Result<(), Status> {
        let revision = self.shared.store.borrow().revision;
        if revision == 0 || self.expired {
            // Boxed, as it is over soon and the watch goes on.
            Box::pin(self.list()).await?;
        }
        loop {
            match self.watch().await? {
                Ended::Normally => {}
                Ended::Relist => return Ok(()),
            }
        }
    }

    fn options(&self) -> ListOptions {
        ListOptions {
            label_selector: self.shared.options.label_selector.clone(),
            field_selector: self.shared.options.field_selector.clone(),
            ..ListOptions::default()
        }
    }

    async fn list(&mut self) -> Result<(), Status> {
        let mut options = self.options();
        // Any recent state will do at first; after an expired revision only the newest.
        options.resource_version = if self.expired { Str::default() } else { "0".into() };
        let namespace = self.shared.options.namespace.clone();
        let list = match self.client.list_kind(self.shared.kind, &namespace, &options).await {
            Ok(list) => list,
            Err(err) => {
                let message = format!("failed to list {}: {err}", self.type_);
                return Err(if err.is_transport() { Status::transport(message) } else { err.with_message(message) });
            }
        };
        self.expired = false;
        self.replace(list.items, list.revision).await;
        klog::info("Caches populated")
            .str("type", &self.type_)
            .str("reflector", self.shared.options.name)
            .log(&self.ctx, "reflector.go:446");
        self.shared.set_synced();
        Ok(())
    }

    /// Makes the cache equal to a list.
    async fn replace(&mut self, items: Vec<AnyRev>, revision: u64) {
        let listed: BTreeSet<Key> = items.iter().filter_map(|o| o.metadata().map(Key::of)).collect();
        let gone: Vec<Key> = self.shared.store.borrow().keys().into_iter().filter(|k| !listed.contains(k)).collect();
        for (i, object) in items.into_iter().enumerate() {
            self.shared.upsert(object);
            if i % BATCH == BATCH - 1 {
                self.ctx.yield_now().await;
            }
        }
        for key in gone {
            self.shared.remove(&key, None);
        }
        self.shared.store.borrow_mut().revision = revision;
    }

    async fn watch(&mut self) -> Result<Ended, Status> {
        let mut options = self.options();
        options.resource_version = self.shared.store.borrow().revision.to_string().into();
        let jitter = (self.rng.f64() * MIN_WATCH_TIMEOUT as f64) as i64;
        options.timeout_seconds = Some(MIN_WATCH_TIMEOUT + jitter);
        options.allow_watch_bookmarks = true;
        let namespace = self.shared.options.namespace.clone();
        let mut watch = match self.client.watch_kind(self.shared.kind, &namespace, options).await {
            Ok(watch) => watch,
            Err(err) if err.is_expired() => {
                self.expired = true;
                return Err(err);
            }
            Err(err) if err.is_transport() || err.is_too_many_requests() || err.is_internal() => {
                klog::info("Watch failed - backing off")
                    .str("reflector", self.shared.options.name)
                    .str("type", &self.type_)
                    .err(&err)
                    .log(&self.ctx, "reflector.go:554");
                let delay = self.backoff.delay(self.ctx.now(), &mut self.rng);
                self.ctx.sleep(delay).await;
                return Ok(Ended::Normally);
            }
            Err(err) => return Err(err),
        };
        let mut handled = 0;
        loop {
            let next = match self.resync_at {
                None => watch.next().await,
                Some(at) => {
                    let left = at.since(self.ctx.now());
                    match self.ctx.timeout(left, watch.next()).await {
                        Ok(next) => next,
                        Err(_) => {
                            klog::info("Forcing resync")
                                .str("reflector", self.shared.options.name)
                                .log(&self.ctx, "reflector.go:527");
                            self.shared.resync();
                            self.resync_at = self.shared.options.resync.map(|every| self.ctx.now() + every);
                            continue;
                        }
                    }
                }
            };
            let event = match next {
                None => return Ok(Ended::Normally),
                Some(Ok(event)) => event,
                Some(Err(err)) if err.is_expired() => {
                    self.expired = true;
                    klog::info("Watch closed")
                        .str("reflector", self.shared.options.name)
                        .str("type", &self.type_)
                        .err(&err)
                        .log(&self.ctx, "reflector.go:600");
                    return Ok(Ended::Relist);
                }
                Some(Err(err)) if err.is_transport() => return Ok(Ended::Normally),
                Some(Err(err)) => {
                    klog::info("Warning: watch ended with error")
                        .str("reflector", self.shared.options.name)
                        .str("type", &self.type_)
                        .err(&err)
                        .log(&self.ctx, "reflector.go:613");
                    return Ok(Ended::Relist);
                }
            };
            self.handle(event.type_, event.body);
            handled += 1;
            if handled % BATCH == 0 {
                self.ctx.yield_now().await;
            }
        }
    }

    fn handle(&mut self, type_: EventType, body: WatchBody) {
        match (type_, body) {
            (EventType::Added | EventType::Modified, WatchBody::Object(object)) => {
                let revision = object.revision;
                self.reached(revision);
                self.shared.upsert(object);
            }
            (EventType::Deleted, WatchBody::Object(object)) => {
                self.reached(object.revision);
                if let Some(key) = object.metadata().map(Key::of) {
                    self.shared.remove(&key, Some(object));
                }
            }
            (EventType::Bookmark, WatchBody::Bookmark(revision, _)) => self.reached(revision),
            _ => {}
        }
    }

    fn reached(&self, revision: u64) {
        let mut store = self.shared.store.borrow_mut();
        store.revision = store.revision.max(revision);
    }
}
