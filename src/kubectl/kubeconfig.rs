//! The kubeconfig: read from a file where there is one, else as the world gives it (client-go's `clientcmd`).

use crate::commands::Command;
use crate::error::{Error, NO_PREFIX};
use crate::flags::Parsed;
use crate::io::Io;
use crate::manifest;
use crate::print::human::quote;
use crate::resource::{base64_decode, base64_encode};
use crate::session::Config;
use crate::value::{Value, object};
use api::SortSmall;
use api::rest::Credential;
use sim::{Addr, Ip};

/// A kubeconfig and where it is kept.
pub struct Kubeconfig {
    /// The file that changes are written to.
    pub path: String,
    /// What it says: `clusters`, `contexts` and `users` by name.
    pub value: Value,
}

impl Kubeconfig {
    /// Reads the file of `--kubeconfig`, `$KUBECONFIG` or `$HOME/.kube/config`; the last may be missing.
    pub fn load(io: &dyn Io, flags: &Parsed, given: &Config) -> Result<Kubeconfig, Error> {
        let flag = flags.str("kubeconfig");
        let environment = io.env("KUBECONFIG").unwrap_or_default();
        let path = match (flag, environment.split(':').find(|p| !p.is_empty())) {
            (f, _) if !f.is_empty() => f.to_string(),
            (_, Some(p)) => p.to_string(),
            _ => io.env("HOME").map_or(String::new(), |home| format!("{home}/.kube/config")),
        };
        if path.is_empty() {
            return Ok(Kubeconfig { path, value: of(given) });
        }
        let value = match io.read_file(&path) {
            Ok(bytes) => manifest::yaml(&String::from_utf8_lossy(&bytes))
                .map_err(|e| Error::text(format!("error loading config file {}: {e}", quote(&path))))?,
            Err(e) if !flag.is_empty() => return Err(Error::text(format!("stat {flag}: {e}"))),
            Err(_) => of(given),
        };
        Ok(Kubeconfig { path, value })
    }

    /// Writes the file.
    pub fn save(&self, io: &dyn Io) -> Result<(), Error> {
        let text = crate::print::object::yaml(&self.value);
        io.write_file(&self.path, text.as_bytes()).map_err(|e| Error::text(format!("open {}: {e}", self.path)))
    }

    /// The entry of a list (`clusters`, `contexts`, `users`); Null when there is none.
    pub fn entry(&self, list: &str, name: &str) -> &Value {
        let key = list.trim_end_matches('s');
        self.value.list(list).iter().find(|e| e.str("name") == name).map_or(&Value::Null, |e| e.at(key))
    }

    /// The entry for changing, made when it is not there.
    pub fn entry_mut(&mut self, list: &str, name: &str) -> &mut Value {
        let key = list.trim_end_matches('s').to_string();
        let entries = self.value.list_mut(list);
        let at = match entries.iter().position(|e| e.str("name") == name) {
            Some(at) => at,
            None => {
                // Entries are kept by name.
                let at = entries.iter().position(|e| e.str("name") > name).unwrap_or(entries.len());
                entries.insert(at, object([("name", name.into()), (key.as_str(), Value::object())]));
                at
            }
        };
        match entries.get_mut(at) {
            Some(e) => e.slot(&key),
            None => unreachable!("inserted above"),
        }
    }

    /// Removes an entry; whether it was there.
    pub fn remove(&mut self, list: &str, name: &str) -> bool {
        let entries = self.value.list_mut(list);
        let before = entries.len();
        entries.retain(|e| e.str("name") != name);
        entries.len() < before
    }

    /// Names of a list.
    pub fn names(&self, list: &str) -> Vec<String> {
        let mut names: Vec<String> = self.value.list(list).iter().map(|e| e.str("name").to_string()).collect();
        names.sort_small();
        names
    }

