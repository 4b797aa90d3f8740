//! Controller logs: the trace's lines with the filter of the page.

use super::verbosity::is_verbose;
use crate::cluster::World;
use api::SortSmall;
use view::{LogCause, LogFilter, LogLine, LogLines, ObjectRef, Severity, ToPage};

/// Lines sent at once.
const MAX_LINES: usize = 500;

/// How far the log was told.
#[derive(Default)]
pub struct Logs {
    told: u64,
    audited: std::collections::BTreeMap<String, u64>,
    reset: bool,
    taken: usize,
}

impl Logs {
    /// Lines of the last time.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// A changed filter: the page begins anew with the newest lines.
    pub fn reset(&mut self) {
        self.told = 0;
        self.audited.clear();
        self.reset = true;
    }

    /// The page waits for the newest lines of a changed filter.
    pub fn begins_anew(&self) -> bool {
        self.reset
    }

    /// Matching lines since the last time.
    pub fn take(&mut self, world: &World, filter: &LogFilter) -> Option<ToPage> {
        let sim = world.sim();
        let mut lines = sim.trace(|trace| {
            let total = trace.logs.total();
            if total == self.told && !self.reset {
                return Vec::new();
            }
            let from = std::mem::replace(&mut self.told, total);
            let lines = trace.logs.since(from).map(|l| line(world, l));
            lines.filter(|l| filter.matches(l)).collect::<Vec<_>>()
        });
        lines.extend(self.audit(world).into_iter().filter(|l| filter.matches(l)));
        lines.sort_small_by_key(|l| l.at);
        self.taken = lines.len();
        if lines.is_empty() && !self.reset {
            return None;
        }
        let skip = lines.len().saturating_sub(MAX_LINES);
        lines.drain(..skip);
        for (i, line) in lines.iter_mut().enumerate() {
            // Lines of the trace and of the audit log are numbered apart; a shared number keeps them apart on the page.
            line.number = line.number.saturating_mul(2).saturating_add(u64::from(line.part == "audit"));
            debug_assert!(i <= MAX_LINES);
        }
        let reset = std::mem::take(&mut self.reset);
        Some(ToPage::Logs(LogLines { reset, lines, skipped: skip as u64 }))
    }

    /// The reader's own requests, as lines of the API server.
    fn audit(&mut self, world: &World) -> Vec<LogLine> {
        let mut out = Vec::new();
        for (name, server) in world.observed().api_servers.borrow().iter() {
            let from = self.audited.entry(name.clone()).or_insert(0);
            for entry in server.audit.since(*from) {
                if entry.code.get() == 0 {
                    if entry.verb == "watch" {
                        *from = entry.id;
                        continue;
                    }
                    break;
                }
                *from = entry.id;
                if &**entry.user.borrow() != "kubernetes-admin" || entry.verb == "get" || entry.verb == "list" {
                    continue;
                }
                let code = entry.code.get();
                let path = super::control_plane::target(&entry);
                let namespace =
                    if entry.namespace.is_empty() { String::new() } else { format!("namespaces/{}/", entry.namespace) };
                let latency = entry.latency().map_or(0.0, |l| l.as_secs_f64() * 1000.0);
                out.push(LogLine {
                    number: entry.id,
                    at: entry.received.as_nanos(),
                    severity: if code >= 400 { Severity::Warning } else { Severity::Info },
                    component: name.clone(),
                    part: "audit".into(),
                    text: format!(
                        "{} {namespace}{path} user=kubernetes-admin code={code} latency={latency:.1}ms",
                        super::control_plane::http_verb(&entry)
                    ),
                    cause: LogCause::Command(entry.user_agent.split('/').next().unwrap_or("kubectl").to_string()),
                    ..LogLine::default()
                });
            }
        }
        out
    }
}

/// A line of the trace.
fn line(world: &World, l: &sim::trace::LogLine) -> LogLine {
    let sim = world.sim();
    let name = sim.process_name(l.process);
    let host = sim.host_name(sim.process_host(l.process));
    let component = name.rsplit('/').next().unwrap_or(&name).to_string();
    LogLine {
        number: l.sequence,
        at: l.at.as_nanos(),
        severity: match l.severity {
            sim::Severity::Info if is_verbose(&l.text) => Severity::Verbose,
            sim::Severity::Info => Severity::Info,
            sim::Severity::Warning => Severity::Warning,
            sim::Severity::Error => Severity::Error,
            sim::Severity::Fatal => Severity::Fatal,
        },
        part: super::control_plane::short_loop(l.part),
        component,
        host: host.to_string(),
        source: l.place.to_string(),
        text: l.text.to_string(),
        object: object(&l.text),
        cause: LogCause::None,
    }
}

/// The value of a key in a klog line, without its quotes.
fn field(text: &str, key: &str) -> Option<String> {
    let at = text.find(&format!(" {key}="))? + key.len() + 2;
    let rest = text.get(at..)?;
    let value = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split(' ').next()?,
    };
    Some(value.to_string())
}

const KEYS: [(&str, &str); 8] = [
    ("pod", "Pod"),
    ("replicaSet", "ReplicaSet"),
    ("deployment", "Deployment"),
    ("service", "Service"),
    ("node", "Node"),
    ("namespace", "Namespace"),
    ("statefulSet", "StatefulSet"),
    ("job", "Job"),
];

/// The object a line is about: the first key that names one.
fn object(text: &str) -> Option<ObjectRef> {
    let (kind, value) = KEYS.iter().find_map(|(key, kind)| Some((*kind, field(text, key)?)))?;
    let (namespace, name) = value.split_once('/').unwrap_or(("", &value));
    (!name.is_empty()).then(|| ObjectRef { kind: kind.into(), namespace: namespace.into(), name: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_lines() {
        let found = object("\"Too few replicas\" replicaSet=\"default/web-1\" need=3").unwrap();
        assert_eq!(
            (found.kind.as_str(), found.namespace.as_str(), found.name.as_str()),
            ("ReplicaSet", "default", "web-1")
        );
        assert_eq!(object("\"Caches are synced\""), None);
        assert_eq!(field("\"x\" a=1 b=\"two words\"", "b").as_deref(), Some("two words"));
    }
}
