//! Amounts as the tests of Kubernetes' evaluators have them.
use super::*;
use crate::{json, scheme, yaml};

const NOTHING: Around = &|_, _| {};

fn object(manifest: &str) -> Box<dyn Object> {
    let value = yaml::parse(manifest).expect("YAML");
    let kind = scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).expect("a known kind");
    let mut object = kind.new_object();
    json::from_value(&value, &mut *object, true).expect("decodes");
    object
}
fn pod(spec: &str) -> Box<dyn Object> {
    object(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}}}}}"))
}
fn quota(spec: &str) -> ResourceQuota {
    let quota = object(&format!("{{apiVersion: v1, kind: ResourceQuota, spec: {{{spec}}}, status: {{{spec}}}}}"));
    quota.downcast_ref::<ResourceQuota>().cloned().expect("a quota")
}
fn shown(list: &ResourceList) -> String {
    list.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect::<Vec<_>>().join(" ")
}
fn names(list: &[&str]) -> Vec<Str> {
    list.iter().map(|name| Str::from(*name)).collect()
}

#[test]
fn usage_of_pods() {
    let of = |spec: &str| shown(&Evaluator::Pods.usage(&*pod(spec), 0, NOTHING));
    assert_eq!(of("containers: [{name: a, image: i}]"), "count/pods=1 pods=1");
    assert_eq!(
        of(
            "containers: [{name: a, resources: {requests: {cpu: 100m, memory: 1Mi, example.com/dongle: 3}, limits: {cpu: 200m, ephemeral-storage: 1Gi}}}], overhead: {cpu: 10m}"
        ),
        "count/pods=1 cpu=110m limits.cpu=210m limits.ephemeral-storage=1Gi memory=1Mi pods=1 requests.cpu=110m requests.example.com/dongle=3 requests.memory=1Mi"
    );
    // An init container with the sidecar before it is the most here.
    assert_eq!(
        of(
            "initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 5}}}], containers: [{name: a, resources: {requests: {cpu: 2}}}]"
        ),
        "count/pods=1 cpu=6 pods=1 requests.cpu=6"
    );
    let ended = object("{apiVersion: v1, kind: Pod, spec: {containers: []}, status: {phase: Succeeded}}");
    assert_eq!(shown(&Evaluator::Pods.usage(&*ended, 0, NOTHING)), "count/pods=1");
    let stuck = object(
        "{apiVersion: v1, kind: Pod, metadata: {deletionTimestamp: 1970-01-01T00:00:10Z, deletionGracePeriodSeconds: 5}, spec: {containers: []}}",
    );
    assert_eq!(shown(&Evaluator::Pods.usage(&*stuck, 15_000_000_000, NOTHING)), "count/pods=1 pods=1");
    assert_eq!(shown(&Evaluator::Pods.usage(&*stuck, 15_000_000_001, NOTHING)), "count/pods=1");
}

#[test]
fn what_a_resize_has_not_given_back_yet_counts() {
    let pod = object(
        "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}, status: {containerStatuses: [{name: a, image: i, allocatedResources: {cpu: 2}, resources: {requests: {cpu: 3}}}]}}",
    );
    assert_eq!(shown(&Evaluator::Pods.usage(&*pod, 0, NOTHING)), "count/pods=1 cpu=3 pods=1 requests.cpu=3");
}

#[test]
fn usage_of_others() {
    let of = |evaluator: Evaluator, manifest: &str| shown(&evaluator.usage(&*object(manifest), 0, NOTHING));
    let service = |spec: &str| of(Evaluator::Services, &format!("{{apiVersion: v1, kind: Service, spec: {spec}}}"));
    assert_eq!(
        service("{ports: [{port: 1}]}"),
        "count/services=1 services=1 services.loadbalancers=0 services.nodeports=0"
    );
    assert_eq!(
        service("{type: LoadBalancer, ports: [{port: 1}, {port: 2}]}"),
        "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2"
    );
    assert_eq!(
        service(
            "{type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 1}, {port: 2, nodePort: 3}]}"
        ),
        "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1"
    );
    assert_eq!(
        of(
            Evaluator::Claims,
            "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: gold, resources: {requests: {storage: 10Gi}}}}"
        ),
        "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/requests.storage=10Gi persistentvolumeclaims=1 requests.storage=10Gi"
    );
    let map = scheme::by_api_version("v1", "ConfigMap").and_then(evaluator).expect("counted");
    assert_eq!(of(map, "{apiVersion: v1, kind: ConfigMap}"), "configmaps=1 count/configmaps=1");
    assert_eq!(scheme::by_api_version("v1", "Event").and_then(evaluator), None);
}

