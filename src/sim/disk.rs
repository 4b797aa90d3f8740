//! Disks: one a host. They survive their processes; a power-off loses what was not synced.

use crate::{Ctx, Duration, Instant};
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// One record of a file: any immutable value with the number of bytes it stands for.
#[derive(Clone)]
pub struct Record {
    /// The content.
    pub value: Rc<dyn Any>,
    /// Its size on the disk in bytes.
    pub bytes: u64,
}

impl Record {
    /// A record of `bytes` bytes that holds `value`.
    pub fn new<T: 'static>(value: T, bytes: u64) -> Self {
        Self { value: Rc::new(value), bytes }
    }
    /// The content, if it is a `T`.
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }
}

/// Why the disk refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskError {
    /// ENOSPC
    Full,
    /// ENOENT
    NotFound,
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "no space left on device",
            Self::NotFound => "no such file or directory",
        })
    }
}

#[derive(Default)]
struct File {
    records: Vec<Record>,
    synced: usize,
    /// Whether the name itself is on the disk.
    named: bool,
}

pub(crate) struct DiskState {
    files: BTreeMap<Rc<str>, File>,
    /// Size in bytes.
    pub capacity: u64,
    /// Bytes taken by others than our files, for the fault "full".
    pub ballast: u64,
    used: u64,
    /// How long an fsync takes.
    pub fsync: Duration,
    /// When the device has done what it was asked so far.
    busy_until: Instant,
}

impl Default for DiskState {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            capacity: 100 << 30,
            ballast: 0,
            used: 0,
            fsync: Duration::from_millis(1),
            busy_until: Instant::ZERO,
        }
    }
}

impl DiskState {
    pub fn power_loss(&mut self) {
        self.files.retain(|_, file| file.named);
        for file in self.files.values_mut() {
            file.records.truncate(file.synced);
        }
        self.used = self.files.values().flat_map(|f| &f.records).map(|r| r.bytes).sum();
        self.busy_until = Instant::ZERO;
    }
    fn room_for(&self, bytes: u64) -> Result<(), DiskError> {
        let taken = self.used.saturating_add(self.ballast).saturating_add(bytes);
        if taken > self.capacity { Err(DiskError::Full) } else { Ok(()) }
    }
    pub fn used(&self) -> u64 {
        self.used
    }
}

/// The disk of a process' host.
#[derive(Clone)]
pub struct Disk {
    pub(crate) ctx: Ctx,
    pub(crate) state: Rc<RefCell<DiskState>>,
}

impl Disk {
    /// Appends to `path` (made if absent). In the page cache only until [`Disk::sync`].
    pub fn append(&self, path: &str, record: Record) -> Result<(), DiskError> {
        let mut state = self.state.borrow_mut();
        state.room_for(record.bytes)?;
        state.used += record.bytes;
        if let Some(file) = state.files.get_mut(path) {
            file.records.push(record);
        } else {
            state.files.insert(path.into(), File { records: vec![record], ..File::default() });
        }
        Ok(())
    }
    /// Replaces `path` at once by `records`, synced (write, fsync, rename).
    pub async fn replace(&self, path: &str, records: Vec<Record>) -> Result<(), DiskError> {
        self.device_time().await;
        let mut state = self.state.borrow_mut();
        let bytes: u64 = records.iter().map(|r| r.bytes).sum();
        state.room_for(bytes)?;
        let synced = records.len();
        let old = state.files.insert(path.into(), File { records, synced, named: true });
        let freed: u64 = old.iter().flat_map(|f| &f.records).map(|r| r.bytes).sum();
        state.used = (state.used + bytes).saturating_sub(freed);
        Ok(())
    }
    /// fsync: returns when all that was appended to `path` before the call would survive a power-off.
    pub async fn sync(&self, path: &str) -> Result<(), DiskError> {
        let count = self.state.borrow().files.get(path).ok_or(DiskError::NotFound)?.records.len();
        self.device_time().await;
        let mut state = self.state.borrow_mut();
        let file = state.files.get_mut(path).ok_or(DiskError::NotFound)?;
        file.named = true;
        file.synced = file.synced.max(count.min(file.records.len()));
        Ok(())
    }
    /// All records of `path`.
    pub fn read(&self, path: &str) -> Result<Vec<Record>, DiskError> {
        Ok(self.state.borrow().files.get(path).ok_or(DiskError::NotFound)?.records.clone())
    }
    /// Removes `path` if it is there.
    pub fn remove(&self, path: &str) {
        let mut state = self.state.borrow_mut();
        if let Some(file) = state.files.remove(path) {
            let freed: u64 = file.records.iter().map(|r| r.bytes).sum();
            state.used = state.used.saturating_sub(freed);
        }
    }
    /// The names that begin with `prefix`, sorted.
    pub fn list(&self, prefix: &str) -> Vec<Rc<str>> {
        self.state.borrow().files.keys().filter(|name| name.starts_with(prefix)).cloned().collect()
    }
    /// (used, capacity) in bytes.
    pub fn usage(&self) -> (u64, u64) {
        let state = self.state.borrow();
        (state.used.saturating_add(state.ballast).min(state.capacity), state.capacity)
    }

    /// One flush of the device; requests are served one after the other.
    async fn device_time(&self) {
        let until = {
            let mut state = self.state.borrow_mut();
            let until = state.busy_until.max(self.ctx.now()) + state.fsync;
            state.busy_until = until;
            until
        };
        self.ctx.sleep_until(until).await;
    }
}
