//! Expansion of words: parameters, commands, arithmetic, field splitting, file names, quotes
//! (POSIX.1-2024, Shell Command Language, 2.6).

use crate::arithmetic;
use crate::interpreter::{Io, Shell};
use crate::pattern::Pattern;
use crate::process::{Files, LocalFuture, Output};
use crate::syntax::{List, Operation, Part, Word};
use std::rc::Rc;

/// How much one command line may become: characters, and fields twice. A shell that wants more has no memory for it.
pub(crate) const ROOM: usize = 1 << 20;

/// Characters with their quotedness.
type Chars = Vec<(char, bool)>;

/// Fields in the making.
#[derive(Default)]
struct Fields {
    done: Vec<Chars>,
    current: Chars,
    /// Whether the current field stands even if it is empty.
    open: bool,
    /// What they have grown to; beyond the room nothing is kept.
    size: usize,
}

impl Fields {
    fn text(&mut self, text: &str, quoted: bool) {
        self.open |= quoted || !text.is_empty();
        if self.grow(text.len()) {
            self.current.extend(text.chars().map(|c| (c, quoted)));
        }
    }
    fn cut(&mut self) {
        if self.open && self.grow(2) {
            self.done.push(std::mem::take(&mut self.current));
        }
        self.open = false;
    }
    /// Whether there is room for so much more.
    fn grow(&mut self, more: usize) -> bool {
        self.size = self.size.saturating_add(more);
        self.size <= ROOM
    }
    fn fit(&self, shell: &Shell) -> Result<(), String> {
        if self.size <= ROOM { Ok(()) } else { Err(shell.out_of_memory(self.size)) }
    }
    /// Adds the result of an unquoted expansion, split at `ifs`.
    fn split(&mut self, text: &str, ifs: &str) {
        if !self.grow(text.len()) {
            return;
        }
        let white = |c: char| ifs.contains(c) && c.is_whitespace();
        let mut after_white = false;
        for c in text.chars() {
            if white(c) {
                if !after_white {
                    self.cut();
                }
                after_white = true;
            } else if ifs.contains(c) {
                self.open = true;
                self.cut();
                after_white = true;
            } else {
                self.open = true;
                self.current.push((c, false));
                after_white = false;
            }
        }
    }
}

/// The fields that words become.
pub(crate) async fn fields(shell: &mut Shell, words: &[Word], io: &Io) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut size = 0;
    for word in words {
        let mut room = ROOM / 16;
        let choices = braces(word, &mut room);
        if room == 0 {
            return Err(shell.out_of_memory(ROOM));
        }
        for word in choices {
            let mut fields = Fields { size, ..Fields::default() };
            expand(shell, &word, io, &mut fields, true).await?;
            fields.cut();
            fields.fit(shell)?;
            size = fields.size;
            for field in fields.done {
                all.extend(file_names(shell, field));
            }
        }
    }
    Ok(all)
}

/// A word as one text: for assignments, redirections, `case`.
pub(crate) async fn one(shell: &mut Shell, word: &Word, io: &Io) -> Result<String, String> {
    Ok(chars(shell, word, io).await?.into_iter().map(|(c, _)| c).collect())
}

/// A word as a pattern.
pub(crate) async fn pattern(shell: &mut Shell, word: &Word, io: &Io) -> Result<Pattern, String> {
    Ok(Pattern::new(chars(shell, word, io).await?))
}

async fn chars(shell: &mut Shell, word: &Word, io: &Io) -> Result<Chars, String> {
    let mut fields = Fields::default();
    expand(shell, word, io, &mut fields, false).await?;
    fields.fit(shell)?;
    let mut all = Chars::new();
    for mut field in fields.done {
        all.append(&mut field);
        all.push((' ', false));
    }
    all.append(&mut fields.current);
    Ok(all)
}

/// bash's `a{b,c}d` and `{1..3}` in unquoted text; fewer words where they are more than there is room for.
fn braces(word: &Word, room: &mut usize) -> Vec<Word> {
    for (i, part) in word.iter().enumerate() {
        let Part::Text(text, false) = part else { continue };
        let Some(choices) = text.find('{').and_then(|open| {
            let close = open + text.get(open..)?.find('}')?;
            let inside = text.get(open + 1..close)?;
            Some((text.get(..open)?, alternatives(inside)?, text.get(close + 1..)?))
        }) else {
            continue;
        };
        let (before, choices, after) = choices;
        let mut words = Vec::new();
        for choice in choices {
            let mut next: Word = word.get(..i).unwrap_or_default().to_vec();
            next.push(Part::Text(format!("{before}{choice}{after}"), false));
            next.extend_from_slice(word.get(i + 1..).unwrap_or_default());
            if *room == 0 {
                break;
            }
            words.extend(braces(&next, room));
        }
        return words;
    }
    *room = room.saturating_sub(1);
    vec![word.clone()]
}

