//! The row of kinds without a printer of their own: name and time of creation
//! (apiserver's rest.DefaultTableConvertor).

use api::Object;
use api::table::{Cell, Column};

pub static CREATED_AT: &[Column] = &[Column::name(), Column::new("Created At", "date")];

/// Name and RFC 3339 creation time.
pub fn created_at(object: &dyn Object) -> Vec<Cell> {
    match object.metadata() {
        Some(metadata) => {
            vec![Cell::from(&metadata.name), Cell::from(metadata.creation_timestamp.to_string())]
        }
        None => vec![Cell::Null, Cell::Null],
    }
}
