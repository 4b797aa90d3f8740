//! Tables of `kubectl get`, as the server made them.

use super::human::quote;
use super::tabwriter::TabWriter;
use crate::error::Error;
use crate::jsonpath::{JsonPath, relaxed};
use crate::server::value_of;
use crate::value::Value;
use api::AnyRev;
use api::SortSmall;
use std::cmp::Ordering;

/// A column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Its header.
    pub name: String,
    /// `string`, `integer`.
    pub kind: String,
    /// `name` for the object's name.
    pub format: String,
    /// 0 is always shown, others with `-o wide`.
    pub priority: i64,
}

/// A row.
#[derive(Clone)]
pub struct Row {
    /// The cells; Null is empty.
    pub cells: Vec<Value>,
    /// The object.
    pub object: Option<AnyRev>,
}

/// A table.
#[derive(Clone, Default)]
pub struct Table {
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// What to print beside the columns.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `--no-headers`
    pub no_headers: bool,
    /// `-o wide`
    pub wide: bool,
    /// `-A`
    pub namespace: bool,
    /// The kind before names, when several kinds are printed: `deployment.apps`.
    pub kind: Option<String>,
    /// `--show-labels`
    pub show_labels: bool,
    /// `-L`
    pub label_columns: Vec<String>,
}

/// `printers.HumanReadablePrinter`.
pub struct TablePrinter {
    /// What to print.
    pub options: Options,
    last: Vec<Column>,
    printed_headers: bool,
}

impl TablePrinter {
    /// A printer that has printed nothing.
    pub fn new(options: Options) -> Self {
        TablePrinter { options, last: Vec::new(), printed_headers: false }
    }

    /// Prints a table; headers only where they differ from the last ones.
    pub fn print(&mut self, mut table: Table, event: Option<&str>, w: &mut TabWriter) {
        let mut no_headers = self.options.no_headers;
        if self.printed_headers && (table.columns.is_empty() || table.columns == self.last) {
            no_headers = true;
        }
        if table.columns.is_empty() {
            table.columns = self.last.clone();
        } else if table.columns != self.last {
            self.last = table.columns.clone();
            self.printed_headers = false;
        }
        if table.rows.is_empty() {
            return;
        }
        self.printed_headers = true;
        let o = &self.options;
        let name_column = table.columns.iter().position(|c| c.format == "name" && c.kind == "string");
        let shown = |c: &Column| o.wide || c.priority == 0;
        if !no_headers {
            let mut headers: Vec<String> = Vec::new();
            if event.is_some() {
                headers.push("EVENT".into());
            }
            if o.namespace {
                headers.push("NAMESPACE".into());
            }
            headers.extend(table.columns.iter().filter(|c| shown(c)).map(|c| c.name.to_uppercase()));
            for l in &o.label_columns {
                headers.push(l.rsplit('/').next().unwrap_or(l).to_uppercase());
            }
            if o.show_labels {
                headers.push("LABELS".into());
            }
            w.write(&format!("{}\n", headers.join("\t")));
        }
        let labels = o.label_columns.len() + usize::from(o.show_labels);
        for row in &table.rows {
            let meta = row.object.as_ref().and_then(|obj| obj.body.metadata());
            let mut cells: Vec<String> = Vec::new();
            if let Some(e) = event {
                cells.push(format!("{e:<8}"));
            }
            if o.namespace {
                cells.push(meta.map(|m| m.namespace.to_string()).unwrap_or_default());
            }
            for (i, c) in table.columns.iter().enumerate() {
                if !shown(c) {
                    continue;
                }
                let mut text = match row.cells.get(i) {
                    None | Some(Value::Null) => String::new(),
                    Some(v) => v.go_v(),
                };
                if let (Some(kind), true) = (&o.kind, Some(i) == name_column) {
                    text = format!("{kind}/{text}");
                }
                cells.push(cell_text(&text));
            }
            // Cells without a column come before the labels, and take their place.
            let full = cells.len() + labels;
            let extra = row.cells.iter().skip(table.columns.len()).map(|v| cell_text(&v.go_v()));
            cells.extend(extra.take(labels));
            for l in &o.label_columns {
                let value = meta.and_then(|m| m.labels.get(l)).map(|v| v.to_string());
                cells.push(value.unwrap_or_default());
            }
            if o.show_labels {
                let labels: Vec<String> =
                    meta.map(|m| m.labels.iter().map(|(k, v)| format!("{k}={v}")).collect()).unwrap_or_default();
                cells.push(if labels.is_empty() { "<none>".into() } else { labels.join(",") });
            }
            cells.truncate(full);
            w.write(&format!("{}\n", cells.join("\t")));
        }
    }
}

