//! Verdicts and numbers of the plugins, and the moves of the queues. Expected values are worked out from Kubernetes'
//! formulas, or taken from recordings where these show them.

use crate::cache::Snapshot;
use crate::change::{About, Change};
use crate::cycle::{self, enough_nodes};
use crate::framework::{Cycle, Gates};
use crate::node_info::{NodeInfo, PodInfo, PodKey};
use crate::queue::Queue;
use crate::verdict::Code;
use crate::{message, preemption};
use api::core_v1::{Node, Pod};
use api::{Object, Rev};
use sim::{Duration, Instant, Rng};
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) fn decode<T: Object + Default>(yaml: &str) -> T {
    let value = api::yaml::parse(yaml).expect("YAML");
    let mut object = T::default();
    api::json::decode(value.to_json().as_bytes(), &mut object, false).expect("an object");
    api::defaults::apply(&mut object);
    object
}

pub(crate) fn pod(name: &str, spec: &str) -> Rc<PodInfo> {
    let text = format!("metadata: {{name: {name}, namespace: default, labels: {{app: web}}}}\nspec: {spec}");
    PodInfo::new(Rev::new(1, decode::<Pod>(&text)))
}

fn asking(name: &str, cpu: &str, memory: &str) -> Rc<PodInfo> {
    let requests = format!("{{cpu: {cpu}, memory: {memory}}}");
    pod(name, &format!("{{containers: [{{name: c, image: 'nginx:1.27', resources: {{requests: {requests}}}}}]}}"))
}

/// A node of 4 CPUs and 8Gi in a zone, with taints and other parts of its spec.
pub(crate) fn node(name: &str, zone: &str, spec: &str) -> NodeInfo {
    let labels = format!("{{kubernetes.io/hostname: {name}, topology.kubernetes.io/zone: {zone}}}");
    let status = "{allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}";
    let text = format!("metadata: {{name: {name}, labels: {labels}}}\nspec: {spec}\nstatus: {status}");
    NodeInfo::new(Rev::new(1, decode::<Node>(&text)))
}

pub(crate) fn snapshot(nodes: Vec<NodeInfo>) -> Snapshot {
    let mut images = BTreeMap::new();
    for image in nodes.iter().flat_map(|n| n.images.keys()) {
        *images.entry(image.clone()).or_insert(0) += 1;
    }
    let nodes = Rc::new(nodes.into_iter().map(Rc::new).collect());
    Snapshot { nodes, images: Rc::new(images), ..Snapshot::default() }
}

pub(crate) fn three() -> Vec<NodeInfo> {
    ["a", "b", "c"].map(|z| node(&format!("node-{z}"), &format!("z{z}"), "{}")).into()
}

pub(crate) fn schedule(pod: &PodInfo, snapshot: &Snapshot) -> cycle::Outcome {
    let cycle = Cycle::new(pod, snapshot, None);
    cycle::schedule(&cycle, &mut 0, &|_| None, &mut Rng::split(1, "test"))
}

/// `node: plugin reason [numbers]` of each refusal.
pub(crate) fn refusals(outcome: &cycle::Outcome) -> Vec<String> {
    let refused = outcome.nodes.iter().filter_map(|n| Some((n.node.clone(), n.rejected.as_ref()?)));
    refused
        .map(|(node, (plugin, r))| {
            let all: Vec<_> = r.reasons.iter().map(|r| format!("{} [{}]", r.text, r.numbers)).collect();
            format!("{node}: {plugin} {}", all.join(", "))
        })
        .collect()
}

#[test]
fn filters_refuse_with_kubernetes_words_and_the_numbers_they_saw() {
    let nodes = || {
        let mut all = three();
        all[1] = node("node-b", "zb", "{taints: [{key: dedicated, value: batch, effect: NoSchedule}]}");
        all[2] = node("node-c", "zc", "{unschedulable: true}");
        all[0].add(asking("big", "3", "7Gi"));
        snapshot(all)
    };
    assert_eq!(
        refusals(&schedule(&asking("p", "2", "2Gi"), &nodes())),
        [
            "node-a: NodeResourcesFit Insufficient cpu [2000m > 1000m free of 4000m], \
             Insufficient memory [2048Mi > 1024Mi free of 8192Mi]",
            "node-b: TaintToleration node(s) had untolerated taint(s) [dedicated=batch:NoSchedule]",
            "node-c: NodeUnschedulable node(s) were unschedulable [spec.unschedulable: true]",
        ]
    );
    let picky = pod("p", "{nodeSelector: {disktype: ssd}, containers: [{name: c, image: x}]}");
    assert_eq!(
        refusals(&schedule(&picky, &snapshot(three())))[0],
        "node-a: NodeAffinity node(s) didn't match Pod's node affinity/selector [wanted disktype=ssd, node has none]"
    );
    let ported = pod("p", "{containers: [{name: c, image: x, ports: [{containerPort: 80, hostPort: 80}]}]}");
    let mut taken = three();
    taken[0].add(ported.clone());
    assert_eq!(
        refusals(&schedule(&ported, &snapshot(taken))),
        ["node-a: NodePorts node(s) didn't have free ports for the requested pod ports [TCP 80 is taken by default/p]"]
    );
}

