//! Random schedules: messages lost, doubled and out of order, crashes that lose what was not persisted, snapshots,
//! members added and removed. Held at every step: one leader a term, and no two members apply different entries at the
//! same index.

use super::*;
use sim::Rng;
use std::collections::BTreeMap;
use std::rc::Rc;

type D = Rc<str>;

/// What survives a crash.
#[derive(Clone)]
struct Disk {
    state: HardState,
    snapshot: Snapshot,
    entries: Vec<Entry<D>>,
}

impl Disk {
    fn save(&mut self, ready: &Ready<D>) {
        if let Some(snapshot) = &ready.snapshot {
            self.snapshot = snapshot.clone();
            self.entries.clear();
        }
        if let Some(first) = ready.entries.first() {
            self.entries.retain(|e| e.index < first.index);
            self.entries.extend(ready.entries.iter().cloned());
        }
        self.state = ready.hard_state.unwrap_or(self.state);
    }
    fn compact(&mut self, snapshot: Snapshot) {
        self.entries.retain(|e| e.index > snapshot.index);
        self.snapshot = snapshot;
    }
}

struct Node {
    raft: Raft<D>,
    disk: Disk,
    applied: u64,
    voters: Vec<NodeId>,
}

struct Group {
    rng: Rng,
    nodes: BTreeMap<NodeId, Node>,
    wire: Vec<Message<D>>,
    /// What was applied at each index, by whoever came first.
    applied: BTreeMap<u64, String>,
    /// The voters after each applied index.
    voters_at: BTreeMap<u64, Vec<NodeId>>,
    leaders: BTreeMap<u64, NodeId>,
    proposed: u32,
}

fn start(id: NodeId, disk: &Disk, seed: u32) -> Raft<D> {
    let mut rng = Rng::split(u64::from(seed), "timeouts");
    let config = Config {
        id,
        election_tick: 10,
        heartbeat_tick: 1,
        max_size_per_msg: 60,
        max_committed_size_per_ready: 100,
        max_uncommitted_size: 1 << 20,
        max_inflight_msgs: 3,
        max_inflight_bytes: u64::MAX,
        check_quorum: true,
        pre_vote: true,
        log_level: Level::Error,
        random: Box::new(move |n| rng.below(n)),
    };
    Raft::new(config, disk.state, disk.snapshot.clone(), disk.entries.clone(), disk.snapshot.index)
        .expect("what was persisted is sound")
}

