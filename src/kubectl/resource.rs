//! Small encodings that several verbs share.

use crate::value::Value;

/// Standard base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let six = (n >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= chunk.len() { ALPHABET.get(six).copied().map_or('=', char::from) } else { '=' });
        }
    }
    out
}

/// Bytes of standard base64; None when it is none.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut n, mut bits) = (0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        n = n << 6 | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((n >> bits & 255) as u8);
        }
    }
    Some(out)
}

/// A built-in object as its Go type writes it: fields that are never left out appear.
pub fn typed(object: &Value) -> Value {
    let Some(kind) = api::scheme::by_api_version(object.str("apiVersion"), object.str("kind")) else {
        return object.clone();
    };
    let mut made = kind.new_object();
    match api::json::from_value(&object.to_api(), &mut *made, false) {
        Ok(_) => {
            let mut out = Value::from(&api::json::to_value(&*made, None));
            out.set("apiVersion", object.str("apiVersion"));
            out.set("kind", object.str("kind"));
            out
        }
        Err(_) => object.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64() {
        for (raw, text) in [("", ""), ("h", "aA=="), ("hu", "aHU="), ("hun", "aHVu"), ("hunter2", "aHVudGVyMg==")] {
            assert_eq!(base64_encode(raw.as_bytes()), text);
            assert_eq!(base64_decode(text), Some(raw.as_bytes().to_vec()));
        }
    }
}
