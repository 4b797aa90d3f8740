//! The part of Go's text/template that `-o go-template` is used for: fields, range, if, with, literals and a few
//! functions.

use crate::print::human::quote;
use crate::value::Value;

#[derive(Clone, Debug)]
enum Node {
    Text(String),
    Action(Vec<Vec<Arg>>),
    Range(Vec<Vec<Arg>>, Vec<Node>, Vec<Node>),
    If(Vec<Vec<Arg>>, Vec<Node>, Vec<Node>),
    With(Vec<Vec<Arg>>, Vec<Node>, Vec<Node>),
}

#[derive(Clone, Debug)]
enum Arg {
    Dot(Vec<String>),
    Root(Vec<String>),
    Literal(Value),
    Function(String),
    Nested(Vec<Vec<Arg>>, Vec<String>),
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct Template {
    /// Its text.
    pub text: String,
    nodes: Vec<Node>,
}

/// Nesting of blocks and parentheses that is followed.
const MAX_DEPTH: usize = 64;

enum Piece {
    Text(String),
    Action(String),
}

impl Template {
    /// Parses a template; the error follows `template: output:`.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut line = 1;
        while let Some(at) = rest.find("{{") {
            let (head, tail) = rest.split_at(at);
            line += head.matches('\n').count();
            let body = tail.get(2..).unwrap_or("");
            let Some(end) = close(body) else {
                return Err(format!("{line}: unclosed action"));
            };
            let inner = body.get(..end).unwrap_or("");
            let mut head = head.to_string();
            let mut inner_text = inner;
            if let Some(t) = inner.strip_prefix("- ") {
                head.truncate(head.trim_end().len());
                inner_text = t;
            }
            rest = body.get(end + 2..).unwrap_or("");
            if let Some(t) = inner_text.strip_suffix(" -") {
                inner_text = t;
                rest = rest.trim_start();
            }
            pieces.push(Piece::Text(head));
            pieces.push(Piece::Action(inner_text.trim().to_string()));
        }
        pieces.push(Piece::Text(rest.to_string()));
        let mut iter = pieces.into_iter();
        let (nodes, ended) = block(&mut iter, 0)?;
        if let Some(word) = ended {
            return Err(format!("{line}: unexpected {{{{{word}}}}}"));
        }
        Ok(Template { text: text.to_string(), nodes })
    }

    /// The template's text on a value.
    pub fn execute(&self, data: &Value) -> Result<String, String> {
        let mut out = String::new();
        run(&self.nodes, data, data, &mut out)?;
        Ok(out)
    }
}

/// Where an action ends, quotes skipped.
fn close(body: &str) -> Option<usize> {
    let mut quoted = None;
    let mut last = ' ';
    for (i, c) in body.char_indices() {
        match quoted {
            Some(q) if c == q && last != '\\' => quoted = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quoted = Some(c),
            None if c == '}' && body.get(i..).is_some_and(|t| t.starts_with("}}")) => return Some(i),
            None => {}
        }
        last = c;
    }
    None
}

type Pieces = std::vec::IntoIter<Piece>;

