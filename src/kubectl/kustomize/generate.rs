//! configMapGenerator and secretGenerator, and the hashes of what they make.

use super::{Res, join};
use crate::print::human::quote;
use crate::resource::base64_encode;
use crate::session::Kubectl;
use crate::value::{Value, object};

/// Makes or merges what the generators name.
pub fn run(k: &Kubectl<'_>, directory: &str, file: &Value, resources: &mut Vec<Res>) -> Result<(), String> {
    for (field, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
        for args in file.list(field) {
            let made = one(k, directory, file.at("generatorOptions"), args, kind)?;
            place(made, args.str("behavior"), resources)?;
        }
    }
    Ok(())
}

fn one(k: &Kubectl<'_>, directory: &str, options: &Value, args: &Value, kind: &str) -> Result<Res, String> {
    let mut pairs: Vec<(String, Vec<u8>)> = Vec::new();
    let read = |path: &str, what: &str, all: &Value| {
        let full = join(directory, path);
        k.io.read_file(&full).map_err(|e| {
            format!(
                "loading KV pairs: {what} sources: {}: evalsymlink failure on '{full}' : lstat {full}: {e}",
                all.go_v()
            )
        })
    };
    let mut envs: Vec<&str> = args.list("envs").iter().filter_map(Value::as_str).collect();
    envs.extend(args.at("env").as_str());
    for path in envs {
        let bytes = read(path, "env", args.at("envs"))?;
        for line in String::from_utf8_lossy(&bytes).lines() {
            let line = line.trim_start();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, value)) => (key, value.to_string()),
                None => (line, k.io.env(line).unwrap_or_default()),
            };
            pairs.push((key.to_string(), value.into_bytes()));
        }
    }
    for literal in args.list("literals").iter().filter_map(Value::as_str) {
        let Some((key, value)) = literal.split_once('=').filter(|p| !p.0.is_empty()) else {
            return Err(format!(
                "loading KV pairs: literal sources {}: invalid literal source {literal}, expected key=value",
                args.at("literals").go_v()
            ));
        };
        let quoted = value.len() > 1 && ['"', '\''].iter().any(|q| value.starts_with(*q) && value.ends_with(*q));
        let value = if quoted { value.get(1..value.len() - 1).unwrap_or(value) } else { value };
        pairs.push((key.to_string(), value.as_bytes().to_vec()));
    }
    for source in args.list("files").iter().filter_map(Value::as_str) {
        let (key, path) = match source.split_once('=') {
            Some((key, path)) => (key, path),
            None => (source.rsplit('/').next().unwrap_or(source), source),
        };
        pairs.push((key.to_string(), read(path, "file", args.at("files"))?));
    }
    let mut o = object([("apiVersion", "v1".into()), ("kind", kind.into())]);
    o.set("metadata/name", args.str("name"));
    if !args.str("namespace").is_empty() {
        o.set("metadata/namespace", args.str("namespace"));
    }
    if kind == "Secret" {
        o.set("type", if args.str("type").is_empty() { "Opaque" } else { args.str("type") });
    }
    for (key, bytes) in pairs {
        if o.at("data").key(&key) != &Value::Null {
            return Err(format!(
                "configmap/secret {} illegally repeats the key `{key}`",
                quote(args.str("name")).trim_matches('"')
            ));
        }
        match String::from_utf8(bytes) {
            Ok(text) if kind == "ConfigMap" => o.set_key("data", &key, text),
            Ok(text) => o.set_key("data", &key, base64_encode(text.as_bytes())),
            Err(e) if kind == "ConfigMap" => o.set_key("binaryData", &key, base64_encode(e.as_bytes())),
            Err(e) => o.set_key("data", &key, base64_encode(e.as_bytes())),
        }
    }
    let own = args.at("options");
    for meta in ["labels", "annotations"] {
        for (key, v) in options.map(meta).chain(own.map(meta)) {
            o.set_key(&format!("metadata/{meta}"), key, v.clone());
        }
    }
    if options.bool("immutable") || own.bool("immutable") {
        o.set("immutable", true);
    }
    let mut r = Res::new(o);
    r.hashed = !(options.bool("disableNameSuffixHash") || own.bool("disableNameSuffixHash"));
    Ok(r)
}

fn place(made: Res, behavior: &str, resources: &mut Vec<Res>) -> Result<(), String> {
    let same =
        |r: &&mut Res| r.kind() == made.kind() && (r.first_name == made.first_name || r.name() == made.first_name);
    let found = resources.iter_mut().find(same);
    match (behavior, found) {
        ("merge", Some(r)) => {
            for field in ["data", "binaryData", "metadata/labels", "metadata/annotations"] {
                for (key, v) in made.object.map(field).map(|(k, v)| (k.to_string(), v.clone())).collect::<Vec<_>>() {
                    r.object.set_key(field, &key, v);
                }
            }
            r.hashed = r.hashed || made.hashed;
            Ok(())
        }
        ("replace", Some(r)) => {
            let (name, namespace) = (r.object.at("metadata/name").clone(), r.object.at("metadata/namespace").clone());
            r.object = made.object;
            r.object.set("metadata/name", name);
            if !namespace.is_null() {
                r.object.set("metadata/namespace", namespace);
            }
            r.hashed = made.hashed;
            Ok(())
        }
        ("merge" | "replace", None) => Err(format!(
            "merging from generator {}: id resid.ResId{{...}} does not exist; cannot merge or replace",
            made.id()
        )),
        (_, Some(_)) => {
            Err(format!("merging from generator: id {} exists; behavior must be merge or replace", made.id()))
        }
        (_, None) => {
            resources.push(made);
            Ok(())
        }
    }
}

/// Adds the hashes to the names of what was generated, and to what refers to them.
pub fn add_hashes(resources: &mut [Res]) {
    let names: Vec<String> = resources.iter().map(|r| r.name().to_string()).collect();
    for r in resources.iter_mut().filter(|r| r.hashed) {
        let hashed = format!("{}-{}", r.name(), hash(&r.object, ""));
        r.object.set("metadata/name", hashed);
    }
    super::names::settle(resources, &names);
}

/// The suffix for a ConfigMap's or Secret's content (kubectl's and kustomize's `hash`).
pub fn hash(o: &Value, name: &str) -> String {
    let mut content = object([("kind", o.str("kind").into()), ("name", name.into())]);
    let data = o.at("data").clone();
    content.set("data", if data.is_null() { "".into() } else { data });
    if o.str("kind") == "Secret" {
        content.set("type", o.str("type"));
        if o.has("stringData") {
            content.set("stringData", o.at("stringData").clone());
        }
    } else if o.has("binaryData") {
        content.set("binaryData", o.at("binaryData").clone());
    }
    let digest = api::sha256::sha256(content.to_json().as_bytes());
    digest
        .iter()
        .flat_map(|b| [b >> 4, b & 15])
        .take(10)
        .map(|n| match n {
            0 => 'g',
            1 => 'h',
            3 => 'k',
            10 => 'm',
            14 => 't',
            n => char::from_digit(u32::from(n), 16).unwrap_or('g'),
        })
        .collect()
}
