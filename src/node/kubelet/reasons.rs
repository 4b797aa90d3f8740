//! Why containers could not be started, until they are (pkg/kubelet/reason_cache.go).

use api::Str;
use std::collections::BTreeMap;

/// Reason and message by container.
#[derive(Default, Clone, Debug)]
pub struct Reasons(BTreeMap<Str, (Str, Str)>);

impl Reasons {
    /// The last failed start of a container.
    pub fn get(&self, container: &str) -> Option<(&str, &str)> {
        self.0.get(container).map(|(reason, message)| (&**reason, &**message))
    }
    /// A start failed.
    pub fn fail(&mut self, container: &Str, reason: impl Into<Str>, message: impl Into<Str>) {
        self.0.insert(container.clone(), (reason.into(), message.into()));
    }
    /// A start succeeded.
    pub fn forget(&mut self, container: &str) {
        self.0.remove(container);
    }
}
