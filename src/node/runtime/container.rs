//! Containers: made, started, stopped, killed, removed; commands run in them; their logs read.

use super::cri::{ContainerConfig, ContainerStatus, CriError, LogQuery, Reply, State, Stdin};
use super::images::Base;
use super::log::{Line, Log, Stream};
use super::memory::Memory;
use super::program::{Guest, LogOutput, Machine, Namespace, Runnable, Signals, SinkOutput};
use super::service::Runtime;
use super::signal::Signal;
use super::state::{Container, Feed, Live, Watchers, parse_ip};
use super::tools;
use crate::files::{Tree, View};
use api::Str;
use futures_util::future::{Either, select};
use shell::Environment;
use shell::process::{Bytes, Files, Input, LocalFuture, Output, Process};
use shell::tty::{Tty, TtyOutput};
use sim::Duration;
use sim::sync::Notify;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of a probe's or hook's output that are kept.
const EXEC_OUTPUT: usize = 10 << 10;
/// Bytes of a termination message that are kept.
const TERMINATION_MESSAGE: usize = 4 << 10;

impl Runtime {
    pub(super) fn create_container(&self, sandbox_id: &Str, config: Rc<ContainerConfig>) -> Result<Str, CriError> {
        let pod_uid = match self.disk.sandboxes.borrow().get(sandbox_id) {
            Some(sandbox) => sandbox.status.pod_uid.clone(),
            None => return Err(CriError::not_found(format!("failed to find sandbox id \"{sandbox_id}\": not found"))),
        };
        let (repository, tag, layer, image) = match self.disk.images.borrow().get(&*config.image_ref) {
            // The status shows the first of the names that the image has here.
            Some(stored) => (
                stored.repository,
                stored.tag,
                stored.layer.clone(),
                stored.names.first().map_or_else(|| config.image_ref.clone(), Str::from),
            ),
            None => {
                return Err(CriError::not_found(format!(
                    "failed to resolve image \"{}\": not found",
                    config.image_ref
                )));
            }
        };
        let id = self.new_id();
        let status = ContainerStatus {
            id: id.clone(),
            name: config.name.clone(),
            pod_uid: pod_uid.clone(),
            sandbox_id: sandbox_id.clone(),
            state: State::Created,
            created_at: self.ctx.unix_nanos(),
            started_at: 0,
            finished_at: 0,
            exit_code: 0,
            reason: Str::default(),
            message: Str::default(),
            image,
            image_ref: config.image_ref.clone(),
            restart_count: config.attempt,
            hash: config.hash,
            uid: config.uid.unwrap_or(i64::from(repository.user)),
            gid: config.gid.unwrap_or(if config.uid.is_some() { 0 } else { i64::from(repository.user) }),
        };
        let ctx = self.ctx.clone();
        let root = Tree::over(&layer, &crate::files::clock(move || ctx.unix_nanos()));
        let container = Container { status, config, repository, tag, log: Rc::default(), root, live: None };
        self.disk.containers.borrow_mut().insert(id.clone(), container);
        self.disk.pods.borrow_mut().entry(pod_uid.clone()).or_default().1.push(id.clone());
        self.touch(&pod_uid);
        Ok(id)
    }

