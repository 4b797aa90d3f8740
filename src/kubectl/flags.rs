//! Flags as spf13/pflag parses them, with its words for mistakes.

use crate::print::human::{parse_duration, quote};
use std::collections::BTreeMap;

/// What a flag holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// true or false; without a value it is true.
    Bool,
    /// Text; the last one given counts.
    String,
    /// Text, each occurrence one element.
    StringArray,
    /// Comma-separated text, occurrences added up.
    StringSlice,
    /// A decimal, octal or hexadecimal integer of 32 bits.
    Int32,
    /// The same of 64 bits.
    Int,
    /// Go's duration text.
    Duration,
    /// `key=value` pairs, comma-separated, occurrences added up.
    Pairs,
}

/// One flag of a command.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The long name, without dashes.
    pub name: &'static str,
    /// The one-letter name.
    pub short: Option<char>,
    /// What it holds.
    pub kind: Type,
    /// Its value when not given.
    pub default: &'static str,
    /// Its value when given without `=value` (pflag's NoOptDefVal).
    pub bare: Option<&'static str>,
    /// Help shows its default in quotes.
    pub quoted: bool,
    /// Help does not show it.
    pub hidden: bool,
    /// What its use is told; empty for flags in good standing.
    pub deprecated: &'static str,
    /// Its row in the table of flags: its name, and a number where commands differ in it.
    pub id: &'static str,
}

/// Parsed flags and what was left.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    values: BTreeMap<&'static str, Vec<String>>,
    defaults: BTreeMap<&'static str, &'static str>,
    /// Arguments that are no flags.
    pub args: Vec<String>,
    /// How many of `args` stood before `--`.
    pub dash: Option<usize>,
    /// `-h` or `--help` was given.
    pub help: bool,
    /// What is told about deprecated flags.
    pub notices: Vec<String>,
    /// The flags as they were given, ` --name=value` each (`parseCommandArguments`).
    pub given: String,
}

impl Parsed {
    /// Whether the flag was given.
    pub fn changed(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// The flag's text, its default when not given.
    pub fn str(&self, name: &str) -> &str {
        match self.values.get(name).and_then(|v| v.last()) {
            Some(v) => v,
            None => self.defaults.get(name).copied().unwrap_or(""),
        }
    }

    /// A bool flag.
    pub fn bool(&self, name: &str) -> bool {
        parse_bool(self.str(name)) == Ok(true)
    }

    /// An integer flag; 0 when it is none.
    pub fn int(&self, name: &str) -> i64 {
        parse_int(self.str(name), 64).unwrap_or(0)
    }

    /// A duration in nanoseconds.
    pub fn duration(&self, name: &str) -> i64 {
        parse_duration(self.str(name)).unwrap_or(0)
    }

    /// All elements of a list flag.
    pub fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(v) => v.clone(),
            None => match self.defaults.get(name) {
                Some(d) => {
                    let inner = d.trim_start_matches('[').trim_end_matches(']');
                    inner.split(',').filter(|e| !e.is_empty()).map(String::from).collect()
                }
                None => Vec::new(),
            },
        }
    }

    /// Sets a flag as if it had been given.
    pub fn set(&mut self, name: &'static str, value: &str) {
        self.values.insert(name, vec![value.to_string()]);
    }
}

/// Go's `strconv.ParseInt(s, 0, bits)` with its error text.
pub fn parse_int(text: &str, bits: u32) -> Result<i64, String> {
    let syntax = || format!("strconv.ParseInt: parsing {}: invalid syntax", quote(text));
    let range = || format!("strconv.ParseInt: parsing {}: value out of range", quote(text));
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or("")),
        Some(b'+') => (false, text.get(1..).unwrap_or("")),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, body) = if let Some(r) = lower.strip_prefix("0x") {
        (16, r)
    } else if let Some(r) = lower.strip_prefix("0b") {
        (2, r)
    } else if let Some(r) = lower.strip_prefix("0o") {
        (8, r)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, lower.get(1..).unwrap_or(""))
    } else {
        (10, lower.as_str())
    };
    if body.is_empty() || !body.chars().all(|c| c.is_digit(radix)) {
        return Err(syntax());
    }
    let value = i128::from_str_radix(body, radix).map_err(|_| range())?;
    let value = if negative { -value } else { value };
    let limit = 1i128 << (bits - 1);
    if value >= limit || value < -limit {
        return Err(range());
    }
    i64::try_from(value).map_err(|_| range())
}

