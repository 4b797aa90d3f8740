//! Whether a controller's caches have what it wrote itself (`pkg/controller/util/consistency`).

use std::cell::RefCell;
use std::collections::BTreeMap;

use client::Key;

use super::SyncError;

/// The newest revision each key's worker wrote, by resource. Bounded by the keys there are: they are cleared when their
/// objects are gone and when the caches have caught up.
#[derive(Default)]
pub struct Consistency(RefCell<BTreeMap<Key, BTreeMap<&'static str, u64>>>);

impl Consistency {
    /// The key's worker wrote an object of a resource.
    pub fn wrote(&self, key: &Key, resource: &'static str, revision: u64) {
        let mut all = self.0.borrow_mut();
        let newest = all.entry(key.clone()).or_default().entry(resource).or_default();
        *newest = revision.max(*newest);
    }

    /// The key's object is gone.
    pub fn clear(&self, key: &Key) {
        self.0.borrow_mut().remove(key);
    }

    /// An error if a cache, given with the revision it is at, is behind what was written.
    pub fn ensure_ready(&self, key: &Key, caches: &[(&'static str, u64)]) -> Result<(), SyncError> {
        let Some(written) = self.0.borrow().get(key).cloned() else { return Ok(()) };
        for (resource, read) in caches {
            let wrote = written.get(resource).copied().unwrap_or(0);
            if wrote > *read {
                return Err(format!(
                    "read version: {read} is not as new as written version: {wrote} for group resource {resource}"
                )
                .into());
            }
        }
        self.clear(key);
        Ok(())
    }
}
