//! `kubectl config`: what the kubeconfig says, and changes of it.

use crate::error::Error;
use crate::kubeconfig::Kubeconfig;
use crate::print::human::quote;
use crate::print::object::{Printer, WRITE_FORMATS, by_format};
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::resource::base64_encode;
use crate::session::Kubectl;
use crate::value::Value;

fn load(k: &Kubectl<'_>) -> Result<Kubeconfig, Error> {
    Kubeconfig::load(k.io, &k.flags, k.config)
}

/// The help of a command on standard output, as `config` shows it with some mistakes.
fn help(k: &Kubectl<'_>) {
    let path = k.path.trim_start_matches("kubectl ");
    if let Some(c) = crate::commands::find(path) {
        k.out(&super::help::help(c));
    }
}

fn unexpected(k: &Kubectl<'_>) -> Error {
    help(k);
    Error::text(format!("Unexpected args: [{}]", k.args().join(" ")))
}

/// `config current-context`
pub async fn current_context(k: &Kubectl<'_>) -> Result<(), Error> {
    match load(k)?.value.str("current-context") {
        "" => Err(Error::text("current-context is not set")),
        name => {
            k.out(&format!("{name}\n"));
            Ok(())
        }
    }
}

/// `config get-clusters` and `get-users`
pub async fn names(k: &Kubectl<'_>, list: &str) -> Result<(), Error> {
    k.out("NAME\n");
    for name in load(k)?.names(list) {
        k.out(&format!("{name}\n"));
    }
    Ok(())
}

/// `config get-contexts`
pub async fn contexts(k: &Kubectl<'_>) -> Result<(), Error> {
    let output = k.flags.str("output");
    if !output.is_empty() && output != "name" {
        return Err(Error::text(format!(
            "--output {output} is not available in kubectl config get-contexts; resetting to default output format"
        )));
    }
    let c = load(k)?;
    let all = c.names("contexts");
    let mut errors = Vec::new();
    let shown: Vec<String> = if k.args().is_empty() {
        all
    } else {
        let (found, missing): (Vec<String>, Vec<String>) = k.args().iter().cloned().partition(|a| all.contains(a));
        errors.extend(missing.iter().map(|m| Error::text(format!("context {m} not found"))));
        found
    };
    let mut w = TabWriter::new(TABLE);
    if output == "name" {
        shown.iter().for_each(|name| k.out(&format!("{name}\n")));
        return Error::aggregate(errors);
    }
    if !k.flags.bool("no-headers") {
        w.write("CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE\n");
    }
    for name in shown {
        let e = c.entry("contexts", &name);
        let mark = if c.value.str("current-context") == name { "*" } else { "" };
        w.write(&format!("{mark}\t{name}\t{}\t{}\t{}\n", e.str("cluster"), e.str("user"), e.str("namespace")));
    }
    k.out(&w.flush());
    Error::aggregate(errors)
}

/// `config view`
pub async fn view(k: &Kubectl<'_>) -> Result<(), Error> {
    if !k.args().is_empty() {
        return Err(k.usage_error(&format!("unexpected arguments: [{}]", k.args().join(" "))));
    }
    let c = load(k)?;
    let mut v = c.value.clone();
    if k.flags.bool("minify") {
        let current = match k.flags.str("context") {
            "" => v.str("current-context").to_string(),
            other => other.to_string(),
        };
        if current.is_empty() {
            return Err(Error::text("current-context must exist in order to minify"));
        }
        let context = c.entry("contexts", &current).clone();
        if context.is_null() {
            return Err(Error::text(format!("cannot locate context {current}")));
        }
        v.list_mut("contexts").retain(|e| e.str("name") == current);
        v.list_mut("clusters").retain(|e| e.str("name") == context.str("cluster"));
        v.list_mut("users").retain(|e| e.str("name") == context.str("user"));
        v.set("current-context", current);
    }
    if !k.flags.bool("raw") {
        hide(&mut v);
    }
    let mut printer = match k.flags.str("output") {
        "" => Printer::Yaml(0),
        format => by_format(k, format, WRITE_FORMATS)?,
    };
    printer.show(k, &v)
}

