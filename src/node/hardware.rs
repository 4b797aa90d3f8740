//! A machine's memory and disk as the kernel counts them.

use crate::runtime::Disk;
use sim::Ctx;
use std::cell::Cell;
use std::rc::Rc;

/// What the operating system and the node's own programs hold, in bytes.
const SYSTEM: i64 = 256 << 20;

/// The machine under a node.
pub struct Hardware {
    memory: i64,
    disk_size: i64,
    filled: Cell<f64>,
    disk: Rc<Disk>,
}

impl Hardware {
    /// A machine of so much memory and disk, in bytes, whose containers `disk` knows.
    pub fn new(memory: i64, disk_size: i64, disk: Rc<Disk>) -> Rc<Self> {
        Rc::new(Self { memory, disk_size, filled: Cell::new(0.0), disk })
    }
    /// Something outside of pods takes this share of the memory; zero ends it.
    pub fn fill_memory(&self, share: f64) {
        self.filled.set(share.clamp(0.0, 1.0));
    }
    /// Bytes of memory that are not in use.
    pub fn memory_available(&self) -> i64 {
        let outside = share_of(self.memory, self.filled.get()).max(SYSTEM);
        self.memory.saturating_sub(outside).saturating_sub(self.disk.memory_used()).max(0)
    }
    /// The size of the disk in bytes.
    pub fn disk_size(&self) -> i64 {
        self.disk_size
    }
    /// Bytes of the disk that are free.
    pub fn disk_available(&self, ctx: &Ctx) -> i64 {
        let (used, capacity) = ctx.disk().usage();
        #[expect(clippy::cast_precision_loss)]
        let share = if capacity == 0 { 1.0 } else { used as f64 / capacity as f64 };
        let images: u64 = self.disk.images().iter().map(|i| i.size).sum();
        let taken = share_of(self.disk_size, share).saturating_add(i64::try_from(images).unwrap_or(i64::MAX));
        self.disk_size.saturating_sub(taken).max(0)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn share_of(whole: i64, share: f64) -> i64 {
    (whole as f64 * share) as i64
}
