//! What pods ask for and nodes have.

use super::*;

#[test]
fn node_resources_fit() {
    // 4 CPUs, 8Gi, 3 pods, 2 of example.com/gpu.
    let status = "{allocatable: {cpu: '4', memory: 8Gi, ephemeral-storage: 10Gi, pods: '3', example.com/gpu: '2'}}";
    let mut n = bare("one", "{}", "{}", status);
    let asking = |requests: &str| {
        pod("p", &format!("{{containers: [{{name: c, image: x, resources: {{requests: {requests}}}}}]}}"))
    };
    n.add(asking("{cpu: '3', memory: 6Gi, example.com/gpu: '1'}"));
    let all = snapshot(vec![n.clone()]);
    for (requests, wanted, code_wanted) in [
        ("{}", "", None),
        ("{cpu: '1', memory: 2Gi}", "", None),
        ("{cpu: 1001m}", "NodeResourcesFit Insufficient cpu", Some(Code::Unschedulable)),
        ("{cpu: 4001m}", "NodeResourcesFit Insufficient cpu", Some(Code::Unresolvable)),
        (
            "{cpu: '2', memory: 3Gi}",
            "NodeResourcesFit Insufficient cpu, Insufficient memory",
            Some(Code::Unschedulable),
        ),
        ("{ephemeral-storage: 11Gi}", "NodeResourcesFit Insufficient ephemeral-storage", Some(Code::Unresolvable)),
        ("{example.com/gpu: '2'}", "NodeResourcesFit Insufficient example.com/gpu", Some(Code::Unschedulable)),
        ("{example.com/tpu: '1'}", "NodeResourcesFit Insufficient example.com/tpu", Some(Code::Unresolvable)),
    ] {
        assert_eq!(verdicts(&asking(requests), &all), [wanted], "{requests}");
        assert_eq!(code(&asking(requests), &all), code_wanted, "{requests}");
    }
    n.add(asking("{}"));
    n.add(asking("{}"));
    assert_eq!(verdicts(&asking("{}"), &snapshot(vec![n])), ["NodeResourcesFit Too many pods"]);
}

/// A v1.37.2 cluster of nodes with 8Gi said so of pods that ask for the largest integer.
#[test]
fn requests_beyond_all_integers_wrap_as_gos_do() {
    const MAX: i64 = i64::MAX;
    let asking = |lists: &[String]| {
        let one = |(i, list): (usize, &String)| format!("{{name: c{i}, image: x, resources: {{requests: {list}}}}}");
        let all: Vec<String> = lists.iter().enumerate().map(one).collect();
        pod("big", &format!("{{containers: [{}]}}", all.join(", ")))
    };
    let of = |name: &str| format!("{{{name}: '{MAX}'}}");
    let all = snapshot(three());
    let memory = "NodeResourcesFit Insufficient memory";
    for (lists, wanted) in [
        // In thousandths it is too large, and becomes 0.
        (vec![of("cpu"), of("cpu")], ""),
        (vec![of("memory")], memory),
        (vec![format!("{{cpu: '{MAX}', memory: '{MAX}'}}")], memory),
        // Twice the largest is -2 in 64 bits, and 3 more is 1.
        (vec![of("memory"), of("memory")], ""),
        (vec![of("memory"), of("memory"), "{memory: '3'}".into()], ""),
        (vec![of("ephemeral-storage"), of("ephemeral-storage")], ""),
    ] {
        assert_eq!(verdicts(&asking(&lists), &all)[0], wanted, "{lists:?}");
    }
    // What wraps may score what no plugin may.
    let wrong = schedule(&asking(&[of("cpu")]), &all).error;
    let text = "applying score defaultWeights on Score plugins: plugin \"NodeResourcesFit\" returns an invalid score 111, it \
                should in the range of [0, 100] after normalizing";
    assert_eq!(wrong.as_deref(), Some(text));
    // Several of these on one node neither panic nor stick.
    let mut n = node("one", "z", "{}");
    for _ in 0..3 {
        n.add(asking(&[of("memory"), of("ephemeral-storage"), of("cpu")]));
    }
    let _ = schedule(&asking(&[of("memory")]), &snapshot(vec![n.clone(), node("two", "z", "{}")]));
    for _ in 0..3 {
        n.remove(&asking(&[]).key());
    }
    assert_eq!(n.requested, crate::resources::Resources::default());
}

#[test]
fn requests_of_a_pod_are_summed_exactly() {
    let of = |spec: &str| {
        let all = pod("p", spec).requests.clone();
        (all.cpu, all.memory)
    };
    // Halves of a byte are rounded up once, at the end; CPU of less than a thousandth was when the pod was created.
    let half = "resources: {requests: {cpu: 100u, memory: 500m}}";
    assert_eq!(of(&format!("{{containers: [{{name: a, image: x, {half}}}, {{name: b, image: x, {half}}}]}}")), (2, 1));
    // The largest init container or the sum of the others, with sidecars in both.
    let ask = |name: &str, cpu: &str, more: &str| {
        format!("{{name: {name}, image: x, resources: {{requests: {{cpu: {cpu}}}}}{more}}}")
    };
    let sidecar = ", restartPolicy: Always";
    let spec = |init: &[String], main: &[String], more: &str| {
        format!("{{initContainers: [{}], containers: [{}]{more}}}", init.join(", "), main.join(", "))
    };
    let main = [ask("a", "1", ""), ask("b", "1", "")];
    assert_eq!(of(&spec(&[ask("i", "3", "")], &main, "")).0, 3000);
    assert_eq!(of(&spec(&[ask("s", "1", sidecar), ask("i", "1", "")], &main, "")).0, 3000);
    assert_eq!(of(&spec(&[ask("s", "1", sidecar), ask("i", "3", "")], &main, "")).0, 4000);
    assert_eq!(of(&spec(&[ask("i", "3", ""), ask("s", "1", sidecar)], &main, "")).0, 3000);
    assert_eq!(of(&spec(&[], &main, ", overhead: {cpu: 250m}")).0, 2250);
    assert_eq!(of(&spec(&[], &main, ", resources: {requests: {cpu: 1500m}}")).0, 1500);
}

