//! The transcripts' format: comments, commands, and what they printed.

/// A piece of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A line that starts with `#`.
    Comment(String),
    /// A command with the lines of its here-document, and its output without blank lines at the end.
    Command {
        /// What is run.
        command: String,
        /// What it printed, `[exit N]` included where N is not 0.
        output: String,
    },
}

/// The word that ends the here-document which `line` opens.
fn here_document(line: &str) -> Option<&str> {
    let mut rest = line;
    while let Some(at) = rest.find("<<") {
        rest = rest.get(at + 2..)?;
        let word = rest.strip_prefix('-').unwrap_or(rest).trim_start();
        let quote = word.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let word = quote.and_then(|q| word.strip_prefix(q)).unwrap_or(word);
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        if !word.is_empty() && quote.is_none_or(|q| after.starts_with(q)) {
            return Some(word);
        }
    }
    None
}

/// Reads a transcript.
pub fn parse(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut printed: Vec<&str> = Vec::new();
    let flush = |parts: &mut Vec<Part>, printed: &mut Vec<&str>| {
        if let Some(Part::Command { output, .. }) = parts.last_mut() {
            *output = printed.join("\n").trim_end().to_string();
        }
        printed.clear();
    };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(first) = line.strip_prefix("$ ") {
            flush(&mut parts, &mut printed);
            let mut command = first.to_string();
            if let Some(end) = here_document(line) {
                for line in lines.by_ref() {
                    command.push('\n');
                    command.push_str(line);
                    if line.trim() == end {
                        break;
                    }
                }
            }
            parts.push(Part::Command { command, output: String::new() });
        } else if line.starts_with('#') {
            flush(&mut parts, &mut printed);
            parts.push(Part::Comment(line.to_string()));
        } else {
            printed.push(line);
        }
    }
    flush(&mut parts, &mut printed);
    parts
}

/// Writes a transcript.
pub fn render(parts: &[Part]) -> String {
    let mut text = String::new();
    let mut after_comment = true;
    for part in parts {
        match part {
            Part::Comment(line) => {
                if !after_comment {
                    text.push('\n');
                }
                after_comment = true;
                text.push_str(line);
                text.push('\n');
            }
            Part::Command { command, output } => {
                if !text.is_empty() {
                    text.push('\n');
                }
                after_comment = false;
                text.push_str("$ ");
                text.push_str(command);
                text.push('\n');
                if !output.is_empty() {
                    text.push_str(output);
                    text.push('\n');
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_back() {
        let text = "# one\n# two\n\n$ cat <<'E' | wc -l\na\n# b\nE\n2\n\n$ true\n\n# three\n\n$ false\n[exit 1]\n";
        let parts = parse(text);
        assert_eq!(parts.len(), 6);
        assert_eq!(
            parts.get(2),
            Some(&Part::Command { command: "cat <<'E' | wc -l\na\n# b\nE".into(), output: "2".into() })
        );
        assert_eq!(render(&parts), text);
    }
}
