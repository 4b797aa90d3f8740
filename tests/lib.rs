//! What the tests that cross rooms share.

pub mod known;
pub mod program;
pub mod transcript;

use std::path::{Path, PathBuf};

/// The repository's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}
