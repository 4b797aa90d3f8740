//! Regular expressions as Go's `regexp` reads them (RE2's syntax), for expressions and schemas. Leftmost-first.

mod parse;

use super::Fail;

/// Bound of the nodes that an expression may have.
const NODES: usize = 10_000;

/// Ranges of characters, and whether all others are meant.
#[derive(Clone, Debug)]
struct Class {
    ranges: Vec<(char, char)>,
    negated: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Char(char),
    /// Any character; also a line's end.
    Any(bool),
    Class(Class),
    Begin(bool),
    End(bool),
    Word(bool),
    Group(Vec<Vec<Node>>),
    Repeat(Box<Node>, u32, Option<u32>, bool),
}

/// What is run: instructions of a machine that follows all ways at once.
#[derive(Clone, Debug)]
enum Step {
    Char(char),
    Any(bool),
    Class(Class),
    Begin(bool),
    End(bool),
    Word(bool),
    /// First choice, second choice.
    Split(usize, usize),
    Jump(usize),
    Match,
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Regex {
    steps: Vec<Step>,
    fold: bool,
}

impl Regex {
    /// Reads an expression.
    ///
    /// # Errors
    /// Go's, such as "error parsing regexp: missing closing ): `(`".
    pub fn new(text: &str) -> Result<Regex, String> {
        let (alternatives, fold) = parse::parse(text)?;
        let mut steps = Vec::new();
        emit_group(&alternatives, &mut steps).map_err(|()| too_large(text))?;
        steps.push(Step::Match);
        Ok(Regex { steps, fold })
    }

    /// Whether it is somewhere in the text.
    pub fn matches(&self, text: &str) -> bool {
        let chars: Vec<char> = text.chars().collect();
        matches!(self.find(&chars, 0, &mut |_| true), Ok(Some(_)))
    }

    /// The leftmost match at or after a character, of those the first way. `pay` is told of the work and may end it.
    ///
    /// # Errors
    /// `pay` ended it.
    pub fn find(
        &self,
        text: &[char],
        from: usize,
        pay: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<(usize, usize)>, Fail> {
        // The ways that are followed, by preference: step and where the match began.
        let mut ways: Vec<(usize, usize)> = Vec::new();
        let mut found = None;
        let mut at = from;
        loop {
            let mut seen = vec![false; self.steps.len()];
            let mut now: Vec<(usize, usize)> = Vec::new();
            for (step, start) in ways {
                self.follow(step, start, text, at, &mut seen, &mut now);
            }
            if found.is_none() {
                self.follow(0, at, text, at, &mut seen, &mut now);
            }
            if !pay(now.len() / 20 + usize::from(at.is_multiple_of(16))) {
                return Err(Fail::Cost);
            }
            let c = text.get(at).copied();
            ways = Vec::new();
            for (step, start) in now {
                let Some(instruction) = self.steps.get(step) else { continue };
                if matches!(instruction, Step::Match) {
                    found = Some((start, at));
                    // Ways that come later are of less worth.
                    break;
                }
                if c.is_some_and(|c| self.takes(instruction, c)) {
                    ways.push((step + 1, start));
                }
            }
            if at >= text.len() || (ways.is_empty() && found.is_some()) {
                return Ok(found);
            }
            at += 1;
        }
    }

    fn takes(&self, step: &Step, c: char) -> bool {
        let other =
            |c: char| if c.is_lowercase() { c.to_uppercase().next() } else { c.to_lowercase().next() }.unwrap_or(c);
        match step {
            Step::Char(wanted) => *wanted == c || (self.fold && *wanted == other(c)),
            Step::Any(all) => *all || c != '\n',
            Step::Class(class) => class.has(c) || (self.fold && !class.negated && class.has(other(c))),
            _ => false,
        }
    }

    fn follow(
        &self,
        step: usize,
        start: usize,
        text: &[char],
        at: usize,
        seen: &mut [bool],
        now: &mut Vec<(usize, usize)>,
    ) {
        let mut todo = vec![step];
        while let Some(step) = todo.pop() {
            match seen.get_mut(step) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            let before = at.checked_sub(1).and_then(|i| text.get(i)).copied();
            let after = text.get(at).copied();
            let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            match self.steps.get(step) {
                Some(Step::Jump(to)) => todo.push(*to),
                Some(Step::Split(first, second)) => {
                    todo.push(*second);
                    todo.push(*first);
                }
                Some(Step::Begin(lines)) if before.is_none() || (*lines && before == Some('\n')) => todo.push(step + 1),
                Some(Step::End(lines)) if after.is_none() || (*lines && after == Some('\n')) => todo.push(step + 1),
                Some(Step::Word(boundary)) if (word(before) != word(after)) == *boundary => todo.push(step + 1),
                Some(Step::Begin(_) | Step::End(_) | Step::Word(_)) => {}
                Some(_) => now.push((step, start)),
                None => {}
            }
        }
    }
}

impl Class {
    fn has(&self, c: char) -> bool {
        self.ranges.iter().any(|(a, b)| (*a..=*b).contains(&c)) != self.negated
    }
}

fn too_large(text: &str) -> String {
    format!("error parsing regexp: expression too large: `{text}`")
}

fn emit_group(alternatives: &[Vec<Node>], steps: &mut Vec<Step>) -> Result<(), ()> {
    let mut ends = Vec::new();
    for (i, nodes) in alternatives.iter().enumerate() {
        let split = steps.len();
        let last = i + 1 == alternatives.len();
        if !last {
            steps.push(Step::Split(split + 1, 0));
        }
        for node in nodes {
            emit(node, steps)?;
        }
        if !last {
            ends.push(steps.len());
            steps.push(Step::Jump(0));
            let next = steps.len();
            if let Some(step) = steps.get_mut(split) {
                *step = Step::Split(split + 1, next);
            }
        }
    }
    let after = steps.len();
    for end in ends {
        if let Some(step) = steps.get_mut(end) {
            *step = Step::Jump(after);
        }
    }
    Ok(())
}

fn emit(node: &Node, steps: &mut Vec<Step>) -> Result<(), ()> {
    if steps.len() > NODES {
        return Err(());
    }
    match node {
        Node::Char(c) => steps.push(Step::Char(*c)),
        Node::Any(all) => steps.push(Step::Any(*all)),
        Node::Class(class) => steps.push(Step::Class(class.clone())),
        Node::Begin(lines) => steps.push(Step::Begin(*lines)),
        Node::End(lines) => steps.push(Step::End(*lines)),
        Node::Word(boundary) => steps.push(Step::Word(*boundary)),
        Node::Group(alternatives) => emit_group(alternatives, steps)?,
        Node::Repeat(inner, least, most, greedy) => {
            for _ in 0..*least {
                emit(inner, steps)?;
            }
            let split =
                |at: usize, out: usize| if *greedy { Step::Split(at + 1, out) } else { Step::Split(out, at + 1) };
            match most {
                None => {
                    let at = steps.len();
                    steps.push(Step::Jump(0));
                    emit(inner, steps)?;
                    steps.push(Step::Jump(at));
                    let out = steps.len();
                    if let Some(step) = steps.get_mut(at) {
                        *step = split(at, out);
                    }
                }
                Some(most) => {
                    let mut splits = Vec::new();
                    for _ in *least..*most {
                        splits.push(steps.len());
                        steps.push(Step::Jump(0));
                        emit(inner, steps)?;
                    }
                    let out = steps.len();
                    for at in splits {
                        if let Some(step) = steps.get_mut(at) {
                            *step = split(at, out);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
