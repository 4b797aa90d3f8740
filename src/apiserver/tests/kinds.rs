//! Kinds that nothing in the world acts on: what the server does to them by itself.

use super::*;

/// Examples that a real v1.37.2 cluster took (the bases of the object model's recorded answers).
const EXAMPLES: [&str; 5] = [
    include_str!("../../api/validation/testdata/asked/storage.txt"),
    include_str!("../../api/validation/testdata/asked/flow.txt"),
    include_str!("../../api/validation/testdata/asked/admission.txt"),
    include_str!("../../api/validation/testdata/asked/devices.txt"),
    include_str!("../../api/validation/testdata/asked/extensions.txt"),
];

fn example_value(kind: &str) -> Option<Value> {
    EXAMPLES.iter().flat_map(|text| text.split("=== ").skip(1)).find_map(|part| {
        let (_, rest) = part.split_once('\n')?;
        let value = api::yaml::parse(rest.split_once("\n---\n")?.0).ok()?;
        (value.str_at(&["kind"]) == kind).then_some(value)
    })
}

/// An object of a kind, with a status that creation has to drop; in the namespace of the request.
pub fn example(kind: &KindInfo) -> Option<Box<dyn Object>> {
    let mut value = example_value(kind.kind)?;
    value.get("metadata")?;
    if let Some(metadata) = value.as_object_mut().map(|map| map.entry("metadata", Value::object)) {
        metadata.make_object().remove("namespace");
    }
    let mut object = kind.new_object();
    api::json::from_value(&value, &mut *object, true).ok()?;
    object.clear_type_meta();
    Some(object)
}

fn json(object: &AnyRev) -> Value {
    api::json::to_value(&*object.body, Some(object.revision))
}

fn kind_of(value: &Value) -> &'static KindInfo {
    api::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).unwrap()
}

async fn put(client: &Client, subresource: &str, value: &Value) -> Result<AnyRev, Status> {
    let kind = kind_of(value);
    let path = [subresource, value.str_at(&["metadata", "namespace"]), value.str_at(&["metadata", "name"])];
    client.object(Verb::Update, kind, path, Body::Bytes(Rc::from(value.to_json().as_bytes()))).await
}

/// What a condition of a kind looks like.
fn condition(kind: &str) -> Value {
    let text = format!(
        r#"[{{"type":"{kind}","status":"True","reason":"Test","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}}]"#
    );
    Value::parse(&text).unwrap()
}

#[test]
fn status_is_dropped_kept_and_written_alone() {
    with_server(|_, client, _| async move {
        for (kind, generation) in [
            ("FlowSchema", Some(1)),
            ("PriorityLevelConfiguration", Some(1)),
            ("ValidatingAdmissionPolicy", Some(1)),
            ("StorageVersionMigration", None),
            ("DeviceTaintRule", Some(1)),
        ] {
            let mut value = example_value(kind).unwrap();
            value.set_at(&["status", "conditions"], condition("Test"));
            let created = json(&client.create_json("", &value.to_json()).await.unwrap());
            assert_eq!(created.at(&["status", "conditions"]), None, "{kind}");
            assert_eq!(created.at(&["metadata", "generation"]).and_then(Value::as_i64), generation, "{kind}");
            // The status' own way changes nothing else.
            let mut changed = created.clone();
            changed.set_at(&["status", "conditions"], condition("Test"));
            changed.set_at(&["metadata", "labels", "by"], Value::from("status"));
            changed.set("spec", Value::object());
            let updated = json(&put(&client, "status", &changed).await.unwrap());
            assert_eq!(updated.get("spec"), created.get("spec"), "{kind}");
            assert_eq!(updated.at(&["metadata", "labels"]), None, "{kind}");
            assert_eq!(updated.at(&["metadata", "generation"]), created.at(&["metadata", "generation"]), "{kind}");
            assert_eq!(updated.at(&["status", "conditions"]), Some(&condition("Test")), "{kind}");
            // And the object's own way keeps the status.
            let mut changed = updated.clone();
            changed.make_object().remove("status");
            changed.set_at(&["metadata", "labels", "by"], Value::from("update"));
            let again = json(&put(&client, "", &changed).await.unwrap());
            assert_eq!(again.get("status"), updated.get("status"), "{kind}");
            assert_eq!(again.str_at(&["metadata", "labels", "by"]), "update", "{kind}");
        }
    });
}

