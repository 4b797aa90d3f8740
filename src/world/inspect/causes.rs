//! The chain of causes: from the reader's command, by the writes that led to one another, to the thing.

use super::look::Look;
use apiserver::causes::Cause as Noted;
use view::{Cause, CauseKind, ObjectRef};

/// Links of a chain at most.
const LONGEST: usize = 24;
/// Writes that are looked at for them.
const FARTHEST: usize = 400;

/// Who wrote, in a reader's words.
pub fn writer(user: &str) -> String {
    if let Some(account) = user.strip_prefix("system:serviceaccount:kube-system:") {
        return account.replace("-controller", " controller");
    }
    if let Some(node) = user.strip_prefix("system:node:") {
        return format!("kubelet {node}");
    }
    match user {
        "system:kube-scheduler" => "scheduler".into(),
        "system:kube-controller-manager" => "controller manager".into(),
        "system:apiserver" => "kube-apiserver".into(),
        "kubernetes-admin" => "kubectl".into(),
        other => other.into(),
    }
}

/// The object a write was about.
fn object(noted: &Noted) -> ObjectRef {
    ObjectRef { kind: noted.kind.kind.into(), namespace: noted.namespace.to_string(), name: noted.name.to_string() }
}

fn link(look: &Look<'_>, revision: u64, noted: &Noted) -> Cause {
    let entries = look.server.audit.since(0);
    let entry = entries.iter().rev().find(|e| e.revision.get() == revision);
    let latency = entry.and_then(|e| e.latency()).map_or(0, |d| d.as_micros());
    let verb = if noted.subresource == *"binding" { "bind" } else { noted.verb };
    Cause {
        at: noted.time.as_nanos(),
        revision,
        what: CauseKind::Write {
            verb: verb.into(),
            object: object(noted),
            subresource: noted.subresource.to_string(),
            by: writer(&noted.user),
            wanted_actual: None,
            reason: String::new(),
            code: entry.map_or(200, |e| e.code.get()),
            latency_micros: u32::try_from(latency).unwrap_or(u32::MAX),
        },
        times: 1,
    }
}

/// Whether two writes would read the same: by the same of the same, in the same way.
fn alike(a: &Noted, b: &Noted) -> bool {
    object(a) == object(b) && a.user == b.user && a.verb == b.verb && a.subresource == b.subresource
}

fn once(at: u64, what: CauseKind) -> Cause {
    Cause { at, revision: 0, what, times: 1 }
}

/// The reader's input that a write came from.
fn input(look: &Look<'_>, at: u64) -> Option<Cause> {
    let (when, line) = look.inputs.iter().rev().find(|(when, _)| *when <= at)?;
    let what = if line.starts_with("cluster ") {
        CauseKind::Fault { line: line.clone() }
    } else {
        CauseKind::Command { line: line.clone() }
    };
    Some(once(*when, what))
}

/// The chain that led to `revision`, first cause first.
pub fn chain(look: &Look<'_>, revision: u64) -> Vec<Cause> {
    let mut chain: Vec<Cause> = Vec::new();
    let mut next = Some(revision);
    // The last link that is a write: where it stands in the chain, and what was noted of it.
    let mut newer: Option<(usize, Noted)> = None;
    for _ in 0..FARTHEST {
        let Some(revision) = next.take() else { break };
        let Some(noted) = look.server.causes.of(revision) else { break };
        let same = newer.as_ref().filter(|(_, n)| alike(n, &noted)).map(|(at, _)| *at);
        if let Some(link) = same.and_then(|at| chain.get_mut(at)) {
            link.times += 1;
        } else if chain.len() >= LONGEST {
            break;
        } else {
            newer = Some((chain.len(), noted.clone()));
            chain.push(link(look, revision, &noted));
        }
        // What set the writer going: an earlier write of the same object before others, and a node only where nothing
        // else is named; of several the newest.
        let earlier = noted.causes.iter().copied().filter(|c| *c < revision);
        let weight = |c: &u64| {
            let about = look.server.causes.of(*c).map(|n| object(&n));
            let rank = match about {
                Some(o) if o == object(&noted) => 2,
                Some(o) if o.kind == "Node" || o.kind == "Lease" => 0,
                Some(_) => 1,
                None => 0,
            };
            (rank, *c)
        };
        next = earlier.clone().max_by_key(weight);
        let others = earlier.count().saturating_sub(1);
        let folded = next.and_then(|next| look.server.causes.of(next)).is_some_and(|next| alike(&next, &noted));
        if others > 0 && !folded {
            let more = u32::try_from(others).unwrap_or(u32::MAX);
            chain.push(once(noted.time.as_nanos(), CauseKind::Also { more }));
        }
        if next.is_none() {
            let own = noted.user == *"kubernetes-admin";
            let first = if own { input(look, noted.time.as_nanos()) } else { None };
            chain.extend(first.or_else(|| (!own).then(|| boot_or_time(look, &noted))));
        }
    }
    chain.reverse();
    chain
}

/// What set a write going that names no cause: the boot, the reader's last fault, or a timer.
fn boot_or_time(look: &Look<'_>, noted: &Noted) -> Cause {
    /// What happens in the first minute belongs to the boot.
    const BOOT: u64 = 60_000_000_000;
    let at = noted.time.as_nanos();
    let fault = look.inputs.iter().rev().find(|(when, line)| *when <= at && line.starts_with("cluster "));
    if let Some((when, line)) = fault {
        return once(*when, CauseKind::Fault { line: line.clone() });
    }
    if at < BOOT {
        return once(0, CauseKind::Boot);
    }
    let name = match noted.kind.kind {
        "Lease" => "renewInterval",
        "Node" => "nodeStatusUpdateFrequency",
        _ => "resync",
    };
    once(at, CauseKind::Timer { name: name.into() })
}

/// The newest write about an object, even one that is gone.
pub fn last_write(look: &Look<'_>, about: &ObjectRef) -> Option<u64> {
    let writes = look.server.causes.since(0);
    writes.iter().rev().find(|(_, noted)| object(noted) == *about).map(|(revision, _)| *revision)
}
