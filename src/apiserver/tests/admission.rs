//! Admission plugins: what they set, what they refuse. Expected texts are those of a real v1.37.2 cluster.

use super::*;
use api::core_v1::{Namespace, PersistentVolumeClaim, Pod, ServiceAccount};
use api::networking_v1::Ingress;

/// A namespace with these labels, and the account that its pods use.
async fn namespace(client: &Client, name: &str, labels: &[(&str, &str)]) {
    let mut namespace = Namespace::default();
    namespace.metadata.name = name.into();
    namespace.metadata.labels = labels.iter().map(|(key, value)| (Str::from(*key), Str::from(*value))).collect();
    client.create("", namespace).await.unwrap();
    let mut account = ServiceAccount::default();
    account.metadata.name = "default".into();
    client.create(name, account).await.unwrap();
}

async fn refusal(client: &Client, namespace: &str, json: &str) -> String {
    client.create_json(namespace, json).await.map(|_| ()).unwrap_err().to_string()
}

fn with_spec(spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"r"}},"spec":{{"containers":[{{"name":"r","image":"nginx:1.27"}}],{spec}}}}}"#
    )
}

#[test]
fn a_pod_of_a_runtime_class() {
    with_server(|_, client, _| async move {
        namespace(&client, "adm", &[]).await;
        let class = r#"{"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass","metadata":{"name":"heavy"},"handler":"heavy",
            "overhead":{"podFixed":{"cpu":"100m","memory":"64Mi"}},
            "scheduling":{"nodeSelector":{"kind":"heavy"},"tolerations":[{"key":"heavy","operator":"Exists"}]}}"#;
        client.create_json("", class).await.unwrap();
        let tolerating = r#""runtimeClassName":"heavy","tolerations":[{"key":"heavy","operator":"Equal","value":"a","effect":"NoSchedule"}]"#;
        let pod = client.create_json("adm", &with_spec(tolerating)).await.unwrap().downcast::<Pod>().unwrap();
        let shown = |object: &dyn Object| api::json::to_value_bare(object).to_json();
        assert_eq!(pod.spec.overhead.get("cpu").map(|q| q.to_string()), Some("100m".to_string()));
        assert_eq!(pod.spec.node_selector.get("kind").map(|v| v.to_string()), Some("heavy".to_string()));
        let keys: Vec<&str> = pod.spec.tolerations.iter().map(|toleration| &*toleration.key).collect();
        assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "heavy"]);
        assert_eq!(shown(&pod.spec.tolerations[2]), r#"{"key":"heavy","operator":"Exists"}"#);
        for (spec, why) in [
            (r#""runtimeClassName":"light""#, r#"pod rejected: RuntimeClass "light" not found"#),
            (
                r#""runtimeClassName":"heavy","nodeSelector":{"kind":"light"}"#,
                "conflict: runtimeClass.scheduling.nodeSelector[kind] = heavy; pod.spec.nodeSelector[kind] = light",
            ),
            (
                r#""runtimeClassName":"heavy","overhead":{"cpu":"1"}"#,
                "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            ),
            (
                r#""overhead":{"cpu":"1"}"#,
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            ),
        ] {
            assert_eq!(refusal(&client, "adm", &with_spec(spec)).await, format!("pods \"r\" is forbidden: {why}"));
        }
    });
}

