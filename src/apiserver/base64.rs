//! Base64 in the URL alphabet, without padding, as tokens and continue keys have it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes bytes.
pub fn encode_url(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..=chunk.len() {
            let index = (word >> (18 - 6 * i)) & 63;
            out.push(char::from(ALPHABET.get(index as usize).copied().unwrap_or(b'A')));
        }
    }
    out
}

/// Decodes; none for anything that isn't the encoding of bytes. Padding is let through.
pub fn decode_url(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let mut word = 0u32;
    let mut bits = 0;
    for byte in text.trim_end_matches('=').bytes() {
        let value = ALPHABET.iter().position(|letter| *letter == byte)?;
        word = word << 6 | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits & 255) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_there_and_back() {
        for text in ["", "a", "ab", "abc", "{\"v\":\"meta.k8s.io/v1\"}", "\u{0}ÿ?"] {
            assert_eq!(decode_url(&encode_url(text.as_bytes())).as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(encode_url(b"sub?>"), "c3ViPz4");
        assert_eq!(decode_url("*"), None);
    }
}
