//! Raft without input or output, in the shape of etcd-io/raft v3.6.
//!
//! The owner gives it messages ([`Raft::step`]), time ([`Raft::tick`]) and proposals, and takes from it what is to be
//! done ([`Raft::ready`]): entries and state to persist, messages to send, entries to apply; then says that it is done
//! ([`Raft::advance`]). Elections are with pre-vote and check-quorum, replication is pipelined with flow control,
//! configuration changes are one member at a time, reads are linearizable through the read index.
//!
//! It never reads a clock and draws its randomised election timeouts from the generator it is given.

#[cfg(test)]
mod chaos_tests;
mod core;
mod describe;
mod lead;
mod log;
mod progress;
mod read_only;
mod ready;
mod step;
#[cfg(test)]
mod tests;
mod types;

pub use self::core::{Config, Raft};
pub use describe::{describe_entry, describe_message, describe_ready};
pub use progress::{Progress, ProgressState};
pub use ready::Ready;
pub use types::{
    ConfChange, Entry, EntryData, HardState, Level, Message, MessageKind, NONE, NodeId, Payload, ReadState, Role,
    Snapshot, SoftState, StepError,
};
