//! The plugins' hints: which changes may help a pod that a plugin refused. The cases are those that Kubernetes' own
//! tests of `QueueingHintFn` document.

use crate::change::{About, Change};
use crate::node_info::PodInfo;
use crate::plugins;
use crate::tests::{decode, pod};
use api::Rev;
use api::core_v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use api::resource_v1::ResourceClaim;
use api::storage_v1::{CSINode, CSIStorageCapacity, StorageClass};
use std::rc::Rc;

const C: &str = "containers: [{name: c, image: x}]";

/// Whether `plugin` tries `pod` again after the change.
fn helps(plugin: &str, pod: &PodInfo, change: Change, about: &About) -> bool {
    let hints = plugins::named(plugin).map(|p| p.hints).unwrap_or_default();
    let devices = crate::devices::Devices::default();
    hints.iter().filter(|h| h.changes.contains(&change)).any(|h| h.may_help(pod, about, &devices))
}

fn node(labels: &str, spec: &str, allocatable: &str) -> Rev<Node> {
    let text = format!(
        "metadata: {{name: node-a, labels: {labels}}}\nspec: {spec}\nstatus: {{allocatable: {{pods: '9'{allocatable}}}}}"
    );
    Rev::new(1, decode(&text))
}

fn plain(labels: &str) -> Rev<Node> {
    node(labels, "{}", "")
}

fn placed(labels: &str, namespace: &str, spec: &str) -> Rev<Pod> {
    let text = format!(
        "metadata: {{name: other, namespace: {namespace}, labels: {labels}}}\nspec: {{nodeName: node-a, {spec}}}"
    );
    Rev::new(1, decode(&text))
}

fn new_node(node: Rev<Node>) -> About {
    About::Node(None, Some(node))
}

fn changed_node(old: Rev<Node>, new: Rev<Node>) -> About {
    About::Node(Some(old), Some(new))
}

fn gone(pod: Rev<Pod>) -> About {
    About::Pod(Some(pod), None)
}

#[test]
fn node_affinity_wants_a_node_that_begins_to_match() {
    let picky = pod("p", &format!("{{nodeSelector: {{foo: bar}}, {C}}}"));
    for (change, about, wanted) in [
        (Change::NodeAdded, new_node(plain("{foo: bar}")), true),
        (Change::NodeAdded, new_node(plain("{zone: a}")), false),
        (Change::NodeLabels, changed_node(plain("{zone: a}"), plain("{foo: bar}")), true),
        (Change::NodeLabels, changed_node(plain("{foo: bar}"), plain("{foo: bar, zone: a}")), false),
        (Change::NodeLabels, changed_node(plain("{foo: bar}"), plain("{foo: baz}")), false),
        (Change::AssignedPodDeleted, About::Nothing, false),
    ] {
        assert_eq!(helps("NodeAffinity", &picky, change, &about), wanted, "{change:?}");
    }
}

#[test]
fn taints_and_cordons_want_a_node_that_opens() {
    let tainted = |key: &str| node("{}", &format!("{{taints: [{{key: {key}, value: v, effect: NoSchedule}}]}}"), "");
    let tolerant = pod("p", &format!("{{tolerations: [{{key: ok, operator: Exists}}], {C}}}"));
    for (about, wanted) in [
        (new_node(tainted("ok")), true),
        (new_node(tainted("other")), false),
        (changed_node(tainted("other"), plain("{}")), true),
        (changed_node(tainted("ok"), plain("{}")), false),
        (changed_node(plain("{}"), tainted("other")), false),
    ] {
        assert_eq!(helps("TaintToleration", &tolerant, Change::NodeTaints, &about), wanted);
    }
    assert!(helps("TaintToleration", &tolerant, Change::TargetPodTolerations, &About::Nothing));
    let cordoned = || node("{}", "{unschedulable: true}", "");
    for (about, wanted) in [
        (new_node(plain("{}")), true),
        (new_node(cordoned()), false),
        (changed_node(cordoned(), plain("{}")), true),
        (changed_node(plain("{}"), plain("{foo: bar}")), false),
    ] {
        assert_eq!(helps("NodeUnschedulable", &tolerant, Change::NodeTaints, &about), wanted);
    }
    assert!(!helps("NodeUnschedulable", &tolerant, Change::TargetPodTolerations, &About::Nothing));
    let all = pod("p", &format!("{{tolerations: [{{operator: Exists}}], {C}}}"));
    assert!(helps("NodeUnschedulable", &all, Change::TargetPodTolerations, &About::Nothing));
}

