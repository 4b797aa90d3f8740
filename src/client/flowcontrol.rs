//! Token buckets, as `golang.org/x/time/rate` and client-go's `util/flowcontrol` count them.
//!
//! Pure: the caller says what time it is, in nanoseconds since any fixed point.

use std::time::Duration;

/// A token bucket: `burst` tokens at most, refilled with `qps` tokens a second.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    qps: f64,
    burst: f64,
    tokens: f64,
    /// When `tokens` was last brought up to date.
    last: u64,
}

const NANOS: f64 = 1e9;

impl TokenBucket {
    /// A full bucket. A `qps` of zero never refills.
    pub fn new(qps: f64, burst: u32) -> TokenBucket {
        TokenBucket { qps, burst: f64::from(burst), tokens: f64::from(burst), last: 0 }
    }

    fn advance(&mut self, now: u64) {
        if now > self.last {
            let elapsed = (now - self.last) as f64 / NANOS;
            self.tokens = (self.tokens + elapsed * self.qps).min(self.burst);
            self.last = now;
        }
    }

    /// Takes a token if one is there (`TryAccept`).
    pub fn try_accept(&mut self, now: u64) -> bool {
        self.advance(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            true
        } else {
            false
        }
    }

    /// Takes a token, into debt if need be, and says how long to wait until it may be used (`Reserve().Delay()`).
    pub fn reserve(&mut self, now: u64) -> Duration {
        self.advance(now);
        self.tokens -= 1.0;
        if self.tokens >= 0.0 || self.qps <= 0.0 {
            return Duration::ZERO;
        }
        Duration::from_nanos((-self.tokens / self.qps * NANOS) as u64)
    }

    /// Changes the rate; what has gathered so far stays (`SetLimitAt`).
    pub fn set_qps(&mut self, now: u64, qps: f64) {
        self.advance(now);
        self.qps = qps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_then_rate() {
        let mut b = TokenBucket::new(20.0, 30);
        let delays: Vec<u128> = (0..33).map(|_| b.reserve(1).as_millis()).collect();
        assert!(delays[..30].iter().all(|d| *d == 0));
        assert_eq!(delays[30..], [50, 100, 150]);
        // A second later twenty tokens have come, three of which were owed.
        assert_eq!((0..18).filter(|_| b.try_accept(1_000_000_001)).count(), 17);
    }
}
