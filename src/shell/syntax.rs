//! The shell's grammar as data, and the parser that reads it (POSIX.1-2024, Shell Command Language, 2.10).

mod aliases;

pub use aliases::Aliases;

use std::fmt;
use std::rc::Rc;

/// A piece of a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Characters; quoted ones are neither split nor matched as patterns.
    Text(String, bool),
    /// `$name`, `${name...}`.
    Parameter {
        /// `HOME`, `1`, `?`, `@`.
        name: String,
        /// What the braces ask for.
        op: Operation,
        /// Whether it stands in double quotes.
        quoted: bool,
    },
    /// `$(...)` or backquotes.
    Command(Rc<List>, bool),
    /// `$((...))`.
    Arithmetic(Word, bool),
}

/// `${name<operation>}`.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `${name}`
    Plain,
    /// `${#name}`
    Length,
    /// `${name-word}`, with `:` also for empty values; likewise below.
    Default(bool, Word),
    /// `${name=word}`
    Assign(bool, Word),
    /// `${name+word}`
    Alternative(bool, Word),
    /// `${name?word}`
    Error(bool, Word),
    /// `${name#pattern}`; true for the longest match; likewise below.
    Prefix(bool, Word),
    /// `${name%pattern}`
    Suffix(bool, Word),
    /// `${name/pattern/word}` of bash; true for `//`.
    Replace(bool, Word, Word),
}

/// A word before expansion.
pub type Word = Vec<Part>;

/// `2>&1`, `>file`, `<<EOF`.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirection {
    /// The descriptor: 0, 1 or 2.
    pub fd: u8,
    /// What is done to it.
    pub kind: RedirectionKind,
}

/// Kinds of those.
#[derive(Clone, Debug, PartialEq)]
pub enum RedirectionKind {
    /// `<file`
    Read(Word),
    /// `>file`
    Write(Word),
    /// `>>file`
    Append(Word),
    /// `>&n`, `<&n`
    Duplicate(u8),
    /// `>&-`
    Close,
    /// A here-document or here-string: its text.
    Here(Word),
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Assignments and words.
    Simple(Vec<(String, Word)>, Vec<Word>),
    /// `( ... )`
    Subshell(Rc<List>),
    /// `{ ...; }`
    Group(Rc<List>),
    /// `if`: conditions with their branches, and what else.
    If(Vec<(Rc<List>, Rc<List>)>, Option<Rc<List>>),
    /// `while`, or `until` if true.
    While(bool, Rc<List>, Rc<List>),
    /// `for name in words`; without words the positional parameters.
    For(String, Option<Vec<Word>>, Rc<List>),
    /// `case word in`: patterns with their branches.
    Case(Word, Vec<(Vec<Word>, Rc<List>)>),
    /// `name() { ...; }`
    Function(String, Rc<Redirected>),
}

/// A command with its redirections.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirected {
    /// The command.
    pub command: Command,
    /// In the order in which they stand.
    pub redirections: Vec<Redirection>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// `!`
    pub negated: bool,
    /// At least one.
    pub commands: Vec<Redirected>,
}

/// How a pipeline follows the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug, PartialEq)]
pub struct AndOr {
    /// The first.
    pub first: Pipeline,
    /// The others.
    pub rest: Vec<(Joint, Pipeline)>,
    /// `&`
    pub background: bool,
    /// As it was typed, where it runs in the background.
    pub text: Rc<str>,
}

/// Commands one after the other.
pub type List = Vec<AndOr>;

/// Why a text is no program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// A token where none such may stand.
    Unexpected(String),
    /// The text ends inside of something.
    Unterminated(&'static str),
    /// Something real that this shell leaves out.
    Unsupported(&'static str),
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected(token) => write!(f, "syntax error near unexpected token `{token}'"),
            Self::Unterminated(what) => write!(f, "unexpected EOF while looking for matching `{what}'"),
            Self::Unsupported(what) => write!(f, "{what} is not supported in this simulated shell"),
        }
    }
}

type Parsed<T> = Result<T, SyntaxError>;

/// How deep programs may nest.
const DEPTH: usize = 64;

struct Parser<'a> {
    text: Vec<char>,
    at: usize,
    aliases: aliases::Expansion<'a>,
    depth: usize,
    /// Here-documents announced on this line: where their text is to go.
    pending: Vec<Here>,
    /// Texts of here-documents in the order in which they were announced.
    texts: Vec<Word>,
}

