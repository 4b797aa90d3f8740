//! Kinds that two API groups or versions serve and one store keeps: events and autoscalers.

use api::core_v1::{Event, EventSeries, EventSource};
use api::{AnyRev, KindInfo, Object, Resource};
use std::rc::Rc;

/// The kind under which objects of a kind are stored.
pub fn stored_as(kind: &'static KindInfo) -> &'static KindInfo {
    match (kind.group, kind.kind) {
        ("events.k8s.io", "Event") => Event::KIND,
        ("autoscaling", "HorizontalPodAutoscaler") => api::autoscaling_v2::HorizontalPodAutoscaler::KIND,
        _ => kind,
    }
}

/// An object of a request, as it is stored.
pub fn incoming(object: Box<dyn Object>) -> Box<dyn Object> {
    if let Some(event) = object.downcast_ref::<api::events_v1::Event>() {
        return Box::new(event_in(event));
    }
    if let Some(hpa) = object.downcast_ref::<api::autoscaling_v1::HorizontalPodAutoscaler>() {
        return Box::new(super::autoscalers::incoming(hpa));
    }
    object
}

/// A stored object, as the kind of the request.
pub fn outgoing(kind: &'static KindInfo, object: AnyRev) -> AnyRev {
    let same_group = object.body.kind_info().is_none_or(|stored| stored == kind);
    if same_group {
        return object;
    }
    if kind == api::events_v1::Event::KIND
        && let Some(event) = object.body.downcast_ref::<Event>()
    {
        return AnyRev { revision: object.revision, body: Rc::new(event_out(event)) };
    }
    if kind == api::autoscaling_v1::HorizontalPodAutoscaler::KIND
        && let Some(hpa) = object.body.downcast_ref::<api::autoscaling_v2::HorizontalPodAutoscaler>()
    {
        return AnyRev { revision: object.revision, body: Rc::new(super::autoscalers::outgoing(hpa)) };
    }
    object
}

fn event_in(event: &api::events_v1::Event) -> Event {
    Event {
        metadata: event.metadata.clone(),
        involved_object: event.regarding.clone(),
        reason: event.reason.clone(),
        message: event.note.clone(),
        source: EventSource {
            component: event.deprecated_source.component.clone(),
            host: event.deprecated_source.host.clone(),
        },
        first_timestamp: event.deprecated_first_timestamp,
        last_timestamp: event.deprecated_last_timestamp,
        count: event.deprecated_count,
        type_: event.type_.clone(),
        event_time: event.event_time,
        series: event
            .series
            .get()
            .map(|series| EventSeries { count: series.count, last_observed_time: series.last_observed_time })
            .into(),
        action: event.action.clone(),
        related: event.related.clone(),
        reporting_component: event.reporting_controller.clone(),
        reporting_instance: event.reporting_instance.clone(),
        ..Default::default()
    }
}

fn event_out(event: &Event) -> api::events_v1::Event {
    api::events_v1::Event {
        metadata: event.metadata.clone(),
        regarding: event.involved_object.clone(),
        reason: event.reason.clone(),
        note: event.message.clone(),
        deprecated_source: event.source.clone(),
        deprecated_first_timestamp: event.first_timestamp,
        deprecated_last_timestamp: event.last_timestamp,
        deprecated_count: event.count,
        type_: event.type_.clone(),
        event_time: event.event_time,
        series: event
            .series
            .get()
            .map(|series| api::events_v1::EventSeries {
                count: series.count,
                last_observed_time: series.last_observed_time,
            })
            .into(),
        action: event.action.clone(),
        related: event.related.clone(),
        reporting_controller: event.reporting_component.clone(),
        reporting_instance: event.reporting_instance.clone(),
        ..Default::default()
    }
}
