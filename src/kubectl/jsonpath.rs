//! kubectl's jsonpath dialect: `k8s.io/client-go/util/jsonpath`, with its errors.

use crate::print::human::quote;
use crate::value::Value;
use std::borrow::Cow;

#[derive(Clone, Debug)]
enum Node {
    List(Vec<Node>),
    Text(String),
    Field(String),
    Array([Param; 3]),
    Filter { left: Vec<Node>, right: Vec<Node>, operator: String },
    Int(i64),
    Float(f64),
    Bool(bool),
    Wildcard,
    Recursive,
    Union(Vec<Vec<Node>>),
    Identifier(String),
}

#[derive(Clone, Copy, Debug, Default)]
struct Param {
    value: i64,
    known: bool,
    derived: bool,
}

/// A parsed template.
#[derive(Clone, Debug)]
pub struct JsonPath {
    nodes: Vec<Node>,
    /// Missing fields give nothing instead of an error.
    pub allow_missing: bool,
}

/// A value found: part of the data or made by the template.
pub type Found<'a> = Cow<'a, Value>;

struct Parser<'t> {
    input: &'t str,
    pos: usize,
    start: usize,
    root: Vec<Node>,
}

/// Levels of nested unions and filters that are followed.
const MAX_DEPTH: usize = 32;

fn parse_at(input: &str, depth: usize) -> Result<Vec<Node>, String> {
    if depth > MAX_DEPTH {
        return Err("expression is nested too deeply".into());
    }
    let mut p = Parser { input, pos: 0, start: 0, root: Vec::new() };
    p.text(depth)?;
    Ok(p.root)
}

