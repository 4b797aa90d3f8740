//! Patches of the three older kinds, through the server.

use super::*;
use api::core_v1::ConfigMap;

fn web() -> Deployment {
    let mut web = deployment("web");
    web.metadata.labels.insert(Str::from("app"), Str::from("web"));
    web
}

fn containers(deployment: &Deployment) -> Vec<String> {
    deployment.spec.template.spec.containers.iter().map(|c| format!("{}={}", c.name, c.image)).collect()
}

#[test]
fn each_kind_of_patch_changes_what_it_says() {
    with_server(|_, client, _| async move {
        client.create("default", web()).await.unwrap();
        let patch = |kind, json| client.patch::<Deployment>("default", "web", kind, json);
        let side = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox:1.36"}]}}}}"#;
        let patched = patch(PatchType::Strategic, side).await.unwrap();
        assert_eq!(containers(&patched), ["side=busybox:1.36", "nginx=nginx:1.27"]);
        assert_eq!(patched.metadata.generation, 2);
        let gone = r#"{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}"#;
        let patched = patch(PatchType::Strategic, gone).await.unwrap();
        assert_eq!(containers(&patched), ["nginx=nginx:1.27"]);
        let labels = r#"{"metadata":{"labels":{"app":null,"x":"y"}}}"#;
        let patched = patch(PatchType::Merge, labels).await.unwrap();
        assert_eq!(patched.metadata.labels.entries().len(), 1);
        let replicas = r#"[{"op":"replace","path":"/spec/replicas","value":1}]"#;
        let patched = patch(PatchType::Json, replicas).await.unwrap();
        assert_eq!(patched.spec.replicas, Some(1));
        // Nothing changes: no write.
        let again = patch(PatchType::Strategic, "{}").await.unwrap();
        assert_eq!(again.revision, patched.revision);
        let failed = r#"[{"op":"test","path":"/spec/replicas","value":2}]"#;
        let status = patch(PatchType::Json, failed).await.unwrap_err();
        assert_eq!(status.to_string(), "the server rejected our request due to an error in our request");
        let status = patch(PatchType::Strategic, "\"not json\"").await.unwrap_err();
        assert_eq!(status.to_string(), "json: cannot unmarshal string into Go value of type map[string]interface {}");
        let old = format!(r#"{{"metadata":{{"resourceVersion":"{}"}},"spec":{{"replicas":9}}}}"#, 1);
        let status = patch(PatchType::Merge, &old).await.unwrap_err();
        assert!(status.is_conflict(), "{status}");
        let status = client.patch::<ConfigMap>("default", "none", PatchType::Merge, "{}").await.unwrap_err();
        assert_eq!(status.to_string(), "configmaps \"none\" not found");
    });
}

#[test]
fn scale_is_read_set_and_patched() {
    with_server(|_, client, _| async move {
        client.create("default", web()).await.unwrap();
        let path = ["scale", "default", "web"];
        let scale = client.object(Verb::Get, Deployment::KIND, path, Body::Empty).await.unwrap();
        let mut body = scale.downcast::<api::autoscaling_v1::Scale>().unwrap();
        assert_eq!((body.spec.replicas, &*body.status.selector), (2, "app=web"));
        let changed = Rc::make_mut(&mut body.body);
        changed.spec.make().replicas = 5;
        changed.metadata.resource_version = scale.resource_version();
        let set = client.object(Verb::Update, Deployment::KIND, path, Body::Object(body.body.clone())).await.unwrap();
        assert_eq!(set.downcast::<api::autoscaling_v1::Scale>().map(|s| s.spec.replicas), Some(5));
        let json = Body::Bytes(Rc::from(&br#"{"spec":{"replicas":3}}"#[..]));
        let patch = Verb::Patch(PatchType::Merge);
        client.object(patch, Deployment::KIND, path, json).await.unwrap();
        let scaled = client.get::<Deployment>("default", "web").await.unwrap();
        assert_eq!((scaled.spec.replicas, scaled.metadata.generation), (Some(3), 3));
        let json = Body::Bytes(Rc::from(&br#"{"spec":{"replicas":-1}}"#[..]));
        let status = client.object(patch, Deployment::KIND, path, json).await.err().unwrap();
        assert!(status.to_string().contains("must be greater than or equal to 0"), "{status}");
    });
}