    pub(super) fn start_container(self: &Rc<Self>, id: &Str) -> Result<(), CriError> {
        let now = self.ctx.unix_nanos();
        let mut containers = self.disk.containers.borrow_mut();
        let shared = containers.get(id).filter(|own| !own.config.target.is_empty()).and_then(|own| {
            let target = |c: &&Container| c.status.pod_uid == own.status.pod_uid && c.status.name == own.config.target;
            let live = containers.values().filter(target).find_map(|c| c.live.as_ref())?;
            Some(live.machine.processes.clone())
        });
        let Some(container) = containers.get_mut(id) else {
            return Err(CriError::not_found(format!(
                "an error occurred when try to find container \"{id}\": not found"
            )));
        };
        let config = container.config.clone();
        let (ip, hostname) = match self.disk.sandboxes.borrow().get(&container.status.sandbox_id) {
            Some(s) if s.status.ready => {
                (parse_ip(&s.status.ip).unwrap_or_else(|| self.ctx.host_ip()), s.hostname.clone())
            }
            _ => {
                return Err(CriError::unknown(format!(
                    "sandbox container \"{}\" is not running",
                    container.status.sandbox_id
                )));
            }
        };
        let argv = arguments(&config, container.repository.entrypoint, container.repository.cmd);
        let signals = Signals::default();
        let processes = shared.clone().unwrap_or_else(|| {
            let command = argv.join(" ").into();
            Rc::new(Namespace { command, signals: signals.clone(), others: shell::Processes::default() })
        });
        let env = environment(&config, container.repository.env, container.tag.version, &hostname);
        let cwd =
            if config.workdir.is_empty() { container.repository.workdir.to_string() } else { config.workdir.clone() };
        let files = Rc::new(View::new(container.root.clone(), config.read_only_root, config.mounts.clone()));
        base_files(&container.root, &hostname, &config);
        let machine = Rc::new(Machine {
            hostname,
            ip,
            files,
            image: container.repository,
            version: container.tag.version,
            base: container.repository.base_of(container.tag),
            user: u32::try_from(container.status.uid).unwrap_or(0),
            memory: Memory::new(config.memory_limit),
            processes,
        });

        let Some(program) = find(&machine, argv.first().map_or("", String::as_str)) else {
            let why = not_found(argv.first().map_or("", String::as_str));
            let desc = format!(
                "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: {why}"
            );
            container.status.state = State::Exited;
            container.status.exit_code = 128;
            container.status.reason = "StartError".into();
            container.status.message = desc.clone().into();
            container.status.finished_at = now;
            container.log.borrow_mut().close(now);
            let uid = container.status.pod_uid.clone();
            drop(containers);
            self.touch(&uid);
            return Err(CriError::unknown(desc));
        };
        let number = match &shared {
            None => shell::Signals::of(1),
            Some(shared) => shared.others.start(&argv),
        };
        let log = container.log.clone();
        let (stdin, feed) = Feed::new(match (config.stdin, config.tty) {
            (_, true) => Stdin::Tty,
            (true, false) => Stdin::Pipe,
            (false, false) => Stdin::None,
        });
        let watchers: Rc<Watchers> = Rc::default();
        let output = |stream| -> Rc<dyn Output> {
            Rc::new(LogOutput { ctx: self.ctx.clone(), log: log.clone(), stream, watchers: watchers.clone() })
        };
        let (stdout, stderr, tty) = match &feed {
            // A terminal shows both, as they come.
            Some(Feed::Tty(tty)) => {
                let screen: Rc<dyn Output> = Rc::new(TtyOutput(output(Stream::Stdout)));
                (screen.clone(), screen, Some(tty.clone()))
            }
            _ => (output(Stream::Stdout), output(Stream::Stderr), None),
        };
        let process = Process {
            args: argv,
            env: env.clone(),
            cwd: cwd.clone(),
            files: machine.files.clone(),
            stdin,
            stdout,
            stderr,
            family: Default::default(),
        };
        let running = run(
            &program,
            Guest { ctx: self.ctx.clone(), process, signals: signals.clone(), number, machine: machine.clone() },
        );
        container.status.state = State::Running;
        container.status.started_at = now;
        let (runtime, of) = (self.clone(), id.clone());
        let (held, keys) = (machine.clone(), signals.clone());
        let task = self.ctx.spawn("container", async move {
            let exhausted = held.memory.exhausted();
            let typed = async {
                let Some(tty) = tty else { return std::future::pending().await };
                loop {
                    Signal::parse(tty.next_signal().await).into_iter().for_each(|signal| keys.send(signal));
                }
            };
            let running = async {
                match select(running, Box::pin(typed)).await {
                    Either::Left((code, _)) => code,
                    Either::Right((never, _)) => never,
                }
            };
            futures_util::pin_mut!(exhausted, running);
            match select(exhausted, running).await {
                Either::Left(_) => {
                    runtime.ended(&of, Signal::Kill.exit_code(), "OOMKilled");
                }
                Either::Right((code, _)) => {
                    runtime.ctx.sleep(runtime.settings.costs.exit).await;
                    runtime.ended(&of, code, "");
                }
            }
        });
        container.live =
            Some(Live { machine, signals, env, cwd, stdin: feed, watchers, tasks: vec![task], ended: Notify::new() });
        let uid = container.status.pod_uid.clone();
        drop(containers);
        self.touch(&uid);
        Ok(())
    }

    /// The first process ended: the others go with it.
    fn ended(&self, id: &str, exit_code: i32, reason: &str) {
        let now = self.ctx.unix_nanos();
        let (live, uid) = {
            let mut containers = self.disk.containers.borrow_mut();
            let Some(container) = containers.get_mut(id).filter(|c| c.status.state == State::Running) else { return };
            container.status.state = State::Exited;
            container.status.exit_code = exit_code & 0xff;
            container.status.finished_at = now;
            container.status.reason = match (reason, exit_code & 0xff) {
                ("", 0) => "Completed".into(),
                ("", _) => "Error".into(),
                (reason, _) => reason.into(),
            };
            container.log.borrow_mut().close(now);
            let live = container.live.take();
            container.status.message = termination_message(container, live.as_ref());
            (live, container.status.pod_uid.clone())
        };
        if let Some(live) = live {
            for task in &live.tasks {
                task.abort();
            }
            live.ended.notify();
        }
        self.touch(&uid);
    }

