//! `/openapi/v3`: the documents of the served groups, made when they are asked for from the tables that the codec uses
//! (k8s.io/apiserver `pkg/endpoints/installer.go`, kube-openapi `pkg/builder3`).

use std::collections::BTreeMap;

use api::SortSmall;
use api::object::TypeDesc;
use api::openapi::{PATCH, Schemas, object, reference, text, texts, title};
use api::scheme::{by_kind, resources};
use api::types::{meta_v1, version};
use api::{KindInfo, Str};

use crate::discovery::groups;

/// Operations of a path, in the order in which a document has them.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

const LISTED: &str = "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents \
    shardSelector timeoutSeconds";
const WATCHED: &str = "allowWatchBookmarks watch";
const WRITTEN: &str = "dryRun fieldManager fieldValidation";
const DELETED: &str = "dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents \
    propagationPolicy";
/// The parameters of the requests that are passed on to nodes, by subresource.
const PASSED_ON: [(&str, &str); 5] = [
    ("attach", "container stderr stdin stdout tty"),
    ("exec", "command container stderr stdin stdout tty"),
    (
        "log",
        "container follow insecureSkipTLSVerifyBackend limitBytes previous sinceSeconds stream tailLines timestamps",
    ),
    ("portforward", "ports"),
    ("proxy", "path"),
];
/// Parameters that are no strings.
const BOOLEANS: &str = " allowWatchBookmarks follow force ignoreStoreReadErrorWithClusterBreakingPotential \
    insecureSkipTLSVerifyBackend orphanDependents previous sendInitialEvents stderr stdin stdout timestamps tty watch ";
const INTEGERS: &str = " gracePeriodSeconds limit limitBytes ports sinceSeconds tailLines timeoutSeconds ";

const ENCODINGS: [&str; 3] = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
const STREAMED: [&str; 5] = [
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];

const NAMESPACE: &str = "io.k8s.api.core.v1.Namespace";
/// The path of the issuer's document.
const ISSUER: &str = ".well-known/openid-configuration";

/// The paths of all documents, sorted.
pub(crate) fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [ISSUER, "api", "apis", "version"].iter().map(|path| path.to_string()).collect();
    for (group, versions) in groups() {
        let root = if group.is_empty() { "api".to_string() } else { format!("apis/{group}") };
        paths.extend(versions.iter().map(|version| format!("{root}/{version}")));
        if !group.is_empty() {
            paths.push(root);
        }
    }
    paths.sort_small();
    paths
}

/// The document of documents. A hash is of the version and the path, as a document changes with its version only.
pub(crate) fn root() -> String {
    let entry = |path: String| {
        let digits = |salt: &str| {
            let sum = api::sha256::sha256(format!("{salt} {path}").as_bytes());
            sum.iter().map(|byte| format!("{byte:02X}")).collect::<String>()
        };
        let url = format!("/openapi/v3/{path}?hash={}{}", digits("v1.37.2"), digits("openapi"));
        let url = object(&[("serverRelativeURL", text(&url))]);
        (path, url)
    };
    let paths: Vec<(String, String)> = paths().into_iter().map(entry).collect();
    object(&[("paths", object(&paths))])
}

/// The document of a path without its leading `/openapi/v3/`.
pub(crate) fn document(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    if !paths().iter().any(|served| served == path) {
        return None;
    }
    let name = |group: &str| match group {
        "" => "Core".into(),
        group => group.trim_end_matches(".k8s.io").split('.').map(title).collect::<String>(),
    };
    let mut document = Document::default();
    match parts[..] {
        ["api"] => document.plain(path, "core", "getCoreAPIVersions", Some(&meta_v1::API_VERSIONS)),
        ["apis"] => document.plain(path, "apis", "getAPIVersions", Some(&meta_v1::API_GROUP_LIST)),
        ["version"] => document.plain(path, "version", "getCodeVersion", Some(&version::INFO)),
        ["apis", group] => {
            let name = name(group);
            document.plain(path, &untitled(&name), &format!("get{name}APIGroup"), Some(&meta_v1::API_GROUP));
        }
        ["api", version] | ["apis", _, version] => {
            let group = parts.get(1).filter(|_| parts.len() == 3).copied().unwrap_or("");
            let (name, suffix) = (name(group), title(version));
            let tag = format!("{}_{version}", untitled(&name));
            let id = format!("get{name}{suffix}APIResources");
            document.plain(path, &tag, &id, Some(&meta_v1::API_RESOURCE_LIST));
            document.group = group.into();
            document.version = version.into();
            document.tag = tag;
            document.name = format!("{name}{suffix}");
            for kind in resources().iter().copied().filter(|kind| (kind.group, kind.version) == (group, version)) {
                document.resource(&format!("/{path}"), kind);
            }
        }
        _ => document.plain(path, "WellKnown", "getServiceAccountIssuerOpenIDConfiguration", None),
    }
    Some(document.into_json())
}

