//! Requests that are wrong in themselves: options, bodies, tokens of continuation. Expected texts are those of a real
//! v1.37.2 cluster.

use super::*;
use api::authentication_v1::TokenReview;
use api::core_v1::ConfigMap;
use api::meta_v1::DeleteOptions;

async fn maps(client: &Client, count: usize) {
    for i in 0..count {
        let mut map = ConfigMap::default();
        map.metadata.name = Str::from(format!("m{i}"));
        client.create("default", map).await.unwrap();
    }
}

async fn refused(client: &Client, options: ListOptions) -> String {
    client.list(ConfigMap::KIND, "default", options).await.map(|_| ()).unwrap_err().to_string()
}

fn token(json: &str) -> Str {
    Str::from(crate::base64::encode_url(json.as_bytes()))
}

#[test]
fn options_of_lists() {
    with_server(|_, client, _| async move {
        maps(&client, 1).await;
        let all = |change: &dyn Fn(&mut ListOptions)| {
            let mut options = ListOptions::default();
            change(&mut options);
            options
        };
        let cases: [(&dyn Fn(&mut ListOptions), &str); 11] = [
            (
                &|o| o.continue_ = "a$b".into(),
                "invalid continue token: continue key is not valid: illegal base64 data at input byte 1",
            ),
            (
                &|o| o.continue_ = "abc".into(),
                "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
            ),
            (
                &|o| o.continue_ = token("{}"),
                "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
            ),
            (
                &|o| o.continue_ = token(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"kube\u0000"}"#),
                "invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (
                &|o| {
                    o.continue_ = token(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"kube\u0000"}"#);
                    o.resource_version = "5".into();
                },
                "specifying resource version is not allowed when using continue",
            ),
            (
                &|o| o.resource_version = "x".into(),
                "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax",
            ),
            (
                &|o| o.resource_version_match = "Exact".into(),
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            (
                &|o| {
                    o.resource_version_match = "Foo".into();
                    o.resource_version = "5".into();
                },
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ),
            (
                &|o| {
                    o.resource_version_match = "Exact".into();
                    o.resource_version = "0".into();
                },
                "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ),
            (
                &|o| o.send_initial_events = Some(true),
                "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            ),
            (
                &|o| o.field_selector = "spec.foo=b".into(),
                "\"spec.foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(refused(&client, all(change)).await, expected);
        }
    });
}

#[test]
fn a_list_goes_on_after_compaction_if_it_must() {
    with_server(|_, client, server| async move {
        maps(&client, 4).await;
        let options = |continue_: &Str| ListOptions { limit: 2, continue_: continue_.clone(), ..Default::default() };
        let first = client.list(ConfigMap::KIND, "default", options(&Str::default())).await.unwrap();
        assert_eq!((first.items.len(), first.remaining), (2, Some(2)));
        client.delete::<ConfigMap>("default", "m3").await.unwrap();
        let rest = client.list(ConfigMap::KIND, "default", options(&first.continue_)).await.unwrap();
        assert_eq!(rest.items.len(), 2, "the list is of the state it began with");
        let storage = server.inner().storage.clone();
        storage.compact(storage.revision().await.unwrap()).await.unwrap();
        let expired = client.list(ConfigMap::KIND, "default", options(&first.continue_)).await.map(|_| ()).unwrap_err();
        assert!(expired.is_expired() && expired.to_string().starts_with("The provided continue parameter is too old"));
        let again = expired.into_object().metadata.continue_.clone();
        let rest = client.list(ConfigMap::KIND, "default", options(&again)).await.unwrap();
        assert_eq!(rest.items.len(), 1, "the list is of the newest state");
    });
}

#[test]
fn bodies_that_are_not_what_they_should_be() {
    with_server(|_, client, _| async move {
        let cases = [
            (
                r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}"#,
                r#"Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion"#,
            ),
            (
                r#"{"apiVersion":"apps/v1","kind":"ConfigMap","metadata":{"name":"x"}}"#,
                r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "apps/v1" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},}"#,
                r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string ({"apiVersion":"v1","kind":"Con ...)"#,
            ),
            (
                r#"{"apiVersion":"v1","kind":5}"#,
                r#"the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"apiVersion":"v1","kind":5})"#,
            ),
            (
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}"#,
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
            (
                r#"{"apiVersion":"v1","kind":"ConfigMap"}"#,
                "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
            ),
        ];
        for (json, expected) in cases {
            let body = Body::Bytes(Rc::from(json.as_bytes()));
            let answer = client.object(Verb::Create, ConfigMap::KIND, ["", "default", ""], body).await;
            assert_eq!(answer.map(|_| ()).unwrap_err().to_string(), expected);
        }
        maps(&client, 1).await;
        let put = |json: &str| {
            let body = Body::Bytes(Rc::from(json.as_bytes()));
            client.object(Verb::Update, ConfigMap::KIND, ["", "default", "m0"], body)
        };
        let bad = put(r#"{"metadata":{"name":"m0","resourceVersion":"abc"}}"#).await.map(|_| ()).unwrap_err();
        assert_eq!(bad.to_string(), "strconv.ParseUint: parsing \"abc\": invalid syntax");
        let other = put(r#"{"metadata":{"name":"m0","uid":"abc"}}"#).await.map(|_| ()).unwrap_err();
        assert!(
            other.to_string().starts_with(
                "Operation cannot be fulfilled on configmaps \"m0\": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/m0, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: abc, UID in object meta: "
            ),
            "{other}"
        );
        let patch = r#"{"metadata":{"uid":"5"}}"#;
        let changed = client.patch::<ConfigMap>("default", "m0", PatchType::Merge, patch).await.map(|_| ());
        assert_eq!(
            changed.unwrap_err().to_string(),
            "ConfigMap \"m0\" is invalid: metadata.uid: Invalid value: \"5\": field is immutable"
        );
    });
}

#[test]
fn options_of_deletions() {
    with_server(|_, client, _| async move {
        maps(&client, 1).await;
        let delete = |options: DeleteOptions| {
            let mut request = client.request(
                Verb::Delete,
                Client::target(ConfigMap::KIND, "", "default", "m0"),
                Body::Empty,
                Query::None,
            );
            request.delete = Some(Rc::new(options));
            client.send(request)
        };
        let foo = DeleteOptions { propagation_policy: "Foo".into(), ..Default::default() };
        assert_eq!(
            delete(foo).await.map(|_| ()).unwrap_err().to_string(),
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Foo\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
        );
        let both =
            DeleteOptions { propagation_policy: "Orphan".into(), orphan_dependents: Some(true), ..Default::default() };
        assert_eq!(
            delete(both).await.map(|_| ()).unwrap_err().to_string(),
            "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
        );
    });
}

#[test]
fn questions_that_ask_nothing() {
    with_server(|_, client, _| async move {
        let ask = |json: &'static str| {
            let value = Value::parse(json).unwrap();
            let kind = api::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).unwrap();
            let namespace = if kind.namespaced { "default" } else { "" };
            client.object(Verb::Create, kind, ["", namespace, ""], Body::Bytes(Rc::from(json.as_bytes())))
        };
        let cases = [
            (
                r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"ann"}}"#,
                ".authorization.k8s.io \"\" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ),
            (
                r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"resourceAttributes":{"verb":"get"},"nonResourceAttributes":{"path":"/x"}}}"#,
                ".authorization.k8s.io \"\" is invalid: [spec: Invalid value: {\"Path\":\"/x\",\"Verb\":\"\"}: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: \"\": at least one of user or group must be specified]",
            ),
            (
                r#"{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","spec":{"user":"ann","resourceAttributes":{"verb":"get","resource":"pods","namespace":"other"}}}"#,
                ".authorization.k8s.io \"\" is invalid: spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace",
            ),
            (
                r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{}}"#,
                "token is required for TokenReview in authentication",
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(ask(json).await.map(|_| ()).unwrap_err().to_string(), expected);
        }
        let review = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"abc"}}"#;
        let review = ask(review).await.unwrap().downcast::<TokenReview>().unwrap();
        assert_eq!((review.status.authenticated, &*review.status.error), (false, "invalid bearer token"));
    });
}

