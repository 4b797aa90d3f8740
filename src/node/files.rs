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

/// Tells the time, in seconds since 1970.
pub type Clock = Rc<dyn Fn() -> i64>;

/// A clock out of one that tells nanoseconds.
pub fn clock(nanos: impl Fn() -> i64 + 'static) -> Clock {
    Rc::new(move || nanos().div_euclid(1_000_000_000))
}

/// When what an image has was built, in seconds since 1970: 16 April 2025.
const BUILT: i64 = 1_744_761_600;

/// A tree of files, by absolute path; it may stand on a layer that many share and none of them changes.
#[derive(Default)]
pub struct Tree {
    layer: Option<Rc<Tree>>,
    /// When what is here was changed; without one nothing changes after the image was built.
    clock: Option<Clock>,
    /// When paths were changed last, in seconds since 1970; at most one for each entry and directory.
    times: RefCell<BTreeMap<String, i64>>,
    /// What is in this tree itself; nothing where it hides what the layer has.
    entries: RefCell<BTreeMap<String, Option<Entry>>>,
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

    /// An empty tree that notes when it is changed.
    pub fn timed(clock: &Clock) -> Rc<Self> {
        Rc::new(Self { clock: Some(clock.clone()), ..Self::default() })
    }

    /// An empty tree on the same machine.
    pub fn beside(&self) -> Rc<Self> {
        Rc::new(Self { clock: self.clock.clone(), ..Self::default() })
    }

    /// A tree that begins as `layer`, which stays as it is.
    pub fn over(layer: &Rc<Self>, clock: &Clock) -> Rc<Self> {
        Rc::new(Self { layer: Some(layer.clone()), clock: Some(clock.clone()), ..Self::default() })
    }

    /// When `path` was changed last, in seconds since 1970.
    pub fn modified(&self, path: &str) -> i64 {
        let own = self.times.borrow().get(path).copied();
        own.or_else(|| self.layer.as_ref().map(|layer| layer.modified(path))).unwrap_or(BUILT)
    }

    /// Notes a change of `path`, or of what is in it.
    fn touch(&self, path: &str) {
        if let Some(clock) = &self.clock {
            self.times.borrow_mut().insert(path.to_string(), clock());
        }
    }

    /// What stands at `path` (cleaned).
    pub fn get(&self, path: &str) -> Option<Entry> {
        if path == "/" {
            return Some(Entry::Dir(0o755));
        }
        match self.entries.borrow().get(path) {
            Some(own) => own.clone(),
            None => self.layer.as_ref()?.get(path),
        }
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
        let known = self.get(path).is_some();
        let mut entries = self.entries.borrow_mut();
        let new = size(Some(&entry));
        let old = size(entries.get(path).and_then(Option::as_ref));
        let total = self.bytes.get().saturating_sub(old).saturating_add(new);
        if total > TREE_BYTES || (entries.len() >= TREE_ENTRIES && !entries.contains_key(path)) {
            return Err(FileError::NoSpace);
        }
        self.bytes.set(total);
        entries.insert(path.to_string(), Some(entry));
        drop(entries);
        self.touch(path);
        if let Some(up) = parent(path).filter(|_| !known) {
            self.touch(up);
        }
        Ok(())
    }

    /// Removes one file or empty directory.
    pub fn remove(&self, path: &str) -> Result<(), FileError> {
        if matches!(self.get(path).ok_or(FileError::NotFound)?, Entry::Dir(_)) && !self.list(path)?.is_empty() {
            return Err(FileError::NotEmpty);
        }
        self.take(path);
        Ok(())
    }

    /// Takes one entry away, and hides the layer's.
    fn take(&self, path: &str) {
        let mut entries = self.entries.borrow_mut();
        if let Some(gone) = entries.remove(path) {
            self.bytes.set(self.bytes.get().saturating_sub(size(gone.as_ref())));
        }
        if self.layer.as_ref().is_some_and(|layer| layer.get(path).is_some()) {
            entries.insert(path.to_string(), None);
        }
        self.times.borrow_mut().remove(path);
        if let Some(up) = parent(path) {
            self.touch(up);
        }
    }

    /// Removes a path and all below it.
    pub fn remove_all(&self, path: &str) {
        for name in self.list(path).unwrap_or_default() {
            self.remove_all(&format!("{}/{name}", path.trim_end_matches('/')));
        }
        self.take(path);
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        match self.get(path).ok_or(FileError::NotFound)? {
            Entry::File(..) => Err(FileError::NotDirectory),
            Entry::Dir(_) => {
                let below = format!("{}/", path.trim_end_matches('/'));
                let entries = self.entries.borrow();
                let own = |name: &String| entries.contains_key(&format!("{below}{name}"));
                let layered = self.layer.as_ref().and_then(|layer| layer.list(path).ok()).unwrap_or_default();
                let mut names: Vec<String> = layered.into_iter().filter(|name| !own(name)).collect();
                let within = entries.range(below.clone()..).take_while(|(p, _)| p.starts_with(&below));
                names.extend(
                    within
                        .filter(|(_, entry)| entry.is_some())
                        .filter_map(|(p, _)| p.get(below.len()..))
                        .filter(|n| !n.contains('/'))
                        .map(str::to_string),
                );
                names.sort_small();
                Ok(names)
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
        let found = self.stat(path)?;
        let (tree, at, _) = self.resolve(path);
        let modified = tree.modified(&at);
        Ok(match found {
            Entry::File(content, mode) => Metadata { directory: false, size: content.len() as u64, mode, modified },
            Entry::Dir(mode) => Metadata { directory: true, size: 4_096, mode, modified },
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
    fn a_layer_is_shared_and_never_changed() {
        let layer = Tree::new();
        layer.put("/bin/sh", b"sh", 0o755).unwrap();
        layer.put("/etc/hosts", b"none", 0o644).unwrap();
        let time = Rc::new(std::cell::Cell::new(1_800_000_000));
        let told = time.clone();
        let clock = clock(move || told.get() * 1_000_000_000);
        let (one, other) = (Tree::over(&layer, &clock), Tree::over(&layer, &clock));
        let view = View::new(one.clone(), false, Vec::new());
        let modified = |path: &str| view.metadata(path).unwrap().modified;
        view.write("/etc/hosts", b"mine").unwrap();
        // A change is one of the file; what is new or gone is one of its directory too.
        assert_eq!(["/etc/hosts", "/etc", "/bin/sh"].map(modified), [1_800_000_000, BUILT, BUILT]);
        time.set(1_800_000_060);
        view.write("/bin/a", b"").unwrap();
        assert_eq!(["/bin/a", "/bin", "/etc/hosts"].map(modified), [1_800_000_060, 1_800_000_060, 1_800_000_000]);
        view.remove("/bin/sh").unwrap();
        assert_eq!((view.list("/bin"), view.read("/bin/sh").err()), (Ok(vec!["a".into()]), Some(FileError::NotFound)));
        view.remove("/bin/a").unwrap();
        view.remove("/bin").unwrap();
        assert_eq!(view.list("/"), Ok(vec!["etc".into()]));
        view.make_directory("/bin").unwrap();
        assert_eq!(view.list("/bin"), Ok(Vec::new()));
        one.remove_all("/etc");
        assert!(one.get("/etc/hosts").is_none() && one.get("/etc").is_none());
        assert_eq!(other.list("/"), Ok(vec!["bin".into(), "etc".into()]));
        assert_eq!(other.list("/bin"), Ok(vec!["sh".into()]));
        assert!(matches!(other.get("/etc/hosts"), Some(Entry::File(content, _)) if *content == *b"none"));
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
