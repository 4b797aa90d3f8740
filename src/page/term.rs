//! The terminal's state: what was printed, the line being typed, history, completion, and the queue of pasted lines.

use crate::readline::{self, Kills, ReadKey, Search};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::rc::Rc;
use view::{Completions, Stream, ToWorld};

/// Lines kept for scrolling back.
pub const MAX_LINES: usize = 3000;
/// Commands kept in the history.
pub const MAX_HISTORY: usize = 500;
/// Lines of a paste that may wait; what is beyond is refused with a note.
pub const MAX_QUEUE: usize = 500;
/// Characters of one printed line; the rest is cut off with a mark, so that no line can freeze the page.
pub const MAX_WIDTH: usize = 4000;

/// A printed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Rises; the key of its element.
    pub number: u64,
    /// What it is.
    pub kind: LineKind,
    /// The text without its newline.
    pub text: String,
}

impl Line {
    /// A row of a table: columns stand at least three blanks apart. It is not wrapped, so that columns stay columns.
    pub fn is_row(&self) -> bool {
        self.kind == LineKind::Out && self.text.trim().contains("   ")
    }
}

/// Kinds of printed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A command after `$ `.
    Command,
    /// A further line of a command after `> `.
    More,
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// The page's own: `[exit 1]`, `^C`.
    Note,
}

/// What is offered at the cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Popup {
    /// Where a candidate goes in.
    pub from: usize,
    /// The candidates.
    pub candidates: Vec<view::Candidate>,
    /// The one that is chosen.
    pub chosen: usize,
}

/// The terminal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Terminal {
    lines: VecDeque<Line>,
    printed: u64,
    /// The last printed line is still open (no newline came yet), and of which kind.
    open: Option<LineKind>,
    running: Option<Running>,
    partial: String,
    queue: VecDeque<Waiting>,
    history: Vec<String>,
    /// Lines typed to the program that runs (a shell in a container): its own history.
    typed: Vec<String>,
    at_history: Option<usize>,
    draft: String,
    kills: Kills,
    search: Option<Search>,
    /// The line being typed.
    pub line: String,
    /// Byte offset of the cursor in it.
    pub cursor: usize,
    /// Rises with every key that moves the cursor: the field's own has to follow.
    pub moved: u32,
    next_id: u32,
    asked: u32,
    /// The completions on offer.
    pub popup: Option<Popup>,
    /// The file that the running command opened in the editor.
    pub file: Option<File>,
}

/// A file in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    id: u32,
    /// Where it is.
    pub path: Rc<str>,
    /// Its text as it is now.
    pub text: Rc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    id: u32,
    text: String,
    /// It waits for what is typed.
    reads: bool,
    /// The reader wanted its end: if it turns out to need more lines, it gets none.
    interrupted: bool,
}

/// What waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Waiting {
    /// A typed line: for the running command once it reads, otherwise the next command.
    Line(String),
    /// Ctrl+D: the same, but no command.
    End,
    /// A command of the page's own (a fault's line, a remedy): never for the running one.
    Command(String),
}

impl Terminal {
    /// What was printed, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }

    /// A command runs.
    pub fn busy(&self) -> bool {
        self.running.is_some()
    }