struct Here {
    end: String,
    literal: bool,
    strip_tabs: bool,
}

/// Reads a program in which these aliases stand for what they mean.
pub fn parse(text: &str, aliases: &Aliases) -> Parsed<List> {
    let mut parser = Parser::new(text, 0, aliases);
    let mut list = parser.list(&[])?;
    parser.here_documents()?;
    if parser.at < parser.text.len() {
        return Err(parser.unexpected());
    }
    let mut texts = std::mem::take(&mut parser.texts).into_iter();
    place_texts(&mut list, &mut texts);
    Ok(list)
}

/// Whether more input is wanted before `text` makes a program: an open quote, a here-document, `if` without `fi`.
pub fn is_incomplete(text: &str) -> bool {
    let read = parse(text, &Aliases::new());
    matches!(read, Err(SyntaxError::Unterminated(_)))
        || text.trim_end_matches(' ').ends_with('\\')
        || matches!(read, Err(SyntaxError::Unexpected(t)) if t == "end of file")
}

/// Marks where the text of a here-document belongs; the text follows on later lines.
const PLACEHOLDER: &str = "\u{0}here";

fn place_texts(list: &mut List, texts: &mut impl Iterator<Item = Word>) {
    for and_or in list {
        let pipelines = std::iter::once(&mut and_or.first).chain(and_or.rest.iter_mut().map(|(_, p)| p));
        for command in pipelines.flat_map(|p| p.commands.iter_mut()) {
            place_in(command, texts);
        }
    }
}

