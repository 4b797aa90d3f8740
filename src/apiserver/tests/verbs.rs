//! get, list, create, update, delete of all kinds, table-driven where they are alike.

use super::*;
use api::core_v1::{ConfigMap, Namespace, Node, Pod, Service};

fn config_map(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = name.into();
    object.data.insert(Str::from("a"), Str::from("1"));
    object
}

#[test]
fn starts_with_what_every_cluster_has() {
    with_server(|_, client, _| async move {
        let names = |list: ObjectList| -> Vec<String> {
            list.items.iter().map(|object| metadata(object).name.to_string()).collect()
        };
        let namespaces = client.list(Namespace::KIND, "", Default::default()).await.unwrap();
        assert_eq!(names(namespaces), ["default", "kube-node-lease", "kube-public", "kube-system"]);
        let service = client.get::<Service>("default", "kubernetes").await.unwrap();
        assert_eq!(&*service.spec.cluster_ip, "10.96.0.1");
        let roles = client.list(api::rbac_v1::ClusterRole::KIND, "", Default::default()).await.unwrap();
        assert_eq!(roles.items.len(), 73);
        let addresses = client.list(api::networking_v1::IPAddress::KIND, "", Default::default()).await.unwrap();
        assert_eq!(names(addresses), ["10.96.0.1"]);
        let leases = client.list(api::coordination_v1::Lease::KIND, "kube-system", Default::default()).await.unwrap();
        assert_eq!(leases.items.len(), 1);
    });
}

#[test]
fn every_kind_can_be_created_read_listed_and_deleted() {
    with_server(|_, client, server| async move {
        let mut stored = 0;
        for resource in &server.inner().resources {
            let kind = resource.kind;
            if kind.kind == "Namespace" {
                continue;
            }
            let namespace = if kind.namespaced { "default" } else { "" };
            if kind.kind == "Pod" {
                // The account that the controller manager would make.
                let mut account = api::core_v1::ServiceAccount::default();
                account.metadata.name = "default".into();
                client.create("default", account).await.unwrap();
            }
            let mut object: Box<dyn Object> = match kind.kind {
                "Pod" => Box::new(pod("a")),
                "Deployment" => Box::new(deployment("a")),
                _ => kind.new_object(),
            };
            object.metadata_mut().unwrap().name = "a".into();
            if let Some(example) = super::kinds::example(kind) {
                object = example;
            }
            let name = object.metadata().unwrap().name.clone();
            let body = Body::Object(Rc::from(object));
            let created = client.object(Verb::Create, kind, ["", namespace, ""], body).await;
            let created = match created {
                Ok(created) => created,
                // An empty one of this kind is not valid.
                Err(status) if status.is_invalid() => continue,
                Err(status) => panic!("{}: {status}", kind.kind),
            };
            stored += 1;
            assert!(!metadata(&created).uid.is_empty(), "{}", kind.kind);
            assert_eq!(&*metadata(&created).namespace, namespace);
            let read = client.object(Verb::Get, kind, ["", namespace, &name], Body::Empty).await.unwrap();
            assert!(read.body.equal(&*created.body), "{}", kind.kind);
            assert_eq!(read.revision, created.revision);
            let list = client.list(kind, namespace, Default::default()).await.unwrap();
            assert!(list.items.iter().any(|item| item.same(&read)), "{}", kind.kind);
            client.object(Verb::Delete, kind, ["", namespace, &name], Body::Empty).await.unwrap();
            match client.object(Verb::Get, kind, ["", namespace, &name], Body::Empty).await {
                // Volumes are protected, jobs leave their pods: finalizers hold them.
                Ok(held) => {
                    assert!(!metadata(&held).finalizers.is_empty(), "{}", kind.kind);
                    assert!(!metadata(&held).deletion_timestamp.is_zero(), "{}", kind.kind);
                }
                Err(gone) => assert_eq!(gone.to_string(), format!("{} \"{name}\" not found", kind.group_resource())),
            }
        }
        assert!(stored > 30, "{stored} kinds were stored");
    });
}

#[test]
fn a_write_with_an_old_version_is_a_conflict() {
    with_server(|_, client, _| async move {
        let created = client.create("default", config_map("a")).await.unwrap();
        let mut changed = created.clone();
        Rc::make_mut(&mut changed.body).data.insert(Str::from("a"), Str::from("2"));
        let updated = client.update("", &changed).await.unwrap();
        assert!(updated.revision > created.revision);
        assert_eq!(updated.metadata.uid, created.metadata.uid);
        let status = client.update("", &changed).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
        );
        assert_eq!(status.code, 409);
        // The same again is no write.
        let again = client.update("", &updated).await.unwrap();
        assert_eq!(again.revision, updated.revision);
        let status = client.create("default", config_map("a")).await.unwrap_err();
        assert_eq!(status.to_string(), "configmaps \"a\" already exists");
    });
}

