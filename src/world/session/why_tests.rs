//! What the inspector says of things that stand still, and what became of several objects.

use super::tests::{Page, booted};
use view::{
    CauseKind, ContainerFacts, InspectorBody, InspectorTab, ManifestAction, MissingKind, ObjectRef, ProcessState,
    Progress, Selection, Subject, ToPage, ToWorld, Trip, TripState, Why,
};

const CRASH: &str = include_str!("../../page/examples/crash.yaml");

fn why(page: &mut Page, kind: &str, name: &str) -> Why {
    why_of(page, Subject::Object(ObjectRef { kind: kind.into(), namespace: "default".into(), name: name.into() }))
}

fn why_of(page: &mut Page, subject: Subject) -> Why {
    page.heard.clear();
    page.send(ToWorld::Select(Some(Selection { subject: subject.clone(), tab: InspectorTab::Why })));
    page.pass(40);
    let found = page.heard.iter().rev().find_map(|m| match m {
        ToPage::Inspector(i) if i.subject == subject => Some(i.body.clone()),
        _ => None,
    });
    page.send(ToWorld::Select(None));
    match found {
        Some(InspectorBody::Why(why)) => *why,
        other => panic!("{subject:?}: {other:?}"),
    }
}

fn apply(page: &mut Page, id: u32, text: &str, millis: u64) {
    page.send(ToWorld::Manifest { id, action: ManifestAction::Apply, text: text.into(), story: false });
    page.pass(millis);
}

fn pod(name: &str, container: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - {container}\n---\n")
}

fn only(why: &Why) -> &ContainerFacts {
    let [one] = why.containers.as_slice() else { panic!("{:#?}", why.containers) };
    one
}

#[test]
fn a_crash_loop_tells_how_it_ended_and_when_it_starts_again() {
    let mut page = booted();
    apply(&mut page, 1, include_str!("../../page/examples/crash.yaml"), 5000);
    let mut known = why(&mut page, "Pod", "crasher");
    for _ in 0..60 {
        if only(&known).state != "Running" && only(&known).back_off >= 20_000_000_000 {
            break;
        }
        page.pass(2000);
        known = why(&mut page, "Pod", "crasher");
    }
    let facts = only(&known);
    assert!(matches!(facts.state.as_str(), "Error" | "CrashLoopBackOff"), "{facts:?}");
    let exit = facts.exit.as_ref().unwrap();
    assert_eq!((exit.code, exit.reason.as_str()), (1, "Error"));
    assert_eq!(exit.ended_at - exit.started_at, 2_000_000_000);
    assert_eq!(facts.last_line, "something broke");
    assert!(facts.restarts >= 1 && facts.back_off >= 10_000_000_000, "{facts:?}");
    assert_eq!(facts.back_off % 10_000_000_000, 0, "{facts:?}");
    // It is true: at that moment it runs once more.
    let now = page.last().clock.now;
    assert!(facts.next_at > now, "{facts:?} at {now}");
    let (next, restarts) = (facts.next_at, facts.restarts);
    page.pass((next - now) / 1_000_000 + 1500);
    let known = why(&mut page, "Pod", "crasher");
    assert_eq!((only(&known).state.as_str(), only(&known).restarts), ("Running", restarts + 1));
}

#[test]
fn what_registry_kernel_and_configuration_refuse_is_said() {
    let mut page = booted();
    let text = [
        pod("typo", "{name: a, image: 'nginx:nope'}"),
        pod(
            "eater",
            "{name: a, image: 'busybox:1.36', command: [tail, /dev/zero], resources: {limits: {memory: 64Mi}}}",
        ),
        pod(
            "unset",
            "{name: a, image: 'busybox:1.36', env: [{name: A, valueFrom: {configMapKeyRef: {name: none, key: a}}}]}",
        ),
    ]
    .concat()
        + "apiVersion: v1\nkind: Pod\nmetadata: {name: once}\nspec:\n  restartPolicy: Never\n  containers:\n  \
           - {name: a, image: 'busybox:1.36', command: [sh, -c, 'echo done']}\n";
    apply(&mut page, 1, &text, 30_000);
    let now = page.last().clock.now;
    let known = why(&mut page, "Pod", "typo");
    let facts = only(&known);
    assert!(matches!(facts.state.as_str(), "ImagePullBackOff" | "ErrImagePull"), "{facts:?}");
    assert_eq!(facts.image, "nginx:nope");
    assert!(facts.message.contains("docker.io/library/nginx:nope: not found"), "{}", facts.message);
    assert!(facts.next_at > now && facts.exit.is_none(), "{facts:?}");
    let known = why(&mut page, "Pod", "eater");
    let facts = only(&known);
    let exit = facts.exit.as_ref().unwrap();
    assert_eq!((exit.code, exit.reason.as_str(), facts.memory_limit.as_str()), (137, "OOMKilled", "64Mi"));
    let known = why(&mut page, "Pod", "unset");
    let facts = only(&known);
    assert_eq!(facts.state, "CreateContainerConfigError");
    assert_eq!(facts.message, "configmap \"none\" not found");
    assert!(facts.next_at > now, "{facts:?}");
    let known = why(&mut page, "Pod", "once");
    let facts = only(&known);
    assert_eq!((facts.state.as_str(), facts.next_at, facts.last_line.as_str()), ("Completed", 0, "done"));
    assert!(known.missing.is_empty());
}

