//! Autoscalers without a metrics API.

use api::List;
use api::apps_v1::Deployment;
use api::autoscaling_v2::{CrossVersionObjectReference, HorizontalPodAutoscaler, MetricSpec};
use api::core_v1::Event;

use super::{World, deployment, with_world};

#[test]
fn the_fewest_replicas_are_kept_and_the_missing_metrics_told() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        w.client.create("default", deployment("d", 1, "web:1")).await.unwrap();
        let mut hpa = HorizontalPodAutoscaler::default();
        hpa.metadata.name = "d".into();
        hpa.metadata.namespace = "default".into();
        let spec = hpa.spec.make();
        (spec.min_replicas, spec.max_replicas) = (Some(2), 5);
        spec.scale_target_ref =
            CrossVersionObjectReference { kind: "Deployment".into(), name: "d".into(), api_version: "apps/v1".into() };
        let mut metric = MetricSpec { type_: "Resource".into(), ..Default::default() };
        let source = metric.resource.make();
        source.name = "cpu".into();
        source.target.type_ = "Utilization".into();
        source.target.average_utilization = Some(50);
        spec.metrics = List::from(vec![metric]);
        w.client.create("default", hpa).await.unwrap();
        w.ctx.sleep(std::time::Duration::from_secs(2)).await;
        let deployment: api::Rev<Deployment> = w.client.get("default", "d").await.unwrap();
        assert_eq!(deployment.spec.replicas, Some(2));
        let events = w.list::<Event>().await;
        let said = |reason: &str| events.iter().find(|e| e.reason == reason).map(|e| e.message.to_string());
        assert_eq!(
            said("SuccessfulRescale").as_deref(),
            Some("New size: 2; reason: Current number of replicas below Spec.MinReplicas")
        );
        w.eventually("it asked for metrics", async |w: &World| {
            w.list::<Event>().await.iter().any(|e| e.reason == "FailedComputeMetricsReplicas")
        })
        .await;
        let events = w.list::<Event>().await;
        let said = |reason: &str| events.iter().find(|e| e.reason == reason).map(|e| e.message.to_string());
        let why = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from \
            resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
        assert_eq!(said("FailedGetResourceMetric").as_deref(), Some(why));
        let all = format!(
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: {why}"
        );
        assert_eq!(said("FailedComputeMetricsReplicas"), Some(all));
        let hpa: api::Rev<HorizontalPodAutoscaler> = w.client.get("default", "d").await.unwrap();
        let conditions: Vec<String> =
            hpa.status.conditions.iter().map(|c| format!("{}={} {}", c.type_, c.status, c.reason)).collect();
        assert_eq!(conditions, ["AbleToScale=True SucceededGetScale", "ScalingActive=False FailedGetResourceMetric"]);
    });
}
