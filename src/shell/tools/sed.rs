//! `sed`: addresses (numbers, `$`, expressions, ranges, `!`), and the commands s d p q = a i c y n { }.

use super::regex::{Captures, Regex};
use super::{complain, lines, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

enum Address {
    Line(usize),
    Last,
    Match(Regex),
}

enum Action {
    Substitute { pattern: Regex, with: Vec<char>, global: bool, print: bool, nth: usize },
    Delete,
    Print,
    Quit,
    Number,
    Append(String),
    Insert(String),
    Change(String),
    Translate(Vec<char>, Vec<char>),
    Next,
    Block(Vec<Command>),
}

struct Command {
    from: Option<Address>,
    to: Option<Address>,
    negated: bool,
    action: Action,
    /// Inside its range, and for a range by number: up to which line.
    active: std::cell::Cell<bool>,
}

/// Edits lines.
pub fn run(_: Ctx, process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (found, mut names) = match options(&process, "nErsiu", "ef") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "sed", letter, 1).await,
        };
        let has = |letter: char| found.iter().any(|(o, _)| *o == letter);
        let mut scripts: Vec<String> = found.iter().filter(|(o, _)| *o == 'e').map(|(_, s)| s.clone()).collect();
        if scripts.is_empty() {
            if names.is_empty() {
                complain(&process, "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...").await;
                return 1;
            }
            scripts.push(names.remove(0));
        }
        let script: Vec<char> = scripts.join("\n").chars().collect();
        let mut parser = Parser { chars: &script, at: 0, extended: has('E') || has('r') };
        let commands = match parser.block(false) {
            Ok(commands) => commands,
            Err(why) => {
                complain(&process, &format!("sed: -e expression #1, char {}: {why}", parser.at)).await;
                return 1;
            }
        };
        let (files, failed) = read_all(&process, dialect, "sed", &names).await;
        let mut code = i32::from(failed) * 2;
        if has('i') {
            for (name, bytes) in &files {
                let out = edit(&commands, bytes, has('n'));
                if let Err(why) = process.files.write(&process.path(name), &out) {
                    complain(&process, &format!("sed: couldn't open {name}: {why}")).await;
                    code = 4;
                }
            }
            return code;
        }
        let all: Vec<u8> = files.iter().flat_map(|(_, b)| b.iter().copied()).collect();
        say(&process, &edit(&commands, &all, has('n'))).await.err().unwrap_or(code)
    })
}

struct Editor<'a> {
    lines: Vec<&'a [u8]>,
    /// Number of the current line, from 1.
    at: usize,
    out: Vec<u8>,
    quiet: bool,
    after: Vec<String>,
    quit: bool,
}

/// What becomes of a line.
#[derive(PartialEq)]
enum Flow {
    Go,
    Deleted,
}

fn edit(commands: &[Command], bytes: &[u8], quiet: bool) -> Vec<u8> {
    let mut editor =
        Editor { lines: lines::of(bytes).collect(), at: 0, out: Vec::new(), quiet, after: Vec::new(), quit: false };
    while editor.at < editor.lines.len() && !editor.quit {
        editor.at += 1;
        let mut line = editor.current();
        let flow = editor.apply(commands, &mut line);
        if flow == Flow::Go && !quiet {
            editor.print(&line);
        }
        for text in std::mem::take(&mut editor.after) {
            editor.out.extend_from_slice(text.as_bytes());
            editor.out.push(b'\n');
        }
    }
    // A last line without a newline stays so.
    if !bytes.is_empty() && !bytes.ends_with(b"\n") && editor.at == editor.lines.len() && editor.out.ends_with(b"\n") {
        editor.out.pop();
    }
    editor.out
}

