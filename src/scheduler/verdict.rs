//! What the plugins said, with the numbers they saw: kept for observers, and the source of every message.

use api::Str;
use std::borrow::Cow;
use std::rc::Rc;

/// What a plugin's answer means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The node is unfit now; removing pods may help.
    Unschedulable,
    /// The node is unfit, and removing pods would not help.
    Unresolvable,
    /// No answer: the try is over, and the next comes after a back-off.
    Error,
}

/// One reason with its numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Kubernetes' words, which are counted into the message.
    pub text: Cow<'static, str>,
    /// What was compared: `requested 921600 Mi, free 8000 Mi`; empty where nothing was.
    pub numbers: String,
}

impl Reason {
    /// A reason without numbers.
    pub fn plain(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), numbers: String::new() }
    }
}

/// A filter's refusal of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// Whether preemption may help.
    pub code: Code,
    /// At least one.
    pub reasons: Vec<Reason>,
}

impl Rejection {
    /// A refusal that removing pods may cure.
    pub fn unschedulable(text: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Code::Unschedulable, reasons: vec![Reason::plain(text)] }
    }
    /// A refusal that removing pods can't cure.
    pub fn unresolvable(text: impl Into<Cow<'static, str>>) -> Self {
        Self { code: Code::Unresolvable, reasons: vec![Reason::plain(text)] }
    }
    /// The same with what was compared.
    #[must_use]
    pub fn with(mut self, numbers: impl Into<String>) -> Self {
        if let Some(reason) = self.reasons.first_mut() {
            reason.numbers = numbers.into();
        }
        self
    }
}

/// A node's score by one plugin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Score {
    /// The plugin.
    pub plugin: &'static str,
    /// As the plugin gave it.
    pub raw: i64,
    /// From 0 to 100.
    pub normalized: i64,
    /// What it counts.
    pub weight: i64,
}

/// What was said of one node.
#[derive(Clone, Debug)]
pub struct NodeVerdict {
    /// The node.
    pub node: Str,
    /// The plugin that refused it and how; filters after it were not asked.
    pub rejected: Option<(&'static str, Rejection)>,
    /// Of a node that passed, if scores were needed.
    pub scores: Vec<Score>,
    /// The weighted sum of those.
    pub total: i64,
}

/// One try to schedule a pod.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// `namespace/name`
    pub pod: crate::node_info::PodKey,
    /// The pod's UID.
    pub uid: Str,
    /// Which of its tries, from 1.
    pub number: u32,
    /// When, in nanoseconds of virtual time.
    pub at: u64,
    /// Nodes that were looked at, in the order of the cache.
    pub nodes: Vec<NodeVerdict>,
    /// What a PreFilter plugin refused for all nodes.
    pub pre_filter: Option<(&'static str, Rejection)>,
    /// The node that won.
    pub chosen: Option<Str>,
    /// The FailedScheduling message, if none did.
    pub message: Option<Rc<str>>,
    /// Whether the binding has been written.
    pub bound: bool,
}

impl Attempt {
    /// Keeps of what was said of nodes only that of the node that won.
    pub(crate) fn forget_nodes(&mut self) {
        let chosen = self.chosen.clone();
        self.nodes.retain(|n| Some(&n.node) == chosen.as_ref());
        self.nodes.shrink_to_fit();
    }
}
