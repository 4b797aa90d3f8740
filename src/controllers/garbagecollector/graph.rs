//! The graph of owners and dependents (`garbagecollector/graph_builder.go`), kept in step by the informers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::meta_v1::{ObjectMeta, OwnerReference};
use api::{KindInfo, List, Str};

/// Finalizer of a deletion that waits for the dependents.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of a deletion that first orphans the dependents.
pub const ORPHAN: &str = "orphan";
/// Owners known to be gone (`NewReferenceCache(500)`).
const ABSENT_OWNERS: usize = 500;

/// Which object a node is: what its owner references call it, and its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    pub kind: Str,
    pub api_version: Str,
    pub namespace: Str,
    pub name: Str,
    pub uid: Str,
}

impl Identity {
    pub fn of(kind: &KindInfo, meta: &ObjectMeta) -> Identity {
        Identity {
            kind: kind.kind.into(),
            api_version: kind.api_version.into(),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
        }
    }

    /// What a reference in an object of `namespace` names.
    pub fn referred(reference: &OwnerReference, namespace: &Str) -> Identity {
        Identity {
            kind: reference.kind.clone(),
            api_version: reference.api_version.clone(),
            namespace: namespace.clone(),
            name: reference.name.clone(),
            uid: reference.uid.clone(),
        }
    }

    fn matches(&self, reference: &OwnerReference) -> bool {
        self.uid == reference.uid
            && self.name == reference.name
            && self.kind == reference.kind
            && self.api_version == reference.api_version
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { kind, api_version, namespace, name, uid } = self;
        write!(f, "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]")
    }
}

/// One object, or what some object calls its owner without that having been seen (a virtual node).
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub identity: Identity,
    pub owners: List<OwnerReference>,
    /// Uids of objects that call this one their owner.
    pub dependents: BTreeSet<Str>,
    pub being_deleted: bool,
    pub deleting_dependents: bool,
    pub is_virtual: bool,
}

/// What the graph asks for after a change.
#[derive(Default)]
pub struct Work {
    /// Objects to look at: are their owners still there?
    pub attempt_to_delete: Vec<Identity>,
    /// The same, not before a while.
    pub attempt_to_delete_later: Vec<Identity>,
    /// Owners whose dependents are to be set free.
    pub attempt_to_orphan: Vec<Identity>,
    /// Objects with an owner in another namespace, and that owner.
    pub invalid_namespace: Vec<(Identity, Identity)>,
}

/// All objects by uid. As large as the cluster has objects.
#[derive(Default)]
pub struct Graph {
    nodes: BTreeMap<Str, Node>,
    absent: BTreeMap<Identity, u64>,
    absent_clock: u64,
}

/// What an informer saw.
pub struct Seen<'a> {
    pub kind: &'static KindInfo,
    pub old: Option<&'a ObjectMeta>,
    pub new: &'a ObjectMeta,
}

fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().any(|f| *f == finalizer)
}

fn is_deleted(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.unix().is_some()
}

/// Whether the deletion with that finalizer begins with this change.
fn starts(seen: &Seen<'_>, finalizer: &str) -> bool {
    let under_way = |m: &ObjectMeta| is_deleted(m) && has_finalizer(m, finalizer);
    under_way(seen.new) && seen.old.is_none_or(|old| !under_way(old))
}

fn same(a: &OwnerReference, b: &OwnerReference) -> bool {
    crate::controller_utils::same_ref(Some(a), Some(b))
}

impl Graph {
    /// The node of a uid.
    pub fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// The dependents of a node.
    pub fn dependents(&self, uid: &str) -> Vec<Node> {
        let node = self.nodes.get(uid);
        node.into_iter().flat_map(|n| &n.dependents).filter_map(|d| self.nodes.get(d)).cloned().collect()
    }

    /// Dependents that hold up a foreground deletion of their owner.
    pub fn blocking_dependents(&self, uid: &str) -> Vec<Node> {
        let blocks = |n: &Node| n.owners.iter().any(|o| o.uid == *uid && o.block_owner_deletion == Some(true));
        self.dependents(uid).into_iter().filter(blocks).collect()
    }

    /// Whether an owner is known to be gone.
    pub fn is_absent(&self, identity: &Identity) -> bool {
        self.absent.contains_key(identity)
    }

