//! Sorting that is compiled once. The standard sort is some 7 KiB of wasm for every type and comparison; here only the
//! indexes are sorted, and the items are then moved to their places.
//!
//! Any comparison will do: Go's sort takes what is no total order, and Kubernetes gives it some (the ages of pods, for
//! one), where the standard sort panics.

use std::cmp::Ordering;

/// Stable sorting of slices for code that is downloaded. For hot paths the standard methods are faster.
pub trait SortSmall<T> {
    /// As [`slice::sort`].
    fn sort_small(&mut self)
    where
        T: Ord;
    /// As [`slice::sort_by`].
    fn sort_small_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);
    /// As [`slice::sort_by_cached_key`].
    fn sort_small_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> SortSmall<T> for [T] {
    fn sort_small(&mut self)
    where
        T: Ord,
    {
        self.sort_small_by(T::cmp);
    }

    fn sort_small_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let places = places(self.len(), &mut |a, b| match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => compare(a, b),
            _ => Ordering::Equal,
        });
        arrange(places, &mut |a, b| self.swap(a, b));
    }

    fn sort_small_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K) {
        let keys: Vec<K> = self.iter().map(key).collect();
        let places = places(self.len(), &mut |a, b| keys.get(a).cmp(&keys.get(b)));
        arrange(places, &mut |a, b| self.swap(a, b));
    }
}

/// For each of `len` items, where it belongs.
fn places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let order = merged(len, compare);
    let mut places = vec![0; len];
    for (place, item) in order.into_iter().enumerate() {
        if let Some(p) = places.get_mut(item) {
            *p = place;
        }
    }
    places
}

/// So many indexes in order, by merging ever longer runs.
fn merged(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    let mut run = 1;
    while run < len {
        let mut longer = Vec::with_capacity(len);
        for pair in order.chunks(2 * run) {
            let (mut left, mut right) = pair.split_at(run.min(pair.len()));
            while let (Some((a, after_a)), Some((b, after_b))) = (left.split_first(), right.split_first()) {
                if compare(*a, *b) == Ordering::Greater {
                    longer.push(*b);
                    right = after_b;
                } else {
                    longer.push(*a);
                    left = after_a;
                }
            }
            longer.extend_from_slice(left);
            longer.extend_from_slice(right);
        }
        order = longer;
        run *= 2;
    }
    order
}

/// Swaps items until each is at its place.
fn arrange(mut places: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for at in 0..places.len() {
        while let Some(&place) = places.get(at)
            && place != at
        {
            swap(at, place);
            places.swap(at, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_no_order() {
        let mut items: Vec<u32> = (0..100).collect();
        // Stone, paper, scissors.
        items
            .sort_small_by(|a, b| [Ordering::Equal, Ordering::Less, Ordering::Greater][((b + 3 - a % 3) % 3) as usize]);
        items.sort_small();
        assert!(items.iter().copied().eq(0..100));
    }

    #[test]
    fn sorts_as_the_standard_library_does() {
        // A linear congruential generator is enough to mix small numbers.
        let mut state = 1u64;
        for len in 0..60 {
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % 16
            };
            let items: Vec<(u64, usize)> = (0..len).map(|i| (next(), i)).collect();
            let (mut ours, mut theirs) = (items.clone(), items.clone());
            let later = |a: &(u64, usize), b: &(u64, usize)| b.0.cmp(&a.0);
            ours.sort_small_by(later);
            theirs.sort_by(later);
            assert_eq!(ours, theirs);
            ours.sort_small_by_key(|i| i.0 / 2);
            theirs.sort_by_key(|i| i.0 / 2);
            assert_eq!(ours, theirs);
            ours.sort_small();
            theirs.sort();
            assert_eq!(ours, theirs);
        }
    }
}
