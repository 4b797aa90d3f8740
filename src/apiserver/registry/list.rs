//! list: a collection, from the cache once it has reached the store's revision (consistent reads from cache).

use std::rc::Rc;

use api::field::{self, ErrorList, Path};
use api::rest::{ListOptions, ObjectList};
use api::selector::{FieldSelector, LabelSelector};
use api::{AnyRev, Object, Status, Str};

use super::Call;
use crate::cache::Scope;
use crate::strategy::fields;
use crate::{Inner, errors};

/// What became of a list's continuation whose revision was compacted away.
const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
/// The same without a continuation.
const EXPIRED_VERSION: &str = "The resourceVersion for the provided list is too old.";

/// Which objects of a collection are wanted.
#[derive(Clone)]
pub struct Filter {
    /// Of which namespace; empty for all.
    pub namespace: Str,
    /// By labels.
    pub labels: LabelSelector,
    /// By fields.
    pub fields: FieldSelector,
    /// Whether both select everything.
    everything: bool,
}

impl Filter {
    /// Reads the selectors of a list or watch of `call`'s kind.
    pub fn parse(call: &Call, options: &ListOptions) -> Result<Filter, Status> {
        let unable = |text: String| Status::bad_request(text);
        let labels = LabelSelector::parse(&options.label_selector).map_err(unable)?;
        let mut parsed = FieldSelector::parse(&options.field_selector).map_err(unable)?;
        for requirement in &parsed.requirements {
            fields::known(call.kind.group, call.kind.kind, &requirement.field).map_err(unable)?;
        }
        // One object is asked for by its name, in the request's path.
        if !call.name.is_empty() && call.request.verb != api::rest::Verb::DeleteCollection {
            parsed.requirements.extend(FieldSelector::equals("metadata.name", call.name.clone()).requirements);
        }
        let everything = labels.is_empty() && parsed.is_empty();
        Ok(Filter { namespace: call.namespace.clone(), labels, fields: parsed, everything })
    }

    /// Whether it lets everything of its namespace through.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// Whether an object is wanted.
    pub fn matches(&self, object: &dyn Object) -> bool {
        let Some(metadata) = object.metadata() else { return true };
        if !self.namespace.is_empty() && metadata.namespace != self.namespace {
            return false;
        }
        if self.everything {
            return true;
        }
        self.labels.matches(&metadata.labels)
            && self.fields.requirements.iter().all(|r| (*fields::value(object, &r.field) == *r.value) == r.equal)
    }

    /// The place where a watcher with this filter stands.
    pub fn scope(&self, call: &Call) -> Scope {
        let namespaced = call.resource().kind.namespaced;
        if let Some(name) = self.fields.requires("metadata.name") {
            let namespace = match self.fields.requires("metadata.namespace") {
                Some(namespace) => Some(namespace.clone()),
                None if self.namespace.is_empty() => None,
                None => Some(self.namespace.clone()),
            };
            if !namespaced {
                return Scope::Key(Rc::from(&**name));
            }
            if let Some(namespace) = namespace {
                return Scope::Key(Rc::from(format!("{namespace}/{name}")));
            }
        }
        if let Some(node) = self.fields.requires("spec.nodeName")
            && !node.is_empty()
            && call.resource().index == call.server.pods
        {
            return Scope::Node(node.clone());
        }
        if self.namespace.is_empty() { Scope::All } else { Scope::Namespace(self.namespace.clone()) }
    }
}

/// Parses a resourceVersion of a list or watch.
pub fn parse_resource_version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let text = api::go::quote(text);
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid syntax")
    })
}

