//! `test` and `[`

use crate::process::{Files, clean};

/// Whether the expression holds; or the complaint.
pub fn evaluate(words: &[String], files: &dyn Files, cwd: &str) -> Result<bool, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut test = Test { words: &words, at: 0, files, cwd };
    if words.is_empty() {
        return Ok(false);
    }
    if let [first, _] = words.as_slice()
        && *first != "!"
        && !(first.len() == 2 && first.starts_with('-'))
    {
        return Err(format!("{first}: unary operator expected"));
    }
    let value = test.or()?;
    match words.get(test.at) {
        None => Ok(value),
        Some(_) if words.len() == 3 => Err(format!("{}: binary operator expected", words.get(1).unwrap_or(&""))),
        Some(_) => Err("too many arguments".into()),
    }
}

struct Test<'a> {
    words: &'a [&'a str],
    at: usize,
    files: &'a dyn Files,
    cwd: &'a str,
}

impl Test<'_> {
    fn eat(&mut self, word: &str) -> bool {
        let fits = self.words.get(self.at) == Some(&word);
        self.at += usize::from(fits);
        fits
    }
    fn or(&mut self) -> Result<bool, String> {
        let mut value = self.and()?;
        while self.eat("-o") {
            value |= self.and()?;
        }
        Ok(value)
    }
    fn and(&mut self) -> Result<bool, String> {
        let mut value = self.primary()?;
        while self.eat("-a") {
            value &= self.primary()?;
        }
        Ok(value)
    }
    fn primary(&mut self) -> Result<bool, String> {
        let mut negated = false;
        while self.words.len() > self.at + 1 && self.binary().is_none() && self.eat("!") {
            negated = !negated;
        }
        Ok(self.simple()? != negated)
    }
    fn binary(&self) -> Option<&str> {
        let op = self.words.get(self.at + 1)?;
        let known = ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"].contains(op);
        (known && self.words.len() > self.at + 2).then_some(*op)
    }
    fn simple(&mut self) -> Result<bool, String> {
        let Some(&first) = self.words.get(self.at) else { return Err("argument expected".into()) };
        if let Some(op) = self.binary() {
            let right = self.words.get(self.at + 2).copied().unwrap_or_default();
            let number =
                |text: &str| text.trim().parse::<i64>().map_err(|_| format!("{text}: integer expression expected"));
            let value = match op {
                "=" | "==" => first == right,
                "!=" => first != right,
                "<" => first < right,
                ">" => first > right,
                "-eq" => number(first)? == number(right)?,
                "-ne" => number(first)? != number(right)?,
                "-lt" => number(first)? < number(right)?,
                "-le" => number(first)? <= number(right)?,
                "-gt" => number(first)? > number(right)?,
                _ => number(first)? >= number(right)?,
            };
            self.at += 3;
            return Ok(value);
        }
        if first == "(" && self.words.len() > self.at + 2 {
            self.at += 1;
            let value = self.or()?;
            return if self.eat(")") { Ok(value) } else { Err("`)' expected".into()) };
        }
        if let Some(&operand) = self.words.get(self.at + 1)
            && first.len() == 2
            && first.starts_with('-')
        {
            let found = || self.files.metadata(&clean(self.cwd, operand)).ok();
            let value = match first {
                "-z" => operand.is_empty(),
                "-n" => !operand.is_empty(),
                "-e" | "-r" | "-w" | "-h" | "-L" => found().is_some(),
                "-f" => found().is_some_and(|m| !m.directory),
                "-d" => found().is_some_and(|m| m.directory),
                "-s" => found().is_some_and(|m| m.size > 0),
                "-x" => found().is_some_and(|m| m.mode & 0o111 != 0),
                "-t" => false,
                _ => return Err(format!("{first}: unary operator expected")),
            };
            self.at += 2;
            return Ok(value);
        }
        self.at += 1;
        Ok(!first.is_empty())
    }
}
