//! Which objects a command is about: arguments and files (`cli-runtime/pkg/resource`).

mod files;

use crate::error::Error;
use crate::mapping::{Mapper, Mapping};
use crate::print::human::quote;
use crate::print::table::Table;
use crate::server::CHUNK_SIZE;
use crate::session::Kubectl;
use crate::value::{Value, object};
use api::rest::ListOptions;
use std::rc::Rc;

/// An object a command is about, or a list of them.
#[derive(Clone, Default)]
pub struct Info {
    /// Its resource.
    pub mapping: Rc<Mapping>,
    /// Its namespace, empty for cluster-scoped ones.
    pub namespace: String,
    /// Its name, empty for lists.
    pub name: String,
    /// The file it came from.
    pub source: String,
    /// The object; Null when it was not read.
    pub object: Value,
    /// Its rows, when they were asked for.
    pub table: Option<Table>,
    /// The revision of a list of rows.
    pub revision: u64,
}

impl Info {
    /// `deployments/web`
    pub fn object_name(&self) -> String {
        format!("{}/{}", self.mapping.plural, self.name)
    }

    /// `deployment.apps/web`
    pub fn printed_name(&self) -> String {
        format!("{}/{}", self.mapping.printed_kind(), self.name)
    }

    /// Reads the object anew.
    pub async fn get(&mut self, k: &Kubectl<'_>) -> Result<(), Error> {
        self.object = match k.get(&self.mapping, &self.namespace, &self.name, "").await {
            Ok(object) => object,
            Err(e) => return Err(or_namespace(k, &self.namespace, e).await),
        };
        Ok(())
    }

    /// Takes an object that the server answered.
    pub fn refresh(&mut self, object: Value) {
        let name = object.str("metadata/name");
        if !name.is_empty() {
            self.name = name.to_string();
        }
        self.object = object;
    }
}

/// What was found, in order; errors stand where they came up.
pub struct Visit {
    /// Objects and errors.
    pub items: Vec<Result<Info, Error>>,
    /// One object was asked for by name.
    pub single_item: bool,
}

impl Visit {
    /// The objects; the first error, or all of them, when there are any.
    pub fn infos(self) -> (Vec<Info>, Result<(), Error>) {
        let mut infos = Vec::new();
        let mut errors = Vec::new();
        for item in self.items {
            match item {
                Ok(i) => infos.push(i),
                Err(Error::Aggregate(list)) => errors.extend(list),
                Err(e) => errors.push(e),
            }
        }
        (infos, Error::aggregate(errors))
    }
}

/// Collects what a command is about.
pub struct Builder {
    namespace: String,
    all_namespaces: bool,
    require_namespace: bool,
    labels: Option<String>,
    fields: Option<String>,
    select_all: bool,
    files: Vec<String>,
    kustomize: String,
    recursive: bool,
    names: Vec<String>,
    resources: Vec<String>,
    tuples: Vec<(String, String)>,
    errors: Vec<Error>,
    /// Ask for rows.
    pub table: bool,
    /// Ask for full objects even from files (`Latest`).
    pub latest: bool,
    /// Lists become their items.
    pub flatten: bool,
    /// Objects named by arguments are read.
    pub require_object: bool,
    /// Errors don't end the visit.
    pub continue_on_error: bool,
    /// More than one resource type is an error.
    pub single_type: bool,
    /// Objects are checked for apiVersion and kind.
    pub validate: bool,
    /// A subresource to get.
    pub subresource: String,
    /// Objects a page.
    pub chunk: i64,
    /// No requests at all.
    pub local: bool,
}

