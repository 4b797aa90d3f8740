//! Which node preemption chooses (`pickOneNodeForPreemption`): fewest violated budgets, then the lowest top priority,
//! the smallest sum of priorities, the fewest pods, the latest start of the most important ones, the first.

use crate::cache::Snapshot;
use crate::node_info::PodInfo;
use crate::preemption::{self, Outcome};
use crate::tests::{decode, node, schedule, snapshot};
use crate::verdict::Code;
use api::Rev;
use api::core_v1::Pod;
use api::policy_v1::PodDisruptionBudget;
use std::rc::Rc;

/// A pod that started so many seconds after midnight.
fn running(name: &str, app: &str, priority: i32, cpu: &str, started: u32) -> Rc<PodInfo> {
    let text = format!(
        "metadata: {{name: {name}, namespace: default, labels: {{app: {app}}}}}\n\
         spec: {{priority: {priority}, containers: [{{name: c, image: x, resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n\
         status: {{startTime: '2026-01-01T00:00:{started:02}Z'}}"
    );
    PodInfo::new(Rev::new(1, decode::<Pod>(&text)))
}

/// Nodes of 4 CPUs with these pods: (priority, CPU, start).
fn cluster(nodes: &[&[(i32, &str, u32)]]) -> Snapshot {
    let mut all = Vec::new();
    for (at, pods) in nodes.iter().enumerate() {
        let mut one = node(&format!("node-{at}"), "zone", "{}");
        for (i, (priority, cpu, started)) in pods.iter().enumerate() {
            one.add(running(&format!("p{at}-{i}"), &format!("app{at}"), *priority, cpu, *started));
        }
        all.push(one);
    }
    snapshot(all)
}

/// The node and the victims that a pod of priority 100 chooses.
fn choice(all: &Snapshot, cpu: &str, budgets: &[Rev<PodDisruptionBudget>]) -> (String, Vec<String>) {
    let urgent = running("urgent", "urgent", 100, cpu, 0);
    let outcome = schedule(&urgent, all);
    match preemption::run(&urgent, all, &outcome.nodes, budgets, 0, &|_| None) {
        Outcome::Found(best) => {
            let victims = best.victims.iter().map(|v| v.pod.metadata.name.to_string()).collect();
            (best.node.to_string(), victims)
        }
        Outcome::None(why) => (why, Vec::new()),
        Outcome::Ineligible(why) => (why.to_string(), Vec::new()),
    }
}

fn budget(app: &str, allowed: i32) -> Rev<PodDisruptionBudget> {
    let text = format!(
        "metadata: {{name: {app}, namespace: default}}\nspec: {{selector: {{matchLabels: {{app: {app}}}}}}}\n\
         status: {{disruptionsAllowed: {allowed}}}"
    );
    Rev::new(1, decode(&text))
}

#[test]
fn the_order_of_choice() {
    let full = [(0, "4", 0)];
    for (what, nodes, wanted) in [
        ("the lowest top priority", vec![vec![(20, "4", 0)], vec![(10, "4", 0)]], "node-1"),
        ("then the smallest sum", vec![vec![(10, "2", 0), (9, "2", 0)], vec![(10, "2", 0), (5, "2", 0)]], "node-1"),
        // Each priority counts 2^31 more, so that fewer pods of negative priority are a smaller sum.
        ("fewer negative ones", vec![vec![(-5, "2", 0), (-5, "2", 0)], vec![(-5, "4", 0)]], "node-1"),
        ("the latest start", vec![vec![(10, "4", 10)], vec![(10, "4", 30)], vec![(10, "4", 20)]], "node-1"),
        // Of the most important pods of a node the earliest counts.
        (
            "the latest of the earliest",
            vec![vec![(10, "2", 10), (10, "2", 50)], vec![(10, "2", 20), (10, "2", 21)]],
            "node-1",
        ),
        // Less important ones' starts say nothing.
        (
            "only the top ones' starts",
            vec![vec![(10, "2", 20), (5, "2", 1)], vec![(10, "2", 10), (5, "2", 50)]],
            "node-0",
        ),
        ("the first of equals", vec![full.to_vec(), full.to_vec()], "node-0"),
    ] {
        let slices: Vec<&[(i32, &str, u32)]> = nodes.iter().map(Vec::as_slice).collect();
        assert_eq!(choice(&cluster(&slices), "4", &[]).0, wanted, "{what}");
    }
}

#[test]
fn budgets_go_first() {
    let all = cluster(&[&[(1, "4", 0)], &[(50, "4", 0)]]);
    assert_eq!(choice(&all, "4", &[]).0, "node-0");
    assert_eq!(choice(&all, "4", &[budget("app0", 1)]).0, "node-0");
    assert_eq!(choice(&all, "4", &[budget("app0", 0)]).0, "node-1");
    // Violated if there is no other way.
    assert_eq!(choice(&all, "4", &[budget("app0", 0), budget("app1", 0)]).0, "node-0");
    // Of two pods a budget lets one go.
    let two = cluster(&[&[(1, "2", 0), (1, "2", 0)], &[(50, "4", 0)]]);
    assert_eq!(choice(&two, "4", &[budget("app0", 1)]).0, "node-1");
}

#[test]
fn no_more_pods_go_than_must() {
    // Pods come back in the order of their importance as long as the new one still fits.
    let all = cluster(&[&[(1, "1", 0), (2, "1", 0), (3, "1", 0), (4, "1", 0)]]);
    assert_eq!(choice(&all, "2", &[]), ("node-0".into(), vec!["p0-1".into(), "p0-0".into()]));
    // Of equal priority the one that started last goes.
    let all = cluster(&[&[(1, "2", 30), (1, "2", 10)]]);
    assert_eq!(choice(&all, "2", &[]).1, ["p0-0"]);
    // Those that a budget protects come back first.
    let mut one = node("node-0", "zone", "{}");
    one.add(running("guarded", "guarded", 1, "2", 0));
    one.add(running("free", "free", 50, "2", 0));
    assert_eq!(choice(&snapshot(vec![one]), "2", &[budget("guarded", 0)]).1, ["free"]);
}