    /// SIGKILL.
    pub(super) fn kill_container(&self, id: &str) {
        self.ended(id, Signal::Kill.exit_code(), "");
    }

    /// The stop signal, then SIGKILL once `grace` is over.
    pub(super) async fn stop_container(&self, id: &str, grace: Duration) -> Result<(), CriError> {
        let (ended, signals, signal) = {
            let containers = self.disk.containers.borrow();
            let Some(container) = containers.get(id) else {
                return Err(CriError::not_found(format!(
                    "an error occurred when try to find container \"{id}\": not found"
                )));
            };
            let Some(live) = &container.live else { return Ok(()) };
            (
                live.ended.notified(),
                live.signals.clone(),
                container.config.stop_signal.unwrap_or(container.repository.stop_signal),
            )
        };
        if !grace.is_zero() {
            signals.send(signal);
            if self.ctx.timeout(grace, ended).await.is_ok() {
                return Ok(());
            }
        }
        self.kill_container(id);
        Ok(())
    }

    /// A running container's standard input, if it is open; `over` closes it where its pod wants that.
    pub(super) fn stdin_of(&self, id: &str, over: bool) -> Option<Feed> {
        let mut containers = self.disk.containers.borrow_mut();
        let container = containers.get_mut(id)?;
        let live = container.live.as_mut()?;
        if over {
            if container.config.stdin_once {
                live.stdin.take().inspect(Feed::close);
            }
            return None;
        }
        live.stdin.clone().filter(|_| container.config.stdin)
    }

    /// Hands what a container's first process writes from now on to `part`, until it ends.
    pub(super) async fn attach(&self, id: &str, part: impl Fn(Stream, Rc<[u8]>)) -> Result<(), CriError> {
        use futures_util::StreamExt;
        let mut written = {
            let containers = self.disk.containers.borrow();
            let Some(container) = containers.get(id) else {
                return Err(CriError::not_found(format!(
                    "an error occurred when try to find container \"{id}\": not found"
                )));
            };
            let Some(live) = &container.live else { return Ok(()) };
            if let Some(Feed::Tty(tty)) = &live.stdin {
                // Who attaches tells the size of his terminal.
                tty.signal("WINCH");
            }
            live.watchers.watch()
        };
        while let Some((stream, bytes)) = written.next().await {
            part(stream, bytes);
        }
        Ok(())
    }

    /// Gives a container another memory limit. A limit that it exceeds already is refused with what it holds.
    pub(super) fn update_container(&self, id: &str, limit: i64) -> Result<Reply, CriError> {
        let containers = self.disk.containers.borrow();
        let Some(live) = containers.get(id).and_then(|c| c.live.as_ref()) else {
            return Err(CriError::not_found(format!(
                "an error occurred when try to find container \"{id}\": not found"
            )));
        };
        let used = live.machine.memory.used();
        if limit > 0 && used > limit {
            return Err(CriError::unknown(used.to_string()));
        }
        live.machine.memory.set_limit(limit);
        Ok(Reply::Done)
    }

    pub(super) fn remove_container(&self, id: &str) {
        self.kill_container(id);
        let Some(gone) = self.disk.containers.borrow_mut().remove(id) else { return };
        let uid = gone.status.pod_uid;
        {
            let mut pods = self.disk.pods.borrow_mut();
            if let Some((sandboxes, containers)) = pods.get_mut(&uid) {
                containers.retain(|c| *c != *id);
                if sandboxes.is_empty() && containers.is_empty() {
                    pods.remove(&uid);
                }
            }
        }
        self.touch(&uid);
    }

