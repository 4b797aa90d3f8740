//! The documents of `/openapi/v3` against digests of a real cluster's (`tools/openapi.py`), both without descriptions. What differs and may stands
//! in `testdata/openapi-failures.txt`. With `OPENAPI_OUT` set the documents are written to that folder.

use std::collections::BTreeMap;

use api::json::Value;
use api::rest::{Answer, Body, Query, Target, Verb};

use api::Str;

use super::with_server;
use crate::openapi::{document, paths, root};

fn digest(value: &Value) -> String {
    let sum = api::sha256::sha256(value.to_json().as_bytes());
    sum.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn members<'a>(value: &'a Value, path: &[&str]) -> &'a [(Str, Value)] {
    value.at(path).and_then(Value::as_object).map_or(&[], |object| object.entries())
}

/// The value without descriptions, but for the phrases of HTTP's codes; they are ours, and the digests have none.
fn without_descriptions(value: &Value, within: &str) -> Value {
    match value {
        Value::Array(values) => Value::Array(values.iter().map(|value| without_descriptions(value, within)).collect()),
        Value::Object(object) => {
            let kept =
                |key: &str, value: &Value| within == "a response" || key != "description" || value.as_str().is_none();
            let inside = |key: &Str| if within == "responses" { "a response".into() } else { key.to_string() };
            let entries = object.iter().filter(|(key, value)| kept(key, value));
            Value::Object(
                entries.map(|(key, value)| (key.clone(), without_descriptions(value, &inside(key)))).collect(),
            )
        }
        other => other.clone(),
    }
}

#[test]
fn documents_are_those_of_a_real_cluster() {
    let mut ours = BTreeMap::new();
    for path in paths() {
        let text = document(&path).unwrap();
        if let Ok(folder) = std::env::var("OPENAPI_OUT") {
            std::fs::write(format!("{folder}/{}", path.replace('/', "__")), &text).unwrap();
        }
        let value = without_descriptions(&Value::parse(&text).unwrap(), "");
        for (name, schema) in members(&value, &["components", "schemas"]) {
            if !name.ends_with(".DeleteOptions") && !name.ends_with(".WatchEvent") {
                ours.insert(format!("schema\t{name}"), digest(schema));
            }
        }
        for (name, item) in members(&value, &["paths"]) {
            ours.insert(format!("path\t{name}"), digest(item));
        }
        ours.insert(format!("document\t{path}"), digest(&value));
    }
    let recorded = include_str!("../testdata/openapi.tsv").lines().filter_map(|line| line.rsplit_once('\t'));
    let recorded: BTreeMap<String, String> = recorded.map(|(name, sum)| (name.into(), sum.into())).collect();
    let names = ours.keys().chain(recorded.keys()).collect::<std::collections::BTreeSet<_>>();
    let differ: Vec<&str> =
        names.into_iter().filter(|n| ours.get(*n) != recorded.get(*n)).map(|n| n.as_str()).collect();
    let known = include_str!("../testdata/openapi-failures.txt").lines().filter(|line| !line.starts_with('#'));
    let known: Vec<&str> = known.filter_map(|line| line.rsplit_once('\t').map(|(name, _)| name)).collect();
    assert_eq!(differ, known);
}

#[test]
fn described() {
    let value = Value::parse(&document("api/v1").unwrap()).unwrap();
    let schemas = value.at(&["components", "schemas"]).unwrap();
    let pod = schemas.get("io.k8s.api.core.v1.Pod").unwrap();
    assert!(pod.str_at(&["description"]).starts_with("One or more containers"));
    // Beside a reference as beside a type.
    let spec = pod.at(&["properties", "spec"]).unwrap();
    assert_eq!(
        spec.to_json(),
        "{\"allOf\":[{\"$ref\":\"#/components/schemas/io.k8s.api.core.v1.PodSpec\"}],\"default\":{},\"description\":\"What is asked for.\"}"
    );
    assert!(pod.str_at(&["properties", "kind", "description"]).starts_with("Name of the object's type"));
    let time = schemas.get("io.k8s.apimachinery.pkg.apis.meta.v1.Time").unwrap();
    assert_eq!((time.str_at(&["type"]), time.str_at(&["description"]).is_empty()), ("string", false));
    // Where there is none it is left out.
    let node = schemas.get("io.k8s.api.core.v1.NodeSpec").unwrap();
    assert_eq!(node.at(&["properties", "externalID", "description"]), None);
}

#[test]
fn served() {
    with_server(|_, client, _| async move {
        let get = async |path: &str| {
            let request = client.request(Verb::Get, Target::Path(path.into()), Body::Empty, Query::None);
            client.send(request).await.map(|answered| match answered.answer {
                Answer::Json(json) => String::from_utf8(json.to_vec()).unwrap(),
                _ => panic!("no JSON"),
            })
        };
        let all = Value::parse(&get("/openapi/v3").await.unwrap()).unwrap();
        assert_eq!(all, Value::parse(&root()).unwrap());
        let url = all.str_at(&["paths", "apis/apps/v1", "serverRelativeURL"]);
        assert_eq!(
            url.split_once("?hash=").map(|(path, hash)| (path, hash.len())),
            Some(("/openapi/v3/apis/apps/v1", 128))
        );
        assert_eq!(Some(get(url).await.unwrap()), document("apis/apps/v1"));
        for path in ["/openapi", "/openapi/v2", "/openapi/v3/", "/openapi/v3/apis/nope/v1", "/openapi/v3/apis/apps/v2"]
        {
            assert_eq!(get(path).await.unwrap_err().code, 404, "{path}");
        }
    });
}