impl Group {
    fn new(seed: u64, size: u64) -> Self {
        let voters: Vec<NodeId> = (1..=size).collect();
        let snapshot = Snapshot { index: 1, term: 1, voters: voters.clone(), data: None };
        let disk = Disk { state: HardState { term: 1, vote: NONE, commit: 1 }, snapshot, entries: Vec::new() };
        let nodes = voters
            .iter()
            .map(|&id| {
                let node = Node {
                    raft: start(id, &disk, seed as u32 + id as u32),
                    disk: disk.clone(),
                    applied: 1,
                    voters: voters.clone(),
                };
                (id, node)
            })
            .collect();
        Self {
            rng: Rng::split(seed, "chaos"),
            nodes,
            wire: Vec::new(),
            applied: BTreeMap::new(),
            voters_at: BTreeMap::new(),
            leaders: BTreeMap::new(),
            proposed: 0,
        }
    }
    fn anyone(&mut self) -> NodeId {
        let at = self.rng.index(self.nodes.len());
        *self.nodes.keys().nth(at).unwrap()
    }
    fn fine(result: Result<(), StepError>) {
        if let Err(StepError::Fatal(text)) = result {
            panic!("{text}");
        }
    }
    /// Takes what a member has ready; it may crash at any point of that.
    fn work(&mut self, id: NodeId, crashes: bool) {
        let crash = if crashes { self.rng.below(60) } else { 9 };
        let node = self.nodes.get_mut(&id).unwrap();
        if !node.raft.has_ready() {
            return;
        }
        let ready = node.raft.ready();
        self.wire.extend(ready.messages.iter().cloned());
        if crash == 0 {
            return self.crash(id);
        }
        node.disk.save(&ready);
        if crash == 1 {
            return self.crash(id);
        }
        self.wire.extend(ready.messages_after_append.iter().cloned());
        if let Some(snapshot) = &ready.snapshot {
            node.applied = snapshot.index;
            node.voters = snapshot.voters.clone();
        }
        for entry in &ready.committed_entries {
            assert_eq!(entry.index, node.applied + 1, "no gap");
            node.applied = entry.index;
            if let EntryData::Conf(change) = entry.data {
                node.voters = node.raft.apply_conf_change(change).unwrap();
            }
            let text = describe_entry(entry);
            let known = self.applied.entry(entry.index).or_insert_with(|| text.clone());
            assert_eq!(*known, text, "two members disagree");
            let voters = self.voters_at.entry(entry.index).or_insert_with(|| node.voters.clone());
            assert_eq!(*voters, node.voters);
        }
        if crash == 2 {
            return self.crash(id);
        }
        Self::fine(node.raft.advance());
        if self.rng.chance(0.05) && node.applied > node.disk.snapshot.index {
            let index = node.applied;
            let term = node.raft.term_at(index).unwrap();
            let snapshot = Snapshot { index, term, voters: node.voters.clone(), data: None };
            node.raft.set_snapshot(snapshot.clone());
            node.raft.compact_keeping(index, 4, u64::MAX);
            node.disk.compact(snapshot);
        }
    }
    fn crash(&mut self, id: NodeId) {
        let seed = self.rng.next_u32();
        let node = self.nodes.get_mut(&id).unwrap();
        node.raft = start(id, &node.disk, seed);
        node.applied = node.disk.snapshot.index;
        node.voters = node.disk.snapshot.voters.clone();
    }
    fn deliver(&mut self) {
        if self.wire.is_empty() {
            return;
        }
        // Mostly the oldest, sometimes any; sometimes it is lost or comes twice.
        let at = if self.rng.chance(0.7) { 0 } else { self.rng.index(self.wire.len()) };
        let message = if self.rng.chance(0.05) { self.wire[at].clone() } else { self.wire.remove(at) };
        let lost = self.rng.chance(0.1);
        self.arrive(message, lost);
    }
    fn arrive(&mut self, message: Message<D>, lost: bool) {
        // Whoever sends a snapshot is told how that ended.
        if message.is_snapshot()
            && let Some(sender) = self.nodes.get_mut(&message.from)
        {
            Self::fine(sender.raft.report_snapshot(message.to, !lost));
        }
        if let Some(node) = self.nodes.get_mut(&message.to)
            && !lost
        {
            Self::fine(node.raft.step(message));
        }
    }
    fn step(&mut self, faults: bool) {
        let id = self.anyone();
        match self.rng.below(20) {
            0..8 => {
                if faults {
                    self.deliver();
                } else if !self.wire.is_empty() {
                    let message = self.wire.remove(0);
                    self.arrive(message, false);
                }
            }
            8..14 => self.work(id, faults),
            14..17 => Self::fine(self.nodes.get_mut(&id).unwrap().raft.tick()),
            17 if faults => {
                self.proposed += 1;
                let data: D = format!("p{}", self.proposed).as_str().into();
                Self::fine(self.nodes.get_mut(&id).unwrap().raft.propose(EntryData::Normal(data)));
            }
            18 if faults && self.rng.chance(0.1) => {
                let target = 1 + u64::from(self.rng.below(5));
                let change = if self.rng.chance(0.5) { ConfChange::Add(target) } else { ConfChange::Remove(target) };
                self.nodes.entry(target).or_insert_with(|| {
                    // A newcomer knows the group by the snapshot that it will be sent.
                    let snapshot = Snapshot { index: 0, term: 0, voters: Vec::new(), data: None };
                    let disk = Disk { state: HardState::default(), snapshot, entries: Vec::new() };
                    Node { raft: start(target, &disk, target as u32), disk, applied: 0, voters: Vec::new() }
                });
                Self::fine(self.nodes.get_mut(&id).unwrap().raft.propose(EntryData::Conf(change)));
            }
            19 if faults && self.rng.chance(0.05) => {
                let to = self.anyone();
                Self::fine(self.nodes.get_mut(&id).unwrap().raft.transfer_leader(to));
            }
            _ => {}
        }
        for (id, node) in &self.nodes {
            if node.raft.role() == Role::Leader {
                let known = *self.leaders.entry(node.raft.term()).or_insert(*id);
                assert_eq!(known, *id, "two leaders in term {}", node.raft.term());
            }
        }
    }
}

#[test]
fn chaos() {
    let (mut applied, mut leaders) = (0, 0);
    for seed in 0..60 {
        let mut group = Group::new(seed, [1, 2, 3, 3, 5][seed as usize % 5]);
        for _ in 0..6_000 {
            group.step(true);
            if group.wire.len() > 500 {
                for message in group.wire.drain(..250).collect::<Vec<_>>() {
                    group.arrive(message, true);
                }
            }
        }
        // Once the faults stop, all voters come to agree.
        for _ in 0..40_000 {
            group.step(false);
        }
        let last = group.applied.keys().next_back().copied().unwrap_or(0);
        let voters = group.voters_at.get(&last).cloned().unwrap_or_default();
        for id in &voters {
            assert_eq!(group.nodes[id].applied, last, "seed {seed}: member {id} of {voters:?} lags");
        }
        applied += last;
        leaders += group.leaders.len();
    }
    println!("{applied} entries applied under {leaders} leaders");
    assert!(applied > 2_000 && leaders > 200);
}
