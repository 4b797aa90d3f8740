//! `echo`

/// What it prints. `-n` leaves out the newline, `-e` reads escapes.
pub fn text(arguments: &[String]) -> Vec<u8> {
    let (mut newline, mut escapes) = (true, false);
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.peek() {
        let flags = word.strip_prefix('-').filter(|f| !f.is_empty() && f.chars().all(|c| "neE".contains(c)));
        let Some(flags) = flags else { break };
        newline &= !flags.contains('n');
        escapes |= flags.contains('e');
        words.next();
    }
    let line = words.map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut bytes = if escapes { super::printf::escapes(&line).0 } else { line.into_bytes() };
    if newline {
        bytes.push(b'\n');
    }
    bytes
}