#[test]
fn status_and_spec_are_written_apart_and_generation_counts_specs() {
    with_server(|_, client, _| async move {
        let mut deployment = deployment("web");
        deployment.status.make().replicas = 9;
        let created = client.create("default", deployment).await.unwrap();
        assert_eq!((created.status.replicas, created.metadata.generation), (0, 1));
        let mut changed = created.clone();
        let body = Rc::make_mut(&mut changed.body);
        body.spec.make().replicas = Some(5);
        body.status.make().replicas = 5;
        let updated = client.update("", &changed).await.unwrap();
        assert_eq!((updated.spec.replicas, updated.status.replicas, updated.metadata.generation), (Some(5), 0, 2));
        let mut changed = updated.clone();
        let body = Rc::make_mut(&mut changed.body);
        body.spec.make().replicas = Some(7);
        body.status.make().replicas = 5;
        let updated = client.update("status", &changed).await.unwrap();
        assert_eq!((updated.spec.replicas, updated.status.replicas, updated.metadata.generation), (Some(5), 5, 2));
    });
}

#[test]
fn names_are_generated_and_namespaces_checked() {
    with_server(|_, client, _| async move {
        let mut object = config_map("");
        object.metadata.generate_name = "base-".into();
        let created = client.create("default", object).await.unwrap();
        assert!(created.metadata.name.starts_with("base-") && created.metadata.name.len() == 10);
        let status = client.create("nowhere", config_map("a")).await.unwrap_err();
        assert_eq!(status.to_string(), "namespaces \"nowhere\" not found");
        let mut object = config_map("a");
        object.metadata.namespace = "other".into();
        let status = client.create("default", object).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "the namespace of the provided object does not match the namespace sent on the request"
        );
        let status = client.delete::<Namespace>("", "default").await.err().unwrap();
        assert_eq!(status.to_string(), "namespaces \"default\" is forbidden: this namespace may not be deleted");
        // A namespace that ends takes nothing new.
        let mut stage = Namespace::default();
        stage.metadata.name = "stage".into();
        client.create("", stage).await.unwrap();
        let ending = client.delete::<Namespace>("", "stage").await.unwrap().downcast::<Namespace>().unwrap();
        assert_eq!(&*ending.status.phase, "Terminating");
        let status = client.create("stage", config_map("late")).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "configmaps \"late\" is forbidden: unable to create new content in namespace stage because it is being terminated"
        );
    });
}

