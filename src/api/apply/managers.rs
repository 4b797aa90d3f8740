//! The managers of an object's fields, as `metadata.managedFields` keeps them.
use super::set::{Path, Set};
use crate::SortSmall;
use crate::go;
use crate::meta_v1::{ManagedFieldsEntry, StatusCause};
use crate::value::{List, Raw, Str, Time};
use std::collections::BTreeMap;
use std::fmt;

/// How a manager came by its fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Operation {
    Apply,
    Update,
}
impl Operation {
    /// The word in `operation`.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Who manages fields. An applier is one manager whatever API version it uses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Manager {
    /// The name, `kubectl`.
    pub name: Str,
    /// How it writes.
    pub operation: Operation,
    /// The API version of its updates; empty for appliers.
    pub api_version: Str,
    /// The subresource that it writes, empty for the object.
    pub subresource: Str,
}
impl fmt::Display for Manager {
    /// As in conflicts: `"kubectl" with subresource "scale" using apps/v1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&go::quote(&self.name))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", go::quote(&self.subresource))?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// What a manager manages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Owned {
    pub set: Set,
    /// The API version that the set is of.
    pub api_version: Str,
    pub time: Time,
}

/// The managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managers {
    pub(super) owned: BTreeMap<Manager, Owned>,
}

/// A field that an apply would take from another manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// Whose it is.
    pub manager: Manager,
    /// Which field.
    pub path: Path,
}
impl Conflict {
    pub(super) fn cause(&self) -> StatusCause {
        StatusCause {
            reason: "FieldManagerConflict".into(),
            message: format!("conflict with {}", self.manager).into(),
            field: self.path.to_string().into(),
        }
    }
}

/// The message of the conflicts, as the API server words it.
pub(super) fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", one.manager, one.path);
    }
    let mut by_manager: BTreeMap<&Manager, Vec<&Path>> = BTreeMap::new();
    for c in conflicts {
        by_manager.entry(&c.manager).or_default().push(&c.path);
    }
    let mut lines = Vec::new();
    for (m, paths) in by_manager {
        lines.push(format!("conflicts with {m}:"));
        lines.extend(paths.iter().map(|p| format!("- {p}")));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

impl Managers {
    /// Reads `metadata.managedFields`.
    ///
    /// # Errors
    /// Entries that make no sense.
    pub fn decode(entries: &[ManagedFieldsEntry]) -> Result<Managers, String> {
        let mut owned = BTreeMap::new();
        for (i, e) in entries.iter().enumerate() {
            let operation = match e.operation.as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".to_string()),
            };
            if e.api_version.is_empty() {
                return Err("apiVersion must not be empty".to_string());
            }
            match e.fields_type.as_str() {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {i}")),
                other => {
                    return Err(format!("invalid fieldsType {} in managed fields entry {i}", go::quote(other)));
                }
            }
            let set = Set::from_fields_v1(e.fields_v1.json().unwrap_or("{}"))?;
            let manager = Manager {
                name: e.manager.clone(),
                operation,
                api_version: if operation == Operation::Apply { Str::new() } else { e.api_version.clone() },
                subresource: e.subresource.clone(),
            };
            owned.insert(manager, Owned { set, api_version: e.api_version.clone(), time: e.time });
        }
        Ok(Managers { owned })
    }
    /// The form of `metadata.managedFields`: appliers first, then by time and name; nil if there is none.
    pub fn encode(&self) -> List<ManagedFieldsEntry> {
        if self.owned.is_empty() {
            return List::new();
        }
        let mut entries: Vec<ManagedFieldsEntry> = self
            .owned
            .iter()
            .map(|(m, o)| ManagedFieldsEntry {
                manager: m.name.clone(),
                operation: m.operation.name().into(),
                api_version: o.api_version.clone(),
                time: o.time,
                fields_type: "FieldsV1".into(),
                fields_v1: Raw::from_json(&o.set.to_fields_v1()),
                subresource: m.subresource.clone(),
            })
            .collect();
        let key = |e: &ManagedFieldsEntry| {
            (
                e.operation.clone(),
                e.time.unix().unwrap_or(0),
                e.manager.clone(),
                e.api_version.clone(),
                e.subresource.clone(),
            )
        };
        entries.sort_small_by_key(key);
        entries.into()
    }
    /// Whether nobody manages anything.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }
    /// The fields of a manager.
    pub fn fields(&self, m: &Manager) -> Option<&Set> {
        self.owned.get(m).map(|o| &o.set)
    }
    /// The managers.
    pub fn iter(&self) -> impl Iterator<Item = (&Manager, &Set)> {
        self.owned.iter().map(|(m, o)| (m, &o.set))
    }
    pub(super) fn drop_empty(&mut self) {
        self.owned.retain(|_, o| !o.set.is_empty());
    }

    /// Joins the oldest updaters into one, so that at most ten are kept (`capManagersManager`).
    pub(super) fn cap(&mut self) {
        const MAX_UPDATERS: usize = 10;
        let mut updaters: Vec<(Manager, Time)> = self
            .owned
            .iter()
            .filter(|(m, _)| m.operation == Operation::Update)
            .map(|(m, o)| (m.clone(), o.time))
            .collect();
        let mut count = updaters.len();
        if count <= MAX_UPDATERS {
            return;
        }
        updaters.sort_small_by_key(|(m, t)| (t.unix().unwrap_or(0), m.clone()));
        let mut first: BTreeMap<Str, Manager> = BTreeMap::new();
        for (m, time) in updaters {
            if count <= MAX_UPDATERS {
                return;
            }
            let Some(version) = self.owned.get(&m).map(|o| o.api_version.clone()) else { continue };
            let bucket = Manager {
                name: "ancient-changes".into(),
                operation: Operation::Update,
                api_version: version.clone(),
                subresource: Str::new(),
            };
            let Some(f) = first.get(&version) else {
                first.insert(version, m);
                continue;
            };
            if !self.owned.contains_key(&bucket)
                && let Some(o) = self.owned.remove(f)
            {
                self.owned.insert(bucket.clone(), o);
            }
            if let Some(o) = self.owned.remove(&m)
                && let Some(b) = self.owned.get_mut(&bucket)
            {
                b.set = o.set.union(&b.set);
                b.time = time;
                count -= 1;
            }
        }
    }
}