    /// Runs a command in a container to its end. Gives its exit code.
    pub(super) async fn exec(
        self: &Rc<Self>,
        id: &str,
        argv: Vec<String>,
        stdin: Rc<dyn Input>,
        stdout: Rc<dyn Output>,
        stderr: Rc<dyn Output>,
        tty: Option<Tty>,
    ) -> Result<i32, CriError> {
        let (machine, env, cwd, ended) = {
            let containers = self.disk.containers.borrow();
            let Some(container) = containers.get(id) else {
                return Err(CriError::not_found(format!(
                    "an error occurred when try to find container \"{id}\": not found"
                )));
            };
            let Some(live) = &container.live else {
                return Err(CriError::unknown("failed to exec in container: container is in CONTAINER_EXITED state"));
            };
            (live.machine.clone(), live.env.clone(), live.cwd.clone(), live.ended.notified())
        };
        let Some(program) = find(&machine, argv.first().map_or("", String::as_str)) else {
            let name = argv.first().map_or("", String::as_str);
            let exec_id = self.new_id();
            return Err(CriError::unknown(format!(
                "failed to exec in container: failed to start exec \"{exec_id}\": OCI runtime exec failed: exec failed: unable to start container process: {}",
                not_found(name)
            )));
        };
        let process = Process {
            args: argv,
            env,
            cwd,
            files: machine.files.clone(),
            stdin,
            stdout,
            stderr,
            family: Default::default(),
        };
        let signals = Signals::default();
        let interrupted = Box::pin(interrupted(tty, signals.clone(), self.ctx.clone()));
        let number = machine.processes.others.start(&process.args);
        let running = run(&program, Guest { ctx: self.ctx.clone(), process, signals, number, machine });
        // The command dies with the container.
        match select(running, select(ended, interrupted)).await {
            Either::Left((code, _)) => Ok(code & 0xff),
            Either::Right((Either::Left(_), _)) => Ok(Signal::Kill.exit_code()),
            Either::Right((Either::Right((code, _)), _)) => Ok(code),
        }
    }

    /// As [`Runtime::exec`] with its output as one piece; `patience` zero: no limit.
    pub(super) async fn exec_sync(
        self: &Rc<Self>,
        id: &str,
        argv: Vec<String>,
        patience: Duration,
    ) -> Result<(i32, Rc<[u8]>), CriError> {
        let said: Rc<RefCell<Vec<u8>>> = Rc::default();
        let into = said.clone();
        let command = argv.join(" ");
        let keep: Rc<dyn Output> = Rc::new(SinkOutput(move |bytes: &[u8]| {
            let mut said = into.borrow_mut();
            let room = EXEC_OUTPUT.saturating_sub(said.len());
            said.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
        }));
        let run = self.exec(id, argv, Rc::new(Bytes::default()), keep.clone(), keep, None);
        let code = if patience.is_zero() {
            run.await?
        } else {
            self.ctx.timeout(patience, run).await.map_err(|_| {
                CriError::new(
                    "DeadlineExceeded",
                    format!(
                        "failed to exec in container: timeout {} exceeded: context deadline exceeded: {command}",
                        crate::kubelet::go::duration(patience)
                    ),
                )
            })??
        };
        let out = said.borrow().as_slice().into();
        Ok((code, out))
    }

    /// Reads a container's log.
    pub(super) async fn read_log(&self, id: &str, query: &LogQuery, part: impl Fn(Vec<Line>)) -> Result<(), CriError> {
        let log = match self.disk.containers.borrow().get(id) {
            Some(container) => container.log.clone(),
            None => {
                return Err(CriError::not_found(format!(
                    "an error occurred when try to find container \"{id}\": not found"
                )));
            }
        };
        let wanted = |line: &&Line| {
            query.since.is_none_or(|since| line.at >= since) && query.stream.is_none_or(|s| s == line.stream)
        };
        let mut next;
        {
            let log = log.borrow();
            let mut lines: Vec<Line> = log.since(0).filter(wanted).cloned().collect();
            if let Some(tail) = query.tail {
                let skip = lines.len().saturating_sub(usize::try_from(tail).unwrap_or(usize::MAX));
                lines.drain(..skip);
            }
            next = log.next();
            if !lines.is_empty() {
                part(lines);
            }
        }
        if !query.follow {
            return Ok(());
        }
        loop {
            let changed = {
                let log = log.borrow();
                let lines: Vec<Line> = log.since(next).filter(wanted).cloned().collect();
                next = log.next();
                if !lines.is_empty() {
                    part(lines);
                }
                if log.is_closed() {
                    break;
                }
                log.changed().notified()
            };
            changed.await;
        }
        Ok(())
    }
}

/// Passes on the signals of a terminal's keys; the exit code once one comes that the program takes no notice of,
/// which therefore ends it.
async fn interrupted(tty: Option<Tty>, signals: Signals, ctx: sim::Ctx) -> i32 {
    let Some(tty) = tty else { return std::future::pending().await };
    loop {
        let Some(signal) = Signal::parse(tty.next_signal().await) else { continue };
        signals.send(signal);
        // A program that waits for signals has taken it when all others had their turn.
        ctx.sleep(Duration::from_nanos(1)).await;
        if signals.waiting() {
            return signal.exit_code();
        }
    }
}

