//! `base64`

use super::{complain, options, read_all, say, unknown_option};
use crate::Dialect;
use crate::process::{LocalFuture, Process};
use sim::Ctx;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes in lines of 76 (`-w N`, 0: one line); `-d` decodes.
pub fn run(_: Ctx, mut process: Process, dialect: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        for word in process.args.iter_mut().filter(|w| *w == "--decode") {
            *word = "-d".to_string();
        }
        let (found, names) = match options(&process, "di", "w") {
            Ok(read) => read,
            Err(letter) => return unknown_option(&process, dialect, "base64", letter, 1).await,
        };
        let (files, failed) = read_all(&process, dialect, "base64", &names).await;
        if failed {
            return 1;
        }
        let bytes: Vec<u8> = files.iter().flat_map(|(_, b)| b.iter().copied()).collect();
        if found.iter().any(|(o, _)| *o == 'd') {
            let (out, good) = decode(&bytes);
            if let Err(code) = say(&process, &out).await {
                return code;
            }
            if !good {
                complain(&process, "base64: invalid input").await;
            }
            return i32::from(!good);
        }
        let width = found.iter().rfind(|(o, _)| *o == 'w').and_then(|(_, w)| w.parse().ok()).unwrap_or(76);
        let text = encode(&bytes);
        let mut out = Vec::new();
        if width == 0 {
            out = text;
        } else {
            for line in text.chunks(width) {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
        }
        say(&process, &out).await.err().unwrap_or(0)
    })
}

fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = ALPHABET.get((word >> (18 - 6 * i) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if i <= chunk.len() { letter } else { b'=' });
        }
    }
    out
}

fn decode(text: &[u8]) -> (Vec<u8>, bool) {
    let (mut out, mut word, mut bits) = (Vec::new(), 0u32, 0);
    for byte in text.iter().filter(|b| !b.is_ascii_whitespace() && **b != b'=') {
        let Some(value) = ALPHABET.iter().position(|a| a == byte).and_then(|v| u32::try_from(v).ok()) else {
            return (out, false);
        };
        word = word << 6 | value;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(word >> bits & 0xff).unwrap_or(0));
        }
    }
    (out, bits < 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (plain, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(encode(plain.as_bytes()), text.as_bytes());
            assert_eq!(decode(text.as_bytes()), (plain.as_bytes().to_vec(), true));
        }
        assert!(!decode(b"Z!").1);
    }
}
