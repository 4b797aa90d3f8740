use super::*;
use crate::apps_v1::DEPLOYMENT;
use crate::core_v1::POD;
use crate::json::Value;

fn v(s: &str) -> Value {
    Value::parse(s).unwrap_or_else(|e| Value::from(e.message))
}
fn text(r: Result<Value>) -> String {
    r.map_or_else(|e| e.0, |v| v.to_json())
}

#[test]
fn json_patch() {
    for (doc, patch, want) in [
        (
            r#"{"a":[1,2]}"#,
            r#"[{"op":"add","path":"/a/1","value":9},{"op":"add","path":"/a/-","value":3}]"#,
            r#"{"a":[1,9,2,3]}"#,
        ),
        (r#"{"a":{"b/c":1}}"#, r#"[{"op":"remove","path":"/a/b~1c"}]"#, r#"{"a":{}}"#),
        (r#"{"a":1}"#, r#"[{"op":"test","path":"/a","value":1},{"op":"replace","path":"/a","value":2}]"#, r#"{"a":2}"#),
        (
            r#"{"a":1}"#,
            r#"[{"op":"move","from":"/a","path":"/b"},{"op":"copy","from":"/b","path":"/c"}]"#,
            r#"{"b":1,"c":1}"#,
        ),
        (r#"{"a":1}"#, r#"[{"op":"test","path":"/a","value":2}]"#, "testing value /a failed: test failed"),
        (
            r#"{"a":1}"#,
            r#"[{"op":"remove","path":"/x"}]"#,
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (r#"{"a":1}"#, r#"{}"#, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
    ] {
        assert_eq!(text(json(&v(doc), &v(patch))), want, "{patch}");
    }
}

#[test]
fn merge_patch() {
    assert_eq!(
        merge(&v(r#"{"a":{"b":1,"c":2},"d":[1]}"#), &v(r#"{"a":{"b":null,"e":{"x":null,"y":1}},"d":[2]}"#)).to_json(),
        r#"{"a":{"c":2,"e":{"y":1}},"d":[2]}"#
    );
    assert_eq!(
        text(create_three_way_merge(
            &v(r#"{"a":1,"b":2}"#),
            &v(r#"{"a":1,"c":{"x":1}}"#),
            &v(r#"{"a":1,"b":2,"d":4}"#)
        )),
        r#"{"b":null,"c":{"x":1}}"#
    );
}

#[test]
fn strategic_merge() {
    let pod = r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[{"name":"a","image":"x","env":[{"name":"K","value":"1"},{"name":"L","value":"2"}]},{"name":"b","image":"y"}],"tolerations":[{"key":"q"}]}}"#;
    for (patch, want) in [
        (
            r#"{"metadata":{"labels":{"b":null,"c":"3"}},"spec":{"containers":[{"name":"a","image":"z","env":[{"name":"L","$patch":"delete"},{"name":"M","value":"3"}]},{"name":"b","$patch":"delete"},{"name":"c"}],"tolerations":[{"key":"r"}]}}"#,
            r#"{"metadata":{"labels":{"a":"1","c":"3"}},"spec":{"containers":[{"env":[{"name":"M","value":"3"},{"name":"K","value":"1"}],"image":"z","name":"a"},{"name":"c"}],"tolerations":[{"key":"r"}]}}"#,
        ),
        (
            r#"{"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}],"containers":[{"name":"b","image":"w"}]}}"#,
            r#"{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[{"image":"w","name":"b"},{"env":[{"name":"K","value":"1"},{"name":"L","value":"2"}],"image":"x","name":"a"}],"tolerations":[{"key":"q"}]}}"#,
        ),
        (
            r#"{"metadata":{"labels":{"$patch":"replace","z":"1"}}}"#,
            r#"{"metadata":{"labels":{"z":"1"}},"spec":{"containers":[{"env":[{"name":"K","value":"1"},{"name":"L","value":"2"}],"image":"x","name":"a"},{"image":"y","name":"b"}],"tolerations":[{"key":"q"}]}}"#,
        ),
        (r#"{"spec":{"containers":[{"image":"z"}]}}"#, "map: map[image:z] does not contain declared merge key: name"),
        (r#""x""#, "json: cannot unmarshal string into Go value of type map[string]interface {}"),
    ] {
        assert_eq!(text(strategic(&v(pod), &v(patch), &POD)), want, "{patch}");
    }
    let deployment = r#"{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}"#;
    assert_eq!(
        text(strategic(
            &v(deployment),
            &v(r#"{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}"#),
            &DEPLOYMENT
        )),
        r#"{"spec":{"strategy":{"type":"Recreate"}}}"#
    );
    let finalizers = r#"{"metadata":{"finalizers":["a","b","c"]}}"#;
    assert_eq!(
        text(strategic(&v(finalizers), &v(r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}}"#), &POD)),
        r#"{"metadata":{"finalizers":["a","c"]}}"#
    );
}

/// As `kubectl apply` makes them.
#[test]
fn three_way() {
    let original = v(
        r#"{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"a","image":"x","env":[{"name":"K","value":"1"}]},{"name":"b","image":"y"}]}}}}"#,
    );
    let modified = v(r#"{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x2"}]}}}}"#);
    let current = v(
        r#"{"spec":{"replicas":3,"strategy":{"type":"RollingUpdate"},"template":{"spec":{"containers":[{"name":"a","image":"x","imagePullPolicy":"Always","env":[{"name":"K","value":"1"}]},{"name":"b","image":"y"}]}}}}"#,
    );
    let patch = create_three_way(&original, &modified, &current, &DEPLOYMENT);
    assert_eq!(
        text(patch.clone()),
        r#"{"spec":{"replicas":null,"template":{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"env":null,"image":"x2","name":"a"},{"$patch":"delete","name":"b"}]}}}}"#
    );
    assert_eq!(
        text(patch.and_then(|p| strategic(&current, &p, &DEPLOYMENT))),
        r#"{"spec":{"strategy":{"type":"RollingUpdate"},"template":{"spec":{"containers":[{"image":"x2","imagePullPolicy":"Always","name":"a"}]}}}}"#
    );
    let strategy = create_three_way(
        &v(r#"{"spec":{"strategy":{"type":"RollingUpdate"}}}"#),
        &v(r#"{"spec":{"strategy":{"type":"Recreate"}}}"#),
        &v(r#"{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}}"#),
        &DEPLOYMENT,
    );
    assert_eq!(text(strategy), r#"{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}"#);
}