/// Starts a program.
/// Runs a program as a process of its own: others see it while it runs, and can end it.
pub(super) fn run(program: &Runnable, guest: Guest) -> LocalFuture<'static, i32> {
    let number = guest.number.clone();
    let running = match program {
        Runnable::Own(own) => own(guest),
        Runnable::Tool(tool) => tool(guest.ctx, guest.process),
    };
    Box::pin(async move {
        let killed = number.until_killed();
        futures_util::pin_mut!(killed);
        select(running, killed).await.factor_first().0
    })
}

/// What runs: the pod's command and arguments over the image's.
fn arguments(config: &ContainerConfig, entrypoint: &[&str], cmd: &[&str]) -> Vec<String> {
    let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (mut argv, rest) = match (config.command.is_empty(), config.args.is_empty()) {
        (false, _) => (config.command.clone(), config.args.clone()),
        (true, false) => (owned(entrypoint), config.args.clone()),
        (true, true) => (owned(entrypoint), owned(cmd)),
    };
    argv.extend(rest);
    argv
}

fn environment(config: &ContainerConfig, image: &[(&str, &str)], version: &str, hostname: &str) -> Environment {
    let mut env: Environment = image.iter().map(|(k, v)| (k.to_string(), v.replace("{version}", version))).collect();
    env.insert("HOSTNAME".to_string(), hostname.to_string());
    env.extend(config.env.iter().cloned());
    // runc adds what is missing at the end.
    if env.get("HOME").is_none() {
        env.insert("HOME".to_string(), "/root".to_string());
    }
    env
}

/// What the runtime writes into each container's root.
fn base_files(root: &Tree, hostname: &str, config: &ContainerConfig) {
    let _ = root.put("/etc/hostname", format!("{hostname}\n").as_bytes(), 0o644);
    let _ = root.put("/etc/hosts", config.hosts.as_bytes(), 0o644);
    let _ = root.put("/etc/resolv.conf", config.resolv_conf.as_bytes(), 0o644);
    let _ = root.put("/dev/null", b"", 0o666);
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The program that a command names: the image's own, or the shell or one of its tools.
pub(super) fn find(machine: &Rc<Machine>, name: &str) -> Option<Runnable> {
    let matches =
        |own: &str| own == name || (base_name(own) == base_name(name) && (!name.contains('/') || !own.contains('/')));
    let own = machine.image.programs.iter().find(|(own, _)| matches(own));
    let tool = || tools::find(name, machine.base).or_else(|| tools::find_runner(machine, name));
    let bash = || {
        (machine.base == Base::Debian && ["bash", "/bin/bash", "/usr/bin/bash"].contains(&name)).then_some(tools::BASH)
    };
    own.map(|(_, program)| Runnable::Own(*program)).or_else(|| {
        let found = || bash().map(Runnable::Own).or_else(tool);
        machine.image.shell.then(found).flatten()
    })
}

/// Go's error of looking up or starting a program that isn't there.
fn not_found(name: &str) -> String {
    if name.contains('/') {
        format!("exec: \"{name}\": stat {name}: no such file or directory")
    } else {
        format!("exec: \"{name}\": executable file not found in $PATH")
    }
}

/// What the container left in its termination file, or the end of its log where the pod wants that.
fn termination_message(container: &Container, live: Option<&Live>) -> Str {
    let path = &container.config.termination_message_path;
    let text = live.and_then(|l| l.machine.files.read(path).ok()).unwrap_or_else(|| Rc::from([]));
    if !text.is_empty() {
        let cut = text.get(..TERMINATION_MESSAGE.min(text.len())).unwrap_or_default();
        return String::from_utf8_lossy(cut).into_owned().into();
    }
    if container.config.fallback_to_logs && container.status.exit_code != 0 {
        return log_end(&container.log.borrow());
    }
    Str::default()
}

/// The last 80 lines or 2,048 bytes, as the kubelet's fallback takes them.
fn log_end(log: &Log) -> Str {
    let mut lines: Vec<&Line> = log.since(0).collect();
    let skip = lines.len().saturating_sub(80);
    lines.drain(..skip);
    let mut text = Vec::new();
    for line in lines {
        text.extend_from_slice(&line.text);
        if line.whole {
            text.push(b'\n');
        }
    }
    let from = text.len().saturating_sub(2_048);
    String::from_utf8_lossy(text.get(from..).unwrap_or_default()).into_owned().into()
}