    /// What stands before the line: `$ `, `> ` for a further line, what a running command has written on it.
    pub fn prompt(&self) -> Cow<'_, str> {
        if let Some(search) = &self.search {
            search.prompt().into()
        } else if self.running.is_some() {
            self.open_line().map_or("", |line| &line.text).into()
        } else if self.partial.is_empty() {
            "$ ".into()
        } else {
            "> ".into()
        }
    }

    /// The history is being searched: keys go there.
    pub fn searching(&self) -> bool {
        self.search.is_some()
    }

    /// What was typed before to whom it is typed now.
    fn history(&self) -> &[String] {
        if self.reader().is_some() { &self.typed } else { &self.history }
    }

    /// The running command, if it waits for what is typed.
    fn reader(&self) -> Option<u32> {
        self.running.as_ref().filter(|r| r.reads).map(|r| r.id)
    }

    /// A key of the line editor.
    pub fn press(&mut self, key: ReadKey) {
        self.search = None;
        self.popup = None;
        self.asked = 0;
        self.cursor = floor(&self.line, self.cursor);
        self.moved = self.moved.wrapping_add(1);
        readline::press(key, &mut self.line, &mut self.cursor, &mut self.kills);
    }

    /// Ctrl+R: begins a search in the history, or goes on to an older line.
    pub fn search(&mut self) {
        self.popup = None;
        let mut search = self.search.take();
        match &mut search {
            Some(search) => search.find(self.history(), true),
            None => search = Some(Search::new(&self.line, self.cursor)),
        }
        self.search = search;
        self.show_found();
    }

    /// A character for the search, or none: its last is taken back.
    pub fn look_for(&mut self, c: Option<char>) {
        let Some(mut search) = self.search.take() else { return };
        match c {
            Some(c) => search.text.push(c),
            None => {
                search.text.pop();
                search.at = None;
                search.failed = false;
            }
        }
        search.find(self.history(), false);
        self.search = Some(search);
        self.show_found();
    }

    /// Ends the search; the line it found stays, or that of before comes back.
    pub fn end_search(&mut self, keep: bool) {
        if let Some(search) = self.search.take()
            && !keep
        {
            (self.line, self.cursor) = search.before;
        }
    }

    fn show_found(&mut self) {
        if let Some(search) = &self.search {
            (self.line, self.cursor) = search.line(self.history());
            self.at_history = None;
        }
    }

    /// The line that a running command began and did not end: the reader types after it.
    pub fn open_line(&self) -> Option<&Line> {
        self.lines.back().filter(|_| self.running.is_some() && self.open.is_some())
    }

    /// The reader typed: the line is now this.
    pub fn edit(&mut self, line: String, cursor: usize) {
        self.cursor = floor(&line, cursor);
        self.line = line;
        self.popup = None;
        self.asked = 0;
        self.search = None;
        self.kills.done();
    }

    /// Enter.
    pub fn submit(&mut self) -> Vec<ToWorld> {
        self.search = None;
        self.kills.done();
        let line = std::mem::take(&mut self.line);
        self.cursor = 0;
        self.popup = None;
        self.at_history = None;
        if let Some(id) = self.reader() {
            return vec![self.hand_on(id, &line)];
        }
        if self.running.is_some() {
            self.enqueue(Waiting::Line(line));
            return Vec::new();
        }
        self.enter(line)
    }

    /// The running command begins or ceases to wait for what is typed: it gets what was typed ahead.
    pub fn reading(&mut self, id: u32, waits: bool) -> Vec<ToWorld> {
        match &mut self.running {
            Some(running) if running.id == id => running.reads = waits,
            _ => return Vec::new(),
        }
        self.pump()
    }

    /// What a command that ends did not read is typed for the next one.
    pub fn unread(&mut self, id: u32, text: &str) {
        if self.running.as_ref().is_some_and(|r| r.id == id) {
            for line in text.lines().rev() {
                self.queue.push_front(Waiting::Line(line.to_string()));
            }
        }
    }

    /// A typed line goes to the command that reads it.
    fn hand_on(&mut self, id: u32, line: &str) -> ToWorld {
        remember(&mut self.typed, line);
        self.print(self.open.unwrap_or(LineKind::Out), &format!("{line}\n"));
        ToWorld::Stdin { id, text: format!("{line}\n") }
    }

    /// A command from elsewhere on the page (a fault's line, a remedy): as if typed.
    pub fn run(&mut self, line: &str) -> Vec<ToWorld> {
        if self.running.is_some() || !self.partial.is_empty() {
            self.enqueue(Waiting::Command(line.to_string()));
            return Vec::new();
        }
        self.enter(line.to_string())
    }

    /// A paste at the cursor. Every full line is run in turn; what follows the last newline stays to be edited.
    pub fn paste(&mut self, text: &str) -> Vec<ToWorld> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let cursor = floor(&self.line, self.cursor);
        let mut whole = self.line[..cursor].to_string();
        whole.push_str(&text);
        let rest = self.line[cursor..].to_string();
        let mut lines: Vec<String> = whole.split('\n').map(str::to_string).collect();
        let last = lines.pop().unwrap_or_default();
        self.cursor = last.len();
        self.line = last + &rest;
        self.popup = None;
        for line in lines {
            self.enqueue(Waiting::Line(line));
        }
        self.pump()
    }

    /// Ctrl+C.
    pub fn interrupt(&mut self) -> Option<ToWorld> {
        self.end_search(false);
        self.at_history = None;
        self.popup = None;
        self.queue.clear();
        if let Some(running) = &mut self.running {
            running.interrupted = true;
            let id = running.id;
            if running.reads {
                // Whoever reads it ends the line.
                let line = std::mem::take(&mut self.line);
                self.cursor = 0;
                self.print(self.open.unwrap_or(LineKind::Out), &format!("{line}^C"));
            } else {
                self.print(LineKind::Note, "^C\n");
            }
            return Some(ToWorld::Interrupt { id });
        }
        let line = std::mem::take(&mut self.line);
        let kind = if self.partial.is_empty() { LineKind::Command } else { LineKind::More };
        self.print(kind, &format!("{line}^C\n"));
        self.cursor = 0;
        self.partial.clear();
        None
    }

    /// Ctrl+L.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.open = None;
    }

    /// Ctrl+D on an empty line: end of input for the running command, now or as soon as it reads.
    pub fn end_of_input(&mut self) -> Option<ToWorld> {
        if let Some(id) = self.reader().filter(|_| self.line.is_empty()) {
            return Some(ToWorld::Stdin { id, text: String::new() });
        }
        if self.running.is_some() && self.line.is_empty() {
            self.enqueue(Waiting::End);
        }
        None
    }

    /// Up.
    pub fn older(&mut self) {
        self.end_search(true);
        let at = match self.at_history {
            None if self.history().is_empty() => return,
            None => {
                self.draft = self.line.clone();
                self.history().len() - 1
            }
            Some(at) => at.saturating_sub(1),
        };
        self.show_history(Some(at));
    }

    /// Down.
    pub fn newer(&mut self) {
        let Some(at) = self.at_history else { return };
        self.show_history((at + 1 < self.history().len()).then_some(at + 1));
    }

    fn show_history(&mut self, at: Option<usize>) {
        self.at_history = at;
        self.line = match at {
            Some(at) => self.history().get(at).cloned().unwrap_or_default(),
            None => std::mem::take(&mut self.draft),
        };
        self.cursor = self.line.len();
        self.popup = None;
    }

    /// Tab: ask the world, or take what is chosen.
    pub fn tab(&mut self) -> Option<ToWorld> {
        self.end_search(true);
        if self.popup.is_some() {
            self.take();
            return None;
        }
        if self.running.is_some() {
            return None;
        }
        self.next_id = self.next_id.wrapping_add(1);
        self.asked = self.next_id;
        Some(ToWorld::Complete { id: self.asked, line: self.line.clone(), cursor: self.cursor as u32 })
    }

    /// The world's answer: one candidate goes in at once, several are offered after their common beginning.
    pub fn completions(&mut self, answer: Completions) {
        if answer.id != self.asked || self.asked == 0 {
            return;
        }
        self.asked = 0;
        let from = floor(&self.line, (answer.from as usize).min(self.cursor));
        let mut popup = Popup { from, candidates: answer.candidates, chosen: 0 };
        match popup.candidates.len() {
            0 => {}
            1 => {
                self.popup = Some(popup);
                self.take();
            }
            _ => {
                let common = common_start(&popup.candidates);
                if common.len() > self.cursor - from && common.starts_with(&self.line[from..self.cursor]) {
                    self.replace(from, &common);
                }
                popup.from = from;
                self.popup = Some(popup);
            }
        }
    }

    /// Moves the choice among what is offered.
    pub fn choose(&mut self, down: bool) {
        if let Some(popup) = &mut self.popup {
            let n = popup.candidates.len().max(1);
            popup.chosen = if down { (popup.chosen + 1) % n } else { (popup.chosen + n - 1) % n };
        }
    }

    /// Takes the candidate with this number.
    pub fn take_nth(&mut self, n: usize) {
        if let Some(popup) = &mut self.popup {
            popup.chosen = n;
        }
        self.take();
    }

    /// Takes the chosen candidate.
    pub fn take(&mut self) {
        let Some(popup) = self.popup.take() else { return };
        let Some(candidate) = popup.candidates.get(popup.chosen) else { return };
        let mut text = candidate.text.clone();
        if candidate.closed && !self.line[floor(&self.line, self.cursor)..].starts_with(' ') {
            text.push(' ');
        }
        self.replace(popup.from, &text);
    }

    /// What the chosen candidate would add after the cursor.
    pub fn ghost(&self) -> &str {
        let Some(popup) = &self.popup else { return "" };
        let Some(candidate) = popup.candidates.get(popup.chosen) else { return "" };
        if self.cursor != self.line.len() {
            return "";
        }
        let typed = self.line.get(popup.from..self.cursor).unwrap_or("");
        candidate.text.strip_prefix(typed).unwrap_or("")
    }

    fn replace(&mut self, from: usize, text: &str) {
        let cursor = floor(&self.line, self.cursor);
        let from = floor(&self.line, from.min(cursor));
        self.line.replace_range(from..cursor, text);
        self.cursor = from + text.len();
    }

    /// A chunk of output.
    pub fn output(&mut self, stream: Stream, text: &str) {
        let kind = match stream {
            Stream::Out => LineKind::Out,
            Stream::Err => LineKind::Err,
        };
        // A terminal's lines also return to their start, and so does a prompt that is drawn anew.
        let text = text.replace("\r\n", "\n");
        for (i, part) in text.split('\r').enumerate() {
            if i > 0 && self.open == Some(kind) && !part.is_empty() {
                self.lines.pop_back();
                self.open = None;
            }
            if !part.is_empty() {
                self.print(kind, part);
            }
        }
    }

    /// The command ended.
    pub fn exit(&mut self, id: u32, code: u8) -> Vec<ToWorld> {
        if self.running.as_ref().is_none_or(|r| r.id != id) {
            return Vec::new();
        }
        self.running = None;
        self.file = None;
        self.open = None;
        self.typed.clear();
        self.at_history = None;
        self.search = None;
        if code != 0 {
            self.print(LineKind::Note, &format!("[exit {code}]\n"));
        }
        self.pump()
    }

    /// The running command opens a file in the editor.
    pub fn open_file(&mut self, id: u32, path: &str, text: &str) {
        if self.running.as_ref().is_some_and(|r| r.id == id) {
            self.popup = None;
            self.file = Some(File { id, path: path.into(), text: text.into() });
        }
    }

    /// The file's text is now this.
    pub fn change_file(&mut self, text: &str) {
        if let Some(file) = &mut self.file {
            file.text = text.into();
        }
    }

    /// The reader is done with the file.
    pub fn leave_file(&mut self, save: bool) -> Option<ToWorld> {
        let file = self.file.take()?;
        Some(ToWorld::Edited { id: file.id, text: save.then(|| file.text.to_string()) })
    }

    /// The command needs more lines.
    pub fn incomplete(&mut self, id: u32) -> Vec<ToWorld> {
        match self.running.take_if(|r| r.id == id) {
            Some(running) if running.interrupted => {}
            Some(running) => self.partial = running.text,
            None => return Vec::new(),
        }
        self.pump()
    }

    /// The world is gone: nothing runs any more.
    pub fn reset(&mut self) {
        self.running = None;
        self.file = None;
        self.partial.clear();
        self.queue.clear();
        self.popup = None;
        self.open = None;
    }

    fn enqueue(&mut self, what: Waiting) {
        if self.queue.len() < MAX_QUEUE {
            self.queue.push_back(what);
        } else if self.queue.len() == MAX_QUEUE {
            self.print(LineKind::Note, &format!("[more than {MAX_QUEUE} lines wait: the rest was left out]\n"));
        }
    }

    /// Runs what waits until a command is under way; one that reads gets what was typed.
    fn pump(&mut self) -> Vec<ToWorld> {
        let mut out = Vec::new();
        while self.running.is_none() {
            match self.queue.pop_front() {
                Some(Waiting::Line(line) | Waiting::Command(line)) => out.extend(self.enter(line)),
                Some(Waiting::End) => {}
                None => break,
            }
        }
        if let Some(id) = self.reader() {
            for what in std::mem::take(&mut self.queue) {
                match what {
                    Waiting::Line(line) => out.push(self.hand_on(id, &line)),
                    Waiting::End => out.push(ToWorld::Stdin { id, text: String::new() }),
                    Waiting::Command(_) => self.queue.push_back(what),
                }
            }
        }
        out
    }

    fn enter(&mut self, line: String) -> Vec<ToWorld> {
        let kind = if self.partial.is_empty() { LineKind::Command } else { LineKind::More };
        if kind == LineKind::Command && line.trim() == "clear" {
            remember(&mut self.history, &line);
            self.clear();
            return self.pump();
        }
        self.print(kind, &format!("{line}\n"));
        if kind == LineKind::Command && line.trim().is_empty() {
            return self.pump();
        }
        if kind == LineKind::Command {
            remember(&mut self.history, &line);
        }
        let mut text = std::mem::take(&mut self.partial);
        text.push_str(&line);
        text.push('\n');
        self.next_id = self.next_id.wrapping_add(1);
        self.running = Some(Running { id: self.next_id, text: text.clone(), reads: false, interrupted: false });
        vec![ToWorld::Command { id: self.next_id, text }]
    }

    fn print(&mut self, kind: LineKind, text: &str) {
        for (i, part) in text.split('\n').enumerate() {
            if i > 0 {
                self.open = None;
            }
            if part.is_empty() && i > 0 && text.split('\n').nth(i + 1).is_none() {
                break; // the text ended with a newline
            }
            match (self.open == Some(kind), self.lines.back_mut()) {
                (true, Some(line)) => push_bounded(&mut line.text, part),
                _ => {
                    self.printed += 1;
                    let mut line = Line { number: self.printed, kind, text: String::new() };
                    push_bounded(&mut line.text, part);
                    self.lines.push_back(line);
                    if self.lines.len() > MAX_LINES {
                        self.lines.pop_front();
                    }
                }
            }
            self.open = Some(kind);
        }
    }
}

/// Adds a line to a history.
fn remember(history: &mut Vec<String>, line: &str) {
    let line = line.trim();
    if line.is_empty() || history.last().is_some_and(|l| l == line) {
        return;
    }
    if history.len() >= MAX_HISTORY {
        history.remove(0);
    }
    history.push(line.to_string());
}

fn push_bounded(line: &mut String, part: &str) {
    let room = MAX_WIDTH.saturating_sub(line.len());
    if part.len() <= room {
        line.push_str(part);
    } else if room > 0 {
        line.push_str(&part[..floor(part, room)]);
        line.push('…');
        while line.len() < MAX_WIDTH {
            line.push(' ');
        }
    }
}

/// The next border of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn common_start(candidates: &[view::Candidate]) -> String {
    let mut common: &str = candidates.first().map_or("", |c| &c.text);
    for candidate in candidates {
        let same = common
            .char_indices()
            .zip(candidate.text.chars())
            .find(|((_, a), b)| a != b)
            .map_or(common.len().min(candidate.text.len()), |((i, _), _)| i);
        common = &common[..floor(common, same)];
    }
    common.to_string()
}

#[cfg(test)]
mod tests;
