//! Managed fields and server-side apply.

use super::*;

const JSON: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2,
"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
"spec":{"containers":[{"name":"nginx","image":"nginx:1.27"}]}}}}"#;

fn managers(deployment: &Deployment) -> Vec<String> {
    let entries = deployment.metadata.managed_fields.iter();
    entries.map(|e| format!("{} {} {}", e.manager, e.operation, e.subresource).trim_end().to_string()).collect()
}

async fn apply(client: &Client, manager: &str, replicas: i32, force: bool) -> Result<Rev<Deployment>, Status> {
    *client.write.borrow_mut() = WriteOptions { field_manager: manager.into(), force, ..Default::default() };
    let json = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{replicas}}}}}"#
    );
    client.patch::<Deployment>("default", "web", PatchType::Apply, &json).await
}

#[test]
fn writers_are_told_apart_and_conflicts_refused() {
    with_server(|_, mut client, _| async move {
        client.agent = "kubectl/v1.37.2".into();
        client.write.borrow_mut().field_manager = "kubectl-create".into();
        client.create_json("default", JSON).await.unwrap();
        let created = client.get::<Deployment>("default", "web").await.unwrap();
        assert_eq!(managers(&created), ["kubectl-create Update"]);
        // A component writes the status, as a typed object.
        let mut changed = created.clone();
        Rc::make_mut(&mut changed.body).status.make().replicas = 2;
        client.agent = "kube-controller-manager/v1.37.2".into();
        *client.write.borrow_mut() = WriteOptions::default();
        let stored = client.update("status", &changed).await.unwrap();
        assert_eq!(managers(&stored), ["kubectl-create Update"]);
        client.agent = "kubectl/v1.37.2".into();
        let seen = client.get::<Deployment>("default", "web").await.unwrap();
        assert_eq!(managers(&seen), ["kube-controller-manager Update status", "kubectl-create Update"]);
        // The fields of another are not taken silently.
        let status = apply(&client, "kubectl", 4, false).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "Apply failed with 1 conflict: conflict with \"kubectl-create\" using apps/v1: .spec.replicas"
        );
        let forced = apply(&client, "kubectl", 4, true).await.unwrap();
        assert_eq!(forced.spec.replicas, Some(4));
        // The same again changes nothing; another manager may say the same.
        let again = apply(&client, "kubectl", 4, false).await.unwrap();
        assert_eq!(again.revision, forced.revision);
        apply(&client, "other", 4, false).await.unwrap();
        let seen = client.get::<Deployment>("default", "web").await.unwrap();
        let mut all = managers(&seen);
        all.sort();
        assert_eq!(
            all,
            ["kube-controller-manager Update status", "kubectl Apply", "kubectl-create Update", "other Apply"]
        );
        let status = apply(&client, "other", 5, false).await.unwrap_err();
        assert_eq!(status.to_string(), "Apply failed with 1 conflict: conflict with \"kubectl\": .spec.replicas");
        let status = apply(&client, "", 5, false).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
        );
    });
}

#[test]
fn an_apply_creates_what_is_not_there() {
    with_server(|_, client, _| async move {
        client.write.borrow_mut().field_manager = "kubectl".into();
        let created = client.patch::<Deployment>("default", "web", PatchType::Apply, JSON).await.unwrap();
        assert_eq!((created.spec.replicas, created.metadata.generation), (Some(2), 1));
        assert_eq!(managers(&created), ["kubectl Apply"]);
        assert_eq!(&*created.spec.strategy.type_, "RollingUpdate");
    });
}
