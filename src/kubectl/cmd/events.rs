//! `kubectl events`.

use crate::describe::writer::event_time;
use crate::error::Error;
use crate::print::human::human_duration;
use crate::print::object::{WRITE_FORMATS, by_format};
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::print::time::parse_rfc3339;
use crate::server::Watched;
use crate::session::Kubectl;
use crate::value::{Value, object};
use ::api::rest::{EventType, ListOptions};
use api::SortSmall;

/// The command.
pub async fn events(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let all = f.bool("all-namespaces");
    let namespace = if all { String::new() } else { k.namespace() };
    let mut fields = String::new();
    if !f.str("for").is_empty() {
        let parts: Vec<&str> = f.str("for").split('/').collect();
        let [resource, name] = parts.as_slice() else {
            return Err(Error::text(if parts.len() == 1 {
                "--for must be in resource/name form"
            } else {
                "arguments in resource/name form may not have more than one slash"
            }));
        };
        let m =
            k.mapper().find_argument(&resource.to_lowercase()).ok_or_else(|| crate::mapping::no_resource(resource))?;
        fields = format!(
            "involvedObject.kind={},involvedObject.apiVersion={},involvedObject.name={name}",
            m.kind,
            m.api_version()
        );
    }
    let types = f.list("types");
    if types.iter().any(|t| !t.eq_ignore_ascii_case("Normal") && !t.eq_ignore_ascii_case("Warning")) {
        return Err(Error::text("valid --types are Normal or Warning"));
    }
    let wanted = |e: &Value| types.is_empty() || types.iter().any(|t| t.eq_ignore_ascii_case(e.str("type")));
    let m = k.known("", "events")?;
    let mut w = TabWriter::new(TABLE);
    let mut headers = !f.bool("no-headers");
    if f.bool("watch") {
        let options = ListOptions { field_selector: fields.as_str().into(), ..ListOptions::default() };
        let mut stream = k.watch(&m, &namespace, options, false).await?;
        while let Some((kind, what)) = stream.event().await? {
            let Watched::Object(e) = what else { continue };
            if kind == EventType::Deleted || !wanted(&e) {
                continue;
            }
            row(k, &e, all, &mut headers, &mut w);
            k.out(&w.flush());
        }
        return Ok(());
    }
    let mut list = k.list(&m, &namespace, "", &fields).await?;
    list.retain(wanted);
    if list.is_empty() {
        if all {
            k.err("No events found.\n");
        } else {
            k.err(&format!("No events found in {namespace} namespace.\n"));
        }
        return Ok(());
    }
    list.sort_small_by_key(event_time);
    if !f.str("output").is_empty() {
        let o = object([
            ("apiVersion", "v1".into()),
            ("items", Value::Array(list)),
            ("kind", "EventList".into()),
            ("metadata", Value::object()),
        ]);
        by_format(k, f.str("output"), WRITE_FORMATS)?.show(k, &o)?;
        return Ok(());
    }
    for e in &list {
        row(k, e, all, &mut headers, &mut w);
    }
    k.out(&w.flush());
    Ok(())
}

fn row(k: &Kubectl<'_>, e: &Value, all: bool, headers: &mut bool, w: &mut TabWriter) {
    if std::mem::take(headers) {
        if all {
            w.write("NAMESPACE\t");
        }
        w.write("LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n");
    }
    let since = |path: &str| match parse_rfc3339(e.str(path)) {
        Some(t) => human_duration(k.now() - t),
        None => "<unknown>".into(),
    };
    let first = if e.has("eventTime") { since("eventTime") } else { since("firstTimestamp") };
    let seen = if e.has("series") {
        format!("{} (x{} over {first})", since("series/lastObservedTime"), e.int("series/count"))
    } else if e.int("count") > 1 {
        format!("{} (x{} over {first})", since("lastTimestamp"), e.int("count"))
    } else {
        first
    };
    if all {
        w.write(&format!("{}\t", e.str("metadata/namespace")));
    }
    w.write(&format!(
        "{seen}\t{}\t{}\t{}/{}\t{}\n",
        e.str("type"),
        e.str("reason"),
        e.str("involvedObject/kind"),
        e.str("involvedObject/name"),
        e.str("message").trim()
    ));
}
