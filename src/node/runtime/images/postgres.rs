//! PostgreSQL: refuses to start without a password, as its entry point does, and then serves port 5432.

use super::{BASE, PATH, Repository, tag};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::{Files, LocalFuture};
use sim::{Conn, Duration};

pub const POSTGRES: Repository = Repository {
    path: "library/postgres",
    tags: &[
        tag("16", "16.10", 158_412_377),
        tag("16-alpine", "16.10", 105_233_640),
        tag("17", "17.6", 161_021_870),
        tag("latest", "17.6", 161_021_870),
    ],
    entrypoint: &["docker-entrypoint.sh"],
    cmd: &["postgres"],
    env: &[PATH, ("PG_VERSION", "{version}"), ("PGDATA", "/var/lib/postgresql/data")],
    ports: &[5432],
    stop_signal: Signal::Int,
    programs: &[("docker-entrypoint.sh", start), ("postgres", start)],
    ..BASE
};

/// What initdb takes on an empty data directory.
const INITDB: Duration = Duration::from_millis(1_200);

const NO_PASSWORD: &str = r#"Error: Database is uninitialized and superuser password is not specified.
       You must specify POSTGRES_PASSWORD to a non-empty value for the
       superuser. For example, "-e POSTGRES_PASSWORD=password" on "docker run".

       You may also use "POSTGRES_HOST_AUTH_METHOD=trust" to allow all
       connections without a password. This is *not* recommended.

       See PostgreSQL documentation about "trust":
       https://www.postgresql.org/docs/current/auth-trust.html"#;

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let data = guest.process.env.get("PGDATA").cloned().unwrap_or_default();
        let marker = format!("{}/PG_VERSION", data.trim_end_matches('/'));
        let files = &guest.machine.files;
        if files.metadata(&marker).is_err() {
            let set = |name: &str| guest.process.env.get(name).is_some_and(|v| !v.is_empty());
            if !set("POSTGRES_PASSWORD")
                && guest.process.env.get("POSTGRES_HOST_AUTH_METHOD").is_none_or(|m| m != "trust")
            {
                guest.warn(NO_PASSWORD);
                return 1;
            }
            guest.say("The files belonging to this database system will be owned by user \"postgres\".");
            guest.say("This user must also own the server process.\n");
            guest.ctx.sleep(INITDB).await;
            guest.say("Success. You can now start the database server using:\n\n    pg_ctl -D /var/lib/postgresql/data -l logfile start\n");
            let mut at = String::new();
            for part in data.split('/').filter(|p| !p.is_empty()) {
                at = format!("{at}/{part}");
                let _ = files.make_directory(&at);
            }
            let _ = files.write(&marker, guest.machine.version.split('.').next().unwrap_or_default().as_bytes());
            guest.say("PostgreSQL init process complete; ready for start up.\n");
        } else {
            guest.say("\nPostgreSQL Database directory appears to contain a database; Skipping initialization\n");
        }
        let log = |pid: u32, text: &str| {
            guest.warn(format!("{} [{pid}] LOG:  {text}", Stamp::of(guest.ctx.unix_nanos()).postgres()))
        };
        log(1, &format!("starting PostgreSQL {} on x86_64-pc-linux-gnu, 64-bit", guest.machine.version));
        let Ok(listener) = guest.ctx.listen_on(guest.machine.ip, 5432) else {
            log(1, "could not bind IPv4 address \"0.0.0.0\": Address already in use");
            return 1;
        };
        log(1, "listening on IPv4 address \"0.0.0.0\", port 5432");
        log(1, "listening on Unix socket \"/var/run/postgresql/.s.PGSQL.5432\"");
        log(62, "database system was shut down");
        log(1, "database system is ready to accept connections");
        let serve = async {
            let mut open: Vec<Conn> = Vec::new();
            while let Ok(conn) = listener.accept().await {
                open.retain(|c| c.ended().is_none());
                open.push(conn);
            }
        };
        let stop = guest.signals.wait_for(&[Signal::Term, Signal::Int, Signal::Quit]);
        futures_util::pin_mut!(serve, stop);
        let signal = match futures_util::future::select(stop, serve).await {
            futures_util::future::Either::Left((signal, _)) => signal,
            futures_util::future::Either::Right(_) => return 1,
        };
        let kind = match signal {
            Signal::Term => "smart",
            Signal::Int => "fast",
            _ => "immediate",
        };
        log(1, &format!("received {kind} shutdown request"));
        log(1, "database system is shut down");
        0
    })
}