    /// Remembers that an owner is gone; the oldest such knowledge is dropped.
    pub fn add_absent(&mut self, identity: Identity) {
        self.absent_clock += 1;
        self.absent.insert(identity, self.absent_clock);
        if self.absent.len() > ABSENT_OWNERS
            && let Some(oldest) = self.absent.iter().min_by_key(|(_, t)| **t).map(|(k, _)| k.clone())
        {
            self.absent.remove(&oldest);
        }
    }

    /// An object was added or changed.
    pub fn upsert(&mut self, seen: &Seen<'_>) -> Work {
        let mut work = Work::default();
        let identity = Identity::of(seen.kind, seen.new);
        self.observe(&identity, &mut work);
        let uid = identity.uid.clone();
        match self.nodes.get(&uid).map(|n| n.owners.clone()) {
            None => {
                let node = Node {
                    identity,
                    owners: seen.new.owner_references.clone(),
                    being_deleted: is_deleted(seen.new),
                    deleting_dependents: is_deleted(seen.new) && has_finalizer(seen.new, FOREGROUND),
                    ..Node::default()
                };
                self.nodes.insert(uid.clone(), node);
                self.add_dependent(&uid, &seen.new.owner_references, &mut work);
            }
            Some(old_owners) => self.change_owners(&uid, &old_owners, seen, &mut work),
        }
        self.transitions(&uid, seen, &mut work);
        work
    }

    /// A virtual node turns out to exist: it takes the identity it really has.
    fn observe(&mut self, identity: &Identity, work: &mut Work) {
        let Some(node) = self.nodes.get(&identity.uid).filter(|n| n.is_virtual).cloned() else { return };
        if node.identity != *identity {
            for dependent in self.partition(&node, identity).1 {
                if !identity.namespace.is_empty() && dependent.identity.namespace != identity.namespace {
                    work.invalid_namespace.push((dependent.identity.clone(), identity.clone()));
                }
                work.attempt_to_delete.push(dependent.identity);
            }
        }
        if let Some(node) = self.nodes.get_mut(&identity.uid) {
            node.identity = identity.clone();
            node.is_virtual = false;
        }
    }

    fn change_owners(&mut self, uid: &Str, old: &List<OwnerReference>, seen: &Seen<'_>, work: &mut Work) {
        let new = &seen.new.owner_references;
        let added: Vec<OwnerReference> = new.iter().filter(|n| !old.iter().any(|o| o.uid == n.uid)).cloned().collect();
        let removed: Vec<OwnerReference> =
            old.iter().filter(|o| !new.iter().any(|n| o.uid == n.uid)).cloned().collect();
        let changed = old.iter().any(|o| new.iter().any(|n| n.uid == o.uid && !same(n, o)));
        if !added.is_empty() || !removed.is_empty() || changed {
            // Owners that wait for their dependents may go on.
            let blocked = |r: &OwnerReference| r.block_owner_deletion == Some(true);
            let unblocked = old
                .iter()
                .filter(|o| blocked(o))
                .filter(|o| new.iter().find(|n| n.uid == o.uid).is_none_or(|n| !blocked(n)));
            let unblocked: Vec<Str> = unblocked.map(|o| o.uid.clone()).collect();
            for owner in unblocked {
                if let Some(node) = self.nodes.get(&owner) {
                    work.attempt_to_delete.push(node.identity.clone());
                }
            }
            if let Some(node) = self.nodes.get_mut(uid) {
                node.owners = new.clone();
            }
            self.add_dependent(uid, &added, work);
            for owner in &removed {
                if let Some(node) = self.nodes.get_mut(&owner.uid) {
                    node.dependents.remove(uid);
                }
            }
        }
        if is_deleted(seen.new)
            && let Some(node) = self.nodes.get_mut(uid)
        {
            node.being_deleted = true;
        }
    }

