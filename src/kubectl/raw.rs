//! `--raw`: requests by their path and query (`rawhttp`), answered by the bytes that the server sends.

use crate::cmd::proxy::indented;
use crate::error::Error;
use crate::flags::parse_bool;
use crate::print::human::quote;
use crate::print::time::klog;
use crate::server::{Piece, status_value};
use crate::session::Kubectl;
use crate::value::Value;
use api::json::{Encoder, Order};
use api::rest::{
    Answer, Body, EventType, FieldValidation, ListOptions, LogOptions, ObjectList, PatchType, Query, Target, Verb,
    WatchBody, WriteOptions,
};
use api::{AnyRev, Object, Str};
use sim::http::HttpRequest;
use std::rc::Rc;

/// What `--raw` of a command that writes may not stand beside; then sends the file's bytes there.
pub async fn write(k: &Kubectl<'_>, verb: Verb) -> Result<(), Error> {
    let f = &k.flags;
    let url = f.str("raw");
    let exclusive = |flag: &str| Err(Error::text(format!("--raw and {flag} are mutually exclusive")));
    let files = f.list("filename");
    let alone = matches!(verb, Verb::Delete);
    if alone && files.len() > 1 || !alone && files.len() != 1 {
        return Err(Error::text("--raw can only use a single local file or stdin"));
    }
    if files.iter().any(|file| file.starts_with("http://") || file.starts_with("https://")) {
        return Err(Error::text("--raw cannot read from a url"));
    }
    if f.bool("recursive") {
        return exclusive("--recursive");
    }
    if !f.str("selector").is_empty() {
        return exclusive("--selector (-l)");
    }
    if !f.str("output").is_empty() {
        return exclusive("--output");
    }
    check_path(url)?;
    let url = &cleaned(url);
    let body = match files.first().map(String::as_str) {
        None => Vec::new(),
        Some("-") => k.io.stdin(),
        Some(path) => k.io.read_file(path).map_err(|e| Error::text(format!("open {path}: {e}")))?,
    };
    let body = if body.is_empty() { Body::Empty } else { Body::Bytes(body.into()) };
    let (target, query) = parse(url);
    send(k, verb, url, target, &query, body).await
}

/// `kubectl get --raw`.
pub async fn get(k: &Kubectl<'_>, url: &str) -> Result<(), Error> {
    check_path(url)?;
    let url = &cleaned(url);
    let (target, query) = parse(url);
    let collection = matches!(&target, Target::Resource { name, .. } if name.is_empty());
    let watch = query.iter().any(|(name, value)| name == "watch" && truth(value));
    let verb = match collection {
        true if watch => Verb::Watch,
        true => Verb::List,
        false => Verb::Get,
    };
    send(k, verb, url, target, &query, Body::Empty).await
}

fn check_path(url: &str) -> Result<(), Error> {
    let wrong = if url.starts_with('/') {
        let path = url.split('?').next().unwrap_or_default();
        let escapes = path.match_indices('%').filter_map(|(at, _)| path.get(at..));
        let hex = |b: &u8| b.is_ascii_hexdigit();
        let mut bad = escapes.filter(|e| !e.as_bytes().get(1..3).is_some_and(|two| two.iter().all(hex)));
        bad.next().map(|e| format!("invalid URL escape {}", quote(&e.chars().take(3).collect::<String>())))
    } else {
        Some("invalid URI for request".to_string())
    };
    match wrong {
        Some(why) => Err(Error::text(format!("--raw must be a valid URL path: parse {}: {why}", quote(url)))),
        None => Ok(()),
    }
}