#[test]
fn selectors_choose_and_unknown_labels_are_refused() {
    with_server(|_, client, _| async move {
        for (name, tier) in [("a", "web"), ("b", "db"), ("c", "web")] {
            let mut object = config_map(name);
            object.metadata.labels.insert(Str::from("tier"), Str::from(tier));
            client.create("default", object).await.unwrap();
        }
        let names = |options: ListOptions| {
            let client = &client;
            async move {
                let list = client.list(ConfigMap::KIND, "default", options).await?;
                Ok::<_, Status>(list.items.iter().map(|o| metadata(o).name.to_string()).collect::<Vec<_>>())
            }
        };
        let with = |labels: &str, fields: &str| ListOptions {
            label_selector: labels.into(),
            field_selector: fields.into(),
            ..Default::default()
        };
        assert_eq!(names(with("tier=web", "")).await.unwrap(), ["a", "c"]);
        assert_eq!(names(with("tier!=web", "metadata.name=b")).await.unwrap(), ["b"]);
        assert_eq!(
            names(with("", "spec.x=y")).await.unwrap_err().to_string(),
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        let status = client.list(Pod::KIND, "default", with("", "status.nothing=x")).await.err().unwrap();
        assert_eq!(status.to_string(), "field label not supported: status.nothing");
        // In parts: the token goes on where the first part ended, at its revision.
        let first =
            client.list(ConfigMap::KIND, "default", ListOptions { limit: 2, ..Default::default() }).await.unwrap();
        assert_eq!((first.items.len(), first.remaining), (2, Some(1)));
        client.create("default", config_map("bb")).await.unwrap();
        let rest = ListOptions { continue_: first.continue_, limit: 2, ..Default::default() };
        let rest = client.list(ConfigMap::KIND, "default", rest).await.unwrap();
        assert_eq!(rest.items.iter().map(|o| metadata(o).name.to_string()).collect::<Vec<_>>(), ["c"]);
        assert_eq!((rest.revision, &*rest.continue_), (first.revision, ""));
    });
}

#[test]
fn finalizers_hold_and_their_end_removes() {
    with_server(|_, client, _| async move {
        let mut object = config_map("held");
        object.metadata.finalizers = api::List::from(vec![Str::from("example.com/hold")]);
        client.create("default", object).await.unwrap();
        let marked = client.delete::<ConfigMap>("default", "held").await.unwrap().downcast::<ConfigMap>().unwrap();
        assert!(!marked.metadata.deletion_timestamp.is_zero());
        let mut freed = client.get::<ConfigMap>("default", "held").await.unwrap();
        Rc::make_mut(&mut freed.body).metadata.finalizers = Default::default();
        client.update("", &freed).await.unwrap();
        assert!(client.get::<ConfigMap>("default", "held").await.unwrap_err().is_not_found());
        // The garbage collector's own, by the propagation policy.
        client.create("default", deployment("web")).await.unwrap();
        let options = api::meta_v1::DeleteOptions { propagation_policy: "Foreground".into(), ..Default::default() };
        let target = Client::target(Deployment::KIND, "", "default", "web");
        let mut request = client.request(Verb::Delete, target, Body::Empty, Query::None);
        request.delete = Some(Rc::new(options));
        client.send(request).await.unwrap();
        let held = client.get::<Deployment>("default", "web").await.unwrap();
        assert_eq!(held.metadata.finalizers[..], [Str::from("foregroundDeletion")]);
        assert_eq!(held.metadata.generation, 2);
    });
}

#[test]
fn pods_are_deleted_gracefully_once_they_run_somewhere() {
    with_server(|ctx, client, _| async move {
        let mut account = api::core_v1::ServiceAccount::default();
        account.metadata.name = "default".into();
        client.create("default", account).await.unwrap();
        let mut node = Node::default();
        node.metadata.name = "node-1".into();
        node.metadata.labels.insert(Str::from("topology.kubernetes.io/zone"), Str::from("za"));
        client.create("", node).await.unwrap();
        let pod = pod("web");
        let created = client.create("default", pod).await.unwrap();
        assert_eq!((&*created.status.phase, &*created.status.qos_class), ("Pending", "BestEffort"));
        assert_eq!(created.spec.priority, Some(0));
        assert_eq!(created.spec.tolerations.len(), 2);
        assert!(created.spec.volumes[0].name.starts_with("kube-api-access-"));
        let mut binding = api::core_v1::Binding::default();
        binding.metadata.name = "web".into();
        binding.target.kind = "Node".into();
        binding.target.name = "node-1".into();
        let bind = |binding: api::core_v1::Binding| {
            client.object(Verb::Create, Pod::KIND, ["binding", "default", "web"], Body::Object(Rc::new(binding)))
        };
        bind(binding.clone()).await.unwrap();
        let status = bind(binding).await.err().unwrap();
        assert_eq!(
            status.to_string(),
            "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node \"node-1\""
        );
        let bound = client.get::<Pod>("default", "web").await.unwrap();
        assert_eq!(&*bound.spec.node_name, "node-1");
        assert_eq!(bound.metadata.labels.get("topology.kubernetes.io/zone").map(|v| &**v), Some("za"));
        assert_eq!(&*bound.status.conditions[0].status, "True");
        let marked = client.delete::<Pod>("default", "web").await.unwrap().downcast::<Pod>().unwrap();
        assert_eq!(marked.metadata.deletion_grace_period_seconds, Some(30));
        let now = ctx.unix_nanos() / 1_000_000_000;
        assert!(marked.metadata.deletion_timestamp.unix().is_some_and(|at| (29..=31).contains(&(at - now))));
        // The kubelet's last word.
        let options = api::meta_v1::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        let target = Client::target(Pod::KIND, "", "default", "web");
        let mut request = client.request(Verb::Delete, target, Body::Empty, Query::None);
        request.delete = Some(Rc::new(options));
        client.send(request).await.unwrap();
        assert!(client.get::<Pod>("default", "web").await.unwrap_err().is_not_found());
    });
}

#[test]
fn users_may_what_their_roles_say() {
    with_server(|ctx, _, _| async move {
        let mallory = Credential::Certificate { user: "mallory".into(), groups: Vec::new() };
        let client = Client::with(&ctx, mallory).await;
        let status = client.list(Pod::KIND, "default", Default::default()).await.err().unwrap();
        assert_eq!(
            status.to_string(),
            "pods is forbidden: User \"mallory\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\""
        );
        let status = client.list(Node::KIND, "", Default::default()).await.err().unwrap();
        assert_eq!(
            status.to_string(),
            "nodes is forbidden: User \"mallory\" cannot list resource \"nodes\" in API group \"\" at the cluster scope"
        );
        let scheduler = Credential::Certificate { user: "system:kube-scheduler".into(), groups: Vec::new() };
        let client = Client::with(&ctx, scheduler).await;
        client.list(Pod::KIND, "", Default::default()).await.unwrap();
        client.list(Node::KIND, "", Default::default()).await.unwrap();
        let node = Credential::Certificate { user: "system:node:node-1".into(), groups: vec!["system:nodes".into()] };
        let client = Client::with(&ctx, node).await;
        let mine = ListOptions { field_selector: "spec.nodeName=node-1".into(), ..Default::default() };
        client.list(Pod::KIND, "", mine).await.unwrap();
        assert!(client.list(Pod::KIND, "", Default::default()).await.err().unwrap().is_forbidden());
        let mut object = Node::default();
        object.metadata.name = "node-1".into();
        client.create("", object.clone()).await.unwrap();
        object.metadata.name = "node-2".into();
        assert!(client.create("", object).await.unwrap_err().is_forbidden());
    });
}

#[test]
fn bodies_in_json_are_read_strictly_when_asked() {
    with_server(|_, client, _| async move {
        client.write.borrow_mut().field_validation = api::rest::FieldValidation::Strict;
        let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"dat":{"a":"b"}}"#;
        let status = client.create_json("default", json).await.err().unwrap();
        assert_eq!(
            status.to_string(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"dat\""
        );
        let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"debug":true}}"#;
        let status = client.create_json("default", json).await.err().unwrap();
        assert_eq!(
            status.to_string(),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ConfigMap.data of type string"
        );
        let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"debug":"on"}}"#;
        let created = client.create_json("default", json).await.unwrap();
        assert_eq!(dynamic(&*created.body, &["data", "debug"]), "on");
    });
}

