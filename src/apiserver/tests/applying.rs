//! Managed fields and server-side apply.

use super::*;
use api::List;
use api::core_v1::{Container, Pod};

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

/// What each entry owns, in the words of a real v1.37.2 cluster.
fn owned(fields: &List<api::meta_v1::ManagedFieldsEntry>) -> Vec<(String, String)> {
    let of = |e: &api::meta_v1::ManagedFieldsEntry| {
        let text = e.fields_v1.json().unwrap_or_default().to_string();
        (format!("{} {}", e.manager, e.subresource).trim_end().to_string(), text)
    };
    fields.iter().map(of).collect()
}

const POD_OF_RUN: &str = r#"{"f:metadata":{"f:labels":{".":{},"f:run":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}"#;

#[test]
fn what_admission_and_binding_add_is_nobodys() {
    with_server(|_, mut client, _| async move {
        client.create_json("", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"mf"}}"#).await.unwrap();
        client
            .create_json("mf", r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#)
            .await
            .unwrap();
        client.agent = "kubectl/v1.37.2".into();
        client.write.borrow_mut().field_manager = "kubectl-run".into();
        let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"run":"a"}},"spec":{"containers":[{"name":"a","image":"x","resources":{}}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always"}}"#;
        client.create_json("mf", json).await.unwrap();
        *client.write.borrow_mut() = WriteOptions::default();
        let read = || client.get::<Pod>("mf", "a");
        let kubectls = ("kubectl-run".to_string(), POD_OF_RUN.to_string());
        let pod = read().await.unwrap();
        assert!(!pod.spec.tolerations.is_empty() && !pod.spec.volumes.is_empty());
        assert_eq!(owned(&pod.metadata.managed_fields), [kubectls]);
        // The same of a typed object, which leaves a note only.
        let mut typed = Pod::default();
        let (metadata, spec) = (&mut typed.metadata, typed.spec.make());
        metadata.name = "b".into();
        metadata.labels.insert("run", Str::from("a"));
        spec.containers = [Container { name: "a".into(), image: "x".into(), ..Container::default() }].into();
        let components = Client { agent: "kube-controller-manager/v1.37.2".into(), ..client };
        components.create("mf", typed).await.unwrap();
        let mut binding = api::core_v1::Binding::default();
        binding.metadata.name = "b".into();
        binding.target.kind = "Node".into();
        binding.target.name = "node-1".into();
        let body = Body::Object(Rc::new(binding));
        components.object(Verb::Create, Pod::KIND, ["binding", "mf", "b"], body).await.unwrap();
        let client = Client { agent: "kubectl/v1.37.2".into(), ..components };
        let pod = client.get::<Pod>("mf", "b").await.unwrap();
        assert_eq!(&*pod.spec.node_name, "node-1");
        let manager = "kube-controller-manager".to_string();
        assert_eq!(owned(&pod.metadata.managed_fields), [(manager, POD_OF_RUN.to_string())]);
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

/// What the notes of typed writes work out to is what writes in bytes have in the object at once, whoever writes in
/// whichever order. Values never come back and no map becomes empty: what a writer takes back in its next write leaves
/// no trace in the notes (docs/differences.md).
#[test]
fn fields_worked_out_late_are_those_worked_out_at_once() {
    use api::core_v1::ConfigMap;
    // A server that is new, and has the notes from the store alone.
    let begun = Rc::new(std::cell::Cell::new(false));
    with_second_server(begun.clone(), |ctx, client, _| async move {
        let mut draw = ctx.rng("writes");
        let managers = ["ann", "bob", "controller"];
        let mut value = 0;
        for round in 0..40 {
            let mut wanted = ConfigMap::default();
            let first = (Str::from("first"), Str::from("1"));
            let metadata = &mut wanted.metadata;
            for map in [&mut metadata.labels, &mut metadata.annotations, &mut wanted.data] {
                map.insert(first.0.clone(), first.1.clone());
            }
            for step in 0..8 {
                client.write.borrow_mut().field_manager = managers[draw.below(3) as usize].into();
                for _ in 0..=draw.below(3) {
                    let key = Str::from(format!("k{}", draw.below(4)));
                    let map = match draw.below(3) {
                        0 => &mut wanted.metadata.labels,
                        1 => &mut wanted.metadata.annotations,
                        _ => &mut wanted.data,
                    };
                    value += 1;
                    if draw.chance(0.3) {
                        map.remove(&key);
                    } else {
                        map.insert(key, Str::from(value.to_string()));
                    }
                }
                for kind in ["late", "once"] {
                    let mut object = wanted.clone();
                    object.metadata.name = Str::from(format!("{kind}-{round}"));
                    let (verb, name) = match step {
                        0 => (Verb::Create, Str::default()),
                        _ => (Verb::Update, object.metadata.name.clone()),
                    };
                    let body = match kind {
                        "late" => Body::Object(Rc::new(object)),
                        _ => Body::Bytes(Rc::from(api::json::encode(&object))),
                    };
                    client.object(verb, ConfigMap::KIND, ["", "default", &name], body).await.unwrap();
                }
            }
            let viewer = Client { agent: "kubectl/v1.37".into(), ..Client::new(&ctx).await };
            let (late, once) = (fields(&viewer, "late", round).await, fields(&viewer, "once", round).await);
            assert_eq!(late, once, "round {round}");
            // The second server meets some of the notes when it starts, and follows the others.
            if round == 20 {
                begun.set(true);
            }
        }
        let admin = Client::new(&ctx).await.credential;
        let other = Client { agent: "kubectl/v1.37".into(), ..Client::of(&ctx, SECOND, admin.clone()).await };
        ctx.sleep(sim::Duration::from_secs(2)).await;
        for round in 0..40 {
            let (late, once) = (fields(&other, "late", round).await, fields(&other, "once", round).await);
            assert_eq!(late, once, "round {round}, seen by another server");
        }
        // What one server writes, the other tells.
        let writer = Client::of(&ctx, SECOND, admin).await;
        writer.write.borrow_mut().field_manager = "second".into();
        let mut map = writer.get::<ConfigMap>("default", "late-0").await.unwrap();
        Rc::make_mut(&mut map.body).data.insert(Str::from("second"), Str::from("yes"));
        writer.update("", &map).await.unwrap();
        ctx.sleep(sim::Duration::from_secs(1)).await;
        let viewer = Client { agent: "kubectl/v1.37".into(), ..Client::new(&ctx).await };
        let seen = fields(&viewer, "late", 0).await;
        assert_eq!(seen, fields(&other, "late", 0).await);
        assert!(seen.iter().any(|(manager, fields)| manager == "second" && fields.contains("f:second")), "{seen:?}");
    });
}

/// Who has which fields of a config map, as kubectl sees it.
async fn fields(viewer: &Client, kind: &str, round: i32) -> Vec<(String, String)> {
    let map = viewer.get::<api::core_v1::ConfigMap>("default", &format!("{kind}-{round}")).await.unwrap();
    let entries = map.metadata.managed_fields.iter();
    let mut fields: Vec<(String, String)> = entries
        .map(|entry| {
            let fields = api::json::to_value_bare(entry).get("fieldsV1").cloned().unwrap_or_default();
            (entry.manager.to_string(), fields.to_json())
        })
        .collect();
    fields.sort();
    fields
}
