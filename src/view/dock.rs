//! Rows of the dock: logs, events, requests.

use crate::{ObjectRef, Subject};
use serde::{Deserialize, Serialize};

/// New log lines.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogLines {
    /// Forget the lines shown: these are the newest that match a changed filter (at most 500).
    pub reset: bool,
    /// Oldest first, at most 500 a message.
    pub lines: Vec<LogLine>,
    /// Matching lines left out because there were more.
    pub skipped: u64,
}

/// One klog line of a component.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogLine {
    /// Rises along the trace.
    pub number: u64,
    /// When.
    pub at: u64,
    /// How grave.
    pub severity: Severity,
    /// The process: `kube-scheduler-1`, `kubelet` (with `host`), `etcd-1`, `kube-apiserver-1`.
    pub component: String,
    /// `node-1`, `cp-1`.
    pub host: String,
    /// The part of it: the controller's short name (`replicaset`), `audit`; may be empty.
    pub part: String,
    /// `replica_set.go:628`.
    pub source: String,
    /// What follows the `]`: `"Too few replicas" replicaSet="default/web-5487f79886" need=3 creating=3`.
    pub text: String,
    /// The object it is about.
    pub object: Option<ObjectRef>,
    /// What made it happen.
    pub cause: LogCause,
}

/// What made a line happen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum LogCause {
    /// Not known, or time itself.
    #[default]
    None,
    /// A write: this revision.
    Revision(u64),
    /// The reader's command, in short: `kubectl apply`.
    Command(String),
    /// A fault.
    Fault,
}

/// klog's severities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Severity {
    /// V(3) and up; klog prints them with `I` too. The page hides them unless asked.
    Verbose,
    /// `I`.
    #[default]
    Info,
    /// `W`.
    Warning,
    /// `E`.
    Error,
    /// `F`.
    Fatal,
}

impl Severity {
    /// klog's letter.
    pub fn letter(self) -> char {
        match self {
            Severity::Verbose | Severity::Info => 'I',
            Severity::Warning => 'W',
            Severity::Error => 'E',
            Severity::Fatal => 'F',
        }
    }
}

/// Which lines are wanted. All conditions must hold; an empty one always does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogFilter {
    /// The component without its number (`kube-scheduler`, `kubelet`) or with it (`kube-scheduler-1`).
    pub component: String,
    /// The part, mostly a controller.
    pub part: String,
    /// `Info` and up by default.
    pub least: Severity,
    /// Found in the text, in any case: an object's name, a word.
    pub text: String,
}

impl LogFilter {
    /// Whether a line is wanted.
    pub fn matches(&self, line: &LogLine) -> bool {
        line.severity >= self.least
            && (self.component.is_empty() || is_of(&line.component, &self.component))
            && (self.part.is_empty() || line.part == self.part)
            && (self.text.is_empty()
                || contains(&line.text, &self.text)
                || contains(&line.component, &self.text)
                || contains(&line.host, &self.text)
                || line.object.as_ref().is_some_and(|o| contains(&o.name, &self.text)))
    }
}

/// `kube-scheduler-1` is of `kube-scheduler` and of itself, not of `kube-sched`.
fn is_of(component: &str, wanted: &str) -> bool {
    match component.strip_prefix(wanted) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// A row of `kubectl get events`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EventRow {
    /// When last seen.
    pub at: u64,
    /// When first seen.
    pub first_at: u64,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// `FailedScheduling`.
    pub reason: String,
    /// The object.
    pub object: ObjectRef,
    /// The component that reported it: `default-scheduler`, `kubelet, node-1`.
    pub from: String,
    /// The text.
    pub message: String,
    /// How often.
    pub count: u32,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestRow {
    /// Rises.
    pub number: u64,
    /// When it came in.
    pub at: u64,
    /// `system:kube-scheduler`.
    pub user: String,
    /// `kubectl/v1.37.2`, in short.
    pub agent: String,
    /// `create`, as in RBAC.
    pub verb: String,
    /// `deployments`, `pods/status`.
    pub resource: String,
    /// Namespace; empty for the cluster.
    pub namespace: String,
    /// Object's name; empty for lists.
    pub name: String,
    /// Status code.
    pub code: u16,
    /// From the first byte in to the last out, in microseconds. For a watch: until it began.
    pub latency_micros: u32,
    /// What answers to it, where an object is named.
    pub subject: Option<Subject>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(component: &str, severity: Severity, text: &str) -> LogLine {
        LogLine { component: component.into(), severity, text: text.into(), ..LogLine::default() }
    }

    #[test]
    fn a_filter_takes_a_component_with_or_without_its_number() {
        let filter = |component: &str| LogFilter { component: component.into(), ..LogFilter::default() };
        let one = line("kube-scheduler-1", Severity::Info, "x");
        assert!(filter("kube-scheduler").matches(&one));
        assert!(filter("kube-scheduler-1").matches(&one));
        assert!(!filter("kube-scheduler-2").matches(&one));
        assert!(!filter("kube-sched").matches(&one));
        assert!(filter("").matches(&one));
    }

    #[test]
    fn a_filter_takes_a_severity_and_up_and_a_word_in_any_case() {
        let filter = LogFilter { least: Severity::Warning, text: "WEB".into(), ..LogFilter::default() };
        assert!(filter.matches(&line("kubelet", Severity::Error, "pod=\"default/web-1\"")));
        assert!(!filter.matches(&line("kubelet", Severity::Info, "pod=\"default/web-1\"")));
        assert!(!filter.matches(&line("kubelet", Severity::Error, "pod=\"default/db-1\"")));
        assert!(!LogFilter::default().matches(&line("kubelet", Severity::Verbose, "")));
    }
}
