//! The images that the registries of the world offer: one row each, behaviour in a file of its own.

mod agnhost;
mod busybox;
mod etcd;
mod httpd;
mod nginx;
mod node;
mod pause;
mod postgres;
mod python;
mod redis;
mod stress;

use super::program::OwnProgram;
use super::signal::Signal;
use crate::files::Tree;
use std::rc::Rc;

/// A tag under which an image can be pulled.
pub struct Tag {
    /// `1.27`.
    pub name: &'static str,
    /// Version that the programs inside print.
    pub version: &'static str,
    /// Bytes to download, as the registry's manifest says.
    pub size: u64,
    /// Hexadecimal digest of the manifest; empty: derived from the name.
    pub digest: &'static str,
}

const fn tag(name: &'static str, version: &'static str, size: u64) -> Tag {
    Tag { name, version, size, digest: "" }
}

/// The system that an image is built on: which shells there are and how they ask for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// `sh` (dash), and `bash`.
    Debian,
    /// `sh` alone, of busybox; so are alpine's images.
    Busybox,
}

impl Base {
    /// `/etc/os-release` of an image of that version; busybox has none.
    pub fn os_release(self, path: &str, version: &str) -> Option<String> {
        match (self, path) {
            (Self::Debian, _) => Some(
                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nVERSION=\"12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n"
                    .to_string(),
            ),
            (Self::Busybox, "library/alpine") => {
                let short = version.rsplit_once('.').map_or(version, |(short, _)| short);
                Some(format!(
                    "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID={version}\nPRETTY_NAME=\"Alpine Linux v{short}\"\n"
                ))
            }
            (Self::Busybox, _) => None,
        }
    }
}

/// What a repository of the registry holds.
pub struct Repository {
    /// Registry host.
    pub host: &'static str,
    /// Path on it: `library/nginx`.
    pub path: &'static str,
    /// Its tags.
    pub tags: &'static [Tag],
    /// What runs unless the pod says otherwise.
    pub entrypoint: &'static [&'static str],
    /// Its arguments unless the pod says otherwise.
    pub cmd: &'static [&'static str],
    /// Environment; `{version}` stands for the tag's version.
    pub env: &'static [(&'static str, &'static str)],
    /// Directory that processes start in.
    pub workdir: &'static str,
    /// Ports that its server listens on.
    pub ports: &'static [u16],
    /// What a stop sends first.
    pub stop_signal: Signal,
    /// User and group id of its processes.
    pub user: u32,
    /// Files beyond the base system; `{version}` as above.
    pub files: &'static [(&'static str, &'static str)],
    /// Whether the shell and its tools are in the image (they are not in pause).
    pub shell: bool,
    /// What it is built on.
    pub base: Base,
    /// Its own programs, by the name in argv[0] (with or without its directory).
    pub programs: &'static [(&'static str, OwnProgram)],
}

impl Repository {
    /// What an image of that tag is built on.
    pub fn base_of(&self, tag: &Tag) -> Base {
        if tag.name.contains("alpine") { Base::Busybox } else { self.base }
    }
}

/// The files of an image.
pub fn unpacked(repository: &Repository, tag: &Tag) -> Rc<Tree> {
    let root = Tree::new();
    for (path, content) in repository.files {
        let _ = root.put(path, content.replace("{version}", tag.version).as_bytes(), 0o644);
    }
    if repository.shell {
        let base = repository.base_of(tag);
        super::tools::install(&root, base == Base::Busybox);
        for directory in ["dev", "home", "opt", "proc", "root", "sys", "usr/bin", "var/log"] {
            let _ = root.make_dirs(&format!("/{directory}"), 0o755);
        }
        if let Some(text) = base.os_release(repository.path, tag.version) {
            let _ = root.put("/etc/os-release", text.as_bytes(), 0o644);
        }
    }
    let _ = root.make_dirs("/tmp", 0o1777);
    root
}

pub(super) const PATH: (&str, &str) = ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");

const BASE: Repository = Repository {
    host: "docker.io",
    path: "",
    tags: &[],
    entrypoint: &[],
    cmd: &[],
    env: &[PATH],
    workdir: "/",
    ports: &[],
    stop_signal: Signal::Term,
    user: 0,
    files: &[],
    shell: true,
    base: Base::Debian,
    programs: &[],
};

/// All repositories. A row is all that a new image needs, a file beside this one if it has a program of its own.
pub static REPOSITORIES: &[Repository] = &[
    agnhost::AGNHOST,
    busybox::ALPINE,
    busybox::BUSYBOX,
    busybox::BUSYBOX_K8S,
    etcd::ETCD,
    httpd::HTTPD,
    nginx::NGINX,
    node::NODE,
    pause::PAUSE,
    postgres::POSTGRES,
    python::PYTHON,
    redis::REDIS,
    stress::STRESS,
];