#[test]
fn a_request_beyond_the_node_is_not_helped_by_preemption() {
    let all = snapshot(three());
    let outcome = schedule(&asking("huge", "1", "900Gi"), &all);
    assert!(outcome.nodes.iter().all(|n| n.rejected.as_ref().is_some_and(|(_, r)| r.code == Code::Unresolvable)));
    let found = preemption::run(&asking("huge", "1", "900Gi"), &all, &outcome.nodes, &[], 0, &|_| None);
    let preemption::Outcome::None(why) = found else { panic!("nothing can make room") };
    assert_eq!(
        message::failed(3, &outcome.nodes, None, &format!("preemption: {why}")),
        "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: \
         3 Preemption is not helpful for scheduling."
    );
}

#[test]
fn preemption_takes_the_fewest_pods_of_the_lowest_priority() {
    let with = |name: &str, priority: i32, cpu: &str| {
        let requests = format!("{{requests: {{cpu: {cpu}}}}}");
        pod(name, &format!("{{priority: {priority}, containers: [{{name: c, image: x, resources: {requests}}}]}}"))
    };
    let mut nodes = three();
    nodes[0].add(with("a1", 5, "2"));
    nodes[0].add(with("a2", 5, "2"));
    nodes[1].add(with("b1", 1, "2"));
    nodes[1].add(with("b2", 9, "2"));
    nodes[2].add(with("c1", 20, "4"));
    let all = snapshot(nodes);
    let urgent = with("urgent", 10, "2");
    let outcome = schedule(&urgent, &all);
    let preemption::Outcome::Found(best) = preemption::run(&urgent, &all, &outcome.nodes, &[], 0, &|_| None) else {
        panic!("there is room to make")
    };
    let victims: Vec<String> = best.victims.iter().map(|v| v.key().to_string()).collect();
    assert_eq!((&*best.node, victims), ("node-b", vec!["default/b1".to_string()]));
}

#[test]
fn scores_prefer_the_emptier_node_and_the_balanced_one() {
    let mut nodes = three();
    nodes[0].add(asking("x", "2", "1Gi"));
    let all = snapshot(nodes);
    let outcome = schedule(&asking("p", "1", "2Gi"), &all);
    let score = |node: usize, plugin: &str| {
        outcome.nodes[node].scores.iter().find(|s| s.plugin == plugin).map(|s| (s.raw, s.normalized, s.weight))
    };
    // node-a: cpu (4000-3000)*100/4000 = 25, memory (8192-3072)*100/8192 = 62, mean 43; empty: 75 and 75.
    assert_eq!(score(0, "NodeResourcesFit"), Some((43, 43, 1)));
    assert_eq!(score(1, "NodeResourcesFit"), Some((75, 75, 1)));
    // Empty node: shares 1/4 and 1/4, deviation 0 with and without: 75. node-a: without |0.5-0.125|/2 -> 81,
    // with |0.75-0.375|/2 -> 81: 75.
    assert_eq!(score(1, "NodeResourcesBalancedAllocation"), Some((75, 75, 1)));
    assert_eq!(score(0, "NodeResourcesBalancedAllocation"), Some((75, 75, 1)));
    assert_eq!(score(0, "TaintToleration"), Some((0, 100, 3)));
    assert!(outcome.chosen.is_some_and(|n| *n != *"node-a"));
}

#[test]
fn spreading_counts_matching_pods_by_domain() {
    let constraint = "[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, \
                      labelSelector: {matchLabels: {app: web}}}]";
    let spread = pod("p", &format!("{{topologySpreadConstraints: {constraint}, containers: [{{name: c, image: x}}]}}"));
    let mut nodes = three();
    nodes[0].add(asking("x", "100m", "1Mi"));
    nodes[1].add(asking("other", "100m", "1Mi"));
    let outcome = schedule(&spread, &snapshot(nodes));
    assert_eq!(
        refusals(&outcome),
        [
            "node-a: PodTopologySpread node(s) didn't match pod topology spread constraints \
             [1 in za, fewest 0: skew 2 > 1]",
            "node-b: PodTopologySpread node(s) didn't match pod topology spread constraints \
             [1 in zb, fewest 0: skew 2 > 1]",
        ]
    );
}