fn block(pieces: &mut Pieces, depth: usize) -> Result<(Vec<Node>, Option<String>), String> {
    if depth > MAX_DEPTH {
        return Err("1: too deeply nested".into());
    }
    let mut nodes = Vec::new();
    while let Some(piece) = pieces.next() {
        let action = match piece {
            Piece::Text(t) => {
                if !t.is_empty() {
                    nodes.push(Node::Text(t));
                }
                continue;
            }
            Piece::Action(a) => a,
        };
        let (word, rest) = action.split_once(char::is_whitespace).unwrap_or((&action, ""));
        match word {
            "end" => return Ok((nodes, Some("end".into()))),
            "else" => return Ok((nodes, Some(action))),
            "range" | "if" | "with" => {
                let pipe = pipeline(rest)?;
                let (body, ended) = block(pieces, depth + 1)?;
                let otherwise = match ended.as_deref() {
                    Some("end") => Vec::new(),
                    Some("else") => {
                        let (other, ended) = block(pieces, depth + 1)?;
                        if ended.is_none() {
                            return Err("1: unexpected EOF".into());
                        }
                        other
                    }
                    Some(e) => {
                        let condition = pipeline(e.trim_start_matches("else").trim().trim_start_matches("if").trim())?;
                        let (inner, ended) = block(pieces, depth + 1)?;
                        let tail = match ended.as_deref() {
                            Some("end") => Vec::new(),
                            Some(_) => block(pieces, depth + 1)?.0,
                            None => return Err("1: unexpected EOF".into()),
                        };
                        vec![Node::If(condition, inner, tail)]
                    }
                    None => return Err("1: unexpected EOF".into()),
                };
                nodes.push(match word {
                    "range" => Node::Range(pipe, body, otherwise),
                    "if" => Node::If(pipe, body, otherwise),
                    _ => Node::With(pipe, body, otherwise),
                });
            }
            w if w.starts_with("/*") => {}
            _ => nodes.push(Node::Action(pipeline(&action)?)),
        }
    }
    Ok((nodes, None))
}

/// Words of an action; strings and parentheses kept whole.
fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
        } else if c == '"' || c == '`' {
            let mut s = String::new();
            chars.next();
            s.push(c);
            let mut done = false;
            while let Some(d) = chars.next() {
                s.push(d);
                if d == '\\' && c == '"' {
                    s.extend(chars.next());
                } else if d == c {
                    done = true;
                    break;
                }
            }
            if !done {
                return Err("1: unterminated quoted string".into());
            }
            out.push(s);
        } else if c == '|' {
            chars.next();
            out.push("|".into());
        } else if c == '(' {
            let mut depth = 0;
            let mut s = String::new();
            for d in chars.by_ref() {
                s.push(d);
                match d {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
            while let Some(d) = chars.next_if(|d| !d.is_whitespace() && *d != '|' && *d != ')') {
                s.push(d);
            }
            out.push(s);
        } else {
            let mut s = String::new();
            while let Some(d) = chars.next_if(|d| !d.is_whitespace() && *d != '|') {
                s.push(d);
            }
            out.push(s);
        }
    }
    Ok(out)
}

fn pipeline(text: &str) -> Result<Vec<Vec<Arg>>, String> {
    let mut commands = vec![Vec::new()];
    for t in tokens(text)? {
        if t == "|" {
            commands.push(Vec::new());
            continue;
        }
        let arg = argument(&t)?;
        if let Some(c) = commands.last_mut() {
            c.push(arg);
        }
    }
    if commands.iter().any(Vec::is_empty) {
        return Err("1: missing value for command".into());
    }
    Ok(commands)
}

fn fields(path: &str) -> Vec<String> {
    path.split('.').filter(|p| !p.is_empty()).map(String::from).collect()
}

fn argument(t: &str) -> Result<Arg, String> {
    if let Some(path) = t.strip_prefix('.') {
        return Ok(Arg::Dot(fields(path)));
    }
    if let Some(path) = t.strip_prefix('$') {
        return Ok(Arg::Root(fields(path)));
    }
    if let Some(inner) = t.strip_prefix('(') {
        let Some(at) = inner.rfind(')') else {
            return Err("1: unclosed left paren".into());
        };
        let (body, tail) = inner.split_at(at);
        return Ok(Arg::Nested(pipeline(body)?, fields(tail.trim_start_matches(')'))));
    }
    if t.starts_with('"') {
        let text = Value::parse(t).map_err(|_| "1: invalid syntax".to_string())?;
        return Ok(Arg::Literal(text));
    }
    if t.starts_with('`') {
        return Ok(Arg::Literal(t.trim_matches('`').into()));
    }
    if let Ok(i) = t.parse::<i64>() {
        return Ok(Arg::Literal(Value::Int(i)));
    }
    match t {
        "true" => Ok(Arg::Literal(true.into())),
        "false" => Ok(Arg::Literal(false.into())),
        "nil" => Ok(Arg::Literal(Value::Null)),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "len" | "index" | "print" | "printf" | "println" | "not" | "and"
        | "or" | "base64decode" | "exists" => Ok(Arg::Function(t.into())),
        other => Err(format!("1: function {} not defined", quote(other))),
    }
}

