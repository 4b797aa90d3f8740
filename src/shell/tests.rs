//! The shell against what bash gives (LC_ALL=C).

use crate::process::{Buffer, Bytes, FileError, Metadata};
use crate::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Default)]
struct Memory(RefCell<BTreeMap<String, Vec<u8>>>);

impl Files for Memory {
    fn read(&self, path: &str) -> Result<Rc<[u8]>, FileError> {
        self.0.borrow().get(path).map(|b| b.as_slice().into()).ok_or(FileError::NotFound)
    }
    fn write(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        self.0.borrow_mut().insert(path.into(), content.to_vec());
        Ok(())
    }
    fn append(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        self.0.borrow_mut().entry(path.into()).or_default().extend_from_slice(content);
        Ok(())
    }
    fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let prefix = if path.ends_with('/') { path.to_string() } else { format!("{path}/") };
        Ok(self.0.borrow().keys().filter_map(|k| k.strip_prefix(&prefix)).map(str::to_string).collect())
    }
    fn metadata(&self, path: &str) -> Result<Metadata, FileError> {
        if ["/", "/work"].contains(&path) {
            return Ok(Metadata { directory: true, size: 0, mode: 0o755 });
        }
        let size = self.0.borrow().get(path).map(Vec::len).ok_or(FileError::NotFound)?;
        Ok(Metadata { directory: false, size: size as u64, mode: 0o644 })
    }
    fn make_directory(&self, _: &str) -> Result<(), FileError> {
        Err(FileError::Denied)
    }
    fn remove(&self, path: &str) -> Result<(), FileError> {
        self.0.borrow_mut().remove(path).map(|_| ()).ok_or(FileError::NotFound)
    }
    fn rename(&self, _: &str, _: &str) -> Result<(), FileError> {
        Err(FileError::Denied)
    }
    fn set_mode(&self, _: &str, _: u32) -> Result<(), FileError> {
        Ok(())
    }
}

struct NoTools;
impl Tools for NoTools {
    fn find(&self, name: &str) -> Option<Program> {
        match name {
            // Copies its input, as cat.
            "copy" => Some(Rc::new(|_, p: Process| {
                Box::pin(async move {
                    while let Some(bytes) = p.stdin.read().await {
                        if p.stdout.write(&bytes).await.is_err() {
                            return 141;
                        }
                    }
                    0
                })
            })),
            "nap" => Some(Rc::new(|ctx: sim::Ctx, _| {
                Box::pin(async move {
                    ctx.sleep(sim::Duration::from_secs(1)).await;
                    0
                })
            })),
            _ => None,
        }
    }
    fn names(&self) -> Vec<String> {
        vec!["copy".into(), "nap".into()]
    }
}

/// Runs a program; both streams together, and `[exit N]`.
fn run_with(text: &str, signal_at: Option<u64>) -> String {
    let sim = sim::Sim::new(sim::Options::default());
    let host = sim.add_host("a", sim::Ip(1));
    let out = Rc::new(Buffer::default());
    let code = Rc::new(std::cell::Cell::new(None));
    let signals = Signals::default();
    let process = Process {
        args: ["bash", "-c", text].map(String::from).to_vec(),
        env: BTreeMap::from([("HOME".into(), "/root".into())]),
        cwd: "/work".into(),
        files: Rc::new(Memory::default()),
        stdin: Rc::new(Bytes::default()),
        stdout: out.clone(),
        stderr: out.clone(),
    };
    let (end, own) = (code.clone(), signals.clone());
    sim.start(host, "sh", |ctx| async move {
        end.set(Some(sh(ctx, process, Rc::new(NoTools), Dialect::Bash, own).await));
    });
    if let Some(seconds) = signal_at {
        assert!(sim.run_for(sim::Duration::from_secs(seconds)).is_ok());
        signals.send("TERM");
    }
    assert!(sim.run_for(sim::Duration::from_secs(100)).is_ok());
    let text = String::from_utf8_lossy(&out.take()).into_owned();
    match code.get() {
        Some(0) => text,
        Some(n) => format!("{text}[exit {n}]"),
        None => format!("{text}[still running]"),
    }
}

fn run(text: &str) -> String {
    run_with(text, None)
}