/// Puts words in the place of secrets.
fn hide(v: &mut Value) {
    for (list, key, fields, word) in [
        ("clusters", "cluster", &["certificate-authority-data"][..], "DATA+OMITTED"),
        ("users", "user", &["client-certificate-data", "client-key-data"][..], "DATA+OMITTED"),
        ("users", "user", &["token", "password"][..], "REDACTED"),
    ] {
        if !v.has(list) {
            continue;
        }
        for entry in v.list_mut(list) {
            for field in fields {
                if entry.at(key).has(field) {
                    entry.slot(key).set(field, word);
                }
            }
        }
    }
}

/// `config use-context`
pub async fn use_context(k: &Kubectl<'_>) -> Result<(), Error> {
    let [name] = k.args() else { return Err(unexpected(k)) };
    let mut c = load(k)?;
    if !c.names("contexts").contains(name) {
        return Err(Error::text(format!("no context exists with the name: {}", quote(name))));
    }
    c.value.set("current-context", name.as_str());
    c.save(k.io)?;
    k.out(&format!("Switched to context {}.\n", quote(name)));
    Ok(())
}

/// `config set-context`
pub async fn set_context(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let current = f.bool("current");
    let mut c = load(k)?;
    let name = match k.args() {
        [] if current => match c.value.str("current-context") {
            "" => return Err(Error::text("no current context is set")),
            name => name.to_string(),
        },
        [_] if current => return Err(Error::text("you cannot specify both a context name and --current")),
        [name] => name.clone(),
        [] => return Err(Error::text("you must specify a non-empty context name or --current")),
        _ => return Err(unexpected(k)),
    };
    let there = c.names("contexts").contains(&name);
    let entry = c.entry_mut("contexts", &name);
    for flag in ["cluster", "user", "namespace"] {
        if f.changed(flag) {
            entry.set(flag, f.str(flag));
        }
    }
    c.save(k.io)?;
    k.out(&format!("Context {} {}.\n", quote(&name), if there { "modified" } else { "created" }));
    Ok(())
}

/// `config set-cluster`
pub async fn set_cluster(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let [name] = k.args() else { return Err(unexpected(k)) };
    if f.bool("insecure-skip-tls-verify") && !f.str("certificate-authority").is_empty() {
        return Err(Error::text("you cannot specify a certificate authority and insecure mode at the same time"));
    }
    if f.bool("embed-certs") && f.str("certificate-authority").is_empty() {
        return Err(Error::text("you must specify a --certificate-authority to embed"));
    }
    let mut c = load(k)?;
    let embedded = embed(k, "certificate-authority")?;
    let entry = c.entry_mut("clusters", name);
    for flag in ["server", "tls-server-name", "proxy-url", "certificate-authority"] {
        if f.changed(flag) {
            entry.set(flag, f.str(flag).trim_end_matches('/'));
        }
    }
    if f.changed("insecure-skip-tls-verify") {
        entry.set("insecure-skip-tls-verify", f.bool("insecure-skip-tls-verify"));
    }
    if let Some(data) = embedded {
        entry.remove_key("", "certificate-authority");
        entry.set("certificate-authority-data", data);
    }
    c.save(k.io)?;
    k.out(&format!("Cluster {} set.\n", quote(name)));
    Ok(())
}

/// A flag's file in base64, when it is to be kept in the kubeconfig.
fn embed(k: &Kubectl<'_>, flag: &str) -> Result<Option<String>, Error> {
    let path = k.flags.str(flag);
    if !k.flags.bool("embed-certs") || path.is_empty() {
        return Ok(None);
    }
    let bytes =
        k.io.read_file(path)
            .map_err(|e| Error::text(format!("could not stat {flag} file {path}: stat {path}: {e}")))?;
    Ok(Some(base64_encode(&bytes)))
}

