//! Volumes: whose they are, where they are, how many a node may have.

use super::*;
use crate::framework::{Cycle, PreFilter};
use api::Object;
use api::core_v1::{PersistentVolume, PersistentVolumeClaim};
use api::storage_v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use client::Lister;

/// A cluster with storage, each list in YAML.
fn stored(nodes: Vec<NodeInfo>, change: impl FnOnce(&mut crate::storage::Storage)) -> Snapshot {
    let mut all = snapshot(nodes);
    change(&mut all.storage);
    all
}

fn lister<T: api::Resource>(objects: &[String]) -> Lister<T> {
    Lister::of(objects.iter().map(|text| Rev::new(1, decode_plain::<T>(text))))
}

fn decode_plain<T: Object + Default>(yaml: &str) -> T {
    let value = api::yaml::parse(yaml).expect("YAML");
    let mut object = T::default();
    api::json::decode(value.to_json().as_bytes(), &mut object, false).expect("an object");
    object
}

fn claiming(name: &str, claim: &str) -> Rc<PodInfo> {
    pod(name, &format!("{{volumes: [{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}], {C}}}"))
}

/// A claim, bound to a volume or of a class.
fn claim(name: &str, volume: &str, class: &str, mode: &str) -> String {
    let bound = if volume.is_empty() { "" } else { ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}" };
    format!(
        "metadata: {{name: {name}, namespace: default{bound}}}\n\
         spec: {{volumeName: '{volume}', storageClassName: '{class}', accessModes: [{mode}]}}"
    )
}

#[test]
fn volume_restrictions() {
    let inline = |volume: &str| pod("p", &format!("{{volumes: [{{name: v, {volume}}}], {C}}}"));
    let text = "VolumeRestrictions node(s) had no available disk";
    for (one, other, fits) in [
        ("gcePersistentDisk: {pdName: foo}", "gcePersistentDisk: {pdName: bar}", true),
        ("gcePersistentDisk: {pdName: foo}", "gcePersistentDisk: {pdName: foo}", false),
        ("gcePersistentDisk: {pdName: foo, readOnly: true}", "gcePersistentDisk: {pdName: foo, readOnly: true}", true),
        ("gcePersistentDisk: {pdName: foo, readOnly: true}", "gcePersistentDisk: {pdName: foo}", false),
        ("awsElasticBlockStore: {volumeID: foo}", "awsElasticBlockStore: {volumeID: foo, readOnly: true}", false),
        ("iscsi: {targetPortal: a, iqn: q, lun: 0}", "iscsi: {targetPortal: b, iqn: q, lun: 1}", false),
        ("rbd: {monitors: [a, b], image: i, pool: p}", "rbd: {monitors: [b, c], image: i, pool: p}", false),
        ("rbd: {monitors: [a, b], image: i, pool: p}", "rbd: {monitors: [c, d], image: i, pool: p}", true),
    ] {
        let mut n = node("one", "z", "{}");
        n.add(inline(other));
        let said = verdicts(&inline(one), &snapshot(vec![n]));
        assert_eq!(said, [if fits { "" } else { text }], "{one} {other}");
    }
    // A claim for one pod only, wherever the other one is.
    let storage = |s: &mut crate::storage::Storage| {
        s.claims = lister(&[claim("single", "v", "", "ReadWriteOncePod"), claim("many", "v", "", "ReadWriteOnce")]);
        s.volumes = lister(&["metadata: {name: v}".to_string()]);
    };
    let text = "VolumeRestrictions node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode \
                already in-use by another pod";
    for (name, fits) in [("single", false), ("many", true)] {
        let mut nodes = three();
        nodes[0].add(claiming("other", name));
        let all = stored(nodes, storage);
        let wanted = if fits { "" } else { text };
        assert_eq!(verdicts(&claiming("p", name), &all), [wanted, wanted, wanted]);
    }
    assert_eq!(verdicts(&claiming("p", "single"), &stored(three(), storage)), ["", "", ""]);
    let absent = verdicts(&claiming("p", "absent"), &stored(three(), storage));
    assert_eq!(absent[0], "VolumeRestrictions persistentvolumeclaim \"absent\" not found");
    // Preemption may help: the other one is of lower priority.
    let mut nodes = three();
    nodes[0].add(claiming("other", "single"));
    let all = stored(nodes, storage);
    let spec = format!("{{priority: 10, volumes: [{{name: v, persistentVolumeClaim: {{claimName: single}}}}], {C}}}");
    let urgent = pod("urgent", &spec);
    let outcome = schedule(&urgent, &all);
    let found = crate::preemption::run(&urgent, &all, &outcome.nodes, &[], 0, &|_| None);
    let crate::preemption::Outcome::Found(best) = found else { panic!("the other pod can go") };
    assert_eq!((&*best.node, best.victims.len()), ("node-a", 1));
}