fn alternatives(inside: &str) -> Option<Vec<String>> {
    if inside.contains(',') {
        return Some(inside.split(',').map(str::to_string).collect());
    }
    let (from, to) = inside.split_once("..")?;
    let (from, to) = (from.parse::<i64>().ok()?, to.parse::<i64>().ok()?);
    if from.abs_diff(to) > 10_000 {
        return None;
    }
    let up: Vec<String> = (from.min(to)..=from.max(to)).map(|n| n.to_string()).collect();
    Some(if from <= to { up } else { up.into_iter().rev().collect() })
}

fn expand<'a>(
    shell: &'a mut Shell,
    word: &'a Word,
    io: &'a Io,
    out: &'a mut Fields,
    split: bool,
) -> LocalFuture<'a, Result<(), String>> {
    Box::pin(async move {
        for (i, part) in word.iter().enumerate() {
            match part {
                Part::Text(text, false) if i == 0 && text.starts_with('~') => {
                    let home = shell.variables.get("HOME").cloned().unwrap_or_else(|| "/root".into());
                    match text.strip_prefix('~') {
                        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                            out.text(&home, true);
                            out.text(rest, false);
                        }
                        _ => out.text(text, false),
                    }
                }
                Part::Text(text, quoted) => out.text(text, *quoted),
                Part::Command(list, quoted) => {
                    let text = substitute(shell, list, io).await?;
                    put(shell, out, &text, *quoted, split);
                }
                Part::Arithmetic(inner, quoted) => {
                    let text = one(shell, inner, io).await?;
                    let value = arithmetic::evaluate(&text, &mut shell.variables)?;
                    put(shell, out, &value.to_string(), *quoted, split);
                }
                Part::Parameter { name, op, quoted } => parameter(shell, name, op, *quoted, io, out, split).await?,
            }
        }
        Ok(())
    })
}

fn put(shell: &Shell, out: &mut Fields, text: &str, quoted: bool, split: bool) {
    if quoted || !split {
        out.text(text, quoted);
    } else {
        let ifs = shell.variables.get("IFS").map_or("", String::as_str);
        out.split(text, ifs);
    }
}

fn value(shell: &Shell, name: &str) -> Option<String> {
    Some(match name {
        "?" => shell.status.to_string(),
        "#" => shell.positional.len().to_string(),
        "$" => shell.signals.id().to_string(),
        "!" => return shell.variables.get("!").cloned(),
        "-" => String::new(),
        "0" => shell.name.clone(),
        "@" | "*" => return (!shell.positional.is_empty()).then(|| shell.positional.join(" ")),
        "RANDOM" => shell.random().to_string(),
        digits if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            return shell.positional.get(digits.parse::<usize>().ok()?.checked_sub(1)?).cloned();
        }
        _ => return shell.variables.get(name).cloned(),
    })
}

async fn parameter(
    shell: &mut Shell,
    name: &str,
    op: &Operation,
    quoted: bool,
    io: &Io,
    out: &mut Fields,
    split: bool,
) -> Result<(), String> {
    if matches!(op, Operation::Plain) && name == "@" && split {
        let positional = shell.positional.clone();
        for (i, argument) in positional.iter().enumerate() {
            if i > 0 {
                out.cut();
            }
            put(shell, out, argument, quoted, split);
        }
        return Ok(());
    }
    let current = value(shell, name);
    let missing = |colon: bool| current.as_deref().is_none_or(|v| colon && v.is_empty());
    let text = match op {
        Operation::Plain => {
            if current.is_none() && shell.nounset && !"@*".contains(name) {
                return Err(format!("{name}: unbound variable"));
            }
            current.unwrap_or_default()
        }
        Operation::Length if name == "@" || name == "*" => shell.positional.len().to_string(),
        Operation::Length => current.unwrap_or_default().chars().count().to_string(),
        Operation::Default(colon, word) => {
            if missing(*colon) {
                return nested(shell, word, quoted, io, out, split).await;
            }
            current.unwrap_or_default()
        }
        Operation::Alternative(colon, word) => {
            if !missing(*colon) {
                return nested(shell, word, quoted, io, out, split).await;
            }
            String::new()
        }
        Operation::Assign(colon, word) => {
            if missing(*colon) {
                let value = one(shell, word, io).await?;
                shell.assign(name, value.clone())?;
                value
            } else {
                current.unwrap_or_default()
            }
        }
        Operation::Error(colon, word) => {
            if missing(*colon) {
                let words = one(shell, word, io).await?;
                let words = if words.is_empty() { "parameter null or not set".into() } else { words };
                return Err(format!("{name}: {words}"));
            }
            current.unwrap_or_default()
        }
        Operation::Prefix(longest, word) => {
            let chars: Vec<char> = current.unwrap_or_default().chars().collect();
            let pattern = pattern(shell, word, io).await?;
            let cut = pattern.beginning(&chars, *longest).unwrap_or(0);
            chars.get(cut..).unwrap_or_default().iter().collect()
        }
        Operation::Suffix(longest, word) => {
            let chars: Vec<char> = current.unwrap_or_default().chars().collect();
            let pattern = pattern(shell, word, io).await?;
            let backwards: Vec<char> = chars.iter().rev().copied().collect();
            let cut = pattern.backwards().beginning(&backwards, *longest).unwrap_or(0);
            chars.get(..chars.len() - cut).unwrap_or_default().iter().collect()
        }
        Operation::Replace(all, word, with) => {
            let pattern = pattern(shell, word, io).await?;
            let with = one(shell, with, io).await?;
            replace(&current.unwrap_or_default(), &pattern, &with, *all)
        }
    };
    put(shell, out, &text, quoted, split);
    Ok(())
}