/// The word with its first letter in lower case.
fn untitled(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_lowercase(), letters.as_str()))
}

/// An operation of a path.
struct Operation {
    method: &'static str,
    id: String,
    /// Those of the query, by name, besides those of the path.
    parameters: Vec<&'static str>,
    /// What it takes, and whether it must be there.
    body: Option<(&'static [&'static str], &'static str, bool)>,
    /// In which encodings it answers.
    encodings: Vec<&'static str>,
    /// What it answers: a type or else a string.
    answer: Option<&'static str>,
    codes: &'static [&'static str],
    /// `x-kubernetes-action` and the kind.
    action: Option<(&'static str, [&'static str; 3])>,
}

/// A document in the making.
#[derive(Default)]
struct Document {
    group: Str,
    version: Str,
    tag: String,
    /// The group and version within the names of operations.
    name: String,
    paths: BTreeMap<String, Vec<Operation>>,
    schemas: Schemas,
}

impl Document {
    /// A path that is about no resource.
    fn plain(&mut self, path: &str, tag: &str, id: &str, answer: Option<&'static TypeDesc>) {
        self.tag = tag.into();
        let kinds = answer.is_some_and(|desc| desc.kind.is_some());
        if let Some(desc) = answer {
            self.schemas.add(desc, "", "");
        }
        let operation = Operation {
            method: "get",
            id: id.into(),
            parameters: Vec::new(),
            body: None,
            encodings: if kinds { ENCODINGS.into() } else { vec!["application/json"] },
            answer: answer.map(|desc| desc.name),
            codes: &["200"],
            action: None,
        };
        self.paths.insert(format!("/{path}/"), vec![operation]);
    }

