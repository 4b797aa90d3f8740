//! A shell at a terminal: prompts, lines as they are typed, and Ctrl+C (POSIX sh, "interactive").

use crate::interpreter::{Dialect, Flow, Io, Shell};
use crate::signals::Signals;
use crate::syntax;
use futures_util::future::{Either, select};
use std::pin::pin;

/// What an interactive shell does not die of (POSIX: SIGQUIT and SIGTERM are ignored, SIGINT is caught), and what
/// makes it show its line anew.
const CAUGHT: [&str; 4] = ["INT", "QUIT", "TERM", "WINCH"];

/// Takes the terminal back when a shell ends, or is dropped with its container.
struct Front<'a>(&'a Io, Signals);

impl Drop for Front<'_> {
    fn drop(&mut self) {
        self.0.stdin.leave(&self.1);
    }
}

/// What came at the prompt.
enum Typed {
    Line(Option<String>),
    Signal,
}

/// Reads and runs lines until `exit`, or the end of input.
pub(crate) async fn run(shell: &mut Shell, io: &Io, signals: &Signals) {
    shell.interactive = true;
    for name in CAUGHT {
        signals.handle(name, true);
    }
    io.stdin.enter(signals);
    let _front = Front(io, signals.clone());
    let mut text = String::new();
    loop {
        if shell.take_signals(io).await == Flow::Exit {
            return;
        }
        if text.is_empty() {
            shell.report_jobs(io).await;
        }
        let prompt = shell.prompt(!text.is_empty());
        io.complain(&prompt).await;
        let typed = loop {
            let typed = {
                let (line, signal) = (pin!(io.stdin.read_line()), pin!(signals.wait(|s| CAUGHT.contains(&s))));
                match select(line, signal).await {
                    Either::Left((line, _)) => Typed::Line(line),
                    Either::Right(_) => Typed::Signal,
                }
            };
            match typed {
                Typed::Signal => match signals.take(|s| CAUGHT.contains(&s)) {
                    Some("INT") => break Typed::Signal,
                    // dash has no line editor that would draw it.
                    Some("WINCH") if !prompt.starts_with(['#', '$']) => io.complain(&format!("\r{prompt}")).await,
                    _ => {}
                },
                line => break line,
            }
        };
        match typed {
            Typed::Signal => {
                io.complain("\n").await;
                text.clear();
                shell.set_status(130);
                continue;
            }
            Typed::Line(Some(line)) => text.push_str(&line),
            Typed::Line(None) => {
                let bash = shell.dialect == Dialect::Bash;
                io.complain(if bash { "exit\n" } else { "\n" }).await;
                return;
            }
        }
        if syntax::is_incomplete(&text) {
            continue;
        }
        let line = std::mem::take(&mut text);
        shell.remember(&line);
        let flow = {
            let (running, interrupted) = (pin!(shell.run(&line, io)), pin!(signals.wait(|s| s == "INT")));
            match select(running, interrupted).await {
                Either::Left((flow, _)) => Some(flow),
                Either::Right(_) => None,
            }
        };
        match flow {
            Some(Flow::Exit) => {
                if shell.dialect == Dialect::Bash && signals.killed().is_none() {
                    io.complain("exit\n").await;
                }
                return;
            }
            Some(_) => {}
            None => {
                signals.take(|s| s == "INT");
                shell.set_status(130);
                io.complain("\n").await;
            }
        }
        signals.take(|s| s == "WINCH");
    }
}