/// `config set-credentials`
pub async fn set_credentials(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let [name] = k.args() else {
        help(k);
        return Err(Error::text(format!("unexpected args: [{}]", k.args().join(" "))));
    };
    let mut methods = Vec::new();
    if !f.str("token").is_empty() {
        methods.push("--token");
    }
    if !f.str("username").is_empty() || !f.str("password").is_empty() {
        methods.push("--username/--password");
    }
    if methods.len() > 1 {
        return Err(Error::text(format!(
            "you cannot specify more than one authentication method at the same time: {}",
            methods.join(", ")
        )));
    }
    let (certificate, key) = (embed(k, "client-certificate")?, embed(k, "client-key")?);
    let mut c = load(k)?;
    let entry = c.entry_mut("users", name);
    for flag in ["token", "username", "password", "client-certificate", "client-key"] {
        if f.changed(flag) {
            entry.set(flag, f.str(flag));
        }
    }
    for (flag, data) in [("client-certificate", certificate), ("client-key", key)] {
        if let Some(data) = data {
            entry.remove_key("", flag);
            entry.set(&format!("{flag}-data"), data);
        }
    }
    c.save(k.io)?;
    k.out(&format!("User {} set.\n", quote(name)));
    Ok(())
}

/// `config delete-cluster`, `delete-context` and `delete-user`
pub async fn delete(k: &Kubectl<'_>, list: &str) -> Result<(), Error> {
    let [name] = k.args() else {
        help(k);
        return Ok(());
    };
    let mut c = load(k)?;
    let what = list.trim_end_matches('s');
    if !c.remove(list, name) {
        return Err(Error::text(format!("cannot delete {what} {name}, not in {}", c.path)));
    }
    if list == "contexts" && c.value.str("current-context") == name {
        k.err(
            "warning: this removed your active context, use \"kubectl config use-context\" to select a different one\n",
        );
    }
    c.save(k.io)?;
    k.out(&format!("deleted {what} {name} from {}\n", c.path));
    Ok(())
}

/// `config rename-context`
pub async fn rename_context(k: &Kubectl<'_>) -> Result<(), Error> {
    let [old, new] = k.args() else { return Err(unexpected(k)) };
    let mut c = load(k)?;
    let entry = c.entry("contexts", old).clone();
    if entry.is_null() {
        return Err(Error::text(format!("cannot rename the context {}, it's not in {}", quote(old), c.path)));
    }
    if c.names("contexts").contains(new) {
        return Err(Error::text(format!(
            "cannot rename the context {}, the context {} already exists in {}",
            quote(old),
            quote(new),
            c.path
        )));
    }
    c.remove("contexts", old);
    *c.entry_mut("contexts", new) = entry;
    if c.value.str("current-context") == old {
        c.value.set("current-context", new.as_str());
    }
    c.save(k.io)?;
    k.out(&format!("Context {} renamed to {}.\n", quote(old), quote(new)));
    Ok(())
}

/// `config set` and `config unset`: a property by its dotted path.
pub async fn property(k: &Kubectl<'_>, set: bool) -> Result<(), Error> {
    let (name, value) = match k.args() {
        [name, value] if set => (name, Some(value)),
        [name] if !set => (name, None),
        _ => return Err(unexpected(k)),
    };
    let mut c = load(k)?;
    let parts: Vec<&str> = name.split('.').collect();
    let place = match parts.as_slice() {
        ["current-context"] => Some(("current-context".to_string(), None)),
        [list @ ("clusters" | "contexts" | "users"), middle @ .., field] if !middle.is_empty() => {
            Some((field.to_string(), Some((list.to_string(), middle.join(".")))))
        }
        [list @ ("clusters" | "contexts" | "users"), entry] if !set => {
            c.remove(list, entry);
            None
        }
        [list @ ("clusters" | "contexts" | "users")] if !set => {
            c.value.remove_key("", list);
            None
        }
        _ => return Err(Error::text(format!("unable to parse {name} after [] at api.Config"))),
    };
    if let Some((field, entry)) = place {
        let slot = match &entry {
            Some((list, entry)) => c.entry_mut(list, entry),
            None => &mut c.value,
        };
        match value {
            Some(v) if field.ends_with("-data") && !k.flags.bool("set-raw-bytes") => slot.set(&field, v.as_str()),
            Some(v) if v == "true" || v == "false" => slot.set(&field, v == "true"),
            Some(v) => slot.set(&field, v.as_str()),
            None if entry.is_none() => slot.set(&field, ""),
            None => {
                slot.remove_key("", &field);
            }
        }
    }
    c.save(k.io)?;
    k.out(&format!("Property {} {}.\n", quote(name), if set { "set" } else { "unset" }));
    Ok(())
}
