//! Creations that begin carefully: what fails for one fails for all, and need not be tried a thousand times.

use futures_util::future::join_all;

/// Calls `call` with 0, 1, 2 and so on below `count`: one at first, then two at once, then four, and no more after a
/// batch with an error (`slowStartBatch`). Gives how many calls went well, and the first error.
pub async fn slow_start_batch<E>(count: usize, call: impl AsyncFn(usize) -> Result<(), E>) -> (usize, Option<E>) {
    let (mut at, mut batch, mut good, mut failure) = (0, 1, 0, None);
    while at < count && failure.is_none() {
        let end = count.min(at + batch);
        for outcome in join_all((at..end).map(|n| call(n))).await {
            match outcome {
                Ok(()) => good += 1,
                Err(err) => failure = failure.or(Some(err)),
            }
        }
        at = end;
        batch *= 2;
    }
    (good, failure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::cell::{Cell, RefCell};

    /// What a quota of so many makes of so many creations: those tried, how many went well, the first that didn't.
    fn with_quota(count: usize, quota: usize) -> (Vec<usize>, usize, Option<usize>) {
        let (tried, made) = (RefCell::new(Vec::new()), Cell::new(0));
        let call = async |n: usize| {
            tried.borrow_mut().push(n);
            if made.get() < quota {
                made.set(made.get() + 1);
                Ok(())
            } else {
                Err(n)
            }
        };
        let (good, failure) = slow_start_batch(count, call).now_or_never().unwrap();
        (tried.into_inner(), good, failure)
    }

    #[test]
    fn batches_double_and_stop_at_an_error() {
        let first = |n: usize| (0..n).collect::<Vec<_>>();
        // One that fails is all that is tried.
        assert_eq!(with_quota(1000, 0), (first(1), 0, Some(0)));
        // 1 and 2 go well, of 4 the last three fail: 7 tried, not ten.
        assert_eq!(with_quota(10, 4), (first(7), 4, Some(4)));
        assert_eq!(with_quota(10, 3), (first(7), 3, Some(3)));
        // 1 + 2 + 4 + 8 + 16 + 32 + 64 = 127 hold a quota of 100.
        assert_eq!(with_quota(500, 100), (first(127), 100, Some(100)));
        // The last batch is what is left.
        assert_eq!(with_quota(10, 10), (first(10), 10, None));
        assert_eq!(with_quota(0, 0), (first(0), 0, None));
    }
}