fn parse_action(text: &str, depth: usize) -> Result<Vec<Node>, String> {
    match parse_at(&format!("{{{text}}}"), depth + 1)?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

fn is_terminator(c: Option<char>) -> bool {
    matches!(c, None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'))
}

impl Parser<'_> {
    fn consume(&mut self) -> String {
        let s = self.input.get(self.start..self.pos).unwrap_or("").to_string();
        self.start = self.pos;
        s
    }

    fn peek(&self) -> Option<char> {
        self.input.get(self.pos..).and_then(|s| s.chars().next())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.pos += c.len_utf8();
        Some(c)
    }

    fn rest(&self) -> &str {
        self.input.get(self.pos..).unwrap_or("")
    }

    fn text(&mut self, depth: usize) -> Result<(), String> {
        loop {
            if self.rest().starts_with('{') {
                if self.pos > self.start {
                    let t = self.consume();
                    self.root.push(Node::Text(t));
                }
                self.pos += 1;
                self.consume();
                let list = self.action(depth)?;
                self.root.push(Node::List(list));
                continue;
            }
            if self.next().is_none() {
                break;
            }
        }
        if self.pos > self.start {
            let t = self.consume();
            self.root.push(Node::Text(t));
        }
        Ok(())
    }

    fn action(&mut self, depth: usize) -> Result<Vec<Node>, String> {
        let mut cur = Vec::new();
        loop {
            if self.rest().starts_with('}') {
                self.pos += 1;
                self.consume();
                return Ok(cur);
            }
            if self.rest().starts_with("[?(") {
                self.filter(&mut cur, depth)?;
                continue;
            }
            if self.rest().starts_with("..") {
                if matches!(cur.last(), Some(Node::Recursive)) {
                    return Err("invalid multiple recursive descent".into());
                }
                self.pos += 2;
                self.consume();
                cur.push(Node::Recursive);
                if self.peek().is_some_and(|c| c == '_' || c.is_alphanumeric()) {
                    self.field(&mut cur);
                }
                continue;
            }
            match self.next() {
                None | Some('\n' | '\r') => return Err("unclosed action".into()),
                Some(' ' | '@' | '$') => {
                    self.consume();
                }
                Some('[') => self.array(&mut cur, depth)?,
                Some(q @ ('"' | '\'')) => self.quoted(&mut cur, q)?,
                Some('.') => self.field(&mut cur),
                Some(c) if c == '+' || c == '-' || c.is_numeric() => {
                    self.pos -= c.len_utf8();
                    self.number(&mut cur)?;
                }
                Some(c) if c == '_' || c.is_alphanumeric() => {
                    while !is_terminator(self.peek()) {
                        self.next();
                    }
                    match self.consume().as_str() {
                        "true" => cur.push(Node::Bool(true)),
                        "false" => cur.push(Node::Bool(false)),
                        other => cur.push(Node::Identifier(other.to_string())),
                    }
                }
                Some(c) => {
                    return Err(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32));
                }
            }
        }
    }

    fn field(&mut self, cur: &mut Vec<Node>) {
        self.consume();
        loop {
            match self.peek() {
                Some('\\') => {
                    self.next();
                    self.next();
                }
                c if is_terminator(c) => break,
                _ => {
                    self.next();
                }
            }
        }
        let value = self.consume();
        cur.push(if value == "*" { Node::Wildcard } else { Node::Field(value.replace('\\', "")) });
    }

    fn number(&mut self, cur: &mut Vec<Node>) -> Result<(), String> {
        if matches!(self.peek(), Some('+' | '-')) {
            self.next();
        }
        while self.peek().is_some_and(|c| c == '.' || c.is_numeric()) {
            self.next();
        }
        let value = self.consume();
        if let Ok(i) = value.parse::<i64>() {
            cur.push(Node::Int(i));
        } else if let Ok(f) = value.parse::<f64>() {
            cur.push(Node::Float(f));
        } else {
            return Err(format!("cannot parse number {value}"));
        }
        Ok(())
    }

    fn quoted(&mut self, cur: &mut Vec<Node>, end: char) -> Result<(), String> {
        let mut last = end;
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated quoted string".into()),
                Some(c) if c == end && last != '\\' => break,
                Some(c) => last = c,
            }
        }
        let value = self.consume();
        let text = unquote(&value).map_err(|e| format!("unquote string {value} error {e}"))?;
        cur.push(Node::Text(text));
        Ok(())
    }

    fn array(&mut self, cur: &mut Vec<Node>, depth: usize) -> Result<(), String> {
        loop {
            match self.next() {
                None | Some('\n') => return Err("unterminated array".into()),
                Some(']') => break,
                _ => {}
            }
        }
        let whole = self.consume();
        let text = whole.get(1..whole.len() - 1).unwrap_or("");
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let mut union = Vec::new();
            for part in text.split(',') {
                union.push(parse_action(&format!("[{}]", part.trim_matches(' ')), depth)?);
            }
            cur.push(Node::Union(union));
            return Ok(());
        }
        if let Some(key) = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).filter(|t| !t.contains('\'')) {
            cur.extend(parse_action(&format!(".{key}"), depth)?);
            return Ok(());
        }
        let parts: Vec<&str> = text.split(':').collect();
        let digits = |s: &str| {
            let d = s.strip_prefix('-').unwrap_or(s);
            d.chars().all(|c| c.is_ascii_digit())
        };
        if parts.len() > 3 || !parts.iter().all(|p| digits(p)) {
            return Err(format!("invalid array index {text}"));
        }
        let mut params = [Param::default(); 3];
        let first = parts.first().copied().unwrap_or("");
        let number = |s: &str| -> Result<i64, String> {
            s.parse::<i64>().map_err(|_| format!("array index {s} is not a number"))
        };
        if !first.is_empty() {
            params[0] = Param { value: number(first)?, known: true, derived: false };
        }
        match parts.get(1) {
            None => params[1] = Param { value: params[0].value.saturating_add(1), known: true, derived: true },
            Some(&"") => {}
            Some(s) => params[1] = Param { value: number(s)?, known: true, derived: false },
        }
        if let Some(s) = parts.get(2).filter(|s| !s.is_empty()) {
            params[2] = Param { value: number(s)?, known: true, derived: false };
        }
        cur.push(Node::Array(params));
        Ok(())
    }

    fn filter(&mut self, cur: &mut Vec<Node>, depth: usize) -> Result<(), String> {
        self.pos += 3;
        self.consume();
        let (mut begin, mut end, mut pair, mut last) = (false, false, ' ', ' ');
        loop {
            let c = self.next();
            match c {
                None | Some('\n') => return Err("unterminated filter".into()),
                Some(q @ ('"' | '\'')) => {
                    if !begin {
                        begin = true;
                        pair = q;
                    } else if last != '\\' && q == pair {
                        end = true;
                    }
                }
                Some(')') if begin == end => break,
                _ => {}
            }
            last = c.unwrap_or(' ');
        }
        if self.next() != Some(']') {
            return Err("unclosed array expect ]".into());
        }
        let whole = self.consume();
        let text = whole.get(..whole.len() - 2).unwrap_or("");
        let is_op = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let split = text.find(is_op).filter(|at| *at > 0).and_then(|at| {
            let (left, tail) = text.split_at(at);
            let mut end = tail.find(|c| !is_op(c)).unwrap_or(tail.len());
            if end == tail.len() {
                end -= 1;
            }
            let (op, right) = tail.split_at(end);
            (!op.is_empty() && !right.is_empty()).then_some((left, op, right))
        });
        match split {
            None => {
                let left = parse_action(text, depth)?;
                cur.push(Node::Filter { left, right: Vec::new(), operator: "exists".into() });
            }
            Some((left, op, right)) => {
                let left = parse_action(left, depth)?;
                let right = parse_action(right, depth)?;
                cur.push(Node::Filter { left, right, operator: op.to_string() });
            }
        }
        Ok(())
    }
}

