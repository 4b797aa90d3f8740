//! PodDisruptionBudgets: what they count, and what an eviction makes of it.

use std::time::Duration;

use api::core_v1::{Event, Pod};
use api::meta_v1::LabelSelector;
use api::policy_v1::{Eviction, PodDisruptionBudget};
use api::{IntOrString, Map, Ptr, Resource};

use super::{World, deployment, with_world};

fn budget(name: &str, min: Option<IntOrString>, max: Option<IntOrString>) -> PodDisruptionBudget {
    let mut budget = PodDisruptionBudget::default();
    budget.metadata.name = name.into();
    budget.metadata.namespace = "default".into();
    let spec = budget.spec.make();
    spec.min_available = min;
    spec.max_unavailable = max;
    spec.selector = Ptr::some(LabelSelector { match_labels: Map::from([("app", "web".into())]), ..Default::default() });
    budget
}

async fn get(w: &World, name: &str) -> api::Rev<PodDisruptionBudget> {
    w.client.get("default", name).await.unwrap()
}

async fn evict(w: &World, pod: &str) -> Result<(), api::Status> {
    let mut eviction = Eviction::default();
    eviction.metadata.name = pod.into();
    eviction.metadata.namespace = "default".into();
    w.client.create_kind(Pod::KIND, "default", pod, "eviction", std::rc::Rc::new(eviction)).await.map(drop)
}

/// As the recorded drain has it: three of three allow nothing, two of three allow one, half may be away.
#[test]
fn a_budget_counts_and_an_eviction_spends() {
    with_world(|w| async move {
        w.start_nodes(3).await;
        w.client.create("default", deployment("web", 3, "web:1")).await.unwrap();
        w.client.create("default", budget("web", Some(3.into()), None)).await.unwrap();
        w.eventually("all three healthy", async |w: &World| get(w, "web").await.status.current_healthy == 3).await;
        let full = get(&w, "web").await;
        assert_eq!(
            (full.status.disruptions_allowed, full.status.desired_healthy, full.status.expected_pods),
            (0, 3, 3)
        );
        let condition = full.status.conditions.first().unwrap();
        assert_eq!(
            (&*condition.type_, &*condition.status, &*condition.reason),
            ("DisruptionAllowed", "False", "InsufficientPods")
        );
        let pod = w.list::<Pod>().await.first().unwrap().metadata.name.clone();
        let err = evict(&w, &pod).await.unwrap_err();
        assert_eq!(err.message, "Cannot evict pod as it would violate the pod's disruption budget.");

        let mut fewer = (*full).clone();
        fewer.spec.make().min_available = Some(2.into());
        w.client.update(fewer, full.revision).await.unwrap();
        w.eventually("one may go", async |w: &World| get(w, "web").await.status.disruptions_allowed == 1).await;
        evict(&w, &pod).await.unwrap();
        assert_eq!(get(&w, "web").await.status.disruptions_allowed, 0);
        w.eventually("three again", async |w: &World| {
            let status = get(w, "web").await.status.clone();
            status.current_healthy == 3 && status.disruptions_allowed == 1 && status.disrupted_pods.is_empty()
        })
        .await;

        w.client.create("default", budget("half", None, Some("50%".into()))).await.unwrap();
        w.eventually("two may go", async |w: &World| get(w, "half").await.status.disruptions_allowed == 2).await;
    });
}

#[test]
fn pods_that_nobody_owns_are_told_of_and_a_stale_announcement_is_taken_back() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        let mut pod = Pod::default();
        pod.metadata.name = "bare".into();
        pod.metadata.namespace = "default".into();
        pod.metadata.labels = Map::from([("app", "web".into())]);
        pod.spec = deployment("web", 1, "web:1").spec.template.spec.clone();
        w.client.create("default", pod).await.unwrap();
        w.client.create("default", budget("half", None, Some("50%".into()))).await.unwrap();
        w.eventually("the event", async |w: &World| {
            w.list::<Event>().await.iter().any(|e| {
                e.reason == "UnmanagedPods"
                    && e.message.starts_with(
                        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]\
                         string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged.",
                    )
            })
        })
        .await;
        w.eventually("running", async |w: &World| {
            w.client.get::<Pod>("default", "bare").await.is_ok_and(|p| p.status.phase == "Running")
        })
        .await;
        let pod = w.client.get::<Pod>("default", "bare").await.unwrap();
        let mut announced = (*pod).clone();
        announced.status.make().conditions.push(api::core_v1::PodCondition {
            type_: "DisruptionTarget".into(),
            status: "True".into(),
            reason: "PreemptionByScheduler".into(),
            last_transition_time: w.now(),
            ..Default::default()
        });
        w.client.update_status(announced, pod.revision).await.unwrap();
        let target = async |w: &World| {
            let pod = w.client.get::<Pod>("default", "bare").await.unwrap();
            pod.status.conditions.iter().find(|c| c.type_ == "DisruptionTarget").map(|c| c.status.to_string())
        };
        w.ctx.sleep(Duration::from_secs(110)).await;
        assert_eq!(target(&w).await.as_deref(), Some("True"));
        w.ctx.sleep(Duration::from_secs(15)).await;
        assert_eq!(target(&w).await.as_deref(), Some("False"));
    });
}