#[test]
fn a_part_of_a_pod_is_changed_through_its_subresource_and_nothing_else() {
    with_server(|_, client, _| async move {
        let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#;
        client.create_json("default", account).await.unwrap();
        let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
            "containers":[{"name":"c","image":"busybox","resources":{"requests":{"cpu":"100m"}}}]}}"#;
        client.create_json("default", pod).await.unwrap();
        let patch = |subresource: &'static str, body: &'static str| {
            let body = Body::Bytes(Rc::from(body.as_bytes()));
            client.object(Verb::Patch(PatchType::Strategic), Pod::KIND, [subresource, "default", "p"], body)
        };
        let sent = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"activeDeadlineSeconds":9,
            "containers":[{"name":"c","image":"nginx","resources":{"requests":{"cpu":"200m"}}}]}}"#;
        patch("resize", sent).await.unwrap();
        let sent = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"activeDeadlineSeconds":9,
            "ephemeralContainers":[{"name":"e","image":"busybox"}],"containers":[{"name":"c","image":"nginx"}]}}"#;
        patch("ephemeralcontainers", sent).await.unwrap();
        let pod = client.get::<Pod>("default", "p").await.unwrap();
        let container = pod.spec.containers.first().unwrap();
        assert_eq!(
            (&*container.image, container.resources.requests.get("cpu").unwrap().milli_value()),
            ("busybox", 200)
        );
        assert_eq!(
            (pod.spec.active_deadline_seconds, pod.metadata.labels.len(), pod.metadata.generation),
            (None, 0, 3)
        );
        assert_eq!(pod.spec.ephemeral_containers.len(), 1);
        let renamed = r#"[{"op":"replace","path":"/spec/containers/0/name","value":"d"}]"#;
        let body = Body::Bytes(Rc::from(renamed.as_bytes()));
        let refused = client.object(Verb::Patch(PatchType::Json), Pod::KIND, ["resize", "default", "p"], body).await;
        assert!(
            refused
                .map(|_| ())
                .unwrap_err()
                .to_string()
                .contains("containers may not be renamed or reordered on resize")
        );
    });
}
