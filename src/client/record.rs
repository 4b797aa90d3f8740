//! Events of the core/v1 kind, as all components but the scheduler write them (client-go `tools/record`).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::{Event, EventSource, ObjectReference};
use api::rest::PatchType;
use api::{Status, Str, Time};
use sim::Ctx;
use sim::sync::Notify;

use crate::correlator::{Correlated, Correlator};
use crate::{Causes, Client, klog};

/// Events that wait to be written; more are dropped (`maxQueuedEvents`).
const MAX_QUEUED: usize = 1000;
/// Tries to write one event (`maxTriesPerEvent`).
const MAX_TRIES: u32 = 12;
const SLEEP: Duration = Duration::from_secs(10);

/// Takes the events of one component and writes them one after the other. Clones share the queue.
#[derive(Clone)]
pub struct EventRecorder {
    inner: Rc<Inner>,
}

struct Inner {
    ctx: Ctx,
    client: Client,
    source: EventSource,
    /// The `logger` of the lines that say an event occurred; empty for none.
    logger: &'static str,
    queue: RefCell<VecDeque<(Event, Causes)>>,
    queued: Notify,
    names: EventNames,
}

impl EventRecorder {
    /// A recorder whose events have this source, and the task that writes them. `host` is empty unless the component
    /// is one of a node.
    pub fn new(ctx: &Ctx, client: &Client, component: &str, host: &str, logger: &'static str) -> EventRecorder {
        let inner = Rc::new(Inner {
            ctx: ctx.clone(),
            client: client.clone(),
            source: EventSource { component: component.into(), host: host.into() },
            logger,
            queue: RefCell::default(),
            queued: Notify::new(),
            names: EventNames::new(component),
        });
        let writer = inner.clone();
        ctx.spawn("events", async move { write_all(writer).await });
        EventRecorder { inner }
    }

    /// Says that something happened to an object. `type_` is `Normal` or `Warning`. Never waits; when too many events
    /// queue up it is dropped, with a line in the log.
    pub fn event(&self, about: &ObjectReference, type_: &str, reason: &str, message: &str) {
        self.event_caused(about, type_, reason, message, Causes::default());
    }

    /// [`event`](Self::event), with the revisions that led to it.
    pub fn event_caused(&self, about: &ObjectReference, type_: &str, reason: &str, message: &str, causes: Causes) {
        let inner = &self.inner;
        let nanos = inner.ctx.unix_nanos();
        let mut event = make_event(about, &inner.source, type_, reason, message, nanos);
        event.metadata.name = inner.names.next(&about.name, nanos);
        let mut line = klog::info("Event occurred");
        if !inner.logger.is_empty() {
            line = line.str("logger", inner.logger);
        }
        line.obj("object", &about.namespace, &about.name)
            .str("fieldPath", &about.field_path)
            .str("kind", &about.kind)
            .str("apiVersion", &about.api_version)
            .str("type", type_)
            .str("reason", reason)
            .str("message", message)
            .log(&inner.ctx, "event.go:395");
        let mut queue = inner.queue.borrow_mut();
        if queue.len() >= MAX_QUEUED {
            klog::error("Unable to record event: too many queued events, dropped event")
                .obj("event", &event.metadata.namespace, &event.metadata.name)
                .log(&inner.ctx, "event.go:447");
            return;
        }
        queue.push_back((event, causes));
        drop(queue);
        inner.queued.notify();
    }
}

/// Names of events: the object's with the time in nanoseconds. Where virtual time stands still, and another component
/// may speak at the same moment, they differ by as little as real clocks do.
pub(crate) struct EventNames {
    offset: i64,
    last: Cell<i64>,
}

impl EventNames {
    /// The names that one component gives.
    pub fn new(component: &str) -> EventNames {
        let offset = component.bytes().fold(7i64, |h, b| (h * 31 + i64::from(b)) % 997);
        EventNames { offset, last: Cell::new(0) }
    }

