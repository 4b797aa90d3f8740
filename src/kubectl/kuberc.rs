//! kuberc: the reader's preferences, default options and aliases of commands (pkg/kuberc).

use crate::commands::{Command, root};
use crate::error::Error;
use crate::flags::{Flag, parse};
use crate::io::{FileError, Io};
use crate::manifest;
use crate::print::human::quote;
use crate::value::{Value, object};

/// What `apiVersion` a file is written in.
pub const VERSION: &str = "kubectl.config.k8s.io/v1beta1";

/// Why preferences could not be read.
pub enum Trouble {
    /// There is no file; what opening it said.
    Missing(String),
    /// What it has beside the known fields does not count.
    Strict(Value, String),
    /// Anything else.
    Other(String),
}

impl Trouble {
    fn text(&self) -> &str {
        match self {
            Trouble::Missing(text) | Trouble::Strict(_, text) | Trouble::Other(text) => text,
        }
    }
}

/// The fields of each part, in Go's order.
const FIELDS: &[(&str, &[&str])] = &[
    ("", &["kind", "apiVersion", "defaults", "aliases", "credentialPluginPolicy", "credentialPluginAllowlist"]),
    ("defaults", &["command", "options"]),
    ("aliases", &["name", "command", "prependArgs", "appendArgs", "options"]),
    ("options", &["name", "default"]),
    ("credentialPluginAllowlist", &["name", "command"]),
];

/// The file that counts, and whether it was asked for; none where kuberc is turned off (`LoadKuberc`).
pub fn path(io: &dyn Io, flag: &str) -> Result<Option<(String, bool)>, Error> {
    let environment = io.env("KUBERC").unwrap_or_default();
    match (flag, environment.as_str()) {
        ("", "off") => Ok(None),
        (_, "off") => {
            Err(Error::text("disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive"))
        }
        ("", "") => Ok(Some((format!("{}/.kube/kuberc", io.env("HOME").unwrap_or_default()), false))),
        ("", path) | (path, _) => Ok(Some((path.to_string(), true))),
    }
}

/// The first preferences in a file; none where it is empty (`decodePreference`).
pub fn decode(io: &dyn Io, path: &str) -> Result<Option<Value>, Trouble> {
    let bytes = io.read_file(path).map_err(|error| {
        let text = format!("open {path}: {error}");
        if error == FileError::NOT_FOUND { Trouble::Missing(text) } else { Trouble::Other(text) }
    })?;
    let mut tried = false;
    for document in manifest::documents(&bytes) {
        if matches!(document, Ok(Value::Null)) {
            continue;
        }
        tried = true;
        let Ok(value) = document else { continue };
        let versions = [VERSION, "kubectl.config.k8s.io/v1alpha1"];
        if !versions.contains(&value.str("apiVersion")) || value.str("kind") != "Preference" {
            continue;
        }
        let mut unknown = Vec::new();
        let Some(value) = part(&renamed(value), "", "", &mut unknown) else { continue };
        return match &unknown[..] {
            [] => Ok(Some(value)),
            _ => Err(Trouble::Strict(value, format!("strict decoding error: {}", unknown.join(", ")))),
        };
    }
    if tried {
        return Err(Trouble::Other(format!("no valid preferences found in {path}, use --v=5 to see details")));
    }
    Ok(None)
}

/// The first version's fields under their names of today.
fn renamed(mut value: Value) -> Value {
    if value.str("apiVersion") == VERSION {
        return value;
    }
    value.set("apiVersion", VERSION);
    if let Some(defaults) = value.remove_key("", "overrides") {
        value.set("defaults", defaults);
    }
    for list in ["defaults", "aliases"].iter().filter(|list| value.has(list)).collect::<Vec<_>>() {
        for item in value.list_mut(list) {
            if let Some(flags) = item.remove_key("", "flags") {
                item.set("options", flags);
            }
        }
    }
    value
}

/// The known fields of a part; none where one has the wrong type.
fn part(value: &Value, name: &str, at: &str, unknown: &mut Vec<String>) -> Option<Value> {
    let Value::Object(fields) = value else { return None };
    let known = FIELDS.iter().find(|(of, _)| *of == name)?.1;
    let mut out = Value::object();
    for (field, value) in fields {
        let path = if at.is_empty() { field.clone() } else { format!("{at}.{field}") };
        if !known.contains(&field.as_str()) {
            unknown.push(format!("unknown field {}", quote(&path)));
            continue;
        }
        let list = FIELDS.iter().any(|(of, _)| of == field);
        let value = match value {
            Value::Null => continue,
            Value::Array(items) if list => {
                let items = items.iter().enumerate();
                Value::Array(
                    items
                        .map(|(i, item)| part(item, field, &format!("{path}[{i}]"), unknown))
                        .collect::<Option<_>>()?,
                )
            }
            Value::Array(items) if field.ends_with("Args") && items.iter().all(|item| item.as_str().is_some()) => {
                value.clone()
            }
            Value::String(_) if !list && !field.ends_with("Args") => value.clone(),
            _ => return None,
        };
        out.set(field, value);
    }
    if name == "defaults" && !out.has("options") {
        out.set("options", Value::Null);
    }
    Some(out)
}

