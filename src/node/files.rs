//! The file tree of a node's disk, and a container's view of it: its own root, with volumes mounted over it.
//!
//! A tree is on the disk: it outlives every process of the node. Trees are bounded by [`TREE_BYTES`] and
//! [`TREE_ENTRIES`]; writing over that fails as a full disk does.

use api::SortSmall;
pub use shell::process::clean;
use shell::process::{FileError, Files, Metadata};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Bytes of content that a tree holds at most.
pub const TREE_BYTES: usize = 16 << 20;
/// Files and directories that a tree holds at most.
pub const TREE_ENTRIES: usize = 20_000;

/// What stands at a path.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A regular file and its permission bits.
    File(Rc<[u8]>, u32),
    /// A directory and its permission bits.
    Dir(u32),
}

/// A tree of files, by absolute path.
#[derive(Default)]
pub struct Tree {
    entries: RefCell<BTreeMap<String, Entry>>,
    bytes: std::cell::Cell<usize>,
}

fn parent(path: &str) -> Option<&str> {
    let at = path.rfind('/')?;
    (path.len() > 1).then_some(if at == 0 { "/" } else { path.get(..at).unwrap_or("/") })
}

impl Tree {
    /// An empty tree.
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// What stands at `path` (cleaned).
    pub fn get(&self, path: &str) -> Option<Entry> {
        if path == "/" {
            return Some(Entry::Dir(0o755));
        }
        self.entries.borrow().get(path).cloned()
    }

    /// Makes the directory and those above it.
    pub fn make_dirs(&self, path: &str, mode: u32) -> Result<(), FileError> {
        match self.get(path) {
            Some(Entry::Dir(_)) => return Ok(()),
            Some(Entry::File(..)) => return Err(FileError::NotDirectory),
            None => {}
        }
        if let Some(up) = parent(path) {
            self.make_dirs(up, 0o755)?;
        }
        self.insert(path, Entry::Dir(mode))
    }

    /// Writes a whole file, making the directories above it.
    pub fn put(&self, path: &str, content: &[u8], mode: u32) -> Result<(), FileError> {
        if let Some(up) = parent(path) {
            self.make_dirs(up, 0o755)?;
        }
        self.insert(path, Entry::File(content.into(), mode))
    }

    /// Puts an entry whose parent is there.
    pub fn insert(&self, path: &str, entry: Entry) -> Result<(), FileError> {
        let mut entries = self.entries.borrow_mut();
        let new = size(Some(&entry));
        let old = size(entries.get(path));
        let total = self.bytes.get().saturating_sub(old).saturating_add(new);
        if total > TREE_BYTES || (entries.len() >= TREE_ENTRIES && !entries.contains_key(path)) {
            return Err(FileError::NoSpace);
        }
        self.bytes.set(total);
        entries.insert(path.to_string(), entry);
        Ok(())
    }

    /// Removes one file or empty directory.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        if matches!(self.get(path).ok_or(FileError::NotFound)?, Entry::Dir(_)) && !self.list(path)?.is_empty() {
            return Err(FileError::NotEmpty);
        }
        if let Some(gone) = self.entries.borrow_mut().remove(path) {
            self.bytes.set(self.bytes.get().saturating_sub(size(Some(&gone))));
        }
        Ok(())
    }

    /// Removes a path and all below it.
    pub fn remove_all(&self, path: &str) {
        let below = format!("{}/", path.trim_end_matches('/'));
        let mut entries = self.entries.borrow_mut();
        let gone: Vec<String> = std::iter::once(path.to_string())
            .filter(|p| entries.contains_key(p))
            .chain(entries.range(below.clone()..).take_while(|(p, _)| p.starts_with(&below)).map(|(p, _)| p.clone()))
            .collect();
        for path in gone {
            if let Some(entry) = entries.remove(&path) {
                self.bytes.set(self.bytes.get().saturating_sub(size(Some(&entry))));
            }
        }
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        match self.get(path).ok_or(FileError::NotFound)? {
            Entry::File(..) => Err(FileError::NotDirectory),
            Entry::Dir(_) => {
                let below = format!("{}/", path.trim_end_matches('/'));
                let entries = self.entries.borrow();
                let within = entries.range(below.clone()..).take_while(|(p, _)| p.starts_with(&below));
                Ok(within
                    .filter_map(|(p, _)| p.get(below.len()..))
                    .filter(|n| !n.contains('/'))
                    .map(str::to_string)
                    .collect())
            }
        }
    }
}

