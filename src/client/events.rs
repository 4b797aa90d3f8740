//! Events of the events.k8s.io/v1 kind, as the scheduler writes them (client-go `tools/events`): equal events become a
//! series.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::ObjectReference;
use api::events_v1::{Event, EventSeries};
use api::rest::PatchType;
use api::{MicroTime, Ptr, Status};
use sim::Ctx;

use crate::record::EventNames;
use crate::{Causes, Client, klog};

/// Events on their way at once; more are dropped (`maxQueuedEvents`).
const MAX_IN_FLIGHT: usize = 1000;
const MAX_TRIES: u32 = 12;
const SLEEP: Duration = Duration::from_secs(10);
/// An event that did not come again for this long is forgotten, a series closed.
const FINISH: Duration = Duration::from_secs(6 * 60);
/// Series that go on are written again this often, so that they do not expire.
const REFRESH: Duration = Duration::from_secs(30 * 60);

/// Records events of one component. Clones share the series.
#[derive(Clone)]
pub struct EventsV1Recorder {
    inner: Rc<Inner>,
}

struct Inner {
    ctx: Ctx,
    client: Client,
    controller: String,
    instance: String,
    /// Events of the last minutes by all that makes two equal; bounded by [`FINISH`].
    cache: RefCell<BTreeMap<String, Event>>,
    in_flight: Cell<usize>,
    names: EventNames,
}

impl EventsV1Recorder {
    /// A recorder whose events say that `controller` on this machine reports them.
    pub fn new(ctx: &Ctx, client: &Client, controller: &str) -> EventsV1Recorder {
        let inner = Rc::new(Inner {
            ctx: ctx.clone(),
            client: client.clone(),
            controller: controller.into(),
            instance: format!("{controller}-{}", ctx.host_name()),
            cache: RefCell::default(),
            in_flight: Cell::new(0),
            names: EventNames::new(controller),
        });
        let keeper = inner.clone();
        ctx.spawn("event series", async move { keep_series(keeper).await });
        EventsV1Recorder { inner }
    }

    /// Says that something happened to `regarding`, perhaps with a second object. `type_` is `Normal` or `Warning`,
    /// `action` what was tried. Never waits.
    #[expect(clippy::too_many_arguments, reason = "the arguments of client-go's Eventf, and the causes")]
    pub fn eventf(
        &self,
        regarding: &ObjectReference,
        related: Option<&ObjectReference>,
        type_: &str,
        reason: &str,
        action: &str,
        note: &str,
        causes: Causes,
    ) {
        let inner = &self.inner;
        let nanos = inner.ctx.unix_nanos();
        let mut event = Event::default();
        event.metadata.name = inner.names.next(&regarding.name, nanos);
        event.metadata.namespace =
            if regarding.namespace.is_empty() { "default".into() } else { regarding.namespace.clone() };
        event.event_time = MicroTime::from_unix_nanos(nanos);
        event.reporting_controller = inner.controller.as_str().into();
        event.reporting_instance = inner.instance.as_str().into();
        event.action = action.into();
        event.reason = reason.into();
        event.regarding = regarding.clone();
        event.related = related.cloned().map(Ptr::some).unwrap_or_default();
        event.note = note.into();
        event.type_ = type_.into();
        klog::info("Event occurred")
            .obj("object", &regarding.namespace, &regarding.name)
            .str("kind", &regarding.kind)
            .str("apiVersion", &regarding.api_version)
            .str("type", type_)
            .str("reason", reason)
            .str("action", action)
            .str("note", note)
            .log(&inner.ctx, "event_broadcaster.go:337");
        let Some(event) = inner.series(event, nanos) else { return };
        if inner.in_flight.get() >= MAX_IN_FLIGHT {
            return;
        }
        inner.in_flight.set(inner.in_flight.get() + 1);
        let writer = inner.clone();
        inner.ctx.spawn("event", async move {
            writer.attempt(event, &causes).await;
            writer.in_flight.set(writer.in_flight.get().saturating_sub(1));
        });
    }
}

