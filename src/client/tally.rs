//! How many objects of a cache are of which class, kept right with every change, so that a loop that only counts looks
//! at no object.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use api::Str;
use api::object::Object;

/// The numbers of a cache's objects by group and, in that, by class. Clones share them.
///
/// Its bound is the number of objects.
pub struct Tally<C> {
    counts: Rc<RefCell<BTreeMap<Str, BTreeMap<C, usize>>>>,
}

impl<C> Clone for Tally<C> {
    fn clone(&self) -> Self {
        Tally { counts: self.counts.clone() }
    }
}

impl<C> Default for Tally<C> {
    fn default() -> Self {
        Tally { counts: Rc::default() }
    }
}

impl<C: Ord + Clone> Tally<C> {
    /// The classes of a group that have objects, each with their number.
    pub fn of(&self, group: &str) -> Vec<(C, usize)> {
        let counts = self.counts.borrow();
        counts.get(group).into_iter().flatten().map(|(class, n)| (class.clone(), *n)).collect()
    }

    fn add(&self, group: Str, class: C) {
        *self.counts.borrow_mut().entry(group).or_default().entry(class).or_insert(0) += 1;
    }

    fn remove(&self, group: &Str, class: &C) {
        let mut counts = self.counts.borrow_mut();
        let Some(classes) = counts.get_mut(group) else { return };
        match classes.get_mut(class) {
            Some(n) if *n > 1 => *n -= 1,
            _ => {
                classes.remove(class);
                if classes.is_empty() {
                    counts.remove(group);
                }
            }
        }
    }
}

/// What a cache tells of every change.
pub(crate) trait Follow {
    /// An object was `old` and is `new`.
    fn changed(&self, old: Option<&dyn Object>, new: Option<&dyn Object>);
}

/// A tally with what says the group and the class of an object.
pub(crate) struct Counted<C, F> {
    pub tally: Tally<C>,
    pub class: F,
}

impl<C: Ord + Clone, F: Fn(&dyn Object) -> Option<(Str, C)>> Follow for Counted<C, F> {
    fn changed(&self, old: Option<&dyn Object>, new: Option<&dyn Object>) {
        let (old, new) = (old.and_then(&self.class), new.and_then(&self.class));
        if old == new {
            return;
        }
        if let Some((group, class)) = old {
            self.tally.remove(&group, &class);
        }
        if let Some((group, class)) = new {
            self.tally.add(group, class);
        }
    }
}
