//! The writer of descriptions: indent levels, aligned columns, and the parts that many kinds share.

use crate::print::human::human_duration;
use crate::print::tabwriter::{DESCRIBE, TabWriter};
use crate::print::time::{parse_rfc3339, rfc1123z};
use crate::value::Value;
use api::SortSmall;

/// Longest annotation shown on its own line.
const MAX_ANNOTATION: usize = 140;
/// Annotations that are not shown.
const SKIPPED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// kubectl's prefix writer over a tab writer.
pub struct Writer {
    tabs: Option<TabWriter>,
    out: String,
    now: i64,
}

impl Writer {
    /// A writer whose ages count back from `now` (nanoseconds since 1970).
    pub fn new(now: i64) -> Writer {
        Writer { tabs: Some(TabWriter::new(DESCRIBE)), out: String::new(), now }
    }

    /// A writer that leaves tabs as they are (`rollout history --revision`).
    pub fn raw(now: i64) -> Writer {
        Writer { tabs: None, out: String::new(), now }
    }

    /// Writes text after two spaces a level.
    pub fn put(&mut self, level: usize, text: &str) {
        let line = format!("{}{}", "  ".repeat(level), escaped(text));
        match &mut self.tabs {
            Some(t) => t.write(&line),
            None => self.out.push_str(&line),
        }
    }

    /// Aligns what was written so far on its own.
    pub fn flush(&mut self) {
        if let Some(t) = &mut self.tabs {
            self.out.push_str(&t.flush());
        }
    }

    /// All text.
    pub fn finish(mut self) -> String {
        self.flush();
        self.out
    }

    /// How long ago a time was, in short form.
    pub fn since(&self, time: &str) -> String {
        match parse_rfc3339(time) {
            Some(t) => human_duration(self.now.saturating_sub(t)),
            None => "<unknown>".into(),
        }
    }

    /// `k=v` lines of a map under a title.
    pub fn labels(&mut self, title: &str, labels: &Value) {
        self.put(0, &format!("{title}:\t"));
        let mut first = true;
        for (k, v) in labels.map_entries() {
            if !first {
                self.put(0, "\t");
            }
            first = false;
            self.put(0, &format!("{k}={}\n", v.go_v()));
        }
        if first {
            self.put(0, "<none>\n");
        }
    }

    /// Annotations under a title, long ones on lines of their own.
    pub fn annotations(&mut self, title: &str, annotations: &Value) {
        self.put(0, &format!("{title}:\t"));
        let mut first = true;
        for (k, v) in annotations.map_entries() {
            if k == SKIPPED_ANNOTATION {
                continue;
            }
            if !first {
                self.put(0, "\t");
            }
            first = false;
            let value = v.as_str().unwrap_or("");
            let value = value.strip_suffix('\n').unwrap_or(value);
            if value.len() + k.len() + 2 > MAX_ANNOTATION || value.contains('\n') {
                self.put(0, &format!("{k}:\n"));
                for line in value.split('\n') {
                    self.put(0, &format!("\t  {}\n", shorten(line, MAX_ANNOTATION - 2)));
                }
            } else {
                self.put(0, &format!("{k}: {value}\n"));
            }
        }
        if first {
            self.put(0, "<none>\n");
        }
    }

    /// Name, namespace, labels and annotations, as most kinds begin.
    pub fn head(&mut self, object: &Value) {
        self.put(0, &format!("Name:\t{}\n", object.str("metadata/name")));
        self.put(0, &format!("Namespace:\t{}\n", object.str("metadata/namespace")));
        self.labels("Labels", object.at("metadata/labels"));
        self.annotations("Annotations", object.at("metadata/annotations"));
    }

    /// The owner that controls the object.
    pub fn controlled_by(&mut self, object: &Value) {
        if let Some(owner) = controller_of(object) {
            self.put(0, &format!("Controlled By:\t{}/{}\n", owner.str("kind"), owner.str("name")));
        }
    }