impl Inner {
    /// What to write: the event itself, the begin of its series, or nothing while its series goes on.
    fn series(&self, event: Event, nanos: i64) -> Option<Event> {
        let mut cache = self.cache.borrow_mut();
        let key = key_of(&event);
        let now = MicroTime::from_unix_nanos(nanos);
        let Some(known) = cache.get_mut(&key) else {
            cache.insert(key, event.clone());
            return Some(event);
        };
        if known.series.is_some() {
            let series = known.series.make();
            series.count = series.count.saturating_add(1);
            series.last_observed_time = now;
            return None;
        }
        known.series = Ptr::some(EventSeries { count: 2, last_observed_time: now });
        Some(known.clone())
    }

    async fn attempt(&self, event: Event, causes: &Causes) {
        let client = self.client.caused_by(causes);
        for tries in 1..=MAX_TRIES {
            if self.record(&client, &event).await {
                return;
            }
            if tries == MAX_TRIES {
                klog::error("Unable to write event (retry limit exceeded!)").log(&self.ctx, "event_broadcaster.go:207");
                return;
            }
            let jitter = 1.0 + 0.25 * self.ctx.rng("event retry").f64();
            self.ctx.sleep(SLEEP.mul_f64(jitter)).await;
        }
    }

    /// Writes an event or its series; false if it should be tried again.
    async fn record(&self, client: &Client, event: &Event) -> bool {
        let (namespace, name) = (&event.metadata.namespace, &event.metadata.name);
        let mut result = Err(Status::not_found(("events.k8s.io", "events"), name));
        if let Some(series) = event.series.get() {
            let body = format!(
                r#"{{"series":{{"count":{},"lastObservedTime":"{}"}}}}"#,
                series.count, series.last_observed_time
            );
            result = client.patch::<Event>(namespace, name, PatchType::Strategic, body, "").await;
        }
        if matches!(&result, Err(err) if err.is_not_found()) {
            result = client.create(namespace, event.clone()).await;
        }
        match result {
            Ok(_) => true,
            Err(err) if err.is_transport() => {
                klog::error("Unable to write event (may retry after sleeping)")
                    .err(&err)
                    .log(&self.ctx, "event_broadcaster.go:267");
                false
            }
            // Created by another try meanwhile: the series can be patched then.
            Err(err) if err.is_already_exists() => event.series.is_none(),
            Err(err) => {
                klog::error("Server rejected event (will not retry!)")
                    .err(&err)
                    .obj("event", namespace, name)
                    .log(&self.ctx, "event_broadcaster.go:258");
                true
            }
        }
    }
}

fn key_of(event: &Event) -> String {
    let reference = |r: &ObjectReference| {
        [&*r.kind, &*r.namespace, &*r.name, &*r.uid, &*r.api_version, &*r.resource_version, &*r.field_path].join("\0")
    };
    let related = event.related.get().map(reference).unwrap_or_default();
    [&*event.type_, &*event.action, &*event.reason, &reference(&event.regarding), &related].join("\0")
}

/// Closes series that ended, forgets single events, and writes series that go on once in a while.
async fn keep_series(inner: Rc<Inner>) {
    let mut refreshed = inner.ctx.now();
    loop {
        inner.ctx.sleep(FINISH).await;
        if inner.ctx.now().since(refreshed) >= REFRESH {
            refreshed = inner.ctx.now();
            let running: Vec<Event> = inner.cache.borrow().values().filter(|e| e.series.is_some()).cloned().collect();
            for event in running {
                inner.record(&inner.client, &event).await;
            }
        }
        let finish = i64::try_from(FINISH.as_micros()).unwrap_or(i64::MAX);
        let limit = inner.ctx.unix_nanos().div_euclid(1000).saturating_sub(finish);
        let last = |e: &Event| {
            let at = e.series.get().map_or(e.event_time, |s| s.last_observed_time);
            at.unix_micros().unwrap_or(0)
        };
        let ended: Vec<(String, Event)> = {
            let cache = inner.cache.borrow();
            cache.iter().filter(|(_, e)| last(e) < limit).map(|(k, e)| (k.clone(), e.clone())).collect()
        };
        for (key, event) in ended {
            if event.series.is_none() || inner.record(&inner.client, &event).await {
                inner.cache.borrow_mut().remove(&key);
            }
        }
    }
}