/// A URL as it is sent: without a fragment, and with the path that the server is left with once it has walked `..` and
/// `//`; two slashes at the start name a host. What goes on to a proxy is left as it is.
fn cleaned(url: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    let (path, query) = url.split_at(url.find('?').unwrap_or(url.len()));
    let path = match path.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
        None => path,
    };
    if path.contains("/proxy/") || !(path.contains("//") || path.contains("/.")) {
        return format!("{path}{query}");
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

/// A request's answer as it goes over the wire.
pub enum Part {
    /// What comes first: its code, whether it is JSON, and whether its body is whole.
    Head(u16, bool, bool),
    /// Some of its body.
    Bytes(Rc<[u8]>),
}

async fn send(k: &Kubectl<'_>, verb: Verb, url: &str, target: Target, pairs: &Pairs, body: Body) -> Result<(), Error> {
    serve(k, verb, url, (target, pairs), body, &mut |part| {
        if let Part::Bytes(bytes) = part {
            k.io.stdout(&bytes);
        }
    })
    .await
}

/// Passes on a request that came over HTTP; `part` gets its answer.
pub async fn pass(k: &Kubectl<'_>, request: &HttpRequest, part: &mut dyn FnMut(Part)) {
    let (target, query) = parse(&request.path);
    let collection = matches!(&target, Target::Resource { name, .. } if name.is_empty());
    let watch = query.iter().any(|(name, value)| name == "watch" && truth(value));
    let verb = match &*request.method {
        "GET" if collection && watch => Some(Verb::Watch),
        "GET" if collection => Some(Verb::List),
        "GET" => Some(Verb::Get),
        "POST" => Some(Verb::Create),
        "PUT" => Some(Verb::Update),
        "PATCH" => Some(Verb::Patch(match request.header("content-type").unwrap_or_default() {
            "application/json-patch+json" => PatchType::Json,
            "application/merge-patch+json" => PatchType::Merge,
            "application/apply-patch+yaml" => PatchType::Apply,
            _ => PatchType::Strategic,
        })),
        "DELETE" if collection => Some(Verb::DeleteCollection),
        "DELETE" => Some(Verb::Delete),
        _ => None,
    };
    let body = if request.body.is_empty() { Body::Empty } else { Body::Bytes(request.body.clone()) };
    let done = match verb {
        Some(verb) => serve(k, verb, &request.path, (target, &query), body, part).await,
        None => Err(Error::Status(Box::new(status_value(&api::Status::method_not_supported(
            ("", ""),
            &request.method.to_ascii_lowercase(),
        ))))),
    };
    match done {
        Ok(()) => {}
        Err(Error::Status(status)) => {
            part(Part::Head(u16::try_from(status.int("code")).unwrap_or(500), true, true));
            let text = api::json::Value::parse(&status.to_json()).ok().map(|value| {
                let mut object = api::meta_v1::Status::default();
                let _ = api::json::from_value(&value, &mut object, false);
                written(&object, None)
            });
            part(Part::Bytes(text.unwrap_or_default().into_bytes().into()));
        }
        Err(error) => {
            let why = error.message();
            let why = why.split_once("\": ").map_or(&*why, |(_, cause)| cause);
            k.err(&klog(k.now(), 'E', "proxy_server.go:147", &format!("Error while proxying request: {why}")));
            part(Part::Head(500, false, true));
            part(Part::Bytes(format!("{why}\n").into_bytes().into()));
        }
    }
}

async fn serve(
    k: &Kubectl<'_>,
    verb: Verb,
    url: &str,
    (target, pairs): (Target, &Pairs),
    body: Body,
    part: &mut dyn FnMut(Part),
) -> Result<(), Error> {
    let query = match behind(url, &target) {
        Some(path) => Query::Proxy(path),
        None => query(verb, &target, pairs)?,
    };
    let body = match verb {
        // A deletion without a body has its options in the query.
        Verb::Delete | Verb::DeleteCollection if matches!(body, Body::Empty) => delete_options(pairs)?,
        _ => body,
    };
    let code = if verb == Verb::Create { 201 } else { 200 };
    if verb == Verb::Watch {
        let (_, mut stream) = k.respond(verb, target, query, body).await?;
        part(Part::Head(code, true, false));
        while let Some((event, body)) = stream.event_as_sent().await {
            part(Part::Bytes(watched(event, &body).into_bytes().into()));
        }
        return Ok(());
    }
    let kind = k.list_kind(&target);
    let on_lines =
        pairs.iter().find(|(name, _)| name == "pretty").is_some_and(|(_, value)| parse_bool(value) == Ok(true));
    let shaped = |json: String| match on_lines {
        true => indented(json.as_bytes()).into(),
        false => json.into_bytes().into(),
    };
    let (answer, mut stream) = k.respond(verb, target, query, body).await?;
    part(Part::Head(code, !matches!(answer, Answer::Text(_) | Answer::Stream), !matches!(answer, Answer::Stream)));
    part(Part::Bytes(match answer {
        Answer::Text(text) => text.as_bytes().into(),
        Answer::Json(bytes) if on_lines && bytes.starts_with(b"{\"kind\"") => {
            shaped(String::from_utf8_lossy(&bytes).into_owned())
        }
        Answer::Json(bytes) => bytes,
        Answer::Object(object) => shaped(format!("{}\n", whole(&object))),
        Answer::Status(status) => shaped(format!("{}\n", written(&**status, None))),
        Answer::List(list) => shaped(collection(&kind, &list)),
        Answer::Table(_) => return Ok(()),
        Answer::Stream => {
            while let Piece::Out(bytes) | Piece::Err(bytes) = stream.piece().await {
                part(Part::Bytes(bytes));
            }
            return Ok(());
        }
    }));
    Ok(())
}

/// An object as the server writes it: fields in Go's order.
fn written(object: &dyn Object, revision: Option<u64>) -> String {
    let mut encoder = Encoder::new(Order::Go, 0);
    encoder.top(object, revision);
    encoder.finish()
}

fn whole(object: &AnyRev) -> String {
    written(&*object.body, (object.revision > 0).then_some(object.revision))
}

fn watched(event: EventType, body: &WatchBody) -> String {
    let object = match body {
        WatchBody::Object(object) => whole(object),
        WatchBody::Bookmark(revision, ..) => format!("{{\"metadata\":{{\"resourceVersion\":\"{revision}\"}}}}"),
        WatchBody::Status(status) => written(&***status, None),
        WatchBody::Table(_) => return String::new(),
    };
    format!("{{\"type\":\"{}\",\"object\":{object}}}\n", event.name())
}

fn collection((api_version, kind): &(String, String), list: &ObjectList) -> String {
    let mut out = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{\"resourceVersion\":\"{}\"",
        list.revision
    );
    if !list.continue_.is_empty() {
        out.push_str(&format!(",\"continue\":\"{}\"", list.continue_));
    }
    if let Some(remaining) = list.remaining {
        out.push_str(&format!(",\"remainingItemCount\":{remaining}"));
    }
    out.push_str("},\"items\":[");
    for (at, item) in list.items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let mut encoder = Encoder::new(Order::Go, 0);
        encoder.item(&*item.body, item.revision);
        out.push_str(&encoder.finish());
    }
    out.push_str("]}\n");
    out
}