/// Checks the options that depend on each other (`ValidateListOptions`).
pub fn check_options(options: &ListOptions, watch: bool) -> Result<(), Status> {
    let mut failures = ErrorList::default();
    let path = Path::new("resourceVersionMatch");
    let given = &options.resource_version_match;
    let mut forbid = |path: &Path, why: &str| failures.push(field::forbidden(path, why));
    let streams = options.send_initial_events.is_some();
    if watch && streams && &**given != "NotOlderThan" {
        forbid(&path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if !given.is_empty() {
        if watch && !streams {
            forbid(&path, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
        }
        if !watch && options.resource_version.is_empty() {
            forbid(&path, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !watch && !options.continue_.is_empty() {
            forbid(&path, "resourceVersionMatch is forbidden when continue is provided");
        }
        let valid: &[&str] = if watch { &["NotOlderThan"] } else { &["Exact", "NotOlderThan", ""] };
        if !valid.contains(&&**given) {
            failures.push(field::not_supported(&path, given, valid));
        }
        if watch && !options.continue_.is_empty() {
            failures.push(field::forbidden(&path, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !watch && &**given == "Exact" && &*options.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            failures.push(field::forbidden(&path, why));
        }
    }
    if !watch && streams {
        failures.push(field::forbidden(&Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list"));
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(("meta.k8s.io", "ListOptions"), "", &failures))
}

/// Where a list goes on: the position after an object, at the revision the list began with.
struct Continue {
    revision: Option<u64>,
    start: String,
}

fn encode_continue(revision: i64, start: &str) -> Str {
    let text = format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":{}}}", json_string(start));
    Str::from(crate::base64::encode_url(text.as_bytes()))
}

fn json_string(text: &str) -> String {
    api::json::Value::from(text).to_string()
}

fn decode_continue(token: &str) -> Result<Continue, Status> {
    let bad = |why: String| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = crate::base64::decode_url(token).ok_or_else(|| {
        let at = token.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
        bad(format!("illegal base64 data at input byte {}", at.unwrap_or(token.len())))
    })?;
    let value = api::json::Value::parse(&String::from_utf8_lossy(&bytes)).map_err(|error| bad(error.message))?;
    let version = value.str_at(&["v"]);
    if version != "meta.k8s.io/v1" {
        return Err(bad(format!("server does not recognize this encoded version {version}")));
    }
    let revision = match value.get("rv").and_then(|rv| rv.as_i64()) {
        None | Some(0) => {
            return Err(bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_string()));
        }
        // An inconsistent list goes on with what there is now.
        Some(revision) => u64::try_from(revision).ok(),
    };
    let start = value.str_at(&["start"]).to_string();
    if start.is_empty() {
        return Err(bad("encoded start key empty (version meta.k8s.io/v1)".to_string()));
    }
    // No key leads out of its collection.
    let inner = start.strip_prefix('/').unwrap_or(&start);
    if !inner.is_empty() && inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(bad(start));
    }
    Ok(Continue { revision, start })
}

impl Call {
    /// The objects that the request asks for.
    pub async fn list(&self, options: &ListOptions) -> Result<ObjectList, Status> {
        check_options(options, false)?;
        let filter = Filter::parse(self, options)?;
        let server = &self.server;
        let resource = self.resource();
        let version = parse_resource_version(&options.resource_version)
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
        let exact = &*options.resource_version_match == "Exact";
        if !options.continue_.is_empty() {
            if version.is_some_and(|v| v != 0) {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue".to_string(),
                ));
            }
            let from = decode_continue(&options.continue_)?;
            let Some(revision) = from.revision else {
                let revision = server.storage.revision().await.map_err(errors::store)?;
                self.wait_for(revision).await?;
                let revision = server.cache.revision();
                let all = server.cache.resource(resource.index).list(&filter.namespace, Some(&from.start));
                return Ok(cut(&filter, options, revision, all.into_iter()));
            };
            return self.list_at(&filter, options, revision, Some(from.start)).await;
        }
        if let Some(revision) = version.filter(|_| exact) {
            return self.list_at(&filter, options, revision, None).await;
        }
        match version {
            // The newest state.
            None => {
                let revision = server.storage.revision().await.map_err(errors::store)?;
                self.wait_for(revision).await?;
            }
            // Whatever the cache has, but not older than asked for.
            Some(revision) => self.wait_for(revision).await?,
        }
        let revision = server.cache.revision();
        let all = server.cache.resource(resource.index).list(&filter.namespace, None);
        Ok(cut(&filter, options, revision, all.into_iter()))
    }

    /// Waits until the cache knows a revision; gives up as the real server does.
    async fn wait_for(&self, revision: u64) -> Result<(), Status> {
        let server = &self.server;
        if server.cache.ready() && server.cache.revision() >= revision {
            return Ok(());
        }
        let reached = server.cache.reached(revision);
        match server.ctx.timeout(std::time::Duration::from_secs(3), reached).await {
            Ok(()) => Ok(()),
            Err(_) => Err(errors::too_large_resource_version(revision, server.cache.revision())),
        }
    }

    async fn list_at(
        &self,
        filter: &Filter,
        options: &ListOptions,
        revision: u64,
        start: Option<String>,
    ) -> Result<ObjectList, Status> {
        let resource = self.resource();
        let prefix = if filter.namespace.is_empty() {
            resource.prefix.to_string()
        } else {
            format!("{}{}/", resource.prefix, filter.namespace)
        };
        let entries = self.server.storage.range_at(&prefix, revision).await.map_err(|error| match (error, &start) {
            (crate::storage::StoreError::Compacted(_), Some(start)) => {
                let mut status = Status::expired(EXPIRED_CONTINUE).into_object();
                status.metadata.continue_ = encode_continue(-1, start);
                Status::from_object(status)
            }
            (crate::storage::StoreError::Compacted(_), None) => Status::expired(EXPIRED_VERSION),
            (error, _) => errors::store(error),
        })?;
        let skip = resource.prefix.len();
        let all = entries.into_iter().filter_map(|entry| {
            let key: Rc<str> = Rc::from(entry.key.get(skip..)?);
            let wanted = start.as_deref().is_none_or(|start| &*key >= start);
            wanted.then_some((key, AnyRev { revision: entry.revision, body: entry.body }))
        });
        Ok(cut(filter, options, revision, all))
    }
}

/// Takes what the filter wants, up to the limit.
fn cut(
    filter: &Filter,
    options: &ListOptions,
    revision: u64,
    all: impl Iterator<Item = (Rc<str>, AnyRev)>,
) -> ObjectList {
    let mut list = ObjectList { revision, ..ObjectList::default() };
    let limit = usize::try_from(options.limit).unwrap_or(0);
    let mut last: Option<Rc<str>> = None;
    let mut left = 0;
    for (key, object) in all {
        if !filter.matches(&*object.body) {
            continue;
        }
        if limit != 0 && list.items.len() >= limit {
            left += 1;
            continue;
        }
        last = Some(key);
        list.items.push(object);
    }
    if left > 0 {
        let start = format!("{}\u{0}", last.as_deref().unwrap_or_default());
        list.continue_ = encode_continue(i64::try_from(revision).unwrap_or(i64::MAX), &start);
        // With a selector the server cannot tell cheaply, and doesn't.
        list.remaining = filter.is_everything().then_some(left);
    }
    list
}

/// The objects of a resource in a namespace, from the cache, for the server's own use.
pub fn cached(server: &Inner, index: usize, namespace: &str) -> Vec<AnyRev> {
    server.cache.resource(index).list(namespace, None).into_iter().map(|(_, object)| object).collect()
}