/// Go's `strconv.ParseUint(s, 10, 16)` with its error text.
pub fn parse_port(text: &str) -> Result<i64, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    let parsed = text.parse::<u16>().ok().filter(|_| digits);
    parsed.map(i64::from).ok_or_else(|| format!("strconv.ParseUint: parsing {}: {why}", quote(text)))
}

/// `strconv.ParseBool`; the error is Go's.
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text))),
    }
}

fn check(kind: Type, text: &str) -> Result<(), String> {
    match kind {
        Type::Bool => parse_bool(text).map(|_| ()),
        Type::Int32 => parse_int(text, 32).map(|_| ()),
        Type::Int => parse_int(text, 64).map(|_| ()),
        Type::Duration => parse_duration(text).map(|_| ()),
        Type::Pairs => match split_csv(text).iter().find(|p| !p.contains('=')) {
            Some(p) => Err(format!("{p} must be formatted as key=value")),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Parses `argv` with the flags of `sets`. The error is pflag's text.
pub fn parse(sets: &[&[Flag]], argv: &[String]) -> Result<Parsed, String> {
    let mut parsed = Parsed::default();
    for f in sets.iter().flat_map(|s| s.iter()) {
        // The command's own flags come first.
        parsed.defaults.entry(f.name).or_insert(f.default);
    }
    let by_name = |name: &str| sets.iter().flat_map(|s| s.iter()).find(|f| f.name == name);
    let by_short = |c: char| sets.iter().flat_map(|s| s.iter()).find(|f| f.short == Some(c));
    let mut rest = argv.iter();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            parsed.dash = Some(parsed.args.len());
            parsed.args.extend(rest.by_ref().cloned());
            break;
        }
        if let Some(body) = arg.strip_prefix("--") {
            let (name, value) = match body.split_once('=') {
                Some((n, v)) => (n, Some(v)),
                None => (body, None),
            };
            if name.is_empty() || name.starts_with('-') {
                return Err(format!("bad flag syntax: {arg}"));
            }
            let name = name.replace('_', "-");
            let Some(f) = by_name(&name) else {
                if name == "help" {
                    parsed.help = value.is_none_or(|v| v == "true");
                    continue;
                }
                return Err(format!("unknown flag: --{name}"));
            };
            let value = match (value, f.bare) {
                (Some(v), _) => v.to_string(),
                (None, Some(bare)) => bare.to_string(),
                (None, None) => match rest.next() {
                    Some(v) => v.clone(),
                    None => return Err(format!("flag needs an argument: --{name}")),
                },
            };
            set(&mut parsed, f, value)?;
        } else if arg.len() > 1 && arg.starts_with('-') {
            let mut shorts = arg.get(1..).unwrap_or("");
            while let Some(c) = shorts.chars().next() {
                let after = shorts.get(c.len_utf8()..).unwrap_or("");
                let Some(f) = by_short(c) else {
                    if c == 'h' {
                        parsed.help = true;
                        shorts = after;
                        continue;
                    }
                    return Err(format!("unknown shorthand flag: {} in -{shorts}", quote_rune(c)));
                };
                let value = if let Some(v) = after.strip_prefix('=').filter(|_| after.len() > 1) {
                    shorts = "";
                    v.to_string()
                } else if let Some(bare) = f.bare {
                    shorts = after;
                    bare.to_string()
                } else if !after.is_empty() {
                    shorts = "";
                    after.to_string()
                } else {
                    let Some(v) = rest.next() else {
                        return Err(format!("flag needs an argument: {} in -{shorts}", quote_rune(c)));
                    };
                    shorts = "";
                    v.clone()
                };
                set(&mut parsed, f, value)?;
            }
        } else {
            parsed.args.push(arg.clone());
        }
    }
    Ok(parsed)
}

fn quote_rune(c: char) -> String {
    format!("'{c}'")
}

fn set(parsed: &mut Parsed, f: &Flag, value: String) -> Result<(), String> {
    if let Err(why) = check(f.kind, &value) {
        let name = match f.short {
            Some(c) => format!("-{c}, --{}", f.name),
            None => format!("--{}", f.name),
        };
        return Err(format!("invalid argument {} for {} flag: {why}", quote(&value), quote(&name)));
    }
    if !f.deprecated.is_empty() && !parsed.values.contains_key(f.name) {
        parsed.notices.push(format!("Flag --{} has been deprecated, {}\n", f.name, f.deprecated));
    }
    for part in [" --", f.name, "=", &value] {
        parsed.given.push_str(part);
    }
    let slot = parsed.values.entry(f.name).or_default();
    match f.kind {
        Type::StringArray => slot.push(value),
        Type::StringSlice | Type::Pairs => {
            if !value.is_empty() {
                slot.extend(split_csv(&value));
            }
        }
        _ => *slot = vec![value],
    }
    Ok(())
}

/// The fields of one CSV line, as pflag's StringSlice reads it.
fn split_csv(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted || field.is_empty() => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    out.push(field);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn flag(name: &'static str, kind: Type, default: &'static str) -> Flag {
        let bare = if matches!(kind, Type::Bool) { Some("true") } else { None };
        Flag { name, short: None, kind, default, bare, quoted: false, hidden: false, deprecated: "", id: name }
    }
    const fn short(mut f: Flag, c: char) -> Flag {
        f.short = Some(c);
        f
    }
    const FLAGS: &[Flag] = &[
        short(flag("watch", Type::Bool, "false"), 'w'),
        short(flag("selector", Type::String, ""), 'l'),
        flag("replicas", Type::Int32, "0"),
        flag("timeout", Type::Duration, "0s"),
        short(flag("filename", Type::StringSlice, ""), 'f'),
        short(flag("stdin", Type::Bool, "false"), 'i'),
        short(flag("tty", Type::Bool, "false"), 't'),
        Flag { bare: Some("background"), ..flag("cascade", Type::String, "background") },
    ];

    fn go(args: &[&str]) -> Result<Parsed, String> {
        let argv: Vec<String> = args.iter().map(|s| s.to_string()).collect();
        parse(&[FLAGS], &argv)
    }

    #[test]
    fn forms() {
        let p = go(&["pods", "-lapp=web", "-it", "--replicas=3", "x", "--", "-w", "y"]).unwrap_or_default();
        assert_eq!(p.str("selector"), "app=web");
        assert!(p.bool("stdin") && p.bool("tty") && !p.bool("watch"));
        assert_eq!(p.int("replicas"), 3);
        assert_eq!(p.args, ["pods", "x", "-w", "y"]);
        assert_eq!(p.dash, Some(2));
        let p = go(&["-f", "a,b", "-f=c", "-"]).unwrap_or_default();
        assert_eq!(p.list("filename"), ["a", "b", "c"]);
        assert_eq!(p.args, ["-"]);
        assert_eq!(p.str("cascade"), "background");
    }

    #[test]
    fn mistakes() {
        for (args, want) in [
            (&["--nonsense"][..], "unknown flag: --nonsense"),
            (&["-z"], "unknown shorthand flag: 'z' in -z"),
            (&["-wz"], "unknown shorthand flag: 'z' in -z"),
            (&["--selector"], "flag needs an argument: --selector"),
            (&["-l"], "flag needs an argument: 'l' in -l"),
            (
                &["--replicas=x"],
                "invalid argument \"x\" for \"--replicas\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
            ),
            (
                &["-w=maybe"],
                "invalid argument \"maybe\" for \"-w, --watch\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
            (&["--timeout=5"], "invalid argument \"5\" for \"--timeout\" flag: time: missing unit in duration \"5\""),
            (&["--=x"], "bad flag syntax: --=x"),
        ] {
            assert_eq!(go(args).err().as_deref(), Some(want));
        }
    }
}
