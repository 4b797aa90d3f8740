//! Autoscalers of version 1: what their fields have no place for is kept in annotations
//! (pkg/apis/autoscaling/v1/conversion.go).

use api::autoscaling_v1 as v1;
use api::autoscaling_v2 as v2;
use api::json::Value;
use api::meta_v1::LabelSelector;
use api::{Ptr, Quantity, Str};

/// The metric that version 1 has a field for.
const CPU: &str = "cpu";
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const STATUSES: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

fn text(text: &str) -> String {
    Value::from(text).to_json()
}

/// JSON as Go writes a struct: each field behind the one before it, those without a value left out.
fn fields(list: &[(&str, Option<String>)]) -> String {
    let shown = |(name, value): &(&str, Option<String>)| value.as_ref().map(|value| format!("\"{name}\":{value}"));
    format!("{{{}}}", list.iter().filter_map(shown).collect::<Vec<_>>().join(","))
}

fn amount(amount: &Option<Quantity>) -> Option<String> {
    amount.as_ref().map(|amount| text(&amount.to_string()))
}

fn selector(selector: &Ptr<LabelSelector>) -> Option<String> {
    selector.get().map(|selector| api::json::to_value_bare(selector).to_json())
}

/// A metric that is not the CPU's use, in version 1's shape.
fn metric_out(metric: &v2::MetricSpec) -> Option<String> {
    let zero = || Some("\"0\"".to_string());
    let (name, body) = if let Some(pods) = metric.pods.get() {
        let list = [
            ("metricName", Some(text(&pods.metric.name))),
            ("targetAverageValue", amount(&pods.target.average_value).or_else(zero)),
            ("selector", selector(&pods.metric.selector)),
        ];
        ("pods", fields(&list))
    } else if let Some(object) = metric.object.get() {
        let of = &object.described_object;
        let version = (!of.api_version.is_empty()).then(|| text(&of.api_version));
        let target = [("kind", Some(text(&of.kind))), ("name", Some(text(&of.name))), ("apiVersion", version)];
        let list = [
            ("target", Some(fields(&target))),
            ("metricName", Some(text(&object.metric.name))),
            ("targetValue", amount(&object.target.value).or_else(zero)),
            ("selector", selector(&object.metric.selector)),
            ("averageValue", amount(&object.target.average_value)),
        ];
        ("object", fields(&list))
    } else if let Some(external) = metric.external.get() {
        let list = [
            ("metricName", Some(text(&external.metric.name))),
            ("metricSelector", selector(&external.metric.selector)),
            ("targetValue", amount(&external.target.value)),
            ("targetAverageValue", amount(&external.target.average_value)),
        ];
        ("external", fields(&list))
    } else {
        let (field, name, container, target) = match (metric.resource.get(), metric.container_resource.get()) {
            (Some(r), _) if r.name == CPU && r.target.average_utilization.is_some() => return None,
            (Some(r), _) => ("resource", &r.name, None, &r.target),
            (None, Some(r)) => ("containerResource", &r.name, Some(text(&r.container)), &r.target),
            (None, None) => return None,
        };
        let list = [
            ("name", Some(text(name))),
            ("targetAverageUtilization", target.average_utilization.map(|n| n.to_string())),
            ("targetAverageValue", amount(&target.average_value)),
            ("container", container),
        ];
        (field, fields(&list))
    };
    Some(fields(&[("type", Some(text(&metric.type_))), (name, Some(body))]))
}

