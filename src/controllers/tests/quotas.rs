//! ResourceQuotas: what is used, as things come and go.

use std::time::Duration;

use api::core_v1::{ConfigMap, Pod, ResourceQuota};
use api::meta_v1::DeleteOptions;
use api::{Map, Quantity};

use super::{World, deployment, with_world};

/// `pods: 2/2`, as the column of `kubectl get quota` has it.
async fn used(w: &World) -> String {
    let quota: api::Rev<ResourceQuota> = w.client.get("default", "caps").await.unwrap();
    let hard = quota.status.hard.iter();
    let parts: Vec<String> = hard
        .map(|(name, hard)| {
            let used = quota.status.used.get(name).map(Quantity::canonical).unwrap_or_default();
            format!("{name}: {used}/{}", hard.canonical())
        })
        .collect();
    parts.join(", ")
}

#[test]
fn what_is_used_follows_what_is_there() {
    with_world(|w| async move {
        w.start_nodes(1).await;
        let mut quota = ResourceQuota::default();
        quota.metadata.name = "caps".into();
        quota.metadata.namespace = "default".into();
        let amount = |text: &str| Quantity::parse(text).unwrap();
        quota.spec.make().hard = Map::from([("count/configmaps", amount("3")), ("pods", amount("2"))]);
        w.client.create("default", quota).await.unwrap();
        w.ctx.sleep(Duration::from_secs(2)).await;
        assert_eq!(used(&w).await, "count/configmaps: 1/3, pods: 0/2");

        let mut map = ConfigMap::default();
        map.metadata.name = "settings".into();
        map.metadata.namespace = "default".into();
        w.client.create("default", map).await.unwrap();
        w.client.create("default", deployment("web", 3, "web:1")).await.unwrap();
        w.eventually("all is used", async |w: &World| used(w).await == "count/configmaps: 2/3, pods: 2/2").await;
        w.ctx.sleep(Duration::from_secs(30)).await;
        assert_eq!(w.list::<Pod>().await.len(), 2);

        w.client.delete::<ConfigMap>("default", "settings", &DeleteOptions::default()).await.unwrap();
        w.eventually("less is used", async |w: &World| used(w).await == "count/configmaps: 1/3, pods: 2/2").await;
    });
}