#[test]
fn features_want_a_node_that_declares_others() {
    let declaring = |features: &str| {
        let text = format!("metadata: {{name: node-a}}\nstatus: {{declaredFeatures: {features}}}");
        Rev::new(1, decode::<Node>(&text))
    };
    let waiting = pod("p", &format!("{{{C}}}"));
    for (change, about, wanted) in [
        (Change::NodeAdded, new_node(declaring("[]")), true),
        (Change::NodeDeclaredFeatures, changed_node(declaring("[]"), declaring("[a]")), true),
        (Change::NodeDeclaredFeatures, changed_node(declaring("[a]"), declaring("[a]")), false),
        (Change::NodeLabels, changed_node(declaring("[]"), declaring("[a]")), false),
    ] {
        assert_eq!(helps("NodeDeclaredFeatures", &waiting, change, &about), wanted, "{change:?}");
    }
}

#[test]
fn ports_want_the_pod_gone_that_has_them() {
    let ported =
        |port: i32| format!("containers: [{{name: c, image: x, ports: [{{containerPort: 80, hostPort: {port}}}]}}]");
    let wanting = pod("p", &format!("{{{}}}", ported(80)));
    let deleted = |spec: &str| gone(placed("{}", "default", spec));
    assert!(helps("NodePorts", &wanting, Change::AssignedPodDeleted, &deleted(&ported(80))));
    assert!(!helps("NodePorts", &wanting, Change::AssignedPodDeleted, &deleted(&ported(81))));
    assert!(!helps("NodePorts", &wanting, Change::AssignedPodDeleted, &deleted(C)));
    assert!(helps("NodePorts", &wanting, Change::NodeAdded, &About::Nothing));
}

#[test]
fn resources_want_more_of_what_is_asked_for() {
    let asks = |requests: &str| format!("containers: [{{name: c, image: x, resources: {{requests: {requests}}}}}]");
    let wanting = pod("p", &format!("{{{}}}", asks("{cpu: '2', memory: 1Gi}")));
    let size =
        |cpu: &str, memory: &str, more: &str| node("{}", "{}", &format!(", cpu: '{cpu}', memory: {memory}{more}"));
    for (about, wanted) in [
        (new_node(size("4", "8Gi", "")), true),
        (new_node(size("1", "8Gi", "")), false),
        (changed_node(size("2", "8Gi", ""), size("4", "8Gi", "")), true),
        (changed_node(size("4", "8Gi", ""), size("4", "8Gi", ", example.com/gpu: '1'")), false),
        (changed_node(size("1", "8Gi", ""), size("1500m", "8Gi", "")), false),
        (changed_node(size("4", "8Gi", ""), size("3", "8Gi", "")), false),
    ] {
        assert_eq!(helps("NodeResourcesFit", &wanting, Change::NodeAllocatable, &about), wanted);
    }
    let scaled = |from: &str, to: &str| {
        About::Pod(Some(placed("{}", "default", &asks(from))), Some(placed("{}", "default", &asks(to))))
    };
    let down = Change::AssignedPodScaledDown;
    assert!(helps("NodeResourcesFit", &wanting, down, &scaled("{cpu: '2'}", "{cpu: '1'}")));
    assert!(!helps(
        "NodeResourcesFit",
        &wanting,
        down,
        &scaled("{ephemeral-storage: 2Gi}", "{ephemeral-storage: 1Gi}")
    ));
    assert!(helps("NodeResourcesFit", &wanting, Change::AssignedPodDeleted, &About::Nothing));
    assert!(!helps("NodeResourcesFit", &wanting, Change::AssignedPodAdded, &About::Nothing));
}