impl Builder {
    /// A builder for the command's namespace and its `-f` files.
    pub fn new(k: &Kubectl<'_>) -> Builder {
        Builder {
            namespace: k.namespace(),
            all_namespaces: false,
            require_namespace: k.explicit_namespace(),
            labels: None,
            fields: None,
            select_all: false,
            files: k.flags.list("filename"),
            kustomize: k.flags.str("kustomize").to_string(),
            recursive: k.flags.bool("recursive"),
            names: Vec::new(),
            resources: Vec::new(),
            tuples: Vec::new(),
            errors: Vec::new(),
            table: false,
            latest: false,
            flatten: true,
            require_object: true,
            continue_on_error: true,
            single_type: false,
            validate: false,
            subresource: String::new(),
            chunk: CHUNK_SIZE,
            local: k.flags.bool("local"),
        }
    }

    /// Objects of files get no namespace from the command.
    pub fn no_namespace(mut self) -> Self {
        self.namespace = String::new();
        self.require_namespace = false;
        self
    }

    /// `-A`.
    pub fn all_namespaces(mut self, all: bool) -> Self {
        if all {
            self.namespace = String::new();
            self.require_namespace = false;
        }
        self.all_namespaces = all;
        self
    }

    /// `-l`.
    pub fn labels(mut self, selector: &str) -> Self {
        let s = selector.trim();
        if s.is_empty() {
            return self;
        }
        if self.select_all {
            self.errors.push(Error::text(format!(
                "found non-empty label selector {} with previously set 'all' parameter. ",
                quote(selector)
            )));
        }
        self.labels = Some(s.to_string());
        self
    }

    /// `--field-selector`.
    pub fn fields(mut self, selector: &str) -> Self {
        let s = selector.trim();
        if s.is_empty() {
            return self;
        }
        if self.select_all {
            self.errors.push(Error::text(format!(
                "found non-empty field selector {} with previously set 'all' parameter. ",
                quote(selector)
            )));
        }
        self.fields = Some(s.to_string());
        self
    }

    /// `--all`.
    pub fn select_all(mut self, all: bool) -> Self {
        if all && (self.labels.is_some() || self.fields.is_some()) {
            self.errors.push(Error::text("setting 'all' parameter but found a non empty selector. "));
            return self;
        }
        self.select_all = all;
        self
    }

    /// Whether any file was given.
    pub fn has_files(&self) -> bool {
        !self.files.is_empty() || !self.kustomize.is_empty()
    }

    /// A resource and names of it.
    pub fn resource_names(mut self, resource: &str, names: &[String]) -> Self {
        for name in names {
            match split_tuple(name) {
                Err(e) => {
                    self.errors.push(e);
                    return self;
                }
                Ok(Some(t)) => self.tuples.push(t),
                Ok(None) if resource.is_empty() => {
                    self.errors.push(Error::text(format!("the argument {} must be RESOURCE/NAME", quote(name))))
                }
                Ok(None) => self.tuples.push((resource.to_string(), name.clone())),
            }
        }
        self
    }

    /// `TYPE NAME ...`, `TYPE/NAME ...`, `TYPE,TYPE`.
    pub fn arguments(mut self, k: &Kubectl<'_>, allow_empty_selector: bool, args: &[String]) -> Self {
        let mut args = normalize(args);
        let slashes = args.iter().filter(|a| a.contains('/')).count();
        if slashes > 0 {
            if slashes != args.len() {
                self.errors.push(Error::text(
                    "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
                ));
                return self;
            }
            for a in &args {
                match split_tuple(a) {
                    Err(e) => {
                        self.errors.push(e);
                        return self;
                    }
                    Ok(Some(t)) => self.tuples.push(t),
                    Ok(None) => {}
                }
            }
            return self;
        }
        if args.is_empty() {
            return self;
        }
        let first = args.remove(0);
        let mapper = k.mapper();
        let expanded: Vec<String> =
            first.split(',').map(|a| mapper.category(a).map_or(a.to_string(), |list| list.join(","))).collect();
        for r in expanded.join(",").split(',') {
            if !self.resources.iter().any(|x| x == r) {
                self.resources.push(r.to_string());
            }
        }
        if args.is_empty() {
            if self.labels.is_none() && allow_empty_selector {
                self.labels = Some(String::new());
            }
        } else {
            self.names = args;
        }
        self
    }