async fn nested(
    shell: &mut Shell,
    word: &Word,
    quoted: bool,
    io: &Io,
    out: &mut Fields,
    split: bool,
) -> Result<(), String> {
    if quoted {
        let text = one(shell, word, io).await?;
        out.text(&text, true);
        return Ok(());
    }
    expand(shell, word, io, out, split).await
}

fn replace(text: &str, pattern: &Pattern, with: &str, all: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let (mut at, mut over) = (0, false);
    while at < chars.len() && out.len() <= ROOM {
        let found = if over { Err(true) } else { pattern.beginning(chars.get(at..).unwrap_or_default(), true) };
        match found {
            Ok(taken) if taken > 0 => {
                out.push_str(with);
                at += taken;
                over = !all;
            }
            _ => {
                over |= found == Err(true);
                out.extend(chars.get(at));
                at += 1;
            }
        }
    }
    out
}

async fn substitute(shell: &mut Shell, list: &Rc<List>, io: &Io) -> Result<String, String> {
    let buffer = Rc::new(crate::process::Buffer::default());
    let mut inner = shell.fork().await?;
    let own = Io { stdin: io.stdin.clone(), stdout: buffer.clone() as Rc<dyn Output>, stderr: io.stderr.clone() };
    inner.list(list, &own).await;
    inner.finish(&own).await;
    shell.status = inner.status;
    let text = String::from_utf8_lossy(&buffer.take()).into_owned();
    Ok(text.trim_end_matches('\n').to_string())
}

/// A field with its pattern characters matched against files; itself where none match.
fn file_names(shell: &Shell, field: Chars) -> Vec<String> {
    let plain: String = field.iter().map(|(c, _)| c).collect();
    if !field.iter().any(|(c, quoted)| !quoted && "*?[".contains(*c)) {
        return vec![plain];
    }
    let absolute = plain.starts_with('/');
    let parts: Vec<Chars> = field.split(|(c, _)| *c == '/').filter(|p| !p.is_empty()).map(<[_]>::to_vec).collect();
    let mut found = vec![if absolute { "/".to_string() } else { String::new() }];
    for part in parts {
        let name: String = part.iter().map(|(c, _)| c).collect();
        let pattern = Pattern::new(part);
        let mut next = Vec::new();
        for base in found {
            let path =
                |name: &str| format!("{base}{}{name}", if base.is_empty() || base.ends_with('/') { "" } else { "/" });
            let full = |p: &str| crate::process::clean(&shell.cwd, p);
            if pattern.is_literal() {
                if shell.files.metadata(&full(&path(&name))).is_ok() {
                    next.push(path(&name));
                }
                continue;
            }
            let names = shell.files.list(&full(&base)).unwrap_or_default();
            let hidden = name.starts_with('.');
            let fits = |n: &&String| (hidden || !n.starts_with('.')) && pattern.matches_str(n);
            next.extend(names.iter().filter(fits).map(|n| path(n)));
        }
        found = next;
    }
    if found.is_empty() { vec![plain] } else { found }
}

impl Shell {
    /// `$RANDOM`: a new draw at each use.
    fn random(&self) -> u32 {
        self.ctx.rng("RANDOM").below(32_768)
    }
    /// The files, for tools that run inside the shell.
    pub fn files(&self) -> &Rc<dyn Files> {
        &self.files
    }
}
