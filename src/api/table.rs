//! `meta.k8s.io/v1 Table`: what a server prints for `kubectl get`.
//! Inside the world it travels as it is; it becomes JSON only where somebody asks for bytes.

use std::borrow::Cow;

use crate::{AnyRev, Str};

/// One column's definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The heading as the server names it; kubectl prints it in capitals.
    pub name: Cow<'static, str>,
    /// OpenAPI type: `string`, `integer`, `boolean`, `number`, `date`.
    pub type_: Cow<'static, str>,
    /// OpenAPI format; `name` marks the column that kubectl prefixes with the resource.
    pub format: Cow<'static, str>,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
}

impl Column {
    /// A column shown always.
    pub const fn new(name: &'static str, type_: &'static str) -> Column {
        Column { name: Cow::Borrowed(name), type_: Cow::Borrowed(type_), format: Cow::Borrowed(""), priority: 0 }
    }

    /// The column that holds the object's name.
    pub const fn name() -> Column {
        Column {
            name: Cow::Borrowed("Name"),
            type_: Cow::Borrowed("string"),
            format: Cow::Borrowed("name"),
            priority: 0,
        }
    }

    /// A column shown with `-o wide` only.
    pub const fn wide(name: &'static str, type_: &'static str) -> Column {
        Column { name: Cow::Borrowed(name), type_: Cow::Borrowed(type_), format: Cow::Borrowed(""), priority: 1 }
    }
}

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Str(Str),
    /// A whole number.
    Int(i64),
    /// True or false.
    Bool(bool),
    /// Nothing: kubectl prints `<none>`.
    Null,
}

impl From<&str> for Cell {
    fn from(s: &str) -> Cell {
        Cell::Str(Str::from(s))
    }
}
impl From<String> for Cell {
    fn from(s: String) -> Cell {
        Cell::Str(Str::from(s))
    }
}
impl From<&Str> for Cell {
    fn from(s: &Str) -> Cell {
        Cell::Str(s.clone())
    }
}
impl From<i32> for Cell {
    fn from(n: i32) -> Cell {
        Cell::Int(i64::from(n))
    }
}
impl From<i64> for Cell {
    fn from(n: i64) -> Cell {
        Cell::Int(n)
    }
}
impl From<usize> for Cell {
    fn from(n: usize) -> Cell {
        Cell::Int(n as i64)
    }
}
impl From<bool> for Cell {
    fn from(b: bool) -> Cell {
        Cell::Bool(b)
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Str(s) => f.write_str(s),
            Cell::Int(n) => write!(f, "{n}"),
            Cell::Bool(b) => write!(f, "{b}"),
            Cell::Null => f.write_str("<none>"),
        }
    }
}

/// One object's row.
#[derive(Clone)]
pub struct Row {
    /// Values in the order of the columns.
    pub cells: Vec<Cell>,
    /// The object itself (kubectl reads its metadata, and the whole when sorting by JSONPath).
    pub object: AnyRev,
}

/// A table of objects.
#[derive(Clone)]
pub struct Table {
    /// The columns' definitions; watch events after the first may repeat them.
    pub columns: Cow<'static, [Column]>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The list's resource version.
    pub revision: u64,
    /// The token for the next part of a list cut by `limit`; empty at the end.
    pub continue_: Str,
    /// How many objects are left after this part, where known.
    pub remaining: Option<i64>,
}
