use super::*;
use crate::apps_v1::Deployment;
use crate::json::{encode_bare, patched_to_json};

fn restored(json: &str) -> Result<(String, Vec<String>), String> {
    let mut into = Deployment::default();
    let value = Value::parse(json).map_err(|e| e.message)?;
    let strict = from_unstructured(&value, &mut into, true).map_err(|e| e.message)?;
    Ok((String::from_utf8_lossy(&encode_bare(&into)).into_owned(), strict.into_iter().map(|e| e.0).collect()))
}

/// As a v1.37.2 API server words them behind the patch.
#[test]
fn wrong_types() {
    let container = |json: &str| format!(r#"{{"spec":{{"template":{{"spec":{{"containers":[{json}]}}}}}}}}"#);
    for (json, want) in [
        (r#"{"spec":"x"}"#.to_string(), "cannot restore struct from: string"),
        (r#"{"spec":[1]}"#.into(), "cannot restore struct from: slice"),
        (r#"{"spec":{"replicas":"abc"}}"#.into(), "unrecognized type: int32"),
        (r#"{"spec":{"replicas":1.5}}"#.into(), "cannot convert float64 to int32"),
        (r#"{"spec":{"paused":1}}"#.into(), "unrecognized type: bool"),
        (r#"{"kind":5}"#.into(), "cannot convert int64 to string"),
        (r#"{"apiVersion":true}"#.into(), "unrecognized type: string"),
        (r#"{"metadata":{"labels":"x"}}"#.into(), "cannot restore map from string"),
        (r#"{"metadata":{"labels":{"a":1}}}"#.into(), "cannot convert int64 to string"),
        (r#"{"metadata":{"finalizers":"x"}}"#.into(), "cannot restore slice from string"),
        (
            r#"{"metadata":{"creationTimestamp":5}}"#.into(),
            "json: cannot unmarshal number into Go value of type string",
        ),
        (container(r#"{"imagePullPolicy":3}"#), "cannot convert int64 to v1.PullPolicy"),
        (container(r#"{"image":1.5}"#), "unrecognized type: string"),
        (
            container(r#"{"resources":{"limits":{"cpu":"abc"}}}"#),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            container(r#"{"livenessProbe":{"httpGet":{"port":true}}}"#),
            "json: cannot unmarshal bool into Go value of type int32",
        ),
    ] {
        assert_eq!(restored(&json), Err(want.to_string()), "{json}");
    }
}

#[test]
fn right_types_and_unknown_fields() {
    let (json, strict) = restored(
        r#"{"metadata":{"name":"x","labels":{"a":"b","c":null}},"spec":{"replicas":3000000000,"spam":1,"template":{"egg":{}},"strategy":null}}"#,
    )
    .unwrap_or_default();
    // Go keeps the lower bits of an integer that is too wide.
    assert!(json.contains(r#""replicas":-1294967296"#), "{json}");
    assert!(json.contains(r#""labels":{"a":"b","c":""}"#), "{json}");
    assert_eq!(strict, [r#"unknown field "spec.spam""#, r#"unknown field "spec.template.egg""#]);
    let (json, _) = restored(r#"{"spec":{"replicas":1e3}}"#).unwrap_or_default();
    assert!(json.contains(r#""replicas":1000"#), "{json}");
}

/// The order in which a v1.37.2 API server shows a patched object: sorted where the patch went, Go's order elsewhere.
#[test]
fn patched_objects_in_messages() {
    let touched = Value::parse(r#"{"spec":{"replicas":"x"}}"#).unwrap_or_default();
    let after = Value::parse(
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"default","name":"lantern"},"spec":{"selector":{},"replicas":"x","progressDeadlineSeconds":600,"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}}}"#,
    )
    .unwrap_or_default();
    assert_eq!(
        patched_to_json(&after, &crate::apps_v1::DEPLOYMENT, &touched),
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"lantern","namespace":"default"},"spec":{"progressDeadlineSeconds":600,"replicas":"x","selector":{},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}}}}"#
    );
}
