//! Go's `map[string]V`.
use super::Str;
use std::fmt;
use std::rc::Rc;

/// Go `map[string]V` (and maps of named strings): sorted by key, shared and copy-on-write, nil and empty apart.
pub struct Map<V> {
    entries: Option<Rc<Vec<(Str, V)>>>,
}

impl<V> Map<V> {
    /// The nil map.
    pub const fn new() -> Self {
        Map { entries: None }
    }
    /// The empty map that is not nil.
    pub fn empty() -> Self {
        Map { entries: Some(Rc::new(Vec::new())) }
    }
    /// A map of entries that are sorted by key, each key once.
    pub(crate) fn from_sorted(entries: Vec<(Str, V)>) -> Self {
        Map { entries: Some(Rc::new(entries)) }
    }
    /// Whether it is nil.
    pub fn is_nil(&self) -> bool {
        self.entries.is_none()
    }
    /// The entries, sorted by key.
    pub fn entries(&self) -> &[(Str, V)] {
        match &self.entries {
            Some(v) => v,
            None => &[],
        }
    }
    /// The entries, sorted by key.
    pub fn iter(&self) -> std::slice::Iter<'_, (Str, V)> {
        self.entries().iter()
    }
    /// The keys, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Str> {
        self.iter().map(|e| &e.0)
    }
    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|e| &e.1)
    }
    fn find(&self, key: &str) -> Result<usize, usize> {
        self.entries().binary_search_by(|e| e.0.as_str().cmp(key))
    }
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&V> {
        self.find(key).ok().and_then(|i| self.entries().get(i)).map(|e| &e.1)
    }
    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }
    /// How many entries.
    pub fn len(&self) -> usize {
        self.entries().len()
    }
    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }
    /// Whether both are one allocation (or both nil).
    pub fn same(&self, other: &Self) -> bool {
        match (&self.entries, &other.entries) {
            (None, None) => true,
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}
impl<V: Clone> Map<V> {
    fn make(&mut self) -> &mut Vec<(Str, V)> {
        Rc::make_mut(self.entries.get_or_insert_with(Default::default))
    }
    /// Sets a key; gives back what was there.
    pub fn insert(&mut self, key: impl Into<Str>, value: V) -> Option<V> {
        let key = key.into();
        let found = self.find(&key);
        let v = self.make();
        match found {
            Ok(i) => v.get_mut(i).map(|e| std::mem::replace(&mut e.1, value)),
            Err(i) => {
                v.insert(i, (key, value));
                None
            }
        }
    }
    /// Removes a key; gives back what was there.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        let i = self.find(key).ok()?;
        Some(self.make().remove(i).1)
    }
    /// The value of a key, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let i = self.find(key).ok()?;
        self.make().get_mut(i).map(|e| &mut e.1)
    }
    /// The values with their keys, to change.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Str, &mut V)> {
        let entries: &mut [(Str, V)] = match &mut self.entries {
            Some(v) => Rc::make_mut(v).as_mut_slice(),
            None => &mut [],
        };
        entries.iter_mut().map(|e| (&e.0, &mut e.1))
    }
    /// The value of a key, set by `value` if it is not there.
    pub fn entry(&mut self, key: impl Into<Str>, value: impl FnOnce() -> V) -> &mut V {
        let key = key.into();
        let found = self.find(&key);
        let v = self.make();
        let i = match found {
            Ok(i) => i,
            Err(i) => {
                v.insert(i, (key, value()));
                i
            }
        };
        &mut v[i].1
    }
    /// Keeps the entries for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Str, &V) -> bool) {
        if self.iter().any(|(k, v)| !keep(k, v)) {
            self.make().retain(|(k, v)| keep(k, v));
        }
    }
    /// Gives back unused room.
    pub(crate) fn fit(&mut self) {
        if let Some(v) = self.entries.as_mut().and_then(Rc::get_mut) {
            v.shrink_to_fit()
        }
    }
}
impl<V> Clone for Map<V> {
    fn clone(&self) -> Self {
        Map { entries: self.entries.clone() }
    }
}
impl<V> Default for Map<V> {
    fn default() -> Self {
        Map::new()
    }
}
impl<K: Into<Str>, V: Clone> FromIterator<(K, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(i: I) -> Self {
        let mut m = Map::empty();
        for (k, v) in i {
            m.insert(k, v);
        }
        m
    }
}
impl<K: Into<Str>, V: Clone, const N: usize> From<[(K, V); N]> for Map<V> {
    fn from(v: [(K, V); N]) -> Self {
        v.into_iter().collect()
    }
}
impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = &'a (Str, V);
    type IntoIter = std::slice::Iter<'a, (Str, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
impl<V: PartialEq> PartialEq for Map<V> {
    /// As Kubernetes' semantic equality: nil equals empty.
    fn eq(&self, o: &Self) -> bool {
        self.same(o) || self.entries() == o.entries()
    }
}
impl<V: Eq> Eq for Map<V> {}
impl<V: Ord> PartialOrd for Map<V> {
    fn partial_cmp(&self, o: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(o))
    }
}
impl<V: Ord> Ord for Map<V> {
    fn cmp(&self, o: &Self) -> std::cmp::Ordering {
        if self.same(o) { std::cmp::Ordering::Equal } else { self.entries().cmp(o.entries()) }
    }
}
impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|e| (&e.0, &e.1))).finish()
    }
}
