//! The address of a request, as error messages and log lines name it.

use api::SortSmall;
use std::time::Duration;

use api::Str;
use api::rest::{Query, Request, Target, Verb};

use crate::klog::go_duration;

/// Go's word for the request's method in `net/url.Error`: `Get`, `Post`.
pub fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get | Verb::List | Verb::Watch => "Get",
        Verb::Create => "Post",
        Verb::Update => "Put",
        Verb::Patch(_) => "Patch",
        Verb::Delete | Verb::DeleteCollection => "Delete",
    }
}

/// `<server>/apis/apps/v1/namespaces/default/deployments/web?timeout=5s`
pub fn url(server: &str, request: &Request, timeout: Option<Duration>) -> String {
    let mut url = String::from(server);
    match &request.target {
        Target::Path(path) => url.push_str(path),
        Target::Resource { group, version, resource, subresource, namespace, name } => {
            url.push_str(if group.is_empty() { "/api" } else { "/apis/" });
            url.push_str(group);
            let mut push = |part: &str| {
                if !part.is_empty() {
                    url.push('/');
                    url.push_str(part);
                }
            };
            push(version);
            if !namespace.is_empty() {
                push("namespaces");
                push(namespace);
            }
            push(resource);
            push(name);
            push(subresource);
        }
    }
    let mut separator = '?';
    for (key, value) in query(request, timeout) {
        url.push(separator);
        url.push_str(key);
        url.push('=');
        escape(&value, &mut url);
        separator = '&';
    }
    url
}

/// The query's values, sorted by key as `url.Values` prints them.
fn query(request: &Request, timeout: Option<Duration>) -> Vec<(&'static str, Str)> {
    let mut values: Vec<(&'static str, Str)> = Vec::new();
    let mut put = |key, value: Str| {
        if !value.is_empty() {
            values.push((key, value));
        }
    };
    match &request.query {
        Query::List(o) => {
            put("allowWatchBookmarks", flag(o.allow_watch_bookmarks));
            put("continue", o.continue_.clone());
            put("fieldSelector", o.field_selector.clone());
            put("labelSelector", o.label_selector.clone());
            put("limit", number((o.limit != 0).then_some(o.limit)));
            put("resourceVersion", o.resource_version.clone());
            put("resourceVersionMatch", o.resource_version_match.clone());
            put("sendInitialEvents", o.send_initial_events.map(|b| b.to_string()).unwrap_or_default().into());
            put("timeoutSeconds", number(o.timeout_seconds));
            put("watch", flag(request.verb == Verb::Watch));
        }
        Query::Write(o) => {
            put("dryRun", if o.dry_run { "All".into() } else { Str::default() });
            put("fieldManager", o.field_manager.clone());
            put("force", flag(o.force));
        }
        Query::Log(o) => {
            put("container", o.container.clone());
            put("follow", flag(o.follow));
            put("limitBytes", number(o.limit_bytes));
            put("previous", flag(o.previous));
            put("sinceSeconds", number(o.since_seconds));
            put("sinceTime", o.since_time.clone());
            put("tailLines", number(o.tail_lines));
            put("timestamps", flag(o.timestamps));
        }
        Query::Exec(o) => {
            for part in &o.command {
                put("command", part.clone());
            }
            put("container", o.container.clone());
            put("stdin", flag(o.stdin));
            put("tty", flag(o.tty));
        }
        Query::None | Query::Proxy(_) => {}
    }
    if let Some(timeout) = timeout {
        put("timeout", go_duration(timeout).into());
    }
    values.sort_small_by_key(|(key, _)| *key);
    values
}

fn flag(on: bool) -> Str {
    if on { "true".into() } else { Str::default() }
}

fn number(n: Option<i64>) -> Str {
    n.map(|n| n.to_string()).unwrap_or_default().into()
}

/// Go's `url.QueryEscape`.
fn escape(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => {
                out.push('%');
                out.push_str(&format!("{byte:02X}"));
            }
        }
    }
}
