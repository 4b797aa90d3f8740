//! Spreading over domains, and affinity between pods.

use super::*;

fn spread(constraints: &str) -> Rc<PodInfo> {
    labelled("p", "{foo: ''}", &format!("{{topologySpreadConstraints: [{constraints}], {C}}}"))
}

fn constraint(skew: i32, key: &str, action: &str, more: &str) -> String {
    format!(
        "{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: {action}, \
         labelSelector: {{matchExpressions: [{{key: foo, operator: Exists}}]}}{more}}}"
    )
}

/// Nodes with labels `zone` and `node` and so many pods that are counted.
fn zoned(nodes: &[(&str, &str, usize)]) -> Snapshot {
    let make = |(name, zone, pods): &(&str, &str, usize)| {
        let labels =
            if zone.is_empty() { format!("{{node: {name}}}") } else { format!("{{zone: {zone}, node: {name}}}") };
        let mut n = bare(name, &labels, "{}", "{allocatable: {pods: '99'}}");
        (0..*pods).for_each(|i| n.add(labelled(&format!("{name}-{i}"), "{foo: ''}", &format!("{{{C}}}"))));
        n
    };
    snapshot(nodes.iter().map(make).collect())
}

#[test]
fn pod_topology_spread_filters() {
    let hard = |skew, key: &str, more: &str| spread(&constraint(skew, key, "DoNotSchedule", more));
    let text = "PodTopologySpread node(s) didn't match pod topology spread constraints";
    let missing = format!("{text} (missing required label)");
    let verdict = |fits: bool| if fits { String::new() } else { text.to_string() };
    // zone1: 2 + 1, zone2: 0 + 0.
    let all = zoned(&[("node-a", "zone1", 2), ("node-b", "zone1", 1), ("node-x", "zone2", 0), ("node-y", "zone2", 0)]);
    assert_eq!(verdicts(&hard(1, "zone", ""), &all), [false, false, true, true].map(verdict));
    // Skew by node: 2 and 1 against 0, with the new one.
    assert_eq!(verdicts(&hard(1, "node", ""), &all), [false, false, true, true].map(verdict));
    assert_eq!(verdicts(&hard(2, "node", ""), &all), [false, true, true, true].map(verdict));
    // Fewer domains than there should be: the least is taken as 0.
    let two = zoned(&[("node-a", "zone1", 1), ("node-x", "zone2", 1)]);
    assert_eq!(verdicts(&hard(1, "zone", ""), &two), [true, true].map(verdict));
    assert_eq!(verdicts(&hard(1, "zone", ", minDomains: 3"), &two), [false, false].map(verdict));
    let some = zoned(&[("node-a", "zone1", 0), ("node-b", "", 0)]);
    assert_eq!(verdicts(&hard(1, "zone", ""), &some), [String::new(), missing]);
    assert_eq!(code(&hard(1, "zone", ""), &two), None);
    assert_eq!(code(&hard(1, "zone", ""), &all), Some(Code::Unschedulable));
}

#[test]
fn pod_topology_spread_scores() {
    let soft = |skew, key: &str| spread(&constraint(skew, key, "ScheduleAnyway", ""));
    // Two nodes in two zones: ln(2+2) = 1.386 a pod: 3 -> 4.159 -> 4, 0 -> 0.
    let all = zoned(&[("node-a", "zone1", 3), ("node-x", "zone2", 0)]);
    assert_eq!(scores(&soft(1, "zone"), &all, "PodTopologySpread"), [(4, 0), (0, 100)]);
    // ln(4+2) = 1.792 a pod by node: 2 -> 4, 1 -> 2, 0, 3 -> 5; 100*(5+0-s)/5.
    let all = zoned(&[("node-a", "zone1", 2), ("node-b", "zone1", 1), ("node-x", "zone2", 0), ("node-y", "zone2", 3)]);
    assert_eq!(scores(&soft(1, "node"), &all, "PodTopologySpread"), [(4, 20), (2, 60), (0, 100), (5, 0)]);
    // A larger skew adds itself less one to all: 4.58, 2.79, 1, 6.38 -> 5, 3, 1, 6; 100*(6+1-s)/6.
    assert_eq!(scores(&soft(2, "node"), &all, "PodTopologySpread"), [(5, 33), (3, 66), (1, 100), (6, 16)]);
    // All alike: the highest score for all.
    let even = zoned(&[("node-a", "zone1", 0), ("node-x", "zone2", 0)]);
    assert_eq!(scores(&soft(1, "zone"), &even, "PodTopologySpread"), [(0, 100), (0, 100)]);
    // Who lacks the label gets nothing.
    let some = zoned(&[("node-a", "zone1", 0), ("node-b", "", 0)]);
    assert_eq!(scores(&soft(1, "zone"), &some, "PodTopologySpread"), [(0, 100), (0, 0)]);
}