fn walk(v: &Value, path: &[String]) -> Result<Value, String> {
    let mut v = v;
    for p in path {
        v = match v {
            Value::Object(_) => v.key(p),
            Value::Null => return Err(format!("1: nil pointer evaluating interface {{}}.{p}")),
            other => {
                return Err(format!("1: can't evaluate field {p} in type {}", other.go_type()));
            }
        };
    }
    Ok(v.clone())
}

fn truth(v: &Value) -> bool {
    match v {
        Value::Bool(b) => *b,
        Value::Int(i) => *i != 0,
        Value::Float(f) => *f != 0.0,
        other => !other.is_empty(),
    }
}

fn evaluate(pipe: &[Vec<Arg>], dot: &Value, root: &Value) -> Result<Value, String> {
    let mut last: Option<Value> = None;
    for command in pipe {
        let mut values = Vec::new();
        let mut function = None;
        for (i, arg) in command.iter().enumerate() {
            match arg {
                Arg::Function(f) if i == 0 => function = Some(f.as_str()),
                Arg::Function(f) => return Err(format!("1: wrong use of function {f}")),
                Arg::Dot(p) => values.push(walk(dot, p)?),
                Arg::Root(p) => values.push(walk(root, p)?),
                Arg::Literal(v) => values.push(v.clone()),
                Arg::Nested(p, path) => values.push(walk(&evaluate(p, dot, root)?, path)?),
            }
        }
        values.extend(last.take());
        last = Some(match function {
            Some(f) => call(f, &values)?,
            None => values.into_iter().next().unwrap_or_default(),
        });
    }
    Ok(last.unwrap_or_default())
}

