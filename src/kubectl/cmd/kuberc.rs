//! `kubectl kuberc view` and `set`.

use crate::error::Error;
use crate::kuberc::{self, Trouble};
use crate::print::human::quote;
use crate::print::object::{Printer, WRITE_FORMATS, by_format, yaml};
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The file, and whether it was asked for.
fn file(k: &Kubectl<'_>) -> Result<(String, bool), Error> {
    let found = kuberc::path(k.io, k.flags.str("kuberc"))?;
    found.ok_or_else(|| Error::text("KUBERC is disabled via KUBERC=off environment variable"))
}

/// The preferences in a file; none where it is missing (`LoadPreference`).
fn load(k: &Kubectl<'_>, path: &str) -> Result<Option<Value>, Error> {
    match kuberc::decode(k.io, path) {
        Ok(Some(value)) => Ok(Some(value)),
        Err(Trouble::Missing(_)) => Ok(None),
        Ok(None) => Err(Error::text(
            "error reading kuberc file: error converting Preferences to v1beta1.Preferences: expected pointer, but got invalid kind",
        )),
        Err(Trouble::Strict(_, text) | Trouble::Other(text)) => {
            Err(Error::text(format!("error reading kuberc file: {text}")))
        }
    }
}

fn save(k: &Kubectl<'_>, path: &str, value: Value) -> Result<(), Error> {
    let text = yaml(&kuberc::whole(value));
    let written = k.io.write_file(path, text.as_bytes());
    written.map_err(|e| Error::text(format!("failed to write kuberc file: open {path}: {e}")))?;
    k.out(&format!("Updated {path}\n"));
    Ok(())
}

/// `kuberc view`
pub async fn view(k: &Kubectl<'_>) -> Result<(), Error> {
    let (path, explicit) = file(k)?;
    let Some(mut value) = load(k, &path)? else {
        if explicit {
            return Err(Error::text(format!("kuberc file not found at {path}")));
        }
        k.out(&format!(
            "kuberc file not found at {path}\nWould you like to generate a default kuberc file with recommended options? (y/N): "
        ));
        let answer = k.io.read().await;
        let answer = answer.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_lowercase());
        return match answer.as_deref() {
            Some("y") => save(k, &path, recommended()),
            _ => Ok(()),
        };
    };
    for list in ["defaults", "aliases"] {
        if !value.has(list) {
            value.set(list, Value::Array(Vec::new()));
        }
    }
    match k.flags.str("output") {
        "json" => {
            k.out(&format!("{}\n", kuberc::json(&value, 0)));
            Ok(())
        }
        "" if k.flags.str("template").is_empty() => Printer::Yaml(0).show(k, &value),
        format => by_format(k, format, WRITE_FORMATS)?.show(k, &value),
    }
}

/// What is recommended to who has no preferences (`CreateDefaultPreference`).
fn recommended() -> Value {
    let mut value = kuberc::empty();
    for (command, option) in [("apply", "server-side"), ("delete", "interactive")] {
        let options = vec![object([("name", option.into()), ("default", "true".into())])];
        value.list_mut("defaults").push(object([("command", command.into()), ("options", Value::Array(options))]));
    }
    value
}

/// `kuberc set`
pub async fn set(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let (path, _) = file(k)?;
    let (section, name, command, policy) = (f.str("section"), f.str("name"), f.str("command"), f.str("policy"));
    let (before, after, entries) = (f.list("prependarg"), f.list("appendarg"), f.list("allowlist-entry"));
    let refused = match section {
        "aliases" if name.is_empty() => "--name is required when --section=aliases".into(),
        "defaults" if !name.is_empty() => "--name should not be specified when --section=defaults".into(),
        "defaults" if !before.is_empty() || !after.is_empty() => {
            "--prependarg and --appendarg are only valid for --section=aliases".into()
        }
        "defaults" | "aliases" if command.is_empty() => {
            "--command is required when --section=aliases or --section=defaults".into()
        }
        "defaults" | "aliases" => String::new(),
        "credentialplugin" => match policy {
            "" => "--policy is required when --section=credentialplugin".into(),
            "AllowAll" | "DenyAll" if !entries.is_empty() => {
                "--allowlist-entry may only be used when --section=credentialplugin and --policy=Allowlist".into()
            }
            "Allowlist" if entries.is_empty() => {
                "--allowlist-entry is required when --section=credentialplugin and --policy=Allowlist".into()
            }
            "AllowAll" | "DenyAll" | "Allowlist" => String::new(),
            other => {
                format!(" --policy must be  \"AllowAll\", \"DenyAll\", or \"Allowlist\", got: {other}")
            }
        },
        other => {
            format!("--section must be \"defaults\", \"aliases\", or \"credentialplugin\", got: {other}")
        }
    };
    if !refused.is_empty() {
        return Err(Error::text(refused));
    }
    let mut value = load(k, &path)?.unwrap_or_else(kuberc::empty);
    let mut options = Vec::new();
    for option in f.list("option") {
        let Some((name, default)) = option.split_once('=') else {
            return Err(Error::text(format!("invalid option format {}, expected flag=value", quote(&option))));
        };
        options.push(object([("name", name.trim_start_matches('-').into()), ("default", default.into())]));
    }
    if section == "credentialplugin" {
        if policy == "Allowlist" {
            value.set("credentialPluginAllowlist", Value::Array(allowed(&entries)?));
        }
        value.set("credentialPluginPolicy", policy);
        return save(k, &path, value);
    }
    let (key, wanted, exists) = match section {
        "aliases" => ("name", name, format!("alias {} already exists", quote(name))),
        _ => ("command", command, format!("defaults for command {} already exist", quote(command))),
    };
    let texts = |list: Vec<String>| Value::Array(list.into_iter().map(Value::from).collect());
    let list = value.list_mut(section);
    let at = list.iter().position(|item| item.str(key) == wanted);
    let old = at.and_then(|at| list.get(at)).cloned().unwrap_or_default();
    if at.is_some() && !f.bool("overwrite") {
        return Err(Error::text(format!("{exists}, use --overwrite to replace")));
    }
    let mut item = object([("command", command.into())]);
    if section == "aliases" {
        item.set("name", name);
    }
    for (field, given) in
        [("prependArgs", texts(before)), ("appendArgs", texts(after)), ("options", Value::Array(options))]
    {
        let kept = if given.is_empty() { old.key(field).clone() } else { given };
        // Without options a default has none, and says so.
        if !kept.is_null() || section == "defaults" && field == "options" {
            item.set(field, kept);
        }
    }
    match at.and_then(|at| list.get_mut(at)) {
        Some(slot) => *slot = item,
        None => list.push(item),
    }
    save(k, &path, value)
}

/// The entries of a list of plugins that may run.
fn allowed(entries: &[String]) -> Result<Vec<Value>, Error> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for pair in entries.iter().flat_map(|entry| entry.split(',')) {
        match pair.split_once('=') {
            None => errors.push(format!("improperly formatted allowlist entry: {}", quote(pair))),
            Some(("name", _)) => {
                errors.push("allowlist entry field \"name\" is deprecated, use \"command\" instead".to_string());
            }
            Some(("command", value)) if value.trim().is_empty() => {
                errors.push("empty value in allowlist entry for field \"command\"".to_string());
            }
            Some(("command", value)) => found.push(object([("command", value.into())])),
            Some((field, _)) => errors.push(format!("unrecognized allowlist entry field: {}", quote(field))),
        }
    }
    Error::aggregate(errors.into_iter().map(Error::Text).collect()).map(|()| found)
}
