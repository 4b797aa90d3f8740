//! The programs that come with the shell: one table, one file each.

pub mod echo;
pub mod printf;
pub mod test;