fn call(function: &str, args: &[Value]) -> Result<Value, String> {
    let first = args.first().cloned().unwrap_or_default();
    let second = args.get(1).cloned().unwrap_or_default();
    let order = || match (&first, &second) {
        (Value::Int(a), Value::Int(b)) => Ok(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => Ok(a.total_cmp(b)),
        _ => Err("1: incompatible types for comparison".to_string()),
    };
    Ok(match function {
        "eq" => args.iter().skip(1).any(|a| *a == first).into(),
        "ne" => (first != second).into(),
        "lt" => order()?.is_lt().into(),
        "le" => order()?.is_le().into(),
        "gt" => order()?.is_gt().into(),
        "ge" => order()?.is_ge().into(),
        "not" => (!truth(&first)).into(),
        "and" => args.iter().find(|a| !truth(a)).or(args.last()).cloned().unwrap_or_default(),
        "or" => args.iter().find(|a| truth(a)).or(args.last()).cloned().unwrap_or_default(),
        "len" => match &first {
            Value::Array(a) => Value::Int(a.len() as i64),
            Value::Object(m) => Value::Int(m.len() as i64),
            Value::String(s) => Value::Int(s.len() as i64),
            other => return Err(format!("1: len of type {}", other.go_type())),
        },
        "index" => {
            let mut v = first;
            for a in args.iter().skip(1) {
                v = match (&v, a) {
                    (Value::Array(list), Value::Int(i)) => usize::try_from(*i)
                        .ok()
                        .and_then(|i| list.get(i))
                        .cloned()
                        .ok_or_else(|| format!("1: error calling index: index out of range: {i}"))?,
                    (_, key) => v.key(&key.go_v()).clone(),
                };
            }
            v
        }
        "exists" => {
            let mut v = &first;
            for a in args.iter().skip(1) {
                v = v.key(&a.go_v());
            }
            (!v.is_null()).into()
        }
        "base64decode" => {
            let bytes = crate::resource::base64_decode(first.as_str().unwrap_or(""))
                .ok_or_else(|| "1: base64 decode failed".to_string())?;
            String::from_utf8_lossy(&bytes).into_owned().into()
        }
        "printf" => {
            let mut out = String::new();
            let mut rest = args.iter().skip(1);
            let format = first.as_str().unwrap_or("").to_string();
            let mut chars = format.chars();
            while let Some(c) = chars.next() {
                if c != '%' {
                    out.push(c);
                    continue;
                }
                let mut width = String::new();
                let mut verb = chars.next();
                while let Some(d) = verb.filter(|d| d.is_ascii_digit() || *d == '-') {
                    width.push(d);
                    verb = chars.next();
                }
                if verb == Some('%') {
                    out.push('%');
                    continue;
                }
                let v = rest.next().cloned().unwrap_or_default();
                let text = if verb == Some('q') { quote(&v.go_v()) } else { v.go_v() };
                let n: usize = width.trim_start_matches('-').parse().unwrap_or(0).min(1000);
                out.push_str(&if width.starts_with('-') { format!("{text:<n$}") } else { format!("{text:>n$}") });
            }
            out.into()
        }
        _ => {
            let text: String = args.iter().map(Value::go_v).collect::<Vec<_>>().join(" ");
            if function == "println" { format!("{text}\n").into() } else { text.into() }
        }
    })
}

fn run(nodes: &[Node], dot: &Value, root: &Value, out: &mut String) -> Result<(), String> {
    for node in nodes {
        match node {
            Node::Text(t) => out.push_str(t),
            Node::Action(p) => match evaluate(p, dot, root)? {
                Value::Null => out.push_str("<no value>"),
                v => out.push_str(&v.go_v()),
            },
            Node::If(p, yes, no) => {
                run(if truth(&evaluate(p, dot, root)?) { yes } else { no }, dot, root, out)?;
            }
            Node::With(p, yes, no) => {
                let v = evaluate(p, dot, root)?;
                if truth(&v) { run(yes, &v, root, out)? } else { run(no, dot, root, out)? }
            }
            Node::Range(p, body, no) => match evaluate(p, dot, root)? {
                Value::Array(a) if !a.is_empty() => {
                    for v in &a {
                        run(body, v, root, out)?;
                    }
                }
                Value::Object(m) if !m.is_empty() => {
                    for v in m.values() {
                        run(body, v, root, out)?;
                    }
                }
                Value::Array(_) | Value::Object(_) | Value::Null => run(no, dot, root, out)?,
                other => return Err(format!("1: range can't iterate over {}", other.go_v())),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        let data = Value::parse(r#"{"metadata":{"name":"web"},"spec":{"replicas":2,"c":[{"n":"a"},{"n":"b"}]}}"#)
            .unwrap_or_default();
        for (t, want) in [
            ("{{.metadata.name}} {{.spec.replicas}}{{\"\\n\"}}", "web 2\n"),
            ("{{range .spec.c}}{{.n}};{{end}}", "a;b;"),
            ("{{if eq .metadata.name \"web\"}}yes{{else}}no{{end}}", "yes"),
            ("{{len .spec.c}} {{(index .spec.c 1).n}} {{.nope}}", "2 b <no value>"),
            ("{{printf \"%s-%d\" .metadata.name .spec.replicas}}", "web-2"),
        ] {
            assert_eq!(Template::parse(t).and_then(|t| t.execute(&data)).as_deref(), Ok(want), "{t}");
        }
        assert!(Template::parse("{{.x").is_err());
        assert!(Template::parse("{{range .x}}").is_err());
    }
}
