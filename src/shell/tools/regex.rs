//! POSIX regular expressions, basic and extended, as grep and sed take them. The longest of the leftmost matches is not
//! looked for among alternatives: the first that fits is taken, as Perl does.

/// Steps that one match may take, so that a pattern can't hold the world up.
const STEPS: u32 = 200_000;
/// Groups that can be referred to.
const GROUPS: usize = 10;

#[derive(Clone, Debug)]
enum Node {
    Char(char),
    Any,
    Set(bool, Vec<(char, char)>),
    Begin,
    End,
    Word(bool),
    Group(Option<usize>, Vec<Vec<Node>>),
    Repeat(Box<Node>, usize, usize),
    Back(usize),
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Regex {
    alternatives: Vec<Vec<Node>>,
    ignore_case: bool,
}

/// Where a match lies, in characters: the whole, then the groups.
pub type Captures = [Option<(usize, usize)>; GROUPS];

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
    extended: bool,
    groups: usize,
}

impl Regex {
    /// Reads an expression; the error is grep's text.
    pub fn new(text: &str, extended: bool, ignore_case: bool) -> Result<Self, String> {
        let chars: Vec<char> = text.chars().collect();
        let mut parser = Parser { chars: &chars, at: 0, extended, groups: 0 };
        let alternatives = parser.alternatives(0)?;
        if parser.at < chars.len() {
            return Err("Unmatched ) or \\)".to_string());
        }
        Ok(Self { alternatives, ignore_case })
    }