const BY_ZONE: &str = "[{topologyKey: zone, labelSelector: {matchLabels: {service: s1}}}]";

fn with_affinity(kind: &str, labels: &str, terms: &str) -> Rc<PodInfo> {
    let affinity = format!("{{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}");
    labelled("p", labels, &format!("{{affinity: {affinity}, {C}}}"))
}

#[test]
fn inter_pod_affinity_filters() {
    let one = |pods: usize| {
        let mut all = zoned(&[("a", "z1", 0), ("b", "z2", 0), ("c", "", 0)]).nodes.to_vec();
        for i in 0..pods {
            Rc::make_mut(&mut all[0]).add(labelled(&format!("s{i}"), "{service: s1}", &format!("{{{C}}}")));
        }
        Snapshot { nodes: Rc::new(all), ..Snapshot::default() }
    };
    let near = "InterPodAffinity node(s) didn't match pod affinity rules";
    let far = "InterPodAffinity node(s) didn't match pod anti-affinity rules";
    let theirs = "InterPodAffinity node(s) didn't satisfy existing pods anti-affinity rules";
    let other = "{service: other}";
    assert_eq!(verdicts(&with_affinity("podAffinity", other, BY_ZONE), &one(1)), ["", near, near]);
    assert_eq!(verdicts(&with_affinity("podAffinity", other, BY_ZONE), &one(0)), [near, near, near]);
    // The first of a group may start it, where the label is.
    assert_eq!(verdicts(&with_affinity("podAffinity", "{service: s1}", BY_ZONE), &one(0)), ["", "", near]);
    assert_eq!(verdicts(&with_affinity("podAntiAffinity", other, BY_ZONE), &one(1)), [far, "", ""]);
    let mut all = one(0).nodes.to_vec();
    Rc::make_mut(&mut all[1]).add(with_affinity("podAntiAffinity", other, BY_ZONE));
    let all = Snapshot { nodes: Rc::new(all), ..Snapshot::default() };
    assert_eq!(verdicts(&labelled("q", "{service: s1}", &format!("{{{C}}}")), &all), ["", theirs, ""]);
    assert_eq!(code(&with_affinity("podAffinity", other, BY_ZONE), &one(0)), Some(Code::Unresolvable));
    assert_eq!(code(&with_affinity("podAntiAffinity", other, BY_ZONE), &one(1)), Some(Code::Unschedulable));
    // Other namespaces are others.
    let elsewhere = "[{topologyKey: zone, namespaces: [prod], labelSelector: {matchLabels: {service: s1}}}]";
    assert_eq!(verdicts(&with_affinity("podAntiAffinity", other, elsewhere), &one(1)), ["", "", ""]);
}

#[test]
fn inter_pod_affinity_scores() {
    let preferred = |kind: &str, weight: i32, labels: &str| {
        let term = "{topologyKey: zone, labelSelector: {matchLabels: {service: s1}}}";
        let affinity = format!(
            "{{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: {weight}, podAffinityTerm: {term}}}]}}}}"
        );
        labelled("p", labels, &format!("{{affinity: {affinity}, {C}}}"))
    };
    let mut all = zoned(&[("a", "z1", 0), ("b", "z2", 0), ("c", "", 0)]).nodes.to_vec();
    for (at, count) in [(0, 2), (1, 1)] {
        for i in 0..count {
            Rc::make_mut(&mut all[at]).add(labelled(&format!("s{at}{i}"), "{service: s1}", &format!("{{{C}}}")));
        }
    }
    let all = Snapshot { nodes: Rc::new(all), ..Snapshot::default() };
    // 5 a pod; 100*(s-min)/(max-min).
    let near = preferred("podAffinity", 5, "{x: w}");
    assert_eq!(scores(&near, &all, "InterPodAffinity"), [(10, 100), (5, 50), (0, 0)]);
    let far = preferred("podAntiAffinity", 5, "{x: w}");
    assert_eq!(scores(&far, &all, "InterPodAffinity"), [(-10, 0), (-5, 50), (0, 100)]);
    // What pods there want counts for the new one too: a required affinity 1, preferred ones their weight.
    let mut all = zoned(&[("a", "z1", 0), ("b", "z2", 0)]).nodes.to_vec();
    Rc::make_mut(&mut all[0]).add(preferred("podAffinity", 8, "{x: w}"));
    Rc::make_mut(&mut all[1]).add(with_affinity("podAffinity", "{x: w}", BY_ZONE));
    let all = Snapshot { nodes: Rc::new(all), ..Snapshot::default() };
    let new = labelled("q", "{service: s1}", &format!("{{{C}}}"));
    assert_eq!(scores(&new, &all, "InterPodAffinity"), [(8, 100), (1, 0)]);
}
