//! What a member keeps on its disk: the write-ahead log, in segments, and the database that lags behind it.
//!
//! The database is the store as of some entry that was applied; the log holds what came after. A restart takes the
//! database and replays the log.

use crate::raft::{Entry, HardState, NodeId, Payload, Snapshot};
use crate::rpc::{Operation, Value};
use crate::store::Store;
use sim::{Disk, DiskError, Record};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

/// One proposal.
pub(crate) struct Command<V> {
    /// Who waits for it: the number of the request, unique in the cluster.
    pub id: u64,
    pub operation: Operation<V>,
    size: u64,
}

impl<V: Value> Command<V> {
    pub fn new(id: u64, operation: Operation<V>) -> Self {
        let size = operation.size();
        Self { id, operation, size }
    }
}

impl<V> fmt::Debug for Command<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({:x}, {} bytes)", self.id, self.size)
    }
}

impl<V: Value> Payload for Rc<Command<V>> {
    fn size(&self) -> u64 {
        self.size
    }
}

type Log<V> = Entry<Rc<Command<V>>>;

/// One append to the log.
struct Append<V> {
    entries: Vec<Log<V>>,
    state: Option<HardState>,
}

/// The database's file. It is replaced as a whole.
struct Database<V> {
    store: Rc<RefCell<Store<V>>>,
    /// Segments before this one are void: the store came from another member.
    first_segment: u64,
}

/// The open log.
pub(crate) struct Wal<V> {
    disk: Disk,
    folder: String,
    /// The segments, oldest first, with the last entry of each that is closed. The last one is written to.
    segments: VecDeque<(String, u64)>,
    first_segment: u64,
    next_segment: u64,
    last_entry: u64,
    state: HardState,
    /// The database, shared with the disk, where only what was synced before is written.
    pub db: Rc<RefCell<Store<V>>>,
}

/// What a restart finds.
pub(crate) struct Recovered<V> {
    pub wal: Wal<V>,
    /// A copy of the database, to go on from.
    pub store: Store<V>,
    pub state: HardState,
    pub snapshot: Snapshot,
    pub entries: Vec<Log<V>>,
    /// Whether there was nothing before.
    pub fresh: bool,
}

fn db_path(folder: &str) -> String {
    format!("{folder}/member/snap/db")
}
fn wal_prefix(folder: &str) -> String {
    format!("{folder}/member/wal/")
}

impl<V: Value> Wal<V> {
    /// Opens the log in `folder`, or begins one for a group of `voters`.
    pub async fn open(
        disk: Disk,
        folder: &str,
        voters: &[NodeId],
        history_limit: u64,
    ) -> Result<Recovered<V>, DiskError> {
        let known = disk.read(&db_path(folder)).ok().and_then(|records| {
            records.first().and_then(|r| r.get::<Database<V>>()).map(|d| (d.store.clone(), d.first_segment))
        });
        let fresh = known.is_none();
        let (db, first_segment) = match known {
            Some(known) => known,
            None => {
                let store = Rc::new(RefCell::new(Store::new(history_limit, voters.to_vec())));
                let record = Record::new(Database { store: store.clone(), first_segment: 0 }, 20_480);
                disk.replace(&db_path(folder), vec![record]).await?;
                (store, 0)
            }
        };
        let store = db.borrow().clone();
        let mut wal = Self {
            disk,
            folder: folder.to_string(),
            segments: VecDeque::new(),
            first_segment,
            next_segment: first_segment,
            last_entry: store.applied.0,
            state: HardState::default(),
            db,
        };
        let entries = wal.replay(store.applied.0)?;
        // What a killed run had written may be in the page cache only, and is about to be relied on.
        for (path, _) in wal.segments.clone() {
            wal.disk.sync(&path).await?;
        }
        let mut state = wal.state;
        // A commit index is not synced by itself, but what is in the database was committed.
        if state != HardState::default() || store.applied.0 > 0 {
            state.commit = state.commit.clamp(store.applied.0, wal.last_entry.max(store.applied.0));
            state.term = state.term.max(store.applied.1);
        }
        wal.state = state;
        let (index, term) = store.applied;
        let snapshot = Snapshot { index, term, voters: store.voters.clone(), data: None };
        Ok(Recovered { wal, store, state, snapshot, entries, fresh })
    }