/// Go's UnquoteExtend: a string in single or double quotes.
fn unquote(s: &str) -> Result<String, String> {
    let invalid = || "invalid syntax".to_string();
    let quote = s.chars().next().ok_or_else(invalid)?;
    let body = s.get(1..s.len().saturating_sub(1)).ok_or_else(invalid)?;
    let mut out = String::new();
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c == quote {
            return Err(invalid());
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let hex = |chars: &mut std::str::Chars<'_>, n: usize| -> Result<char, String> {
            let text: String = chars.take(n).collect();
            u32::from_str_radix(&text, 16).ok().and_then(char::from_u32).ok_or_else(|| "invalid syntax".into())
        };
        match chars.next().ok_or_else(invalid)? {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'v' => out.push('\u{b}'),
            '\\' => out.push('\\'),
            'x' => out.push(hex(&mut chars, 2)?),
            'u' => out.push(hex(&mut chars, 4)?),
            'U' => out.push(hex(&mut chars, 8)?),
            d @ '0'..='7' => {
                let mut text = d.to_string();
                text.extend(chars.by_ref().take(2));
                let n = u32::from_str_radix(&text, 8).map_err(|_| invalid())?;
                out.push(char::from_u32(n).ok_or_else(invalid)?);
            }
            c if c == quote => out.push(c),
            _ => return Err(invalid()),
        }
    }
    Ok(out)
}

struct Eval<'p> {
    nodes: &'p [Node],
    allow_missing: bool,
    begin: usize,
    inside: usize,
    end: usize,
    last_end: Option<usize>,
}

impl JsonPath {
    /// Parses a template; the error is client-go's.
    pub fn parse(text: &str) -> Result<JsonPath, String> {
        Ok(JsonPath { nodes: parse_at(text, 0)?, allow_missing: false })
    }

    /// The same with missing fields allowed.
    pub fn parse_lenient(text: &str) -> Result<JsonPath, String> {
        Ok(JsonPath { nodes: parse_at(text, 0)?, allow_missing: true })
    }

    /// What each part of the template gives on `data`.
    pub fn find<'a>(&self, data: &'a Value) -> Result<Vec<Vec<Found<'a>>>, String> {
        let mut eval =
            Eval { nodes: &self.nodes, allow_missing: self.allow_missing, begin: 0, inside: 0, end: 0, last_end: None };
        eval.find(0, Some(Cow::Borrowed(data)))
    }

    /// The template's text on `data`.
    pub fn execute(&self, data: &Value) -> Result<String, String> {
        let mut out = String::new();
        for results in self.find(data)? {
            for (i, r) in results.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(&text_of(r));
            }
        }
        Ok(out)
    }

    /// All results as JSON lists, as `-o jsonpath-as-json` prints them.
    pub fn execute_json(&self, data: &Value) -> Result<String, String> {
        let mut out = String::new();
        for results in self.find(data)? {
            let list = Value::Array(results.into_iter().map(Cow::into_owned).collect());
            out.push_str(&list.to_json_indent("    "));
            out.push('\n');
        }
        Ok(out)
    }
}

