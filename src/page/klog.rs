//! A klog line taken apart for colouring: message, keys, values, objects.

use view::{LogLine, ObjectRef};

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// The text as it stands.
    pub text: String,
}

/// Kinds of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Anything that reads as it is: the message, a number.
    Plain,
    /// `pod=`.
    Key,
    /// A value that names an object: it links to it.
    Object,
}

/// Keys whose values name objects, and of which kind.
const OBJECT_KEYS: &[(&str, &str)] = &[
    ("pod", "Pod"),
    ("pods", "Pod"),
    ("node", "Node"),
    ("nodeName", "Node"),
    ("replicaSet", "ReplicaSet"),
    ("deployment", "Deployment"),
    ("service", "Service"),
    ("namespace", "Namespace"),
    ("job", "Job"),
    ("statefulSet", "StatefulSet"),
    ("daemonSet", "DaemonSet"),
];

/// Takes `"Too few replicas" replicaSet="default/web" need=3` apart. Text that isn't structured is one plain piece.
/// Values in quotes lose them where they name an object, as there is the underline.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut rest = text;
    // The message, if it is quoted.
    if rest.starts_with('"') {
        let end = quoted_end(rest);
        push(&mut out, PieceKind::Plain, &rest[..end]);
        rest = &rest[end..];
    }
    while !rest.is_empty() {
        let Some((before, key, after)) = next_key(rest) else {
            push(&mut out, PieceKind::Plain, rest);
            break;
        };
        push(&mut out, PieceKind::Plain, before);
        push(&mut out, PieceKind::Key, &format!("{key}="));
        let end = value_end(after);
        let value = &after[..end];
        let kind = match value.starts_with('[') {
            false if object_kind(key).is_some() => PieceKind::Object,
            _ => PieceKind::Plain,
        };
        let shown = if kind == PieceKind::Object { value.trim_matches('"') } else { value };
        push(&mut out, kind, shown);
        rest = &after[end..];
    }
    out
}

/// What an object's piece names: its key stands before it.
pub fn object_of(key: &str, value: &str) -> Option<ObjectRef> {
    let kind = object_kind(key.trim_end_matches('='))?;
    let (namespace, name) = value.split_once('/').unwrap_or(("", value));
    (!name.is_empty()).then(|| ObjectRef { kind: kind.into(), namespace: namespace.into(), name: name.into() })
}

fn object_kind(key: &str) -> Option<&'static str> {
    OBJECT_KEYS.iter().find(|(k, _)| *k == key).map(|(_, kind)| *kind)
}

fn push(out: &mut Vec<Piece>, kind: PieceKind, text: &str) {
    if !text.is_empty() {
        out.push(Piece { kind, text: text.to_string() });
    }
}

/// Byte length of a quoted string at the start, with its escapes.
fn quoted_end(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

/// The next `key=` that stands after a space.
fn next_key(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('=').map(|i| i + from) {
        let start = text[..at].rfind(' ').map_or(0, |i| i + 1);
        let key = &text[start..at];
        if !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.') {
            return Some((&text[..start], key, &text[at + 1..]));
        }
        from = at + 1;
    }
    None
}

fn value_end(text: &str) -> usize {
    match text.chars().next() {
        Some('"') => quoted_end(text),
        Some('[') => text.find(']').map_or(text.len(), |i| i + 1),
        Some('{') => text.find('}').map_or(text.len(), |i| i + 1),
        _ => text.find(' ').unwrap_or(text.len()),
    }
}

/// The component's column: `scheduler`, `kubelet · node-1`, `replicaset`, `apiserver · audit`.
pub fn component_label(line: &LogLine) -> String {
    let base = strip_number(&line.component);
    let short = base.strip_prefix("kube-").unwrap_or(base);
    let short = if short == "proxy" { base } else { short };
    if base == "kube-controller-manager" && !line.part.is_empty() {
        return line.part.clone();
    }
    if !line.part.is_empty() {
        return format!("{short} · {}", line.part);
    }
    if matches!(base, "kubelet" | "kube-proxy" | "containerd") && !line.host.is_empty() {
        return format!("{short} · {}", line.host);
    }
    if base == "etcd" { line.component.clone() } else { short.to_string() }
}

