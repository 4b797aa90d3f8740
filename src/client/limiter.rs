//! Rate limiters of work queues (client-go `util/workqueue/default_rate_limiters.go`).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::flowcontrol::TokenBucket;

/// How long a key waits before it is tried again: the longest of what the parts say.
pub struct RateLimiter<K> {
    base: Duration,
    max: Duration,
    bucket: Option<TokenBucket>,
    /// Failures by key; a key leaves when it is forgotten, so the bound is the number of failing objects.
    failures: BTreeMap<K, u32>,
}

impl<K: Ord + Clone> RateLimiter<K> {
    /// `DefaultTypedControllerRateLimiter`: 5 ms doubling to 1000 s for each key, and 10 a second (burst 100) over all.
    pub fn controller_default() -> RateLimiter<K> {
        RateLimiter {
            base: Duration::from_millis(5),
            max: Duration::from_secs(1000),
            bucket: Some(TokenBucket::new(10.0, 100)),
            failures: BTreeMap::new(),
        }
    }

    /// `NewTypedItemExponentialFailureRateLimiter`: only the delay of each key.
    pub fn exponential(base: Duration, max: Duration) -> RateLimiter<K> {
        RateLimiter { base, max, bucket: None, failures: BTreeMap::new() }
    }

    /// Exponential delay for each key with the overall bucket of the controllers.
    pub fn exponential_with_bucket(base: Duration, max: Duration) -> RateLimiter<K> {
        RateLimiter { base, max, bucket: Some(TokenBucket::new(10.0, 100)), failures: BTreeMap::new() }
    }

    /// Counts a failure of `key` and says how long it has to wait (`When`).
    pub fn when(&mut self, now: u64, key: &K) -> Duration {
        let n = self.failures.entry(key.clone()).or_insert(0);
        let exponent = *n;
        *n = n.saturating_add(1);
        let backoff = match 2u128.checked_pow(exponent.min(100)).and_then(|f| f.checked_mul(self.base.as_nanos())) {
            Some(nanos) if nanos < self.max.as_nanos() => Duration::from_nanos(nanos as u64),
            _ => self.max,
        };
        let bucket = self.bucket.as_mut().map_or(Duration::ZERO, |b| b.reserve(now));
        backoff.max(bucket)
    }

    /// The key succeeded: its count starts over (`Forget`).
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    /// How often the key has failed since it was last forgotten (`NumRequeues`).
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_to_the_cap_and_forgets() {
        let mut l = RateLimiter::exponential(Duration::from_millis(5), Duration::from_secs(1000));
        let ms: Vec<u128> = (0..5).map(|_| l.when(0, &"a").as_millis()).collect();
        assert_eq!(ms, [5, 10, 20, 40, 80]);
        for _ in 0..200 {
            l.when(0, &"a");
        }
        assert_eq!(l.when(0, &"a"), Duration::from_secs(1000));
        assert_eq!(l.num_requeues(&"a"), 206);
        l.forget(&"a");
        assert_eq!(l.when(0, &"a").as_millis(), 5);
    }

    #[test]
    fn the_bucket_holds_many_keys_back() {
        let mut l = RateLimiter::controller_default();
        let last = (0..102).map(|i| l.when(0, &i)).last();
        assert_eq!(last, Some(Duration::from_millis(200)));
    }
}