/// A metric of version 1's shape, as version 2 has it.
fn metric_in(metric: &Value) -> Value {
    let put = |to: &mut Value, path: &[&str], from: Option<&Value>| {
        if let Some(value) = from {
            to.set_at(path, value.clone());
        }
    };
    let mut out = Value::object();
    put(&mut out, &["type"], metric.get("type"));
    for (field, value, average, selector) in [
        ("pods", "", "targetAverageValue", "selector"),
        ("object", "targetValue", "averageValue", "selector"),
        ("external", "targetValue", "targetAverageValue", "metricSelector"),
        ("resource", "", "targetAverageValue", ""),
        ("containerResource", "", "targetAverageValue", ""),
    ] {
        let Some(source) = metric.get(field) else { continue };
        put(&mut out, &[field, "metric", "name"], source.get("metricName"));
        put(&mut out, &[field, "metric", "selector"], source.get(selector));
        put(&mut out, &[field, "name"], source.get("name"));
        put(&mut out, &[field, "container"], source.get("container"));
        put(&mut out, &[field, "describedObject"], source.get("target"));
        let (average, utilization) = (source.get(average), source.get("targetAverageUtilization"));
        // Version 1 can't leave an object's value out.
        let value = source.get(value).filter(|value| average.is_none() || value.as_str() != Some("0"));
        put(&mut out, &[field, "target", "value"], value);
        put(&mut out, &[field, "target", "averageValue"], average);
        put(&mut out, &[field, "target", "averageUtilization"], utilization);
        let kind = match (utilization, average) {
            (Some(_), _) => "Utilization",
            (None, Some(_)) => "AverageValue",
            (None, None) if value.is_some() => "Value",
            (None, None) => "AverageValue",
        };
        out.set_at(&[field, "target", "type"], kind.into());
    }
    out
}

/// The fields of a Go struct without tags, as the API calls them.
fn uncapitalized(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut out = Value::object();
            for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                let (first, rest) = key.split_at(usize::from(!key.is_empty() && key.is_char_boundary(1)));
                out.set(format!("{}{rest}", first.to_ascii_lowercase()), uncapitalized(value));
            }
            out
        }
        Value::Array(list) => Value::from(list.iter().map(uncapitalized).collect::<Vec<_>>()),
        other => other.clone(),
    }
}

/// As it is stored.
pub(super) fn incoming(hpa: &v1::HorizontalPodAutoscaler) -> v2::HorizontalPodAutoscaler {
    let mut metadata = hpa.metadata.clone();
    let mut kept = Value::object();
    let annotation = |name: &str| hpa.metadata.annotations.get(name).and_then(|text| Value::parse(text).ok());
    if let Some(metrics) = annotation(METRICS) {
        let metrics = metrics.as_array().map(|list| list.iter().map(metric_in).collect::<Vec<_>>());
        kept.set("metrics", Value::from(metrics.unwrap_or_default()));
    }
    if let Some(behavior) = annotation(BEHAVIOR) {
        kept.set("behavior", uncapitalized(&behavior));
    }
    let mut spec = v2::HorizontalPodAutoscalerSpec::default();
    if api::json::from_value(&kept, &mut spec, false).is_err() {
        spec = Default::default();
    }
    for name in [METRICS, STATUSES, BEHAVIOR, CONDITIONS] {
        if metadata.annotations.contains_key(name) {
            metadata.annotations.remove(name);
        }
    }
    spec.scale_target_ref = v2::CrossVersionObjectReference {
        kind: hpa.spec.scale_target_ref.kind.clone(),
        name: hpa.spec.scale_target_ref.name.clone(),
        api_version: hpa.spec.scale_target_ref.api_version.clone(),
    };
    spec.min_replicas = hpa.spec.min_replicas;
    spec.max_replicas = hpa.spec.max_replicas;
    if let Some(percentage) = hpa.spec.target_cpu_utilization_percentage {
        spec.metrics.make().push(v2::MetricSpec {
            type_: "Resource".into(),
            resource: v2::ResourceMetricSource {
                name: CPU.into(),
                target: v2::MetricTarget {
                    type_: "Utilization".into(),
                    average_utilization: Some(percentage),
                    ..Default::default()
                },
            }
            .into(),
            ..Default::default()
        });
    }
    v2::HorizontalPodAutoscaler { metadata, spec: spec.into(), ..Default::default() }
}