#[test]
fn pods_of_a_restricted_namespace() {
    with_server(|_, client, _| async move {
        namespace(&client, "adm", &[("pod-security.kubernetes.io/enforce", "restricted")]).await;
        const WHY: &str = r#"allowPrivilegeEscalation != false (container "r" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "r" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "r" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "r" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#;
        assert_eq!(
            refusal(&client, "adm", &with_spec(r#""restartPolicy":"Never""#)).await,
            format!("pods \"r\" is forbidden: violates PodSecurity \"restricted:latest\": {WHY}")
        );
        // What makes pods is only warned of.
        client.create("adm", deployment("d")).await.unwrap();
        let patch = r#"{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"foo"}}}"#;
        let refused = client.patch::<Namespace>("", "adm", PatchType::Merge, patch).await.map(|_| ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"Namespace "adm" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted"#
        );
    });
}

#[test]
fn a_claim_grows_only_where_its_class_lets_it() {
    with_server(|_, client, _| async move {
        let claim = r#"{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c"},
            "spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"slow","resources":{"requests":{"storage":"1Gi"}}}}"#;
        let claim = client.create_json("default", claim).await.unwrap().downcast::<PersistentVolumeClaim>().unwrap();
        let mut bound = (*claim.body).clone();
        bound.status.make().phase = "Bound".into();
        client.update("status", &Rev { revision: claim.revision, body: Rc::new(bound) }).await.unwrap();
        let patch = r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#;
        let grow = || client.patch::<PersistentVolumeClaim>("default", "c", PatchType::Merge, patch);
        assert_eq!(
            grow().await.map(|_| ()).unwrap_err().to_string(),
            "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
        );
        let class = r#"{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"slow"},"provisioner":"p","allowVolumeExpansion":true}"#;
        client.create_json("", class).await.unwrap();
        assert!(grow().await.is_ok());
    });
}

#[test]
fn an_ingress_gets_the_default_class() {
    with_server(|_, client, _| async move {
        let class = r#"{"apiVersion":"networking.k8s.io/v1","kind":"IngressClass","metadata":{"name":"main","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/c"}}"#;
        client.create_json("", class).await.unwrap();
        let ingress = r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}"#;
        let ingress = client.create_json("default", ingress).await.unwrap().downcast::<Ingress>().unwrap();
        assert_eq!(ingress.spec.ingress_class_name.get(), Some("main"));
    });
}

#[test]
fn a_signing_request_from_asking_to_approval() {
    with_server(|_, client, _| async move {
        const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHck1GOENBUUF3TERFTk1Bc0dBMVVFQ2d3RVpHVjJjekVNTUFvR0ExVUVDZ3dEYjNCek1RMHdDd1lEVlFRRApEQVJ0YVc1aE1Db3dCUVlESzJWd0F5RUFJV0pnRitCSlIzeURDL014QUJSMU56ZlV0N3g3OXRIYm1FditIVURZCjZTU2dBREFGQmdNclpYQURRUUN2Z3IrOUZBZTdzYXJCU3Q2ZFZCOWlpd1dZcHJiU2w2STdlNWRiOHRzaXVnVk4KTS9SUEtJY1BRWEJxUERmN21GK295amRidS9uYUJyVU9tYkJZS2Q4RAotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
        let json = format!(
            r#"{{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{{"name":"mina"}},"spec":{{"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"],"request":"{REQUEST}","username":"somebody"}}}}"#
        );
        let created = client.create_json("", &json).await.unwrap();
        assert_eq!(dynamic(&*created.body, &["spec", "username"]), "kubernetes-admin");
        let kind = api::scheme::by_kind("certificates.k8s.io", "v1", "CertificateSigningRequest").unwrap();
        let patch = r#"{"status":{"conditions":[{"type":"Approved","status":"True","reason":"KubectlApprove","message":"m"}],"certificate":"eA=="}}"#;
        let body = || Body::Bytes(Rc::from(patch.as_bytes()));
        let verb = Verb::Patch(PatchType::Merge);
        let approved = client.object(verb, kind, ["approval", "", "mina"], body()).await.unwrap();
        let value = api::json::to_value_bare(&*approved.body);
        let condition = value.at(&["status", "conditions"]).and_then(Value::as_array).unwrap()[0].clone();
        assert_eq!(condition.str_at(&["type"]), "Approved");
        assert_eq!(condition.str_at(&["lastUpdateTime"]), condition.str_at(&["lastTransitionTime"]));
        assert!(!condition.str_at(&["lastUpdateTime"]).is_empty());
        assert_eq!(value.str_at(&["status", "certificate"]), "");
        // Only a signer may sign, and an approval is not to be taken back.
        let stranger = Credential::Certificate { user: "ann".into(), groups: Vec::new() };
        let denied = r#"{"status":{"conditions":[{"type":"Denied","status":"True"}]}}"#;
        let body = Body::Bytes(Rc::from(denied.as_bytes()));
        let refused = client.object(verb, kind, ["approval", "", "mina"], body).await.map(|_| ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"CertificateSigningRequest.certificates.k8s.io "mina" is invalid: status.conditions: Forbidden: updates may not remove a condition of type "Approved""#
        );
        let role = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"approver"},"rules":[{"apiGroups":["certificates.k8s.io"],"resources":["certificatesigningrequests/approval"],"verbs":["patch"]}]}"#;
        let binding = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"approver"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"approver"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"ann"}]}"#;
        client.create_json("", role).await.unwrap();
        client.create_json("", binding).await.unwrap();
        let ann = Client { credential: stranger, ..client };
        let body = Body::Bytes(Rc::from(patch.as_bytes()));
        let refused = ann.object(verb, kind, ["approval", "", "mina"], body).await.map(|_| ()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            r#"certificatesigningrequests.certificates.k8s.io "mina" is forbidden: user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client""#
        );
    });
}

#[test]
fn a_pod_is_not_changed_in_a_way_that_its_node_does_not_know() {
    with_server(|_, client, _| async move {
        namespace(&client, "adm", &[]).await;
        let node = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"bare"},
            "status":{"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"},"capacity":{"cpu":"4","memory":"8Gi","pods":"110"}}}"#;
        client.create_json("", node).await.unwrap();
        let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"bare",
            "initContainers":[{"name":"i","image":"busybox","resources":{"requests":{"cpu":"100m"}}}],
            "containers":[{"name":"c","image":"busybox","resources":{"requests":{"cpu":"100m"}}}]}}"#;
        client.create_json("adm", pod).await.unwrap();
        let resize = |of: &str| {
            let body = format!(
                r#"{{"spec":{{"{of}":[{{"name":"{}","resources":{{"requests":{{"cpu":"200m"}}}}}}]}}}}"#,
                &of[..1]
            );
            let body = Body::Bytes(Rc::from(body.as_bytes()));
            client.object(Verb::Patch(PatchType::Strategic), Pod::KIND, ["resize", "adm", "p"], body)
        };
        assert_eq!(
            resize("initContainers").await.map(|_| ()).unwrap_err().to_string(),
            "pods \"p\" is forbidden: pod update requires features InPlacePodVerticalScalingInitContainers which are not available on node \"bare\""
        );
        assert!(resize("containers").await.is_ok());
    });
}