#[test]
fn anti_affinity_holds_in_both_directions() {
    let term = "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]";
    let affinity = format!("{{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {term}}}}}");
    let lonely = pod("p", &format!("{{affinity: {affinity}, containers: [{{name: c, image: x}}]}}"));
    let mut nodes = three();
    nodes[0].add(asking("x", "100m", "1Mi"));
    assert_eq!(refusals(&schedule(&lonely, &snapshot(nodes.clone()))).len(), 1);
    nodes[1].add(lonely.clone());
    let refused = refusals(&schedule(&asking("q", "100m", "1Mi"), &snapshot(nodes)));
    assert_eq!(
        refused,
        ["node-b: InterPodAffinity node(s) didn't satisfy existing pods anti-affinity rules \
          [1 refusing in this kubernetes.io/hostname]"]
    );
}

#[test]
fn big_clusters_look_at_a_share_of_the_nodes() {
    assert_eq!([3, 99, 100, 1000, 5000, 6000].map(enough_nodes), [3, 99, 100, 420, 500, 300]);
}

fn second(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000_000)
}

#[test]
fn an_unschedulable_pod_waits_for_a_change_that_helps_and_for_its_back_off() {
    let mut queue = Queue::default();
    queue.add(asking("p", "2", "1Gi"), second(0));
    let mut tried = queue.pop().expect("a pod");
    tried.refused_by.insert("NodeResourcesFit");
    assert_eq!(queue.unschedulable(tried, second(0)), "Unschedulable");
    assert_eq!(queue.lengths(), (0, 0, 1));
    // New labels say nothing to the plugin that refused it; freed room does, after the back-off of a second.
    assert!(queue.changed(Change::NodeLabels, &About::Nothing, 5, second(0)).is_empty());
    assert_eq!(queue.changed(Change::AssignedPodDeleted, &About::Nothing, 6, second(0))[0].queue, "Backoff");
    // What ends within a second is over with it.
    assert_eq!(queue.next_flush(), Some(second(2)));
    assert!(!queue.flush(second(1)) && queue.flush(second(2)));
    let mut again = queue.pop().expect("the pod");
    assert_eq!((again.attempts, again.causes.as_slice()), (2, [1, 6].as_slice()));
    // A change while it is tried is not missed.
    again.refused_by.insert("NodeResourcesFit");
    queue.changed(Change::AssignedPodDeleted, &About::Nothing, 7, second(3));
    assert_ne!(queue.unschedulable(again, second(3)), "Unschedulable");
}

#[test]
fn back_off_is_cut_short_when_nothing_else_waits_but_not_after_an_error() {
    let mut queue = Queue::default();
    let spec = |priority: u32| format!("{{priority: {priority}, containers: [{{name: c, image: x}}]}}");
    for (name, priority) in [("low", 1), ("high", 100), ("error", 200)] {
        queue.add(pod(name, &spec(priority)), second(0));
    }
    let tried: Vec<crate::queue::Queued> = std::iter::from_fn(|| queue.pop()).collect();
    for (n, mut tried) in tried.into_iter().enumerate() {
        let refused = tried.info.key().1 != *"error";
        tried.refused_by.extend(refused.then_some("NodeResourcesFit"));
        // Within one second: the priority decides, not the moment.
        queue.unschedulable(tried, second(0) + Duration::from_millis(100 * (3 - n as u64)));
    }
    assert_eq!(queue.lengths(), (0, 1, 2));
    queue.changed(Change::AssignedPodDeleted, &About::Nothing, 6, second(1));
    assert_eq!(queue.lengths(), (0, 3, 0));
    queue.add(pod("new", &spec(0)), second(1));
    let order: Vec<String> = std::iter::from_fn(|| queue.pop()).map(|p| p.info.key().1.to_string()).collect();
    assert_eq!(order, ["new", "high", "low"]);
    assert_eq!(queue.lengths(), (0, 1, 0));
    assert!(queue.flush(second(2)));
    let mut error = queue.pop().expect("the pod");
    // Errors in a row count by themselves, and are forgotten when a plugin refuses the pod.
    for (end, refused) in [(4, None), (6, None), (3, Some("NodeResourcesFit"))] {
        error.refused_by = refused.into_iter().collect();
        queue.unschedulable(error, second(2));
        queue.changed(Change::AssignedPodDeleted, &About::Nothing, 7, second(2));
        assert_eq!(queue.next_flush(), Some(second(end + 1)));
        queue.flush(second(20));
        error = queue.pop().expect("the pod");
    }
}

