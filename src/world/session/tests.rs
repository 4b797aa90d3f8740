//! The page's conversation with a world, natively.

use super::Session;
use view::{
    ClockState, Frame, InspectorBody, InspectorTab, ManifestAction, ObjectRef, Outcome, Pace, PodState, Progress,
    Selection, Start, StoryCommand, Stream, Subject, Subscription, TimerKind, ToPage, ToWorld,
};

const WEB: &str = include_str!("../../page/examples/deployment.yaml");
const CRASH: &str = include_str!("../../page/examples/crash.yaml");
const HUGE: &str = include_str!("../../page/examples/huge.yaml");

pub(super) struct Page {
    pub(super) session: Session,
    wall: u64,
    pub(super) frames: Vec<Frame>,
    pub(super) heard: Vec<ToPage>,
}

impl Page {
    fn new(start: &Start) -> Page {
        Page { session: Session::new(start), wall: 0, frames: Vec::new(), heard: Vec::new() }
    }

    /// Lets wall time pass in slices, acknowledging frames as the page does.
    pub(super) fn pass(&mut self, millis: u64) {
        for _ in 0..millis.div_ceil(20) {
            self.wall += 20_000;
            for message in self.session.poll(self.wall, &mut || true) {
                match message {
                    ToPage::Frame(frame) => {
                        self.session.receive(ToWorld::FrameSeen { number: frame.number });
                        self.frames.push(*frame);
                    }
                    other => self.heard.push(other),
                }
            }
        }
    }

    pub(super) fn send(&mut self, message: ToWorld) {
        self.session.receive(message);
    }

    pub(super) fn last(&self) -> &Frame {
        self.frames.last().unwrap()
    }

    fn output(&self) -> String {
        let parts = self.heard.iter().filter_map(|m| match m {
            ToPage::Output { stream: Stream::Out, text, .. } => Some(text.as_str()),
            _ => None,
        });
        parts.collect()
    }
}

pub(super) fn booted() -> Page {
    let mut page = Page::new(&Start::default());
    page.pass(100);
    page
}

#[test]
fn three_nodes_boot_in_view() {
    let page = booted();
    assert!(matches!(page.heard.first(), Some(ToPage::Ready(r)) if r.version == view::VERSION));
    assert!(page.frames[0].full);
    let names: std::collections::BTreeSet<&str> = page
        .frames
        .iter()
        .flat_map(|f| &f.nodes)
        .filter(|n| n.ready == view::Readiness::True)
        .map(|n| &*n.name)
        .collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["node-1", "node-2", "node-3"]);
    assert_eq!(page.last().clock.state, ClockState::Running);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.as_ref()).unwrap();
    assert_eq!((plane.etcd.len(), plane.api_servers.len(), plane.schedulers.len()), (1, 1, 2));
    assert!(plane.loops.iter().any(|l| l.name == "replicaset"), "{:?}", plane.loops);
    assert_eq!(plane.scheduler_lease.duration_millis, 15_000);
}

#[test]
fn a_manifest_becomes_ready_pods_and_its_steps_are_told() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    page.pass(8000);
    let answer = page.heard.iter().find_map(|m| match m {
        ToPage::Manifest(result) => Some(result.clone()),
        _ => None,
    });
    let answer = answer.unwrap();
    assert_eq!((answer.code, answer.stdout.as_str()), (0, "deployment.apps/web created\n"));
    assert_eq!(answer.documents[0].outcome, Outcome::Created);
    let trip = page.frames.iter().rev().find_map(|f| f.trip.as_ref()).unwrap();
    assert_eq!((trip.short.as_str(), trip.desired, trip.ready), ("deployment/web", 3, 3));
    assert!(trip.steps.iter().all(|s| s.progress == Progress::Done), "{:#?}", trip.steps);
    assert!(trip.steps[0].revision > 0 && trip.steps[1].revision > trip.steps[0].revision);
    // Pods that are replaced open their steps until their successors are there; the times stay those of the first.
    let before = trip.steps.clone();
    let frames = page.frames.len();
    page.send(ToWorld::Command { id: 9, text: "kubectl delete pods --all --wait=false\n".into() });
    page.pass(3000);
    let ready = |f: &Frame| f.trip.as_ref().is_some_and(|t| t.ready < 3 && t.steps[5].progress != Progress::Done);
    assert!(page.frames[frames..].iter().any(ready));
    let trip = page.frames.iter().rev().find_map(|f| f.trip.as_ref()).unwrap();
    let told = |steps: &[view::TripStep]| steps.iter().map(|s| (s.progress, s.done, s.after)).collect::<Vec<_>>();
    assert_eq!(told(&trip.steps), told(&before));
    let ready =
        page.frames.iter().flat_map(|f| &f.pods).filter(|p| p.state == PodState::Ready && p.node.is_some()).count();
    assert!(ready >= 3);
    assert!(page.frames.iter().flat_map(|f| &f.messages).any(|m| m.label.contains("binding")));
    // Another number of pods is another wish.
    for (id, replicas) in [(10, 5), (11, 2), (12, 0)] {
        page.send(ToWorld::Command { id, text: format!("kubectl scale deployment web --replicas={replicas}\n") });
        page.pass(6000);
        let trip = page.frames.iter().rev().find_map(|f| f.trip.as_ref()).unwrap();
        assert_eq!((trip.desired, trip.ready), (replicas, replicas));
        for step in trip.steps.iter().skip(2) {
            assert_eq!((step.progress, step.done, step.total), (Progress::Done, replicas, replicas), "{step:?}");
        }
    }
}