#[test]
fn health_is_told_check_by_check() {
    with_server(|_, client, _| async move {
        let get = |path: &'static str| {
            let request = client.request(Verb::Get, Target::Path(path.into()), Body::Empty, Query::None);
            client.send(request)
        };
        let text = |answer: Answered| match answer.answer {
            Answer::Text(text) => text.to_string(),
            _ => panic!("no text"),
        };
        assert_eq!(text(get("/healthz").await.unwrap()), "ok");
        assert_eq!(text(get("/livez/ping").await.unwrap()), "ok");
        assert_eq!(text(get("/healthz/poststarthook/rbac/bootstrap-roles").await.unwrap()), "ok");
        assert!(get("/readyz/foo").await.is_err_and(|status| status.is_not_found()));
        let verbose = text(get("/readyz?exclude=etcd&verbose").await.unwrap());
        let lines: Vec<&str> = verbose.lines().collect();
        assert_eq!(lines[..4], ["[+]ping ok", "[+]log ok", "[+]etcd excluded: ok", "[+]etcd-readiness ok"]);
        assert_eq!(lines.len(), 38);
        assert_eq!(lines[36..], ["[+]shutdown ok", "readyz check passed"]);
        let odd = text(get("/readyz?exclude=foo&verbose").await.unwrap());
        assert!(odd.ends_with(
            "[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for \"foo\"\nreadyz check passed\n"
        ));
    });
}
