//! redis: a server on port 6379.

use super::{BASE, PATH, Repository, Tag};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::LocalFuture;
use sim::Conn;

pub const REDIS: Repository = Repository {
    path: "library/redis",
    tags: &[
        Tag {
            name: "7",
            version: "7.4.1",
            size: 1_457_159,
            digest: "26007e3be0a4461d7a27713f537899a7af26fe249cffa40cdb3bf44f4aadc1d2",
        },
        Tag {
            name: "latest",
            version: "7.4.1",
            size: 1_457_159,
            digest: "26007e3be0a4461d7a27713f537899a7af26fe249cffa40cdb3bf44f4aadc1d2",
        },
    ],
    entrypoint: &["/docker-entrypoint.sh"],
    cmd: &["redis-server"],
    env: &[PATH, ("REDIS_VERSION", "{version}")],
    workdir: "/data",
    ports: &[6379],
    files: &[("/data/.keep", "")],
    programs: &[("/docker-entrypoint.sh", start), ("redis-server", start)],
    ..BASE
};

/// Seconds that a stop takes: the data set is saved first.
const SAVE_MILLIS: u64 = 5;

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let say = |role: char, level: char, text: &str| {
            guest.say(format!("1:{role} {} {level} {text}", Stamp::of(guest.ctx.unix_nanos()).redis()));
        };
        say('C', '*', "oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo");
        say(
            'C',
            '*',
            &format!(
                "Redis version={}, bits=64, commit=00000000, modified=0, pid=1, just started",
                guest.machine.version
            ),
        );
        say(
            'C',
            '#',
            "Warning: no config file specified, using the default config. In order to specify a config file use redis-server /path/to/redis.conf",
        );
        say('M', '*', "monotonic clock: POSIX clock_gettime");
        let Ok(listener) = guest.ctx.listen_on(guest.machine.ip, 6379) else {
            say('M', '#', "Warning: Could not create server TCP listening socket *:6379: bind: Address already in use");
            say('M', '#', "Failed listening on port 6379 (tcp), aborting.");
            return 1;
        };
        say('M', '*', "Running mode=standalone, port=6379.");
        say('M', '*', "Server initialized");
        say('M', '*', "Ready to accept connections tcp");
        let serve = async {
            let mut open: Vec<Conn> = Vec::new();
            while let Ok(conn) = listener.accept().await {
                open.retain(|c| c.ended().is_none());
                open.push(conn);
            }
        };
        let stop = guest.signals.wait_for(&[Signal::Term, Signal::Int]);
        futures_util::pin_mut!(serve, stop);
        let signal = match futures_util::future::select(stop, serve).await {
            futures_util::future::Either::Left((signal, _)) => signal,
            futures_util::future::Either::Right(_) => return 1,
        };
        let seconds = guest.ctx.unix_nanos() / 1_000_000_000;
        guest.say(format!("1:signal-handler ({seconds}) Received {signal} scheduling shutdown..."));
        say('M', '*', "User requested shutdown...");
        say('M', '*', "Saving the final RDB snapshot before exiting.");
        guest.ctx.sleep(sim::Duration::from_millis(SAVE_MILLIS)).await;
        say('M', '*', "DB saved on disk");
        say('M', '#', "Redis is now ready to exit, bye bye...");
        0
    })
}