/// The text of a document that is no object, `/version`.
pub async fn text(k: &Kubectl<'_>, path: &str) -> Result<String, Error> {
    let (answer, _) = k.respond(Verb::Get, Target::Path(Str::from(path)), Query::None, Body::Empty).await?;
    Ok(match answer {
        Answer::Json(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Answer::Text(text) => text.to_string(),
        _ => String::new(),
    })
}

/// What a query's text is as a boolean: all is true that isn't clearly false (`Convert_Slice_string_To_bool`).
fn truth(text: &str) -> bool {
    !matches!(text.to_ascii_lowercase().as_str(), "0" | "false")
}

type Pairs = Vec<(String, String)>;

/// A path of the API as a resource, where it is one, and its query.
fn parse(url: &str) -> (Target, Pairs) {
    let (bare, query) = url.split_once('?').unwrap_or((url, ""));
    let pairs: Pairs = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let parts: Vec<&str> = bare.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return (Target::Path(Str::from(url)), pairs),
    };
    let (namespace, rest) = match rest {
        ["namespaces", ns, more @ ..] if !more.is_empty() && !matches!(more, ["status"] | ["finalize"]) => (*ns, more),
        other => ("", other),
    };
    let part = |i: usize| Str::from(rest.get(i).copied().unwrap_or(""));
    let target = Target::Resource {
        group: Str::from(group),
        version: Str::from(version),
        resource: part(0),
        subresource: part(2),
        namespace: Str::from(namespace),
        name: part(1),
    };
    (target, pairs)
}

/// What a URL of `proxy` asks for behind it.
fn behind(url: &str, target: &Target) -> Option<Str> {
    let Target::Resource { resource, subresource, name, .. } = target else { return None };
    let (_, path) = url.split_once(&format!("/{resource}/{name}/proxy")).filter(|_| **subresource == *"proxy")?;
    // The server sends who asks for no path to the first one.
    Some(if path.is_empty() { "/".into() } else { path.into() })
}

