//! The faults that each thing on the map offers, every one a line of the terminal's grammar.

use crate::lang::{Lang, Text};
use view::{ControlPlane, FaultView, NodeView, ProcessState};

/// An entry of a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its icon.
    pub icon: &'static str,
    /// What it does, in the reader's language.
    pub label: String,
    /// The command.
    pub line: String,
    /// It runs in the terminal rather than as a fault (`kubectl drain`).
    pub terminal: bool,
    /// A line is drawn above it.
    pub apart: bool,
}

const START: Text = Text { en: "Start", ko: "시작" };
const STOP: Text = Text { en: "Stop", ko: "정지" };
const KILL: Text = Text { en: "Kill", ko: "강제 종료" };
const CUT: Text = Text { en: "Cut off from everything", ko: "모든 연결 끊기" };
const CUT_PEERS: Text = Text { en: "Cut off from its peers", ko: "다른 멤버와 연결 끊기" };
const HEAL: Text = Text { en: "Heal its links", ko: "연결 되돌리기" };
const SLOW_LINK: Text = Text { en: "Slow its link to the API server", ko: "API 서버와의 연결 느리게" };
const SLOW_DISK: Text = Text { en: "Slow its disk", ko: "디스크 느리게" };
const FAST: Text = Text { en: "Back to full speed", ko: "원래 속도로 되돌리기" };
const POWER_ON: Text = Text { en: "Power back on", ko: "전원 다시 켜기" };
const POWER_OFF: Text = Text { en: "Power off", ko: "전원 끄기" };
const FILL_MEMORY: Text = Text { en: "Fill its memory", ko: "메모리 채우기" };
const FILL_DISK: Text = Text { en: "Fill its disk", ko: "디스크 채우기" };
const KILL_KUBELET: Text = Text { en: "Stop its kubelet", ko: "kubelet 정지" };
const START_KUBELET: Text = Text { en: "Start its kubelet", ko: "kubelet 시작" };
const DRAIN: Text = Text { en: "Drain", ko: "드레인" };
const CORDON: Text = Text { en: "Cordon", ko: "스케줄 제외" };
const UNCORDON: Text = Text { en: "Uncordon", ko: "스케줄 제외 해제" };
const SKIP: Text = Text { en: "Skip 30% of its runs", ko: "실행의 30% 건너뛰기" };
const UNSKIP: Text = Text { en: "Stop skipping", ko: "건너뛰기 끝내기" };

fn entry(lang: Lang, icon: &'static str, label: Text, line: String) -> Entry {
    Entry { icon, label: lang.of(label).to_string(), line, terminal: false, apart: false }
}

fn apart(mut entry: Entry) -> Entry {
    entry.apart = true;
    entry
}

fn standing<'a>(faults: &'a [FaultView], target: &'a str) -> impl Iterator<Item = &'a FaultView> {
    faults.iter().filter(move |f| f.target == target || f.target.split('/').next() == Some(target))
}

/// What a process offers: `kube-scheduler-1`, `etcd-2`.
pub fn of_process(lang: Lang, name: &str, state: ProcessState, peers: &[String], faults: &[FaultView]) -> Vec<Entry> {
    let mut out = Vec::new();
    if state == ProcessState::Stopped {
        out.push(entry(lang, "power", START, format!("cluster start {name}")));
    } else {
        out.push(entry(lang, "power", STOP, format!("cluster stop {name}")));
        out.push(entry(lang, "x", KILL, format!("cluster kill {name}")));
    }
    if has(faults, name, " cut ") || state == ProcessState::CutOff {
        out.push(apart(entry(lang, "check", HEAL, format!("cluster heal {name}"))));
    } else {
        out.push(apart(entry(lang, "cut", CUT, format!("cluster cut {name}"))));
        if let [peer] = peers {
            out.push(entry(lang, "cut", CUT_PEERS, format!("cluster cut {name} {peer}")));
        }
    }
    if name.starts_with("etcd") {
        out.push(apart(if has(faults, name, " disk ") {
            entry(lang, "check", FAST, format!("cluster slow {name} disk 0"))
        } else {
            entry(lang, "slow", SLOW_DISK, format!("cluster slow {name} disk 200ms"))
        }));
    }
    out
}

fn has(faults: &[FaultView], target: &str, word: &str) -> bool {
    standing(faults, target).any(|f| format!(" {} ", f.line).contains(word))
}