#[test]
fn without_a_scheduler_a_pending_pod_says_so_until_one_leads() {
    let mut page = booted();
    page.send(ToWorld::Fault { line: "cluster stop kube-scheduler".into() });
    page.pass(3000);
    apply(&mut page, 1, &pod("lone", "{name: a, image: 'nginx:1.27'}"), 4000);
    let known = why(&mut page, "Pod", "lone");
    let [missing] = known.missing.as_slice() else { panic!("{:#?}", known.missing) };
    assert_eq!(missing.what, MissingKind::Scheduler);
    assert!(missing.processes.iter().all(|p| p.state == ProcessState::Stopped) && missing.processes.len() == 2);
    assert_eq!(missing.command, "cluster start kube-scheduler");
    let now = page.last().clock.now;
    assert!(missing.since > 0 && now - missing.since < 12_000_000_000, "{missing:?} at {now}");
    page.send(ToWorld::Fault { line: "cluster start kube-scheduler".into() });
    page.pass(25_000);
    assert_eq!(why(&mut page, "Pod", "lone").missing, []);
}

#[test]
fn a_killed_leaders_lease_is_waited_for() {
    let mut page = booted();
    let managers = page.session.world.observed().managers.borrow().clone();
    let leader = managers.iter().find(|(_, m)| m.is_leading()).map(|(name, _)| name.clone()).unwrap();
    page.send(ToWorld::Fault { line: format!("cluster kill {leader}") });
    apply(&mut page, 1, include_str!("../../page/examples/deployment.yaml"), 2000);
    let known = why(&mut page, "Deployment", "web");
    let [missing] = known.missing.as_slice() else { panic!("{:#?}", known.missing) };
    assert_eq!(missing.what, MissingKind::Manager { controller: "deployment".into() });
    assert_eq!(missing.command, format!("cluster start {leader}"));
    let now = page.last().clock.now;
    assert!(missing.lease.expires_at > now && !missing.lease.holder.is_empty(), "{missing:?}");
    page.pass(20_000);
    assert_eq!(why(&mut page, "Deployment", "web").missing, []);
}

#[test]
fn a_stopped_kubelet_and_a_store_without_quorum_are_named() {
    let mut page = booted();
    apply(&mut page, 1, include_str!("../../page/examples/deployment.yaml"), 6000);
    let (pod, node) = {
        let mut pods = page.frames.iter().flat_map(|f| &f.pods).filter(|p| p.node.is_some());
        let pod = pods.next_back().unwrap();
        let nodes = page.frames.iter().flat_map(|f| &f.nodes);
        (pod.name.clone(), nodes.rev().find(|n| Some(n.id) == pod.node).unwrap().name.clone())
    };
    page.send(ToWorld::Fault { line: format!("cluster stop {node}/kubelet") });
    page.pass(2000);
    let known = why(&mut page, "Pod", &pod);
    let [missing] = known.missing.as_slice() else { panic!("{:#?}", known.missing) };
    assert_eq!(missing.what, MissingKind::Kubelet { node: node.clone() });
    assert_eq!(missing.command, format!("cluster start {node}/kubelet"));
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(2000);
    assert_eq!(why(&mut page, "Pod", &pod).missing, []);
    page.send(ToWorld::Fault { line: format!("cluster cut {node}") });
    page.pass(2000);
    assert_eq!(why(&mut page, "Pod", &pod).missing[0].processes[0].state, ProcessState::CutOff);
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(2000);
    page.send(ToWorld::Fault { line: "cluster stop etcd".into() });
    page.send(ToWorld::Command { id: 4, text: "kubectl scale deployment web --replicas=4\n".into() });
    page.pass(9000);
    let known = why(&mut page, "Deployment", "web");
    assert_eq!(known.missing[0].what, MissingKind::Store { quorum: 1 });
    assert_eq!(known.missing[0].command, "cluster start etcd");
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.clone()).unwrap();
    let down = plane.api_servers[0].storage.clone().unwrap();
    assert!(down.stored_at > 0 && down.code >= 500 && !down.message.is_empty(), "{down:?}");
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(30_000);
    assert_eq!(why(&mut page, "Deployment", "web").missing, []);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.clone()).unwrap();
    assert_eq!(plane.api_servers[0].storage, None);
}

