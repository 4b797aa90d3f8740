//! `--raw`: requests by their path and query (`rawhttp`), answered by the bytes that the server sends.

use crate::error::Error;
use crate::print::human::quote;
use crate::print::time::klog;
use crate::server::{Piece, status_value};
use crate::session::Kubectl;
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
    let (target, query) = parse(url);
    let collection = matches!(&target, Target::Resource { name, .. } if name.is_empty());
    let watch = query.iter().any(|(name, value)| name == "watch" && matches!(&**value, "1" | "true"));
    let verb = match collection {
        true if watch => Verb::Watch,
        true => Verb::List,
        false => Verb::Get,
    };
    send(k, verb, url, target, &query, Body::Empty).await
}

fn check_path(url: &str) -> Result<(), Error> {
    if url.starts_with('/') {
        return Ok(());
    }
    Err(Error::text(format!("--raw must be a valid URL path: parse {}: invalid URI for request", quote(url))))
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
    let watch = query.iter().any(|(name, value)| name == "watch" && matches!(&**value, "1" | "true"));
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
    let (answer, mut stream) = k.respond(verb, target, query, body).await?;
    part(Part::Head(code, !matches!(answer, Answer::Text(_) | Answer::Stream), !matches!(answer, Answer::Stream)));
    part(Part::Bytes(match answer {
        Answer::Text(text) => text.as_bytes().into(),
        Answer::Json(bytes) => bytes,
        Answer::Object(object) => format!("{}\n", whole(&object)).into_bytes().into(),
        Answer::Status(status) => format!("{}\n", written(&**status, None)).into_bytes().into(),
        Answer::List(list) => collection(&kind, &list).into_bytes().into(),
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

/// The query's parameters that the verb takes; others are passed over, as the server does.
fn query(verb: Verb, target: &Target, pairs: &Pairs) -> Result<Query, Error> {
    let get = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let text = |name: &str| Str::from(get(name).unwrap_or(""));
    let truth = |name: &str| get(name).map(|v| !matches!(v, "0" | "false" | "False" | "FALSE" | "f" | "F"));
    let number = |name: &str| -> Result<Option<i64>, Error> {
        let Some(value) = get(name).filter(|v| !v.is_empty()) else { return Ok(None) };
        value.parse().map(Some).map_err(|_| {
            let why = format!("strconv.ParseInt: parsing {}: invalid syntax", quote(value));
            Error::Status(Box::new(status_value(&api::Status::bad_request(why))))
        })
    };
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
