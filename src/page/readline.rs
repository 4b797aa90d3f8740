//! The keys of a terminal's line as readline has them (its Emacs keys): moving, killing and yanking, and the search
//! backwards in the history.

/// A key that changes the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadKey {
    /// Ctrl+A, Home.
    Home,
    /// Ctrl+E, End.
    End,
    /// Ctrl+B.
    Left,
    /// Ctrl+F.
    Right,
    /// Alt+B, Ctrl+Left: to the beginning of the word.
    WordLeft,
    /// Alt+F, Ctrl+Right: to the end of the word.
    WordRight,
    /// Ctrl+K.
    KillEnd,
    /// Ctrl+U.
    KillStart,
    /// Ctrl+W: back to the last blank.
    KillWord,
    /// Alt+Backspace: back to the beginning of the word.
    KillWordLeft,
    /// Alt+D.
    KillWordRight,
    /// Ctrl+Y.
    Yank,
    /// Ctrl+H.
    Erase,
    /// Ctrl+D where the line is not empty.
    Delete,
    /// Ctrl+T: the two characters at the cursor change places.
    Transpose,
}

/// What killing has taken out; kills in a row are one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Kills {
    text: String,
    /// The last key killed too.
    again: bool,
}

impl Kills {
    /// Some other key: the next kill begins anew.
    pub fn done(&mut self) {
        self.again = false;
    }

    fn take(&mut self, text: &str, before: bool) {
        if !self.again {
            self.text.clear();
        }
        if before {
            self.text.insert_str(0, text);
        } else {
            self.text.push_str(text);
        }
        self.again = true;
    }
}

/// Where the word before `at` begins.
fn word_left(line: &str, at: usize) -> usize {
    let head = line.get(..at).unwrap_or_default();
    let end = head.trim_end_matches(|c: char| !c.is_alphanumeric());
    end.trim_end_matches(char::is_alphanumeric).len()
}

/// Where the word after `at` ends.
fn word_right(line: &str, at: usize) -> usize {
    let tail = line.get(at..).unwrap_or_default();
    let word = tail.trim_start_matches(|c: char| !c.is_alphanumeric());
    line.len() - word.trim_start_matches(char::is_alphanumeric).len()
}

/// Where the run of blanks and the word of others before `at` begin.
fn blank_left(line: &str, at: usize) -> usize {
    let head = line.get(..at).unwrap_or_default();
    head.trim_end().trim_end_matches(|c: char| !c.is_whitespace()).len()
}

/// The character before and after a place.
fn around(line: &str, at: usize) -> (usize, usize) {
    let before = line.get(..at).and_then(|s| s.chars().next_back()).map_or(0, char::len_utf8);
    let after = line.get(at..).and_then(|s| s.chars().next()).map_or(0, char::len_utf8);
    (at - before, at + after)
}

/// Does what the key does to the line and its cursor (a byte offset between two characters).
pub fn press(key: ReadKey, line: &mut String, cursor: &mut usize, kills: &mut Kills) {
    let at = *cursor;
    let (left, right) = around(line, at);
    let kill = match key {
        ReadKey::KillEnd => Some((at, line.len(), false)),
        ReadKey::KillStart => Some((0, at, true)),
        ReadKey::KillWord => Some((blank_left(line, at), at, true)),
        ReadKey::KillWordLeft => Some((word_left(line, at), at, true)),
        ReadKey::KillWordRight => Some((at, word_right(line, at), false)),
        _ => None,
    };
    if let Some((from, to, before)) = kill {
        let text: String = line.drain(from..to).collect();
        kills.take(&text, before);
        *cursor = from;
        return;
    }
    kills.done();
    *cursor = match key {
        ReadKey::Home => 0,
        ReadKey::End => line.len(),
        ReadKey::Left => left,
        ReadKey::Right => right,
        ReadKey::WordLeft => word_left(line, at),
        ReadKey::WordRight => word_right(line, at),
        ReadKey::Yank => {
            line.insert_str(at, &kills.text);
            at + kills.text.len()
        }
        ReadKey::Erase => {
            line.drain(left..at);
            left
        }
        ReadKey::Delete => {
            line.drain(at..right);
            at
        }
        ReadKey::Transpose => {
            // At the end of the line the two characters before it.
            let middle = if right == at { left } else { at };
            let (first, end) = around(line, middle);
            if first < middle && middle < end {
                let moved: String = line.drain(first..middle).collect();
                line.insert_str(end - moved.len(), &moved);
                end
            } else {
                at
            }
        }
        _ => at,
    };
}

