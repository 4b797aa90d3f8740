//! A table for each plugin: its verdicts and numbers. Expected values are worked out by hand from the formulas of
//! Kubernetes' sources, or are those that its own tests document.

mod resources;
mod topology;
mod volumes;

use crate::cache::Snapshot;
use crate::cycle;
use crate::framework::Gates;
use crate::node_info::{NodeInfo, PodInfo};
use crate::plugins;
use crate::tests::{decode, node, pod, refusals, schedule, snapshot, three};
use crate::verdict::Code;
use api::Rev;
use api::core_v1::{Node, Pod};
use std::rc::Rc;

const C: &str = "containers: [{name: c, image: x}]";

/// A node from its labels, spec and status.
fn bare(name: &str, labels: &str, spec: &str, status: &str) -> NodeInfo {
    let text = format!("metadata: {{name: {name}, labels: {labels}}}\nspec: {spec}\nstatus: {status}");
    NodeInfo::new(Rev::new(1, decode::<Node>(&text)))
}

/// A pod with labels of its own.
fn labelled(name: &str, labels: &str, spec: &str) -> Rc<PodInfo> {
    let text = format!("metadata: {{name: {name}, namespace: default, labels: {labels}}}\nspec: {spec}");
    PodInfo::new(Rev::new(1, decode::<Pod>(&text)))
}

/// `plugin reason`, or nothing, for each node.
fn verdicts(pod: &PodInfo, all: &Snapshot) -> Vec<String> {
    let outcome = schedule(pod, all);
    let said = |n: &crate::verdict::NodeVerdict| {
        n.rejected.as_ref().map_or_else(String::new, |(plugin, r)| {
            let reasons: Vec<&str> = r.reasons.iter().map(|r| &*r.text).collect();
            format!("{plugin} {}", reasons.join(", "))
        })
    };
    outcome.nodes.iter().map(said).collect()
}

/// (raw, normalized) of a plugin for the nodes that passed.
fn scores(pod: &PodInfo, all: &Snapshot, plugin: &str) -> Vec<(i64, i64)> {
    let outcome = schedule(pod, all);
    let of =
        |n: &crate::verdict::NodeVerdict| n.scores.iter().find(|s| s.plugin == plugin).map(|s| (s.raw, s.normalized));
    outcome.nodes.iter().filter_map(of).collect()
}

fn code(pod: &PodInfo, all: &Snapshot) -> Option<Code> {
    schedule(pod, all).nodes.first().and_then(|n| n.rejected.as_ref()).map(|(_, r)| r.code)
}

#[test]
fn the_plugins_run_in_the_order_of_the_default_profile() {
    let names: Vec<&str> = plugins::ALL.iter().map(|p| p.name).collect();
    assert_eq!(
        names,
        [
            "SchedulingGates",
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeResourcesFit",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "PodTopologySpread",
            "InterPodAffinity",
            "DynamicResources",
            "DefaultPreemption",
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
            "NodeDeclaredFeatures",
        ]
    );
    let weights: Vec<(&str, i64)> = plugins::ALL.iter().filter(|p| p.weight > 0).map(|p| (p.name, p.weight)).collect();
    assert_eq!(
        weights,
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("DynamicResources", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
        ]
    );
}

#[test]
fn scheduling_gates() {
    let says = |spec: &str| {
        let gate = plugins::named("SchedulingGates").and_then(|p| p.pre_enqueue);
        gate.and_then(|f| f(&pod("p", spec), &Gates::default())).map(|r| r.reasons[0].numbers.clone())
    };
    assert_eq!(says(&format!("{{{C}}}")), None);
    let gated = format!("{{schedulingGates: [{{name: foo}}, {{name: bar}}], {C}}}");
    assert_eq!(says(&gated).as_deref(), Some("[foo bar]"));
}

