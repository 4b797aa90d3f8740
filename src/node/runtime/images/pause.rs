//! pause: holds a sandbox's namespaces and does nothing.

use super::{BASE, PATH, Repository, Tag};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use shell::process::LocalFuture;

pub const PAUSE: Repository = Repository {
    host: "registry.k8s.io",
    path: "pause",
    tags: &[
        Tag {
            name: "3.10",
            version: "3.10",
            size: 303_987,
            digest: "f419b8f555825bedf7638f904375c18848977c96edb6f1169a905f65ffc47826",
        },
        Tag {
            name: "3.10.1",
            version: "3.10",
            size: 303_987,
            digest: "f419b8f555825bedf7638f904375c18848977c96edb6f1169a905f65ffc47826",
        },
        Tag {
            name: "3.10.2",
            version: "3.10",
            size: 303_987,
            digest: "f419b8f555825bedf7638f904375c18848977c96edb6f1169a905f65ffc47826",
        },
    ],
    entrypoint: &["/pause"],
    env: &[PATH],
    user: 65_535,
    shell: false,
    programs: &[("/pause", start)],
    ..BASE
};

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        guest.signals.wait_for(&[Signal::Int, Signal::Term]).await;
        0
    })
}
