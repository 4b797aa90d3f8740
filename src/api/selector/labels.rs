//! Label selectors, as apimachinery's pkg/labels.
use crate::SortSmall;
use crate::field::{self, Path};
use crate::meta_v1;
use crate::names;
use crate::value::{List, Map, Ptr, Str};
use std::fmt;

/// How a requirement compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Operator {
    DoesNotExist,
    Equals,
    DoubleEquals,
    In,
    NotEquals,
    NotIn,
    Exists,
    GreaterThan,
    LessThan,
}

/// One requirement on one label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The label's key.
    pub key: Str,
    /// How its value is compared.
    pub operator: Operator,
    /// The values compared with.
    pub values: Vec<Str>,
}

/// A label selector: requirements that must all hold, or one that selects nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl Requirement {
    /// A requirement, checked.
    ///
    /// # Errors
    /// Go's text, with paths `key` and `values`.
    pub fn new(key: impl Into<Str>, operator: Operator, values: Vec<Str>) -> Result<Requirement, String> {
        let key = key.into();
        let mut errors = field::ErrorList::new();
        let wrong = names::qualified_name(&key);
        if !wrong.is_empty() {
            errors.push(field::invalid(&Path::new("key"), &key, wrong.join("; ")));
        }
        let path = Path::new("values");
        let shown = || List::from(values.clone());
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                errors.push(field::invalid(&path, shown(), "for 'in', 'notin' operators, values set can't be empty"))
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                errors.push(field::invalid(&path, shown(), "exact-match compatibility requires one single value"))
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                errors.push(field::invalid(&path, shown(), "values set must be empty for exists and does not exist"))
            }
            Operator::GreaterThan | Operator::LessThan => {
                if values.len() != 1 {
                    let why = "for 'Gt', 'Lt' operators, exactly one value is required";
                    errors.push(field::invalid(&path, shown(), why));
                }
                for (i, v) in values.iter().enumerate().filter(|(_, v)| v.parse::<i64>().is_err()) {
                    let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                    errors.push(field::invalid(&path.index(i), v, why));
                }
            }
            _ => {}
        }
        for (i, v) in values.iter().enumerate() {
            let wrong = names::label_value(v);
            if !wrong.is_empty() {
                errors.push(field::invalid(&path.index(i).key(&key), v, wrong.join("; ")));
            }
        }
        if errors.is_empty() { Ok(Requirement { key, operator, values }) } else { Err(errors.to_string()) }
    }
    /// Whether labels meet it.
    pub fn matches(&self, labels: &Map<Str>) -> bool {
        let value = labels.get(&self.key);
        match (self.operator, value) {
            (Operator::Exists, v) => v.is_some(),
            (Operator::DoesNotExist, v) => v.is_none(),
            (Operator::In | Operator::Equals | Operator::DoubleEquals, v) => v.is_some_and(|v| self.values.contains(v)),
            (Operator::NotIn | Operator::NotEquals, v) => v.is_none_or(|v| !self.values.contains(v)),
            (op, Some(v)) => match (v.parse::<i64>(), self.values.first().map(|v| v.parse::<i64>())) {
                (Ok(a), Some(Ok(b))) => {
                    if op == Operator::GreaterThan {
                        a > b
                    } else {
                        a < b
                    }
                }
                _ => false,
            },
            (_, None) => false,
        }
    }
}
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values: Vec<&str> = self.values.iter().map(Str::as_str).collect();
        values.sort_small();
        let (key, values) = (&self.key, values.join(","));
        match self.operator {
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::Exists => write!(f, "{key}"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

impl LabelSelector {
    /// Selects everything.
    pub const fn everything() -> Self {
        LabelSelector { requirements: Vec::new(), nothing: false }
    }
    /// Selects nothing.
    pub const fn nothing() -> Self {
        LabelSelector { requirements: Vec::new(), nothing: true }
    }
    /// Requirements that must all hold; sorted by key.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_small_by(|a, b| a.key.cmp(&b.key));
        LabelSelector { requirements, nothing: false }
    }
    /// Each label must have its value (`SelectorFromSet`).
    pub fn from_set(labels: &Map<Str>) -> Self {
        Self::new(
            labels
                .iter()
                .map(|(k, v)| Requirement { key: k.clone(), operator: Operator::Equals, values: vec![v.clone()] })
                .collect(),
        )
    }
    /// From the API's LabelSelector; nil selects nothing, an empty one everything (`LabelSelectorAsSelector`).
    ///
    /// # Errors
    /// Go's text.
    pub fn from_api(selector: Option<&meta_v1::LabelSelector>) -> Result<Self, String> {
        let Some(s) = selector else { return Ok(Self::nothing()) };
        let mut requirements = Vec::new();
        for (k, v) in &s.match_labels {
            requirements.push(Requirement::new(k, Operator::Equals, vec![v.clone()])?);
        }
        for e in &s.match_expressions {
            let op = match e.operator.as_str() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                op => return Err(format!("{} is not a valid label selector operator", crate::go::quote(op))),
            };
            requirements.push(Requirement::new(&e.key, op, e.values.to_vec())?);
        }
        Ok(Self::new(requirements))
    }
    /// [`LabelSelector::from_api`] of a pointer.
    ///
    /// # Errors
    /// Go's text.
    pub fn from_ptr(selector: &Ptr<meta_v1::LabelSelector>) -> Result<Self, String> {
        Self::from_api(selector.get())
    }
    /// Reads `app=web,tier in (a,b),!x`.
    ///
    /// # Errors
    /// Go's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        Parser::new(text).parse().map(Self::new)
    }
    /// The requirements.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }
    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }
    /// Whether it selects nothing, whatever the labels.
    pub fn selects_nothing(&self) -> bool {
        self.nothing
    }
    /// Whether labels match.
    pub fn matches(&self, labels: &Map<Str>) -> bool {
        !self.nothing && self.requirements.iter().all(|r| r.matches(labels))
    }
    /// The value that a label must have (`RequiresExactMatch`).
    pub fn requires(&self, key: &str) -> Option<&Str> {
        let r = self.requirements.iter().find(|r| r.key == *key)?;
        match (r.operator, r.values.as_slice()) {
            (Operator::Equals | Operator::DoubleEquals | Operator::In, [v]) => Some(v),
            _ => None,
        }
    }
}
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, r) in self.requirements.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{r}")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Error,
    End,
    Close,
    Comma,
    Not,
    DoubleEquals,
    Equals,
    Greater,
    Identifier,
    In,
    Less,
    NotEquals,
    NotIn,
    Open,
}

