//! An etcd: Raft, multi-version store, watch, member process.

pub mod raft;
