//! busybox and alpine: a shell and its tools, which end at once when nobody types.

use super::{BASE, Base, Repository, Tag, tag};

pub const BUSYBOX: Repository = Repository {
    path: "library/busybox",
    tags: &[
        Tag {
            name: "1.36",
            version: "1.36.1",
            size: 1_456_612,
            digest: "3bf0e8c971ecf9c6bb668d79bb10fa9bc9dda47280923551f709a034d6bb8617",
        },
        Tag {
            name: "latest",
            version: "1.36.1",
            size: 1_456_612,
            digest: "3bf0e8c971ecf9c6bb668d79bb10fa9bc9dda47280923551f709a034d6bb8617",
        },
    ],
    cmd: &["sh"],
    base: Base::Busybox,
    ..BASE
};

/// The copy that Kubernetes' documentation uses.
pub const BUSYBOX_K8S: Repository = Repository {
    host: "registry.k8s.io",
    path: "busybox",
    tags: &[tag("1.27.2", "1.27.2", 738_552), tag("latest", "1.27.2", 738_552), tag("1.24", "1.24", 675_968)],
    cmd: &["sh"],
    base: Base::Busybox,
    ..BASE
};

pub const ALPINE: Repository = Repository {
    path: "library/alpine",
    tags: &[
        Tag {
            name: "3.20",
            version: "3.20.0",
            size: 1_456_986,
            digest: "c7e4e474a7fc0e86d5c6af2cdfe5e1f013edad94762ae4856ed5292b8d3f2af6",
        },
        Tag {
            name: "latest",
            version: "3.20.0",
            size: 1_456_986,
            digest: "c7e4e474a7fc0e86d5c6af2cdfe5e1f013edad94762ae4856ed5292b8d3f2af6",
        },
    ],
    cmd: &["/bin/sh"],
    files: &[("/etc/alpine-release", "{version}\n")],
    base: Base::Busybox,
    ..BASE
};