#[test]
fn who_may_not_preempt_and_what_it_says() {
    let all = cluster(&[&[(100, "4", 0)], &[(200, "4", 0)]]);
    assert_eq!(choice(&all, "2", &[]).0, "0/2 nodes are available: 2 No preemption victims found for incoming pod.");
    let never = "metadata: {name: p, namespace: default}\nspec: {priority: 1000, preemptionPolicy: Never, \
                 containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}";
    let never = PodInfo::new(Rev::new(1, decode::<Pod>(never)));
    let outcome = schedule(&never, &all);
    let Outcome::Ineligible(why) = preemption::run(&never, &all, &outcome.nodes, &[], 0, &|_| None) else {
        panic!("it never does")
    };
    assert_eq!(why, "not eligible due to preemptionPolicy=Never.");
    assert!(outcome.nodes.iter().all(|n| n.rejected.as_ref().is_some_and(|(_, r)| r.code == Code::Unschedulable)));
    // While the victims of the last time go, there is no next time.
    let leaving = "metadata: {name: victim, namespace: default, deletionTimestamp: '2026-01-01T00:00:00Z'}\n\
                   spec: {priority: 1, containers: [{name: c, image: x, resources: {requests: {cpu: '4'}}}]}\n\
                   status: {conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]}";
    let mut one = node("node-0", "zone", "{}");
    one.add(PodInfo::new(Rev::new(1, decode::<Pod>(leaving))));
    let waiting = "metadata: {name: p, namespace: default}\nspec: {priority: 1000, \
                   containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}\n\
                   status: {nominatedNodeName: node-0}";
    let waiting = PodInfo::new(Rev::new(1, decode::<Pod>(waiting)));
    let all = snapshot(vec![one]);
    let outcome = schedule(&waiting, &all);
    let Outcome::Ineligible(why) = preemption::run(&waiting, &all, &outcome.nodes, &[], 0, &|_| None) else {
        panic!("it waits")
    };
    assert_eq!(why, "not eligible due to a terminating pod on the nominated node.");
}

#[test]
fn each_node_says_why_preemption_does_not_help() {
    // One has nobody to remove, one would be too small empty of them, one cannot do at all.
    let mut all = cluster(&[&[(100, "4", 0)], &[(100, "3", 0), (1, "1", 0)], &[]]);
    Rc::make_mut(&mut Rc::make_mut(&mut all.nodes)[2]).allocatable.cpu = 1;
    assert_eq!(
        choice(&all, "2", &[]).0,
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, \
         1 Preemption is not helpful for scheduling."
    );
}

#[test]
fn room_that_was_promised_is_not_there_for_others() {
    let all = cluster(&[&[(1, "2", 0), (1, "2", 0)]]);
    let urgent = running("urgent", "urgent", 100, "2", 0);
    let outcome = schedule(&urgent, &all);
    let promised = |node: &crate::node_info::NodeInfo| {
        let mut node = node.clone();
        node.add(running("promised", "promised", 200, "2", 0));
        Some(node)
    };
    let victims =
        |promised: preemption::Promised<'_>| match preemption::run(&urgent, &all, &outcome.nodes, &[], 0, promised) {
            Outcome::Found(best) => best.victims.len(),
            _ => 0,
        };
    assert_eq!((victims(&|_| None), victims(&promised)), (1, 2));
}

#[test]
fn a_budget_that_is_used_up_decides_before_the_next() {
    // Both budgets are about the pods of node-0: the first to say no leaves the second as it was, for the other pod.
    let mut one = node("node-0", "zone", "{}");
    one.add(running("a", "app0", 2, "2", 0));
    one.add(running("b", "app0", 1, "2", 0));
    let all = snapshot(vec![one]);
    let two = [budget("app0", 0), budget("app0", 1)];
    let urgent = running("urgent", "urgent", 100, "4", 0);
    let outcome = schedule(&urgent, &all);
    let Outcome::Found(best) = preemption::run(&urgent, &all, &outcome.nodes, &two, 0, &|_| None) else { panic!() };
    assert_eq!(best.violations, 2);
}

#[test]
fn a_hopeless_promised_node_is_given_up() {
    let leaving = "metadata: {name: victim, namespace: default, deletionTimestamp: '2026-01-01T00:00:00Z'}\n\
                   spec: {priority: 1, containers: [{name: c, image: x, resources: {requests: {cpu: '4'}}}]}\n\
                   status: {conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]}";
    let mut one = node("node-0", "zone", "{unschedulable: true}");
    one.add(PodInfo::new(Rev::new(1, decode::<Pod>(leaving))));
    let mut two = node("node-1", "zone", "{}");
    two.add(running("p", "app", 1, "4", 0));
    let waiting = "metadata: {name: p, namespace: default}\nspec: {priority: 1000, \
                   containers: [{name: c, image: x, resources: {requests: {cpu: '2'}}}]}\n\
                   status: {nominatedNodeName: node-0}";
    let waiting = PodInfo::new(Rev::new(1, decode::<Pod>(waiting)));
    let all = snapshot(vec![one, two]);
    let outcome = schedule(&waiting, &all);
    let Outcome::Found(best) = preemption::run(&waiting, &all, &outcome.nodes, &[], 0, &|_| None) else { panic!() };
    assert_eq!(&*best.node, "node-1");
}
