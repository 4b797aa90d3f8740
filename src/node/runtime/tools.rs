//! The shell and its tools in an image: found by name.

use super::http::HttpRequest;
use super::images::Base;
use super::program::{Guest, OwnProgram, Runnable, fetch};
use super::signal::Signal;
use super::state::parse_ip;
use crate::files::Tree;
use api::SortSmall;
use futures_util::future::{Either, select};
use shell::process::{LocalFuture, Program};
use shell::tools::curl;
use sim::{Addr, Duration, NetError};
use std::rc::Rc;

/// Programs that know of the container: (name, program).
const OWN: &[(&str, OwnProgram)] = &[("ash", sh), ("hostname", hostname), ("sh", sh), ("tail", tail), ("wget", wget)];

/// Those that Debian's images come without.
const OF_BUSYBOX: &[(&str, OwnProgram)] = &[("ps", ps)];

/// Built-ins of the shell that are programs of their own too.
const BUILTINS: &[&str] = &["[", "echo", "false", "kill", "printf", "pwd", "test", "true"];

/// Puts the tools' files into an image's root.
pub(super) fn install(root: &Tree, busybox: bool) {
    let content: Rc<[u8]> = Rc::from(b"\x7fELF".as_slice());
    let names = OWN.iter().map(|(n, _)| *n).chain(BUILTINS.iter().copied()).chain(shell::tools::names());
    let names = names.chain((!busybox).then_some("bash"));
    let names = names.chain(OF_BUSYBOX.iter().map(|(n, _)| *n).filter(|_| busybox));
    let _ = root.make_dirs("/bin", 0o755);
    for name in names {
        let _ = root.insert(&format!("/bin/{name}"), crate::files::Entry::File(content.clone(), 0o755));
    }
}

/// The tool that a command names.
pub(super) fn find(name: &str, base_image: Base) -> Option<Runnable> {
    let base = match name.rsplit_once('/') {
        Some(("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin", base)) => base,
        Some(_) => return None,
        None => name,
    };
    let more = if base_image == Base::Busybox { OF_BUSYBOX } else { &[] };
    if let Some((_, own)) = OWN.iter().chain(more).find(|(tool, _)| *tool == base) {
        return Some(Runnable::Own(*own));
    }
    if BUILTINS.contains(&base) {
        return Some(Runnable::Own(builtin));
    }
    // What lists files does it in the words of the image's own tools; the others speak busybox'.
    let dialect = match (base, base_image) {
        ("ls", Base::Debian) => shell::Dialect::Bash,
        _ => shell::Dialect::Busybox,
    };
    shell::tools::find(base, dialect).map(Runnable::Tool)
}

/// The tool that a command names and that runs others: `env`, `timeout`, `xargs`.
pub(super) fn find_runner(machine: &Rc<super::program::Machine>, name: &str) -> Option<Runnable> {
    let base = name.strip_prefix("/bin/").or_else(|| name.strip_prefix("/usr/bin/")).unwrap_or(name);
    let tools = Rc::new(InContainer(machine.clone()));
    shell::tools::find_runner(base, shell::Dialect::Busybox, tools).map(Runnable::Tool)
}

/// `tail`: the shell's; of a file without end it holds all that it reads.
fn tail(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        while guest.process.args.iter().any(|word| word == "/dev/zero") {
            guest.ctx.sleep(Duration::from_millis(50)).await;
            guest.machine.memory.take(64 << 20);
        }
        match shell::tools::find("tail", shell::Dialect::Busybox) {
            Some(program) => program(guest.ctx, guest.process).await,
            None => 127,
        }
    })
}

/// What a shell in a container finds: the image's programs and the tools.
struct InContainer(Rc<super::program::Machine>);