#[test]
fn volume_zone() {
    let volume = |labels: &str| format!("metadata: {{name: vol_1, labels: {labels}}}");
    let labelled_node = |labels: &str| bare("host1", labels, "{}", "{allocatable: {pods: '9'}}");
    let text = "VolumeZone node(s) had no available volume zone";
    let beta = "failure-domain.beta.kubernetes.io/zone";
    let zone = "topology.kubernetes.io/zone";
    let region = "topology.kubernetes.io/region";
    for (volume_labels, node_labels, fits) in [
        (format!("{{{zone}: us-west1-a}}"), "{}".to_string(), true),
        (format!("{{{zone}: us-west1-a}}"), format!("{{{zone}: us-west1-a}}"), true),
        (format!("{{{zone}: us-west1-b}}"), format!("{{{zone}: us-west1-a}}"), false),
        (format!("{{{zone}: us-west1-a__us-west1-b}}"), format!("{{{zone}: us-west1-a}}"), true),
        (format!("{{{region}: us-west2}}"), format!("{{{region}: us-west1, {zone}: us-west1-a}}"), false),
        // A beta label of the volume meets today's label of the node.
        (format!("{{{beta}: us-west1-a}}"), format!("{{{zone}: us-west1-a}}"), true),
        (format!("{{{beta}: us-west1-b}}"), format!("{{{zone}: us-west1-a}}"), false),
        (format!("{{{zone}: us-west1-a}}"), format!("{{{region}: us-west1}}"), false),
        ("{}".to_string(), format!("{{{zone}: us-west1-a}}"), true),
    ] {
        let all = stored(vec![labelled_node(&node_labels)], |s| {
            s.claims = lister(&[claim("c", "vol_1", "", "ReadWriteOnce")]);
            s.volumes = lister(&[volume(&volume_labels)]);
        });
        assert_eq!(
            verdicts(&claiming("p", "c"), &all),
            [if fits { "" } else { text }],
            "{volume_labels} {node_labels}"
        );
    }
    // What VolumeZone itself says of a claim without a volume.
    let says = |class: &str, classes: &[String]| {
        let all = stored(three(), |s| {
            s.claims = lister(&[claim("c", "", class, "ReadWriteOnce")]);
            s.classes = lister(classes);
        });
        let info = claiming("p", "c");
        let cycle = Cycle::new(&info, &all, None);
        match plugins::volume_zone::PLUGIN.pre_filter.map(|f| f(&cycle)) {
            Some(PreFilter::Reject(r)) => r.reasons[0].text.to_string(),
            Some(PreFilter::Skip) => "skip".to_string(),
            _ => "go".to_string(),
        }
    };
    assert_eq!(says("", &[]), "PersistentVolumeClaim had no pv name and storageClass name");
    assert_eq!(says("gone", &[]), "storageclass.storage.k8s.io \"gone\" not found");
    let class = |mode: &str| format!("metadata: {{name: k}}\nprovisioner: p\n{mode}");
    assert_eq!(says("k", &[class("")]), "VolumeBindingMode not set for StorageClass \"k\"");
    assert_eq!(says("k", &[class("volumeBindingMode: Immediate")]), "PersistentVolume had no name");
    assert_eq!(says("k", &[class("volumeBindingMode: WaitForFirstConsumer")]), "skip");
}

