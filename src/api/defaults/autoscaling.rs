//! `pkg/apis/autoscaling/v2/defaults.go`

use crate::autoscaling_v2::{
    HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscaler, MetricSpec, MetricTarget, ResourceMetricSource,
};
use crate::{List, OStr, Object, Ptr};

/// The share of the requested cpu that autoscalers without metrics aim at.
const CPU_PERCENT: i32 = 80;
/// Seconds over which a policy counts changes.
const PERIOD: i32 = 15;

pub(super) fn apply(object: &mut dyn Object) -> bool {
    let Some(autoscaler) = object.downcast_mut::<HorizontalPodAutoscaler>() else { return false };
    let spec = &autoscaler.spec;
    let complete =
        |rules: &Ptr<HPAScalingRules>| rules.get().is_some_and(|r| r.select_policy.is_some() && !r.policies.is_nil());
    if spec.min_replicas.is_some()
        && !spec.metrics.is_empty()
        && spec.behavior.get().is_none_or(|b| {
            complete(&b.scale_up)
                && complete(&b.scale_down)
                && b.scale_up.get().is_some_and(|r| r.stabilization_window_seconds.is_some())
        })
    {
        return true;
    }
    let spec = autoscaler.spec.make();
    if spec.min_replicas.is_none() {
        spec.min_replicas = Some(1);
    }
    if spec.metrics.is_empty() {
        let target =
            MetricTarget { type_: "Utilization".into(), average_utilization: Some(CPU_PERCENT), ..Default::default() };
        spec.metrics = List::from([MetricSpec {
            type_: "Resource".into(),
            resource: Ptr::some(ResourceMetricSource { name: "cpu".into(), target }),
            ..Default::default()
        }]);
    }
    if let Some(behavior) = spec.behavior.get_mut() {
        rules(behavior.scale_up.make(), Some(0), &[policy("Pods", 4), policy("Percent", 100)]);
        rules(behavior.scale_down.make(), None, &[policy("Percent", 100)]);
    }
    true
}

fn policy(kind: &str, value: i32) -> HPAScalingPolicy {
    HPAScalingPolicy { type_: kind.into(), value, period_seconds: PERIOD }
}

fn rules(rules: &mut HPAScalingRules, window: Option<i32>, policies: &[HPAScalingPolicy]) {
    if rules.select_policy.is_none() {
        rules.select_policy = OStr::some("Max");
    }
    if rules.stabilization_window_seconds.is_none() {
        rules.stabilization_window_seconds = window;
    }
    if rules.policies.is_nil() {
        rules.policies = policies.to_vec().into();
    }
}
