//! KYAML, the flow-style YAML of `-o kyaml` (`sigs.k8s.io/yaml/kyaml`).

use crate::value::Value;

/// An object as one document.
pub fn print(object: &Value) -> String {
    ordered(object, &[])
}

/// The same with these keys first, in this order.
pub fn ordered(object: &Value, first: &[&str]) -> String {
    let mut out = "---\n".to_string();
    write(object, 0, first, &mut out);
    out.push('\n');
    out
}

fn write(v: &Value, depth: usize, first: &[&str], out: &mut String) {
    let indent = "  ".repeat(depth + 1);
    match v {
        Value::Object(m) if m.is_empty() => out.push_str("{}"),
        Value::Object(m) => {
            out.push_str("{\n");
            let named = first.iter().filter_map(|key| m.get_key_value(*key));
            for (key, inner) in named.chain(m.iter().filter(|(key, _)| !first.contains(&key.as_str()))) {
                out.push_str(&format!("{indent}{}: ", key_of(key)));
                write(inner, depth + 1, first, out);
                out.push_str(",\n");
            }
            out.push_str(&format!("{}}}", "  ".repeat(depth)));
        }
        Value::Array(list) if list.is_empty() => out.push_str("[]"),
        // Lists of objects keep their brackets together.
        Value::Array(list) if list.iter().all(|i| matches!(i, Value::Object(m) if !m.is_empty())) => {
            out.push('[');
            for (i, inner) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write(inner, depth, first, out);
            }
            out.push(']');
        }
        Value::Array(list) => {
            out.push_str("[\n");
            for inner in list {
                out.push_str(&indent);
                write(inner, depth + 1, first, out);
                out.push_str(",\n");
            }
            out.push_str(&format!("{}]", "  ".repeat(depth)));
        }
        Value::String(s) => text(s, &indent, out),
        other => out.push_str(&other.to_json()),
    }
}

/// A text in quotes; one of several lines is folded, each of its lines at the indent and one space more.
fn text(s: &str, indent: &str, out: &mut String) {
    let escaped = |line: &str| -> String {
        let parts: Vec<String> = line
            .split('\t')
            .map(|part| {
                let quoted = crate::print::human::quote(part);
                quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_string()
            })
            .collect();
        parts.join("\t")
    };
    out.push('"');
    if !s.contains('\n') {
        out.push_str(&escaped(s));
        return out.push('"');
    }
    out.push_str("\\\n");
    for line in s.split_inclusive('\n') {
        let bare = line.strip_suffix('\n');
        out.push_str(indent);
        out.push(if bare.unwrap_or(line).starts_with(char::is_whitespace) { '\\' } else { ' ' });
        out.push_str(&escaped(bare.unwrap_or(line)));
        out.push_str(if bare.is_some() { "\\n\\\n" } else { "\\\n" });
    }
    out.push_str(indent);
    out.push('"');
}

/// A key, in quotes when YAML could read it as something else.
fn key_of(key: &str) -> String {
    let plain = key.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
        && !matches!(
            key.to_lowercase().as_str(),
            "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "nan" | "inf"
        );
    if plain { key.to_string() } else { crate::print::human::quote(key) }
}