impl Editor<'_> {
    fn current(&self) -> Vec<char> {
        let line = self.at.checked_sub(1).and_then(|i| self.lines.get(i)).copied().unwrap_or_default();
        String::from_utf8_lossy(line).chars().collect()
    }
    fn print(&mut self, line: &[char]) {
        let text: String = line.iter().collect();
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'\n');
    }
    fn is(&self, address: &Address, line: &[char]) -> bool {
        match address {
            Address::Line(n) => self.at == *n,
            Address::Last => self.at == self.lines.len(),
            Address::Match(expression) => expression.find(line, 0).is_some(),
        }
    }
    fn selected(&self, command: &Command, line: &[char]) -> bool {
        let within = match (&command.from, &command.to) {
            (None, _) => true,
            (Some(from), None) => self.is(from, line),
            (Some(from), Some(to)) => {
                let past = matches!(to, Address::Line(n) if self.at >= *n);
                if command.active.get() {
                    if past || self.is(to, line) {
                        command.active.set(false);
                    }
                    !matches!(to, Address::Line(n) if self.at > *n)
                } else if self.is(from, line) {
                    let over = past || matches!(to, Address::Last) && self.at == self.lines.len();
                    command.active.set(!over);
                    true
                } else {
                    false
                }
            }
        };
        within != command.negated
    }
    fn apply(&mut self, commands: &[Command], line: &mut Vec<char>) -> Flow {
        for command in commands {
            if !self.selected(command, line) {
                continue;
            }
            match &command.action {
                Action::Delete => return Flow::Deleted,
                Action::Print => self.print(line),
                Action::Quit => {
                    self.quit = true;
                    return Flow::Go;
                }
                Action::Number => self.out.extend_from_slice(format!("{}\n", self.at).as_bytes()),
                Action::Append(text) => self.after.push(text.clone()),
                Action::Insert(text) => self.out.extend_from_slice(format!("{text}\n").as_bytes()),
                Action::Change(text) => {
                    if !command.active.get() {
                        self.out.extend_from_slice(format!("{text}\n").as_bytes());
                    }
                    return Flow::Deleted;
                }
                Action::Translate(from, to) => {
                    for c in line.iter_mut() {
                        if let Some(new) = from.iter().position(|f| f == c).and_then(|i| to.get(i)) {
                            *c = *new;
                        }
                    }
                }
                Action::Next => {
                    if self.at >= self.lines.len() {
                        return Flow::Go;
                    }
                    if !self.quiet {
                        self.print(line);
                    }
                    self.at += 1;
                    *line = self.current();
                }
                Action::Block(inner) => {
                    if self.apply(inner, line) == Flow::Deleted {
                        return Flow::Deleted;
                    }
                    if self.quit {
                        return Flow::Go;
                    }
                }
                Action::Substitute { pattern, with, global, print, nth } => {
                    if let Some(new) = substitute(pattern, with, line, *global, *nth) {
                        *line = new;
                        if *print {
                            self.print(line);
                        }
                    }
                }
            }
        }
        Flow::Go
    }
}

fn substitute(pattern: &Regex, with: &[char], line: &[char], global: bool, nth: usize) -> Option<Vec<char>> {
    let (mut out, mut from, mut count, mut done) = (Vec::new(), 0, 0, false);
    // Nothing right behind a match is no match of its own.
    let mut behind = None;
    while from <= line.len() {
        let Some(captures) = pattern.find(line, from) else { break };
        let Some((start, end)) = captures.first().copied().flatten() else { break };
        out.extend_from_slice(line.get(from..start).unwrap_or_default());
        if start == end && behind == Some(end) {
            out.extend(line.get(end));
            from = end + 1;
            continue;
        }
        behind = Some(end);
        count += 1;
        if count >= nth {
            fill(&mut out, with, line, &captures);
            done = true;
        } else {
            out.extend_from_slice(line.get(start..end).unwrap_or_default());
        }
        from = end;
        if end == start {
            out.extend(line.get(end));
            from += 1;
        }
        if done && !global {
            break;
        }
    }
    out.extend_from_slice(line.get(from..).unwrap_or_default());
    done.then_some(out)
}