#[test]
fn unschedulable_pods_are_tried_again_after_five_minutes() {
    let mut queue = Queue::default();
    queue.add(asking("p", "2", "1Gi"), second(0));
    let mut tried = queue.pop().expect("a pod");
    tried.refused_by.insert("NodeAffinity");
    queue.unschedulable(tried, second(10));
    assert_eq!(queue.next_flush(), Some(second(10) + Duration::from_secs(300)));
    assert!(queue.flush(second(310)));
    assert_eq!(queue.lengths().0, 1);
}

#[test]
fn gates_keep_a_pod_out_until_they_are_gone_and_priority_goes_first() {
    let mut queue = Queue::default();
    let spec = |extra: &str| format!("{{{extra} containers: [{{name: c, image: x}}]}}");
    queue.add(pod("gated", &spec("schedulingGates: [{name: example.com/wait}],")), second(0));
    queue.add(pod("low", &spec("priority: 1,")), second(0));
    queue.add(pod("high", &spec("priority: 100,")), second(1));
    let order: Vec<String> = std::iter::from_fn(|| queue.pop()).map(|p| p.info.key().to_string()).collect();
    assert_eq!(order, ["default/high", "default/low"]);
    assert!(queue.is_gated(&PodKey("default".into(), "gated".into())));
    queue.update(pod("gated", &spec("")), &[Change::TargetPodSchedulingGatesEliminated], &About::Nothing, second(2));
    assert_eq!(queue.lengths().0, 1);
}

#[test]
fn a_pod_can_be_tried_without_delay() {
    let mut queue = Queue::default();
    queue.add(asking("p", "2", "1Gi"), second(0));
    let mut tried = queue.pop().expect("a pod");
    tried.refused_by.insert("NodeResourcesFit");
    queue.unschedulable(tried, second(0));
    let key = PodKey("default".into(), "p".into());
    assert_eq!(queue.lengths(), (0, 0, 1));
    queue.activate(&key);
    assert_eq!(queue.lengths(), (1, 0, 0));
    // In back-off, too.
    let tried = queue.pop().expect("a pod");
    queue.unschedulable(tried, second(0));
    queue.changed(Change::AssignedPodDeleted, &About::Nothing, 1, second(0));
    queue.activate(&key);
    assert_eq!(queue.lengths(), (1, 0, 0));
}

#[test]
fn a_pod_that_preempts_is_tried_again_once_its_victims_go() {
    let gates = Gates::default();
    let mut queue = Queue::new(gates.clone());
    let key = PodKey("default".into(), "p".into());
    let info = asking("p", "2", "1Gi");
    let uid = info.pod.metadata.uid.clone();
    let gone = |queue: &mut Queue, at| queue.changed(Change::AssignedPodDeleted, &About::Nothing, 1, second(at));
    queue.add(info, second(0));
    let mut tried = queue.pop().expect("a pod");
    tried.refused_by.extend(["NodeResourcesFit", "DefaultPreemption"]);
    gates.preempting.set(&uid, None);
    queue.unschedulable(tried, second(0));
    // A pod goes while others are still to be deleted: the pod is kept out.
    assert!(gone(&mut queue, 1).is_empty());
    assert!(queue.is_gated(&key));
    // The next one moves it. A change that nobody waits for would not.
    gates.preempting.done(&uid);
    assert!(queue.changed(Change::NodeLabels, &About::Nothing, 2, second(1)).is_empty());
    assert_eq!(gone(&mut queue, 1).len(), 1);
    // Kept out again, and no pod goes any more: after five minutes it is looked at, whatever happens.
    let mut tried = queue.pop().expect("the pod");
    tried.refused_by.insert("NodeResourcesFit");
    gates.preempting.set(&uid, None);
    queue.unschedulable(tried, second(3));
    assert!(gone(&mut queue, 4).is_empty());
    assert_eq!(queue.next_flush(), Some(second(303)));
    assert!(!queue.flush(second(303)));
    gates.preempting.done(&uid);
    assert_eq!(queue.next_flush(), Some(second(603)));
    assert!(queue.flush(second(603)));
    assert_eq!(queue.lengths(), (1, 0, 0));
}

#[test]
fn a_pod_in_flight_can_be_tried_again() {
    let mut queue = Queue::default();
    for name in ["p", "other"] {
        queue.add(asking(name, "2", "1Gi"), second(0));
    }
    let both: Vec<crate::queue::Queued> = std::iter::from_fn(|| queue.pop()).collect();
    queue.activate(&PodKey("default".into(), "p".into()));
    for mut tried in both {
        tried.refused_by.insert("NodeResourcesFit");
        queue.unschedulable(tried, second(0));
    }
    assert_eq!(queue.lengths(), (0, 1, 1));
}
