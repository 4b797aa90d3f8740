//! One invocation: its flags, streams, connection and what it knows of the server.

use crate::error::Error;
use crate::flags::Parsed;
use crate::io::Io;
use crate::mapping::{Mapper, Mapping};
use crate::print::human::quote;
use crate::server::Connection;
use crate::value::Value;
use api::rest::{Credential, Impersonation};
use sim::{Addr, Ctx};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The annotation that says why an object was changed.
pub const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// What the kubeconfig says.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API server listens.
    pub server: Addr,
    /// Who asks.
    pub credential: Credential,
    /// The cluster's name in the kubeconfig.
    pub cluster: String,
    /// The user's name in the kubeconfig.
    pub user: String,
    /// The context's name.
    pub context: String,
    /// The context's namespace; empty for `default`.
    pub namespace: String,
}

impl Config {
    /// The administrator's kubeconfig for a server.
    pub fn admin(server: Addr) -> Config {
        Config {
            server,
            credential: Credential::Certificate {
                user: "kubernetes-admin".into(),
                groups: vec!["system:masters".into()],
            },
            cluster: "kubernetes".into(),
            user: "kubernetes-admin".into(),
            context: "kubernetes-admin@kubernetes".into(),
            namespace: String::new(),
        }
    }

    /// `172.18.0.1:6443`
    pub fn host(&self) -> String {
        self.server.to_string()
    }
}

/// An invocation of a command.
pub struct Kubectl<'a> {
    /// The world.
    pub ctx: &'a Ctx,
    /// Streams and files.
    pub io: &'a dyn Io,
    /// The kubeconfig.
    pub config: &'a Config,
    /// Flags and arguments.
    pub flags: Parsed,
    /// The command as typed, `kubectl rollout status`.
    pub path: String,
    pub(crate) connection: RefCell<Option<Rc<Connection>>>,
    mapper: RefCell<Option<Rc<Mapper>>>,
    warned: RefCell<BTreeSet<String>>,
    /// Its requests are somebody else's, who gets the server's warnings.
    for_others: bool,
}