#[test]
fn node_resources_fit_scores_what_is_left() {
    let size = |cpu: &str, memory: &str| format!("{{allocatable: {{cpu: {cpu}, memory: '{memory}', pods: '110'}}}}");
    let all = snapshot(vec![bare("a", "{}", "{}", &size("4", "10000")), bare("b", "{}", "{}", &size("6", "10000"))]);
    let asking = |requests: &str| {
        pod("p", &format!("{{containers: [{{name: c, image: x, resources: {{requests: {requests}}}}}]}}"))
    };
    // (4000-3000)/4000 = 25, (10000-5000)/10000 = 50: 37; (6000-3000)/6000 = 50 and 50: 50.
    let got = scores(&asking("{cpu: '3', memory: '5000'}"), &all, "NodeResourcesFit");
    assert_eq!(got, [(37, 37), (50, 50)]);
    // A container that asks for nothing counts 100m and 200Mi, more memory than there is: (3900/4000*100 + 0) / 2.
    assert_eq!(scores(&asking("{}"), &all, "NodeResourcesFit"), [(48, 48), (49, 49)]);
}

#[test]
fn node_resources_balanced_allocation() {
    let size = |cpu: &str, memory: &str| format!("{{allocatable: {{cpu: {cpu}, memory: '{memory}', pods: '110'}}}}");
    let asking = |requests: &str| {
        pod("q", &format!("{{containers: [{{name: c, image: x, resources: {{requests: {requests}}}}}]}}"))
    };
    let all = snapshot(vec![bare("a", "{}", "{}", &size("4", "10000")), bare("b", "{}", "{}", &size("6", "10000"))]);
    // a: shares .75 and .5, deviation .125 -> 87 against 100 without: 50 + (50+87-100)/2 = 68; b: .5 and .5: 75.
    let got = scores(&asking("{cpu: '3', memory: '5000'}"), &all, "NodeResourcesBalancedAllocation");
    assert_eq!(got, [(68, 68), (75, 75)]);
    assert!(scores(&asking("{}"), &all, "NodeResourcesBalancedAllocation").is_empty());
    // A pod that balances a lopsided node: before .5 and 0 -> 75; after .5 and .5 -> 100: 50 + (50+100-75)/2 = 87.
    let mut lopsided = bare("a", "{}", "{}", &size("4", "10000"));
    lopsided.add(asking("{cpu: '2'}"));
    let all = snapshot(vec![lopsided, bare("b", "{}", "{}", &size("4", "10000"))]);
    // b: before 100, after 0 and .5 -> 75: 50 + (50+75-100)/2 = 62.
    let got = scores(&asking("{memory: '5000'}"), &all, "NodeResourcesBalancedAllocation");
    assert_eq!(got, [(87, 87), (62, 62)]);
}

#[test]
fn image_locality() {
    let holding = |name: &str, images: &[(&str, i64)]| {
        let one = |(image, mega): &(&str, i64)| format!("{{names: ['{image}'], sizeBytes: {}}}", mega << 20);
        let all: Vec<String> = images.iter().map(one).collect();
        bare(name, "{}", "{}", &format!("{{images: [{}], allocatable: {{pods: '9'}}}}", all.join(", ")))
    };
    let two = pod("p", "{containers: [{name: a, image: 'gcr.io/40'}, {name: b, image: 'gcr.io/250'}]}");
    let all = snapshot(vec![
        holding("m1", &[("gcr.io/40:latest", 40), ("gcr.io/300:latest", 300), ("gcr.io/2000:latest", 2000)]),
        holding("m2", &[("gcr.io/250:latest", 250), ("gcr.io/10:latest", 10)]),
    ]);
    // An image on one of two nodes counts half: (40/2 - 23) below the least: 0; (250/2 - 23)*100/(2*1000 - 23) = 5.
    assert_eq!(scores(&two, &all, "ImageLocality"), [(0, 0), (5, 5)]);
    let one = pod("p", "{containers: [{name: a, image: 'gcr.io/2000'}]}");
    // (2000/2 - 23) of (1000 - 23): 100.
    assert_eq!(scores(&one, &all, "ImageLocality"), [(100, 100), (0, 0)]);
    let tiny = pod("p", "{containers: [{name: a, image: 'gcr.io/10'}]}");
    assert_eq!(scores(&tiny, &all, "ImageLocality"), [(0, 0), (0, 0)]);
}