/// A found value as the template prints it.
pub fn text_of(v: &Value) -> String {
    match v {
        Value::Array(_) | Value::Object(_) => v.to_json(),
        Value::Null => "null".into(),
        other => other.go_v(),
    }
}

type Results<'a> = Vec<Found<'a>>;

fn children<'a>(v: &Found<'a>) -> Results<'a> {
    match v {
        Cow::Borrowed(Value::Array(a)) => a.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(m)) => m.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(a)) => a.iter().cloned().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(m)) => m.values().cloned().map(Cow::Owned).collect(),
        _ => Vec::new(),
    }
}

impl Eval<'_> {
    fn find<'a>(&mut self, from: usize, data: Option<Found<'a>>) -> Result<Vec<Results<'a>>, String> {
        let cur: Results<'a> = data.into_iter().collect();
        let nodes = self.nodes;
        let mut full = Vec::new();
        let mut i = from;
        while let Some(node) = nodes.get(i) {
            let results = self.walk(cur.clone(), node)?;
            if self.end > 0 && self.end <= self.inside {
                self.end -= 1;
                self.last_end = Some(i);
                break;
            }
            if self.begin > 0 {
                self.begin -= 1;
                self.inside += 1;
                if results.is_empty() {
                    self.find(i + 1, None)?;
                } else {
                    for value in results {
                        full.extend(self.find(i + 1, Some(value))?);
                    }
                }
                self.inside -= 1;
                if let Some(end) = self.last_end.filter(|end| *end > i) {
                    i = end;
                }
                i += 1;
                continue;
            }
            full.push(results);
            i += 1;
        }
        Ok(full)
    }

    fn list<'a>(&mut self, mut cur: Results<'a>, nodes: &[Node]) -> Result<Results<'a>, String> {
        for node in nodes {
            cur = self.walk(cur, node)?;
        }
        Ok(cur)
    }

    fn walk<'a>(&mut self, input: Results<'a>, node: &Node) -> Result<Results<'a>, String> {
        match node {
            Node::List(nodes) => self.list(input, nodes),
            Node::Text(t) => Ok(vec![Cow::Owned(Value::String(t.clone()))]),
            Node::Int(i) => Ok(input.iter().map(|_| Cow::Owned(Value::Int(*i))).collect()),
            Node::Float(f) => Ok(input.iter().map(|_| Cow::Owned(Value::Float(*f))).collect()),
            Node::Bool(b) => Ok(input.iter().map(|_| Cow::Owned(Value::Bool(*b))).collect()),
            Node::Field(name) => self.field(input, name),
            Node::Array(params) => array(input, params),
            Node::Filter { left, right, operator } => self.filter(input, left, right, operator),
            Node::Wildcard => Ok(input.iter().flat_map(children).collect()),
            Node::Recursive => {
                let mut out = Vec::new();
                for v in &input {
                    recurse(v, &mut out);
                }
                Ok(out)
            }
            Node::Union(lists) => {
                let mut out = Vec::new();
                for nodes in lists {
                    out.extend(self.list(input.clone(), nodes)?);
                }
                Ok(out)
            }
            Node::Identifier(name) => match name.as_str() {
                "range" => {
                    self.begin += 1;
                    Ok(input)
                }
                "end" if self.inside > 0 => {
                    self.end += 1;
                    Ok(Vec::new())
                }
                "end" => Err("not in range, nothing to end".into()),
                other => Err(format!("unrecognized identifier {other}")),
            },
        }
    }

    fn field<'a>(&mut self, input: Results<'a>, name: &str) -> Result<Results<'a>, String> {
        if input.is_empty() {
            return Ok(input);
        }
        let mut out = Vec::new();
        for v in input {
            match v {
                Cow::Borrowed(Value::Object(m)) => out.extend(m.get(name).map(Cow::Borrowed)),
                Cow::Owned(Value::Object(mut m)) => out.extend(m.remove(name).map(Cow::Owned)),
                _ => {}
            }
        }
        if out.is_empty() && !self.allow_missing {
            return Err(format!("{name} is not found"));
        }
        Ok(out)
    }

    fn filter<'a>(
        &mut self,
        input: Results<'a>,
        left: &[Node],
        right: &[Node],
        operator: &str,
    ) -> Result<Results<'a>, String> {
        let mut out = Vec::new();
        for value in input {
            if !matches!(&*value, Value::Array(_)) {
                return Err(format!("{} is not array or slice and cannot be filtered", value.go_v()));
            }
            for item in children(&value) {
                let lefts = self.list(vec![item.clone()], left);
                if operator == "exists" {
                    if lefts.is_ok_and(|l| !l.is_empty()) {
                        out.push(item);
                    }
                    continue;
                }
                let lefts = lefts?;
                let one = |found: &Results<'a>| match found.len() {
                    0 => Ok(false),
                    1 => Ok(true),
                    _ => Err("can only compare one element at a time".to_string()),
                };
                if !one(&lefts)? {
                    continue;
                }
                let rights = self.list(vec![item.clone()], right)?;
                if !one(&rights)? {
                    continue;
                }
                if let (Some(l), Some(r)) = (lefts.first(), rights.first())
                    && compare(l, r, operator)?
                {
                    out.push(item);
                }
            }
        }
        Ok(out)
    }
}