#[test]
fn a_completed_pod_has_become_what_it_should_and_one_that_crashes_was_started() {
    let mut page = booted();
    let pod = |name: &str, command: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{restartPolicy: OnFailure, containers: [{{name: c, \
             image: 'busybox:1.36', command: [sh, -c, '{command}']}}]}}\n---\n"
        )
    };
    let text = pod("crashes", "exit 3") + &pod("ends", "sleep 1");
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text, story: false });
    page.pass(20_000);
    let trip = page.frames.iter().rev().find_map(|f| f.trip.as_ref()).unwrap();
    let stands: Vec<_> = trip.all.iter().map(|o| (&*o.short, o.ready, o.desired)).collect();
    assert_eq!(stands, [("pod/crashes", 0, 1), ("pod/ends", 1, 1)]);
    let started = trip.steps.iter().find(|s| s.kind == view::TripKind::Started).unwrap();
    assert_eq!((started.progress, started.done), (Progress::Done, 1));
    // Two debugging containers of a pod have two names.
    for id in [2, 3] {
        page.send(ToWorld::Command { id, text: "kubectl debug crashes --image=busybox:1.36 --quiet -- true\n".into() });
        page.pass(2000);
    }
    page.send(ToWorld::Command {
        id: 4,
        text: "kubectl get pod crashes -o jsonpath='{.spec.ephemeralContainers[*].name}' | wc -w\n".into(),
    });
    page.pass(2000);
    let said: String = page
        .heard
        .iter()
        .filter_map(|m| match m {
            ToPage::Output { stream: Stream::Out, text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(said.contains("2\n"), "{said}");
}

#[test]
fn what_loses_its_lease_comes_back_and_what_was_stopped_does_not() {
    let mut page = booted();
    let status = |page: &Page| page.session.world.machines().apply(&crate::faults::Fault::Status).unwrap();
    let plane = |page: &Page| page.frames.iter().rev().find_map(|f| f.control_plane.clone()).unwrap();
    // The scheduler that leads stays, the other is stopped too.
    let leads = page.session.world.observed().schedulers.borrow()["kube-scheduler-1"].leads();
    let (stays, goes) = if leads { (1, 2) } else { (2, 1) };
    page.send(ToWorld::Fault { line: format!("cluster stop etcd kube-scheduler-{goes}") });
    page.pass(5000);
    assert!(!page.last().clock.settled);
    // The leaders miss their renewals' deadline of 10 s and exit; a second later they run again.
    let mut exited = std::collections::BTreeSet::new();
    let (mut restarts, mut expires) = (false, false);
    for _ in 0..150 {
        page.pass(100);
        for line in status(&page).lines().filter_map(|l| l.strip_prefix("# ")) {
            exited.insert(line.split(' ').next().unwrap().to_string());
        }
        for timer in &page.last().timers {
            restarts |= matches!(timer.what, TimerKind::ComponentRestarts { .. });
            expires |= matches!(timer.what, TimerKind::LeaseExpires { .. });
        }
        assert!(!page.last().clock.settled);
    }
    let exited: Vec<String> = exited.into_iter().collect();
    assert!(exited.len() == 2 && exited[0].starts_with("kube-controller-manager-"), "{exited:?}");
    assert_eq!(exited[1], format!("kube-scheduler-{stays}"));
    assert!(restarts && expires);
    assert_eq!(status(&page), format!("stop etcd\nstop kube-scheduler-{goes}\n"));
    page.pass(180_000);
    assert_eq!(status(&page), format!("stop etcd\nstop kube-scheduler-{goes}\n"));
    let retries = |f: &Frame| f.timers.iter().any(|t| matches!(t.what, TimerKind::LeaseRetry { .. }));
    assert!(page.frames.iter().rev().take(200).any(retries));
    // Somebody who waits for rest doesn't wait for an hour.
    let before = page.last().clock.now;
    page.send(ToWorld::Pace(Pace::UntilSettled));
    page.pass(2000);
    let last = page.last().clock;
    assert_eq!(last.state, ClockState::Running);
    assert!(last.now - before < 120_000_000_000, "{}", last.now - before);
    page.send(ToWorld::Fault { line: "cluster start etcd".into() });
    page.pass(60_000);
    assert_eq!(status(&page), format!("stop kube-scheduler-{goes}\n"));
    let plane = plane(&page);
    let states: Vec<_> = plane.schedulers.iter().chain(&plane.controller_managers).map(|p| p.state).collect();
    use view::ProcessState::{Running, Stopped};
    let schedulers = if leads { [Running, Stopped] } else { [Stopped, Running] };
    assert_eq!(states, [schedulers, [Running, Running]].concat());
    assert!(page.last().clock.settled, "{:?}", page.last().timers);
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(1000);
    assert_eq!(status(&page), "no faults\n");
}

#[test]
fn a_name_that_nothing_has_is_answered_with_those_there_are() {
    let mut page = booted();
    for line in ["cluster stop scheduler", "cluster cut node-9", "cluster skip replicasets 30%"] {
        page.send(ToWorld::Fault { line: line.into() });
    }
    page.pass(100);
    let notices: Vec<_> = page
        .heard
        .iter()
        .filter_map(|m| if let ToPage::Notice { text } = m { Some(text.as_str()) } else { None })
        .collect();
    let [stop, cut, skip] = notices[..] else { panic!("{notices:?}") };
    for text in [stop, cut] {
        assert!(text.contains("node-1 to node-3") && text.contains("kube-scheduler kube-scheduler-1"), "{text}");
    }
    assert!(skip.contains("replicaset,"), "{skip}");
}

#[test]
fn a_waiting_pod_keeps_its_name_and_reason() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: HUGE.into(), story: false });
    page.pass(3000);
    page.send(ToWorld::Command { id: 2, text: "kubectl create deployment web --image=nginx --replicas=2\n".into() });
    let mut bound = false;
    for _ in 0..300 {
        page.pass(200);
        let plane = page.frames.iter().rev().find_map(|f| f.control_plane.as_ref()).unwrap();
        let waiting = plane.scheduling.waiting.first().expect("it waits");
        assert!(waiting.name.starts_with("huge"), "{waiting:?}");
        assert!(waiting.reason.contains("Insufficient"), "{waiting:?}");
        bound |= plane.scheduling.phase == view::SchedulingPhase::Bound;
    }
    assert!(bound);
    let scheduling = &page.frames.iter().rev().find_map(|f| f.control_plane.as_ref()).unwrap().scheduling;
    assert_eq!(scheduling.phase, view::SchedulingPhase::Unschedulable);
    assert_eq!(scheduling.pod, scheduling.waiting[0].name);
    assert!(!scheduling.rejections.is_empty());
}