fn size(entry: Option<&Entry>) -> usize {
    match entry {
        Some(Entry::File(content, _)) => content.len(),
        _ => 0,
    }
}

/// A directory or file of the node's disk at a place in a container.
#[derive(Clone)]
pub struct Mount {
    /// Where in the container.
    pub path: String,
    /// Whose files.
    pub source: Rc<Tree>,
    /// Where in them.
    pub source_path: String,
    /// Whether writing is refused.
    pub read_only: bool,
}

/// What a container sees: its root and its mounts.
pub struct View {
    root: Rc<Tree>,
    read_only_root: bool,
    mounts: Vec<Mount>,
}

impl View {
    /// The root with mounts over it.
    pub fn new(root: Rc<Tree>, read_only_root: bool, mut mounts: Vec<Mount>) -> Self {
        // The longest path first, so that a mount within a mount is found.
        mounts.sort_small_by(|a, b| b.path.len().cmp(&a.path.len()).then_with(|| a.path.cmp(&b.path)));
        Self { root, read_only_root, mounts }
    }

    fn resolve(&self, path: &str) -> (&Rc<Tree>, String, bool) {
        for mount in &self.mounts {
            if let Some(rest) = path.strip_prefix(mount.path.as_str()).filter(|r| r.is_empty() || r.starts_with('/')) {
                return (&mount.source, clean("/", &format!("{}{rest}", mount.source_path)), mount.read_only);
            }
        }
        (&self.root, path.to_string(), self.read_only_root)
    }

    /// What stands at `path` (absolute and clean).
    pub fn stat(&self, path: &str) -> Result<Entry, FileError> {
        let (tree, at, _) = self.resolve(path);
        let below = format!("{}/", path.trim_end_matches('/'));
        let above_mount = || self.mounts.iter().any(|m| m.path.starts_with(&below)).then_some(Entry::Dir(0o755));
        tree.get(&at).or_else(above_mount).ok_or(FileError::NotFound)
    }

    fn check_parent(&self, path: &str) -> Result<(), FileError> {
        match parent(path).map(|up| self.stat(up)) {
            None | Some(Ok(Entry::Dir(_))) => Ok(()),
            Some(Ok(Entry::File(..))) => Err(FileError::NotDirectory),
            Some(Err(why)) => Err(why),
        }
    }

    fn put(&self, path: &str, content: &[u8], append: bool) -> Result<(), FileError> {
        let (tree, at, read_only) = self.resolve(path);
        if path == "/dev/null" {
            return Ok(());
        }
        if read_only {
            return Err(FileError::ReadOnly);
        }
        let mode = match tree.get(&at) {
            Some(Entry::Dir(_)) => return Err(FileError::IsDirectory),
            Some(Entry::File(old, mode)) if append => {
                let mut all = Vec::with_capacity(old.len() + content.len());
                all.extend_from_slice(&old);
                all.extend_from_slice(content);
                return tree.insert(&at, Entry::File(all.into(), mode));
            }
            Some(Entry::File(_, mode)) => mode,
            None => {
                self.check_parent(path)?;
                0o644
            }
        };
        tree.insert(&at, Entry::File(content.into(), mode))
    }

    /// Whether the path is there, may be changed, and is no mount point.
    fn check_changeable(&self, path: &str) -> Result<(&Rc<Tree>, String), FileError> {
        self.stat(path)?;
        let (tree, at, read_only) = self.resolve(path);
        if self.mounts.iter().any(|m| m.path == path) {
            return Err(FileError::Busy);
        }
        if read_only { Err(FileError::ReadOnly) } else { Ok((tree, at)) }
    }

    fn move_entry(&self, from: &str, to: &str) -> Result<(), FileError> {
        match self.stat(from)? {
            Entry::File(content, mode) => {
                self.put(to, &content, false)?;
                self.set_mode(to, mode)?;
            }
            Entry::Dir(_) => {
                self.make_directory(to)?;
                for name in self.list(from)? {
                    self.move_entry(
                        &format!("{}/{name}", from.trim_end_matches('/')),
                        &format!("{}/{name}", to.trim_end_matches('/')),
                    )?;
                }
            }
        }
        self.remove(from)
    }
}