fn keyword(s: &str) -> Option<Token> {
    Some(match s {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "==" => Token::DoubleEquals,
        "=" => Token::Equals,
        ">" => Token::Greater,
        "in" => Token::In,
        "<" => Token::Less,
        "!=" => Token::NotEquals,
        "notin" => Token::NotIn,
        "(" => Token::Open,
        _ => return None,
    })
}

fn tokens(text: &str) -> Vec<(Token, String)> {
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let special = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(space);
        let Some(first) = rest.chars().next().filter(|c| *c != '\0') else {
            out.push((Token::End, String::new()));
            return out;
        };
        if special(first) {
            let end = rest.find(|c| !special(c)).unwrap_or(rest.len());
            let run = rest.get(..end).unwrap_or("");
            // The longest symbol that the run starts with.
            let len = (1..=run.len()).take_while(|n| run.get(..*n).and_then(keyword).is_some()).last();
            match len {
                Some(n) => {
                    let word = run.get(..n).unwrap_or("");
                    out.push((keyword(word).unwrap_or(Token::Error), word.to_string()));
                    rest = rest.get(n..).unwrap_or("");
                }
                None => {
                    out.push((Token::Error, format!("error expected: keyword found '{run}'")));
                    rest = rest.get(end..).unwrap_or("");
                }
            }
        } else {
            let end = rest.find(|c| special(c) || space(c) || c == '\0').unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or("");
            out.push((keyword(word).unwrap_or(Token::Identifier), word.to_string()));
            rest = rest.get(end..).unwrap_or("");
        }
    }
}