#[test]
fn a_story_holds_at_every_step() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: true });
    let mut held = Vec::new();
    for _ in 0..6 {
        for _ in 0..200 {
            page.pass(100);
            if page.last().story.as_ref().is_some_and(|s| s.holding) {
                break;
            }
        }
        let story = page.last().story.clone().unwrap();
        assert_eq!((story.holding, page.last().clock.state), (true, ClockState::Holding));
        held.push(story.step);
        let before = page.last().clock.now;
        page.pass(500);
        assert_eq!(page.last().clock.now, before);
        page.send(ToWorld::Story(StoryCommand::Next));
    }
    assert_eq!(held, super::STEPS);
    page.pass(500);
    assert_eq!(page.last().story, None);
}

#[test]
fn the_terminal_runs_kubectl_and_stops_it() {
    let mut page = booted();
    page.send(ToWorld::Command { id: 1, text: "kubectl get nodes | head -2\n".into() });
    page.pass(1000);
    assert!(page.heard.contains(&ToPage::Exit { id: 1, code: 0 }), "{:?}", page.heard);
    assert!(page.output().starts_with("NAME     STATUS"), "{}", page.output());
    page.send(ToWorld::Command { id: 2, text: "cat <<E\n".into() });
    page.pass(20);
    assert!(page.heard.contains(&ToPage::Incomplete { id: 2 }));
    page.send(ToWorld::Command { id: 3, text: "kubectl get pods -A -w\n".into() });
    page.pass(1000);
    page.send(ToWorld::Interrupt { id: 3 });
    page.pass(100);
    assert!(page.heard.contains(&ToPage::Exit { id: 3, code: 130 }));
    page.send(ToWorld::Command { id: 4, text: "help | grep -c -E ' cluster | kubectl | vi '\n".into() });
    page.pass(300);
    assert!(page.output().ends_with("2\n") || page.output().ends_with("3\n"), "{}", page.output());
}