impl<'a> Kubectl<'a> {
    /// The same with a connection of its own, to pass on requests of others.
    pub fn for_others(&self) -> Kubectl<'a> {
        let own = Kubectl::new(self.ctx, self.io, self.config, self.flags.clone(), self.path.clone());
        Kubectl { for_others: true, ..own }
    }

    /// An invocation with parsed flags.
    pub fn new(ctx: &'a Ctx, io: &'a dyn Io, config: &'a Config, flags: Parsed, path: String) -> Self {
        Kubectl {
            ctx,
            io,
            config,
            flags,
            path,
            connection: RefCell::new(None),
            mapper: RefCell::new(None),
            warned: RefCell::new(BTreeSet::new()),
            for_others: false,
        }
    }

    /// Writes to standard output.
    pub fn out(&self, text: &str) {
        if !text.is_empty() {
            self.io.stdout(text.as_bytes());
        }
    }

    /// Writes to standard error.
    pub fn err(&self, text: &str) {
        if !text.is_empty() {
            self.io.stderr(text.as_bytes());
        }
    }

    /// Prints a warning of the server once.
    pub fn warn(&self, text: &str) {
        if !self.for_others && self.warned.borrow_mut().insert(text.to_string()) {
            self.err(&format!("Warning: {text}\n"));
        }
    }

    /// Warns in klog's form, once of each.
    pub fn warn_by_log(&self, place: &str, text: &str) {
        if self.warned.borrow_mut().insert(text.to_string()) {
            self.err(&crate::print::time::klog(self.now(), 'W', place, text));
        }
    }

    /// The namespace of the command.
    pub fn namespace(&self) -> String {
        match self.flags.str("namespace") {
            "" if self.config.namespace.is_empty() => "default".into(),
            "" => self.config.namespace.clone(),
            n => n.to_string(),
        }
    }

    /// Whether `-n` was given.
    pub fn explicit_namespace(&self) -> bool {
        !self.flags.str("namespace").is_empty()
    }

    /// Letters that make a name one of its own.
    pub fn suffix(&self) -> String {
        self.ctx.rng("kubectl").token(api::names::SUFFIX_LENGTH, api::names::SUFFIX_ALPHABET)
    }

    /// The arguments that are no flags.
    pub fn args(&self) -> &[String] {
        &self.flags.args
    }

    /// What `--record` keeps of the command (`RecordFlags`); without the flag nothing.
    pub fn cause(&self) -> Option<String> {
        let words = || [&self.path].into_iter().chain(self.args()).map(String::as_str).collect::<Vec<_>>().join(" ");
        self.flags.bool("record").then(|| words() + &self.flags.given)
    }

    /// Annotates an object with why it is changed, if `--record` was given.
    pub fn record(&self, object: &mut Value) {
        if let Some(cause) = self.cause() {
            object.set_key("metadata/annotations", CHANGE_CAUSE, cause);
        }
    }

    /// The patch that says why an object was changed: none without `--record`, or where it would change nothing.
    pub fn record_patch(&self, object: &Value) -> Option<String> {
        let cause = self.cause()?;
        let known = object.at("metadata/annotations").key(CHANGE_CAUSE).as_str() == Some(&cause);
        let mut patch = Value::object();
        if !known {
            self.record(&mut patch);
        }
        Some(patch.to_json())
    }

    /// Wall time in nanoseconds since 1970.
    pub fn now(&self) -> i64 {
        self.ctx.unix_nanos()
    }

    /// `cmdutil.UsageErrorf`.
    pub fn usage_error(&self, message: &str) -> Error {
        Error::Text(format!("{message}\nSee '{} -h' for help and examples", self.path))
    }

    /// The credential to show: a certificate is seen before a token.
    pub(crate) fn credential(&self) -> Credential {
        match (&self.config.credential, self.flags.str("token")) {
            (c @ Credential::Certificate { .. }, _) => c.clone(),
            (c, "") => c.clone(),
            (_, t) => Credential::Token(t.into()),
        }
    }

    pub(crate) fn impersonation(&self) -> Option<Impersonation> {
        let user = self.flags.str("as");
        let groups = self.flags.list("as-group");
        if user.is_empty() && groups.is_empty() {
            return None;
        }
        Some(Impersonation {
            user: user.into(),
            groups: groups.iter().map(|g| g.as_str().into()).collect(),
            uid: self.flags.str("as-uid").into(),
        })
    }

    /// What discovery gives: the built-in resources, as a fresh discovery cache holds them.
    pub fn mapper(&self) -> Rc<Mapper> {
        if let Some(m) = &*self.mapper.borrow() {
            return m.clone();
        }
        let resources = api::scheme::resources()
            .iter()
            .map(|k| {
                Rc::new(Mapping {
                    group: k.group.into(),
                    version: k.version.into(),
                    kind: k.kind.into(),
                    plural: k.plural.into(),
                    singular: k.singular.into(),
                    short_names: k.short_names.iter().map(|s| s.to_string()).collect(),
                    namespaced: k.namespaced,
                    verbs: k.verbs.iter().map(|s| s.to_string()).collect(),
                    categories: k.categories.iter().map(|s| s.to_string()).collect(),
                    subresources: k.subresources.iter().map(|s| s.name.to_string()).collect(),
                })
            })
            .collect();
        let mapper = Rc::new(Mapper { resources });
        *self.mapper.borrow_mut() = Some(mapper.clone());
        mapper
    }

    /// The mapping of a core or well-known kind, such as `("", "pods")`.
    pub fn known(&self, group: &str, plural: &str) -> Result<Rc<Mapping>, Error> {
        self.mapper()
            .by_resource(group, plural)
            .ok_or_else(|| Error::text(format!("the server doesn't have a resource type {}", quote(plural))))
    }
}