#[test]
fn affinity_wants_pods_that_begin_or_cease_to_match() {
    let term = "[{topologyKey: zone, labelSelector: {matchLabels: {app: db}}}]";
    let with = |kind: &str| {
        let affinity = format!("{{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: {term}}}}}");
        pod("p", &format!("{{affinity: {affinity}, {C}}}"))
    };
    let (near, far) = (with("podAffinity"), with("podAntiAffinity"));
    let db = || placed("{app: db}", "default", C);
    let web = || placed("{app: web}", "default", C);
    let added = |pod: Rev<Pod>| About::Pod(None, Some(pod));
    let relabelled = |old: Rev<Pod>, new: Rev<Pod>| About::Pod(Some(old), Some(new));
    let name = "InterPodAffinity";
    assert!(helps(name, &near, Change::AssignedPodAdded, &added(db())));
    assert!(!helps(name, &near, Change::AssignedPodAdded, &added(web())));
    assert!(!helps(name, &near, Change::AssignedPodAdded, &added(placed("{app: db}", "prod", C))));
    assert!(helps(name, &near, Change::AssignedPodLabels, &relabelled(web(), db())));
    assert!(!helps(name, &near, Change::AssignedPodLabels, &relabelled(db(), web())));
    assert!(!helps(name, &near, Change::AssignedPodDeleted, &gone(db())));
    assert!(helps(name, &far, Change::AssignedPodDeleted, &gone(db())));
    assert!(!helps(name, &far, Change::AssignedPodDeleted, &gone(web())));
    assert!(helps(name, &far, Change::AssignedPodLabels, &relabelled(db(), web())));
    // The one that went refused the one that waits.
    let refusing = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
                    [{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]}}, containers: [{name: c, image: x}]";
    assert!(helps(name, &near, Change::AssignedPodDeleted, &gone(placed("{app: x}", "default", refusing))));
    let relabel = |old: &str, new: &str| changed_node(plain(old), plain(new));
    for (who, about, wanted) in [
        (&near, new_node(plain("{zone: a}")), true),
        (&near, new_node(plain("{other: a}")), false),
        (&near, relabel("{zone: a}", "{zone: b}"), true),
        (&near, relabel("{zone: a}", "{zone: a, x: w}"), false),
        (&near, relabel("{zone: a}", "{}"), false),
        (&far, new_node(plain("{}")), true),
        (&far, relabel("{zone: a}", "{}"), true),
        (&far, relabel("{}", "{zone: a}"), false),
    ] {
        assert_eq!(helps(name, who, Change::NodeLabels, &about), wanted);
    }
    assert!(helps(name, &near, Change::TargetPodLabels, &About::Nothing));
}

#[test]
fn spreading_wants_pods_that_count_and_nodes_with_the_labels() {
    let constraint = "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, \
                      labelSelector: {matchLabels: {app: web}}}]";
    let even = pod("p", &format!("{{topologySpreadConstraints: {constraint}, {C}}}"));
    let name = "PodTopologySpread";
    let web = |namespace: &str| placed("{app: web}", namespace, C);
    let db = || placed("{app: db}", "default", C);
    let added = |pod: Rev<Pod>| About::Pod(None, Some(pod));
    assert!(helps(name, &even, Change::AssignedPodAdded, &added(web("default"))));
    assert!(!helps(name, &even, Change::AssignedPodAdded, &added(web("prod"))));
    assert!(!helps(name, &even, Change::AssignedPodAdded, &added(db())));
    assert!(helps(name, &even, Change::AssignedPodDeleted, &gone(web("default"))));
    let relabelled = About::Pod(Some(db()), Some(web("default")));
    assert!(helps(name, &even, Change::AssignedPodLabels, &relabelled));
    for (change, about, wanted) in [
        (Change::NodeAdded, new_node(plain("{zone: a}")), true),
        (Change::NodeAdded, new_node(plain("{other: a}")), false),
        (Change::NodeDeleted, About::Node(Some(plain("{zone: a}")), None), true),
        (Change::NodeLabels, changed_node(plain("{}"), plain("{zone: a}")), true),
        (Change::NodeLabels, changed_node(plain("{zone: a}"), plain("{zone: b}")), true),
        (Change::NodeLabels, changed_node(plain("{zone: a}"), plain("{zone: a, x: w}")), false),
    ] {
        assert_eq!(helps(name, &even, change, &about), wanted, "{change:?}");
    }
}