    /// Hangs a node under its owners; an owner that was not seen yet becomes a virtual node to be looked for.
    fn add_dependent(&mut self, uid: &Str, owners: &[OwnerReference], work: &mut Work) {
        let Some(identity) = self.nodes.get(uid).map(|n| n.identity.clone()) else { return };
        let mut suspicious = false;
        for owner in owners {
            let Some(node) = self.nodes.get_mut(&owner.uid) else {
                let node = Node {
                    identity: Identity::referred(owner, &identity.namespace),
                    dependents: BTreeSet::from([uid.clone()]),
                    is_virtual: true,
                    ..Node::default()
                };
                work.attempt_to_delete.push(node.identity.clone());
                self.nodes.insert(owner.uid.clone(), node);
                continue;
            };
            node.dependents.insert(uid.clone());
            if suspicious {
                continue;
            }
            let namespaced = !node.identity.namespace.is_empty();
            let elsewhere = node.identity.namespace != identity.namespace;
            if namespaced && elsewhere {
                if !node.is_virtual {
                    let invalid = Identity::referred(owner, &identity.namespace);
                    work.invalid_namespace.push((identity.clone(), invalid));
                }
                suspicious = true;
            } else if !node.identity.matches(owner) || (!namespaced && elsewhere && node.is_virtual) {
                suspicious = true;
            }
        }
        if suspicious {
            work.attempt_to_delete.push(identity);
        }
    }

    fn transitions(&mut self, uid: &Str, seen: &Seen<'_>, work: &mut Work) {
        let Some(node) = self.nodes.get(uid) else { return };
        let identity = node.identity.clone();
        if starts(seen, ORPHAN) {
            work.attempt_to_orphan.push(identity);
        } else if starts(seen, FOREGROUND) {
            work.attempt_to_delete.extend(self.dependents(uid).into_iter().map(|d| d.identity));
            if let Some(node) = self.nodes.get_mut(uid) {
                node.deleting_dependents = true;
            }
            work.attempt_to_delete.push(identity);
        }
    }

    /// An object is gone.
    pub fn delete(&mut self, kind: &'static KindInfo, meta: &ObjectMeta) -> Work {
        let mut work = Work::default();
        let identity = Identity::of(kind, meta);
        self.observe(&identity, &mut work);
        self.remove(&identity, &mut work);
        work
    }

    /// The server says that an object is not there, though no informer told of its end.
    pub fn delete_virtually(&mut self, identity: &Identity) -> Work {
        let mut work = Work::default();
        let Some(node) = self.nodes.get(&identity.uid).cloned() else { return work };
        let (matching, other) = self.partition(&node, identity);
        if node.is_virtual && !other.is_empty() {
            // Some dependents mean another object by this uid: look for that one too.
            self.lose_matching(identity, matching, &mut work);
            if node.identity == *identity
                && let Some(alternative) = alternative(&other, identity)
            {
                if let Some(node) = self.nodes.get_mut(&identity.uid) {
                    node.identity = alternative.clone();
                }
                work.attempt_to_delete_later.push(alternative);
            }
        } else if !node.is_virtual && node.identity != *identity {
            self.lose_matching(identity, matching, &mut work);
        } else {
            self.remove(identity, &mut work);
        }
        work
    }

    fn lose_matching(&mut self, identity: &Identity, matching: Vec<Node>, work: &mut Work) {
        if !matching.is_empty() {
            self.add_absent(identity.clone());
            work.attempt_to_delete.extend(matching.into_iter().map(|d| d.identity));
        }
    }

    fn remove(&mut self, identity: &Identity, work: &mut Work) {
        let dependents = self.dependents(&identity.uid);
        let Some(node) = self.nodes.remove(&identity.uid) else { return };
        for owner in &node.owners {
            if let Some(owner) = self.nodes.get_mut(&owner.uid) {
                owner.dependents.remove(&identity.uid);
            }
        }
        if !dependents.is_empty() {
            self.add_absent(identity.clone());
        }
        work.attempt_to_delete.extend(dependents.into_iter().map(|d| d.identity));
        for owner in &node.owners {
            if let Some(owner) = self.nodes.get(&owner.uid).filter(|o| o.deleting_dependents) {
                work.attempt_to_delete.push(owner.identity.clone());
            }
        }
    }

    /// Dependents whose references mean `owner`, and those that mean something else by its uid.
    fn partition(&self, node: &Node, owner: &Identity) -> (Vec<Node>, Vec<Node>) {
        let (mut matching, mut other) = (Vec::new(), Vec::new());
        for dependent in node.dependents.iter().filter_map(|d| self.nodes.get(d)) {
            if !owner.namespace.is_empty() && owner.namespace != dependent.identity.namespace {
                other.push(dependent.clone());
                continue;
            }
            let references = || dependent.owners.iter().filter(|r| r.uid == owner.uid);
            if references().any(|r| owner.matches(r)) {
                matching.push(dependent.clone());
            }
            if references().any(|r| !owner.matches(r)) {
                other.push(dependent.clone());
            }
        }
        (matching, other)
    }
}

