use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// One stream of seeded randomness. Streams are split by name, so that a new one shifts nobody else's draws.
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream called `name` of the world seeded with `seed`.
    pub fn split(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, stretched by SplitMix64: the key differs in all its bits for names that differ in one.
        let mut state =
            name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
        let mut key = [0; 32];
        for chunk in key.chunks_exact_mut(8) {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(z ^ (z >> 31)).to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// A number below `n`, 0 if `n` is 0 (multiply and shift; the bias is below 2^-32 for the sizes in use).
    pub fn below(&mut self, n: u32) -> u32 {
        u32::try_from((u64::from(self.next_u32()) * u64::from(n)) >> 32).unwrap_or(0)
    }
    /// A position in a sequence of `len` elements; 0 if it is empty.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).unwrap_or(u32::MAX)) as usize
    }
    /// A number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.f64() < p
    }
    /// `n` characters drawn from `alphabet` (ASCII).
    pub fn token(&mut self, n: usize, alphabet: &str) -> String {
        let letters = alphabet.as_bytes();
        (0..n).filter_map(|_| letters.get(self.index(letters.len())).map(|&b| char::from(b))).collect()
    }
    /// A random (version 4) UUID in its usual spelling.
    pub fn uuid(&mut self) -> String {
        let a = self.next_u64();
        let b = self.next_u64();
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | ((b >> 48) & 0x3fff),
            b & 0xffff_ffff_ffff
        )
    }
    /// `bytes` random bytes as lower-case hexadecimal digits.
    pub fn hex(&mut self, bytes: usize) -> String {
        use std::fmt::Write;
        (0..bytes).fold(String::with_capacity(bytes * 2), |mut s, _| {
            let _ = write!(s, "{:02x}", self.next_u32() & 0xff);
            s
        })
    }
}
