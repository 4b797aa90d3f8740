use super::*;
use crate::apps_v1::Deployment;
use crate::core_v1::Pod;
use crate::json::{encode, encode_bare, to_value};

fn pod(json: &str) -> Result<(String, Vec<String>), String> {
    let mut p = Pod::default();
    let strict = decode(json.as_bytes(), &mut p, true).map_err(|e| e.message)?;
    Ok((String::from_utf8_lossy(&encode_bare(&p)).into_owned(), strict.into_iter().map(|e| e.0).collect()))
}

#[test]
fn round_trip() {
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"2026-01-02T15:04:05Z","labels":{"a":"b"},"name":"p"},"spec":{"containers":[{"image":"nginx","name":"c","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"500m"}}}],"nodeSelector":{},"volumes":[{"awsElasticBlockStore":{"volumeID":"v"},"name":"x"}]},"status":{}}"#;
    let mut p = Pod::default();
    assert_eq!(decode(json.as_bytes(), &mut p, true), Ok(vec![]));
    assert_eq!(p.kind, "");
    let want = json.replace(r#","nodeSelector":{}"#, "");
    assert_eq!(String::from_utf8_lossy(&encode(&p)), want);
    assert_eq!(to_value(&p, None).to_json(), want);
    assert!(to_value(&p, Some(7)).to_json().contains(r#""name":"p","resourceVersion":"7""#));
}

#[test]
fn type_errors() {
    for (json, want) in [
        (
            r#"{"spec":{"containers":[{"env":[{"name":"x","value":1}]}]}}"#,
            "json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string",
        ),
        (
            r#"{"spec":{"containers":"x"}}"#,
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            r#"{"spec":{"containers":[{"imagePullPolicy":3}]}}"#,
            "json: cannot unmarshal number into Go struct field Container.spec.containers.imagePullPolicy of type v1.PullPolicy",
        ),
        (
            r#"{"spec":{"containers":[{"ports":[{"containerPort":8.5}]}]}}"#,
            "json: cannot unmarshal number 8.5 into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32",
        ),
        (
            r#"{"metadata":{"creationTimestamp":5}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (r#"{"spec":{"containers":1}}x"#, "invalid character 'x' after top-level value"),
        (
            r#"{"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ] {
        assert_eq!(pod(json).unwrap_err(), want, "{json}");
    }
    let mut d = Deployment::default();
    assert_eq!(
        decode(br#"{"spec":{"replicas":"three"}}"#, &mut d, false).unwrap_err().message,
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
}

#[test]
fn strict_errors() {
    let (_, errors) = pod(
        r#"{"spec":{"containers":[{"name":"a","name":"b","foo":1}],"nodeSelector":{"a":"1","a":"2"},"bar":{"x":1}},"spek":1}"#,
    )
    .unwrap_or_default();
    assert_eq!(
        errors,
        [
            r#"duplicate field "spec.containers[0].name""#,
            r#"unknown field "spec.containers[0].foo""#,
            r#"duplicate field "spec.nodeSelector.a""#,
            r#"unknown field "spec.bar""#,
            r#"unknown field "spek""#,
        ]
    );
}