#[test]
fn which_resources_are_whose() {
    let all = names(&[
        "count/deployments.apps",
        "cpu",
        "requests.nvidia.com/gpu",
        "hugepages-2Mi",
        "services.nodeports",
        "silver.storageclass.storage.k8s.io/requests.storage",
        "configmaps",
        "requests.storage",
    ]);
    let of = |evaluator: Evaluator| evaluator.matching_resources(&all, NOTHING);
    assert_eq!(of(Evaluator::Pods), names(&["cpu", "hugepages-2Mi", "requests.nvidia.com/gpu"]));
    assert_eq!(of(Evaluator::Services), names(&["services.nodeports"]));
    let of_classes = "silver.storageclass.storage.k8s.io/requests.storage";
    assert_eq!(of(Evaluator::Claims), names(&["requests.storage", of_classes]));
    let deployments = scheme::by_api_version("apps/v1", "Deployment").and_then(evaluator).expect("counted");
    assert_eq!(of(deployments), names(&["count/deployments.apps"]));
    let hard = all.iter().map(|name| (name.clone(), one())).collect();
    let kinds: Vec<&str> = counted_kinds(&hard, NOTHING).into_iter().map(|kind| kind.plural).collect();
    assert_eq!(kinds, ["configmaps", "persistentvolumeclaims", "pods", "services", "deployments"]);
}

#[test]
fn scopes() {
    let best_effort = "containers: [{name: a}]";
    let with_class =
        "priorityClassName: high, activeDeadlineSeconds: 5, containers: [{name: a, resources: {requests: {cpu: 1}}}]";
    let cases = [
        ("scopes: [BestEffort]", true, false),
        ("scopes: [NotBestEffort]", false, true),
        ("scopes: [Terminating]", false, true),
        ("scopes: [NotTerminating, BestEffort]", true, false),
        ("scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}", false, true),
        (
            "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: NotIn, values: [high]}]}",
            true,
            false,
        ),
        ("scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: DoesNotExist}]}", true, false),
        ("scopes: [CrossNamespacePodAffinity]", false, false),
    ];
    for (scope, first, second) in cases {
        let mut quota = quota("hard: {pods: 1}");
        let spec = object(&format!("{{apiVersion: v1, kind: ResourceQuota, spec: {{{scope}}}}}"));
        quota.spec = spec.downcast_ref::<ResourceQuota>().expect("a quota").spec.clone();
        assert_eq!(Evaluator::Pods.matches(&quota, &*pod(best_effort), NOTHING), Ok(first), "{scope}");
        assert_eq!(Evaluator::Pods.matches(&quota, &*pod(with_class), NOTHING), Ok(second), "{scope}");
    }
}

#[test]
fn containers_must_say_what_they_need() {
    let required = names(&["requests.cpu", "limits.memory", "pods", "requests.ephemeral-storage"]);
    let of = |spec: &str| Evaluator::Pods.constraints(&required, &*pod(spec));
    assert_eq!(
        of("initContainers: [{name: i}], containers: [{name: b}, {name: a, resources: {requests: {cpu: 1}}}]"),
        Err("must specify limits.memory for: a,b,i; requests.cpu for: b,i".to_string())
    );
    assert_eq!(of("resources: {requests: {cpu: 1}}, containers: [{name: a}]"), Ok(()));
}

