//! Go's `[]byte`, which is base64 in JSON.
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

/// Go `[]byte`, nil and empty apart.
#[derive(Clone, Default)]
pub struct Bytes {
    data: Option<Rc<[u8]>>,
}

impl Bytes {
    /// Whether it is nil.
    pub fn is_nil(&self) -> bool {
        self.data.is_none()
    }
    /// The standard base64 form, padded.
    pub fn to_base64(&self) -> String {
        base64(self)
    }
}
impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.data.as_deref().unwrap_or(&[])
    }
}
impl From<&[u8]> for Bytes {
    fn from(b: &[u8]) -> Self {
        Bytes { data: Some(Rc::from(b)) }
    }
}
impl From<Vec<u8>> for Bytes {
    fn from(b: Vec<u8>) -> Self {
        Bytes { data: Some(Rc::from(b)) }
    }
}
impl From<&str> for Bytes {
    fn from(s: &str) -> Self {
        s.as_bytes().into()
    }
}
impl PartialEq for Bytes {
    fn eq(&self, o: &Self) -> bool {
        **self == **o
    }
}
impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_base64())
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub fn base64(data: &[u8]) -> String {
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for c in data.chunks(3) {
        let at = |i: usize| u32::from(c.get(i).copied().unwrap_or(0));
        let n = at(0) << 16 | at(1) << 8 | at(2);
        for k in 0..4 {
            out.push(if k > c.len() { '=' } else { char::from(ALPHABET[(n >> (18 - 6 * k) & 63) as usize]) });
        }
    }
    out
}

/// Decodes standard base64 as Go's `base64.StdEncoding` does: newlines are skipped, padding is wanted.
///
/// # Errors
/// The offset of the byte that is wrong, for Go's `illegal base64 data at input byte N`.
pub fn unbase64(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut quad = [0u8; 4];
    let mut p = 0;
    loop {
        // One quantum of four characters.
        let mut j = 0;
        while j < 4 {
            let Some(&c) = text.get(p) else {
                return if j == 0 { Ok(out) } else { Err(p - j) };
            };
            p += 1;
            let v = match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'\n' | b'\r' => continue,
                b'=' => return padding(text, p, j, quad, out),
                _ => return Err(p - 1),
            };
            quad[j] = v;
            j += 1;
        }
        let n = u32::from(quad[0]) << 18 | u32::from(quad[1]) << 12 | u32::from(quad[2]) << 6 | u32::from(quad[3]);
        out.extend_from_slice(&n.to_be_bytes()[1..]);
    }
}

/// The last quantum: `p` is behind the first `=`, `j` characters came before it.
fn padding(text: &[u8], mut p: usize, j: usize, quad: [u8; 4], mut out: Vec<u8>) -> Result<Vec<u8>, usize> {
    let skip = |p: &mut usize| {
        while matches!(text.get(*p), Some(b'\n' | b'\r')) {
            *p += 1
        }
    };
    if j < 2 {
        return Err(p - 1);
    }
    if j == 2 {
        skip(&mut p);
        match text.get(p) {
            None => return Err(text.len()),
            Some(b'=') => p += 1,
            Some(_) => return Err(p - 1),
        }
    }
    skip(&mut p);
    if p < text.len() {
        return Err(p);
    }
    out.push(quad[0] << 2 | quad[1] >> 4);
    if j == 3 {
        out.push(quad[1] << 4 | quad[2] >> 2);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_round_trip() {
        for s in ["", "f", "fo", "foo", "foob", "fooba", "foobar"] {
            assert_eq!(unbase64(base64(s.as_bytes()).as_bytes()).as_deref(), Ok(s.as_bytes()));
        }
        assert_eq!(base64(b"fo"), "Zm8=");
        assert_eq!(unbase64(b"%%%"), Err(0));
        assert_eq!(unbase64(b"Zm8"), Err(0));
        assert_eq!(unbase64(b"Zm8=x"), Err(4));
    }
}
