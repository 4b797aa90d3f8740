//! Descriptions as a real v1.37.2 cluster gave them.

use super::{Related, describe, describer};
use crate::print::time::parse_rfc3339;
use crate::value::Value;

fn json(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn check(object: &str, related: Related, want: &str) {
    let object = json(object);
    let (group, _) = crate::mapping::split_version(object.str("apiVersion"));
    let d = describer(group, object.str("kind"));
    let got = describe(d, &object, &related);
    assert_eq!(got, want, "\n--- got\n{got}--- want\n{want}");
}

#[test]
fn pending_pod() {
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"huge","namespace":"default"},"spec":{"priority":0,"serviceAccountName":"default","containers":[{"name":"app","image":"nginx:1.27","resources":{"requests":{"memory":"900Gi"}},"volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-zw5lf","readOnly":true}]}],"tolerations":[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}],"volumes":[{"name":"kube-api-access-zw5lf","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt"}},{"downwardAPI":{}}]}}]},"status":{"phase":"Pending","qosClass":"Burstable","conditions":[{"type":"PodScheduled","status":"False"}]}}"#;
    let event = json(
        r#"{"type":"Warning","reason":"FailedScheduling","eventTime":"2026-11-29T16:46:28.000000Z","reportingComponent":"default-scheduler","message":"0/3 nodes are available: 3 Insufficient memory."}"#,
    );
    let related = Related {
        now: parse_rfc3339("2026-11-29T16:46:30Z").unwrap_or(0),
        events: Some(vec![event]),
        ..Related::default()
    };
    check(
        pod,
        related,
        "Name:             huge
Namespace:        default
Priority:         0
Service Account:  default
Node:             <none>
Labels:           <none>
Annotations:      <none>
Status:           Pending
IP:               \nIPs:              <none>
Containers:
  app:
    Image:      nginx:1.27
    Port:       <none>
    Host Port:  <none>
    Requests:
      memory:     900Gi
    Environment:  <none>
    Mounts:
      /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-zw5lf (ro)
Conditions:
  Type           Status
  PodScheduled   False \nVolumes:
  kube-api-access-zw5lf:
    Type:                    Projected (a volume that contains injected data from multiple sources)
    TokenExpirationSeconds:  3607
    ConfigMapName:           kube-root-ca.crt
    Optional:                false
    DownwardAPI:             true
QoS Class:                   Burstable
Node-Selectors:              <none>
Tolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
                             node.kubernetes.io/unreachable:NoExecute op=Exists for 300s
Events:
  Type     Reason            Age   From               Message
  ----     ------            ----  ----               -------
  Warning  FailedScheduling  2s    default-scheduler  0/3 nodes are available: 3 Insufficient memory.
",
    );
}

#[test]
fn deployment() {
    let template = r#""template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"nginx:1.27","name":"nginx","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"limits":{"memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}}}]}}"#;
    let d = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"default","uid":"u","creationTimestamp":"2026-11-29T18:28:01Z","labels":{{"app":"web"}},"annotations":{{"deployment.kubernetes.io/revision":"1","kubectl.kubernetes.io/last-applied-configuration":"x"}}}},"spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"web"}}}},"strategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxSurge":"25%","maxUnavailable":"25%"}}}},{template}}},"status":{{"replicas":3,"updatedReplicas":3,"availableReplicas":3,"conditions":[{{"type":"Available","status":"True","reason":"MinimumReplicasAvailable"}},{{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}}]}}}}"#
    );
    let template =
        template.replace(r#""labels":{"app":"web"}"#, r#""labels":{"app":"web","pod-template-hash":"5487f79886"}"#);
    let rs = format!(
        r#"{{"metadata":{{"name":"web-5487f79886","ownerReferences":[{{"controller":true,"uid":"u"}}]}},"spec":{{"replicas":3,{template}}},"status":{{"replicas":3}}}}"#
    );
    let event = json(
        r#"{"type":"Normal","reason":"ScalingReplicaSet","firstTimestamp":"2026-11-29T18:28:01Z","lastTimestamp":"2026-11-29T18:28:01Z","count":1,"source":{"component":"deployment-controller"},"message":"Scaled up replica set web-5487f79886 from 0 to 3"}"#,
    );
    let related = Related {
        now: parse_rfc3339("2026-11-29T18:28:02Z").unwrap_or(0),
        events: Some(vec![event]),
        replica_sets: vec![json(&rs)],
        ..Related::default()
    };
    check(
        &d,
        related,
        "Name:                   web
Namespace:              default
CreationTimestamp:      Sun, 29 Nov 2026 18:28:01 +0000
Labels:                 app=web
Annotations:            deployment.kubernetes.io/revision: 1
Selector:               app=web
Replicas:               3 desired | 3 updated | 3 total | 3 available | 0 unavailable
StrategyType:           RollingUpdate
MinReadySeconds:        0
RollingUpdateStrategy:  25% max unavailable, 25% max surge
Pod Template:
  Labels:  app=web
  Containers:
   nginx:
    Image:      nginx:1.27
    Port:       80/TCP
    Host Port:  0/TCP
    Limits:
      memory:  128Mi
    Requests:
      cpu:         100m
      memory:      64Mi
    Environment:   <none>
    Mounts:        <none>
  Volumes:         <none>
  Node-Selectors:  <none>
  Tolerations:     <none>
Conditions:
  Type           Status  Reason
  ----           ------  ------
  Available      True    MinimumReplicasAvailable
  Progressing    True    NewReplicaSetAvailable
OldReplicaSets:  <none>
NewReplicaSet:   web-5487f79886 (3/3 replicas created)
Events:
  Type    Reason             Age   From                   Message
  ----    ------             ----  ----                   -------
  Normal  ScalingReplicaSet  1s    deployment-controller  Scaled up replica set web-5487f79886 from 0 to 3
",
    );
}

