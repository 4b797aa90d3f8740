//! Patterns of the shell: `*`, `?`, `[...]` (POSIX.1-2024, Shell Command Language, 2.14).

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(char),
    One,
    Any,
    Set(bool, Vec<(char, char)>),
}

/// A pattern made of characters, of which the quoted ones stand for themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern(Vec<Piece>);

impl Pattern {
    /// Reads a pattern from characters with their quotedness.
    pub fn new(chars: impl IntoIterator<Item = (char, bool)>) -> Self {
        let chars: Vec<(char, bool)> = chars.into_iter().collect();
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(&(c, quoted)) = chars.get(at) {
            at += 1;
            pieces.push(match c {
                '*' if !quoted => Piece::Any,
                '?' if !quoted => Piece::One,
                '[' if !quoted => match set(chars.get(at..).unwrap_or_default()) {
                    Some((piece, taken)) => {
                        at += taken;
                        piece
                    }
                    None => Piece::Literal('['),
                },
                '\\' if !quoted => match chars.get(at) {
                    Some(&(next, _)) => {
                        at += 1;
                        Piece::Literal(next)
                    }
                    None => Piece::Literal('\\'),
                },
                c => Piece::Literal(c),
            });
        }
        Self(pieces)
    }
    /// Reads a pattern from plain text.
    pub fn from_text(text: &str) -> Self {
        Self::new(text.chars().map(|c| (c, false)))
    }
    /// Whether it is only characters that stand for themselves.
    pub fn is_literal(&self) -> bool {
        self.0.iter().all(|p| matches!(p, Piece::Literal(_)))
    }
    /// Whether all of `text` matches. Backtracks to the last `*` only, so the time is bounded by the product of sizes.
    pub fn matches(&self, text: &[char]) -> bool {
        let (mut p, mut t) = (0, 0);
        let mut back: Option<(usize, usize)> = None;
        loop {
            match (self.0.get(p), text.get(t)) {
                (None, None) => return true,
                (Some(Piece::Any), _) => {
                    back = Some((p, t));
                    p += 1;
                    continue;
                }
                (Some(piece), Some(&c)) if piece.fits(c) => {
                    p += 1;
                    t += 1;
                    continue;
                }
                _ => {}
            }
            match back {
                Some((any, from)) if from < text.len() => {
                    back = Some((any, from + 1));
                    p = any + 1;
                    t = from + 1;
                }
                _ => return false,
            }
        }
    }
    /// How much of the beginning of `text` matches, at most or at least; and where nothing does, whether that is for
    /// want of what follows a `*`, which no later beginning has either. Takes the product of sizes.
    pub fn beginning(&self, text: &[char], longest: bool) -> Result<usize, bool> {
        // Pieces that may come next, in order; one behind the last is the end of the pattern.
        let spread = |next: &mut Vec<usize>, at: usize| {
            let anys = self.0.iter().skip(at).take_while(|piece| **piece == Piece::Any).count();
            for at in at..=at + anys {
                if next.last().is_none_or(|last| *last < at) {
                    next.push(at);
                }
            }
        };
        let (mut next, mut found, mut open) = (Vec::new(), None, false);
        spread(&mut next, 0);
        for taken in 0..=text.len() {
            open |= next.iter().any(|at| self.0.get(*at) == Some(&Piece::Any));
            if next.last() == Some(&self.0.len()) {
                found = Some(taken);
                if !longest {
                    break;
                }
            }
            let Some(c) = text.get(taken).filter(|_| !next.is_empty()) else { break };
            let mut after = Vec::new();
            for at in next {
                match self.0.get(at) {
                    Some(Piece::Any) => spread(&mut after, at),
                    Some(piece) if piece.fits(*c) => spread(&mut after, at + 1),
                    _ => {}
                }
            }
            next = after;
        }
        found.ok_or(open)
    }
    /// The pattern of what this one matches, backwards.
    pub fn backwards(&self) -> Self {
        Self(self.0.iter().rev().cloned().collect())
    }
    /// Whether all of `text` matches.
    pub fn matches_str(&self, text: &str) -> bool {
        self.matches(&text.chars().collect::<Vec<_>>())
    }
}

impl Piece {
    fn fits(&self, c: char) -> bool {
        match self {
            Self::Literal(l) => *l == c,
            Self::One => true,
            Self::Any => false,
            Self::Set(negated, ranges) => ranges.iter().any(|(a, b)| (*a..=*b).contains(&c)) != *negated,
        }
    }
}

/// A bracket expression after its `[`: the piece and how many characters it took.
fn set(chars: &[(char, bool)]) -> Option<(Piece, usize)> {
    let mut at = 0;
    let negated = matches!(chars.first(), Some(('!' | '^', false)));
    if negated {
        at += 1;
    }
    let mut ranges = Vec::new();
    loop {
        let &(c, quoted) = chars.get(at)?;
        if c == ']' && !quoted && !ranges.is_empty() {
            return Some((Piece::Set(negated, ranges), at + 1));
        }
        if c == '[' && chars.get(at + 1).is_some_and(|(c, _)| *c == ':') {
            let rest: String = chars.get(at + 2..)?.iter().map(|(c, _)| *c).collect();
            let name = rest.split(":]").next()?;
            ranges.extend_from_slice(class(name)?);
            at += name.chars().count() + 4;
            continue;
        }
        at += 1;
        match (chars.get(at), chars.get(at + 1)) {
            (Some(('-', false)), Some(&(end, _))) if end != ']' => {
                ranges.push((c, end));
                at += 2;
            }
            _ => ranges.push((c, c)),
        }
    }
}

/// The ranges of a character class in the C locale.
pub fn class(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alpha" => &[('a', 'z'), ('A', 'Z')],
        "digit" => &[('0', '9')],
        "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
        "upper" => &[('A', 'Z')],
        "lower" => &[('a', 'z')],
        "space" => &[(' ', ' '), ('\t', '\r')],
        "blank" => &[(' ', ' '), ('\t', '\t')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "xdigit" => &[('0', '9'), ('a', 'f'), ('A', 'F')],
        "print" => &[(' ', '~')],
        "graph" => &[('!', '~')],
        "cntrl" => &[('\0', '\u{1f}'), ('\u{7f}', '\u{7f}')],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, yes, no) in [
            ("*.yaml", "web.yaml", "web.yml"),
            ("a*b*c", "aXbYc", "aXbY"),
            ("?", "x", ""),
            ("[a-c]x", "bx", "dx"),
            ("[!a-c]x", "dx", "bx"),
            ("[[:digit:]]*", "1a", "a1"),
            ("[]]", "]", "["),
            ("[", "[", "x"),
            ("\\*", "*", "x"),
        ] {
            assert!(Pattern::from_text(pattern).matches_str(yes), "{pattern} {yes}");
            assert!(!Pattern::from_text(pattern).matches_str(no), "{pattern} {no}");
        }
        assert!(!Pattern::new([('*', true)]).matches_str("x"));
    }
}
