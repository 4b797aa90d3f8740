//! An etcd: Raft, multi-version store, watch, write-ahead log, member process, client.
//!
//! It knows nothing of Kubernetes: the values it stores are opaque, and shared with whoever reads them.

pub mod client;
pub mod member;
pub mod raft;
pub mod rpc;
pub mod store;
mod wal;

pub use client::{Client, Ranged, Watch, WatchBatch};
pub use member::{Member, MemberConfig};
pub use rpc::{
    Alarm, Compare, CompareResult, CompareTarget, DeleteRangeRequest, Error, Event, KeyValue, MemberInfo, Op,
    OpResponse, PutRequest, RangeRequest, RangeResponse, Span, Status, TxnRequest, TxnResponse, Value,
};
pub use store::Store;