impl shell::Tools for InContainer {
    fn find(&self, name: &str) -> Option<Program> {
        let machine = self.0.clone();
        let program = super::container::find(&machine, name)?;
        Some(Rc::new(move |ctx, process| {
            let number = machine.processes.others.start(&process.args);
            let signals = super::program::Signals::default();
            super::container::run(&program, Guest { ctx, process, signals, number, machine: machine.clone() })
        }))
    }
    fn names(&self) -> Vec<String> {
        let own = self.0.image.programs.iter().map(|(n, _)| *n).filter(|n| !n.contains('/'));
        let more = if self.0.base == Base::Busybox { OF_BUSYBOX } else { &[] };
        let mut names: Vec<String> = own
            .chain(OWN.iter().chain(more).map(|(n, _)| *n))
            .chain(shell::tools::names())
            .map(str::to_string)
            .collect();
        names.sort_small();
        names.dedup();
        names
    }
    fn user(&self) -> u32 {
        self.0.user
    }
    fn prompt(&self, shell: &str) -> &'static str {
        match (shell, self.0.base) {
            // Debian's /etc/bash.bashrc
            ("bash", _) => "\\u@\\h:\\w\\$ ",
            (_, Base::Busybox) => "\\w \\$ ",
            (_, Base::Debian) => "\\$ ",
        }
    }
    fn signal(&self, process: u32, signal: Option<&'static str>) -> bool {
        if process == 1 {
            // From within the container nothing kills its first process.
            let known = signal.filter(|name| *name != "KILL").and_then(Signal::parse);
            known.into_iter().for_each(|signal| self.0.processes.signals.send(signal));
            return true;
        }
        let found = self.0.processes.others.find(process);
        if let (Some(to), Some(signal)) = (&found, signal) {
            to.send(signal);
        }
        found.is_some()
    }
}

/// `sh`: the project's shell, in busybox's words.
fn sh(guest: Guest) -> LocalFuture<'static, i32> {
    shell_of(guest, shell::Dialect::Busybox)
}

/// `bash`: the same in bash's words.
pub(super) const BASH: OwnProgram = |guest| shell_of(guest, shell::Dialect::Bash);

fn shell_of(guest: Guest, dialect: shell::Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let tools = Rc::new(InContainer(guest.machine.clone()));
        let signals = guest.number.clone();
        let run = shell::sh(guest.ctx.clone(), guest.process, tools, dialect, signals.clone());
        let pass_on = async {
            loop {
                let name = match guest.signals.next().await {
                    Signal::Hup => "HUP",
                    Signal::Int => "INT",
                    Signal::Quit => "QUIT",
                    Signal::Usr1 => "USR1",
                    Signal::Usr2 => "USR2",
                    Signal::Term => "TERM",
                    Signal::Kill | Signal::Winch => continue,
                };
                signals.send(name);
            }
        };
        futures_util::pin_mut!(run, pass_on);
        match select(run, pass_on).await {
            Either::Left((code, _)) => code,
            Either::Right((never, _)) => never,
        }
    })
}

/// A built-in as a program: the shell runs it.
fn builtin(mut guest: Guest) -> LocalFuture<'static, i32> {
    let mut args = vec!["sh".to_string(), "-c".to_string(), "\"$@\"".to_string(), "sh".to_string()];
    let name = guest.process.args.first().map(|n| n.rsplit('/').next().unwrap_or(n).to_string()).unwrap_or_default();
    args.push(name);
    args.extend(guest.process.args.iter().skip(1).cloned());
    guest.process.args = args;
    sh(guest)
}

/// `ps` as busybox has it.
fn ps(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let machine = &guest.machine;
        let user = if machine.user == 0 { "root".to_string() } else { machine.user.to_string() };
        guest.say("PID   USER     TIME  COMMAND");
        let first = (1, machine.processes.command.clone());
        for (number, command) in [first].into_iter().chain(machine.processes.others.running()) {
            // What runs here takes no time of a processor.
            guest.say(format!("{number:>5} {user:<8} {:>5} {command}", "0:00"));
        }
        0
    })
}

/// A container's network, as `curl` uses it.
struct Inside<'a>(&'a Guest);

impl curl::Network for Inside<'_> {
    fn resolve(&self, name: &str) -> Vec<sim::Ip> {
        let own = name == "localhost" || name == self.0.machine.hostname;
        let ip = if own { Some(self.0.machine.ip) } else { parse_ip(name) };
        ip.map(|ip| if ip.is_loopback() { self.0.machine.ip } else { ip }).into_iter().collect()
    }
    fn connect(&self, to: Addr) -> LocalFuture<'_, Result<sim::Conn, NetError>> {
        Box::pin(self.0.ctx.connect_from(self.0.machine.ip, to))
    }
}