#[test]
fn config_map_and_secret() {
    check(
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"default"},"data":{"color":"blue","size":"3"}}"#,
        Related { events: Some(Vec::new()), ..Related::default() },
        "Name:         settings
Namespace:    default
Labels:       <none>
Annotations:  <none>

Data
====
color:
----
blue

size:
----
3


BinaryData
====

Events:  <none>
",
    );
    check(
        r#"{"apiVersion":"v1","kind":"Secret","type":"Opaque","metadata":{"name":"keys","namespace":"default"},"data":{"password":"aHVudGVyMg=="}}"#,
        Related::default(),
        "Name:         keys
Namespace:    default
Labels:       <none>
Annotations:  <none>

Type:  Opaque

Data
====
password:  7 bytes
",
    );
}

#[test]
fn policies() {
    let none = || Related { events: Some(Vec::new()), ..Related::default() };
    check(
        r#"{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"default"},"spec":{"minAvailable":3,"selector":{"matchLabels":{"app":"web"}}},"status":{"currentHealthy":3,"desiredHealthy":3,"disruptionsAllowed":0,"expectedPods":3}}"#,
        none(),
        "Name:           web
Namespace:      default
Min available:  3
Selector:       app=web
Status:
    Allowed disruptions:  0
    Current:              3
    Desired:              3
    Total:                3
Events:                   <none>
",
    );
    check(
        r#"{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"defaults","namespace":"team"},"spec":{"limits":[{"type":"Container","default":{"cpu":"200m","memory":"128Mi"},"defaultRequest":{"cpu":"100m","memory":"64Mi"},"max":{"cpu":"500m"}}]}}"#,
        none(),
        "Name:       defaults
Namespace:  team
Type        Resource  Min  Max   Default Request  Default Limit  Max Limit/Request Ratio
----        --------  ---  ---   ---------------  -------------  -----------------------
Container   cpu       -    500m  100m             200m           -
Container   memory    -    -     64Mi             128Mi          -
",
    );
    check(
        r#"{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"urgent"},"value":1000,"description":"now","preemptionPolicy":"PreemptLowerPriority"}"#,
        none(),
        "Name:              urgent
Value:             1000
GlobalDefault:     false
PreemptionPolicy:  PreemptLowerPriority
Description:       now
Annotations:       <none>
Events:            <none>
",
    );
    check(
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default","labels":{"kubernetes.io/metadata.name":"default"}},"status":{"phase":"Active"}}"#,
        none(),
        "Name:         default
Labels:       kubernetes.io/metadata.name=default
Annotations:  <none>
Status:       Active

No resource quota.

No LimitRange resource.
",
    );
}

#[test]
fn access() {
    check(
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]}"#,
        Related::default(),
        "Name:         reader
Labels:       <none>
Annotations:  <none>
PolicyRule:
  Resources  Non-Resource URLs  Resource Names  Verbs
  ---------  -----------------  --------------  -----
  pods       []                 []              [get list watch]
