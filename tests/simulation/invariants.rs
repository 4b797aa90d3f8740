//! What must hold. A witness hears what programs saw and complains as soon as something can't be.

use api::coordination_v1::Lease;
use api::core_v1::{ConfigMap, Pod};
use api::rest::EventType;
use api::{Resource, Rev};
use std::collections::{BTreeMap, BTreeSet};

/// Everything seen so far.
#[derive(Default)]
pub struct Witness {
    complaints: Vec<String>,
    /// ConfigMaps that the server acknowledged: name and revision of creation.
    acknowledged: BTreeMap<String, u64>,
    /// Those that a watcher saw.
    seen: BTreeSet<String>,
    /// The node of each pod by its uid.
    nodes: BTreeMap<String, String>,
    /// The last version of each lease: holder, when it was renewed, how many seconds it is good for.
    leases: BTreeMap<String, (String, i64, i64)>,
}

impl Witness {
    /// Something can't be.
    pub fn complain(&mut self, text: String) {
        self.complaints.push(text);
    }

    /// What can't be, so far.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// How many writes were acknowledged.
    pub fn writes(&self) -> usize {
        self.acknowledged.len()
    }

    /// The server acknowledged a write.
    pub fn acknowledged(&mut self, object: &Rev<ConfigMap>) {
        self.acknowledged.insert(object.metadata().name.to_string(), object.revision);
    }

    /// A watcher saw a ConfigMap.
    pub fn written(&mut self, object: &Rev<ConfigMap>) {
        let name = object.metadata().name.to_string();
        if let Some(revision) = self.acknowledged.get(&name)
            && *revision != object.revision
        {
            let text = format!("{name} was acknowledged at {revision} and stands at {}", object.revision);
            self.complain(text);
        }
        self.seen.insert(name);
    }

    /// A pod never moves.
    pub fn pod(&mut self, type_: Option<EventType>, pod: &Rev<Pod>) {
        let meta = pod.metadata();
        let (uid, node) = (meta.uid.to_string(), pod.spec.node_name.to_string());
        match self.nodes.get(&uid) {
            Some(before) if *before != node => {
                let text = format!("pod {} was on {before} and is on {node:?}", meta.name);
                self.complain(text);
            }
            _ if !node.is_empty() && type_ != Some(EventType::Deleted) => {
                self.nodes.insert(uid, node);
            }
            _ => {}
        }
    }

    /// A lease for which several stand changes hands only when it was given up or has run out. An API server that is
    /// started again takes its own lease under another name.
    /// After a gap in what was watched nothing can be said.
    pub fn lease(&mut self, watched: bool, lease: &Rev<Lease>) {
        let name = lease.metadata().name.to_string();
        if name.starts_with("apiserver-") {
            return;
        }
        let holder = lease.spec.holder_identity.get().unwrap_or("").to_string();
        let renewed = lease.spec.renew_time.unix_micros().unwrap_or(0);
        let seconds = i64::from(lease.spec.lease_duration_seconds.unwrap_or(0));
        if let Some((before, last, good)) = self.leases.get(&name)
            && watched
            && !before.is_empty()
            && !holder.is_empty()
            && *before != holder
            && renewed < last + good * 1_000_000
        {
            let text = format!("lease {name}: {holder} took it {} us after {before} had renewed it", renewed - last);
            self.complain(text);
        }
        self.leases.insert(name, (holder, renewed, seconds));
    }

    /// At the end, against all ConfigMaps that were there at `revision`: writes that were acknowledged by then survived,
    /// and watchers saw them all.
    pub fn close(&mut self, stored: &[Rev<ConfigMap>], revision: u64) {
        let there: BTreeMap<String, u64> =
            stored.iter().map(|object| (object.metadata().name.to_string(), object.revision)).collect();
        let mut complaints = Vec::new();
        for (name, at) in self.acknowledged.iter().filter(|(_, at)| **at <= revision) {
            if there.get(name) != Some(at) {
                complaints.push(format!("{name}, acknowledged at {at}, is lost"));
            }
        }
        for name in there.keys().filter(|name| name.starts_with("written-") && !self.seen.contains(*name)) {
            complaints.push(format!("{name} was never told to a watcher"));
        }
        self.complaints.extend(complaints);
    }
}