fn recurse<'a>(v: &Found<'a>, out: &mut Results<'a>) {
    let kids = children(v);
    if kids.is_empty() {
        return;
    }
    out.push(v.clone());
    for k in &kids {
        recurse(k, out);
    }
}

fn array<'a>(input: Results<'a>, params: &[Param; 3]) -> Result<Results<'a>, String> {
    let mut out = Vec::new();
    for value in input {
        if matches!(&*value, Value::Null) {
            continue;
        }
        if !matches!(&*value, Value::Array(_)) {
            return Err(format!("{} is not array or slice", value.go_type()));
        }
        let items = children(&value);
        let len = items.len() as i64;
        let [mut p0, mut p1, p2] = *params;
        if !p0.known {
            p0.value = 0;
        }
        if p0.value < 0 {
            p0.value += len;
        }
        if !p1.known {
            p1.value = len;
        }
        if p1.value < 0 || (p1.value == 0 && p1.derived) {
            p1.value += len;
        }
        if p1.value == p0.value {
            return Ok(out);
        }
        if p0.value >= len || p0.value < 0 {
            return Err(format!("array index out of bounds: index {}, length {len}", p0.value));
        }
        if p1.value > len || p1.value < 0 {
            return Err(format!("array index out of bounds: index {}, length {len}", p1.value - 1));
        }
        if p0.value > p1.value {
            return Err(format!("starting index {} is greater than ending index {}", p0.value, p1.value));
        }
        let mut step = 1;
        if p2.known {
            if p2.value <= 0 {
                return Err("step must be > 0".into());
            }
            step = p2.value as usize;
        }
        let taken = items.into_iter().skip(p0.value as usize).take((p1.value - p0.value) as usize);
        out.extend(taken.step_by(step));
    }
    Ok(out)
}

/// Go templates' comparison of two basic values.
fn compare(l: &Value, r: &Value, operator: &str) -> Result<bool, String> {
    use std::cmp::Ordering;
    let ordering = match (l, r) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => match operator {
            "==" => return Ok(a == b),
            "!=" => return Ok(a != b),
            _ => return Err("invalid type for comparison".into()),
        },
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => {
            return Err("invalid type for comparison".into());
        }
        _ => return Err("incompatible types for comparison".into()),
    };
    Ok(match operator {
        "==" => ordering == Some(Ordering::Equal),
        "!=" => ordering != Some(Ordering::Equal),
        "<" => ordering == Some(Ordering::Less),
        "<=" => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        ">" => ordering == Some(Ordering::Greater),
        ">=" => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        other => return Err(format!("unrecognized filter operator {other}")),
    })
}

