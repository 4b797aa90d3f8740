//! Aliases: the first word of a command, unquoted, is replaced by what it stands for before the command is read
//! (POSIX.1-2024, Shell Command Language, 2.3.1).

use super::Parser;
use std::collections::BTreeMap;

/// Names and what they stand for.
pub type Aliases = BTreeMap<String, String>;

/// Replacements in one text at most, and characters that a text may grow to: aliases may double each other.
const MOST: usize = 100;
const LONGEST: usize = 1 << 16;

/// What has been replaced in a text.
pub(super) struct Expansion<'a> {
    pub known: &'a Aliases,
    /// Replacements that are being read, with their ends: a name is not replaced in its own text.
    open: Vec<(String, usize)>,
    /// Where the text of an alias ends that ends in a blank: the word that follows may be one too.
    blank_end: Option<usize>,
    count: usize,
}

impl<'a> Expansion<'a> {
    pub fn new(known: &'a Aliases) -> Self {
        Self { known, open: Vec::new(), blank_end: None, count: 0 }
    }
}

impl Parser<'_> {
    /// Replaces the word that stands here, and what it becomes, as long as that is an alias.
    pub(super) fn expand_alias(&mut self) {
        while !self.aliases.known.is_empty() && self.aliases.count < MOST && self.text.len() < LONGEST {
            self.aliases.open.retain(|(_, end)| *end > self.at);
            let word = self.bare_word();
            let end = self.at + word.chars().count();
            // A quoted word stands for itself.
            if self.text.get(end).is_some_and(|c| "\"'`$\\".contains(*c)) {
                return;
            }
            if self.aliases.open.iter().any(|(name, _)| *name == word) {
                return;
            }
            let Some(value) = self.aliases.known.get(&word) else { return };
            let blank = value.ends_with([' ', '\t']);
            let value: Vec<char> = value.chars().collect();
            let (from, length) = (self.at, value.len());
            self.text.splice(from..end, value);
            for (_, other) in &mut self.aliases.open {
                *other = *other - (end - from) + length;
            }
            self.aliases.open.push((word, from + length));
            if blank {
                self.aliases.blank_end = Some(from + length);
            }
            self.aliases.count += 1;
            self.blanks();
        }
    }

    /// Whether the word that stands here is the first after an alias that ends in a blank.
    pub(super) fn follows_alias(&mut self) -> bool {
        self.aliases.blank_end.take_if(|end| *end <= self.at).is_some()
    }
}