/// The next identity that dependents give to a uid, after one that was found absent.
fn alternative(dependents: &[Node], absent: &Identity) -> Option<Identity> {
    let cluster_scoped = absent.namespace.is_empty();
    let mut candidates = BTreeSet::new();
    for dependent in dependents {
        for reference in dependent.owners.iter().filter(|r| r.uid == absent.uid) {
            if absent.matches(reference) && (cluster_scoped || absent.namespace == dependent.identity.namespace) {
                continue;
            }
            let mut candidate = Identity::referred(reference, &dependent.identity.namespace);
            if cluster_scoped && candidate.api_version == absent.api_version && candidate.kind == absent.kind {
                candidate.namespace = Str::default();
            }
            if candidate != *absent {
                candidates.insert(candidate);
            }
        }
    }
    candidates.range(absent.clone()..).next().or(candidates.first()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Resource;
    use api::apps_v1::ReplicaSet;
    use api::core_v1::Pod;

    fn meta(name: &str, owners: &[(&str, &str)]) -> ObjectMeta {
        let refs = owners.iter().map(|(kind, name)| OwnerReference {
            kind: (*kind).into(),
            api_version: "apps/v1".into(),
            name: (*name).into(),
            uid: (*name).into(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        });
        ObjectMeta {
            name: name.into(),
            uid: name.into(),
            namespace: "default".into(),
            owner_references: refs.collect(),
            ..ObjectMeta::default()
        }
    }

    fn names(ids: &[Identity]) -> Vec<&str> {
        ids.iter().map(|i| &*i.name).collect()
    }

    #[test]
    fn dependents_of_a_deleted_owner_are_looked_at() {
        let mut graph = Graph::default();
        let owner = meta("web", &[]);
        graph.upsert(&Seen { kind: ReplicaSet::KIND, old: None, new: &owner });
        let pod = meta("web-1", &[("ReplicaSet", "web")]);
        let work = graph.upsert(&Seen { kind: Pod::KIND, old: None, new: &pod });
        assert!(work.attempt_to_delete.is_empty());
        let work = graph.delete(ReplicaSet::KIND, &owner);
        assert_eq!(names(&work.attempt_to_delete), ["web-1"]);
        assert!(graph.is_absent(&Identity::of(ReplicaSet::KIND, &owner)));
    }

    #[test]
    fn an_unseen_owner_is_looked_for() {
        let mut graph = Graph::default();
        let pod = meta("web-1", &[("ReplicaSet", "web")]);
        let work = graph.upsert(&Seen { kind: Pod::KIND, old: None, new: &pod });
        assert_eq!(names(&work.attempt_to_delete), ["web"]);
        assert!(graph.get("web").is_some_and(|n| n.is_virtual));
        let work = graph.delete_virtually(&work.attempt_to_delete[0]);
        assert_eq!(names(&work.attempt_to_delete), ["web-1"]);
        assert!(graph.get("web").is_none());
    }

    #[test]
    fn foreground_deletion_waits_for_blocking_dependents() {
        let mut graph = Graph::default();
        let mut owner = meta("web", &[]);
        graph.upsert(&Seen { kind: ReplicaSet::KIND, old: None, new: &owner });
        let pod = meta("web-1", &[("ReplicaSet", "web")]);
        graph.upsert(&Seen { kind: Pod::KIND, old: None, new: &pod });
        let before = owner.clone();
        owner.deletion_timestamp = api::Time::from_unix(1);
        owner.finalizers = [Str::from(FOREGROUND)].into_iter().collect();
        let work = graph.upsert(&Seen { kind: ReplicaSet::KIND, old: Some(&before), new: &owner });
        assert_eq!(names(&work.attempt_to_delete), ["web-1", "web"]);
        assert_eq!(graph.blocking_dependents("web").len(), 1);
        let work = graph.delete(Pod::KIND, &pod);
        assert_eq!(names(&work.attempt_to_delete), ["web"]);
        assert!(graph.blocking_dependents("web").is_empty());
    }
}