",
    );
    check(
        r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"robot-reads"},"roleRef":{"kind":"Role","name":"reader"},"subjects":[{"kind":"ServiceAccount","name":"robot","namespace":"default"}]}"#,
        Related::default(),
        "Name:         robot-reads
Labels:       <none>
Annotations:  <none>
Role:
  Kind:  Role
  Name:  reader
Subjects:
  Kind            Name   Namespace
  ----            ----   ---------
  ServiceAccount  robot  default
",
    );
}

#[test]
fn ingress() {
    let slice = json(
        r#"{"metadata":{"labels":{"kubernetes.io/service-name":"web"}},"ports":[{"name":"","port":80}],"endpoints":[{"addresses":["10.244.2.229"],"conditions":{"ready":true}}]}"#,
    );
    let service = json(r#"{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}"#);
    check(
        r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"web","namespace":"default"},"spec":{"rules":[{"host":"example.com","http":{"paths":[{"path":"/","backend":{"service":{"name":"web","port":{"number":80}}}}]}}]}}"#,
        Related { events: Some(Vec::new()), slices: vec![slice], services: vec![service], ..Related::default() },
        "Name:             web
Labels:           <none>
Namespace:        default
Address:          \nIngress Class:    <none>
Default backend:  <default>
Rules:
  Host         Path  Backends
  ----         ----  --------
  example.com  \n               /   web:80 (10.244.2.229:80)
Annotations:   <none>
Events:        <none>
",
    );
}

/// Every `testdata/KIND.json` is described as the real kubectl described it (`KIND.txt`).
#[test]
fn recorded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("describe/testdata");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let items = |name: &str| json(&read(name)).list("items").to_vec();
    let now = (read("now").trim().parse::<f64>().unwrap_or(0.0) * 1e9) as i64;
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|f| f.file_name().to_str()?.strip_suffix(".txt").map(String::from))
        .collect();
    names.sort();
    let mut wrong = String::new();
    for name in &names {
        let object = json(&read(&format!("{name}.json")));
        let (group, _) = crate::mapping::split_version(object.str("apiVersion"));
        let d = describer(group, object.str("kind"));
        let mut events = items("events.json");
        events.extend(items("events-default.json"));
        let about = |e: &&Value| {
            e.str("involvedObject/name") == object.str("metadata/name")
                && e.str("involvedObject/kind") == object.str("kind")
                && (object.str("metadata/namespace").is_empty()
                    || e.str("involvedObject/namespace") == object.str("metadata/namespace"))
        };
        let labels = object.at("spec/selector/matchLabels");
        let selected = |p: &&Value| {
            labels.map_entries().all(|(k, v)| p.at("metadata/labels").key(k).as_str() == v.as_str())
                && labels.map_entries().next().is_some()
        };
        let on_node = |p: &&Value| {
            p.str("spec/nodeName") == object.str("metadata/name")
                && !matches!(p.str("status/phase"), "Succeeded" | "Failed")
        };
        let is_node = object.str("kind") == "Node";
        let slices: Vec<Value> = items("slices.json")
            .into_iter()
            .filter(|s| {
                s.at("metadata/labels").key("kubernetes.io/service-name").as_str() == Some(object.str("metadata/name"))
            })
            .collect();
        let related = |now: i64| Related {
            now,
            events: Some(events.iter().filter(about).cloned().collect()),
            pods: items("pods.json")
                .iter()
                .filter(|p| if is_node { on_node(p) } else { selected(p) })
                .cloned()
                .collect(),
            slices: slices.clone(),
            replica_sets: items("rs.json").iter().filter(selected).cloned().collect(),
            lease: items("leases.json")
                .into_iter()
                .find(|l| l.str("metadata/name") == object.str("metadata/name"))
                .map(Ok),
            ..Related::default()
        };
        let want = read(&format!("{name}.txt"));
        // The recording took seconds, in which time passed and events were counted up.
        let head = |t: &str| t.split("\nEvents:").next().unwrap_or("").trim_end().to_string();
        let at = |half: i64| describe(d, &object, &related(now + half * 500_000_000));
        let got = at(0);
        if !(0..40).any(|half| head(&at(half)) == head(&want)) {
            wrong.push_str(&format!("=== {name}\n--- got\n{got}--- want\n{want}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