#[test]
fn commands_give_what_bash_gives() {
    for (program, printed) in [
        ("echo a  'b  c' \"d $HOME\"", "a b  c d /root\n"),
        ("x=1; x=$((x + 2)); echo $x ${x:-9} ${y:-9} ${#HOME}", "3 3 9 5\n"),
        ("for i in a b c; do echo -n $i; done; echo", "abc\n"),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); [ $i = 2 ] && continue; echo $i; done", "1\n3\n"),
        ("if false; then echo a; elif true; then echo b; else echo c; fi", "b\n"),
        ("case web-1 in db*) echo db;; web-*|x) echo web;; esac", "web\n"),
        ("f() { echo \"$1-$#\"; return 3; }; f a b; echo $?", "a-2\n3\n"),
        ("echo a > f; echo b >> f; copy < f", "a\nb\n"),
        ("copy <<EOF\nhome $HOME $((1+1))\nEOF\necho after", "home /root 2\nafter\n"),
        ("copy <<'EOF' | copy\n$HOME\nEOF", "$HOME\n"),
        ("echo one two | { read a b; echo $b $a; }", "two one\n"),
        ("printf 'a\\nb\\n' | while read x; do echo \"<$x>\"; done", "<a>\n<b>\n"),
        ("echo $(echo a; echo b) \"$(echo c; echo d)\"", "a b c\nd\n"),
        ("false || echo no; true && echo yes; ! false; echo $?", "no\nyes\n0\n"),
        ("nope; echo $?", "bash: line 1: nope: command not found\n127\n"),
        ("exit 3", "[exit 3]"),
        ("(exit 4); echo $?; set -e; false; echo never", "4\n[exit 1]"),
        ("set -- a 'b c'; for x in \"$@\"; do echo $x; done; echo $#", "a\nb c\n2\n"),
        ("x=web-5487-abc; echo ${x%-*} ${x##*-} ${x#web-} ${x/abc/z}", "web-5487 abc 5487-abc web-5487-z\n"),
        ("echo {a,b}-{1..3}", "a-1 a-2 a-3 b-1 b-2 b-3\n"),
        ("echo x > one.yaml; echo y > two.yaml; echo *.yaml *.txt", "one.yaml two.yaml *.txt\n"),
        ("echo out; echo err >&2; echo both &> f; copy < f", "out\nerr\nboth\n"),
        ("x='a b'; set -- $x; echo $#; set -- \"$x\"; echo $#", "2\n1\n"),
        ("until [ \"$n\" = xx ]; do n=x$n; done; echo $n", "xx\n"),
        ("A=1 B=2; export A; echo ${A}${B}", "12\n"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye\n"),
        ("nap & nap & wait; echo done", "done\n"),
        ("nap & kill $!; wait $!; echo $?", "143\n"),
        ("copy < missing; echo $?", "bash: line 1: missing: No such file or directory\n1\n"),
        ("echo \"unclosed", "bash: line 1: unexpected EOF while looking for matching `\"'\n[exit 2]"),
        ("echo )", "bash: line 1: syntax error near unexpected token `)'\n[exit 2]"),
        ("[ a = ]; echo $?", "bash: line 1: [: a: unary operator expected\n2\n"),
        ("[ 1 -lt x ]", "bash: line 1: [: x: integer expression expected\n[exit 2]"),
        ("[[ a ]]", "bash: line 1: the command [[ is not supported in this simulated shell\n[exit 2]"),
        ("eval 'x=5; echo $x'; f=echo; $f ok", "5\nok\n"),
        ("echo a; # comment\necho b # more", "a\nb\n"),
        ("x=$(false); echo $?; y=$(true) || echo no", "1\n"),
        ("yes=1; echo ${yes:+set} ${no:+set}.", "set .\n"),
        ("f() { f; }; f", "bash: line 1: maximum function nesting level exceeded\n[exit 1]"),
    ] {
        assert_eq!(run(program), printed, "{program}");
    }
}

#[test]
fn a_trapped_signal_is_taken_between_commands() {
    let program = "trap 'echo stopping; exit 7' TERM; while true; do nap; done";
    assert_eq!(run_with(program, Some(3)), "stopping\n[exit 7]");
    assert_eq!(run_with("while true; do nap; done", Some(3)), "[still running]");
    assert_eq!(run_with("trap 'echo t; exit 0' TERM; nap & nap & wait; echo no", Some(0)), "t\n");
}

#[test]
fn an_endless_loop_keeps_time_moving() {
    assert_eq!(run_with("while true; do :; done", Some(0)), "[still running]");
}

#[test]
fn lines_that_want_more_are_known() {
    for text in ["echo 'a", "cat <<EOF\nx", "if true; then", "for i in a; do", "echo a \\", "f() {", "echo $(ls"] {
        assert!(is_incomplete(text), "{text}");
    }
    for text in ["echo a", "cat <<EOF\nx\nEOF", "if true; then echo; fi", "echo )"] {
        assert!(!is_incomplete(text), "{text}");
    }
}
