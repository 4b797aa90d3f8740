use super::*;
use crate::apps_v1::{DEPLOYMENT, Deployment};
use crate::json::{from_value, to_value};
use crate::status::Status;
use crate::value::Time;

fn v(s: &str) -> Value {
    Value::parse(s).unwrap_or_else(|e| Value::from(e.message))
}
fn object(s: &str) -> Box<dyn Object> {
    let mut d = Deployment::default();
    from_value(&v(s), &mut d, false).unwrap_or_default();
    Box::new(d)
}
fn request<'a>(manager: &'a str, reset: &'a Set) -> Request<'a> {
    Request { manager, subresource: "", api_version: "apps/v1", now: Time::from_unix(1_000), reset }
}
fn managed(o: &dyn Object) -> Vec<String> {
    let Some(m) = o.metadata() else { return Vec::new() };
    m.managed_fields
        .iter()
        .map(|e| format!("{} {} {}", e.manager, e.operation, e.fields_v1.json().unwrap_or("")))
        .collect()
}

const WEB: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"a":"b"}},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx","ports":[{"containerPort":80}]}]}}}}"#;

#[test]
fn fields() {
    let set = field_set_of(&v(WEB), &DEPLOYMENT);
    let json = set.to_fields_v1();
    assert_eq!(
        json,
        r#"{"f:apiVersion":{},"f:kind":{},"f:metadata":{"f:labels":{"f:a":{}},"f:name":{}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}"#
    );
    assert_eq!(Set::from_fields_v1(&json), Ok(set));
}

#[test]
fn creates_and_updates() {
    let reset = reset_fields("");
    let mut new = object(WEB);
    update(&Deployment::default(), &mut *new, &request("kubectl-create", &reset));
    assert_eq!(
        managed(&*new),
        [
            r#"kubectl-create Update {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}}}}}}"#
        ]
    );
    if let Some(m) = new.metadata_mut() {
        m.uid = "u".into();
    }
    // Somebody else scales.
    let mut scaled = new.boxed();
    if let Some(d) = scaled.downcast_mut::<Deployment>() {
        d.spec.make().replicas = Some(5);
    }
    update(&*new, &mut *scaled, &request("scaler", &reset));
    let all = managed(&*scaled);
    assert!(all[0].starts_with("kubectl-create Update") && !all[0].contains("replicas"), "{all:?}");
    assert_eq!(all[1], r#"scaler Update {"f:spec":{"f:replicas":{}}}"#);
}

#[test]
fn applies() {
    let reset = reset_fields("");
    let mine = request("me", &reset);
    let first = apply(&Deployment::default(), &v(WEB), &mine, false);
    let Ok(first) = first else { panic!("{:?}", first.err()) };
    assert_eq!(managed(&*first).len(), 1);
    // The same again changes nothing.
    let again = apply(&*first, &v(WEB), &mine, false);
    assert!(again.is_ok_and(|a| a.equal(&*first)));
    // What is no longer applied goes.
    let less = WEB.replace(r#","ports":[{"containerPort":80}]"#, "").replace(r#","labels":{"a":"b"}"#, "");
    let Ok(second) = apply(&*first, &v(&less), &mine, false) else { panic!("conflict") };
    let text = to_value(&*second, None).to_json();
    assert!(!text.contains("ports") && !text.contains(r#""a":"b""#), "{text}");
    // Others can't take it without force.
    let other = WEB.replace("\"replicas\":3", "\"replicas\":4");
    let Err(e) = apply(&*first, &v(&other), &request("you", &reset), false) else { panic!("no conflict") };
    let s = Status::from(e);
    assert_eq!(s.to_string(), r#"Apply failed with 1 conflict: conflict with "me": .spec.replicas"#);
    assert!(s.has_cause("FieldManagerConflict"));
    let Ok(forced) = apply(&*first, &v(&other), &request("you", &reset), true) else { panic!("conflict") };
    let all = managed(&*forced);
    assert!(all.len() == 2 && all[0].starts_with("me Apply") && !all[0].contains("replicas"), "{all:?}");
    // Unknown fields.
    let wrong = WEB.replace("\"replicas\":3", "\"replica\":3");
    let Err(ApplyError::Invalid(e)) = apply(&*first, &v(&wrong), &mine, false) else { panic!("accepted") };
    assert_eq!(
        e,
        "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replica: field not declared in schema"
    );
}