/// A search backwards in the history.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// What is looked for.
    pub text: String,
    /// Which line of the history is shown.
    pub at: Option<usize>,
    /// Nothing (further) was found.
    pub failed: bool,
    /// The line and its cursor before the search.
    pub before: (String, usize),
}

impl Search {
    /// One that begins at this line.
    pub fn new(line: &str, cursor: usize) -> Search {
        Search { before: (line.to_string(), cursor), ..Search::default() }
    }

    /// Looks for the text in the line shown and older ones, or only in older ones.
    pub fn find(&mut self, history: &[String], older: bool) {
        let below = match self.at {
            Some(at) if older => at,
            Some(at) => at + 1,
            None => history.len(),
        };
        if self.text.is_empty() {
            return;
        }
        let found =
            history.get(..below.min(history.len())).and_then(|h| h.iter().rposition(|l| l.contains(&self.text)));
        self.failed = found.is_none();
        self.at = found.or(self.at);
    }

    /// The line that is shown, and where the text stands in it.
    pub fn line(&self, history: &[String]) -> (String, usize) {
        let Some(line) = self.at.and_then(|at| history.get(at)) else { return self.before.clone() };
        (line.clone(), line.rfind(&self.text).unwrap_or(line.len()))
    }

    /// What stands before the line meanwhile.
    pub fn prompt(&self) -> String {
        let failed = if self.failed { "failed " } else { "" };
        format!("({failed}reverse-i-search)`{}': ", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReadKey::*;

    /// Presses keys on a line whose cursor is `|`; what comes out, likewise.
    fn pressed(line: &str, keys: &[ReadKey]) -> String {
        let mut cursor = line.find('|').unwrap();
        let mut line = line.replacen('|', "", 1);
        let mut kills = Kills::default();
        for key in keys {
            press(*key, &mut line, &mut cursor, &mut kills);
        }
        line.insert(cursor, '|');
        line
    }

    // As bash 5.2 with readline 8.2 does.
    #[test]
    fn keys_do_what_readline_does() {
        for (line, keys, after) in [
            ("kubectl get| pods", &[Home][..], "|kubectl get pods"),
            ("kubectl| get", &[End], "kubectl get|"),
            ("a b|", &[Left, Left, Left, Left, Right], "a| b"),
            ("kubectl get pod/web-1|", &[WordLeft], "kubectl get pod/web-|1"),
            ("kubectl get pod/web-1|", &[WordLeft, WordLeft, WordLeft], "kubectl get |pod/web-1"),
            ("|kubectl get", &[WordRight, WordRight], "kubectl get|"),
            ("get pod/web-1  |", &[KillWord], "get |"),
            ("get pod/web-1|", &[KillWordLeft], "get pod/web-|"),
            ("|get pod", &[KillWordRight], "| pod"),
            ("ab|cd", &[KillEnd, Yank, Yank], "abcdcd|"),
            ("ab|cd", &[KillStart, End, Yank], "cdab|"),
            // Kills in a row come back together, in the line's order.
            ("a b| c", &[KillWord, KillWord, KillEnd, Yank], "a b c|"),
            ("one two|", &[KillWord, Home, KillEnd, Yank], "one |"),
            ("|", &[KillEnd, KillWord, Yank, Erase, Delete, Transpose, Left, WordLeft, WordRight], "|"),
            ("ab|c", &[Erase], "a|c"),
            ("ab|c", &[Delete], "ab|"),
            ("ab|c", &[Transpose], "acb|"),
            ("abc|", &[Transpose], "acb|"),
            ("가 나|다", &[Left, Transpose, KillWord], "|다"),
        ] {
            assert_eq!(pressed(line, keys), after, "{line} {keys:?}");
        }
    }

    #[test]
    fn the_history_is_searched_backwards() {
        let history: Vec<String> =
            ["kubectl get pods", "ls", "kubectl get nodes"].iter().map(ToString::to_string).collect();
        let mut search = Search::new("draft", 2);
        search.text.push_str("get");
        search.find(&history, false);
        assert_eq!(search.line(&history), ("kubectl get nodes".into(), 8));
        search.find(&history, true);
        assert_eq!(search.line(&history), ("kubectl get pods".into(), 8));
        search.find(&history, true);
        assert_eq!(search.prompt(), "(failed reverse-i-search)`get': ");
        assert_eq!(search.line(&history).0, "kubectl get pods");
        search.text = "nothing".into();
        search.at = None;
        search.find(&history, false);
        assert_eq!(search.line(&history), ("draft".into(), 2));
    }
}