    /// A name not given before.
    pub fn next(&self, object: &str, unix_nanos: i64) -> Str {
        let nanos = unix_nanos.saturating_add(self.offset).max(self.last.get().saturating_add(1));
        self.last.set(nanos);
        format!("{object}.{nanos:x}").into()
    }
}

/// The event before it is correlated (`makeEvent`). About a cluster-scoped object it goes to namespace default.
pub(crate) fn make_event(
    about: &ObjectReference,
    source: &EventSource,
    type_: &str,
    reason: &str,
    message: &str,
    unix_nanos: i64,
) -> Event {
    let mut event = Event::default();
    let now = Time::from_unix_nanos(unix_nanos);
    event.metadata.namespace = if about.namespace.is_empty() { "default".into() } else { about.namespace.clone() };
    event.involved_object = about.clone();
    event.reason = reason.into();
    event.message = message.into();
    event.first_timestamp = now;
    event.last_timestamp = now;
    event.count = 1;
    event.type_ = type_.into();
    event.reporting_component = source.component.clone();
    event.reporting_instance = source.host.clone();
    event.source = source.clone();
    event
}

async fn write_all(inner: Rc<Inner>) {
    let mut correlator = Correlator::new();
    let mut rng = inner.ctx.rng(&format!("events {}", inner.source.component));
    loop {
        let queued = inner.queued.notified();
        let Some((event, causes)) = inner.queue.borrow_mut().pop_front() else {
            queued.await;
            continue;
        };
        let correlated = correlator.correlate(event, inner.ctx.unix_nanos());
        if matches!(correlated, Correlated::Skip) {
            continue;
        }
        let client = inner.client.caused_by(&causes);
        for tries in 1..=MAX_TRIES {
            if write_one(&inner, &client, &correlated, &mut correlator).await {
                break;
            }
            if tries == MAX_TRIES {
                klog::error("Unable to write event (retry limit exceeded!)").log(&inner.ctx, "event.go:301");
                break;
            }
            let delay = if tries == 1 { SLEEP.mul_f64(rng.f64()) } else { SLEEP };
            inner.ctx.sleep(delay).await;
        }
    }
}

/// Writes or updates an event; false if it should be tried again.
async fn write_one(inner: &Inner, client: &Client, what: &Correlated, correlator: &mut Correlator) -> bool {
    let (event, update) = match what {
        Correlated::Create(event) => (event, false),
        Correlated::Update(event) => (event, true),
        Correlated::Skip => return true,
    };
    let namespace = &event.metadata.namespace;
    let mut result = Err(Status::not_found(("", "events"), &event.metadata.name));
    if update {
        let body = count_patch(event);
        result = client.patch::<Event>(namespace, &event.metadata.name, PatchType::Strategic, body, "").await;
    }
    // It may have been removed meanwhile.
    if matches!(&result, Err(err) if err.is_not_found()) {
        result = client.create(namespace, event.clone()).await;
    }
    match result {
        Ok(written) => {
            correlator.written(&written);
            true
        }
        Err(err) if err.is_transport() => {
            klog::error("Unable to write event (may retry after sleeping)")
                .err(&err)
                .obj("event", namespace, &event.metadata.name)
                .log(&inner.ctx, "event.go:377");
            false
        }
        Err(err) => {
            if !err.is_already_exists() && !err.has_cause("NamespaceTerminating") {
                klog::error("Server rejected event (will not retry!)")
                    .err(&err)
                    .obj("event", namespace, &event.metadata.name)
                    .log(&inner.ctx, "event.go:368");
            }
            true
        }
    }
}

fn count_patch(event: &Event) -> String {
    let mut message = String::new();
    api::json::write_string(&mut message, &event.message, false);
    let at = event.last_timestamp.to_string();
    if event.message.is_empty() {
        format!(r#"{{"count":{},"lastTimestamp":"{at}"}}"#, event.count)
    } else {
        format!(r#"{{"count":{},"lastTimestamp":"{at}","message":{message}}}"#, event.count)
    }
}

/// What an event is about, for kinds whose type is not at hand.
pub fn object_reference(api_version: &str, kind: &str, namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        resource_version: Str::default(),
        field_path: Str::default(),
    }
}