    fn schema(&mut self, group: &str, version: &str, kind: &str) -> &'static str {
        let Some(found) = by_kind(group, version, kind) else { return "" };
        self.add(found.desc)
    }

    fn add(&mut self, desc: &'static TypeDesc) -> &'static str {
        self.schemas.add(desc, &self.group, &self.version);
        desc.name
    }

    /// One operation: its path, verb (`read`, `list`, or the method of what is passed on), the rest of its name, its
    /// kind, the type of its answer (none: a string), and the subresource that it is of.
    fn operation(
        &mut self,
        path: &str,
        verb: &'static str,
        rest: &str,
        of: [&'static str; 3],
        answer: &'static str,
        own: &str,
    ) {
        let connects = of.last().is_some_and(|kind| kind.ends_with("Options"));
        let (method, action, parameters, codes): (_, _, _, &'static [&'static str]) = match verb {
            method if connects => (method, "connect", "", &["200"]),
            "read" => ("get", "get", "", &["200"]),
            "list" => ("get", "list", LISTED, &["200"]),
            "watch" if path.ends_with("{name}") => ("get", "watch", LISTED, &["200"]),
            "watch" => ("get", "watchlist", LISTED, &["200"]),
            "create" => ("post", "post", WRITTEN, &["200", "201", "202"]),
            "replace" => ("put", "put", WRITTEN, &["200", "201"]),
            "patch" => ("patch", "patch", WRITTEN, &["200", "201"]),
            "delete" if path.ends_with("{name}") => ("delete", "delete", DELETED, &["200", "202"]),
            _ => ("delete", "deletecollection", DELETED, &["200"]),
        };
        let mut all: Vec<&str> = parameters.split_whitespace().collect();
        let mut encodings: Vec<&str> = ENCODINGS.into();
        let mut id = format!("{verb}{}{rest}", self.name);
        let mut body: Option<(&[&str], _, _)> = None;
        match action {
            "list" | "watch" | "watchlist" => {
                all.extend(WATCHED.split(' '));
                encodings = STREAMED.into();
            }
            "post" | "put" => body = Some((&["*/*"], answer, true)),
            "patch" => {
                all.push("force");
                self.schemas.add_plain(PATCH);
                body = Some((&PATCHES, PATCH, true));
            }
            "delete" | "deletecollection" => body = Some((&["*/*"], self.add(&meta_v1::DELETE_OPTIONS), false)),
            "connect" => {
                encodings = vec!["*/*"];
                id = format!("connect{}{}{rest}", self.name, title(method));
            }
            _ if answer.is_empty() => encodings.push("text/plain"),
            _ => {}
        }
        if action == "deletecollection" {
            all.extend(LISTED.split_whitespace());
        }
        if action != "connect" {
            all.push("pretty");
        }
        let passed_on = PASSED_ON.iter().find(|(name, _)| *name == own).map_or("", |(_, names)| names);
        all.extend(passed_on.split_whitespace());
        all.extend(["{name}", "{namespace}", "{path}"].iter().filter(|name| path.contains(**name)));
        all.sort_small_by_key(|name| (name.trim_matches(['{', '}']), !name.starts_with('{')));
        self.paths.entry(path.into()).or_default().push(Operation {
            method,
            id,
            parameters: all,
            body,
            encodings,
            answer: Some(answer).filter(|name| !name.is_empty()),
            codes,
            action: Some((action, of)),
        });
    }

    fn resource(&mut self, root: &str, kind: &'static KindInfo) {
        let of = [kind.group, kind.version, kind.kind];
        let (within, scope) = if kind.namespaced { ("/namespaces/{namespace}", "Namespaced") } else { ("", "") };
        let name = format!("{scope}{}", kind.kind);
        let all = format!("{}ForAllNamespaces", kind.kind);
        let path = format!("{within}/{}", kind.plural);
        let (items, item) = (format!("{root}{path}"), format!("{root}{path}/{{name}}"));
        let own = self.add(kind.desc);
        for verb in kind.verbs {
            match *verb {
                "get" => self.operation(&item, "read", &name, of, own, ""),
                "update" => self.operation(&item, "replace", &name, of, own, ""),
                "patch" => self.operation(&item, "patch", &name, of, own, ""),
                "create" => self.operation(&items, "create", &name, of, own, ""),
                "list" => {
                    let list = kind.list().map_or("", |list| list.desc.name);
                    if let Some(kind) = kind.list() {
                        self.add(kind.desc);
                    }
                    self.operation(&items, "list", &name, of, list, "");
                    if kind.namespaced {
                        self.operation(&format!("{root}/{}", kind.plural), "list", &all, of, list, "");
                    }
                }
                "delete" | "deletecollection" => {
                    let status = self.add(&meta_v1::STATUS);
                    // A namespace is answered with too, but its store doesn't say so.
                    let returned = crate::strategy::of(kind.group, kind.plural).return_deleted && own != NAMESPACE;
                    let answer = if *verb == "delete" && returned { own } else { status };
                    let (path, rest) = match *verb {
                        "delete" => (&item, name.clone()),
                        _ => (&items, format!("Collection{name}")),
                    };
                    self.operation(path, "delete", &rest, of, answer, "");
                }
                _ => {
                    let event = self.add(&meta_v1::WATCH_EVENT);
                    let path = format!("{root}/watch{path}");
                    self.operation(&path, "watch", &format!("{name}List"), of, event, "");
                    self.operation(&format!("{path}/{{name}}"), "watch", &name, of, event, "");
                    if kind.namespaced {
                        let rest = format!("{}ListForAllNamespaces", kind.kind);
                        self.operation(&format!("{root}/watch/{}", kind.plural), "watch", &rest, of, event, "");
                    }
                }
            }
        }
        for sub in kind.subresources {
            let of = [sub.group, sub.version, sub.kind];
            let path = format!("{item}/{}", sub.name);
            let name = format!("{name}{}", title(sub.name));
            if sub.kind.ends_with("Options") {
                // What is passed on may have any method.
                let methods: &[&str] = if sub.name == "proxy" { &METHODS } else { &["get", "post"] };
                for method in methods {
                    self.operation(&path, method, &name, of, "", sub.name);
                    if sub.name == "proxy" {
                        let rest = format!("{name}WithPath");
                        self.operation(&format!("{path}/{{path}}"), method, &rest, of, "", sub.name);
                    }
                }
                continue;
            }
            let answer = if sub.name == "log" { "" } else { self.schema(sub.group, sub.version, sub.kind) };
            for verb in sub.verbs {
                let verb = match *verb {
                    "get" => "read",
                    "update" => "replace",
                    verb => verb,
                };
                self.operation(&path, verb, &name, of, answer, sub.name);
            }
        }
    }

    fn into_json(self) -> String {
        let (tag, mut paths) = (self.tag, Vec::new());
        for (path, mut operations) in self.paths {
            operations.sort_small_by_key(|o| METHODS.iter().position(|method| *method == o.method));
            let mut shared = operations.first().map(|first| first.parameters.clone()).unwrap_or_default();
            shared.retain(|name| operations.iter().all(|o| o.parameters.contains(name)));
            let mut item: Vec<(&str, String)> = Vec::new();
            for operation in &operations {
                item.push((operation.method, operation.to_json(&tag, &shared)));
            }
            if !shared.is_empty() {
                item.push(("parameters", parameters(&shared)));
            }
            paths.push((path, object(&item)));
        }
        let token = [("type", text("apiKey")), ("name", text("authorization")), ("in", text("header"))];
        let mut components = Vec::new();
        components.extend(self.schemas.into_json().map(|schemas| ("schemas", schemas)));
        components.push(("securitySchemes", object(&[("BearerToken", object(&token))])));
        object(&[
            ("openapi", text("3.0.0")),
            ("info", object(&[("title", text("Kubernetes")), ("version", text("1.37"))])),
            ("paths", object(&paths)),
            ("components", object(&components)),
        ])
    }
}

