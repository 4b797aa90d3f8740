//! The program `tabernetes`: plays transcripts against a simulated cluster and measures it.

pub mod bench;
pub mod disk_files;
pub mod frames;
pub mod page_shell;
pub mod player;
pub mod shim;
pub mod transcript;
