//! The tree of commands: their words, flags and help, read from `commands.txt` and `help.txt`, which are kubectl's own.
//! The help is a table of its own, because nobody needs it to start.

use crate::flags::{Flag, Type};
use std::sync::LazyLock;

/// A command, or a group of them.
#[derive(Debug, Default)]
pub struct Command {
    /// Its words after `kubectl`, such as `rollout status`; empty for kubectl itself.
    pub path: &'static str,
    /// Other words for its last one.
    pub aliases: Vec<&'static str>,
    /// Words that mean it, for suggestions.
    pub suggest_for: Vec<&'static str>,
    /// What lists say about it.
    pub short: &'static str,
    /// Its line of usage after its words.
    usage: &'static str,
    /// Words that it takes as arguments, for completion.
    pub words: Vec<&'static str>,
    /// Its own flags, by name.
    pub flags: Vec<Flag>,
    /// Flags that must be given.
    pub required: Vec<&'static str>,
    /// Its subcommands, as positions in the tree.
    children: Vec<usize>,
}

/// All commands; the first is kubectl itself.
static TREE: LazyLock<Vec<Command>> = LazyLock::new(|| read(include_str!("commands.txt")));

/// kubectl itself. Its flags are those of every command.
pub fn root() -> &'static Command {
    static NONE: LazyLock<Command> = LazyLock::new(Command::default);
    TREE.first().unwrap_or(&NONE)
}

/// All commands, kubectl itself first.
pub fn all() -> &'static [Command] {
    &TREE
}

/// The command of these words.
pub fn find(path: &str) -> Option<&'static Command> {
    TREE.iter().find(|c| c.path == path)
}

impl Command {
    /// Its last word.
    pub fn name(&self) -> &'static str {
        self.path.rsplit(' ').next().unwrap_or("")
    }

    /// `kubectl rollout status`
    pub fn full_path(&self) -> String {
        if self.path.is_empty() { "kubectl".into() } else { format!("kubectl {}", self.path) }
    }

    /// Its subcommands, in the order in which suggestions name them.
    pub fn children(&self) -> impl Iterator<Item = &'static Command> + '_ {
        self.children.iter().filter_map(|i| TREE.get(*i))
    }

    /// The subcommand of a word.
    pub fn child(&self, word: &str) -> Option<&'static Command> {
        self.children().find(|c| c.name() == word || c.aliases.contains(&word))
    }

    /// A flag of its own or of every command.
    pub fn flag(&self, test: impl Fn(&Flag) -> bool) -> Option<&'static Flag> {
        let own: Option<&'static Flag> = TREE.iter().find(|c| c.path == self.path)?.flags.iter().find(|f| test(f));
        own.or_else(|| root().flags.iter().find(|f| test(f)))
    }

    /// What its help says above all else.
    pub fn long(&self) -> String {
        let text = self.help("long");
        unescape(if text.is_empty() { self.short } else { text }).trim().to_string()
    }

    /// Its examples; empty for none.
    pub fn example(&self) -> String {
        unescape(self.help("example")).trim_end().to_string()
    }

    /// A row of its help, escaped; empty for none.
    fn help(&self, row: &str) -> &'static str {
        let mut own = help().skip_while(|(name, path)| *name != "command" || *path != self.path).skip(1);
        own.by_ref()
            .take_while(|(name, _)| *name != "command")
            .find(|(name, _)| *name == row)
            .map_or("", |(_, text)| text)
    }

    /// Its line of usage, `kubectl get ... [options]`; empty for what does nothing.
    pub fn usage_line(&self) -> String {
        if self.usage.is_empty() { String::new() } else { format!("{} {}", self.full_path(), self.usage) }
    }
}

impl Flag {
    /// What help says about it, escaped.
    pub fn usage(&self) -> &'static str {
        let flags = help().skip_while(|(name, _)| *name != "flag").take_while(|(name, _)| *name == "flag");
        let mut rows = flags.filter_map(|(_, rest)| rest.split_once('\t'));
        rows.find(|(id, _)| *id == self.id).map_or("", |(_, usage)| usage)
    }
}

/// The rows of the help, with their names. Inlined, so that nothing names the text but what reads it: it is fetched with
/// that.
#[inline(always)]
fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("help.txt").lines().map(|line| line.split_once('\t').unwrap_or((line, "")))
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            (c, _) => out.push(c),
        }
    }
    out
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split(' ').filter(|w| !w.is_empty()).collect()
}

fn read(text: &'static str) -> Vec<Command> {
    let mut flags: Vec<(&'static str, Flag)> = Vec::new();
    let mut tree: Vec<Command> = Vec::new();
    for line in text.lines() {
        let (row, rest) = line.split_once('\t').unwrap_or((line, ""));
        if row == "flag" {
            flags.extend(read_flag(rest));
            continue;
        }
        if row == "command" {
            let at = tree.len();
            let parent = rest.rsplit_once(' ').map_or("", |(p, _)| p);
            if at > 0
                && let Some(p) = tree.iter_mut().find(|c| c.path == parent)
            {
                p.children.push(at);
            }
            tree.push(Command { path: rest, ..Command::default() });
            continue;
        }
        let Some(c) = tree.last_mut() else { continue };
        match row {
            "aliases" => c.aliases = words(rest),
            "suggest" => c.suggest_for = words(rest),
            "short" => c.short = rest,
            "use" => c.usage = rest,
            "words" => c.words = words(rest),
            "required" => c.required = words(rest),
            "flags" => {
                let find = |id: &str| flags.iter().find(|f| f.0 == id).map(|f| f.1);
                c.flags = words(rest).into_iter().filter_map(find).collect();
            }
            _ => {}
        }
    }
    tree
}

fn read_flag(row: &'static str) -> Option<(&'static str, Flag)> {
    let mut parts = row.splitn(7, '\t');
    let mut next = || parts.next();
    let id = next()?;
    let name = id.split('/').next().unwrap_or(id);
    let short = next()?.chars().next();
    let type_name = next()?;
    let default = next()?;
    let bare = Some(next()?).filter(|b| !b.is_empty());
    let hidden = next()? == "true";
    let deprecated = next()?;
    let kind = match type_name {
        "bool" | "tristate" => Type::Bool,
        "stringArray" => Type::StringArray,
        "stringSlice" => Type::StringSlice,
        "stringToString" => Type::Pairs,
        "int" | "int64" | "Level" => Type::Int,
        "int32" => Type::Int32,
        "duration" => Type::Duration,
        _ => Type::String,
    };
    Some((id, Flag { name, short, kind, quoted: type_name == "string", default, bare, hidden, deprecated, id }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_read() {
        assert!(all().len() > 100);
        let get = find("get").map(|c| (c.flags.len(), c.usage_line(), c.required.len()));
        assert!(get.is_some_and(|(n, usage, _)| n == 23 && usage.starts_with("kubectl get [(-o|--output=)")));
        assert_eq!(find("run").map(|c| c.required.clone()), Some(vec!["image"]));
        assert!(all().iter().all(|c| c.flags.windows(2).all(|w| matches!(w, [a, b] if a.name < b.name))));
    }

    /// Every help is kubectl's own, to the byte.
    #[test]
    fn help_is_kubectls() {
        let mut wrong = Vec::new();
        for c in all() {
            let text = crate::cmd::help::help(c);
            let hash =
                text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
            if c.help("help") != format!("{} {hash:016x}", text.len()) {
                wrong.push(c.path);
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
