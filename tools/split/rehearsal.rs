//! What a first visit asks of the world, as messages of the page: the start, a manifest applied and looked at.

use view::{
    InspectorTab, ManifestAction, ObjectRef, Pace, Selection, Start, StoryCommand, Subject, Subscription, ToWorld,
};

/// One step: a message, or so many milliseconds of the page's time.
pub enum Step {
    /// A message for the world.
    Send(Vec<u8>),
    /// Wall time that passes.
    Wait(u32),
}

const MANIFEST: &str = include_str!("../../src/page/examples/deployment.yaml");

/// How far apart the page takes in frames, milliseconds.
const FRAME_MS: u32 = 48;

/// The visits, each to a world of its own. They differ where chance and habit do.
pub fn first_visits() -> Vec<Vec<Step>> {
    // The page's own seed, its neighbours, and others of all sizes.
    (1..=4).chain((1..=12).map(|n: u64| n.pow(7) * 0x9E37_79B9)).map(first_visit).collect()
}

fn first_visit(seed: u64) -> Vec<Step> {
    let story = seed == 1;
    let mut visit = Visit::default();
    visit.send(&ToWorld::Start(Start { seed, ..Start::default() }));
    visit.send(&ToWorld::Subscribe(Subscription { logs: true, ..Subscription::default() }));
    visit.wait(3_000);
    visit.manifest(ManifestAction::Check, false);
    visit.manifest(ManifestAction::Apply, story);
    if story {
        for _ in 0..8 {
            visit.send(&ToWorld::Story(StoryCommand::Next));
            visit.wait(1_000);
        }
        visit.send(&ToWorld::Story(StoryCommand::Skip));
    }
    visit.wait(5_000);
    for line in ["get nodes", "get pods", "get deployments", "run one --image=nginx:1.27", "delete pod one"] {
        visit.send(&ToWorld::Subscribe(Subscription { events: true, requests: true, ..Subscription::default() }));
        visit.command(line);
        for subject in subjects() {
            for tab in [InspectorTab::Why, InspectorTab::Summary, InspectorTab::Events, InspectorTab::Logs] {
                visit.send(&ToWorld::Select(Some(Selection { subject: subject.clone(), tab })));
                visit.wait(100);
            }
        }
        visit.send(&ToWorld::Select(None));
    }
    // The same again changes nothing; then some quiet minutes.
    visit.manifest(ManifestAction::Apply, false);
    visit.send(&ToWorld::Pace(Pace::Speed(100_000)));
    visit.wait(6_000);
    visit.steps
}

fn subjects() -> Vec<Subject> {
    let object = |kind: &str, name: &str| {
        let namespace = if kind == "Node" { "" } else { "default" };
        Subject::Object(ObjectRef { kind: kind.into(), namespace: namespace.into(), name: name.into() })
    };
    vec![
        object("Pod", "one"),
        object("Deployment", "web"),
        object("Node", "node-1"),
        Subject::Component { name: "kube-scheduler-1".into() },
        Subject::Loop { name: "replicaset".into() },
    ]
}

#[derive(Default)]
struct Visit {
    steps: Vec<Step>,
    asked: u32,
    frames: u64,
}

impl Visit {
    fn send(&mut self, message: &ToWorld) {
        self.steps.push(Step::Send(view::encode(message)));
    }

    fn wait(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds.div_ceil(FRAME_MS) {
            self.steps.push(Step::Wait(FRAME_MS));
            self.frames += 1;
            self.send(&ToWorld::FrameSeen { number: self.frames });
        }
    }

    fn next(&mut self) -> u32 {
        self.asked += 1;
        self.asked
    }

    fn manifest(&mut self, action: ManifestAction, story: bool) {
        let id = self.next();
        self.send(&ToWorld::Manifest { id, action, text: MANIFEST.into(), story });
        self.wait(1_000);
    }

    fn command(&mut self, line: &str) {
        let id = self.next();
        self.send(&ToWorld::Command { id, text: format!("kubectl {line}\n") });
        self.wait(1_000);
    }
}