/// A prompt: `\u`, `\h`, `\w`, `\W`, `\$`, `\s` and `\n` stand for the user, the host, the directory, its last part,
/// `#` for root, the shell's name and a new line, as in bash and busybox.
pub(crate) fn expand(format: &str, user: u32, shell: &Shell) -> String {
    let variable = |name: &str| shell.variables.get(name).map_or("", String::as_str);
    let home = variable("HOME");
    let place = match shell.cwd().strip_prefix(home).filter(|_| home.len() > 1) {
        Some("") => "~".to_string(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => shell.cwd().to_string(),
    };
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('u') if user == 0 => out.push_str("root"),
            Some('u') => out.push_str("I have no name!"),
            Some('h') => out.push_str(variable("HOSTNAME").split('.').next().unwrap_or_default()),
            Some('w') => out.push_str(&place),
            Some('W') => out.push_str(place.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(&place)),
            Some('$') => out.push(if user == 0 { '#' } else { '$' }),
            Some('s') => out.push_str(shell.name.rsplit('/').next().unwrap_or_default()),
            Some('n') => out.push('\n'),
            Some('[' | ']') => {}
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::process::{Buffer, Process};
    use crate::tty::{Tty, TtyOutput};
    use crate::{Dialect, Program, Signals, Tools};
    use std::rc::Rc;

    struct Root(&'static str);

    impl Tools for Root {
        fn find(&self, name: &str) -> Option<Program> {
            crate::tools::find(name, Dialect::Busybox)
                .or_else(|| crate::tools::find_runner(name, Dialect::Busybox, Rc::new(Root(self.0))))
        }
        fn names(&self) -> Vec<String> {
            Vec::new()
        }
        fn user(&self) -> u32 {
            0
        }
        fn prompt(&self, _: &str) -> &'static str {
            self.0
        }
    }

    /// What the terminal shows but for what is typed, and the exit code.
    fn typed(dialect: Dialect, prompt: &'static str, keys: &'static [&'static str]) -> (String, Option<i32>) {
        let sim = sim::Sim::new(sim::Options::default());
        let host = sim.add_host("a", sim::Ip(1));
        let (tty, screen, code) = (Tty::default(), Rc::new(Buffer::default()), Rc::new(std::cell::Cell::new(None)));
        let output = Rc::new(TtyOutput(screen.clone()));
        let (input, ended) = (tty.clone(), code.clone());
        sim.start(host, "sh", move |ctx| async move {
            let process = Process {
                args: vec!["sh".into()],
                env: crate::Environment::from(
                    [("HOME", "/root"), ("HOSTNAME", "web-1.local")].map(|(k, v)| (k.into(), v.into())),
                ),
                cwd: "/".into(),
                files: Rc::new(crate::tests::Memory::default()),
                stdin: Rc::new(input),
                stdout: output.clone(),
                stderr: output,
                family: Default::default(),
            };
            ended.set(Some(crate::sh(ctx, process, Rc::new(Root(prompt)), dialect, Signals::default()).await));
        });
        for key in keys {
            assert!(sim.run_for(sim::Duration::from_secs(1)).is_ok());
            tty.keys(key.as_bytes());
        }
        assert!(sim.run_for(sim::Duration::from_secs(1)).is_ok());
        (String::from_utf8_lossy(&screen.take()).into_owned(), code.get())
    }

    // As dash 0.5.12, busybox 1.35 and bash 5.2 answered at a pseudo-terminal, without its echo.
    #[test]
    fn a_session() {
        const KEYS: &[&str] = &[
            "nope\n",
            "echo \"a\n",
            "b\"\n",
            "sleep 50\n",
            "\x03",
            "echo $?\n",
            "part\x03",
            "if\n",
            "(\n",
            "exit 3\n",
        ];
        let (busybox, code) = typed(Dialect::Busybox, "\\w \\$ ", KEYS);
        let shown = "/ # sh: nope: not found\r\n/ # > a\r\nb\r\n/ # \r\n/ # 130\r\n/ # \r\n/ # > > > ";
        assert_eq!((&*busybox, code), (shown, None));
        let (bash, code) = typed(Dialect::Bash, "\\u@\\h:\\w\\$ ", &["nope\n", "cd /root\n", "cd /work\n", "exit 2\n"]);
        let shown = "root@web-1:/# bash: nope: command not found\r\nroot@web-1:/# bash: cd: /root: No such file or directory\r\n\
                     root@web-1:/# root@web-1:/work# exit\r\n";
        assert_eq!((&*bash, code), (shown, Some(2)));
    }

    #[test]
    fn the_end_of_input_ends_with_the_last_status() {
        let ended = |shown: &str| (shown.to_string(), Some(1));
        assert_eq!(typed(Dialect::Busybox, "\\$ ", &["false\n", "\x04"]), ended("# # \r\n"));
        assert_eq!(typed(Dialect::Bash, "bash-5.2\\$ ", &["false\n", "\x04"]), ended("bash-5.2# bash-5.2# exit\r\n"));
    }

    #[test]
    fn a_shell_in_a_shell_has_the_keys() {
        let keys = &["sh\n", "\x03", "exit\n", "PS1='now> '\n", "trap 'echo bye' EXIT\n", "exit\n"];
        let (shown, code) = typed(Dialect::Busybox, "\\w \\$ ", keys);
        assert_eq!((&*shown, code), ("/ # / # \r\n/ # / # now> now> bye\r\n", Some(0)));
    }

    #[test]
    fn what_is_read_is_what_was_typed() {
        let keys = &["cat\n", "one\n", "two", "\x04", "\x04", "read x; echo \"<$x>\"\n", "y\n", "\x1c", "exit\n"];
        let (shown, _) = typed(Dialect::Busybox, "\\$ ", keys);
        assert_eq!(shown, "# one\r\ntwo# <y>\r\n# ");
    }
}