fn not_a_number(text: &str) -> Error {
    let why = format!("strconv.ParseInt: parsing {}: invalid syntax", quote(text));
    Error::Status(Box::new(status_value(&api::Status::bad_request(why))))
}

/// A deletion's options from the query, as a body has them.
fn delete_options(pairs: &Pairs) -> Result<Body, Error> {
    let mut options = Value::object();
    for (name, value) in pairs {
        let value: Value = match name.as_str() {
            "dryRun" => Value::Array(vec![value.as_str().into()]),
            "propagationPolicy" => value.as_str().into(),
            "orphanDependents" => Value::Bool(truth(value)),
            "gracePeriodSeconds" => value.parse::<i64>().map(Value::Int).map_err(|_| not_a_number(value))?,
            _ => continue,
        };
        options.set(name, value);
    }
    Ok(if options.is_empty() { Body::Empty } else { Body::Bytes(options.to_json().into_bytes().into()) })
}

/// What is wrong with the options of a write in the query.
fn check_write(verb: Verb, get: &dyn Fn(&str) -> Option<String>) -> Result<(), Error> {
    use api::field::{ErrorList, Path, not_supported};
    let options = match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        _ => "PatchOptions",
    };
    let mut wrong = ErrorList::default();
    if let Some(mode) = get("dryRun").filter(|mode| mode != "All") {
        wrong.push(not_supported(&Path::new("dryRun"), api::List::from(vec![Str::from(mode)]), &["All"]));
    }
    if let Some(mode) = get("fieldValidation").filter(|m| !matches!(m.as_str(), "" | "Ignore" | "Strict" | "Warn")) {
        wrong.push(not_supported(&Path::new("fieldValidation"), mode, &["", "Ignore", "Strict", "Warn"]));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let status = api::Status::invalid(("meta.k8s.io", options), "", &wrong);
    Err(Error::Status(Box::new(status_value(&status))))
}

/// The query's parameters that the verb takes; others are passed over, as the server does.
fn query(verb: Verb, target: &Target, pairs: &Pairs) -> Result<Query, Error> {
    let get = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let text = |name: &str| Str::from(get(name).unwrap_or(""));
    let truth = |name: &str| get(name).map(truth);
    let number = |name: &str| -> Result<Option<i64>, Error> {
        let Some(value) = get(name).filter(|v| !v.is_empty()) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| not_a_number(value))
    };
    if matches!(verb, Verb::Create | Verb::Update | Verb::Patch(_)) {
        check_write(verb, &|name| get(name).map(String::from))?;
    }
    let log = matches!(target, Target::Resource { subresource, .. } if **subresource == *"log");
    Ok(match verb {
        Verb::Get if log => Query::Log(LogOptions {
            container: text("container"),
            follow: truth("follow").unwrap_or(false),
            previous: truth("previous").unwrap_or(false),
            timestamps: truth("timestamps").unwrap_or(false),
            tail_lines: number("tailLines")?,
            limit_bytes: number("limitBytes")?,
            since_seconds: number("sinceSeconds")?,
            ..LogOptions::default()
        }),
        Verb::Create | Verb::Update | Verb::Patch(_) => Query::Write(WriteOptions {
            dry_run: get("dryRun") == Some("All"),
            field_manager: text("fieldManager"),
            field_validation: match get("fieldValidation") {
                Some("Strict") => FieldValidation::Strict,
                Some("Ignore") => FieldValidation::Ignore,
                _ => FieldValidation::Warn,
            },
            force: truth("force").unwrap_or(false),
        }),
        _ if matches!(target, Target::Resource { .. }) => Query::List(ListOptions {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            limit: number("limit")?.unwrap_or(0),
            continue_: text("continue"),
            resource_version: text("resourceVersion"),
            resource_version_match: text("resourceVersionMatch"),
            timeout_seconds: number("timeoutSeconds")?,
            allow_watch_bookmarks: truth("allowWatchBookmarks").unwrap_or(false),
            send_initial_events: truth("sendInitialEvents"),
        }),
        _ => Query::None,
    })
}