/// `curl`, which some of Debian's images come with.
pub(in crate::runtime) const CURL: OwnProgram =
    |guest| Box::pin(async move { curl::over(&guest.ctx, &guest.process, &Inside(&guest)).await });

fn hostname(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        match guest.process.args.get(1).map(String::as_str) {
            Some("-i") => guest.say(guest.machine.ip.to_string()),
            Some(name) if !name.starts_with('-') => {
                guest.warn("hostname: sethostname: Operation not permitted");
                return 1;
            }
            _ => guest.say(&guest.machine.hostname),
        }
        0
    })
}

/// `wget` as busybox has it: `-q`, `-O FILE`, `-T SECONDS`, `--spider`, and a URL.
fn wget(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let (mut quiet, mut spider, mut output, mut patience, mut url) = (false, false, None, 900, None);
        let mut words = guest.process.args.iter().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "-q" => quiet = true,
                "--spider" => spider = true,
                "-qO-" | "-q0-" => (quiet, output) = (true, Some("-".to_string())),
                "-O" => output = words.next().cloned(),
                "-T" | "--timeout" => patience = words.next().and_then(|w| w.parse().ok()).unwrap_or(900),
                "-qO" => (quiet, output) = (true, words.next().cloned()),
                _ if word.starts_with("-O") => output = word.get(2..).map(str::to_string),
                _ if word.starts_with("-T") => patience = word.get(2..).and_then(|w| w.parse().ok()).unwrap_or(900),
                _ if word.starts_with("--timeout=") => {
                    patience = word.get(10..).and_then(|w| w.parse().ok()).unwrap_or(900)
                }
                _ if word.starts_with('-') => {
                    guest.warn(format!("wget: unrecognized option: {}", word.trim_start_matches('-')));
                    return 1;
                }
                _ => url = Some(word.clone()),
            }
        }
        let Some(url) = url else {
            guest.warn("BusyBox wget: missing URL");
            return 1;
        };
        let bare = url.strip_prefix("http://").unwrap_or(&url);
        if bare.starts_with("https://") {
            guest.warn("wget: TLS error from peer (alert code 80): internal error");
            return 1;
        }
        let (authority, path) = bare.split_once('/').map_or((bare, "/".to_string()), |(a, p)| (a, format!("/{p}")));
        let (host, port) = authority.split_once(':').map_or((authority, Some(80)), |(h, p)| (h, p.parse().ok()));
        let (Some(ip), Some(port)) = (if host == "localhost" { Some(guest.machine.ip) } else { parse_ip(host) }, port)
        else {
            guest.warn(format!("wget: bad address '{host}'"));
            return 1;
        };
        let ip = if ip == sim::Ip::new(127, 0, 0, 1) { guest.machine.ip } else { ip };
        let addr = Addr { ip, port };
        if !quiet {
            guest.warn(format!("Connecting to {authority} ({addr})"));
        }
        let request = HttpRequest::get(&path, authority, "Wget");
        let answer = fetch(&guest.ctx, guest.machine.ip, addr, request, Duration::from_secs(patience)).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                guest.warn(match why {
                    NetError::Refused => format!("wget: can't connect to remote host ({ip}): Connection refused"),
                    NetError::Unreachable => format!("wget: can't connect to remote host ({ip}): No route to host"),
                    NetError::TimedOut => "wget: download timed out".to_string(),
                    _ => "wget: error getting response: Connection reset by peer".to_string(),
                });
                return 1;
            }
        };
        if answer.status >= 400 {
            guest.warn(format!(
                "wget: server returned error: HTTP/1.1 {} {}",
                answer.status,
                super::http::reason(answer.status)
            ));
            return 1;
        }
        if spider {
            return 0;
        }
        match output.as_deref() {
            Some("-") => {
                let _ = guest.process.stdout.write(&answer.body).await;
            }
            other => {
                let name = other.map_or_else(
                    || path.rsplit('/').next().filter(|n| !n.is_empty()).unwrap_or("index.html").to_string(),
                    str::to_string,
                );
                if let Err(why) = guest.process.files.write(&guest.process.path(&name), &answer.body) {
                    guest.warn(format!("wget: can't open '{name}': {why}"));
                    return 1;
                }
            }
        }
        0
    })
}