#[test]
fn node_name() {
    let all = snapshot(three());
    let named = pod("p", &format!("{{nodeName: node-b, {C}}}"));
    let text = "NodeName node(s) didn't match the requested node name";
    assert_eq!(verdicts(&named, &all), [text, "", text]);
    assert_eq!(code(&named, &all), Some(Code::Unresolvable));
}

#[test]
fn node_declared_features() {
    let declaring = |features: &str| {
        bare("node-a", "{}", "{}", &format!("{{allocatable: {{pods: '9'}}, declaredFeatures: {features}}}"))
    };
    let rule = "restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [1]}}]";
    let main = pod("p", &format!("{{containers: [{{name: c, image: x, {rule}}}]}}"));
    let init = pod("p", &format!("{{initContainers: [{{name: i, image: x, {rule}}}], {C}}}"));
    let users = pod("p", &format!("{{hostNetwork: true, hostUsers: false, {C}}}"));
    let text = "NodeDeclaredFeatures node(s) didn't match Pod's required features";
    for (pod, features, wanted) in [
        (&main, "[RestartAllContainersOnContainerExits]", ""),
        (&main, "[ExtendWebSocketsToKubelet]", text),
        (&init, "[]", text),
        (&users, "[RestartAllContainersOnContainerExits]", text),
        (&users, "[UserNamespacesHostNetworkSupport]", ""),
        (&pod("p", &format!("{{hostNetwork: true, {C}}}")), "[]", ""),
    ] {
        assert_eq!(verdicts(pod, &snapshot(vec![declaring(features)])), [wanted], "{features}");
    }
    assert_eq!(code(&main, &snapshot(vec![declaring("[]")])), Some(Code::Unresolvable));
}

#[test]
fn node_unschedulable() {
    let cordoned = snapshot(vec![node("node-a", "za", "{unschedulable: true}")]);
    for (tolerations, fits) in [
        ("[]", false),
        ("[{key: node.kubernetes.io/unschedulable, effect: NoSchedule, operator: Exists}]", true),
        ("[{operator: Exists}]", true),
        ("[{key: node.kubernetes.io/unschedulable, effect: NoExecute, operator: Exists}]", false),
    ] {
        let p = pod("p", &format!("{{tolerations: {tolerations}, {C}}}"));
        let wanted = if fits { "" } else { "NodeUnschedulable node(s) were unschedulable" };
        assert_eq!(verdicts(&p, &cordoned), [wanted], "{tolerations}");
    }
}

#[test]
fn taint_toleration_filters() {
    let taint = |key: &str, value: &str, effect: &str| {
        snapshot(vec![node("one", "z", &format!("{{taints: [{{key: {key}, value: '{value}', effect: {effect}}}]}}"))])
    };
    let text = "TaintToleration node(s) had untolerated taint(s)";
    for (nodes, tolerations, wanted) in [
        (taint("dedicated", "user1", "NoSchedule"), "[]", text),
        (taint("dedicated", "user1", "NoSchedule"), "[{key: dedicated, value: user1, effect: NoSchedule}]", ""),
        (taint("dedicated", "user1", "NoSchedule"), "[{key: dedicated, operator: Exists, effect: NoSchedule}]", ""),
        (taint("dedicated", "user1", "NoSchedule"), "[{key: dedicated, value: user2, effect: NoSchedule}]", text),
        // Without an effect the toleration is for all effects, without a key for all taints.
        (taint("foo", "bar", "NoSchedule"), "[{key: foo, value: bar}]", ""),
        (taint("foo", "bar", "NoExecute"), "[{operator: Exists}]", ""),
        (taint("foo", "bar", "NoSchedule"), "[{key: foo, value: bar, effect: PreferNoSchedule}]", text),
        // A soft taint never refuses.
        (taint("dedicated", "user1", "PreferNoSchedule"), "[]", ""),
    ] {
        assert_eq!(verdicts(&pod("p", &format!("{{tolerations: {tolerations}, {C}}}")), &nodes), [wanted]);
    }
}

