//! Lines of bytes, as most programs take them.

/// The lines without their newlines; a last line without one counts too.
pub fn of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|b| *b == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Lines put together, each ended by a newline.
pub fn join<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    for line in lines {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    out
}