/// A stored one, as version 1 shows it.
pub(super) fn outgoing(hpa: &v2::HorizontalPodAutoscaler) -> v1::HorizontalPodAutoscaler {
    let mut metadata = hpa.metadata.clone();
    let mut keep = |name: &str, value: String| {
        metadata.annotations.insert(name, Str::from(value));
    };
    let others: Vec<String> = hpa.spec.metrics.iter().filter_map(metric_out).collect();
    if !others.is_empty() {
        keep(METRICS, format!("[{}]", others.join(",")));
    }
    if let Some(behavior) = hpa.spec.behavior.get() {
        keep(BEHAVIOR, api::internal::encode(behavior));
    }
    let conditions = hpa.status.conditions.iter().map(|condition| {
        let some = |value: &Str| (!value.is_empty()).then(|| text(value));
        let time = match condition.last_transition_time.is_zero() {
            true => "null".to_string(),
            false => text(&condition.last_transition_time.to_string()),
        };
        fields(&[
            ("type", Some(text(&condition.type_))),
            ("status", Some(text(&condition.status))),
            ("lastTransitionTime", Some(time)),
            ("reason", some(&condition.reason)),
            ("message", some(&condition.message)),
        ])
    });
    let conditions: Vec<String> = conditions.collect();
    if !conditions.is_empty() {
        keep(CONDITIONS, format!("[{}]", conditions.join(",")));
    }
    let cpu = |r: &&v2::ResourceMetricSource| r.name == CPU && r.target.average_utilization.is_some();
    let target = hpa.spec.metrics.iter().filter_map(|m| m.resource.get()).find(cpu);
    let current = hpa.status.current_metrics.iter().filter_map(|m| m.resource.get()).find(|r| r.name == CPU);
    v1::HorizontalPodAutoscaler {
        metadata,
        spec: v1::HorizontalPodAutoscalerSpec {
            scale_target_ref: v1::CrossVersionObjectReference {
                kind: hpa.spec.scale_target_ref.kind.clone(),
                name: hpa.spec.scale_target_ref.name.clone(),
                api_version: hpa.spec.scale_target_ref.api_version.clone(),
            },
            min_replicas: hpa.spec.min_replicas,
            max_replicas: hpa.spec.max_replicas,
            target_cpu_utilization_percentage: target.and_then(|r| r.target.average_utilization),
        }
        .into(),
        status: v1::HorizontalPodAutoscalerStatus {
            observed_generation: hpa.status.observed_generation,
            last_scale_time: hpa.status.last_scale_time,
            current_replicas: hpa.status.current_replicas,
            desired_replicas: hpa.status.desired_replicas,
            current_cpu_utilization_percentage: current.and_then(|r| r.current.average_utilization),
        }
        .into(),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A real v1.37.2 server's annotations.
    #[test]
    fn what_version_1_has_no_field_for_is_kept() {
        let manifest = r#"{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"v2"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"nope"},"metrics":[{"type":"Pods","pods":{"metric":{"name":"rps","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"AverageValue","averageValue":"10"}}},{"type":"Resource","resource":{"name":"cpu","target":{"type":"AverageValue","averageValue":"100m"}}},{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":60}}},{"type":"Object","object":{"describedObject":{"apiVersion":"v1","kind":"Service","name":"s"},"metric":{"name":"hits"},"target":{"type":"Value","value":"5"}}},{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"AverageValue","averageValue":"3"}}},{"type":"ContainerResource","containerResource":{"container":"c","name":"memory","target":{"type":"Utilization","averageUtilization":60}}},{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":33}}}],"behavior":{"scaleUp":{"stabilizationWindowSeconds":5,"selectPolicy":"Max","policies":[{"type":"Pods","value":4,"periodSeconds":15},{"type":"Percent","value":100,"periodSeconds":15}]},"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}}}}"#;
        let mut stored = v2::HorizontalPodAutoscaler::default();
        api::json::from_value(&Value::parse(manifest).expect("JSON"), &mut stored, true).expect("an autoscaler");
        let shown = outgoing(&stored);
        assert_eq!(shown.spec.target_cpu_utilization_percentage, Some(33));
        assert_eq!(
            shown.metadata.annotations.get(METRICS).map(|text| &**text),
            Some(
                r#"[{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"10","selector":{"matchLabels":{"a":"b"}}}},{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"100m"}},{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}},{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","targetValue":"5"}},{"type":"External","external":{"metricName":"queue","targetAverageValue":"3"}},{"type":"ContainerResource","containerResource":{"name":"memory","targetAverageUtilization":60,"container":"c"}}]"#
            )
        );
        assert_eq!(
            shown.metadata.annotations.get(BEHAVIOR).map(|text| &**text),
            Some(
                r#"{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}"#
            )
        );
        let again = incoming(&shown);
        assert_eq!(again.spec, stored.spec);
        assert!(again.metadata.annotations.is_empty());
    }
}