/// What a node offers.
pub fn of_node(lang: Lang, node: &NodeView, faults: &[FaultView]) -> Vec<Entry> {
    let name = &node.name;
    if node.machine == ProcessState::Stopped {
        return vec![entry(lang, "power", POWER_ON, format!("cluster start {name}"))];
    }
    let mut out = vec![entry(lang, "power", POWER_OFF, format!("cluster stop {name}"))];
    out.push(if node.kubelet == ProcessState::Stopped {
        entry(lang, "play", START_KUBELET, format!("cluster start {name}/kubelet"))
    } else {
        entry(lang, "x", KILL_KUBELET, format!("cluster stop {name}/kubelet"))
    });
    if has(faults, name, " cut ") || node.machine == ProcessState::CutOff {
        out.push(apart(entry(lang, "check", HEAL, format!("cluster heal {name}"))));
    } else {
        out.push(apart(entry(lang, "cut", CUT, format!("cluster cut {name}"))));
    }
    if has(faults, name, " slow ") {
        out.push(entry(lang, "check", FAST, format!("cluster slow {name} kube-apiserver 0")));
    } else {
        out.push(entry(lang, "slow", SLOW_LINK, format!("cluster slow {name} kube-apiserver 200ms")));
    }
    out.push(apart(entry(lang, "memory", FILL_MEMORY, format!("cluster fill {name} memory 95%"))));
    out.push(entry(lang, "disk", FILL_DISK, format!("cluster fill {name} disk 95%")));
    let mut kubectl = vec![if node.cordoned {
        entry(lang, "uncordon", UNCORDON, format!("kubectl uncordon {name}"))
    } else {
        entry(lang, "cordon", CORDON, format!("kubectl cordon {name}"))
    }];
    kubectl.push(entry(lang, "drain", DRAIN, format!("kubectl drain {name} --ignore-daemonsets")));
    for (i, mut item) in kubectl.into_iter().enumerate() {
        item.terminal = true;
        item.apart = i == 0;
        out.push(item);
    }
    out
}

/// What a controller's loop offers.
pub fn of_loop(lang: Lang, name: &str, skip_percent: u8) -> Vec<Entry> {
    if skip_percent > 0 {
        vec![entry(lang, "check", UNSKIP, format!("cluster skip {name} 0"))]
    } else {
        vec![entry(lang, "slow", SKIP, format!("cluster skip {name} 30%"))]
    }
}

/// The processes of a card, by the card's name on the map.
pub fn processes<'a>(plane: &'a ControlPlane, card: &str) -> Vec<&'a view::ProcessView> {
    match card {
        "etcd" => plane.etcd.iter().map(|m| &m.process).collect(),
        "kube-apiserver" => plane.api_servers.iter().map(|a| &a.process).collect(),
        "kube-controller-manager" => plane.controller_managers.iter().collect(),
        "kube-scheduler" => plane.schedulers.iter().collect(),
        "cloud-controller-manager" => plane.cloud_controller_managers.iter().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(entries: Vec<Entry>) -> Vec<String> {
        entries.into_iter().map(|e| e.line).collect()
    }

    #[test]
    fn a_stopped_thing_can_be_started_and_a_running_one_stopped() {
        let of = |state| lines(of_process(Lang::En, "kube-scheduler-1", state, &[], &[]));
        assert_eq!(of(ProcessState::Stopped)[0], "cluster start kube-scheduler-1");
        assert_eq!(of(ProcessState::Running)[..2], ["cluster stop kube-scheduler-1", "cluster kill kube-scheduler-1"]);
        let node = NodeView { name: "node-2".into(), machine: ProcessState::Stopped, ..NodeView::default() };
        assert_eq!(lines(of_node(Lang::Ko, &node, &[])), ["cluster start node-2"]);
    }

    #[test]
    fn no_two_entries_of_a_menu_look_alike() {
        for kubelet in [ProcessState::Running, ProcessState::Stopped] {
            let machine = ProcessState::Running;
            let node = NodeView { name: "node-1".into(), machine, kubelet, ..NodeView::default() };
            let entries = of_node(Lang::En, &node, &[]);
            let icons: std::collections::BTreeSet<&str> = entries.iter().map(|e| e.icon).collect();
            assert_eq!(icons.len(), entries.len(), "{entries:?}");
        }
    }

    #[test]
    fn a_fault_that_stands_can_be_ended() {
        let fault = FaultView {
            target: "etcd-1".into(),
            line: "cluster slow etcd-1 disk 200ms".into(),
            end_line: "cluster slow etcd-1 disk 0".into(),
            since: 0,
        };
        let entries = lines(of_process(Lang::En, "etcd-1", ProcessState::Running, &[], &[fault]));
        assert!(entries.contains(&"cluster slow etcd-1 disk 0".to_string()));
        assert_eq!(lines(of_loop(Lang::En, "replicaset", 30)), ["cluster skip replicaset 0"]);
    }
}
