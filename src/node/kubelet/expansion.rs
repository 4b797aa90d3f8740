//! `$(NAME)` in commands, arguments and values (third_party/forked/golang/expansion).

/// Replaces `$(NAME)` by what `lookup` knows, leaves it as it is when it knows nothing; `$$` is a dollar sign.
pub fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let after = after.get(1..).unwrap_or_default();
        if let Some(next) = after.strip_prefix('$') {
            out.push('$');
            rest = next;
        } else if let Some((name, next)) = after.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match lookup(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                }
            }
            rest = next;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_string()),
            "E" => Some(String::new()),
            _ => None,
        };
        let rows = [
            ("$(A)", "1"),
            ("x-$(A)-$(A)", "x-1-1"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$(B)", "$(B)"),
            ("$(E)|", "|"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
            ("$(", "$("),
            ("a$$b", "a$b"),
        ];
        for (text, expanded) in rows {
            assert_eq!(expand(text, &lookup), expanded, "{text}");
        }
    }
}