#[test]
fn taint_toleration_scores() {
    let taints = |n: usize| {
        let all: Vec<String> = (0..n).map(|i| format!("{{key: k{i}, value: v, effect: PreferNoSchedule}}")).collect();
        format!("{{taints: [{}]}}", all.join(", "))
    };
    let all = snapshot(vec![node("a", "z", "{}"), node("b", "z", &taints(1)), node("c", "z", &taints(2))]);
    // Raw: soft taints that are not tolerated; normalized: 100 - 100*raw/max.
    assert_eq!(scores(&pod("p", &format!("{{{C}}}")), &all, "TaintToleration"), [(0, 100), (1, 50), (2, 0)]);
    let one = pod("p", &format!("{{tolerations: [{{key: k1, value: v, effect: PreferNoSchedule}}], {C}}}"));
    assert_eq!(scores(&one, &all, "TaintToleration"), [(0, 100), (1, 0), (1, 0)]);
    // A toleration of the hard effect is none of the soft one.
    let hard = pod("p", &format!("{{tolerations: [{{key: k0, value: v, effect: NoSchedule}}], {C}}}"));
    assert_eq!(scores(&hard, &all, "TaintToleration"), [(0, 100), (1, 50), (2, 0)]);
}

#[test]
fn node_affinity_filters() {
    let all = snapshot(vec![bare("machine1", "{foo: bar, size: '5', az: az1}", "{}", "{allocatable: {pods: '9'}}")]);
    let text = "NodeAffinity node(s) didn't match Pod's node affinity/selector";
    let required = |terms: &str| {
        format!(
            "{{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
             {{nodeSelectorTerms: {terms}}}}}}}, {C}}}"
        )
    };
    for (spec, wanted) in [
        (format!("{{nodeSelector: {{foo: bar}}, {C}}}"), ""),
        (format!("{{nodeSelector: {{foo: bar, baz: blah}}, {C}}}"), text),
        (required("[{matchExpressions: [{key: foo, operator: In, values: [bar, value2]}]}]"), ""),
        (required("[{matchExpressions: [{key: size, operator: Gt, values: ['4']}]}]"), ""),
        (required("[{matchExpressions: [{key: size, operator: Lt, values: ['5']}]}]"), text),
        (required("[{matchExpressions: [{key: foo, operator: NotIn, values: [bar]}]}]"), text),
        (required("[{matchExpressions: [{key: gpu, operator: DoesNotExist}]}]"), ""),
        (required("[{matchExpressions: [{key: gpu, operator: NotIn, values: [x]}]}]"), ""),
        // All of a term, any of the terms.
        (required("[{matchExpressions: [{key: foo, operator: Exists}, {key: gpu, operator: Exists}]}]"), text),
        (
            required(
                "[{matchExpressions: [{key: gpu, operator: Exists}]}, {matchExpressions: [{key: foo, operator: Exists}]}]",
            ),
            "",
        ),
        (required("[{matchFields: [{key: metadata.name, operator: In, values: [machine1]}]}]"), ""),
    ] {
        assert_eq!(verdicts(&pod("p", &spec), &all), [wanted], "{spec}");
    }
    let conflict = "[{matchFields: [{key: metadata.name, operator: In, values: [a]}, \
                    {key: metadata.name, operator: In, values: [b]}]}]";
    assert_eq!(verdicts(&pod("p", &required(conflict)), &all), ["NodeAffinity pod affinity terms conflict"]);
    let other = "[{matchFields: [{key: metadata.name, operator: In, values: [machine2]}]}]";
    let text = "NodeAffinity node(s) didn't satisfy plugin(s) [NodeAffinity]";
    assert_eq!(verdicts(&pod("p", &required(other)), &all), [text]);
}