#[test]
fn a_shell_in_a_container_is_typed_into() {
    let mut page = booted();
    page.send(ToWorld::Command { id: 1, text: "kubectl run web --image=nginx\n".into() });
    page.pass(8000);
    // Nothing else was written, and the prompt waits for a line.
    let said = |page: &mut Page| {
        let said = page.output();
        page.heard.clear();
        said
    };
    said(&mut page);
    page.send(ToWorld::Command { id: 2, text: "kubectl exec -it web -- bash\n".into() });
    page.pass(1000);
    assert_eq!(said(&mut page), "root@web:/# ");
    let mut type_in = |text: &str| {
        page.send(match text {
            "^C" => ToWorld::Interrupt { id: 2 },
            "^D" => ToWorld::Stdin { id: 2, text: String::new() },
            text => ToWorld::Stdin { id: 2, text: text.into() },
        });
        page.pass(1000);
        let ended = page.heard.iter().any(|m| matches!(m, ToPage::Exit { .. }));
        (said(&mut page), ended)
    };
    assert_eq!(type_in("sleep 100\n"), (String::new(), false));
    assert_eq!(type_in("^C"), ("\r\nroot@web:/# ".into(), false));
    assert_eq!(type_in("cat\n"), (String::new(), false));
    assert_eq!(type_in("one\n"), ("one\r\n".into(), false));
    assert_eq!(type_in("^D"), ("root@web:/# ".into(), false));
    assert_eq!(type_in("^D"), ("exit\r\n".into(), true));
    page.send(ToWorld::Command { id: 3, text: "echo $?; nope\n".into() });
    page.pass(200);
    assert_eq!(page.output(), "0\n");
    let complaint = |m: &ToPage| matches!(m, ToPage::Output { stream: Stream::Err, text, .. } if text == "bash: nope: command not found\n");
    assert!(page.heard.iter().any(complaint), "{:?}", page.heard);
    // Where the other side is silent, a second Ctrl+C leaves it.
    page.send(ToWorld::Command { id: 4, text: "kubectl exec -it web -- sh\n".into() });
    page.pass(1000);
    page.send(ToWorld::Fault { line: "cluster stop node-1".into() });
    page.send(ToWorld::Fault { line: "cluster stop node-2".into() });
    page.send(ToWorld::Fault { line: "cluster stop node-3".into() });
    page.send(ToWorld::Interrupt { id: 4 });
    page.pass(1000);
    page.send(ToWorld::Interrupt { id: 4 });
    page.pass(200);
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Exit { id: 4, code: 130 })), "{:?}", page.heard);
}

#[test]
fn the_page_is_told_who_waits_for_what_is_typed() {
    let mut page = booted();
    let at = |page: &Page, wanted: &ToPage| page.heard.iter().position(|m| m == wanted);
    page.send(ToWorld::Command { id: 1, text: "true && read x; echo got $x; sleep 1\n".into() });
    page.pass(200);
    assert!(at(&page, &ToPage::Reading { id: 1, waits: true }).is_some(), "{:?}", page.heard);
    page.send(ToWorld::Stdin { id: 1, text: "a\necho b\n".into() });
    page.pass(200);
    assert_eq!(page.output(), "got a\n");
    assert!(at(&page, &ToPage::Reading { id: 1, waits: false }).is_some(), "{:?}", page.heard);
    page.pass(2000);
    let unread = at(&page, &ToPage::Unread { id: 1, text: "echo b\n".into() });
    assert!(unread.is_some() && unread < at(&page, &ToPage::Exit { id: 1, code: 0 }), "{:?}", page.heard);
    page.send(ToWorld::Command { id: 2, text: "echo one | cat; if true; then cat > f; fi; wc -l < f\n".into() });
    page.pass(200);
    assert!(at(&page, &ToPage::Reading { id: 2, waits: true }).is_some(), "{:?}", page.heard);
    page.send(ToWorld::Stdin { id: 2, text: "a\nb\n".into() });
    page.send(ToWorld::Stdin { id: 2, text: String::new() });
    page.pass(200);
    assert!(page.output().ends_with("2\n"), "{}", page.output());
    assert!(at(&page, &ToPage::Exit { id: 2, code: 0 }).is_some(), "{:?}", page.heard);
}