struct Parser {
    tokens: Vec<(Token, String)>,
    at: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser {
    fn new(text: &str) -> Self {
        Parser { tokens: tokens(text), at: 0 }
    }
    /// The next token; `in` and `notin` are identifiers where a value may stand.
    fn look(&self, values: bool) -> (Token, &str) {
        let (t, s) = self.tokens.get(self.at).map_or((Token::End, ""), |(t, s)| (*t, s.as_str()));
        let t = if values && matches!(t, Token::In | Token::NotIn) { Token::Identifier } else { t };
        (t, s)
    }
    fn take(&mut self, values: bool) -> (Token, String) {
        let (t, s) = self.look(values);
        let s = s.to_string();
        self.at += 1;
        (t, s)
    }
    fn parse(&mut self) -> Parsed<Vec<Requirement>> {
        let mut out = Vec::new();
        loop {
            match self.look(true) {
                (Token::Identifier | Token::Not, _) => {
                    out.push(self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?);
                    match self.take(true) {
                        (Token::End, _) => return Ok(out),
                        (Token::Comma, _) => {
                            let (t, s) = self.look(true);
                            if !matches!(t, Token::Identifier | Token::Not) {
                                return Err(format!("found '{s}', expected: identifier after ','"));
                            }
                        }
                        (_, s) => return Err(format!("found '{s}', expected: ',' or 'end of string'")),
                    }
                }
                (Token::End, _) => return Ok(out),
                (_, s) => return Err(format!("found '{s}', expected: !, identifier, or 'end of string'")),
            }
        }
    }
    fn requirement(&mut self) -> Parsed<Requirement> {
        let (mut t, mut key) = self.take(true);
        let not = t == Token::Not;
        if not {
            (t, key) = self.take(true);
        }
        if t != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let wrong = names::qualified_name(&key);
        if !wrong.is_empty() {
            return Err(field::invalid(&Path::none(), &key, wrong.join("; ")).to_string());
        }
        if not {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.look(true).0, Token::End | Token::Comma) {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let (t, s) = self.take(false);
        let op = match t {
            Token::In => Operator::In,
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::Greater => Operator::GreaterThan,
            Token::Less => Operator::LessThan,
            Token::NotIn => Operator::NotIn,
            Token::NotEquals => Operator::NotEquals,
            _ => return Err(format!("found '{s}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let mut values = match op {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        values.sort_small();
        values.dedup();
        Requirement::new(key, op, values.into_iter().map(Str::from).collect())
    }
    fn value(&mut self) -> Parsed<String> {
        if matches!(self.look(true).0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.take(true) {
            (Token::Identifier, s) => Ok(s),
            (_, s) => Err(format!("found '{s}', expected: identifier")),
        }
    }
    fn values(&mut self) -> Parsed<Vec<String>> {
        let (t, s) = self.take(true);
        if t != Token::Open {
            return Err(format!("found '{s}' expected: '('"));
        }
        let (t, s) = self.look(true);
        let s = s.to_string();
        match t {
            Token::Identifier | Token::Comma => {
                let list = self.identifiers()?;
                if self.take(true).0 != Token::Close {
                    return Err(format!("found '{s}', expected: ')'"));
                }
                Ok(list)
            }
            Token::Close => {
                self.take(true);
                Ok(vec![String::new()])
            }
            _ => Err(format!("found '{s}', expected: ',', ')' or identifier")),
        }
    }
    fn identifiers(&mut self) -> Parsed<Vec<String>> {
        let mut out: Vec<String> = Vec::new();
        loop {
            match self.take(true) {
                (Token::Identifier, s) => {
                    out.push(s);
                    match self.look(true) {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(out),
                        (_, s) => return Err(format!("found '{s}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    if out.is_empty() {
                        out.push(String::new());
                    }
                    match self.look(true).0 {
                        Token::Close => {
                            out.push(String::new());
                            return Ok(out);
                        }
                        Token::Comma => out.push(String::new()),
                        _ => {}
                    }
                }
                (_, s) => return Err(format!("found '{s}', expected: ',', or identifier")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(s: &str) -> Result<String, String> {
        LabelSelector::parse(s).map(|s| s.to_string())
    }

    #[test]
    fn parses() {
        for (text, want) in [
            ("", ""),
            ("a=b", "a=b"),
            ("x in (b,a), !y,z", "x in (a,b),!y,z"),
            ("a!=b,a==c", "a!=b,a==c"),
            ("x>5", "x>5"),
            ("a notin ()", "a notin ()"),
            ("a=", "a="),
            ("in in (in)", "in in (in)"),
        ] {
            assert_eq!(printed(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn refuses() {
        for (text, want) in [
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("a=b,", "found '', expected: identifier after ','"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ] {
            assert_eq!(printed(text), Err(want.to_string()), "{text}");
        }
        assert!(printed("a=-b").is_err_and(|e| {
            e.starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be")
        }));
        assert!(printed("-a=b").is_err_and(|e| {
            e.starts_with("unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist")
        }));
    }

    #[test]
    fn matches() {
        let labels: Map<Str> = Map::from([("app", Str::from("web")), ("n", Str::from("7"))]);
        for (text, want) in [
            ("app=web", true),
            ("app!=web", false),
            ("app in (a,web),n>6", true),
            ("n<7", false),
            ("!x", true),
            ("x", false),
            ("x notin (a)", true),
        ] {
            assert_eq!(LabelSelector::parse(text).map(|s| s.matches(&labels)), Ok(want), "{text}");
        }
        assert!(LabelSelector::everything().matches(&labels) && !LabelSelector::nothing().matches(&labels));
    }
}