/// A cell up to its first line break.
fn cell_text(text: &str) -> String {
    match text.find(['\n', '\r', '\u{c}']) {
        Some(at) => {
            format!("{}...", crate::describe::writer::escaped(text.get(..at).unwrap_or("")))
        }
        None => crate::describe::writer::escaped(text).into_owned(),
    }
}

/// `NewTableSorter` and its sort: by what a path finds in the rows' objects.
pub fn sort_table(table: &mut Table, field: &str) -> Result<(), Error> {
    let parser = JsonPath::parse_lenient(field).map_err(|e| Error::text(format!("sorting error: {e}")))?;
    let mut keyed: Vec<(Option<Value>, Row)> = Vec::new();
    for row in table.rows.drain(..) {
        let object = row.object.as_ref().map(value_of).unwrap_or_default();
        keyed.push((first(&parser, &object)?, row));
    }
    if !keyed.is_empty() && keyed.iter().all(|k| k.0.is_none()) {
        return Err(not_found(field));
    }
    sort_by(&mut keyed)?;
    table.rows = keyed.into_iter().map(|k| k.1).collect();
    Ok(())
}

/// `SortObjects`.
pub fn sort_objects(objects: &mut Vec<Value>, field: &str) -> Result<(), Error> {
    if objects.is_empty() {
        return Ok(());
    }
    let field = relaxed(field).map_err(Error::Text)?;
    let parser = JsonPath::parse_lenient(&field).map_err(Error::Text)?;
    let mut keyed: Vec<(Option<Value>, Value)> = Vec::new();
    for o in objects.drain(..) {
        keyed.push((first(&parser, &o)?, o));
    }
    if keyed.iter().all(|k| k.0.is_none()) {
        return Err(not_found(&field));
    }
    sort_by(&mut keyed)?;
    *objects = keyed.into_iter().map(|k| k.1).collect();
    Ok(())
}

fn not_found(field: &str) -> Error {
    Error::text(format!("couldn't find any field with path {} in the list of objects", quote(field)))
}

fn first(parser: &JsonPath, object: &Value) -> Result<Option<Value>, Error> {
    let found = parser.find(object).map_err(Error::Text)?;
    Ok(found.into_iter().next().and_then(|r| r.into_iter().next()).map(|v| v.into_owned()))
}

fn sort_by<T>(keyed: &mut [(Option<Value>, T)]) -> Result<(), Error> {
    let unsortable = keyed.iter().find_map(|k| match &k.0 {
        Some(v @ Value::Object(_)) => Some(v.go_type()),
        _ => None,
    });
    if let Some(kind) = unsortable {
        return Err(Error::text(format!("unsortable type: {kind}")));
    }
    keyed.sort_small_by(|a, b| match (&a.0, &b.0) {
        (None, None) => Ordering::Equal,
        (None, _) => Ordering::Less,
        (_, None) => Ordering::Greater,
        (Some(a), Some(b)) => compare(a, b),
    });
    Ok(())
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::String(a), Value::String(b)) => match (api::Quantity::parse(a), api::Quantity::parse(b)) {
            (Ok(x), Ok(y)) => x.cmp(&y),
            _ => a.cmp(b),
        },
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        _ => Ordering::Equal,
    }
}
