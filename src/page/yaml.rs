//! Colours for YAML that is only shown (the inspector), and small readings of the editor's text.

/// A coloured piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// The style's class: `y-k` key, `y-s` string, `y-n` number, `y-p` punctuation, `y-c` comment, or nothing.
    pub class: &'static str,
    /// The text.
    pub text: &'a str,
}

/// One line taken apart. Lines inside block scalars look like text with keys now and then; for showing that is good
/// enough, as nothing depends on it.
pub fn line(text: &str) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    let indent = text.len() - text.trim_start_matches(' ').len();
    push(&mut out, "", &text[..indent]);
    let mut rest = &text[indent..];
    while let Some(after) = rest.strip_prefix("- ") {
        push(&mut out, "y-p", &rest[..2]);
        let spaces = after.len() - after.trim_start_matches(' ').len();
        push(&mut out, "", &after[..spaces]);
        rest = &after[spaces..];
    }
    if rest == "-" || rest == "---" || rest == "..." {
        push(&mut out, "y-p", rest);
        return out;
    }
    if rest.starts_with('#') {
        push(&mut out, "y-c", rest);
        return out;
    }
    if let Some(colon) = key_end(rest) {
        push(&mut out, "y-k", &rest[..colon]);
        push(&mut out, "y-p", ":");
        rest = &rest[colon + 1..];
        let spaces = rest.len() - rest.trim_start_matches(' ').len();
        push(&mut out, "", &rest[..spaces]);
        rest = &rest[spaces..];
    }
    let (value, comment) = match comment_start(rest) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    push(&mut out, value_class(value.trim_end()), value);
    push(&mut out, "y-c", comment);
    out
}

fn push<'a>(out: &mut Vec<Span<'a>>, class: &'static str, text: &'a str) {
    if !text.is_empty() {
        out.push(Span { class, text });
    }
}

/// Where a key ends: a colon before a space or the end, outside quotes.
fn key_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') if i == 0 => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (None, ':') if text[i + 1..].is_empty() || text[i + 1..].starts_with(' ') => return Some(i),
            (None, '{' | '[') if i == 0 => return None,
            _ => {}
        }
    }
    None
}

fn comment_start(text: &str) -> Option<usize> {
    if text.starts_with('"') || text.starts_with('\'') {
        return None;
    }
    text.find(" #")
}

fn value_class(value: &str) -> &'static str {
    let plain = value.trim_start_matches('-');
    if value.is_empty() {
        ""
    } else if matches!(value, "true" | "false" | "null" | "~" | "{}" | "[]")
        || (!plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
    {
        "y-n"
    } else if matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+") {
        "y-p"
    } else {
        "y-s"
    }
}

/// What a manifest's documents say they are, for the editor's foot: `apps/v1 Deployment`. At most 1,000.
pub fn documents(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        // JSON, whose fields of the outermost object are few and easily found.
        let field = |name: &str| outermost(text, name);
        if let (Some(version), Some(kind)) = (field("apiVersion"), field("kind")) {
            out.push(format!("{version} {kind}"));
        }
        return out;
    }
    for document in text.split("\n---").take(1000) {
        let field = |name: &str| {
            document.lines().find_map(|l| {
                let value = l.strip_prefix(name)?.strip_prefix(':')?.trim();
                (!value.is_empty()).then(|| value.trim_matches(['"', '\'']).to_string())
            })
        };
        if let (Some(version), Some(kind)) = (field("apiVersion"), field("kind")) {
            out.push(format!("{version} {kind}"));
        }
    }
    out
}

/// The text of a field of the first object in JSON or in YAML's braces.
fn outermost(text: &str, name: &str) -> Option<String> {
    let mut depth = 0u32;
    let mut words = Vec::new();
    let mut rest = text;
    // Names, colons and values of the outermost object, one after the other.
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '{' | '[' => depth = depth.saturating_add(1),
            '}' | ']' if depth == 1 => break,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let mut escaped = false;
                let inside = rest.get(1..)?;
                let end = inside.find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                })?;
                taken = end + 2;
                if depth == 1 {
                    words.push(inside.get(..end)?);
                }
            }
            ':' if depth == 1 => words.push(":"),
            ',' if depth == 1 => words.push(","),
            _ => {}
        }
        rest = rest.get(taken..)?;
    }
    words.windows(3).find_map(|w| match w {
        [key, ":", value] if *key == name && !matches!(*value, ":" | ",") => Some(value.to_string()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Vec<(&'static str, &str)> {
        line(text).into_iter().map(|s| (s.class, s.text)).collect()
    }

    #[test]
    fn lines_come_apart() {
        assert_eq!(
            classes("  - name: web # ours"),
            [("", "  "), ("y-p", "- "), ("y-k", "name"), ("y-p", ":"), ("", " "), ("y-s", "web"), ("y-c", " # ours")]
        );
        assert_eq!(classes("replicas: 3").last(), Some(&("y-n", "3")));
        assert_eq!(classes("\"a: b\": c")[0], ("y-k", "\"a: b\""));
        assert_eq!(classes("image: nginx:1.27").last(), Some(&("y-s", "nginx:1.27")));
        assert_eq!(classes("---"), [("y-p", "---")]);
    }

    #[test]
    fn nothing_is_lost() {
        for text in ["", "   ", "-", "- - a", "한글: 값 # 말", ":", "a:", "'x", "{a: b}", "\t\tx"] {
            assert_eq!(line(text).iter().map(|s| s.text).collect::<String>(), text);
        }
    }

    #[test]
    fn documents_name_themselves() {
        let text = "apiVersion: v1\nkind: Service\nmetadata: {}\n---\napiVersion: apps/v1\nkind: \"Deployment\"\n---\n";
        assert_eq!(documents(text), ["v1 Service", "apps/v1 Deployment"]);
        assert_eq!(documents(""), Vec::<String>::new());
        assert_eq!(documents("\u{feff}apiVersion: v1\nkind: Pod\n"), ["v1 Pod"]);
        let json = r#"{"spec": {"kind": "No", "a": ["kind", "x"]}, "kind" : "List", "apiVersion":"v1", "b": "\"}"}"#;
        assert_eq!(documents(json), ["v1 List"]);
        for broken in ["{", "{\"kind", "{\"kind\":", "{\"kind\": \"Pod\\\\\"}", "{\"가\": \"나", "{}}{"] {
            assert_eq!(documents(broken), Vec::<String>::new());
        }
    }
}