impl Operation {
    fn to_json(&self, tag: &str, shared: &[&str]) -> String {
        let content = |encodings: &[&'static str], name: Option<&str>| {
            let schema = name.map_or_else(|| object(&[("type", text("string"))]), reference);
            let schema = object(&[("schema", schema)]);
            let content: Vec<(&str, String)> = encodings.iter().map(|encoding| (*encoding, schema.clone())).collect();
            object(&content)
        };
        let mut fields = vec![("tags", texts(&[tag])), ("operationId", text(&self.id))];
        let own: Vec<&str> = self.parameters.iter().copied().filter(|name| !shared.contains(name)).collect();
        if !own.is_empty() {
            fields.push(("parameters", parameters(&own)));
        }
        if let Some((encodings, name, required)) = self.body {
            let mut body = vec![("content", content(encodings, Some(name)))];
            if required {
                body.push(("required", "true".into()));
            }
            fields.push(("requestBody", object(&body)));
        }
        let mut responses = Vec::new();
        let answer = content(&self.encodings, self.answer);
        for code in self.codes {
            let phrase = match *code {
                "200" => "OK",
                "201" => "Created",
                _ => "Accepted",
            };
            responses.push((*code, object(&[("description", text(phrase)), ("content", answer.clone())])));
        }
        responses.push(("401", object(&[("description", text("Unauthorized"))])));
        fields.push(("responses", object(&responses)));
        if let Some((action, [group, version, kind])) = self.action {
            fields.push(("x-kubernetes-action", text(action)));
            let kind = object(&[("group", text(group)), ("version", text(version)), ("kind", text(kind))]);
            fields.push(("x-kubernetes-group-version-kind", kind));
        }
        object(&fields)
    }
}

/// Parameters by name; those of the path stand in braces.
fn parameters(names: &[&str]) -> String {
    let one = |name: &&str| {
        let word = name.trim_matches(['{', '}']);
        let among = |list: &str| list.split_whitespace().any(|other| other == word);
        let kind = if among(BOOLEANS) {
            "boolean"
        } else if among(INTEGERS) {
            "integer"
        } else {
            "string"
        };
        let mut fields = vec![("name", text(word))];
        if name.starts_with('{') {
            fields.extend([("in", text("path")), ("required", "true".into())]);
        } else {
            fields.push(("in", text("query")));
        }
        fields.push(("schema", object(&[("type", text(kind)), ("uniqueItems", "true".into())])));
        object(&fields)
    };
    let all: Vec<String> = names.iter().map(one).collect();
    format!("[{}]", all.join(","))
}