impl Files for View {
    fn read(&self, path: &str) -> Result<Rc<[u8]>, FileError> {
        match self.stat(path)? {
            Entry::File(content, _) => Ok(content),
            Entry::Dir(_) => Err(FileError::IsDirectory),
        }
    }
    fn write(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        self.put(path, content, false)
    }
    fn append(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        self.put(path, content, true)
    }
    fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let mut names = match self.stat(path)? {
            Entry::File(..) => return Err(FileError::NotDirectory),
            Entry::Dir(_) => {
                let (tree, at, _) = self.resolve(path);
                tree.list(&at).unwrap_or_default()
            }
        };
        let below = format!("{}/", path.trim_end_matches('/'));
        names.extend(
            self.mounts.iter().filter_map(|m| m.path.strip_prefix(&below)?.split('/').next().map(str::to_string)),
        );
        names.sort_small();
        names.dedup();
        Ok(names)
    }
    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        Ok(match self.stat(path)? {
            Entry::File(content, mode) => Metadata { directory: false, size: content.len() as u64, mode },
            Entry::Dir(mode) => Metadata { directory: true, size: 4_096, mode },
        })
    }
    fn make_directory(&self, path: &str) -> Result<(), FileError> {
        let (tree, at, read_only) = self.resolve(path);
        if self.stat(path).is_ok() {
            return Err(FileError::Exists);
        }
        self.check_parent(path)?;
        if read_only {
            return Err(FileError::ReadOnly);
        }
        tree.insert(&at, Entry::Dir(0o755))
    }
    fn remove(&self, path: &str) -> Result<(), FileError> {
        let (tree, at) = self.check_changeable(path)?;
        tree.remove(&at)
    }
    fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        self.check_changeable(from)?;
        let to = match self.stat(to) {
            Ok(Entry::Dir(_)) => {
                format!("{}/{}", to.trim_end_matches('/'), from.rsplit('/').next().unwrap_or_default())
            }
            _ => to.to_string(),
        };
        if to.starts_with(&format!("{from}/")) || to == from {
            return Err(FileError::Busy);
        }
        self.move_entry(from, &to)
    }
    fn set_mode(&self, path: &str, mode: u32) -> Result<(), FileError> {
        let (tree, at) = self.check_changeable(path)?;
        let entry = match tree.get(&at).ok_or(FileError::NotFound)? {
            Entry::File(content, _) => Entry::File(content, mode),
            Entry::Dir(_) => Entry::Dir(mode),
        };
        tree.insert(&at, entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_hides_and_shows() {
        let root = Tree::new();
        root.put("/etc/passwd", b"root", 0o644).unwrap();
        let volume = Tree::new();
        volume.put("/pods/1/conf/key", b"value", 0o644).unwrap();
        let mount = |path: &str, read_only| Mount {
            path: path.into(),
            source: volume.clone(),
            source_path: "/pods/1/conf".into(),
            read_only,
        };
        let view = View::new(root, false, vec![mount("/var/run/conf", true), mount("/rw", false)]);
        assert_eq!(view.read("/var/run/conf/key").as_deref(), Ok(b"value".as_slice()));
        assert_eq!(view.list("/"), Ok(vec!["etc".into(), "rw".into(), "var".into()]));
        assert_eq!(view.list("/var/run"), Ok(vec!["conf".into()]));
        assert_eq!(view.write("/var/run/conf/new", b""), Err(FileError::ReadOnly));
        view.write("/rw/new", b"x").unwrap();
        view.append("/rw/new", b"y").unwrap();
        assert_eq!(view.read("/var/run/conf/new").as_deref(), Ok(b"xy".as_slice()));
        assert_eq!(view.read("/etc").err(), Some(FileError::IsDirectory));
        assert_eq!(view.write("/none/here", b""), Err(FileError::NotFound));
        assert_eq!(view.remove("/rw"), Err(FileError::Busy));
        assert_eq!(view.remove("/etc"), Err(FileError::NotEmpty));
        view.rename("/etc", "/rw/etc").unwrap();
        assert_eq!(view.read("/var/run/conf/etc/passwd").as_deref(), Ok(b"root".as_slice()));
        assert_eq!(view.metadata("/etc").err(), Some(FileError::NotFound));
    }

    #[test]
    fn a_tree_is_bounded() {
        let tree = Tree::new();
        let big = vec![0; TREE_BYTES / 2 + 1];
        tree.put("/a", &big, 0o644).unwrap();
        assert_eq!(tree.put("/b", &big, 0o644), Err(FileError::NoSpace));
        tree.remove_all("/a");
        tree.put("/b", &big, 0o644).unwrap();
    }
}