#[test]
fn generation_counts_what_matters() {
    with_server(|_, client, _| async move {
        for (kind, path, change) in [
            ("FlowSchema", vec!["spec", "matchingPrecedence"], Value::Int(77)),
            ("MutatingAdmissionPolicy", vec!["spec", "failurePolicy"], Value::from("Fail")),
            ("ValidatingWebhookConfiguration", vec!["webhooks"], Value::from(Vec::<Value>::new())),
            ("CSIDriver", vec!["spec", "podInfoOnMount"], Value::Bool(false)),
        ] {
            let created = json(&client.create_json("", &example_value(kind).unwrap().to_json()).await.unwrap());
            let first = created.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
            let mut changed = created.clone();
            changed.set_at(&["metadata", "labels", "a"], Value::from("b"));
            let labelled = json(&put(&client, "", &changed).await.unwrap());
            let generation = |value: &Value| value.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
            assert_eq!(generation(&labelled), first, "{kind}");
            let mut changed = labelled.clone();
            changed.set_at(&path, change);
            let updated = json(&put(&client, "", &changed).await.unwrap());
            assert_eq!(generation(&updated), first + 1, "{kind}");
        }
    });
}

#[test]
fn definitions_remember_what_was_stored() {
    with_server(|_, client, _| async move {
        let mut value = example_value("CustomResourceDefinition").unwrap();
        value.make_object().remove("status");
        let created = json(&client.create_json("", &value.to_json()).await.unwrap());
        let stored = |value: &Value| value.at(&["status", "storedVersions"]).map(Value::to_json);
        assert_eq!(stored(&created).as_deref(), Some(r#"["v1"]"#));
        assert_eq!(created.str_at(&["spec", "conversion", "strategy"]), "None");
        let mut changed = created.clone();
        let mut versions: Vec<Value> =
            created.at(&["spec", "versions"]).and_then(Value::as_array).unwrap().iter().cloned().collect();
        let mut second = versions[0].clone();
        second.set("name", Value::from("v2"));
        versions[0].set("storage", Value::Bool(false));
        versions.push(second);
        changed.set_at(&["spec", "versions"], Value::from(versions));
        let updated = json(&put(&client, "", &changed).await.unwrap());
        assert_eq!(stored(&updated).as_deref(), Some(r#"["v1","v2"]"#));
        // The version that objects may still be stored in has to stay.
        let mut changed = updated.clone();
        let last = updated.at(&["spec", "versions"]).and_then(|versions| versions.item(1)).cloned().unwrap();
        changed.set_at(&["spec", "versions"], Value::from(vec![last]));
        let refused = put(&client, "", &changed).await.err().expect("refused");
        assert!(refused.to_string().contains("v1 was previously a storage version"), "{refused}");
    });
}

#[test]
fn an_api_service_without_a_service_is_there_at_once() {
    with_server(|_, client, _| async move {
        let local = r#"{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.lamps.demo.io"},"spec":{"group":"lamps.demo.io","version":"v1","groupPriorityMinimum":10,"versionPriority":10}}"#;
        let created = json(&client.create_json("", local).await.unwrap());
        let condition = created.at(&["status", "conditions"]).and_then(|conditions| conditions.item(0)).unwrap();
        assert_eq!(condition.str_at(&["reason"]), "Local");
        let remote = example_value("APIService").unwrap();
        let created = json(&client.create_json("", &remote.to_json()).await.unwrap());
        assert_eq!(created.at(&["status", "conditions"]), None);
        assert_eq!(created.at(&["spec", "service", "port"]).and_then(Value::as_i64), Some(443));
    });
}