#[test]
fn a_node_that_fell_silent_is_waited_for() {
    let mut page = booted();
    page.send(ToWorld::Fault { line: "cluster stop node-1".into() });
    page.pass(3000);
    let timer = |page: &Page| page.session.observer.timers(&page.session.world).iter().any(super::timers::is_awaited);
    assert!(timer(&page) && !page.session.settled());
    page.send(ToWorld::Fault { line: "cluster start node-1".into() });
    page.pass(30_000);
    assert!(page.session.settled());
    page.send(ToWorld::Fault { line: "cluster cut node-2/kubelet kube-apiserver".into() });
    page.pass(3000);
    assert!(timer(&page) && !page.session.settled());
}

#[test]
fn a_pod_is_run_and_attached_to() {
    let mut page = booted();
    let text = "kubectl run -it --rm box --image=busybox --restart=Never\n";
    page.send(ToWorld::Command { id: 1, text: text.into() });
    page.pass(8000);
    assert_eq!(page.output(), "\r/ # ");
    let told = page.heard.iter().any(|m| matches!(m, ToPage::Output { stream: Stream::Err, text, .. } if text.ends_with("If you don't see a command prompt, try pressing enter.\n")));
    assert!(told, "{:?}", page.heard);
    page.heard.clear();
    page.send(ToWorld::Stdin { id: 1, text: "exit\n".into() });
    page.pass(8000);
    let ended = "Session ended, resume using 'kubectl attach box -c box -n default -i -t' command\n\
                 pod \"box\" deleted from default namespace\n";
    assert_eq!(page.output(), ended);
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Exit { id: 1, code: 0 })), "{:?}", page.heard);
}

#[test]
fn a_short_name_is_completed_to_what_it_stands_for() {
    let mut page = booted();
    let first = |page: &mut Page, line: &str| {
        page.send(ToWorld::Complete { id: 9, line: line.into(), cursor: line.len() as u32 });
        page.pass(20);
        let found = page.heard.drain(..).find_map(|m| match m {
            ToPage::Completions(answer) => Some(answer.candidates),
            _ => None,
        });
        found.and_then(|all| all.first().map(|c| c.text.clone())).unwrap_or_default()
    };
    assert_eq!(first(&mut page, "kubectl get po"), "pods");
    assert_eq!(first(&mut page, "kubectl get pod"), "podcertificaterequests");
    assert_eq!(first(&mut page, "kubectl get s"), "secrets");
    // What an alias stands for is completed as that.
    page.send(ToWorld::Command { id: 1, text: "alias k=kubectl kgp='k get pods' loop='loop again'\n".into() });
    page.pass(100);
    assert_eq!(first(&mut page, "k get po"), "pods");
    assert_eq!(first(&mut page, "kgp --sel"), "--selector=");
    assert_eq!((first(&mut page, "kg"), first(&mut page, "loop a")), ("kgp".into(), String::new()));
}

#[test]
fn logs_of_a_node_that_cannot_be_reached() {
    let mut page = booted();
    page.send(ToWorld::Command { id: 1, text: "kubectl run web --image=nginx\n".into() });
    page.pass(8000);
    for node in ["node-1", "node-2", "node-3"] {
        page.send(ToWorld::Fault { line: format!("cluster cut {node}") });
    }
    page.heard.clear();
    let text = "kubectl logs web; kubectl exec web -- date\n";
    page.send(ToWorld::Command { id: 2, text: text.into() });
    page.pass(70_000);
    let said: String = page
        .heard
        .iter()
        .filter_map(|m| match m {
            ToPage::Output { stream: Stream::Err, text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    // What Go's errors become that are no Status (ErrorToAPIStatus): no reason.
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("Error from server: Get \"https://172.18.0."), "{said}");
    assert!(lines[0].ends_with(":10250: i/o timeout"), "{said}");
    // A connection that is not upgraded says so, whatever the reason (spdy's roundtripper.go).
    let upgrade = "error: unable to upgrade connection: error dialing backend: dial tcp 172.18.0.";
    assert!(lines[1].starts_with(upgrade), "{said}");
}

#[test]
fn a_pod_that_fits_nowhere_says_why() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: HUGE.into(), story: false });
    page.pass(2000);
    let object = ObjectRef { kind: "Pod".into(), namespace: "default".into(), name: "huge".into() };
    let looks =
        [InspectorTab::Why, InspectorTab::Describe, InspectorTab::Yaml, InspectorTab::Summary, InspectorTab::Events];
    for tab in looks {
        page.send(ToWorld::Select(Some(Selection { subject: Subject::Object(object.clone()), tab })));
        page.pass(40);
    }
    let bodies: Vec<&InspectorBody> = page
        .heard
        .iter()
        .filter_map(|m| match m {
            ToPage::Inspector(i) => Some(&i.body),
            _ => None,
        })
        .collect();
    let InspectorBody::Why(why) = bodies[0] else { panic!("{:?}", bodies[0]) };
    let table = why.scheduling.as_ref().unwrap();
    assert!(table.message.starts_with("0/3 nodes are available"), "{}", table.message);
    assert_eq!(table.nodes.len(), 3);
    assert!(matches!(why.causes.first().unwrap().what, view::CauseKind::Command { .. }), "{:?}", why.causes);
    assert!(!why.remedies.is_empty());
    assert!(bodies.iter().any(|b| matches!(b, InspectorBody::Describe(t) if t.contains("FailedScheduling"))));
    assert!(bodies.iter().any(|b| matches!(b, InspectorBody::Yaml { text, .. } if text.contains("kind: Pod"))));
}

