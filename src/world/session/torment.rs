//! Any text in the editor or the terminal gets an answer: texts broken at random, the same ones in every run.

use super::manifest;
use super::tests::{Page, booted};
use sim::Rng;
use view::{InspectorTab, ManifestAction, ObjectRef, Selection, Subject, ToPage, ToWorld};

const MANIFESTS: [&str; 8] = [
    include_str!("../../page/examples/counter.yaml"),
    include_str!("../../page/examples/crash.yaml"),
    include_str!("../../page/examples/deployment.yaml"),
    include_str!("../../page/examples/huge.yaml"),
    include_str!("../../page/examples/image.yaml"),
    include_str!("../../page/examples/init.yaml"),
    include_str!("../../page/examples/service.yaml"),
    include_str!("../../page/examples/spread.yaml"),
];

/// What hides mistakes: YAML's signs, numbers at their ends, other scripts, nesting.
const PIECES: [&str; 44] = [
    "\n",
    "  ",
    "\t",
    "- ",
    ": ",
    "---\n",
    "...\n",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "!!binary ",
    "<<: ",
    "{",
    "}",
    "[",
    "]",
    "'",
    "\"",
    "\\",
    "#",
    "%",
    "@",
    "`",
    "~",
    "null",
    "true",
    "0x7f",
    "1e999",
    "-1",
    "9223372036854775808",
    "2147483648",
    "1Ei",
    "0.0000000001",
    "100m",
    "\u{0}",
    "\u{feff}",
    "가",
    "💥",
    "é",
    "metadata:",
    "spec:",
    "name:",
    "a: b: c",
];

const WORDS: [&str; 76] = [
    "kubectl",
    "get",
    "describe",
    "apply",
    "create",
    "delete",
    "scale",
    "rollout",
    "set",
    "label",
    "annotate",
    "taint",
    "cordon",
    "drain",
    "logs",
    "exec",
    "run",
    "expose",
    "patch",
    "wait",
    "events",
    "explain",
    "api-resources",
    "version",
    "diff",
    "auth",
    "pods",
    "po/x",
    "deploy",
    "deployment/web",
    "nodes",
    "node-1",
    "svc",
    "all",
    "rs",
    "cm",
    "web",
    "-o",
    "json",
    "yaml",
    "wide",
    "name",
    "jsonpath={.items[*].metadata.name}",
    "jsonpath={",
    "custom-columns=A:.metadata.name",
    "-l",
    "app=web",
    "app in (",
    "--field-selector",
    "status.phase=",
    "-n",
    "-A",
    "-f",
    "-",
    "/dev/null",
    "--replicas",
    "3",
    "-1",
    "--image=nginx",
    "--",
    "sh",
    "-c",
    "'",
    "\"",
    "|",
    "&&",
    ";",
    "<<E",
    "$(",
    "$((1/0))",
    "`",
    ">",
    "{}",
    "&",
    "cluster",
    "status",
];

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    let count = u32::try_from(from.len()).unwrap_or(1).max(1);
    from.get(rng.below(count) as usize).copied().unwrap_or_default()
}

/// A text with some of its characters taken, doubled, moved or put in.
fn broken(rng: &mut Rng, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=rng.below(6) {
        let at = |rng: &mut Rng, chars: &[char]| rng.below(u32::try_from(chars.len() + 1).unwrap_or(1)) as usize;
        let (from, to) = (at(rng, &chars), at(rng, &chars));
        let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 40));
        match rng.below(4) {
            0 => drop(chars.drain(from..to)),
            1 => {
                let part: Vec<char> = chars.get(from..to).unwrap_or_default().to_vec();
                chars.splice(to..to, part);
            }
            2 => drop(chars.splice(from..from, pick(rng, &PIECES).chars())),
            _ => drop(chars.splice(from..to, pick(rng, &PIECES).chars())),
        }
    }
    chars.into_iter().collect()
}

fn answers(page: &Page) -> usize {
    page.heard.iter().filter(|m| matches!(m, ToPage::Manifest(_))).count()
}