    /// Finds the objects.
    pub async fn run(mut self, k: &Kubectl<'_>) -> Result<Visit, Error> {
        Error::aggregate(std::mem::take(&mut self.errors))?;
        if self.select_all {
            self.labels = Some(String::new());
        }
        if self.has_files() {
            return self.by_files(k).await;
        }
        if self.local && !(self.tuples.is_empty() && self.names.is_empty() && self.resources.is_empty()) {
            return Err(Error::text(
                "you must specify resources by --filename when --local is set.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'",
            ));
        }
        let mapper = k.mapper();
        if self.labels.is_some() || self.fields.is_some() {
            return self.by_selector(k, &mapper).await;
        }
        if !self.tuples.is_empty() {
            if !self.resources.is_empty() {
                return Err(Error::text(
                    "you may not specify individual resources and bulk resources in the same call",
                ));
            }
            let tuples = std::mem::take(&mut self.tuples);
            return self.by_names(k, &mapper, tuples).await;
        }
        if !self.names.is_empty() {
            let resource = match self.resources.as_slice() {
                [one] => one.clone(),
                [] => {
                    return Err(Error::text("you must provide a resource and a resource name together"));
                }
                _ => return Err(Error::text("you must specify only one resource")),
            };
            let tuples = self.names.drain(..).map(|n| (resource.clone(), n)).collect();
            return self.by_names(k, &mapper, tuples).await;
        }
        if !self.resources.is_empty() {
            for r in &self.resources {
                mapper.for_argument(r)?;
            }
            return Err(Error::text("resource(s) were provided, but no name was specified"));
        }
        Err(Error::text(
            "You must provide one or more resources by argument or filename.\nExample resource specifications include:\n   '-f rsrc.yaml'\n   '--filename=rsrc.json'\n   '<resource> <name>'\n   '<resource>'",
        ))
    }

    async fn by_selector(self, k: &Kubectl<'_>, mapper: &Mapper) -> Result<Visit, Error> {
        if !self.names.is_empty() {
            return Err(Error::text("name cannot be provided when a selector is specified"));
        }
        if !self.tuples.is_empty() {
            return Err(Error::text("selectors and the all flag cannot be used when passing resource/name arguments"));
        }
        if self.resources.is_empty() {
            return Err(Error::text("at least one resource must be specified to use a selector"));
        }
        if !self.subresource.is_empty() {
            return Err(Error::text("subresource cannot be used when bulk resources are specified"));
        }
        if self.resources.len() > 1 && self.single_type {
            return Err(Error::text("you may only specify a single resource type"));
        }
        let mut mappings: Vec<Rc<Mapping>> = Vec::new();
        for r in &self.resources {
            let m = mapper.for_argument(r)?;
            warn(k, mapper, r);
            if !mappings.contains(&m) {
                mappings.push(m);
            }
        }
        let mut items = Vec::new();
        for m in mappings {
            let namespace = if m.namespaced { self.namespace.clone() } else { String::new() };
            let mut options = ListOptions {
                label_selector: self.labels.as_deref().unwrap_or("").into(),
                field_selector: self.fields.as_deref().unwrap_or("").into(),
                limit: self.chunk,
                ..ListOptions::default()
            };
            loop {
                let base = Info { mapping: m.clone(), namespace: namespace.clone(), ..Info::default() };
                let token;
                if self.table {
                    match k.list_table(&m, &namespace, &options).await {
                        Ok((table, next, revision)) => {
                            token = next;
                            items.push(Ok(Info { table: Some(table), revision, ..base }));
                        }
                        Err(e) => {
                            items.push(Err(enhance(e, &options, &m.gvr())));
                            break;
                        }
                    }
                } else {
                    match k.list_page(&m, &namespace, &options).await {
                        Ok(list) => {
                            token = list.str("metadata/continue").to_string();
                            let info = Info { object: list, ..base };
                            self.add(mapper, info, &mut items);
                        }
                        Err(e) => {
                            items.push(Err(enhance(e, &options, &m.gvr())));
                            break;
                        }
                    }
                }
                if token.is_empty() {
                    break;
                }
                options.continue_ = token.as_str().into();
            }
            if !self.continue_on_error && items.iter().any(|i| i.is_err()) {
                break;
            }
        }
        Ok(Visit { items, single_item: false })
    }