/// `kube-scheduler-1` without its number.
pub fn strip_number(component: &str) -> &str {
    match component.rsplit_once('-') {
        Some((base, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => component,
    }
}

/// The whole line as klog writes it: `I1129 16:45:40.303000       1 file.go:12] "text"`. Month and day come from the
/// cluster's wall time.
pub fn header(line: &LogLine, epoch_unix_nanos: i64) -> String {
    let nanos = i128::from(epoch_unix_nanos) + i128::from(line.at);
    let days = nanos.div_euclid(86_400_000_000_000) as i64;
    let (month, day) = month_day(days);
    let micros = nanos.rem_euclid(1_000_000_000) / 1000;
    format!(
        "{}{month:02}{day:02} {}.{micros:06}       1 {}] {}",
        line.severity.letter(),
        crate::format::clock(epoch_unix_nanos, line.at),
        line.source,
        line.text
    )
}

/// Month and day of a day counted from 1970 (Howard Hinnant's civil-from-days).
fn month_day(days: i64) -> (i64, i64) {
    let z = days + 719_468;
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    (if m < 10 { m + 3 } else { m - 9 }, day_of_year - (153 * m + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(PieceKind, String)> {
        pieces(text).into_iter().map(|p| (p.kind, p.text)).collect()
    }

    #[test]
    fn structured_lines_come_apart() {
        use PieceKind::*;
        assert_eq!(
            kinds(r#""Too few replicas" replicaSet="default/web-5487f79886" need=3 creating=3"#),
            vec![
                (Plain, "\"Too few replicas\"".into()),
                (Plain, " ".into()),
                (Key, "replicaSet=".into()),
                (Object, "default/web-5487f79886".into()),
                (Plain, " ".into()),
                (Key, "need=".into()),
                (Plain, "3".into()),
                (Plain, " ".into()),
                (Key, "creating=".into()),
                (Plain, "3".into()),
            ]
        );
    }

    #[test]
    fn nothing_is_lost() {
        for text in [
            "",
            "plain text = with an equals sign",
            r#""msg \" with a quote" err="a \"b\" c" pods=["default/web-1","default/web-2"]"#,
            "\"unclosed",
            "key=",
            "=",
            "가=나 pod=\"기본/웹\"",
        ] {
            let joined: String = pieces(text).into_iter().map(|p| p.text).collect();
            assert_eq!(joined.replace('"', ""), text.replace('"', ""));
        }
    }

    #[test]
    fn objects_are_named() {
        let pod = object_of("pod=", "default/web-1").unwrap();
        assert_eq!((pod.kind.as_str(), pod.namespace.as_str(), pod.name.as_str()), ("Pod", "default", "web-1"));
        assert_eq!(object_of("node", "node-1").unwrap().namespace, "");
        assert_eq!(object_of("need", "3"), None);
    }

    #[test]
    fn headers_are_klogs() {
        let line = LogLine { at: 303_000_000, source: "a.go:1".into(), text: "\"x\"".into(), ..LogLine::default() };
        assert_eq!(header(&line, 1_767_199_540_000_000_000), "I1231 16:45:40.303000       1 a.go:1] \"x\"");
        assert_eq!(month_day(0), (1, 1));
        assert_eq!(month_day(59), (3, 1));
    }

    #[test]
    fn components_have_short_labels() {
        let label = |component: &str, host: &str, part: &str| {
            component_label(&LogLine {
                component: component.into(),
                host: host.into(),
                part: part.into(),
                ..LogLine::default()
            })
        };
        assert_eq!(label("kube-scheduler-1", "cp-1", ""), "scheduler");
        assert_eq!(label("kube-controller-manager-1", "cp-1", "replicaset"), "replicaset");
        assert_eq!(label("kubelet", "node-1", ""), "kubelet · node-1");
        assert_eq!(label("kube-apiserver-1", "cp-1", "audit"), "apiserver · audit");
        assert_eq!(label("etcd-2", "cp-2", ""), "etcd-2");
    }
}