    /// The first match at or after character `from`.
    pub fn find(&self, text: &[char], from: usize) -> Option<Captures> {
        let mut matcher = Matcher { text, ignore_case: self.ignore_case, steps: STEPS };
        (from..=text.len()).find_map(|start| {
            let mut captures = [None; GROUPS];
            let mut end = None;
            for alternative in &self.alternatives {
                let mut found = captures;
                let mut at_end = None;
                matcher.run(alternative, start, &mut found, &mut |at, _| {
                    at_end = Some(at);
                    true
                });
                if let Some(at) = at_end
                    && end.is_none_or(|e| at > e)
                {
                    end = Some(at);
                    captures = found;
                }
            }
            let slot = captures.first_mut()?;
            *slot = Some((start, end?));
            Some(captures)
        })
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        self.find(&chars, 0).is_some()
    }
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }
    /// Whether an operator stands here: bare in extended expressions, with a backslash in basic ones.
    fn operator(&self, c: char) -> Option<usize> {
        if self.extended {
            (self.peek(0) == Some(c)).then_some(1)
        } else {
            (self.peek(0) == Some('\\') && self.peek(1) == Some(c)).then_some(2)
        }
    }

    fn alternatives(&mut self, depth: u32) -> Result<Vec<Vec<Node>>, String> {
        if depth > 50 {
            return Err("Regular expression too big".to_string());
        }
        let mut all = vec![Vec::new()];
        loop {
            if self.at >= self.chars.len() || (self.operator(')').is_some() && (depth > 0 || !self.extended)) {
                return Ok(all);
            }
            if let Some(width) = self.operator('|') {
                self.at += width;
                all.push(Vec::new());
                continue;
            }
            let first = all.last().is_none_or(Vec::is_empty);
            let node = self.atom(first, depth)?;
            let node = self.repeated(node)?;
            if let Some(last) = all.last_mut() {
                last.push(node);
            }
        }
    }

    fn atom(&mut self, first: bool, depth: u32) -> Result<Node, String> {
        if let Some(width) = self.operator('(') {
            self.at += width;
            self.groups += 1;
            let number = self.groups;
            let inner = self.alternatives(depth + 1)?;
            let Some(width) = self.operator(')') else { return Err("Unmatched ( or \\(".to_string()) };
            self.at += width;
            return Ok(Node::Group((number < GROUPS).then_some(number), inner));
        }
        let c = self.peek(0).unwrap_or_default();
        self.at += 1;
        Ok(match c {
            '.' => Node::Any,
            '^' if self.extended || first => Node::Begin,
            '$' if self.extended
                || self.at >= self.chars.len()
                || self.operator(')').is_some()
                || self.operator('|').is_some() =>
            {
                Node::End
            }
            '[' => self.set()?,
            '*' if first => Node::Char('*'),
            '\\' => {
                let escaped = self.peek(0).ok_or_else(|| "Trailing backslash".to_string())?;
                self.at += 1;
                match escaped {
                    'n' => Node::Char('\n'),
                    't' => Node::Char('\t'),
                    'w' => Node::Set(false, vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]),
                    'W' => Node::Set(true, vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]),
                    's' => Node::Set(false, vec![(' ', ' '), ('\t', '\r')]),
                    'S' => Node::Set(true, vec![(' ', ' '), ('\t', '\r')]),
                    'b' => Node::Word(true),
                    'B' => Node::Word(false),
                    '1'..='9' => Node::Back(escaped.to_digit(10).unwrap_or(0) as usize),
                    other => Node::Char(other),
                }
            }
            other => Node::Char(other),
        })
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node, String> {
        loop {
            let (least, most) = if self.peek(0) == Some('*') {
                self.at += 1;
                (0, usize::MAX)
            } else if let Some(width) = self.operator('+') {
                self.at += width;
                (1, usize::MAX)
            } else if let Some(width) = self.operator('?') {
                self.at += width;
                (0, 1)
            } else if let Some(width) =
                self.operator('{').filter(|w| self.peek(*w).is_some_and(|c| c.is_ascii_digit() || c == ','))
            {
                self.at += width;
                let mut text = String::new();
                while let Some(c) = self.peek(0).filter(|c| c.is_ascii_digit() || *c == ',') {
                    text.push(c);
                    self.at += 1;
                }
                let Some(width) = self.operator('}') else { return Err("Unmatched { or \\{".to_string()) };
                self.at += width;
                let bound = |t: &str, none| {
                    if t.is_empty() { Some(none) } else { t.parse::<usize>().ok().filter(|n| *n <= 1_000) }
                };
                let (least, most) = match text.split_once(',') {
                    Some((least, most)) => (bound(least, 0), bound(most, usize::MAX)),
                    None => (bound(&text, 0), bound(&text, 0)),
                };
                match (least, most) {
                    (Some(least), Some(most)) if least <= most => (least, most),
                    _ => return Err("Invalid content of \\{\\}".to_string()),
                }
            } else {
                return Ok(node);
            };
            node = Node::Repeat(Box::new(node), least, most);
        }
    }

    fn set(&mut self) -> Result<Node, String> {
        let unmatched = || "Unmatched [, [^, [:, [., or [=".to_string();
        let mut ranges = Vec::new();
        let negated = self.peek(0) == Some('^');
        self.at += usize::from(negated);
        let start = self.at;
        loop {
            let c = self.peek(0).ok_or_else(unmatched)?;
            self.at += 1;
            if c == ']' && self.at > start + 1 {
                return Ok(Node::Set(negated, ranges));
            }
            if c == '[' && self.peek(0) == Some(':') {
                let rest: String =
                    self.chars.get(self.at + 1..).unwrap_or_default().iter().take_while(|c| **c != ':').collect();
                self.at += rest.chars().count() + 3;
                ranges.extend_from_slice(match rest.as_str() {
                    "alpha" => &[('a', 'z'), ('A', 'Z')],
                    "digit" => &[('0', '9')],
                    "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
                    "lower" => &[('a', 'z')],
                    "upper" => &[('A', 'Z')],
                    "space" => &[(' ', ' '), ('\t', '\r')],
                    "blank" => &[(' ', ' '), ('\t', '\t')],
                    "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
                    "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
                    _ => return Err("Invalid character class name".to_string()),
                });
                continue;
            }
            if self.peek(0) == Some('-') && self.peek(1).is_some_and(|to| to != ']') {
                let to = self.peek(1).unwrap_or(c);
                if to < c {
                    return Err("Invalid range end".to_string());
                }
                ranges.push((c, to));
                self.at += 2;
            } else {
                ranges.push((c, c));
            }
        }
    }
}

struct Matcher<'a> {
    text: &'a [char],
    ignore_case: bool,
    steps: u32,
}

type Then<'a> = &'a mut dyn FnMut(usize, &mut Captures) -> bool;

