//! Messages, entries and work in etcd-io/raft's notation, for traces.

use super::ready::Ready;
use super::types::{ConfChange, Entry, EntryData, HardState, Message, NONE, NodeId, Payload, Snapshot};
use std::fmt::Write;

fn target(id: NodeId) -> String {
    if id == NONE { "None".into() } else { format!("{id:x}") }
}

/// `1/4 EntryNormal "foo"`
pub fn describe_entry<D: Payload>(e: &Entry<D>) -> String {
    match &e.data {
        EntryData::Empty => format!("{}/{} EntryNormal \"\"", e.term, e.index),
        EntryData::Normal(d) => format!("{}/{} EntryNormal {d:?}", e.term, e.index),
        EntryData::Conf(ConfChange::Add(id)) => format!("{}/{} EntryConfChange v{id}", e.term, e.index),
        EntryData::Conf(ConfChange::Remove(id)) => format!("{}/{} EntryConfChange r{id}", e.term, e.index),
    }
}

fn describe_snapshot(s: &Snapshot) -> String {
    let voters: Vec<String> = s.voters.iter().map(ToString::to_string).collect();
    format!(
        "Index:{} Term:{} ConfState:Voters:[{}] VotersOutgoing:[] Learners:[] LearnersNext:[] AutoLeave:false",
        s.index,
        s.term,
        voters.join(" ")
    )
}

fn describe_hard_state(h: &HardState) -> String {
    let vote = if h.vote == NONE { String::new() } else { format!(" Vote:{}", h.vote) };
    format!("Term:{}{vote} Commit:{}", h.term, h.commit)
}

/// `1->2 MsgApp Term:1 Log:1/3 Commit:3 Entries:[1/4 EntryNormal "foo"]`
pub fn describe_message<D: Payload>(m: &Message<D>) -> String {
    let mut out =
        format!("{}->{} {} Term:{} Log:{}/{}", target(m.from), target(m.to), m.kind, m.term, m.log_term, m.index);
    if m.reject {
        let _ = write!(out, " Rejected (Hint: {})", m.reject_hint);
    }
    if m.commit != 0 {
        let _ = write!(out, " Commit:{}", m.commit);
    }
    match m.entries.as_slice() {
        [] => {}
        [one] => {
            let _ = write!(out, " Entries:[{}]", describe_entry(one));
        }
        many => {
            out.push_str(" Entries:[");
            for entry in many {
                let _ = write!(out, "\n  {}", describe_entry(entry));
            }
            out.push_str("\n]");
        }
    }
    if let Some(snapshot) = &m.snapshot {
        let _ = write!(out, "\n  Snapshot: {}", describe_snapshot(snapshot));
    }
    out
}

/// The whole of a [`Ready`], a line for each thing.
pub fn describe_ready<D: Payload>(rd: &Ready<D>) -> String {
    let mut out = String::new();
    if let Some(soft) = rd.soft_state {
        let _ = writeln!(out, "Lead:{} State:{}", soft.lead, soft.role);
    }
    if let Some(hard) = &rd.hard_state {
        let _ = writeln!(out, "HardState {}", describe_hard_state(hard));
    }
    if !rd.read_states.is_empty() {
        let states: Vec<String> = rd.read_states.iter().map(|s| format!("{{{} {}}}", s.index, s.context)).collect();
        let _ = writeln!(out, "ReadStates [{}]", states.join(" "));
    }
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "{name}:\n{}", lines.join("\n"));
        }
    };
    section("Entries", rd.entries.iter().map(describe_entry).collect());
    if let Some(snapshot) = &rd.snapshot {
        let _ = writeln!(out, "Snapshot {}", describe_snapshot(snapshot));
    }
    let mut section = |name: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(out, "{name}:\n{}", lines.join("\n"));
        }
    };
    section("CommittedEntries", rd.committed_entries.iter().map(describe_entry).collect());
    section("Messages", rd.messages.iter().chain(&rd.messages_after_append).map(describe_message).collect());
    if out.is_empty() { "<empty Ready>".into() } else { format!("Ready MustSync={}:\n{out}", rd.must_sync) }
}
