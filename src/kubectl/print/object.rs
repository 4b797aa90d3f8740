//! Printers of objects, chosen by `-o` (`genericclioptions.PrintFlags` and kubectl get's own).

use super::tabwriter::{TABLE, TabWriter};
use crate::error::Error;
use crate::jsonpath::{JsonPath, relaxed};
use crate::mapping::split_version;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::template::Template;
use crate::value::Value;

/// How objects are printed.
pub enum Printer {
    /// `name`, with what was done to the object unless the output is `-o name`.
    Name(String),
    /// `json`
    Json,
    /// `yaml`; counts what was printed.
    Yaml(usize),
    /// `kyaml`
    Kyaml,
    /// `jsonpath`, as text or as JSON.
    JsonPath(JsonPath, String, bool),
    /// `custom-columns`
    Columns {
        /// Headers and paths. A path that can't be read is told of below the headers, as it is parsed only then.
        columns: Vec<(String, Result<JsonPath, String>)>,
        /// `--no-headers`
        no_headers: bool,
        /// Whether headers were printed.
        started: bool,
        /// Keeps the widths.
        tabs: TabWriter,
    },
    /// `go-template`
    Template(Template),
}

/// Formats of commands that print what they did.
pub const WRITE_FORMATS: &str =
    "go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,yaml";
/// Formats of `kubectl get`.
pub const GET_FORMATS: &str = "custom-columns,custom-columns-file,go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml";

/// The printer of a command that says what it did with `operation` when no `-o` is given.
pub fn for_write(k: &Kubectl<'_>, operation: &str) -> Result<Printer, Error> {
    let format = k.flags.str("output");
    if format.is_empty() && k.flags.str("template").is_empty() {
        return Ok(Printer::Name(format!(" {operation}")));
    }
    by_format(k, format, WRITE_FORMATS)
}

/// The printer of a format.
pub fn by_format(k: &Kubectl<'_>, format: &str, allowed: &str) -> Result<Printer, Error> {
    let template_flag = k.flags.str("template");
    let format = if format.is_empty() && !template_flag.is_empty() { "go-template" } else { format };
    let (head, value) = match format.split_once('=') {
        Some((h, v)) => (h, v),
        None => (format, template_flag),
    };
    let from_file = |value: &str| {
        k.io.read_file(value)
            .map(|b| String::from_utf8_lossy(&b).into_owned())
            .map_err(|e| Error::text(format!("error reading --template {value}, open {value}: {e}")))
    };
    let lower = format.to_lowercase();
    let simple = matches!(lower.as_str(), "json" | "yaml" | "kyaml" | "name");
    let (head, format) = if simple { (lower.as_str(), lower.as_str()) } else { (head, format) };
    match head {
        "json" if head == format => return Ok(Printer::Json),
        "yaml" if head == format => return Ok(Printer::Yaml(0)),
        "kyaml" if head == format => return Ok(Printer::Kyaml),
        "name" if head == format => return Ok(Printer::Name(String::new())),
        "jsonpath" | "jsonpath-as-json" | "jsonpath-file" => {
            if value.is_empty() {
                return Err(Error::text("template format specified but no template given"));
            }
            let text = if head == "jsonpath-file" { from_file(value)? } else { value.to_string() };
            let mut path =
                JsonPath::parse(&text).map_err(|e| Error::text(format!("error parsing jsonpath {text}, {e}")))?;
            path.allow_missing = k.flags.str("allow-missing-template-keys") != "false";
            return Ok(Printer::JsonPath(path, text, head == "jsonpath-as-json"));
        }
        "custom-columns" | "custom-columns-file" if allowed.contains("custom-columns") => {
            let no_headers = k.flags.bool("no-headers");
            return custom_columns(k, head, value, no_headers);
        }
        "go-template" | "template" | "go-template-file" | "templatefile" => {
            if value.is_empty() {
                return Err(Error::text("template format specified but no template given"));
            }
            let text = if head.ends_with("file") { from_file(value)? } else { value.to_string() };
            let mut t =
                Template::parse(&text).map_err(|e| Error::text(format!("error parsing template {text}, {e}")))?;
            t.missing_is_error = k.flags.str("allow-missing-template-keys") == "false";
            return Ok(Printer::Template(t));
        }
        _ => {}
    }
    Err(Error::text(format!(
        "unable to match a printer suitable for the output format {}, allowed formats are: {allowed}",
        quote(format)
    )))
}

fn custom_columns(k: &Kubectl<'_>, head: &str, value: &str, no_headers: bool) -> Result<Printer, Error> {
    let mut specs: Vec<(String, String)> = Vec::new();
    if head == "custom-columns" {
        if value.is_empty() {
            return Err(Error::text("custom-columns format specified but no custom columns given"));
        }
        for part in value.split(',') {
            let Some((header, spec)) = part.split_once(':') else {
                return Err(Error::text(format!(
                    "unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>"
                )));
            };
            specs.push((header.to_string(), spec.to_string()));
        }
    } else {
        let bytes =
            k.io.read_file(value)
                .map_err(|e| Error::text(format!("error reading template {value}, open {value}: {e}\n")))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        let words = |line: Option<&str>, what: &str| {
            line.map(|l| l.split_whitespace().map(String::from).collect::<Vec<_>>()).ok_or_else(|| {
                Error::text(format!(
                    "invalid template, missing {what} line. Expected format is one line of space separated headers, one line of space separated column specs."
                ))
            })
        };
        let headers = words(lines.next(), "header")?;
        let paths = words(lines.next(), "spec")?;
        if headers.len() != paths.len() {
            return Err(Error::text(format!(
                "number of headers ({}) and field specifications ({}) don't match",
                headers.len(),
                paths.len()
            )));
        }
        specs.extend(headers.into_iter().zip(paths));
    }
    let mut columns = Vec::new();
    for (header, spec) in specs {
        let path = relaxed(&spec).map_err(Error::Text)?;
        columns.push((header, JsonPath::parse_lenient(&path)));
    }
    Ok(Printer::Columns { columns, no_headers, started: false, tabs: TabWriter::new(TABLE) })
}

