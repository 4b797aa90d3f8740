//! `pod-template-hash` (`ComputeHash`): fnv-1a over a dump of the template, in letters that spell nothing.

use api::core_v1::PodTemplateSpec;

/// The hash of a template; `collision_count` gives another when a name is taken.
pub fn compute_hash(template: &PodTemplateSpec, collision_count: Option<i32>) -> String {
    let mut hash = Fnv32::new();
    hash.write(&api::json::encode_bare(template));
    if let Some(count) = collision_count {
        hash.write(&count.to_le_bytes());
        hash.write(&[0; 4]);
    }
    api::names::safe_encode(&hash.0.to_string())
}

/// 32-bit FNV-1a.
struct Fnv32(u32);

impl Fnv32 {
    fn new() -> Fnv32 {
        Fnv32(0x811c_9dc5)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}
