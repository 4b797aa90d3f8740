//! `kubectl create secret tls` and `docker-registry`.

use super::create::{name, new_object, send};
use crate::error::Error;
use crate::print::human::quote;
use crate::resource::{base64_decode, base64_encode};
use crate::session::Kubectl;
use crate::value::Value;

/// A secret's name with the hash of its content, when that was asked for.
pub fn hashed(k: &Kubectl<'_>, o: &mut Value) {
    if k.flags.bool("append-hash") {
        let name = o.str("metadata/name").to_string();
        let hash = crate::kustomize::hash(o, &name);
        o.set("metadata/name", format!("{name}-{hash}"));
    }
}

fn read(k: &Kubectl<'_>, path: &str) -> Result<Vec<u8>, Error> {
    k.io.read_file(path).map_err(|e| Error::text(format!("Cannot read file {path}, open {path}: {e}")))
}

/// Whether a text holds a PEM block whose kind ends with `kind`.
fn has_pem(bytes: &[u8], kind: &str) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    lines.any(|l| l.starts_with("-----BEGIN ") && l.trim_end().ends_with(&format!("{kind}-----")))
}

/// `create secret tls`
pub async fn tls(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (cert, key) = (f.str("cert"), f.str("key"));
    if cert.is_empty() || key.is_empty() {
        return Err(Error::text("key and cert must be specified"));
    }
    let (cert, key) = (read(k, cert)?, read(k, key)?);
    if !has_pem(&cert, "CERTIFICATE") {
        return Err(Error::text("tls: failed to find any PEM data in certificate input"));
    }
    if !has_pem(&key, "PRIVATE KEY") {
        return Err(Error::text("tls: failed to find any PEM data in key input"));
    }
    let mut o = new_object(k, "v1", "Secret", &name, true);
    o.set("type", "kubernetes.io/tls");
    o.set_key("data", "tls.crt", base64_encode(&cert));
    o.set_key("data", "tls.key", base64_encode(&key));
    hashed(k, &mut o);
    send(k, "", "secrets", o, Some("failed to create secret ")).await
}

/// `create secret docker-registry`
pub async fn docker_registry(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let name = name(k)?;
    let (user, password) = (f.str("docker-username"), f.str("docker-password"));
    let (server, email) = (f.str("docker-server"), f.str("docker-email"));
    let files = f.list("from-file");
    if files.is_empty() && (user.is_empty() || password.is_empty() || server.is_empty()) {
        return Err(Error::text(
            "either --from-file or the combination of --docker-username, --docker-password and --docker-server is required",
        ));
    }
    let mut o = new_object(k, "v1", "Secret", &name, true);
    o.set("type", "kubernetes.io/dockerconfigjson");
    if files.is_empty() {
        let auth = base64_encode(format!("{user}:{password}").as_bytes());
        // The order of Go's struct, not of its keys.
        let mut entry = format!("{{\"username\":{},\"password\":{}", json(user), json(password));
        if !email.is_empty() {
            entry.push_str(&format!(",\"email\":{}", json(email)));
        }
        let text = format!("{{\"auths\":{{{}:{entry},\"auth\":{}}}}}}}", json(server), json(&auth));
        o.set_key("data", ".dockerconfigjson", base64_encode(text.as_bytes()));
    }
    for source in &files {
        let (key, path) = match source.split_once('=') {
            Some((key, path)) => (key, path),
            None => (source.rsplit('/').next().unwrap_or(source), source.as_str()),
        };
        let key = if key == "config.json" { ".dockerconfigjson" } else { key };
        if o.at("data").key(key) != &Value::Null {
            return Err(Error::text(format!("cannot add key {key}, another key by that name already exists")));
        }
        let bytes = k.io.read_file(path).map_err(|e| Error::text(format!("error reading {path}: {e}")))?;
        o.set_key("data", key, base64_encode(&bytes));
    }
    let config = o.at("data").key(".dockerconfigjson").as_str().and_then(base64_decode).unwrap_or_default();
    if !files.is_empty() && Value::parse(&String::from_utf8_lossy(&config)).is_err() {
        return Err(Error::text(format!("failed to create secret {}: invalid docker config", quote(&name))));
    }
    hashed(k, &mut o);
    send(k, "", "secrets", o, Some("failed to create secret ")).await
}

fn json(text: &str) -> String {
    Value::from(text).to_json()
}