/// The preferences for a command line, if it has any (`DefaultGetPreferences`).
fn preferences(io: &dyn Io, argv: &[String]) -> Result<Option<Value>, String> {
    let mut words = argv.iter().take_while(|word| *word != "--");
    let flag = loop {
        match words.next() {
            None => break String::new(),
            Some(word) if word == "--kuberc" => break words.next().cloned().ok_or("kuberc file is not found")?,
            Some(word) if word.contains("--kuberc=") => {
                let value = word.split('=').nth(1).filter(|value| !value.is_empty());
                break value.ok_or("kuberc file is not found")?.to_string();
            }
            Some(_) => {}
        }
    };
    let Some((path, explicit)) = path(io, &flag).map_err(|e| format!("kuberc error {}", e.message()))? else {
        return Ok(None);
    };
    match decode(io, &path) {
        Ok(found) => Ok(found),
        Err(Trouble::Strict(value, text)) => {
            io.stderr(format!("kuberc: ignoring strict decoding error in {path}: {text}").as_bytes());
            Ok(Some(value))
        }
        Err(trouble) if explicit => Err(format!("kuberc error kuberc: {}", trouble.text())),
        Err(Trouble::Missing(_)) => Ok(None),
        Err(trouble) => {
            io.stderr(format!("kuberc: no preferences loaded from {path}: {}", trouble.text()).as_bytes());
            Ok(None)
        }
    }
}

/// What a command line means once preferences were looked at.
pub struct Applied {
    /// The words, those of an alias replaced.
    pub argv: Vec<String>,
    /// Default options, `--output=wide`.
    pub options: Vec<String>,
    /// The alias that was used.
    pub alias: Option<String>,
}

/// Applies aliases and default options to a command line (`Preferences.Apply`).
pub fn apply(io: &dyn Io, argv: &[String]) -> Result<Applied, Error> {
    let plain = || Applied { argv: argv.to_vec(), options: Vec::new(), alias: None };
    if argv.is_empty() {
        return Ok(plain());
    }
    let failed = |text: String| Error::Exit(1, format!("error occurred while applying preferences {text}"));
    match preferences(io, argv).map_err(failed)? {
        None => Ok(plain()),
        Some(preferences) => with(io, argv, &preferences).map_err(failed),
    }
}

fn with(io: &dyn Io, argv: &[String], preferences: &Value) -> Result<Applied, String> {
    let (aliases, defaults) = (preferences.list("aliases"), preferences.list("defaults"));
    let mut names: Vec<&str> = Vec::new();
    for of in aliases.iter().chain(defaults) {
        let name = of.str("name");
        if aliases.iter().any(|alias| std::ptr::eq(alias, of)) {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
                return Err("invalid alias name, can only include alphabetical characters".into());
            }
            dashed(of)?;
            if names.contains(&name) {
                return Err(format!("duplicate alias name {name}"));
            }
            names.push(name);
        } else {
            dashed(of)?;
        }
    }
    let mut applied = Applied { argv: argv.to_vec(), options: Vec::new(), alias: None };
    let command = match crate::cmd::find(argv) {
        Ok((command, _)) => command,
        Err(_) => {
            let at = argv.iter().position(|word| !word.starts_with('-') && !word.starts_with("__complete"));
            let (Some(at), Some(word)) = (at, at.and_then(|at| argv.get(at))) else { return Ok(applied) };
            let Some(alias) = aliases.iter().find(|alias| alias.str("name") == word) else { return Ok(applied) };
            let words: Vec<String> = alias.str("command").split_whitespace().map(String::from).collect();
            let found = crate::cmd::find(&words).ok().filter(|_| !words.is_empty());
            let Some((command, _)) = found else {
                let text = alias.str("command");
                return Err(format!("command {} not found to set alias {}: [{text}]", quote(text), quote(word)));
            };
            for option in alias.list("options") {
                let (name, value) = (option.str("name"), option.str("default"));
                let flag = command.flag(|f| f.name == name);
                let flag = flag.ok_or_else(|| format!("invalid alias flag {name} in alias kubectl"))?;
                if !given(command, flag, argv) {
                    applied.options.push(chosen(flag, value).map_err(|e| {
                        format!("could not apply value {value} to flag {name} in alias kubectl err: {e}")
                    })?);
                }
            }
            let texts =
                |list: &str| alias.list(list).iter().filter_map(Value::as_str).map(String::from).collect::<Vec<_>>();
            let expanded = words.into_iter().chain(texts("prependArgs"));
            applied.argv.splice(at..=at, expanded);
            applied.argv.extend(texts("appendArgs"));
            applied.alias = Some(word.clone());
            command
        }
    };
    for default in defaults {
        let text = default.str("command");
        let words: Vec<String> = text.split_whitespace().map(String::from).collect();
        if words.len() == 1 && words.first() == applied.alias.as_ref() {
            return Err(format!("alias {text} can not be overridden"));
        }
        let Ok((of, _)) = crate::cmd::find(&words) else {
            io.stderr(format!("Warning: command {} not found to set kuberc override\n", quote(text)).as_bytes());
            continue;
        };
        if applied.alias.is_some() || of.name() != command.name() {
            continue;
        }
        for option in default.list("options") {
            let (name, value) = (option.str("name"), option.str("default"));
            let flag = command.flag(|f| f.name == name);
            let flag = flag.ok_or_else(|| format!("invalid flag {name} for command {text}"))?;
            if !given(command, flag, argv) {
                applied.options.push(chosen(flag, value).map_err(|e| {
                    format!("could not apply override value {value} to flag {name} in command {text} err: {e}")
                })?);
            }
        }
    }
    Ok(applied)
}

