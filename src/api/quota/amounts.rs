//! Sums and comparisons of resource lists (apiserver's pkg/quota/v1/resources.go).

use crate::{Map, Quantity, Str};

/// Quantities by resource name.
pub type ResourceList = Map<Quantity>;

/// `a + b`, a resource of either.
pub fn add(a: &ResourceList, b: &ResourceList) -> ResourceList {
    let mut sum = a.clone();
    add_to(&mut sum, b);
    sum
}

/// Adds `more` to `sum`.
pub fn add_to(sum: &mut ResourceList, more: &ResourceList) {
    for (name, quantity) in more {
        match sum.get_mut(name) {
            Some(amount) => amount.add(quantity),
            None => {
                sum.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// Raises `most` to `other` where that is more.
pub fn raise(most: &mut ResourceList, other: &ResourceList) {
    for (name, quantity) in other {
        if most.get(name).is_none_or(|amount| quantity > amount) {
            most.insert(name.clone(), quantity.clone());
        }
    }
}

/// `a - b`, nothing below zero.
pub fn subtract_not_below_zero(a: &ResourceList, b: &ResourceList) -> ResourceList {
    let zero = Quantity::parse("0").unwrap_or_default();
    let mut rest = ResourceList::default();
    for (name, quantity) in a {
        let mut amount = quantity.clone();
        if let Some(other) = b.get(name) {
            amount.sub(other);
        }
        rest.insert(name.clone(), if amount.sign() > 0 { amount } else { zero.clone() });
    }
    for name in b.keys().filter(|name| !a.contains_key(name)) {
        rest.insert(name.clone(), zero.clone());
    }
    rest
}

/// The amounts of these resources only.
pub fn mask(list: &ResourceList, names: &[Str]) -> ResourceList {
    list.iter().filter(|(name, _)| names.contains(name)).cloned().collect()
}

/// The amounts that are not zero.
pub fn without_zeros(list: &ResourceList) -> ResourceList {
    list.iter().filter(|(_, quantity)| !quantity.is_zero()).cloned().collect()
}

/// The resources of which there is less than nothing.
pub fn negative(list: &ResourceList) -> Vec<Str> {
    list.iter().filter(|(_, quantity)| quantity.sign() < 0).map(|(name, _)| name.clone()).collect()
}

/// The resources of which `used` has more than `hard` allows.
pub fn exceeded(used: &ResourceList, hard: &ResourceList) -> Vec<Str> {
    let over = |(name, limit): &&(Str, Quantity)| used.get(name).is_some_and(|amount| amount > limit);
    hard.iter().filter(over).map(|(name, _)| name.clone()).collect()
}

/// The resources' names, sorted.
pub fn names(list: &ResourceList) -> Vec<Str> {
    list.keys().cloned().collect()
}
