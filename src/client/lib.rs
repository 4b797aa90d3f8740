//! What client-go is: requests with rate limits, reflector, informer, lister, work queue, leader election, event
//! recorder; carries the causes of each write.

mod causes;
mod client;
mod correlator;
pub mod events;
pub mod flowcontrol;
pub mod healthz;
mod informer;
mod key;
pub mod klog;
mod leaderelection;
mod limiter;
mod lru;
mod record;
mod reflector;
mod store;
mod streams;
mod tally;
mod transport;
mod url;
mod workqueue;

#[cfg(test)]
mod tests;

pub use causes::{Causes, MAX_CAUSES};
pub use client::{Client, ClientConfig};
pub use events::EventsV1Recorder;
pub use informer::{AnyDelta, Delta, DynInformer, Informer, InformerOptions};
pub use key::Key;
pub use leaderelection::{LeaderElectionConfig, LeaderElector};
pub use limiter::RateLimiter;
pub use record::{EventRecorder, object_reference};
pub use store::Lister;
pub use streams::{ByteStream, StreamEvent, Watch};
pub use tally::Tally;
pub use workqueue::{QueueView, Work, WorkQueue};