#[test]
fn a_broken_manifest_is_refused_at_its_line_and_changes_nothing() {
    let mut page = booted();
    let text = WEB.replace("replicas: 3", "replica: 3");
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Check, text: text.clone(), story: false });
    page.pass(20);
    page.send(ToWorld::Manifest { id: 2, action: ManifestAction::Apply, text, story: false });
    page.pass(2000);
    let results: Vec<_> = page
        .heard
        .iter()
        .filter_map(|m| match m {
            ToPage::Manifest(r) => Some(r),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 2);
    for result in &results {
        assert_eq!(result.problems.first().map(|p| p.line), Some(8), "{result:?}");
        assert!(result.problems[0].message.contains("unknown field \"spec.replica\""), "{result:?}");
        assert_eq!(result.problems[0].suggestion.as_deref(), Some("replicas"), "{result:?}");
    }
    assert!(page.frames.iter().all(|f| f.workloads.is_empty()));
}

#[test]
fn any_text_gets_an_answer() {
    let mut page = booted();
    for (id, text) in
        ["", "{", "\t", "a: b: c", "- 1", "kind: Pod", "apiVersion: v1\nkind: Pod\nspec: 3\n", "\u{0}", "가: 나"]
            .iter()
            .enumerate()
    {
        for action in [ManifestAction::Check, ManifestAction::Apply] {
            page.send(ToWorld::Manifest { id: id as u32, action, text: (*text).into(), story: false });
            page.pass(400);
        }
    }
    let answers = page.heard.iter().filter(|m| matches!(m, ToPage::Manifest(_))).count();
    assert_eq!(answers, 18);
}

#[test]
fn logs_requests_and_events_are_told_while_open() {
    let mut page = booted();
    page.send(ToWorld::Subscribe(Subscription { logs: true, events: true, requests: true, ..Subscription::default() }));
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    page.pass(4000);
    let logs = page.heard.iter().filter_map(|m| match m {
        ToPage::Logs(l) => Some(l.lines.len()),
        _ => None,
    });
    assert!(logs.sum::<usize>() > 5);
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Events(e) if e.iter().any(|e| e.reason == "Scheduled"))));
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Requests(r) if r.iter().any(|r| r.verb == "create"))));
}

#[test]
fn time_stops_runs_and_settles() {
    let mut page = booted();
    page.send(ToWorld::Pace(Pace::Pause));
    page.pass(100);
    let now = page.last().clock.now;
    page.pass(1000);
    assert_eq!(page.last().clock.now, now);
    page.send(ToWorld::Pace(Pace::Run));
    page.send(ToWorld::Pace(Pace::Speed(10_000)));
    page.pass(1000);
    let passed = page.last().clock.now - now;
    assert!((8_000_000_000..12_000_000_000).contains(&passed), "{passed}");
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    page.send(ToWorld::Pace(Pace::UntilSettled));
    page.pass(400);
    assert!(page.last().clock.settled);
    page.send(ToWorld::Fault { line: "cluster stop node-2".into() });
    page.send(ToWorld::Fault { line: "cluster stop nonsense".into() });
    page.pass(4000);
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Notice { text } if text.contains("nonsense"))));
    assert!(
        page.frames
            .iter()
            .filter_map(|f| f.faults.as_ref())
            .any(|f| f.len() == 1 && f[0].end_line == "cluster start node-2")
    );
}

