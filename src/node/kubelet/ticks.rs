//! Moments on a grid, for loops that the real kubelet runs at a fixed period.

use sim::{Duration, Instant};

/// The first moment after `now` of the grid that began at `first`.
pub fn next(first: Instant, period: Duration, now: Instant) -> Instant {
    if now < first {
        return first;
    }
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    let gone = now.as_nanos().saturating_sub(first.as_nanos()) / period;
    Instant::from_nanos(first.as_nanos().saturating_add((gone + 1).saturating_mul(period)))
}

/// The last moment of the grid that began at `first`, not after `now`; none before the first.
pub fn last(first: Instant, period: Duration, now: Instant) -> Option<Instant> {
    if now < first {
        return None;
    }
    let period = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
    let gone = now.as_nanos().saturating_sub(first.as_nanos()) / period;
    Some(Instant::from_nanos(first.as_nanos().saturating_add(gone.saturating_mul(period))))
}

/// `time` and up to half of it more (k8s.io/apimachinery/pkg/util/wait, Jitter with factor 0.5).
pub fn jitter(time: Duration, rng: &mut sim::Rng) -> Duration {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    time + Duration::from_micros(micros / 2 / 1_000 * u64::from(rng.below(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_lies_after_now() {
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let second = Duration::from_secs(1);
        assert_eq!(next(at(300), second, at(100)), at(300));
        assert_eq!(next(at(300), second, at(300)), at(1_300));
        assert_eq!(next(at(300), second, at(1_299)), at(1_300));
        assert_eq!(next(at(300), second, at(9_301)), at(10_300));
    }
}
