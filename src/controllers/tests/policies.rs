//! The status of admission policies.

use api::json::Value;
use api::rest::Body;
use client::Client;

use super::{World, with_world};

/// A policy's status says what is wrong with its expressions, and no longer once that is mended.
#[test]
fn a_policys_status_tells_of_its_expressions() {
    let kind = api::scheme::by_api_version("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy").unwrap();
    with_world(move |w| async move {
        let status = async |w: &World| -> String {
            let found = w.client.get_kind(kind, "", "typed").await.unwrap();
            api::json::to_value_bare(&*found.body).get("status").map(Value::to_json).unwrap_or_default()
        };
        let mut policy = Value::parse(
            r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"typed"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}]},"validations":[{"expression":"object.spec.replicas > 1"}]}}"#,
        )
        .unwrap();
        let send = async |client: &Client, verb: api::rest::Verb, name: &str, policy: &Value| {
            let mut request = client.prepare(verb, kind, "", name, "");
            request.body = Body::Bytes(policy.to_json().as_bytes().into());
            client.request(request).await.unwrap();
        };
        send(&w.client, api::rest::Verb::Create, "", &policy).await;
        w.eventually("it is warned of", async |w: &World| {
            let status = status(w).await;
            status
                .starts_with(r#"{"observedGeneration":1,"typeChecking":{"expressionWarnings":[{"fieldRef":"spec.valid"#)
                && status.contains("undefined field 'replicas'")
        })
        .await;
        let current = w.client.get_kind(kind, "", "typed").await.unwrap();
        policy = api::json::to_value(&*current.body, Some(current.revision));
        policy.set_at(
            &["spec", "validations"],
            Value::parse(r#"[{"expression":"object.spec.hostNetwork == true"}]"#).unwrap(),
        );
        send(&w.client, api::rest::Verb::Update, "typed", &policy).await;
        w.eventually("it is mended", async |w: &World| status(w).await == r#"{"observedGeneration":2}"#).await;
    });
}