#[test]
fn a_speed_that_is_not_reached_is_told() {
    let mut page = booted();
    page.pass(1000);
    assert_eq!((page.last().clock.state, page.last().clock.reached_milli), (ClockState::Running, 0));
    page.send(ToWorld::Pace(Pace::Speed(1_000_000)));
    // A machine that has time for 20 steps in each slice.
    for _ in 0..150 {
        page.wall += 20_000;
        let mut left = 20;
        let mut more = || {
            left -= 1;
            left >= 0
        };
        for message in page.session.poll(page.wall, &mut more) {
            if let ToPage::Frame(frame) = message {
                page.session.receive(ToWorld::FrameSeen { number: frame.number });
                page.frames.push(*frame);
            }
        }
    }
    let clock = page.last().clock;
    assert_eq!(clock.state, ClockState::Behind);
    assert!(clock.reached_milli > 0 && clock.reached_milli < 1_000_000, "{clock:?}");
    page.send(ToWorld::Pace(Pace::Speed(1000)));
    page.pass(1000);
    assert_eq!(page.last().clock.reached_milli, 0);
}

#[test]
fn what_a_loop_made_is_not_yet_ready() {
    let mut page = booted();
    page.send(ToWorld::Command {
        id: 1,
        text: "kubectl create deployment big --image=nginx:1.27 --replicas=2\n".into(),
    });
    page.send(ToWorld::Fault { line: "cluster stop kube-scheduler".into() });
    page.pass(3000);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.clone()).unwrap();
    for name in ["deployment", "replicaset"] {
        let row = plane.loops.iter().find(|l| l.name == name).unwrap();
        assert_eq!((row.wanted_actual, row.ready), (Some((2, 2)), Some(0)), "{name}");
    }
    page.send(ToWorld::Fault { line: "cluster restore".into() });
    page.pass(30_000);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.clone()).unwrap();
    assert_eq!(plane.loops.iter().find(|l| l.name == "deployment").unwrap().ready, Some(2));
}

#[test]
fn what_is_to_come_is_named() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: CRASH.into(), story: false });
    page.pass(60_000);
    let named =
        |wanted: &dyn Fn(&TimerKind) -> bool| page.frames.iter().flat_map(|f| &f.timers).any(|t| wanted(&t.what));
    assert!(named(&|t| matches!(t, TimerKind::ImagePulled { image, .. } if image.contains("busybox"))));
    assert!(named(&|t| matches!(t, TimerKind::RestartBackOff { .. })));
    page.send(ToWorld::Fault { line: "cluster kill kube-scheduler".into() });
    page.pass(8000);
    let timers = &page.last().timers;
    let expires =
        |t: &&view::TimerView| matches!(&t.what, TimerKind::LeaseExpires { lease } if lease == "kube-scheduler");
    assert!(timers.iter().any(|t| expires(&t)), "{timers:?}");
    assert!(timers.is_sorted_by_key(|t| t.at));
}

#[test]
fn skipped_loops_are_counted_and_lose_nothing() {
    let mut page = booted();
    page.send(ToWorld::Fault { line: "cluster skip replicaset 50%".into() });
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    page.pass(10_000);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.as_ref()).unwrap();
    assert_eq!(plane.loops.iter().find(|l| l.name == "replicaset").map(|l| l.skip_percent), Some(50));
    let workload = page.frames.iter().rev().flat_map(|f| &f.workloads).find(|w| w.name == "web").unwrap();
    assert_eq!(workload.ready, 3);
    let subject = Subject::Loop { name: "replicaset".into() };
    page.send(ToWorld::Select(Some(Selection { subject, tab: InspectorTab::Why })));
    page.pass(40);
    let why = page.heard.iter().find_map(|m| match m {
        ToPage::Inspector(i) => match &i.body {
            InspectorBody::Why(why) => why.control_loop.clone(),
            _ => None,
        },
        _ => None,
    });
    let state = why.unwrap();
    assert_eq!(state.skip_percent, 50);
    assert!(state.skipped > 0, "{state:?}");
    assert!(state.runs.iter().any(|r| r.key == "default/web-5487f79886" && r.at > 0), "{:?}", state.runs);
}

#[test]
fn a_node_short_of_memory_says_so_and_evicts() {
    let mut page = booted();
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    page.pass(6000);
    for node in 1..=3 {
        page.send(ToWorld::Fault { line: format!("cluster fill node-{node} memory 99%") });
    }
    page.send(ToWorld::Subscribe(Subscription { events: true, ..Subscription::default() }));
    page.pass(40_000);
    let pressed = |n: &view::NodeView| n.pressures == ["MemoryPressure"];
    assert!(page.frames.iter().flat_map(|f| &f.nodes).any(pressed));
    let evicted = |e: &view::EventRow| {
        e.reason == "Evicted"
            && e.message.starts_with("The node was low on resource: memory. Threshold quantity: 100Mi, available: ")
    };
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Events(rows) if rows.iter().any(evicted))));
}