    /// Adds an object, or the items of a list.
    fn add(&self, mapper: &Mapper, info: Info, items: &mut Vec<Result<Info, Error>>) {
        if !self.flatten || !matches!(info.object.at("items"), Value::Array(_)) {
            items.push(Ok(info));
            return;
        }
        for item in info.object.list("items") {
            if matches!(item.at("items"), Value::Array(_)) && item.str("kind").ends_with("List") {
                self.add(mapper, Info { object: item.clone(), ..info.clone() }, items);
                continue;
            }
            let kind = item.str("kind");
            let mapping = if info.mapping.kind == kind && !kind.is_empty() {
                info.mapping.clone()
            } else {
                match mapper.for_kind(item.str("apiVersion"), kind) {
                    Some(m) => m,
                    None => {
                        // What fails inside of a list stays an aggregate, if only of one.
                        items.push(Err(Error::Listed(vec![Error::text(format!(
                            "unable to recognize no matches for kind {} in version {}",
                            quote(kind),
                            quote(item.str("apiVersion"))
                        ))])));
                        continue;
                    }
                }
            };
            let mut one = Info {
                mapping,
                namespace: item.str("metadata/namespace").to_string(),
                name: item.str("metadata/name").to_string(),
                source: info.source.clone(),
                object: item.clone(),
                table: None,
                revision: 0,
            };
            items.push(self.settle_namespace(&mut one).map(|()| one));
        }
    }

    async fn by_names(self, k: &Kubectl<'_>, mapper: &Mapper, tuples: Vec<(String, String)>) -> Result<Visit, Error> {
        let mut resolved = Vec::new();
        for (resource, name) in tuples {
            let m = mapper.for_argument(&resource)?;
            warn(k, mapper, &resource);
            if m.namespaced && self.namespace.is_empty() {
                return Err(Error::text(if self.all_namespaces {
                    "a resource cannot be retrieved by name across all namespaces"
                } else {
                    "namespace may not be empty when retrieving a resource by name"
                }));
            }
            resolved.push((m, name));
        }
        let first = resolved.first().map(|r| r.0.clone());
        if self.single_type && resolved.iter().any(|r| Some(&r.0) != first.as_ref()) {
            return Err(Error::text("you may only specify a single resource type"));
        }
        let single_item = resolved.len() == 1;
        let mut items = Vec::new();
        for (m, name) in resolved {
            let namespace = if m.namespaced { self.namespace.clone() } else { String::new() };
            let mut info = Info { mapping: m, namespace, name, ..Info::default() };
            if self.require_object {
                let (m, ns, name) = (&info.mapping, &info.namespace, &info.name);
                if self.table {
                    match k.get_table(m, ns, name, &self.subresource).await {
                        Ok(Ok(t)) => info.table = Some(t),
                        Ok(Err(o)) => info.object = o,
                        Err(e) => {
                            items.push(Err(or_namespace(k, ns, e).await));
                            if !self.continue_on_error {
                                break;
                            }
                            continue;
                        }
                    }
                } else {
                    match k.get(m, ns, name, &self.subresource).await {
                        Ok(o) => info.object = o,
                        Err(e) => {
                            items.push(Err(or_namespace(k, ns, e).await));
                            if !self.continue_on_error {
                                break;
                            }
                            continue;
                        }
                    }
                }
            }
            items.push(Ok(info));
        }
        Ok(Visit { items, single_item })
    }