#[test]
fn node_affinity_scores() {
    let room = "{allocatable: {pods: '9'}}";
    let all = snapshot(vec![
        bare("a", "{foo: bar, key: value, az: az1}", "{}", room),
        bare("b", "{foo: bar}", "{}", room),
        bare("c", "{}", "{}", room),
    ]);
    let preferred = "[{weight: 2, preference: {matchExpressions: [{key: foo, operator: In, values: [bar]}]}}, \
                     {weight: 4, preference: {matchExpressions: [{key: key, operator: In, values: [value]}]}}, \
                     {weight: 5, preference: {matchExpressions: [{key: foo, operator: In, values: [bar]}, \
                     {key: key, operator: In, values: [value]}, {key: az, operator: In, values: [az1]}]}}]";
    let spec = format!(
        "{{affinity: {{nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: {preferred}}}}}, {C}}}"
    );
    // 2+4+5 = 11, 2 -> 100*2/11 = 18, 0.
    assert_eq!(scores(&pod("p", &spec), &all, "NodeAffinity"), [(11, 100), (2, 18), (0, 0)]);
    assert!(scores(&pod("p", &format!("{{{C}}}")), &all, "NodeAffinity").is_empty());
}

#[test]
fn node_ports() {
    let ports = |list: &[(&str, &str, i32)]| {
        let one = |(ip, protocol, port): &(&str, &str, i32)| {
            format!("{{containerPort: 80, hostIP: '{ip}', protocol: {protocol}, hostPort: {port}}}")
        };
        let all: Vec<String> = list.iter().map(one).collect();
        pod("q", &format!("{{containers: [{{name: c, image: x, ports: [{}]}}]}}", all.join(", ")))
    };
    let text = "NodePorts node(s) didn't have free ports for the requested pod ports";
    for (wanted, taken, fits) in [
        (vec![("127.0.0.1", "UDP", 8080)], vec![("127.0.0.1", "UDP", 9090)], true),
        (vec![("127.0.0.1", "UDP", 8080)], vec![("127.0.0.1", "UDP", 8080)], false),
        (vec![("127.0.0.1", "TCP", 8080)], vec![("127.0.0.1", "UDP", 8080)], true),
        (vec![("127.0.0.1", "TCP", 8080)], vec![("127.0.0.2", "TCP", 8080)], true),
        (vec![("0.0.0.0", "TCP", 8001)], vec![("127.0.0.1", "TCP", 8001)], false),
        (vec![("127.0.0.1", "TCP", 8001)], vec![("", "TCP", 8001)], false),
        (vec![("127.0.0.1", "TCP", 8001), ("127.0.0.1", "UDP", 8080)], vec![("127.0.0.1", "UDP", 8080)], false),
    ] {
        let mut n = node("node-a", "za", "{}");
        n.add(ports(&taken));
        let said = verdicts(&ports(&wanted), &snapshot(vec![n]));
        assert_eq!(said, [if fits { "" } else { text }], "{wanted:?} {taken:?}");
    }
}

#[test]
fn the_node_that_was_promised_is_taken_whatever_the_scores() {
    let mut nodes = three();
    nodes[2].add(pod("x", "{containers: [{name: c, image: x, resources: {requests: {cpu: '3'}}}]}"));
    let text = "metadata: {name: p, namespace: default}\nspec: {containers: [{name: c, image: x}]}\n\
                status: {nominatedNodeName: node-c}";
    let promised = PodInfo::new(Rev::new(1, decode::<Pod>(text)));
    let outcome = schedule(&promised, &snapshot(nodes.clone()));
    assert_eq!((outcome.chosen.as_deref(), outcome.evaluated), (Some("node-c"), 1));
    // Unless it will not do any more.
    nodes[2].add(pod("w", "{containers: [{name: c, image: x, resources: {requests: {cpu: '1'}}}]}"));
    let text = text.replace("image: x}", "image: x, resources: {requests: {cpu: '2'}}}");
    let promised = PodInfo::new(Rev::new(1, decode::<Pod>(&text)));
    let outcome = schedule(&promised, &snapshot(nodes));
    assert_eq!(refusals(&outcome).len(), 1);
    assert_ne!(outcome.chosen.as_deref(), Some("node-c"));
    assert!(cycle::enough_nodes(3) == 3);
}
