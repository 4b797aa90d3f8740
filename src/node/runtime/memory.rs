//! The memory of a container: what its programs hold, and the kernel that kills at the limit.

use sim::sync::Notify;
use std::cell::Cell;

/// What a container's first process holds once it runs, in bytes.
pub const BASE: i64 = 2 << 20;

/// A container's memory.
#[derive(Default)]
pub struct Memory {
    limit: Cell<i64>,
    used: Cell<i64>,
    killed: Cell<bool>,
    over: Notify,
}

impl Memory {
    /// Memory with a limit in bytes, 0: none.
    pub fn new(limit: i64) -> Self {
        Self { limit: Cell::new(limit), used: Cell::new(BASE), ..Self::default() }
    }
    /// What is held, in bytes.
    pub fn used(&self) -> i64 {
        self.used.get()
    }
    /// Takes more. Past the limit the kernel kills all that runs in the container.
    pub fn take(&self, bytes: i64) {
        self.used.set(self.used.get().saturating_add(bytes.max(0)));
        self.judge();
    }
    /// Gives some back.
    pub fn give_back(&self, bytes: i64) {
        self.used.set(self.used.get().saturating_sub(bytes.max(0)).max(0));
    }
    /// Sets another limit.
    pub fn set_limit(&self, limit: i64) {
        self.limit.set(limit);
        self.judge();
    }
    fn judge(&self) {
        if self.limit.get() > 0 && self.used.get() > self.limit.get() {
            self.killed.set(true);
            self.over.notify();
        }
    }
    /// Completes when the kernel kills for want of memory.
    pub async fn exhausted(&self) {
        while !self.killed.get() {
            self.over.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn the_kernel_kills_past_the_limit() {
        let memory = Memory::new(10 << 20);
        memory.take(5 << 20);
        assert!(memory.exhausted().now_or_never().is_none());
        memory.give_back(1 << 20);
        memory.take(5 << 20);
        assert!(memory.exhausted().now_or_never().is_some());
        let free = Memory::new(0);
        free.take(i64::MAX);
        assert!(free.exhausted().now_or_never().is_none());
    }
}