    /// The table of events.
    pub fn events(&mut self, events: &Option<Vec<Value>>) {
        let Some(events) = events else { return };
        if events.is_empty() {
            self.put(0, "Events:\t<none>\n");
            return;
        }
        self.flush();
        let mut events: Vec<&Value> = events.iter().collect();
        events.sort_small_by_key(|e| parse_rfc3339(e.str("lastTimestamp")));
        self.put(0, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n");
        self.put(1, "----\t------\t----\t----\t-------\n");
        for e in events {
            let first = if e.has("eventTime") { e.str("eventTime") } else { e.str("firstTimestamp") };
            let first = self.since(first);
            let interval = if e.has("series") {
                format!("{} (x{} over {first})", self.since(e.str("series/lastObservedTime")), e.int("series/count"))
            } else if e.int("count") > 1 {
                format!("{} (x{} over {first})", self.since(e.str("lastTimestamp")), e.int("count"))
            } else {
                first
            };
            let source = match e.str("source/component") {
                "" => e.str("reportingComponent"),
                s => s,
            };
            let mut message = e.str("message").trim().to_string();
            let path = e.str("involvedObject/fieldPath");
            if !path.is_empty() {
                message = format!("{path}: {message}");
            }
            self.put(1, &format!("{}\t{}\t{interval}\t{source}\t{message}\n", e.str("type"), e.str("reason")));
        }
    }
}

/// When an event counts as happened, for sorting (`event.SortableEvents`).
pub fn event_time(e: &Value) -> i64 {
    let t = |p: &str| parse_rfc3339(e.str(p));
    let series = if e.has("series") { t("series/lastObservedTime") } else { None };
    series.or_else(|| t("lastTimestamp")).or_else(|| t("eventTime")).unwrap_or(0)
}

/// The owner reference that is the controller.
pub fn controller_of(object: &Value) -> Option<&Value> {
    object.list("metadata/ownerReferences").iter().find(|o| o.bool("controller"))
}

/// A time of the object in RFC 1123 form; Go's zero time when it is missing.
pub fn date(time: &str) -> String {
    match parse_rfc3339(time) {
        Some(t) => rfc1123z(t),
        None => "Mon, 01 Jan 0001 00:00:00 +0000".into(),
    }
}

/// `printBoolPtr`.
pub fn bool_text(value: &Value) -> &'static str {
    match value {
        Value::Bool(true) => "True",
        Value::Bool(false) => "False",
        _ => "<unset>",
    }
}

/// The text or `<none>`.
pub fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

/// `labels.FormatLabels`.
pub fn format_labels(labels: &Value) -> String {
    let parts: Vec<String> = labels.map_entries().map(|(k, v)| format!("{k}={}", v.go_v())).collect();
    if parts.is_empty() { "<none>".into() } else { parts.join(",") }
}

/// The text of a LabelSelector, empty when it selects everything.
pub fn selector_text(selector: &Value) -> String {
    let mut parts: Vec<(String, String)> =
        selector.map("matchLabels").map(|(k, v)| (k.to_string(), format!("{k}={}", v.go_v()))).collect();
    for e in selector.list("matchExpressions") {
        let key = e.str("key");
        let mut values: Vec<&str> = e.list("values").iter().filter_map(Value::as_str).collect();
        values.sort_small();
        let text = match e.str("operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_string(),
            _ => format!("!{key}"),
        };
        parts.push((key.to_string(), text));
    }
    parts.sort_small();
    parts.into_iter().map(|(_, t)| t).collect::<Vec<_>>().join(",")
}

/// `metav1.FormatLabelSelector`.
pub fn format_selector(selector: &Value) -> String {
    match selector_text(selector) {
        t if t.is_empty() => "<none>".into(),
        t => t,
    }
}

/// Texts of a list joined.
pub fn join(list: &[Value], separator: &str) -> String {
    list.iter().map(Value::go_v).collect::<Vec<_>>().join(separator)
}

fn shorten(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_string();
    }
    let mut end = max;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", text.get(..end).unwrap_or(""))
}

/// Terminal control characters shown instead of obeyed.
pub fn escaped(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\u{1b}') || text.contains('\r') {
        text.replace('\u{1b}', "^[").replace('\r', "\\r").into()
    } else {
        text.into()
    }
}
