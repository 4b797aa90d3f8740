//! What the object model's hot paths cost: `cargo bench -p tabernetes-api`.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]
use api::apply::{self, Request, reset_fields};
use api::core_v1::{ContainerStatus, Pod, PodCondition};
use api::json::{self, Value};
use api::{Object, Time, patch, yaml};
use std::hint::black_box;
use std::time::Instant;

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-5487f79886-2xk4p","generateName":"web-5487f79886-","namespace":"default","uid":"ddae4338-bcd3-423c-9457-1beceb279f6c","creationTimestamp":"2026-11-29T18:28:01Z","labels":{"app":"web","pod-template-hash":"5487f79886"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5487f79886","uid":"e2f0e1a5-3a0f-4a5e-8f3e-0c1ed44b3f7b","controller":true,"blockOwnerDeletion":true}]},"spec":{"volumes":[{"name":"kube-api-access-x7zkq","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}}],"containers":[{"name":"nginx","image":"nginx:1.27","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"limits":{"memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[{"name":"kube-api-access-x7zkq","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","nodeName":"node-1","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-11-29T18:28:02Z"}],"hostIP":"172.18.0.3","podIP":"10.244.1.4","podIPs":[{"ip":"10.244.1.4"}],"startTime":"2026-11-29T18:28:01Z","containerStatuses":[{"name":"nginx","state":{"running":{"startedAt":"2026-11-29T18:28:02Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"docker.io/library/nginx:1.27","imageID":"x","started":true}],"qosClass":"Burstable"}}"#;

/// The best of many small batches: what it costs when nothing disturbs.
fn time(name: &str, n: u32, mut f: impl FnMut()) {
    let batch = (n / 100).max(1);
    let best = (0..100)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| f());
            start.elapsed().as_nanos() as f64 / f64::from(batch)
        })
        .fold(f64::INFINITY, f64::min);
    println!("{name:40} {best:8.0} ns");
}

fn main() {
    let mut pod = Pod::default();
    json::decode(POD.as_bytes(), &mut pod, true).expect("a pod");
    let n = 20_000;
    println!("a pod of {} bytes", POD.len());
    time("decode", n, || {
        let mut p = Pod::default();
        let _ = black_box(json::decode(POD.as_bytes(), &mut p, true));
    });
    time("encode", n, || {
        black_box(json::encode(&pod));
    });
    time("Value::parse", n, || {
        let _ = black_box(Value::parse(POD));
    });
    time("to_value", n, || {
        black_box(json::to_value(&pod, None));
    });
    time("yaml::print", n, || {
        black_box(yaml::print(&json::to_value(&pod, None)));
    });
    time("clone", n * 10, || {
        black_box(pod.clone());
    });
    let ready = |old: &Pod, t: i64| {
        let mut p = old.clone();
        let s = p.status.make();
        s.conditions = [PodCondition {
            type_: "Ready".into(),
            status: "True".into(),
            last_transition_time: Time::from_unix(t),
            ..Default::default()
        }]
        .into();
        s.container_statuses = [ContainerStatus { name: "nginx".into(), ready: true, ..Default::default() }].into();
        p
    };
    time("status update", n, || {
        black_box(ready(&pod, 5));
    });
    let other = ready(&pod, 5);
    time("equal, shared spec", n * 10, || {
        black_box((&pod as &dyn Object).equal(&other));
    });
    let mut copy = Pod::default();
    json::decode(POD.as_bytes(), &mut copy, true).expect("a pod");
    time("equal, nothing shared", n, || {
        black_box((&pod as &dyn Object).equal(&copy));
    });
    let (main, status) = (reset_fields(""), reset_fields("status"));
    let create = Request {
        manager: "kube-controller-manager",
        subresource: "",
        api_version: "v1",
        now: Time::from_unix(1),
        reset: &main,
    };
    let update = Request {
        manager: "kubelet",
        subresource: "status",
        api_version: "v1",
        now: Time::from_unix(2),
        reset: &status,
    };
    time("managed fields of a create", n, || {
        let mut new = pod.clone();
        new.metadata.uid = Default::default();
        apply::update(&Pod::default(), &mut new, &create);
        black_box(new);
    });
    let mut created = pod.clone();
    created.metadata.uid = Default::default();
    apply::update(&Pod::default(), &mut created, &create);
    created.metadata.uid = "u".into();
    time("managed fields of a status update", n, || {
        let mut new = ready(&created, 9);
        apply::update(&created, &mut new, &update);
        black_box(new);
    });
    let p = Value::parse(r#"{"spec":{"containers":[{"name":"nginx","image":"nginx:1.28"}]}}"#).expect("a patch");
    time("strategic merge, from object to object", n, || {
        let v = patch::strategic(&json::to_value(&pod, None), &p, (&pod as &dyn Object).desc()).expect("applies");
        let mut o = Pod::default();
        let _ = json::from_value(&v, &mut o, true);
        black_box(o);
    });
    let config = Value::parse(POD).expect("a pod");
    time("server-side apply", n / 4, || {
        let _ = black_box(apply::apply(&created, &config, &create, true));
    });
}