#[test]
fn components_and_loops_say_what_keeps_them_from_their_work() {
    let mut page = booted();
    let component = |name: &str| Subject::Component { name: name.into() };
    let looped = Subject::Loop { name: "deployment".into() };
    let kinds = |why: &Why| why.missing.iter().map(|m| m.what.clone()).collect::<Vec<_>>();
    for name in ["kube-controller-manager-1", "kube-scheduler-2", "kube-apiserver", "etcd"] {
        assert_eq!(why_of(&mut page, component(name)).missing, [], "{name}");
    }
    page.send(ToWorld::Fault { line: "cluster stop kube-scheduler-2".into() });
    page.pass(1000);
    let known = why_of(&mut page, component("kube-scheduler-2"));
    let own = known.missing.iter().find(|m| m.processes.iter().any(|p| p.name == "kube-scheduler-2")).unwrap();
    assert_eq!(own.processes.iter().find(|p| p.name == "kube-scheduler-2").unwrap().state, ProcessState::Stopped);
    assert_eq!(own.command, "cluster start kube-scheduler-2");
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(20_000);
    // Without a store the leaders give up, and wait for it.
    page.send(ToWorld::Fault { line: "cluster stop etcd".into() });
    page.pass(30_000);
    let (store, manager) = (MissingKind::Store { quorum: 1 }, MissingKind::Manager { controller: String::new() });
    let known = why_of(&mut page, component("kube-controller-manager-1"));
    assert_eq!(kinds(&known)[..2], [store.clone(), manager]);
    let known = why_of(&mut page, component("kube-scheduler-1"));
    assert_eq!(kinds(&known)[..2], [store.clone(), MissingKind::Scheduler]);
    for name in ["kube-apiserver", "etcd"] {
        assert_eq!(kinds(&why_of(&mut page, component(name))), std::slice::from_ref(&store), "{name}");
    }
    let known = why_of(&mut page, looped.clone());
    assert_eq!(kinds(&known), [store.clone(), MissingKind::Manager { controller: "deployment".into() }]);
    assert!(known.control_loop.is_none());
    // An API server that starts now reads nothing: what it does not know is not gone.
    page.send(ToWorld::Fault { line: "cluster stop kube-apiserver".into() });
    page.send(ToWorld::Fault { line: "cluster start kube-apiserver".into() });
    page.pass(2000);
    let known = why(&mut page, "Node", "node-1");
    assert!(matches!(known.missing[0].what, MissingKind::Store { .. } | MissingKind::ApiServer), "{known:?}");
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(60_000);
    assert_eq!(why_of(&mut page, component("kube-controller-manager-1")).missing, []);
    assert!(why_of(&mut page, looped).control_loop.is_some());
}

#[test]
fn writes_that_read_the_same_are_one_link() {
    let mut page = booted();
    page.send(ToWorld::Command { id: 1, text: format!("cat <<EOF | kubectl apply -f -\n{CRASH}EOF\n") });
    page.pass(90_000);
    let known = why(&mut page, "Pod", "crasher");
    let read = |c: &view::Cause| match &c.what {
        CauseKind::Write { verb, subresource, by, .. } => format!("{verb} {subresource} {by}"),
        other => format!("{other:?}"),
    };
    let told: Vec<String> = known.causes.iter().map(read).collect();
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:#?}");
    assert!(matches!(known.causes[0].what, CauseKind::Command { .. }), "{told:#?}");
    let last = known.causes.last().unwrap();
    assert!(last.times > 5 && read(last).starts_with("update status kubelet"), "{told:#?} {last:?}");
}

fn trip(page: &Page) -> Trip {
    page.frames.iter().rev().find_map(|f| f.trip.clone()).unwrap()
}

#[test]
fn all_that_was_applied_is_followed_as_it_stands_now() {
    let mut page = booted();
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n---\n{}---\n{}",
        include_str!("../../page/examples/deployment.yaml"),
        pod("late", "{name: a, image: 'busybox:1.36', command: [sh, -c, 'sleep 6; exit 3']}"),
    );
    apply(&mut page, 1, &text, 5000);
    let told =
        |trip: &Trip| trip.all.iter().map(|o| (o.short.clone(), o.state, o.ready, o.desired)).collect::<Vec<_>>();
    let stored = TripState::Stored;
    assert_eq!(
        told(&trip(&page)),
        [
            ("configmap/settings".into(), stored, 0, 0),
            ("deployment/web".into(), stored, 3, 3),
            ("pod/late".into(), stored, 1, 1),
        ]
    );
    assert_eq!(trip(&page).short, "deployment/web");
    let broken = |page: &Page| trip(page).all[2].troubles == [("Error".to_string(), 1)];
    for _ in 0..20 {
        if !broken(&page) {
            page.pass(1000);
        }
    }
    assert!(broken(&page) && trip(&page).all[2].ready == 0, "{:?}", trip(&page).all[2]);
    page.send(ToWorld::Command { id: 3, text: "kubectl delete deployment web; kubectl delete cm settings\n".into() });
    page.pass(4000);
    let now = trip(&page);
    assert_eq!((now.all[0].state, now.all[1].state), (TripState::Gone, TripState::Gone));
    assert!(now.steps.iter().all(|s| s.progress == Progress::Todo), "{:#?}", now.steps);
    // Applied by itself, a pod that crashes later was started, and is not ready any more.
    apply(&mut page, 2, include_str!("../../page/examples/crash.yaml"), 1500);
    assert!(trip(&page).steps.iter().all(|s| s.progress == Progress::Done), "{:#?}", trip(&page).steps);
    page.pass(5000);
    let steps = trip(&page).steps;
    assert_eq!(steps.iter().map(|s| s.progress).collect::<Vec<_>>()[2..], [Progress::Done, Progress::Todo]);
}