fn fill(out: &mut Vec<char>, with: &[char], line: &[char], captures: &Captures) {
    let mut chars = with.iter().copied();
    while let Some(c) = chars.next() {
        let group = match c {
            '&' => Some(0),
            '\\' => match chars.next() {
                Some(d @ '0'..='9') => d.to_digit(10).map(|d| d as usize),
                Some('n') => {
                    out.push('\n');
                    continue;
                }
                Some('t') => {
                    out.push('\t');
                    continue;
                }
                Some(other) => {
                    out.push(other);
                    continue;
                }
                None => None,
            },
            other => {
                out.push(other);
                continue;
            }
        };
        if let Some((from, to)) = group.and_then(|g| captures.get(g).copied().flatten()) {
            out.extend_from_slice(line.get(from..to).unwrap_or_default());
        }
    }
}

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
    extended: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }
    fn skip(&mut self, also: &str) {
        while self.peek().is_some_and(|c| c.is_whitespace() || also.contains(c)) {
            self.at += 1;
        }
    }

    fn block(&mut self, inner: bool) -> Result<Vec<Command>, String> {
        let mut commands = Vec::new();
        loop {
            self.skip(";");
            match self.peek() {
                None if inner => return Err("unmatched `{'".to_string()),
                None => return Ok(commands),
                Some('}') if inner => {
                    self.at += 1;
                    return Ok(commands);
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                Some(_) => commands.push(self.command()?),
            }
        }
    }

    fn address(&mut self) -> Result<Option<Address>, String> {
        Ok(match self.peek() {
            Some('$') => {
                self.at += 1;
                Some(Address::Last)
            }
            Some('0'..='9') => {
                let mut number = 0usize;
                while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
                    number = number.saturating_mul(10).saturating_add(digit as usize);
                    self.at += 1;
                }
                Some(Address::Line(number))
            }
            Some('/') => {
                self.at += 1;
                let text = self.until('/', true)?;
                Some(Address::Match(Regex::new(&text, self.extended, false)?))
            }
            Some('\\') => {
                self.at += 1;
                let mark = self.peek().ok_or("unterminated address regex")?;
                self.at += 1;
                let text = self.until(mark, true)?;
                Some(Address::Match(Regex::new(&text, self.extended, false)?))
            }
            _ => None,
        })
    }

    /// Text up to a mark, which a backslash makes ordinary.
    fn until(&mut self, mark: char, expression: bool) -> Result<String, String> {
        let (mut text, mut in_set) = (String::new(), false);
        loop {
            let c = self.peek().ok_or_else(|| {
                if expression { "unterminated address regex" } else { "unterminated `s' command" }.to_string()
            })?;
            self.at += 1;
            if c == '\\' {
                let next = self.peek().unwrap_or('\\');
                self.at += 1;
                if next != mark {
                    text.push('\\');
                }
                text.push(next);
                continue;
            }
            if expression && c == '[' && !in_set {
                in_set = true;
            } else if c == ']' && !text.ends_with('[') {
                in_set = false;
            }
            if c == mark && !(in_set && expression && mark != '/') {
                return Ok(text);
            }
            text.push(c);
        }
    }

    fn rest_of_line(&mut self) -> String {
        self.skip("");
        if self.peek() == Some('\\') {
            self.at += 1;
            self.skip("");
        }
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            text.push(c);
            self.at += 1;
        }
        text
    }

    fn command(&mut self) -> Result<Command, String> {
        let from = self.address()?;
        let mut to = None;
        self.skip("");
        if from.is_some() && self.peek() == Some(',') {
            self.at += 1;
            self.skip("");
            to = Some(self.address()?.ok_or("unexpected `,'")?);
        }
        self.skip("");
        let mut negated = false;
        while self.peek() == Some('!') {
            negated = true;
            self.at += 1;
            self.skip("");
        }
        let name = self.peek().ok_or("missing command")?;
        self.at += 1;
        let action = match name {
            'd' => Action::Delete,
            'p' => Action::Print,
            'q' => Action::Quit,
            '=' => Action::Number,
            'n' => Action::Next,
            'a' => Action::Append(self.rest_of_line()),
            'i' => Action::Insert(self.rest_of_line()),
            'c' => Action::Change(self.rest_of_line()),
            '{' => Action::Block(self.block(true)?),
            's' => self.substitution()?,
            'y' => {
                let mark = self.peek().ok_or("unterminated `y' command")?;
                self.at += 1;
                let (from, to) = (self.until(mark, false)?, self.until(mark, false)?);
                if from.chars().count() != to.chars().count() {
                    return Err("strings for `y' command are different lengths".to_string());
                }
                Action::Translate(from.chars().collect(), to.chars().collect())
            }
            other => return Err(format!("unknown command: `{other}'")),
        };
        Ok(Command { from, to, negated, action, active: std::cell::Cell::new(false) })
    }

    fn substitution(&mut self) -> Result<Action, String> {
        let mark = self.peek().ok_or("unterminated `s' command")?;
        self.at += 1;
        let pattern = self.until(mark, true).map_err(|_| "unterminated `s' command".to_string())?;
        let with = self.until(mark, false)?;
        let (mut global, mut print, mut ignore_case, mut nth) = (false, false, false, 1);
        while let Some(flag) = self.peek() {
            match flag {
                'g' => global = true,
                'p' => print = true,
                'i' | 'I' => ignore_case = true,
                '1'..='9' => nth = flag.to_digit(10).unwrap_or(1) as usize,
                _ => break,
            }
            self.at += 1;
        }
        if self.peek().is_some_and(|c| !c.is_whitespace() && !";}#".contains(c)) {
            return Err("unknown option to `s'".to_string());
        }
        let pattern = Regex::new(&pattern, self.extended, ignore_case)?;
        Ok(Action::Substitute { pattern, with: with.chars().collect(), global, print, nth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sed(script: &str, extended: bool, quiet: bool, text: &str) -> String {
        let chars: Vec<char> = script.chars().collect();
        let commands = Parser { chars: &chars, at: 0, extended }.block(false).unwrap();
        String::from_utf8(edit(&commands, text.as_bytes(), quiet)).unwrap()
    }

    #[test]
    fn lines_are_edited() {
        let rows = [
            ("s/node-[123]/node-N/; s/zone=z./zone=zN/", false, false, "node-2 zone=zb\n", "node-N zone=zN\n"),
            ("/^Events/,$p", false, true, "a\nEvents\nb\n", "Events\nb\n"),
            ("2d", false, false, "1\n2\n3\n", "1\n3\n"),
            ("1,2!d", false, false, "1\n2\n3\n", "1\n2\n"),
            ("s/a/b/g", false, false, "aXa", "bXb"),
            ("s/a*/x/g", false, false, "abc\n", "xbxcx\n"),
            ("s/a*/x/g", false, false, "baaac\n", "xbxcx\n"),
            ("s/a*/x/2", false, false, "baaac\n", "bxc\n"),
            ("s/y*/-/g", false, false, "abc\n", "-a-b-c-\n"),
            (r"s/\(a\)\(b\)/\2\1/", false, false, "xab\n", "xba\n"),
            ("s#https://[^ ]*#URL#", false, false, "at https://x/y z\n", "at URL z\n"),
            ("s/[0-9]+/<&>/2", true, false, "1 22 3\n", "1 <22> 3\n"),
            ("$d", false, false, "1\n2\n", "1\n"),
            ("/x/{s/x/y/;p;}", false, false, "x\n", "y\ny\n"),
            ("1i\\head", false, false, "a\n", "head\na\n"),
            (
                "s/ in [0-9.]*m*s (.*including waiting)//",
                false,
                false,
                "pulled in 65ms (65ms including waiting). Image\n",
                "pulled. Image\n",
            ),
        ];
        for (script, extended, quiet, text, expected) in rows {
            assert_eq!(sed(script, extended, quiet, text), expected, "{script}");
        }
    }
}
