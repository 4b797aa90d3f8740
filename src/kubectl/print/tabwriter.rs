//! Go's `text/tabwriter` as kubectl uses it (with liggitt/tabwriter's remembered widths).
//!
//! Cells are ended by tabs; the last cell of a line is never padded. A column is a run of
//! consecutive lines that have a tab-ended cell in that position.

/// How columns are padded.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Least width of a column, padding included.
    pub min_width: usize,
    /// Spaces after the widest cell of a column.
    pub padding: usize,
    /// Keep the widths of what was flushed before, so that later lines stay aligned.
    pub remember: bool,
}

/// `printers.GetNewTabWriter`: tables of `kubectl get`.
pub const TABLE: Layout = Layout { min_width: 6, padding: 3, remember: true };
/// `describe`'s writer.
pub const DESCRIBE: Layout = Layout { min_width: 0, padding: 2, remember: false };

/// Collects lines and aligns them when flushed.
#[derive(Debug)]
pub struct TabWriter {
    layout: Layout,
    lines: Vec<Vec<String>>,
    remembered: Vec<usize>,
}

impl TabWriter {
    /// An empty writer.
    pub fn new(layout: Layout) -> Self {
        TabWriter { layout, lines: vec![vec![String::new()]], remembered: Vec::new() }
    }

    /// Appends text; `\t` ends a cell, `\n` a line.
    pub fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['\t', '\n', '\u{b}', '\u{c}']) {
            let (head, tail) = rest.split_at(at);
            self.append(head);
            let is_line = tail.starts_with('\n') || tail.starts_with('\u{c}');
            rest = tail.get(1..).unwrap_or("");
            if is_line {
                self.lines.push(vec![String::new()]);
            } else if let Some(line) = self.lines.last_mut() {
                line.push(String::new());
            }
        }
        self.append(rest);
    }

    fn append(&mut self, text: &str) {
        if let Some(cell) = self.lines.last_mut().and_then(|l| l.last_mut()) {
            cell.push_str(text);
        }
    }

    /// Forgets the remembered widths.
    pub fn forget(&mut self) {
        self.remembered.clear();
    }

    /// Aligns and returns what was written since the last flush.
    pub fn flush(&mut self) -> String {
        let lines = std::mem::replace(&mut self.lines, vec![vec![String::new()]]);
        let mut out = String::new();
        let mut widths = Vec::new();
        self.format(&lines, 0, lines.len(), &mut widths, &mut out);
        out
    }

    fn format(&mut self, lines: &[Vec<String>], from: usize, to: usize, widths: &mut Vec<usize>, out: &mut String) {
        let column = widths.len();
        let mut printed = from;
        let mut at = from;
        let has = |i: usize| lines.get(i).is_some_and(|l| column + 1 < l.len());
        while at < to {
            if !has(at) {
                at += 1;
                continue;
            }
            write_lines(lines, printed, at, widths, out);
            printed = at;
            let mut width = self.layout.min_width;
            while at < to && has(at) {
                let cell = lines.get(at).and_then(|l| l.get(column)).map_or(0, |c| c.chars().count());
                width = width.max(cell + self.layout.padding);
                at += 1;
            }
            if self.layout.remember {
                for w in widths.iter().skip(self.remembered.len()) {
                    self.remembered.push(*w);
                }
                match self.remembered.get_mut(column) {
                    None => self.remembered.push(width),
                    Some(old) => {
                        width = width.max(*old);
                        *old = width;
                    }
                }
            }
            widths.push(width);
            self.format(lines, printed, at, widths, out);
            widths.pop();
            printed = at;
        }
        write_lines(lines, printed, to, widths, out);
    }
}

fn write_lines(lines: &[Vec<String>], from: usize, to: usize, widths: &[usize], out: &mut String) {
    for i in from..to {
        let Some(line) = lines.get(i) else { continue };
        for (j, cell) in line.iter().enumerate() {
            out.push_str(cell);
            if let Some(width) = widths.get(j) {
                for _ in cell.chars().count()..*width {
                    out.push(' ');
                }
            }
        }
        if i + 1 < lines.len() {
            out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_columns() {
        let mut w = TabWriter::new(TABLE);
        w.write("NAME\tREADY\tAGE\nweb\t3/3\t1s\n");
        assert_eq!(w.flush(), "NAME   READY   AGE\nweb    3/3     1s\n");
        w.write("a\tb\tc\n");
        assert_eq!(w.flush(), "a      b       c\n");
    }

    #[test]
    fn blocks_are_separate() {
        let mut w = TabWriter::new(DESCRIBE);
        w.write("Name:\tx\nLong name:\ty\nTitle\nA:\tz\n");
        assert_eq!(w.flush(), "Name:       x\nLong name:  y\nTitle\nA:  z\n");
    }

    #[test]
    fn inner_columns_align_by_run() {
        let mut w = TabWriter::new(DESCRIBE);
        w.write("  a:\tb\n  Limits:\n    cpu:\t1\n    memory:\t2\n  Env:\t<none>\n");
        assert_eq!(w.flush(), "  a:  b\n  Limits:\n    cpu:     1\n    memory:  2\n  Env:       <none>\n");
    }
}
