//! ResourceQuotas: what is refused, in which words, and what is charged. Expected texts are those of a real cluster.

use super::*;
use api::core_v1::{Namespace, Pod, ResourceQuota, Service, ServiceAccount};

/// A namespace with a quota whose status is as the quota controller would have it for an empty namespace.
async fn team(client: &Client, hard: &str) -> Rev<ResourceQuota> {
    let mut namespace = Namespace::default();
    namespace.metadata.name = "team".into();
    client.create("", namespace).await.unwrap();
    let mut account = ServiceAccount::default();
    account.metadata.name = "default".into();
    client.create("team", account).await.unwrap();
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"ResourceQuota","metadata":{{"name":"caps"}},"spec":{{"hard":{hard}}}}}"#
    );
    let created = client.create_json("team", &json).await.unwrap().downcast::<ResourceQuota>().unwrap();
    let mut quota = (*created.body).clone();
    let status = quota.status.make();
    status.hard = created.spec.hard.clone();
    let zero = api::Quantity::parse("0").unwrap();
    status.used = created.spec.hard.keys().map(|name| (name.clone(), zero.clone())).collect();
    client.update("status", &Rev { revision: created.revision, body: Rc::new(quota) }).await.unwrap()
}
async fn used(client: &Client) -> String {
    let quota = client.get::<ResourceQuota>("team", "caps").await.unwrap();
    quota.status.used.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(" ")
}
fn asking(name: &str, cpu: &str, memory: &str) -> Pod {
    let mut pod = pod(name);
    let requests = [("cpu", cpu), ("memory", memory)].into_iter();
    let requests = requests.map(|(name, amount)| (Str::from(name), api::Quantity::parse(amount).unwrap()));
    pod.spec.make().containers.make()[0].resources.requests = requests.collect();
    pod
}

#[test]
fn pods_are_counted_and_refused() {
    with_server(|_, client, _| async move {
        team(&client, r#"{"pods":"2","requests.cpu":"1","requests.memory":"1Gi"}"#).await;
        let refused = |status: Status| status.to_string();
        assert_eq!(
            client.create("team", pod("a")).await.map(|_| ()).unwrap_err().to_string(),
            "pods \"a\" is forbidden: failed quota: caps: must specify requests.cpu for: nginx; requests.memory for: nginx"
        );
        client.create("team", asking("a", "600m", "128Mi")).await.unwrap();
        assert_eq!(used(&client).await, "pods=1 requests.cpu=600m requests.memory=128Mi");
        assert_eq!(
            refused(client.create("team", asking("b", "600m", "1Gi")).await.map(|_| ()).unwrap_err()),
            "pods \"b\" is forbidden: exceeded quota: caps, requested: requests.cpu=600m,requests.memory=1Gi, used: requests.cpu=600m,requests.memory=128Mi, limited: requests.cpu=1,requests.memory=1Gi"
        );
        client.create("team", asking("b", "100m", "64Mi")).await.unwrap();
        assert_eq!(
            refused(client.create("team", asking("c", "100m", "64Mi")).await.map(|_| ()).unwrap_err()),
            "pods \"c\" is forbidden: exceeded quota: caps, requested: pods=1, used: pods=2, limited: pods=2"
        );
        client.write.borrow_mut().dry_run = true;
        assert!(client.create("team", asking("d", "100m", "64Mi")).await.is_err());
        client.write.borrow_mut().dry_run = false;
        assert_eq!(used(&client).await, "pods=2 requests.cpu=700m requests.memory=192Mi");
    });
}

#[test]
fn a_quota_nobody_has_counted_yet_refuses() {
    with_server(|_, client, _| async move {
        let quota = team(&client, r#"{"count/configmaps":"3","services.nodeports":"1"}"#).await;
        let mut unknown = (*quota.body).clone();
        unknown.status.make().used = Default::default();
        let quota = client.update("status", &Rev { revision: quota.revision, body: Rc::new(unknown) }).await.unwrap();
        let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}"#;
        assert_eq!(
            client.create_json("team", map).await.map(|_| ()).unwrap_err().to_string(),
            "configmaps \"one\" is forbidden: status unknown for quota: caps, resources: count/configmaps"
        );
        // One that is about nothing of the kind doesn't.
        assert_eq!(quota.status.used.len(), 0);
        client.create_json("team", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one"}}"#).await.unwrap();
    });
}

#[test]
fn a_change_is_charged_for_its_difference() {
    with_server(|_, client, _| async move {
        team(&client, r#"{"services":"5","services.nodeports":"1"}"#).await;
        let service = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"ports":[{"name":"a","port":80},{"name":"b","port":81}]}}"#;
        client.create_json("team", service).await.unwrap();
        assert_eq!(used(&client).await, "services=1 services.nodeports=0");
        let patch = r#"{"spec":{"type":"NodePort"}}"#;
        assert_eq!(
            client.patch::<Service>("team", "web", PatchType::Merge, patch).await.map(|_| ()).unwrap_err().to_string(),
            "services \"web\" is forbidden: exceeded quota: caps, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1"
        );
        let patch = r#"{"spec":{"type":"NodePort","ports":[{"name":"a","port":80}]}}"#;
        client.patch::<Service>("team", "web", PatchType::Merge, patch).await.unwrap();
        assert_eq!(used(&client).await, "services=1 services.nodeports=1");
    });
}

#[test]
fn requests_at_the_same_time_share_what_is_left() {
    with_server(|ctx, client, _| async move {
        team(&client, r#"{"count/configmaps":"5"}"#).await;
        let mut tasks = Vec::new();
        for i in 0..12 {
            let (ctx, inner) = (ctx.clone(), ctx.clone());
            tasks.push(ctx.spawn("writer", async move {
                let client = Client::new(&inner).await;
                let map = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"map-{i}"}}}}"#);
                client.create_json("team", &map).await.is_ok()
            }));
        }
        let mut made = 0;
        for task in tasks {
            made += usize::from(task.await.unwrap());
        }
        assert_eq!(made, 5);
        assert_eq!(used(&client).await, "count/configmaps=5");
    });
}