impl Matcher<'_> {
    fn same(&self, a: char, b: char) -> bool {
        a == b || (self.ignore_case && a.to_lowercase().eq(b.to_lowercase()))
    }

    fn within(&self, ranges: &[(char, char)], c: char) -> bool {
        let hit = |c: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&c));
        hit(c) || (self.ignore_case && (c.to_lowercase().any(hit) || c.to_uppercase().any(hit)))
    }

    /// Matches `nodes` from `at`; `then` decides at each end whether that will do.
    fn run(&mut self, nodes: &[Node], at: usize, captures: &mut Captures, then: Then) -> bool {
        if self.steps == 0 {
            return false;
        }
        self.steps -= 1;
        let Some((node, rest)) = nodes.split_first() else { return then(at, captures) };
        let here = self.text.get(at).copied();
        let word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric() || *c == '_');
        match node {
            Node::Char(c) => here.is_some_and(|h| self.same(*c, h)) && self.run(rest, at + 1, captures, then),
            Node::Any => here.is_some() && self.run(rest, at + 1, captures, then),
            Node::Set(negated, ranges) => {
                here.is_some_and(|h| self.within(ranges, h) != *negated) && self.run(rest, at + 1, captures, then)
            }
            Node::Begin => at == 0 && self.run(rest, at, captures, then),
            Node::End => at == self.text.len() && self.run(rest, at, captures, then),
            Node::Word(edge) => {
                let before = at.checked_sub(1).and_then(|i| self.text.get(i));
                (word(before) != word(self.text.get(at))) == *edge && self.run(rest, at, captures, then)
            }
            Node::Back(n) => {
                let Some((from, to)) = captures.get(*n).copied().flatten() else { return false };
                let length = to.saturating_sub(from);
                let equal = self.text.get(from..to) == self.text.get(at..at + length);
                equal && self.run(rest, at + length, captures, then)
            }
            Node::Group(number, alternatives) => {
                for alternative in alternatives {
                    let kept = *captures;
                    // The rest is matched by a matcher of its own, which shares what steps are left.
                    let (text, ignore_case) = (self.text, self.ignore_case);
                    let left = std::cell::Cell::new(self.steps);
                    let matched = self.run(alternative, at, captures, &mut |end, captures| {
                        let before = *captures;
                        if let Some(slot) = number.and_then(|n| captures.get_mut(n)) {
                            *slot = Some((at, end));
                        }
                        let mut onward = Matcher { text, ignore_case, steps: left.get() };
                        let ok = onward.run(rest, end, captures, then);
                        left.set(onward.steps);
                        if !ok {
                            *captures = before;
                        }
                        ok
                    });
                    self.steps = self.steps.min(left.get());
                    if matched {
                        return true;
                    }
                    *captures = kept;
                }
                false
            }
            Node::Repeat(inner, least, most) => self.repeat(inner, (*least, *most), rest, at, captures, then),
        }
    }

    /// As often as it goes, then less and less.
    fn repeat(
        &mut self,
        inner: &Node,
        bounds: (usize, usize),
        rest: &[Node],
        at: usize,
        captures: &mut Captures,
        then: Then,
    ) -> bool {
        let one = std::slice::from_ref(inner);
        let mut ends = vec![(at, *captures)];
        while ends.len() <= bounds.1 {
            let Some((from, mut found)) = ends.last().copied() else { break };
            let mut end = None;
            self.run(one, from, &mut found, &mut |to, _| {
                end = Some(to);
                true
            });
            match end {
                Some(to) if to > from || ends.len() <= bounds.0 => ends.push((to, found)),
                _ => break,
            }
            if ends.len() > self.text.len() + bounds.0 + 1 {
                break;
            }
        }
        while ends.len() > bounds.0 {
            let Some((from, mut found)) = ends.pop() else { break };
            if self.run(rest, from, &mut found, then) {
                *captures = found;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, extended: bool, text: &str) -> Option<String> {
        let chars: Vec<char> = text.chars().collect();
        let captures = Regex::new(pattern, extended, false).unwrap().find(&chars, 0)?;
        let (from, to) = captures[0]?;
        Some(chars[from..to].iter().collect())
    }

    #[test]
    fn expressions_match() {
        let rows = [
            ("a.c", false, "xabcx", Some("abc")),
            ("a*", false, "aaab", Some("aaa")),
            ("a+", false, "aa+", Some("a+")),
            ("a+", true, "baa", Some("aa")),
            (r"\(ab\)*c", false, "xababc", Some("ababc")),
            ("(ab|cd)+$", true, "abcd", Some("abcd")),
            ("^b", false, "ab", None),
            ("[^0-9]+", true, "12ab3", Some("ab")),
            ("[[:digit:]]{2,3}", true, "a1234", Some("123")),
            (r"\bweb\b", true, "my web-1", Some("web")),
            (r"(a)\1", true, "baa", Some("aa")),
            ("x|yz?", true, "yz", Some("yz")),
            ("a{2}", true, "aaa", Some("aa")),
            ("[]a]+", true, "x]a", Some("]a")),
            ("node-[123]", false, "on node-2!", Some("node-2")),
            ("(a*)*b", true, "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
        ];
        for (pattern, extended, text, expected) in rows {
            assert_eq!(found(pattern, extended, text).as_deref(), expected, "{pattern} {text}");
        }
        assert!(Regex::new("NODE", false, true).unwrap().is_match("a node"));
        for bad in ["(", "[a", "a{2", "\\"] {
            assert!(Regex::new(bad, true, false).is_err(), "{bad}");
        }
    }
}
