//! Owners, dependents, namespaces.

use api::OStr;
use api::apps_v1::{Deployment, ReplicaSet};
use api::core_v1::{ConfigMap, Namespace, Pod, ServiceAccount};
use api::meta_v1::DeleteOptions;

use super::{World, deployment, with_world};

fn policy(name: &str) -> DeleteOptions {
    DeleteOptions { propagation_policy: OStr::some(name), ..Default::default() }
}

async fn running(w: &World) {
    w.start_nodes(3).await;
    w.client.create("default", deployment("web", 2, "nginx:1.27")).await.unwrap();
    w.eventually("two running", async |w: &World| {
        w.list::<Pod>().await.iter().filter(|p| p.status.phase == "Running").count() == 2
    })
    .await;
}

#[test]
fn background_deletion_takes_the_dependents_along() {
    with_world(|w| async move {
        running(&w).await;
        w.client.delete::<Deployment>("default", "web", &policy("Background")).await.unwrap();
        assert!(w.client.get::<Deployment>("default", "web").await.is_err_and(|e| e.is_not_found()));
        w.eventually("nothing left", async |w: &World| {
            w.list::<ReplicaSet>().await.is_empty() && w.list::<Pod>().await.is_empty()
        })
        .await;
    });
}

#[test]
fn foreground_deletion_waits_for_them() {
    with_world(|w| async move {
        running(&w).await;
        w.client.delete::<Deployment>("default", "web", &policy("Foreground")).await.unwrap();
        let marked = w.client.get::<Deployment>("default", "web").await.unwrap();
        assert!(marked.metadata.finalizers.iter().any(|f| *f == "foregroundDeletion"));
        w.eventually("nothing left", async |w: &World| {
            let gone = w.client.get::<Deployment>("default", "web").await.is_err();
            if gone {
                assert!(w.list::<ReplicaSet>().await.is_empty() && w.list::<Pod>().await.is_empty());
            }
            gone
        })
        .await;
    });
}

#[test]
fn orphans_stay_and_are_adopted() {
    with_world(|w| async move {
        running(&w).await;
        w.client.delete::<Deployment>("default", "web", &policy("Orphan")).await.unwrap();
        w.eventually("the deployment gone", async |w: &World| {
            w.client.get::<Deployment>("default", "web").await.is_err()
        })
        .await;
        let rs = w.list::<ReplicaSet>().await;
        assert_eq!(rs.len(), 1);
        assert!(rs[0].metadata.owner_references.is_empty());
        w.client.create("default", deployment("web", 2, "nginx:1.27")).await.unwrap();
        w.eventually("adoption", async |w: &World| {
            let rs = w.list::<ReplicaSet>().await;
            assert_eq!(rs.len(), 1);
            rs[0].metadata.owner_references.len() == 1
        })
        .await;
    });
}

#[test]
fn a_namespace_is_filled_and_emptied() {
    with_world(|w| async move {
        let mut namespace = Namespace::default();
        namespace.metadata.name = "team".into();
        w.client.create("", namespace).await.unwrap();
        w.eventually("its account and CA", async |w: &World| {
            w.client.get::<ServiceAccount>("team", "default").await.is_ok()
                && w.client.get::<ConfigMap>("team", "kube-root-ca.crt").await.is_ok()
        })
        .await;
        let mut map = ConfigMap::default();
        map.metadata.name = "own".into();
        map.metadata.finalizers = [api::Str::from("example.com/keep")].into_iter().collect();
        w.client.create("team", map).await.unwrap();
        w.client.delete::<Namespace>("", "team", &Default::default()).await.unwrap();
        w.eventually("the remaining content", async |w: &World| {
            let n = w.client.get::<Namespace>("", "team").await.unwrap();
            let mut conditions = n.status.conditions.iter().filter(|c| c.status == "True").map(|c| c.message.clone());
            let remaining = conditions.next().unwrap_or_default();
            remaining == "Some resources are remaining: configmaps. has 1 resource instances"
        })
        .await;
        let kept = w.client.get::<ConfigMap>("team", "own").await.unwrap();
        let mut free = (*kept).clone();
        free.metadata.finalizers = Default::default();
        w.client.update(free, kept.revision).await.unwrap();
        w.eventually("the namespace gone", async |w: &World| {
            w.client.get::<Namespace>("", "team").await.is_err_and(|e| e.is_not_found())
        })
        .await;
    });
}

fn map(name: &str, owners: &[&api::Rev<ConfigMap>], blocks: bool) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = name.into();
    map.metadata.namespace = "default".into();
    let reference = |owner: &&api::Rev<ConfigMap>| api::meta_v1::OwnerReference {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        name: owner.metadata.name.clone(),
        uid: owner.metadata.uid.clone(),
        block_owner_deletion: blocks.then_some(true),
        ..Default::default()
    };
    map.metadata.owner_references = owners.iter().map(reference).collect();
    map
}

#[test]
fn an_object_of_two_owners_goes_with_the_last_of_them() {
    with_world(|w| async move {
        let a = w.client.create("default", map("a", &[], false)).await.unwrap();
        let b = w.client.create("default", map("b", &[], false)).await.unwrap();
        w.client.create("default", map("child", &[&a, &b], false)).await.unwrap();
        let child = async |w: &World| w.client.get::<ConfigMap>("default", "child").await;
        w.client.delete::<ConfigMap>("default", "a", &policy("Background")).await.unwrap();
        w.eventually("one owner less", async |w: &World| {
            child(w).await.is_ok_and(|c| c.metadata.owner_references.len() == 1)
        })
        .await;
        w.client.delete::<ConfigMap>("default", "b", &policy("Background")).await.unwrap();
        w.eventually("gone", async |w: &World| child(w).await.is_err_and(|e| e.is_not_found())).await;
    });
}

#[test]
fn owners_in_a_circle_that_are_deleted_in_the_foreground_all_go() {
    with_world(|w| async move {
        let a = w.client.create("default", map("a", &[], true)).await.unwrap();
        let b = w.client.create("default", map("b", &[&a], true)).await.unwrap();
        let mut closed = (*a).clone();
        closed.metadata.owner_references = map("a", &[&b], true).metadata.owner_references;
        w.client.update(closed, a.revision).await.unwrap();
        w.ctx.sleep(std::time::Duration::from_secs(2)).await;
        w.client.delete::<ConfigMap>("default", "a", &policy("Foreground")).await.unwrap();
        w.eventually("both gone", async |w: &World| {
            let left = w.list::<ConfigMap>().await;
            !left.iter().any(|m| matches!(&*m.metadata.name, "a" | "b"))
        })
        .await;
    });
}

/// An owner that never was: what names it is garbage.
#[test]
fn what_names_an_owner_that_is_not_there_goes() {
    with_world(|w| async move {
        let a = w.client.create("default", map("a", &[], false)).await.unwrap();
        let mut child = map("child", &[&a], false);
        for reference in child.metadata.owner_references.make() {
            reference.uid = "00000000-0000-0000-0000-000000000000".into();
        }
        w.client.create("default", child).await.unwrap();
        w.eventually("gone", async |w: &World| {
            w.client.get::<ConfigMap>("default", "child").await.is_err_and(|e| e.is_not_found())
        })
        .await;
        assert!(w.client.get::<ConfigMap>("default", "a").await.is_ok());
    });
}
