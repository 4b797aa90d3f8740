//! HorizontalPodAutoscalers.

use super::Related;
use super::writer::{Writer, date};
use crate::print::human::quote;
use crate::value::Value;

/// Describes a HorizontalPodAutoscaler of autoscaling/v2.
pub fn autoscaler(w: &mut Writer, hpa: &Value, related: &Related) {
    let (spec, status) = (hpa.at("spec"), hpa.at("status"));
    w.head(hpa);
    w.put(0, &format!("CreationTimestamp:\t{}\n", date(hpa.str("metadata/creationTimestamp"))));
    let target = spec.at("scaleTargetRef");
    w.put(0, &format!("Reference:\t{}/{}\n", target.str("kind"), target.str("name")));
    w.put(0, "Metrics:\t( current / target )\n");
    let current = status.list("currentMetrics");
    for (i, metric) in spec.list("metrics").iter().enumerate() {
        w.put(1, &format!("{}\n", line(metric, current.get(i).unwrap_or(&Value::Null))));
    }
    let least = spec.at("minReplicas").as_int().map_or("<unset>".to_string(), |n| n.to_string());
    w.put(0, &format!("Min replicas:\t{least}\n"));
    w.put(0, &format!("Max replicas:\t{}\n", spec.int("maxReplicas")));
    if spec.has("behavior") {
        w.put(0, "Behavior:\n");
        direction(w, "Scale Up", spec.at("behavior/scaleUp"));
        direction(w, "Scale Down", spec.at("behavior/scaleDown"));
    }
    w.put(
        0,
        &format!(
            "{} pods:\t{} current / {} desired\n",
            target.str("kind"),
            status.int("currentReplicas"),
            status.int("desiredReplicas")
        ),
    );
    let conditions = status.list("conditions");
    if !conditions.is_empty() {
        w.put(0, "Conditions:\n");
        w.put(1, "Type\tStatus\tReason\tMessage\n");
        w.put(1, "----\t------\t------\t-------\n");
        for c in conditions {
            let cells = [c.str("type"), c.str("status"), c.str("reason"), c.str("message")];
            w.put(1, &format!("{}\n", cells.join("\t")));
        }
    }
    w.events(&related.events);
}

fn line(metric: &Value, current: &Value) -> String {
    let now = |path: &str| current.at(path).as_str().unwrap_or("<unknown>").to_string();
    match metric.str("type") {
        "External" => {
            let m = metric.at("external");
            let name = quote(m.str("metric/name"));
            if m.has("target/averageValue") {
                let now = now("external/current/averageValue");
                format!("{name} (target average value):\t{now} / {}", m.str("target/averageValue"))
            } else {
                format!("{name} (target value):\t{} / {}", now("external/current/value"), m.str("target/value"))
            }
        }
        "Pods" => {
            let m = metric.at("pods");
            let name = quote(m.str("metric/name"));
            format!("{name} on pods:\t{} / {}", now("pods/current/averageValue"), m.str("target/averageValue"))
        }
        "Object" => {
            let m = metric.at("object");
            let of = m.at("describedObject");
            let what = format!("\"{}\" on {}/{} ", m.str("metric/name"), of.str("kind"), of.str("name"));
            if m.str("target/type") == "AverageValue" {
                let now = now("object/current/averageValue");
                format!("{what}(target average value):\t{now} / {}", m.str("target/averageValue"))
            } else {
                format!("{what}(target value):\t{} / {}", now("object/current/value"), m.str("target/value"))
            }
        }
        "Resource" => {
            let m = metric.at("resource");
            resource(&format!("resource {} on pods", m.str("name")), m, current.at("resource/current"))
        }
        "ContainerResource" => {
            let m = metric.at("containerResource");
            let what = format!("resource {} of container \"{}\" on pods", m.str("name"), m.str("container"));
            resource(&what, m, current.at("containerResource/current"))
        }
        other => format!("<unknown metric type {}>", quote(other)),
    }
}

fn resource(what: &str, metric: &Value, current: &Value) -> String {
    if metric.has("target/averageValue") {
        let now = current.at("averageValue").as_str().unwrap_or("<unknown>");
        return format!("{what}:\t{now} / {}", metric.str("target/averageValue"));
    }
    let now = match current.at("averageUtilization").as_int() {
        Some(n) => format!("{n}% ({})", current.at("averageValue").as_str().unwrap_or("0")),
        None => "<unknown>".into(),
    };
    let target = metric.at("target/averageUtilization").as_int().map_or("<auto>".to_string(), |n| format!("{n}%"));
    format!("{what}  (as a percentage of request):\t{now} / {target}")
}

fn direction(w: &mut Writer, title: &str, rules: &Value) {
    if rules.is_null() {
        return;
    }
    w.put(1, &format!("{title}:\n"));
    if let Some(n) = rules.at("stabilizationWindowSeconds").as_int() {
        w.put(2, &format!("Stabilization Window: {n} seconds\n"));
    }
    let policies = rules.list("policies");
    if policies.is_empty() {
        return;
    }
    w.put(2, &format!("Select Policy: {}\n", rules.at("selectPolicy").as_str().unwrap_or("Max")));
    w.put(2, "Policies:\n");
    for p in policies {
        let (value, period) = (p.int("value"), p.int("periodSeconds"));
        w.put(3, &format!("- Type: {}\tValue: {value}\tPeriod: {period} seconds\n", p.str("type")));
    }
}