/// `get.RelaxedJSONPathExpression`: accepts `x.y`, `.x.y`, `{x.y}` and `{.x.y}`.
pub fn relaxed(expression: &str) -> Result<String, String> {
    if expression.is_empty() {
        return Ok(String::new());
    }
    let bad = || {
        "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'"
            .to_string()
    };
    let _ = quote;
    let inner = match (expression.strip_prefix('{'), expression.strip_suffix('}')) {
        (Some(_), Some(_)) => expression.get(1..expression.len() - 1).unwrap_or(""),
        (None, None) => expression,
        _ => return Err(bad()),
    };
    let field = inner.strip_prefix('.').unwrap_or(inner);
    if field.is_empty() || field.contains(['{', '}']) {
        return Err(bad());
    }
    Ok(format!("{{.{field}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::object;

    fn data() -> Value {
        object([
            (
                "items",
                Value::Array(vec![
                    object([
                        ("name", "a".into()),
                        ("n", Value::Int(1)),
                        (
                            "conditions",
                            Value::Array(vec![object([("type", "Ready".into()), ("status", "True".into())])]),
                        ),
                    ]),
                    object([("name", "b".into()), ("n", Value::Int(3))]),
                ]),
            ),
            ("labels", object([("app", "web".into()), ("a.b/c", "d<".into())])),
            ("none", Value::Null),
        ])
    }

    #[test]
    fn templates() {
        for (template, want) in [
            ("{.items[0].name}", "a"),
            ("{.items[*].name}", "a b"),
            ("{.items[-1:].name}", "b"),
            ("{.items[-1].name}", "b"),
            ("{range .items[*]}{.name}{\"\\t\"}{.n}{\"\\n\"}{end}x", "a\t1\nb\t3\nx"),
            ("{range .nope[*]}{.name}{end}after", "after"),
            ("{.items[?(@.n>1)].name}", "b"),
            ("{.items[?(@.conditions)].name}", "a"),
            ("{.items[0].conditions[?(@.type==\"Ready\")].status}", "True"),
            ("{.labels}", "{\"a.b/c\":\"d\\u003c\",\"app\":\"web\"}"),
            ("{.labels.a\\.b/c}", "d<"),
            ("{.labels['app']}", "web"),
            ("{.items[0,1].n} text", "1 3 text"),
            ("{..name}", "a b"),
            ("{.nope}", ""),
            ("{.none}", "null"),
            ("{.items[0]['name','n']}", "a 1"),
        ] {
            let got = JsonPath::parse_lenient(template).and_then(|p| p.execute(&data()));
            assert_eq!(got.as_deref(), Ok(want), "{template}");
        }
    }

    #[test]
    fn errors() {
        for (template, want) in [
            ("{.spec.", "unclosed action"),
            ("{.items[9].name}", "array index out of bounds: index 9, length 2"),
            ("{.labels[0]}", "map[string]interface {} is not array or slice"),
            ("{end}", "not in range, nothing to end"),
            ("{foo}", "unrecognized identifier foo"),
            ("{.items[a]}", "invalid array index a"),
            ("{.items[?(@.n==\"x\")]}", "incompatible types for comparison"),
            ("{%}", "unrecognized character in action: U+0025 '%'"),
            ("{.items[0", "unterminated array"),
            ("{\"x}", "unterminated quoted string"),
        ] {
            let got = JsonPath::parse_lenient(template).and_then(|p| p.execute(&data()));
            assert_eq!(got, Err(want.to_string()), "{template}");
        }
        let strict = JsonPath::parse("{.nope}").and_then(|p| p.execute(&data()));
        assert_eq!(strict, Err("nope is not found".into()));
    }

    #[test]
    fn relaxed_forms() {
        for e in ["x.y", ".x.y", "{x.y}", "{.x.y}"] {
            assert_eq!(relaxed(e).as_deref(), Ok("{.x.y}"));
        }
        assert!(relaxed("{x.y").is_err());
    }
}