    /// What a command works with: the context, then what flags put in its place.
    pub fn resolve(&self, command: &Command, flags: &Parsed, given: &Config) -> Result<Config, Error> {
        // A command's own flag of the same name says something else.
        let global = |flag: &str| if command.flags.iter().any(|f| f.name == flag) { "" } else { flags.str(flag) };
        let context_name = match global("context") {
            "" => self.value.str("current-context"),
            c => c,
        };
        let context = self.entry("contexts", context_name);
        if context.is_null() && !context_name.is_empty() {
            return Err(Error::text(format!(
                "{NO_PREFIX}Error in configuration: context was not found for specified context: {context_name}"
            )));
        }
        let pick = |flag: &str, key: &str| match global(flag) {
            "" => context.str(key).to_string(),
            v => v.to_string(),
        };
        let (cluster, user) = (pick("cluster", "cluster"), pick("user", "user"));
        let mut config = given.clone();
        let (cluster_entry, user_entry) = (self.entry("clusters", &cluster), self.entry("users", &user));
        if cluster_entry.is_null() && global("server").is_empty() {
            return Err(Error::text(if cluster.is_empty() {
                format!(
                    "{NO_PREFIX}The connection to the server localhost:8080 was refused - did you specify the right host or port?"
                )
            } else {
                format!("no server found for cluster {}", quote(&cluster))
            }));
        }
        if user_entry.is_null() && !user.is_empty() {
            return Err(Error::text(format!("auth info {} does not exist", quote(&user))));
        }
        let url = match global("server") {
            "" => cluster_entry.str("server"),
            s => s,
        };
        match address(url) {
            Some(addr) => config.server = addr,
            None => {
                let host = url.split("://").last().unwrap_or(url);
                let bare = host.split([':', '/']).next().unwrap_or(host);
                return Err(Error::text(format!(
                    "{NO_PREFIX}Unable to connect to the server: dial tcp: lookup {bare}: no such host"
                )));
            }
        }
        config.cluster = cluster;
        config.user = user;
        config.context = context_name.to_string();
        config.namespace = context.str("namespace").to_string();
        config.credential = credential(user_entry);
        Ok(config)
    }
}

/// The kubeconfig that the world gives.
fn of(c: &Config) -> Value {
    let named = |name: &str, key: &str, v: Value| Value::Array(vec![object([("name", name.into()), (key, v)])]);
    let cluster = object([
        ("certificate-authority-data", base64_encode(b"the cluster's own").into()),
        ("server", format!("https://{}", c.host()).into()),
    ]);
    let context = object([("cluster", c.cluster.as_str().into()), ("user", c.user.as_str().into())]);
    let user = match &c.credential {
        Credential::Certificate { user, groups } => {
            let mut subject = format!("CN={user}");
            groups.iter().for_each(|g| subject.push_str(&format!(",O={g}")));
            object([
                ("client-certificate-data", base64_encode(subject.as_bytes()).into()),
                ("client-key-data", base64_encode(subject.as_bytes()).into()),
            ])
        }
        Credential::Token(t) => object([("token", t.to_string().into())]),
        Credential::Anonymous => Value::object(),
    };
    object([
        ("apiVersion", "v1".into()),
        ("clusters", named(&c.cluster, "cluster", cluster)),
        ("contexts", named(&c.context, "context", context)),
        ("current-context", c.context.as_str().into()),
        ("kind", "Config".into()),
        ("users", named(&c.user, "user", user)),
    ])
}

/// How a user of the kubeconfig is known: a token, or a certificate, which here is its subject.
fn credential(user: &Value) -> Credential {
    if !user.str("token").is_empty() {
        return Credential::Token(user.str("token").into());
    }
    let data = base64_decode(user.str("client-certificate-data")).unwrap_or_default();
    let subject = String::from_utf8_lossy(&data).into_owned();
    let Some(rest) = subject.strip_prefix("CN=") else { return Credential::Anonymous };
    let mut parts = rest.split(",O=");
    let name = parts.next().unwrap_or("");
    Credential::Certificate { user: name.into(), groups: parts.map(Into::into).collect() }
}

/// The address of a server's URL, where its host is an address.
fn address(url: &str) -> Option<Addr> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split('/').next().unwrap_or(rest);
    let (host, port) = match host.split_once(':') {
        Some((h, p)) => (h, p.parse().ok()?),
        None => (host, if scheme == "http" { 80 } else { 443 }),
    };
    let parts: Vec<u8> = host.split('.').map(|p| p.parse().ok()).collect::<Option<Vec<u8>>>()?;
    let [a, b, c, d] = parts.as_slice() else { return None };
    Some(Addr { ip: Ip::new(*a, *b, *c, *d), port })
}