#[test]
fn volumes_want_what_concerns_them() {
    let claiming = pod("p", &format!("{{volumes: [{{name: v, persistentVolumeClaim: {{claimName: c}}}}], {C}}}"));
    let claim = |name: &str, namespace: &str| {
        let text = format!("metadata: {{name: {name}, namespace: {namespace}}}");
        About::Claim(Rev::new(1, decode::<PersistentVolumeClaim>(&text)))
    };
    for plugin in ["VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"] {
        assert!(helps(plugin, &claiming, Change::ClaimAdded, &claim("c", "default")), "{plugin}");
        assert!(!helps(plugin, &claiming, Change::ClaimAdded, &claim("d", "default")), "{plugin}");
        assert!(!helps(plugin, &claiming, Change::ClaimAdded, &claim("c", "prod")), "{plugin}");
    }
    let user = |claim: &str, namespace: &str| {
        gone(placed(
            "{}",
            namespace,
            &format!("volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}], {C}"),
        ))
    };
    assert!(helps("VolumeRestrictions", &claiming, Change::AssignedPodDeleted, &user("c", "default")));
    assert!(!helps("VolumeRestrictions", &claiming, Change::AssignedPodDeleted, &user("d", "default")));
    assert!(!helps("VolumeRestrictions", &claiming, Change::AssignedPodDeleted, &user("c", "prod")));
    assert!(helps("NodeVolumeLimits", &claiming, Change::AssignedPodDeleted, &user("d", "default")));
    assert!(!helps("NodeVolumeLimits", &claiming, Change::AssignedPodDeleted, &gone(placed("{}", "default", C))));
    let csi = |count: i32| {
        let text = format!(
            "metadata: {{name: a}}\nspec: {{drivers: [{{name: d, nodeID: a, topologyKeys: [], allocatable: {{count: {count}}}}}]}}"
        );
        Rev::new(1, decode::<CSINode>(&text))
    };
    let limits = |old: i32, new: i32| About::CsiNode(Some(csi(old)), csi(new));
    assert!(helps("NodeVolumeLimits", &claiming, Change::CsiNodeUpdated, &limits(1, 2)));
    assert!(!helps("NodeVolumeLimits", &claiming, Change::CsiNodeUpdated, &limits(2, 1)));
    let volume =
        |labels: &str| Rev::new(1, decode::<PersistentVolume>(&format!("metadata: {{name: v, labels: {labels}}}")));
    let zone = |z: &str| volume(&format!("{{topology.kubernetes.io/zone: {z}}}"));
    let moved = About::Volume(Some(zone("a")), zone("b"));
    assert!(helps("VolumeZone", &claiming, Change::VolumeUpdated, &moved));
    let same = About::Volume(Some(zone("a")), zone("a"));
    assert!(!helps("VolumeZone", &claiming, Change::VolumeUpdated, &same));
    let class = |mode: &str, zone: &str| {
        let text = format!(
            "metadata: {{name: k}}\nprovisioner: p\nvolumeBindingMode: {mode}\n\
             allowedTopologies: [{{matchLabelExpressions: [{{key: zone, values: [{zone}]}}]}}]"
        );
        Rev::new(1, decode::<StorageClass>(&text))
    };
    let (late, now) = (class("WaitForFirstConsumer", "a"), class("Immediate", "a"));
    assert!(helps("VolumeZone", &claiming, Change::StorageClassAdded, &About::Class(None, late.clone())));
    assert!(!helps("VolumeZone", &claiming, Change::StorageClassAdded, &About::Class(None, now.clone())));
    assert!(helps("VolumeBinding", &claiming, Change::StorageClassAdded, &About::Class(None, now.clone())));
    let widened = About::Class(Some(now.clone()), class("Immediate", "b"));
    assert!(helps("VolumeBinding", &claiming, Change::StorageClassUpdated, &widened));
    assert!(!helps("VolumeBinding", &claiming, Change::StorageClassUpdated, &About::Class(Some(now.clone()), now)));
}

#[test]
fn gates_and_preemption() {
    let gated: Rc<PodInfo> = pod("p", &format!("{{{C}}}"));
    assert!(helps("SchedulingGates", &gated, Change::TargetPodSchedulingGatesEliminated, &About::Nothing));
    // Preemption itself waits for nothing: the plugin that refused the pod says when it is worth a try.
    assert!(!helps("DefaultPreemption", &gated, Change::AssignedPodDeleted, &About::Nothing));
}