/// `deployment.apps/web` of an object.
pub fn printed_name(object: &Value) -> String {
    let (group, _) = split_version(object.str("apiVersion"));
    let kind = object.str("kind").to_lowercase();
    let name = object.str("metadata/name");
    let name = if name.is_empty() { "<unknown>" } else { name };
    format!("{}/{name}", crate::mapping::qualified(&kind, group))
}

/// Drops managed fields, of a list's items too.
pub fn omit_managed_fields(object: &mut Value) {
    object.remove_key("metadata", "managedFields");
    if matches!(object.at("items"), Value::Array(_)) {
        for item in object.list_mut("items") {
            item.remove_key("metadata", "managedFields");
        }
    }
}

/// An object as YAML.
pub fn yaml(object: &Value) -> String {
    api::yaml::print(&object.to_api())
}

impl Printer {
    /// Whether managed fields are left out unless they were asked for.
    pub fn omits_managed_fields(&self) -> bool {
        matches!(self, Printer::Json | Printer::Yaml(_) | Printer::Kyaml | Printer::Name(_))
    }

    /// Prints an object. A failure is told after what was printed before it.
    pub fn show(&mut self, k: &Kubectl<'_>, object: &Value) -> Result<(), Error> {
        let (text, done) = self.render(object);
        k.out(&text);
        done
    }

    /// The object's text, and how it ended.
    pub fn render(&mut self, object: &Value) -> (String, Result<(), Error>) {
        match self.text(object) {
            Ok(text) => (text, Ok(())),
            Err((text, e)) => (text, Err(e)),
        }
    }

    fn text(&mut self, object: &Value) -> Result<String, (String, Error)> {
        let plain = |e: String| (String::new(), Error::Text(e));
        match self {
            Printer::Name(operation) => {
                if matches!(object.at("items"), Value::Array(_)) && object.str("kind").ends_with("List") {
                    let lines: String =
                        object.list("items").iter().map(|i| format!("{}{operation}\n", printed_name(i))).collect();
                    return Ok(lines);
                }
                Ok(format!("{}{operation}\n", printed_name(object)))
            }
            Printer::Json => Ok(format!("{}\n", object.to_json_indent("    "))),
            Printer::Yaml(count) => {
                *count += 1;
                let text = yaml(object);
                Ok(if *count > 1 { format!("---\n{text}") } else { text })
            }
            Printer::Kyaml => Ok(super::kyaml::print(object)),
            Printer::JsonPath(path, template, as_json) => {
                let got = if *as_json { path.execute_json(object) } else { path.execute(object) };
                got.map_err(|e| {
                    plain(format!(
                        "error executing jsonpath {}: Error executing template: {e}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t{template}\n\tobject given to jsonpath engine was:\n\t\t{}\n\n\n",
                        quote(template),
                        object.go_sharp_v()
                    ))
                })
            }
            Printer::Columns { columns, no_headers, started, tabs } => {
                if !*no_headers && !*started {
                    let headers: Vec<&str> = columns.iter().map(|c| c.0.as_str()).collect();
                    tabs.write(&format!("{}\n", headers.join("\t")));
                }
                *started = true;
                if let Some(e) = columns.iter().find_map(|c| c.1.as_ref().err()) {
                    return Err((tabs.flush(), Error::text(e.clone())));
                }
                let items = match object.at("items") {
                    Value::Array(items) if object.str("kind").ends_with("List") => items.as_slice(),
                    _ => std::slice::from_ref(object),
                };
                for item in items {
                    let mut cells = Vec::new();
                    for path in columns.iter().filter_map(|c| c.1.as_ref().ok()) {
                        let found = match path.find(item) {
                            Ok(found) => found,
                            Err(e) => return Err((tabs.flush(), Error::Text(e))),
                        };
                        let mut texts: Vec<String> = Vec::new();
                        if found.first().is_none_or(Vec::is_empty) {
                            texts.push("<none>".into());
                        }
                        texts.extend(found.iter().flatten().map(|v| v.go_v()));
                        cells.push(texts.join(","));
                    }
                    tabs.write(&format!("{}\n", cells.join("\t")));
                }
                Ok(tabs.flush())
            }
            Printer::Template(t) => t.execute(object).map_err(|(written, e)| {
                (
                    format!(
                        "{written}Error executing template: {e}. Printing more information for debugging the template:\n\ttemplate was:\n\t\t{}\n\traw data was:\n\t\t{}\n\tobject given to template engine was:\n\t\t{}\n\n",
                        t.text,
                        object.to_json(),
                        object.go_v()
                    ),
                    Error::text(format!("error executing template {}: {e}", quote(&t.text))),
                )
            }),
        }
    }
}
