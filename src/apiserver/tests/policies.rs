//! Admission policies and webhooks: requests in a row with the answers of a real v1.37.2 cluster
//! (testdata/policies.txt, testdata/webhooks.txt).

use super::*;

/// What a request got, as the file has it.
fn shown(response: &Response) -> String {
    let mut out = match &response.answer {
        Answer::Status(status) if response.code >= 400 => {
            let body = (**status).clone().into_object();
            let mut out = format!("{} {} {}", body.reason, body.code, body.message);
            for cause in body.details.get().iter().flat_map(|details| details.causes.iter()) {
                out.push_str(&format!("\n  cause: {}", cause.message));
                if !cause.field.is_empty() {
                    out.push_str(&format!(" @{}", cause.field));
                }
            }
            out
        }
        Answer::Object(object) => {
            let kind = object.body.kind_info().map_or("", |kind| kind.kind);
            if matches!(kind, "ConfigMap" | "Deployment") {
                format!("ok {}", parts(&*object.body))
            } else {
                "ok".into()
            }
        }
        _ => "ok".to_string(),
    };
    for warning in &response.warnings {
        out.push_str(&format!("\n  warning: {warning}"));
    }
    out
}

/// What policies may change of an object.
fn parts(object: &dyn Object) -> String {
    let value = api::json::to_value(object, None);
    let mut parts = Value::object();
    for (name, path) in
        [("labels", &["metadata", "labels"][..]), ("annotations", &["metadata", "annotations"]), ("data", &["data"])]
    {
        if let Some(found) = value.at(path) {
            parts.set(name, found.clone());
        }
    }
    if let Some(containers) = value.at(&["spec", "template", "spec", "containers"]) {
        let names = |list: Option<&Value>| -> Value {
            let list = list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
            Value::from(list.map(|item| Value::from(item.str_at(&["name"]))).collect::<Vec<_>>())
        };
        let list = containers.as_array().into_iter().flat_map(|list| list.iter());
        let shown = list
            .map(|c| Value::from(vec![c.str_at(&["name"]).into(), c.str_at(&["image"]).into(), names(c.get("env"))]));
        parts.set("containers", Value::from(shown.collect::<Vec<_>>()));
        parts.set("replicas", value.at(&["spec", "replicas"]).cloned().unwrap_or_default());
    }
    parts.to_json()
}

async fn ask(client: &Client, line: &str) -> String {
    let (verb, rest) = line.split_once(' ').unwrap();
    let (dry, json) = rest.strip_prefix("dry ").map_or((false, rest), |json| (true, json));
    let value = Value::parse(json).unwrap();
    let kind = api::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).unwrap();
    let namespace = if kind.namespaced { "celp" } else { "" };
    let (verb, name) = match verb {
        "POST" => (Verb::Create, ""),
        "PUT" => (Verb::Update, value.str_at(&["metadata", "name"])),
        _ => (Verb::Delete, value.str_at(&["metadata", "name"])),
    };
    let body = if verb == Verb::Delete { Body::Empty } else { Body::Bytes(Rc::from(json.as_bytes())) };
    let query = match verb {
        Verb::Delete => Query::None,
        _ => Query::Write(WriteOptions { dry_run: dry, ..WriteOptions::default() }),
    };
    shown(&client.response(client.request(verb, Client::target(kind, "", namespace, name), body, query)).await)
}

/// Plays a file's requests and holds the answers to it.
fn play(text: &'static str) {
    with_server(move |_, client, _| async move {
        let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"celp","labels":{"team":"a"}}}"#;
        client.create_json("", namespace).await.unwrap();
        let mut wrong = Vec::new();
        for case in text.split("\n> ").map(|case| case.trim_start_matches("> ").trim_end()) {
            let (line, expected) = case.split_once('\n').unwrap();
            let answer = ask(&client, line).await;
            // The letters of a generated name are drawn.
            let drawn = |text: &str| match text.split_once("\"gen-") {
                Some((before, after)) => format!("{before}\"gen-{}", after.get(5..).unwrap_or_default()),
                None => text.to_string(),
            };
            let (answer, expected) = (drawn(&answer), drawn(expected));
            if answer != expected {
                wrong.push(format!("> {line}\n  wanted {expected}\n  got    {answer}"));
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    });
}

#[test]
fn policies_answer_as_recorded() {
    play(include_str!("../testdata/policies.txt"));
}

#[test]
fn webhooks_answer_as_recorded() {
    play(include_str!("../testdata/webhooks.txt"));
}