    fn replay(&mut self, after: u64) -> Result<Vec<Log<V>>, DiskError> {
        let mut entries: VecDeque<Log<V>> = VecDeque::new();
        for path in self.disk.list(&wal_prefix(&self.folder)) {
            if segment_number(&path) < self.first_segment {
                self.disk.remove(&path);
                continue;
            }
            for record in self.disk.read(&path)? {
                let Some(append) = record.get::<Append<V>>() else { continue };
                for entry in append.entries.iter().filter(|e| e.index > after) {
                    // A later entry takes the place of an earlier one at its index, and of all after that.
                    while entries.back().is_some_and(|e| e.index >= entry.index) {
                        entries.pop_back();
                    }
                    entries.push_back(entry.clone());
                }
                if let Some(state) = append.state {
                    self.state = state;
                }
            }
            let last = entries.back().map_or(after, |e| e.index);
            self.next_segment = self.next_segment.max(segment_number(&path) + 1);
            self.segments.push_back((path.to_string(), last));
        }
        self.last_entry = entries.back().map_or(after, |e| e.index);
        Ok(entries.into())
    }

    /// Appends entries and state. They are in the page cache afterwards: [`Wal::sync`] puts them on the disk.
    pub fn append(&mut self, entries: &[Log<V>], state: Option<HardState>) -> Result<(), DiskError> {
        if entries.is_empty() && state.is_none() {
            return Ok(());
        }
        if self.segments.is_empty() {
            self.cut()?;
        }
        let bytes = entries.iter().map(|e| e.size() + 16).sum::<u64>() + 32;
        self.last_entry = entries.last().map_or(self.last_entry, |e| e.index);
        self.state = state.unwrap_or(self.state);
        let Some((path, last)) = self.segments.back_mut() else { return Ok(()) };
        *last = (*last).max(self.last_entry);
        self.disk.append(path, Record::new(Append { entries: entries.to_vec(), state }, bytes))
    }
    /// What to sync: the path of the present segment.
    pub fn path(&self) -> Option<String> {
        self.segments.back().map(|(path, _)| path.clone())
    }
    /// Begins a new segment, which repeats the state.
    fn cut(&mut self) -> Result<(), DiskError> {
        let path = format!("{}{:016x}-{:016x}.wal", wal_prefix(&self.folder), self.next_segment, self.last_entry + 1);
        self.next_segment += 1;
        let state = Some(self.state);
        self.disk.append(&path, Record::new(Append::<V> { entries: Vec::new(), state }, 64))?;
        self.segments.push_back((path, self.last_entry));
        Ok(())
    }
    /// The database holds all up to its applied index, on the disk too: segments that end before are removed.
    pub fn release(&mut self) -> Result<(), DiskError> {
        self.cut()?;
        let applied = self.db.borrow().applied.0;
        while self.segments.len() > 1 {
            let Some((path, last)) = self.segments.front() else { break };
            if *last > applied {
                break;
            }
            self.disk.remove(path);
            self.segments.pop_front();
        }
        Ok(())
    }
    /// Puts another store in place of the database: a snapshot from the leader. The log before it is void as soon as
    /// the record is written.
    pub fn replace_db(&mut self, store: Store<V>) -> Result<(), DiskError> {
        self.last_entry = store.applied.0;
        self.first_segment = self.next_segment;
        self.cut()?;
        self.db = Rc::new(RefCell::new(store));
        Ok(())
    }
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }
    /// The database's path and record, to be written with [`Disk::replace`].
    pub fn db_record(&self) -> (String, Record) {
        let bytes = self.db.borrow().size() + 20_480;
        (
            db_path(&self.folder),
            Record::new(Database { store: self.db.clone(), first_segment: self.first_segment }, bytes),
        )
    }
}

fn segment_number(path: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap_or("");
    name.split('-').next().and_then(|n| u64::from_str_radix(n, 16).ok()).unwrap_or(0)
}