fn dashed(of: &Value) -> Result<(), String> {
    match of.list("options").iter().map(|option| option.str("name")).find(|name| name.starts_with('-')) {
        Some(name) => Err(format!("flag name {name} should be in long form without dashes")),
        None => Ok(()),
    }
}

/// An option as it would be typed, or why its flag does not take the value.
fn chosen(flag: &Flag, value: &str) -> Result<String, String> {
    let word = format!("--{}={value}", flag.name);
    parse(&[&[*flag]], std::slice::from_ref(&word)).map(|_| word)
}

/// Whether the reader gave the flag (`searchInArgs`).
fn given(command: &Command, flag: &Flag, argv: &[String]) -> bool {
    let (long, with) = (format!("--{}", flag.name), format!("--{}=", flag.name));
    let shorts: Vec<char> = command.flags.iter().chain(&root().flags).filter_map(|f| f.short).collect();
    argv.iter().any(|word| {
        if *word == long || word.starts_with(&with) {
            return true;
        }
        let Some(short) = flag.short else { return false };
        let Some(letters) = word.strip_prefix('-') else { return false };
        letters.starts_with(short)
            || !letters.is_empty()
                && letters.chars().all(|c| c.is_ascii_alphabetic())
                && shorts.contains(&short)
                && letters.contains(short)
    })
}

/// Preferences with all that is always written (`v1beta1.Preference`).
pub fn whole(mut value: Value) -> Value {
    for list in ["defaults", "aliases"] {
        if !value.has(list) {
            value.set(list, Value::Null);
        }
    }
    value
}

/// Preferences without content.
pub fn empty() -> Value {
    object([("apiVersion", VERSION.into()), ("kind", "Preference".into())])
}

/// The same as JSON with the fields in Go's order.
pub fn json(value: &Value, indent: usize) -> String {
    let (pad, end) = (" ".repeat(indent + 4), " ".repeat(indent));
    match value {
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items.iter().map(|item| format!("{pad}{}", json(item, indent + 4))).collect();
            format!("[\n{}\n{end}]", items.join(",\n"))
        }
        Value::Object(fields) => {
            // The part whose fields these are; parts that share some have them in one order.
            let all = |known: &[&str]| fields.keys().all(|name| known.contains(&name.as_str()));
            let known = FIELDS.iter().find(|(_, known)| all(known)).map_or(&[][..], |(_, known)| known);
            let lines: Vec<String> = known
                .iter()
                .filter(|name| fields.contains_key(**name))
                .map(|name| format!("{pad}\"{name}\": {}", json(value.key(name), indent + 4)))
                .collect();
            format!("{{\n{}\n{end}}}", lines.join(",\n"))
        }
        other => other.to_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_flags_count() {
        let get = crate::commands::find("get").unwrap_or_else(|| root());
        let output = get.flag(|f| f.name == "output");
        let has = |words: &str| {
            let argv: Vec<String> = words.split(' ').map(String::from).collect();
            output.is_some_and(|flag| given(get, flag, &argv))
        };
        assert!(has("get pods -oyaml") && has("get --output=json") && has("get -wo json") && !has("get pods -w"));
    }
}