#[test]
fn usage_of_a_namespace() {
    let quota = quota("hard: {pods: 2, requests.memory: 1Gi, count/configmaps: 3, unknown.example: 1}");
    let pods = [
        pod("containers: [{name: a, resources: {requests: {memory: 64Mi}}}]"),
        pod("containers: [{name: a, resources: {requests: {memory: 64Mi}}}]"),
    ];
    let used = calculate_usage(&quota.spec, 0, &|kind, count| {
        if kind.plural == "pods" {
            pods.iter().for_each(|pod| count(&**pod));
        }
    });
    assert_eq!(shown(&used), "count/configmaps=0 pods=2 requests.memory=128Mi");
}

#[test]
fn sums() {
    let list = |text: &str| quota(&format!("hard: {{{text}}}")).spec.hard.clone();
    let (a, b) = (list("cpu: 1, memory: 1Gi"), list("cpu: 2, pods: 1"));
    assert_eq!(shown(&amounts::add(&a, &b)), "cpu=3 memory=1Gi pods=1");
    assert_eq!(shown(&amounts::subtract_not_below_zero(&a, &b)), "cpu=0 memory=1Gi pods=0");
    assert_eq!(amounts::exceeded(&b, &a), names(&["cpu"]));
    assert_eq!(amounts::negative(&list("cpu: -1, pods: 0")), names(&["cpu"]));
}

#[test]
fn devices_count_by_class_and_by_the_resource_that_it_stands_for() {
    let class = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}";
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: u}, spec: {containers: [{name: a, resources: {requests: {example.com/gpu: 1}}}]}}";
    let around = |kind: &'static KindInfo, with: &mut dyn FnMut(&dyn Object)| {
        for manifest in [class, pod].into_iter().filter(|text| text.contains(kind.kind)) {
            with(&*object(manifest));
        }
    };
    let claim = |metadata: &str, requests: &str| {
        object(&format!(
            "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: c{metadata}}}, spec: {{devices: {{requests: [{requests}]}}}}}}"
        ))
    };
    let used = |claim: &dyn Object| shown(&Evaluator::Devices.usage(claim, 0, &around));
    let several = claim(
        "",
        "{name: a, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 2}}, {name: b, firstAvailable: [{name: x, deviceClassName: fpga, allocationMode: All}, {name: few, deviceClassName: fpga, allocationMode: ExactCount, count: 1}, {name: z, deviceClassName: gpu, allocationMode: ExactCount, count: 1}]}",
    );
    assert_eq!(
        used(&*several),
        "count/resourceclaims.resource.k8s.io=1 fpga.deviceclass.resource.k8s.io/devices=32 gpu.deviceclass.resource.k8s.io/devices=3 requests.deviceclass.resource.kubernetes.io/fpga=32 requests.deviceclass.resource.kubernetes.io/gpu=3 requests.example.com/gpu=3"
    );
    // The claim for a pod's extended resources: the pod was charged for them.
    let extended = claim(
        ", annotations: {resource.kubernetes.io/extended-resource-claim: 'true'}, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]",
        "{name: a, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}",
    );
    assert_eq!(
        used(&*extended),
        "count/resourceclaims.resource.k8s.io=1 gpu.deviceclass.resource.k8s.io/devices=1 requests.deviceclass.resource.kubernetes.io/gpu=1"
    );
    let all = names(&[
        "count/resourceclaims.resource.k8s.io",
        "gpu.deviceclass.resource.k8s.io/devices",
        "pods",
        "requests.deviceclass.resource.kubernetes.io/gpu",
        "requests.deviceclass.resource.kubernetes.io/fpga",
        "requests.example.com/gpu",
        "requests.example.com/nic",
    ]);
    assert_eq!(
        Evaluator::Devices.matching_resources(&all, &around),
        names(&[
            "count/resourceclaims.resource.k8s.io",
            "gpu.deviceclass.resource.k8s.io/devices",
            "requests.deviceclass.resource.kubernetes.io/gpu",
            "requests.example.com/gpu"
        ])
    );
}