    fn settle_namespace(&self, info: &mut Info) -> Result<(), Error> {
        // Without a server nobody knows what has a namespace.
        if self.local {
            return Ok(());
        }
        if !info.mapping.namespaced {
            info.namespace.clear();
            info.object.remove_key("metadata", "namespace");
            return Ok(());
        }
        if info.namespace.is_empty() {
            info.namespace = self.namespace.clone();
            if !info.namespace.is_empty() {
                info.object.set("metadata/namespace", info.namespace.clone());
            }
        } else if self.require_namespace && info.namespace != self.namespace {
            return Err(Error::text(format!(
                "the namespace from the provided object {} does not match the namespace {}. You must pass '--namespace={}' to perform this operation.",
                quote(&info.namespace),
                quote(&self.namespace),
                info.namespace
            )));
        }
        Ok(())
    }
}

/// `normalizeMultipleResourcesArgs`: several types and names are all their pairs.
fn normalize(args: &[String]) -> Vec<String> {
    if let [types, names @ ..] = args
        && !names.is_empty()
        && types.contains(',')
    {
        return types.split(',').flat_map(|t| names.iter().map(move |n| format!("{t}/{n}"))).collect();
    }
    args.to_vec()
}

fn split_tuple(arg: &str) -> Result<Option<(String, String)>, Error> {
    if !arg.contains('/') {
        return Ok(None);
    }
    let parts: Vec<&str> = arg.split('/').collect();
    match parts.as_slice() {
        [resource, name] if !resource.is_empty() && !name.is_empty() && !resource.contains(',') => {
            Ok(Some((resource.to_string(), name.to_string())))
        }
        [_, _] => Err(Error::text("arguments in resource/name form must have a single resource and name")),
        _ => Err(Error::text("arguments in resource/name form may not have more than one slash")),
    }
}

/// `EnhanceListError`.
fn enhance(e: Error, options: &ListOptions, subject: &str) -> Error {
    match e {
        Error::Status(s) if s.str("reason") == "BadRequest" || s.str("reason") == "NotFound" => {
            let prefix = if options.label_selector.is_empty() && options.field_selector.is_empty() {
                format!("Unable to list {}: ", quote(subject))
            } else {
                format!(
                    "Unable to find {} that match label selector {}, field selector {}: ",
                    quote(subject),
                    quote(&options.label_selector),
                    quote(&options.field_selector)
                )
            };
            Error::Status(s).prefixed(&prefix)
        }
        other => other,
    }
}

/// A List of objects as `kubectl get` makes it.
pub fn list_of(items: Vec<Value>) -> Value {
    object([
        ("apiVersion", "v1".into()),
        ("items", Value::Array(items)),
        ("kind", "List".into()),
        ("metadata", object([("resourceVersion", "".into())])),
    ])
}

fn not_validated(source: &str, why: &str) -> Error {
    Error::text(format!(
        "error validating {}: error validating data: {why}; if you choose to ignore these errors, turn validation off with --validate=false",
        quote(source)
    ))
}

/// Says what else a short name could stand for.
pub fn warn(k: &Kubectl<'_>, mapper: &Mapper, typed: &str) {
    if let Some(text) = mapper.ambiguous(typed) {
        k.err(&format!("Warning: {text}\n"));
    }
}

/// What is said of an object that isn't there: that its namespace isn't, where that is so (`Info.Get`).
async fn or_namespace(k: &Kubectl<'_>, namespace: &str, error: Error) -> Error {
    if !error.is_not_found() || matches!(namespace, "" | "default") {
        return error;
    }
    let Ok(namespaces) = k.known("", "namespaces") else { return error };
    match k.get(&namespaces, "", namespace, "").await {
        Err(e) if e.is_not_found() => e,
        _ => error,
    }
}
