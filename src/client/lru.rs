//! A bounded map that drops what was used longest ago (groupcache's `lru`).

use std::collections::BTreeMap;

/// Holds at most `capacity` entries.
pub struct Lru<K, V> {
    capacity: usize,
    clock: u64,
    entries: BTreeMap<K, (u64, V)>,
    order: BTreeMap<u64, K>,
}

impl<K: Ord + Clone, V> Lru<K, V> {
    /// An empty map for `capacity` entries.
    pub fn new(capacity: usize) -> Lru<K, V> {
        Lru { capacity, clock: 0, entries: BTreeMap::new(), order: BTreeMap::new() }
    }

    /// The entry of `key`, which becomes the most recently used.
    pub fn get(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.order.remove(used);
        self.clock += 1;
        *used = self.clock;
        self.order.insert(self.clock, key.clone());
        Some(value)
    }

    /// Sets the entry of `key` and makes it the most recently used; the oldest falls out when full.
    pub fn insert(&mut self, key: K, value: V) {
        self.clock += 1;
        if let Some((used, _)) = self.entries.insert(key.clone(), (self.clock, value)) {
            self.order.remove(&used);
        }
        self.order.insert(self.clock, key);
        while self.entries.len() > self.capacity {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_the_least_recently_used() {
        let mut lru = Lru::new(2);
        lru.insert("a", 1);
        lru.insert("b", 2);
        assert_eq!(lru.get(&"a").copied(), Some(1));
        lru.insert("c", 3);
        assert!(lru.get(&"b").is_none());
        assert_eq!(lru.get(&"c").copied(), Some(3));
    }
}