#[test]
fn a_slow_disk_is_seen_at_its_member() {
    let mut page = booted();
    page.send(ToWorld::Fault { line: "cluster slow etcd disk 20ms".into() });
    page.pass(12_000);
    let plane = page.frames.iter().rev().find_map(|f| f.control_plane.as_ref()).unwrap();
    assert_eq!(plane.etcd[0].fsync_micros, 20_000);
}

#[test]
fn looking_changes_nothing() {
    let run = |look: bool| {
        let mut page = booted();
        if look {
            page.send(ToWorld::Subscribe(Subscription {
                logs: true,
                events: true,
                requests: true,
                ..Subscription::default()
            }));
            page.send(ToWorld::Complete { id: 1, line: "kubectl get p".into(), cursor: 13 });
        }
        page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
        page.pass(3000);
        let sim = page.session.world.sim();
        (sim.now(), sim.polls(), page.session.observer.revision(&page.session.world))
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_component_started_while_it_stops_comes_back() {
    let mut page = booted();
    for lines in
        [["cluster stop etcd", "cluster restore"], ["cluster stop kube-scheduler", "cluster start kube-scheduler"]]
    {
        for line in lines {
            page.send(ToWorld::Fault { line: line.into() });
        }
        page.pass(5_000);
        let faults = page.frames.iter().rev().find_map(|f| f.faults.as_ref());
        assert!(faults.is_none_or(|f| f.is_empty()), "{faults:?}");
    }
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: WEB.into(), story: false });
    // The lease of the scheduler that was cut short has to run out first.
    page.pass(30_000);
    let workload = page.frames.iter().rev().flat_map(|f| &f.workloads).find(|w| w.name == "web").unwrap();
    assert_eq!(workload.ready, 3);
}

/// `vi` and `kubectl edit` open the page's editor; what the reader saves is what the server gets.
#[test]
fn files_are_edited_in_the_page() {
    let mut page = booted();
    let opened = |page: &Page| match page.heard.iter().rev().find(|m| matches!(m, ToPage::Edit { .. })) {
        Some(ToPage::Edit { id, path, text }) => (*id, path.clone(), text.clone()),
        _ => (0, String::new(), String::new()),
    };
    page.send(ToWorld::Command { id: 1, text: "vi notes.txt; cat notes.txt\n".into() });
    page.pass(400);
    assert_eq!(opened(&page), (1, "/home/reader/notes.txt".into(), String::new()));
    page.send(ToWorld::Edited { id: 1, text: Some("hello\n".into()) });
    page.pass(400);
    assert!(page.output().ends_with("hello\n"), "{}", page.output());

    page.send(ToWorld::Command { id: 2, text: "kubectl create deployment web --image=nginx\n".into() });
    page.pass(1500);
    page.send(ToWorld::Command { id: 3, text: "kubectl edit deployment web\n".into() });
    page.pass(600);
    let (id, path, text) = opened(&page);
    assert!(id == 3 && path.starts_with("/tmp/kubectl-edit-") && text.contains("replicas: 1\n"), "{path}:\n{text}");
    page.send(ToWorld::Edited { id: 3, text: Some(text.replace("replicas: 1\n", "replicas: 2\n")) });
    page.pass(1500);
    assert!(page.output().contains("deployment.apps/web edited\n"), "{}", page.output());

    page.send(ToWorld::Command { id: 4, text: "kubectl edit deployment web\n".into() });
    page.pass(600);
    assert!(opened(&page).2.contains("replicas: 2\n"));
    page.send(ToWorld::Edited { id: 4, text: None });
    page.pass(600);
    assert!(page.heard.contains(&ToPage::Exit { id: 4, code: 0 }));
    page.send(ToWorld::Command { id: 5, text: "vi\n".into() });
    page.send(ToWorld::Command { id: 6, text: "vi x\n".into() });
    page.pass(600);
    page.send(ToWorld::Interrupt { id: 6 });
    page.pass(600);
    assert!(page.heard.contains(&ToPage::Exit { id: 6, code: 130 }));
}

#[test]
fn a_clock_that_is_held_is_told_of_once() {
    let mut page = booted();
    page.send(ToWorld::Pace(Pace::Pause));
    page.pass(200);
    let told = page.frames.len();
    page.pass(2000);
    assert_eq!(page.frames.len(), told);
    assert_eq!(page.last().clock.state, ClockState::Paused);
    page.send(ToWorld::Pace(Pace::Step));
    page.pass(200);
    assert!(page.frames.len() > told);
}
