//! pause: holds a sandbox's namespaces and does nothing.

use super::{BASE, PATH, Repository, tag};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use shell::process::LocalFuture;

pub const PAUSE: Repository = Repository {
    host: "registry.k8s.io",
    path: "pause",
    tags: &[tag("3.10", "3.10", 319_906), tag("3.10.1", "3.10.1", 319_906), tag("3.10.2", "3.10.2", 319_906)],
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