#[test]
fn the_editors_check_answers_any_text() {
    let mut rng = Rng::split(1, "check");
    for round in 0..4_000 {
        let from = pick(&mut rng, &MANIFESTS);
        let text = broken(&mut rng, from);
        let result = manifest::check(round, &text);
        let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
        for problem in &result.problems {
            assert!(problem.line <= lines.saturating_add(1), "{problem:?} in {text:?}");
            assert!(!problem.message.is_empty(), "{text:?}");
        }
    }
}

#[test]
fn whatever_is_applied_gets_an_answer() {
    let (mut page, mut rng) = (booted(), Rng::split(2, "apply"));
    for id in 0..120u32 {
        let from = pick(&mut rng, &MANIFESTS);
        let text = broken(&mut rng, from);
        let action = [ManifestAction::Apply, ManifestAction::Diff, ManifestAction::Delete][id as usize % 3];
        page.send(ToWorld::Manifest { id, action, text: text.clone(), story: false });
        for _ in 0..600 {
            page.pass(100);
            if answers(&page) > id as usize {
                break;
            }
        }
        assert_eq!(answers(&page), id as usize + 1, "no answer to {text:?}");
    }
}

#[test]
fn whatever_is_typed_ends() {
    let (mut page, mut rng) = (booted(), Rng::split(3, "type"));
    for id in 0..150u32 {
        let mut line = if rng.chance(0.7) { "kubectl".to_string() } else { String::new() };
        for _ in 0..=rng.below(7) {
            let piece = if rng.chance(0.1) { pick(&mut rng, &PIECES) } else { pick(&mut rng, &WORDS) };
            line.push(' ');
            line.push_str(piece);
        }
        let cursor = line.char_indices().map(|(i, _)| i).nth(rng.below(30) as usize).unwrap_or(line.len());
        let _ = page.session.terminal.complete(&page.session.world, id, &line, cursor);
        page.send(ToWorld::Command { id, text: format!("{line}\n") });
        let over = |m: &ToPage| {
            matches!(m, ToPage::Exit { id: i, .. } if *i == id) || matches!(m, ToPage::Incomplete { id: i } if *i == id)
        };
        for round in 0..60 {
            page.pass(100);
            if page.heard.iter().any(over) {
                break;
            }
            // Some wait for ever, as they should: for input, or for what is watched.
            if round == 20 {
                page.send(ToWorld::Stdin { id, text: String::new() });
            }
            if round == 30 {
                page.send(ToWorld::Interrupt { id });
            }
        }
        assert!(page.heard.iter().any(over), "{line:?} does not end");
    }
    page.send(ToWorld::Command { id: 1000, text: "kubectl get --raw /readyz\n".into() });
    page.pass(1000);
    assert!(page.heard.iter().any(|m| matches!(m, ToPage::Exit { id: 1000, code: 0 })), "{:?}", page.heard.last());
}

#[test]
fn whatever_is_selected_is_shown_or_not() {
    let (mut page, mut rng) = (booted(), Rng::split(4, "select"));
    page.send(ToWorld::Manifest { id: 1, action: ManifestAction::Apply, text: MANIFESTS[2].into(), story: false });
    page.pass(3000);
    let tabs = [
        InspectorTab::Why,
        InspectorTab::Summary,
        InspectorTab::Describe,
        InspectorTab::Yaml,
        InspectorTab::Events,
        InspectorTab::Logs,
    ];
    for _ in 0..300 {
        let name = if rng.chance(0.5) { pick(&mut rng, &PIECES) } else { pick(&mut rng, &WORDS) }.to_string();
        let subject = match rng.below(3) {
            0 => Subject::Component { name },
            1 => Subject::Loop { name },
            _ => {
                let kinds = ["Pod", "Node", "Deployment", "Secret", "Nothing", "", "CustomResourceDefinition"];
                let namespace = if rng.chance(0.5) { "default".to_string() } else { name.clone() };
                Subject::Object(ObjectRef { kind: pick(&mut rng, &kinds).into(), namespace, name })
            }
        };
        let tab = tabs[rng.below(6) as usize];
        page.send(ToWorld::Select(Some(Selection { subject, tab })));
        page.pass(20);
        let _ = page.heard.split_off(page.heard.len().min(10));
    }
}
