//! What client-go is: requests with rate limits, reflector, informer, lister, work queue, leader election, event
//! recorder; carries the causes of each write.

mod causes;
pub mod flowcontrol;
pub mod klog;
mod limiter;
mod lru;
mod workqueue;

pub use causes::{Causes, MAX_CAUSES};
pub use limiter::RateLimiter;
pub use workqueue::{QueueView, Work, WorkQueue};