fn place_in(command: &mut Redirected, texts: &mut impl Iterator<Item = Word>) {
    let mut inner = |list: &mut Rc<List>| place_texts(Rc::make_mut(list), texts);
    match &mut command.command {
        Command::Simple(..) => {}
        Command::Subshell(list) | Command::Group(list) | Command::For(_, _, list) => inner(list),
        Command::If(branches, otherwise) => {
            for (condition, branch) in branches {
                inner(condition);
                inner(branch);
            }
            otherwise.iter_mut().for_each(inner);
        }
        Command::While(_, condition, body) => {
            inner(condition);
            inner(body);
        }
        Command::Case(_, arms) => arms.iter_mut().for_each(|(_, list)| inner(list)),
        Command::Function(_, body) => place_in(Rc::make_mut(body), texts),
    }
    for redirection in &mut command.redirections {
        if let RedirectionKind::Here(word) = &mut redirection.kind
            && matches!(word.as_slice(), [Part::Text(t, _)] if t == PLACEHOLDER)
        {
            *word = texts.next().unwrap_or_default();
        }
    }
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const RESERVED: [&str; 13] = ["then", "else", "elif", "fi", "do", "done", "esac", "}", ")", ";;", "in", "&&", "||"];

impl<'a> Parser<'a> {
    fn new(text: &str, depth: usize, aliases: &'a Aliases) -> Self {
        let aliases = aliases::Expansion::new(aliases);
        Parser { text: text.chars().collect(), at: 0, aliases, depth, pending: Vec::new(), texts: Vec::new() }
    }
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }
    fn peek_at(&self, n: usize) -> Option<char> {
        self.text.get(self.at + n).copied()
    }
    fn eat(&mut self, text: &str) -> bool {
        let fits = text.chars().enumerate().all(|(i, c)| self.peek_at(i) == Some(c));
        if fits {
            self.at += text.chars().count();
        }
        fits
    }
    fn unexpected(&self) -> SyntaxError {
        let token = match self.peek() {
            None => "end of file".into(),
            Some('\n') => "newline".into(),
            Some(c) if "&|;".contains(c) && self.peek_at(1) == Some(c) => format!("{c}{c}"),
            Some(c) if "&|;()<>".contains(c) => c.to_string(),
            Some(_) => self.bare_word(),
        };
        SyntaxError::Unexpected(token)
    }
    /// The unquoted word that stands here, for keywords.
    fn bare_word(&self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.iter().take_while(|c| !c.is_whitespace() && !"&|;()<>\"'`$\\#".contains(**c)).collect()
    }
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\r') => self.at += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => self.at += 2,
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }
    fn newline(&mut self) -> Parsed<bool> {
        if self.peek() != Some('\n') {
            return Ok(false);
        }
        self.at += 1;
        self.here_documents()?;
        Ok(true)
    }
    fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.blanks();
            if !self.newline()? {
                return Ok(());
            }
        }
    }
    fn here_documents(&mut self) -> Parsed<()> {
        for here in std::mem::take(&mut self.pending) {
            let mut lines = String::new();
            loop {
                if self.at >= self.text.len() {
                    return Err(SyntaxError::Unterminated("here-document"));
                }
                let rest = self.text.get(self.at..).unwrap_or_default();
                let line: String = rest.iter().take_while(|c| **c != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.text.len());
                let line = if here.strip_tabs { line.trim_start_matches('\t') } else { &line };
                if line == here.end {
                    break;
                }
                lines.push_str(line);
                lines.push('\n');
            }
            let word = if here.literal { vec![Part::Text(lines, true)] } else { self.here_text(&lines)? };
            self.texts.push(word);
        }
        Ok(())
    }
    fn here_text(&self, text: &str) -> Parsed<Word> {
        let mut inner = Parser::new(text, self.depth, self.aliases.known);
        inner.double_quoted(None)
    }
    fn at_keyword(&self, words: &[&str]) -> bool {
        let bare = self.bare_word();
        match self.peek() {
            Some(')') => words.contains(&")"),
            Some(';') if self.peek_at(1) == Some(';') => words.contains(&";;"),
            _ => words.contains(&bare.as_str()),
        }
    }

    fn list(&mut self, until: &[&str]) -> Parsed<List> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(SyntaxError::Unsupported("nesting this deep"));
        }
        let mut list = List::new();
        loop {
            self.skip_lines()?;
            if self.peek().is_none() || self.at_keyword(until) {
                break;
            }
            let start = self.at;
            let mut and_or = self.and_or()?;
            self.blanks();
            if self.peek() == Some('&') && self.peek_at(1) != Some('&') {
                let typed: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
                self.at += 1;
                and_or.background = true;
                and_or.text = typed.trim().into();
            } else if self.peek() == Some(';') && self.peek_at(1) != Some(';') {
                self.at += 1;
            } else if !matches!(self.peek(), None | Some('\n')) && !self.at_keyword(until) {
                return Err(self.unexpected());
            }
            list.push(and_or);
        }
        self.depth -= 1;
        Ok(list)
    }
    fn and_or(&mut self) -> Parsed<AndOr> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let joint = if self.eat("&&") {
                Joint::And
            } else if self.eat("||") {
                Joint::Or
            } else {
                return Ok(AndOr { first, rest, background: false, text: "".into() });
            };
            self.skip_lines()?;
            rest.push((joint, self.pipeline()?));
        }
    }
    fn pipeline(&mut self) -> Parsed<Pipeline> {
        self.blanks();
        let mut negated = false;
        while self.peek() == Some('!') && self.peek_at(1).is_some_and(char::is_whitespace) {
            self.at += 1;
            negated = !negated;
            self.blanks();
        }
        let mut commands = vec![self.command()?];
        loop {
            self.blanks();
            if self.peek() != Some('|') || self.peek_at(1) == Some('|') {
                return Ok(Pipeline { negated, commands });
            }
            self.at += 1;
            if self.peek() == Some('&') {
                self.at += 1;
                if let Some(last) = commands.last_mut() {
                    last.redirections.push(Redirection { fd: 2, kind: RedirectionKind::Duplicate(1) });
                }
            }
            self.skip_lines()?;
            commands.push(self.command()?);
        }
    }
    fn expect(&mut self, word: &'static str) -> Parsed<()> {
        self.skip_lines()?;
        if self.peek().is_none() {
            return Err(SyntaxError::Unexpected("end of file".into()));
        }
        let fits = if word == ")" { self.peek() == Some(')') } else { self.bare_word() == word };
        if !fits {
            return Err(self.unexpected());
        }
        self.at += word.chars().count();
        Ok(())
    }
    fn body(&mut self, until: &[&str]) -> Parsed<Rc<List>> {
        let list = self.list(until)?;
        if list.is_empty() && self.peek().is_some() {
            return Err(self.unexpected());
        }
        Ok(Rc::new(list))
    }

    fn command(&mut self) -> Parsed<Redirected> {
        self.blanks();
        self.expand_alias();
        let command = match (self.peek(), self.bare_word().as_str()) {
            (None, _) => return Err(SyntaxError::Unexpected("end of file".into())),
            (Some('('), _) if self.peek_at(1) == Some('(') => {
                return Err(SyntaxError::Unsupported("the command ((...))"));
            }
            (Some('('), _) => {
                self.at += 1;
                let list = self.body(&[")"])?;
                self.expect(")")?;
                Command::Subshell(list)
            }
            (_, "{") => {
                self.at += 1;
                let list = self.body(&["}"])?;
                self.expect("}")?;
                Command::Group(list)
            }
            (_, "if") => self.if_command()?,
            (_, word @ ("while" | "until")) => {
                let until = word == "until";
                self.at += 5;
                let condition = self.body(&["do"])?;
                self.expect("do")?;
                let body = self.body(&["done"])?;
                self.expect("done")?;
                Command::While(until, condition, body)
            }
            (_, "for") => self.for_command()?,
            (_, "case") => self.case_command()?,
            (_, "[[") => return Err(SyntaxError::Unsupported("the command [[")),
            (_, "select") => return Err(SyntaxError::Unsupported("the command select")),
            (_, "function") => return Err(SyntaxError::Unsupported("the keyword function")),
            (_, word) if RESERVED.contains(&word) => return Err(self.unexpected()),
            _ => return self.simple(),
        };
        let mut redirections = Vec::new();
        loop {
            self.blanks();
            match self.redirection()? {
                Some(mut found) => redirections.append(&mut found),
                None => return Ok(Redirected { command, redirections }),
            }
        }
    }
    fn if_command(&mut self) -> Parsed<Command> {
        self.at += 2;
        let mut branches = Vec::new();
        loop {
            let condition = self.body(&["then"])?;
            self.expect("then")?;
            branches.push((condition, self.body(&["elif", "else", "fi"])?));
            self.skip_lines()?;
            match self.bare_word().as_str() {
                "elif" => self.at += 4,
                "else" => {
                    self.at += 4;
                    let otherwise = self.body(&["fi"])?;
                    self.expect("fi")?;
                    return Ok(Command::If(branches, Some(otherwise)));
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(Command::If(branches, None));
                }
            }
        }
    }
    fn for_command(&mut self) -> Parsed<Command> {
        self.at += 3;
        self.blanks();
        if self.peek() == Some('(') {
            return Err(SyntaxError::Unsupported("for ((...))"));
        }
        let name = self.bare_word();
        if !is_name(&name) {
            return Err(self.unexpected());
        }
        self.at += name.chars().count();
        self.skip_lines()?;
        let mut words = None;
        if self.bare_word() == "in" {
            self.at += 2;
            let mut list = Vec::new();
            loop {
                self.blanks();
                match self.word()? {
                    Some(word) => list.push(word),
                    None => break,
                }
            }
            words = Some(list);
        }
        self.blanks();
        if self.peek() == Some(';') {
            self.at += 1;
        }
        self.expect("do")?;
        let body = self.body(&["done"])?;
        self.expect("done")?;
        Ok(Command::For(name, words, body))
    }
    fn case_command(&mut self) -> Parsed<Command> {
        self.at += 4;
        self.blanks();
        let word = self.word()?.ok_or_else(|| self.unexpected())?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.bare_word() == "esac" {
                self.at += 4;
                return Ok(Command::Case(word, arms));
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.unexpected())?);
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            let list = Rc::new(self.list(&[";;", "esac"])?);
            arms.push((patterns, list));
            self.blanks();
            if !self.eat(";;") && self.bare_word() != "esac" {
                return Err(self.unexpected());
            }
        }
    }
    fn simple(&mut self) -> Parsed<Redirected> {
        let (mut assignments, mut words, mut redirections) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            self.blanks();
            if let Some(mut found) = self.redirection()? {
                redirections.append(&mut found);
                continue;
            }
            if words.is_empty()
                && let Some(name) = self.assignment()
            {
                let value = self.word()?.unwrap_or_default();
                assignments.push((name, value));
                continue;
            }
            if words.is_empty() && !assignments.is_empty() || !words.is_empty() && self.follows_alias() {
                self.expand_alias();
            }
            let Some(word) = self.word()? else { break };
            // A function: one plain name followed by ().
            if words.is_empty()
                && assignments.is_empty()
                && self.peek() == Some('(')
                && let [Part::Text(name, false)] = word.as_slice()
                && is_name(name)
            {
                self.at += 1;
                self.blanks();
                if !self.eat(")") {
                    return Err(self.unexpected());
                }
                self.skip_lines()?;
                let body = Rc::new(self.command()?);
                let command = Command::Function(name.clone(), body);
                return Ok(Redirected { command, redirections });
            }
            words.push(word);
        }
        if assignments.is_empty() && words.is_empty() && redirections.is_empty() {
            return Err(self.unexpected());
        }
        Ok(Redirected { command: Command::Simple(assignments, words), redirections })
    }
    fn assignment(&mut self) -> Option<String> {
        let name: String = {
            let rest = self.text.get(self.at..).unwrap_or_default();
            rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect()
        };
        if !is_name(&name) || self.peek_at(name.len()) != Some('=') {
            return None;
        }
        self.at += name.len() + 1;
        Some(name)
    }
    fn redirection(&mut self) -> Parsed<Option<Vec<Redirection>>> {
        let start = self.at;
        let mut fd = None;
        if let Some(digit) = self.peek().and_then(|c| c.to_digit(10))
            && matches!(self.peek_at(1), Some('<' | '>'))
        {
            self.at += 1;
            fd = u8::try_from(digit).ok();
        }
        let both = fd.is_none() && (self.eat("&>"));
        let kind = |word, append| if append { RedirectionKind::Append(word) } else { RedirectionKind::Write(word) };
        if both {
            let append = self.eat(">");
            let word = self.target()?;
            return Ok(Some(vec![
                Redirection { fd: 1, kind: kind(word, append) },
                Redirection { fd: 2, kind: RedirectionKind::Duplicate(1) },
            ]));
        }
        let one = |fd, kind| Ok(Some(vec![Redirection { fd, kind }]));
        if self.eat("<<<") {
            let mut word = self.target()?;
            word.push(Part::Text("\n".into(), true));
            return one(fd.unwrap_or(0), RedirectionKind::Here(word));
        }
        if self.eat("<<") {
            let strip_tabs = self.eat("-");
            self.blanks();
            let start = self.at;
            let word = self.target()?;
            let written: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
            let end = word.iter().map(|p| if let Part::Text(t, _) = p { t.as_str() } else { "" }).collect();
            let literal = written.contains(['\'', '"', '\\']);
            self.pending.push(Here { end, literal, strip_tabs });
            return one(fd.unwrap_or(0), RedirectionKind::Here(vec![Part::Text(PLACEHOLDER.into(), true)]));
        }
        let (out, append) = match self.peek() {
            Some('>') => (true, self.peek_at(1) == Some('>')),
            Some('<') => (false, false),
            _ => {
                self.at = start;
                return Ok(None);
            }
        };
        self.at += if append { 2 } else { 1 };
        if self.peek() == Some('(') {
            return Err(SyntaxError::Unsupported("process substitution"));
        }
        let default = u8::from(out);
        if self.eat("&") {
            return match self.peek() {
                Some('-') => {
                    self.at += 1;
                    one(fd.unwrap_or(default), RedirectionKind::Close)
                }
                Some(c) if c.is_ascii_digit() => {
                    self.at += 1;
                    let target = c.to_digit(10).and_then(|d| u8::try_from(d).ok()).unwrap_or(9);
                    one(fd.unwrap_or(default), RedirectionKind::Duplicate(target))
                }
                _ => Err(self.unexpected()),
            };
        }
        if out {
            self.eat("|");
        }
        let word = self.target()?;
        one(fd.unwrap_or(default), if out { kind(word, append) } else { RedirectionKind::Read(word) })
    }
    fn target(&mut self) -> Parsed<Word> {
        self.blanks();
        self.word()?.ok_or_else(|| self.unexpected())
    }

    fn word(&mut self) -> Parsed<Option<Word>> {
        let mut parts = Word::new();
        let mut plain = String::new();
        let flush = |parts: &mut Word, plain: &mut String| {
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(plain), false));
            }
        };
        loop {
            match self.peek() {
                None => break,
                Some(c) if c.is_whitespace() || "&|;()<>".contains(c) => break,
                Some('\'') => {
                    flush(&mut parts, &mut plain);
                    self.at += 1;
                    parts.push(Part::Text(self.until('\'', "'")?, true));
                }
                Some('"') => {
                    flush(&mut parts, &mut plain);
                    self.at += 1;
                    let mut inner = self.double_quoted(Some('"'))?;
                    if inner.is_empty() {
                        inner.push(Part::Text(String::new(), true));
                    }
                    parts.append(&mut inner);
                }
                Some('\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some('\n') => self.at += 1,
                        Some(c) => {
                            flush(&mut parts, &mut plain);
                            self.at += 1;
                            parts.push(Part::Text(c.into(), true));
                        }
                        None => plain.push('\\'),
                    }
                }
                Some('$' | '`') => {
                    flush(&mut parts, &mut plain);
                    match self.substitution(false)? {
                        Some(part) => parts.push(part),
                        None => plain.push('$'),
                    }
                }
                Some(c) => {
                    plain.push(c);
                    self.at += 1;
                }
            }
        }
        flush(&mut parts, &mut plain);
        Ok((!parts.is_empty()).then_some(parts))
    }
    fn until(&mut self, end: char, name: &'static str) -> Parsed<String> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Unterminated(name)),
                Some(c) => {
                    self.at += 1;
                    if c == end {
                        return Ok(text);
                    }
                    text.push(c);
                }
            }
        }
    }
    fn double_quoted(&mut self, end: Option<char>) -> Parsed<Word> {
        let mut parts = Word::new();
        let mut plain = String::new();
        loop {
            match self.peek() {
                None if end.is_some() => return Err(SyntaxError::Unterminated("\"")),
                None => break,
                c if c == end => {
                    self.at += 1;
                    break;
                }
                Some('\\') => match self.peek_at(1) {
                    Some('\n') => self.at += 2,
                    Some(c) if "$`\\".contains(c) || Some(c) == end => {
                        plain.push(c);
                        self.at += 2;
                    }
                    _ => {
                        plain.push('\\');
                        self.at += 1;
                    }
                },
                Some('$' | '`') => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain), true));
                    }
                    match self.substitution(true)? {
                        Some(part) => parts.push(part),
                        None => plain.push('$'),
                    }
                }
                Some(c) => {
                    plain.push(c);
                    self.at += 1;
                }
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain, true));
        }
        Ok(parts)
    }
    /// What starts with `$` or a backquote; nothing if the `$` stands for itself (it is consumed).
    fn substitution(&mut self, quoted: bool) -> Parsed<Option<Part>> {
        if self.eat("`") {
            let mut text = String::new();
            loop {
                match self.peek() {
                    None => return Err(SyntaxError::Unterminated("`")),
                    Some('`') => break,
                    Some('\\') if matches!(self.peek_at(1), Some('`' | '\\' | '$')) => {
                        text.extend(self.peek_at(1));
                        self.at += 2;
                    }
                    Some(c) => {
                        text.push(c);
                        self.at += 1;
                    }
                }
            }
            self.at += 1;
            return Ok(Some(Part::Command(Rc::new(parse(&text, self.aliases.known)?), quoted)));
        }
        self.at += 1;
        if self.eat("((") {
            let word = self.arithmetic()?;
            return Ok(Some(Part::Arithmetic(word, quoted)));
        }
        if self.eat("(") {
            let before = self.texts.len();
            let mut list = self.list(&[")"])?;
            place_texts(&mut list, &mut self.texts.drain(before..));
            if self.peek() != Some(')') {
                return Err(SyntaxError::Unterminated(")"));
            }
            self.at += 1;
            return Ok(Some(Part::Command(Rc::new(list), quoted)));
        }
        if self.eat("{") {
            return self.braces(quoted).map(Some);
        }
        if !quoted && self.peek() == Some('\'') {
            self.at += 1;
            return self.ansi_quoted().map(Some);
        }
        let name = match self.peek() {
            Some(c) if is_name_start(c) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect()
            }
            Some(c) if c.is_ascii_digit() || "?#@*$!-".contains(c) => c.to_string(),
            _ => return Ok(None),
        };
        self.at += name.chars().count();
        Ok(Some(Part::Parameter { name, op: Operation::Plain, quoted }))
    }
    /// `$'...'` of bash.
    fn ansi_quoted(&mut self) -> Parsed<Part> {
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Unterminated("'")),
                Some('\'') => {
                    self.at += 1;
                    return Ok(Part::Text(text, true));
                }
                Some('\\') => {
                    self.at += 1;
                    let c = self.peek().unwrap_or('\\');
                    self.at += 1;
                    text.push(match c {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'e' => '\u{1b}',
                        '0' => '\0',
                        other => other,
                    });
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
    }
    fn arithmetic(&mut self) -> Parsed<Word> {
        let (start, mut depth) = (self.at, 0usize);
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Unterminated(")")),
                Some('(') => depth += 1,
                Some(')') if depth == 0 => break,
                Some(')') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let inside: String = self.text.get(start..self.at).unwrap_or_default().iter().collect();
        if !self.eat("))") {
            return Err(SyntaxError::Unterminated(")"));
        }
        self.here_text(&inside)
    }
    fn braces(&mut self, quoted: bool) -> Parsed<Part> {
        let length = self.peek() == Some('#') && self.peek_at(1) != Some('}');
        if length {
            self.at += 1;
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut name: String = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        if name.is_empty() {
            name.extend(self.peek().filter(|c| "?#@*$!-".contains(*c)));
        }
        if name.is_empty() {
            return Err(SyntaxError::Unterminated("}"));
        }
        self.at += name.chars().count();
        if length {
            self.close_brace()?;
            return Ok(Part::Parameter { name, op: Operation::Length, quoted });
        }
        let colon = matches!(self.peek_at(1), Some('-' | '=' | '+' | '?')) && self.eat(":");
        let sign = self.peek();
        if sign == Some('}') {
            self.at += 1;
            return Ok(Part::Parameter { name, op: Operation::Plain, quoted });
        }
        self.at += 1;
        let longest = matches!(sign, Some('#' | '%' | '/')) && self.peek() == sign;
        if longest {
            self.at += 1;
        }
        let op = match sign {
            Some('-') => Operation::Default(colon, self.brace_word('}')?),
            Some('=') => Operation::Assign(colon, self.brace_word('}')?),
            Some('+') => Operation::Alternative(colon, self.brace_word('}')?),
            Some('?') => Operation::Error(colon, self.brace_word('}')?),
            Some('#') => Operation::Prefix(longest, self.brace_word('}')?),
            Some('%') => Operation::Suffix(longest, self.brace_word('}')?),
            Some('/') => {
                let pattern = self.brace_word('/')?;
                let with = if self.eat("/") { self.brace_word('}')? } else { Word::new() };
                Operation::Replace(longest, pattern, with)
            }
            None => return Err(SyntaxError::Unterminated("}")),
            Some(_) => return Err(SyntaxError::Unsupported("this form of ${...}")),
        };
        self.close_brace()?;
        Ok(Part::Parameter { name, op, quoted })
    }
    fn close_brace(&mut self) -> Parsed<()> {
        if self.eat("}") { Ok(()) } else { Err(SyntaxError::Unterminated("}")) }
    }
    /// A word within braces, up to `end` or the closing brace.
    fn brace_word(&mut self, end: char) -> Parsed<Word> {
        let mut parts = Word::new();
        let mut plain = String::new();
        loop {
            match self.peek() {
                None => return Err(SyntaxError::Unterminated("}")),
                Some(c) if c == '}' || c == end => break,
                Some('\'') => {
                    self.at += 1;
                    parts.push(Part::Text(std::mem::take(&mut plain), false));
                    parts.push(Part::Text(self.until('\'', "'")?, true));
                }
                Some('"') => {
                    self.at += 1;
                    parts.push(Part::Text(std::mem::take(&mut plain), false));
                    parts.append(&mut self.double_quoted(Some('"'))?);
                }
                Some('\\') => {
                    self.at += 1;
                    parts.push(Part::Text(std::mem::take(&mut plain), false));
                    parts.extend(self.peek().map(|c| Part::Text(c.into(), true)));
                    self.at += 1;
                }
                Some('$' | '`') => {
                    parts.push(Part::Text(std::mem::take(&mut plain), false));
                    match self.substitution(false)? {
                        Some(part) => parts.push(part),
                        None => plain.push('$'),
                    }
                }
                Some(c) => {
                    plain.push(c);
                    self.at += 1;
                }
            }
        }
        parts.push(Part::Text(plain, false));
        parts.retain(|p| !matches!(p, Part::Text(t, false) if t.is_empty()));
        Ok(parts)
    }
}