#[test]
fn more_storage_helps_less_does_not() {
    let waiting = pod("p", &format!("{{{C}}}"));
    let left = |rest: &str| Rev::new(1, decode::<CSIStorageCapacity>(&format!("metadata: {{name: c}}\n{rest}")));
    for (old, new, wanted) in [
        ("capacity: 1Gi", "capacity: 2Gi", true),
        ("capacity: 2Gi", "capacity: 1Gi", false),
        ("", "capacity: 1Gi", true),
        ("capacity: 1Gi", "", false),
        // The greatest size of a volume counts where it is said.
        ("capacity: 1Gi\nmaximumVolumeSize: 1Gi", "capacity: 9Gi\nmaximumVolumeSize: 1Gi", false),
    ] {
        let (old, new) = (left(old), left(new));
        let about = About::Capacity(Some(old), new.clone());
        assert_eq!(helps("VolumeBinding", &waiting, Change::CsiStorageCapacityUpdated, &about), wanted);
        assert!(helps("VolumeBinding", &waiting, Change::CsiStorageCapacityAdded, &About::Capacity(None, new)));
    }
}

#[test]
fn claims_of_devices() {
    let waiting = pod("p", &format!("{{resourceClaims: [{{name: d, resourceClaimName: own}}], {C}}}"));
    let claim = |name: &str, status: &str| {
        Rev::new(
            1,
            decode::<ResourceClaim>(&format!("metadata: {{name: {name}, namespace: default}}\nstatus: {status}")),
        )
    };
    let allocated = "{allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}}";
    for (what, old, new, wanted) in [
        ("its claim is new", None, Some(claim("own", "{}")), true),
        ("another is new", None, Some(claim("other", "{}")), false),
        ("another gives up devices", Some(claim("other", allocated)), Some(claim("other", "{}")), true),
        ("another gets devices", Some(claim("other", "{}")), Some(claim("other", allocated)), false),
        ("its own gets devices", Some(claim("own", "{}")), Some(claim("own", allocated)), true),
        ("nothing in the status", Some(claim("own", "{}")), Some(claim("own", "{}")), false),
        ("one without devices goes", Some(claim("other", "{}")), None, false),
        ("one with devices goes", Some(claim("other", allocated)), None, true),
    ] {
        let about = About::ResourceClaim(old, new);
        assert_eq!(helps("DynamicResources", &waiting, Change::ResourceClaimUpdated, &about), wanted, "{what}");
    }
}

#[test]
fn resources_want_a_class_that_stands_for_them_or_a_node_that_leaves_them_to_one() {
    use api::resource_v1::DeviceClass;
    let asks = |name: &str| {
        pod(
            "p",
            &format!("{{containers: [{{name: c, image: x, resources: {{requests: {{cpu: '1', {name}: '1'}}}}}}]}}"),
        )
    };
    let (gpu, nic) = (asks("e.com/gpu"), asks("deviceclass.resource.kubernetes.io/nic"));
    let class = |name: &str, rest: &str| -> Rev<DeviceClass> {
        Rev::new(1, decode(&format!("metadata: {{name: {name}}}\nspec: {{{rest}}}")))
    };
    let (named, plain) = (class("a", "extendedResourceName: e.com/gpu"), class("a", ""));
    for (what, pod, old, new, wanted) in [
        ("a class for it", &gpu, None, named.clone(), true),
        ("a class for it now", &gpu, Some(plain.clone()), named.clone(), true),
        ("it is the same", &gpu, Some(named.clone()), named.clone(), false),
        ("it is not any more", &gpu, Some(named.clone()), plain.clone(), false),
        ("another class", &gpu, None, plain.clone(), false),
        ("a class of its name", &nic, None, class("nic", ""), true),
        ("a class of its name that was there", &nic, Some(class("nic", "")), class("nic", ""), false),
    ] {
        let about = About::DeviceClass(old, new);
        assert_eq!(helps("NodeResourcesFit", pod, Change::DeviceClassAdded, &about), wanted, "{what}");
    }
    let hints = plugins::named("NodeResourcesFit").map(|p| p.hints).unwrap_or_default();
    let about = new_node(node("{}", "{}", ", cpu: '2'"));
    for (classes, wanted) in [(vec![named], true), (vec![plain], false)] {
        let (none, no_slices, no_rules) = (client::Lister::of([]), client::Lister::of([]), client::Lister::of([]));
        let devices = crate::devices::Devices::new(none, no_slices, no_rules, client::Lister::of(classes));
        let fitting = hints.iter().filter(|h| h.changes.contains(&Change::NodeAdded));
        assert_eq!(fitting.into_iter().any(|h| h.may_help(&gpu, &about, &devices)), wanted);
    }
}