#[test]
fn node_volume_limits() {
    const DRIVER: &str = "csi.example.com";
    let volume =
        |name: &str| format!("metadata: {{name: {name}}}\nspec: {{csi: {{driver: {DRIVER}, volumeHandle: h-{name}}}}}");
    let limit = |count: i32| {
        format!(
            "metadata: {{name: one}}\n\
             spec: {{drivers: [{{name: {DRIVER}, nodeID: one, topologyKeys: [], allocatable: {{count: {count}}}}}]}}"
        )
    };
    let names = ["a", "b", "c"];
    let cluster = |running: &[&str], csi_nodes: &[String], drivers: &[String], attachments: &[String]| {
        let mut n = node("one", "z", "{}");
        running.iter().for_each(|c| n.add(claiming(&format!("pod-{c}"), c)));
        stored(vec![n], |s| {
            s.claims = lister::<PersistentVolumeClaim>(&names.map(|c| claim(c, c, "", "ReadWriteOnce")));
            s.volumes = lister::<PersistentVolume>(&names.map(volume));
            s.csi_nodes = lister::<CSINode>(csi_nodes);
            s.csi_drivers = lister::<CSIDriver>(drivers);
            s.attachments = lister::<VolumeAttachment>(attachments);
            s.classes = lister::<StorageClass>(&[]);
        })
    };
    let text = "NodeVolumeLimits node(s) exceed max volume count";
    for (running, count, wanted) in [
        (&["a"][..], 2, ""),
        (&["a"][..], 1, text),
        (&["a", "b"][..], 2, text),
        // The same volume is attached once.
        (&["c"][..], 1, ""),
        (&["a", "c"][..], 1, ""),
        (&[][..], 0, text),
    ] {
        assert_eq!(verdicts(&claiming("p", "c"), &cluster(running, &[limit(count)], &[], &[])), [wanted]);
    }
    // A node that says nothing of the driver has no limit.
    assert_eq!(verdicts(&claiming("p", "c"), &cluster(&["a", "b"], &[], &[], &[])), [""]);
    // What is still attached counts though no pod uses it.
    let attached = format!(
        "metadata: {{name: va}}\nspec: {{attacher: {DRIVER}, nodeName: one, source: {{persistentVolumeName: b}}}}"
    );
    assert_eq!(verdicts(&claiming("p", "c"), &cluster(&[], &[limit(1)], &[], &[attached])), [text]);
    // A driver may ask to be waited for.
    let driver = format!("metadata: {{name: {DRIVER}}}\nspec: {{preventPodSchedulingIfMissing: true}}");
    let text = format!("NodeVolumeLimits {DRIVER} CSI driver is not installed on the node");
    assert_eq!(verdicts(&claiming("p", "c"), &cluster(&[], &[], std::slice::from_ref(&driver), &[])), [text]);
    assert_eq!(verdicts(&claiming("p", "c"), &cluster(&[], &[limit(5)], &[driver], &[])), [""]);
}

/// A claim that waits for a node, of a class whose driver says what it has left.
fn wanting(size: &str) -> (String, [String; 1], [String; 1]) {
    let claim = format!(
        "metadata: {{name: data, namespace: default}}\nspec: {{storageClassName: fast, accessModes: [ReadWriteOnce], \
         resources: {{requests: {{storage: {size}}}}}}}"
    );
    let class = "metadata: {name: fast}\nprovisioner: csi.example.com\nvolumeBindingMode: WaitForFirstConsumer";
    let driver = "metadata: {name: csi.example.com}\nspec: {storageCapacity: true}";
    (claim, [class.to_string()], [driver.to_string()])
}

fn capacity(name: &str, zone: &str, rest: &str) -> String {
    format!(
        "metadata: {{name: {name}, namespace: kube-system}}\nstorageClassName: fast\n\
         nodeTopology: {{matchLabels: {{topology.kubernetes.io/zone: {zone}}}}}\n{rest}"
    )
}

#[test]
fn storage_that_is_left() {
    let short = "VolumeBinding node(s) did not have enough free storage";
    let all = [
        capacity("a", "za", "capacity: 10Gi"),
        capacity("b", "zb", "capacity: 100Gi\nmaximumVolumeSize: 4Gi"),
        "metadata: {name: c, namespace: kube-system}\nstorageClassName: fast\ncapacity: 1Ti".to_string(),
    ];
    let cluster = |size: &str, report: bool| {
        let (claim, class, driver) = wanting(size);
        stored(three(), |s| {
            s.claims = lister(&[claim]);
            s.classes = lister(&class);
            if report {
                s.csi_drivers = lister(&driver);
            }
            s.capacities = lister(&all);
        })
    };
    let pod = claiming("p", "data");
    // The capacity without topology reaches no node; a volume's greatest size counts before all that is left.
    assert_eq!(verdicts(&pod, &cluster("4Gi", true)), ["", "", short]);
    assert_eq!(verdicts(&pod, &cluster("5Gi", true)), ["", short, short]);
    assert_eq!(verdicts(&pod, &cluster("11Gi", true)), [short, short, short]);
    // A driver that does not say so is not asked.
    assert_eq!(verdicts(&pod, &cluster("11Gi", false)), ["", "", ""]);
    // The node that would be filled less is better.
    let (snapshot, score) = (cluster("4Gi", true), plugins::named("VolumeBinding").unwrap().score.unwrap());
    let cycle = Cycle::new(&pod, &snapshot, None);
    let scores: Vec<i64> = snapshot.nodes.iter().map(|n| score(&cycle, n)).collect();
    assert_eq!(scores, [60, 96, 0]);
}
