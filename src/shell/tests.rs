//! The shell against what bash gives (LC_ALL=C).

use crate::process::{Buffer, Bytes, FileError, Metadata};
use crate::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Default)]
pub(super) struct Memory(RefCell<BTreeMap<String, Vec<u8>>>);

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
            return Ok(Metadata { directory: true, size: 0, mode: 0o755, modified: 0 });
        }
        let size = self.0.borrow().get(path).map(Vec::len).ok_or(FileError::NotFound)?;
        Ok(Metadata { directory: false, size: size as u64, mode: 0o644, modified: 0 })
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
    run_among(Rc::new(NoTools), text, signal_at)
}

/// What a program wrote, and `[exit N]` where it did not end well.
fn answer(wrote: &[u8], code: Option<i32>) -> String {
    let text = String::from_utf8_lossy(wrote).into_owned();
    match code {
        Some(0) => text,
        Some(n) => format!("{text}[exit {n}]"),
        None => format!("{text}[still running]"),
    }
}

fn run_among(tools: Rc<dyn Tools>, text: &str, signal_at: Option<u64>) -> String {
    let sim = sim::Sim::new(sim::Options::default());
    let host = sim.add_host("a", sim::Ip(1));
    let out = Rc::new(Buffer::default());
    let code = Rc::new(std::cell::Cell::new(None));
    let signals = Signals::default();
    let process = Process {
        args: ["bash", "-c", text].map(String::from).to_vec(),
        env: crate::Environment::from([("HOME".into(), "/root".into())]),
        cwd: "/work".into(),
        files: Rc::new(Memory::default()),
        stdin: Rc::new(Bytes::default()),
        stdout: out.clone(),
        stderr: out.clone(),
        family: Default::default(),
    };
    let (end, own) = (code.clone(), signals.clone());
    sim.start(host, "sh", |ctx| async move {
        end.set(Some(sh(ctx, process, tools, Dialect::Bash, own).await));
    });
    if let Some(seconds) = signal_at {
        assert!(sim.run_for(sim::Duration::from_secs(seconds)).is_ok());
        signals.send("TERM");
    }
    assert!(sim.run_for(sim::Duration::from_secs(100)).is_ok());
    answer(&out.take(), code.get())
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
        (
            "p=/a/b/c.tar.gz; echo ${p#*/} ${p##*/} ${p%.*} ${p%%.*} ${p%%x*} ${p#x}",
            "a/b/c.tar.gz c.tar.gz /a/b/c.tar /a/b/c /a/b/c.tar.gz /a/b/c.tar.gz\n",
        ),
        (
            "p=abcabc; echo ${p/b/x} ${p//b/x} ${p//b*b/x} ${p//c*x/y} ${p//[ac]/} ${p//?b/} ${p/*/z}",
            "axcabc axcaxc axc abcabc bb cc z\n",
        ),
        ("f() { f; }; f", "bash: line 1: maximum function nesting level exceeded\n[exit 1]"),
    ] {
        assert_eq!(run(program), printed, "{program}");
    }
}

#[test]
fn a_trapped_signal_is_taken_between_commands() {
    let program = "trap 'echo stopping; exit 7' TERM; while true; do nap; done";
    assert_eq!(run_with(program, Some(3)), "stopping\n[exit 7]");
    assert_eq!(run_with("while true; do nap; done", Some(3)), "[exit 143]");
    assert_eq!(run_with("trap 'echo t; exit 0' TERM; nap & nap & wait; echo no", Some(0)), "t\n");
}

#[test]
fn an_endless_loop_keeps_time_moving() {
    assert_eq!(run("while true; do :; done"), "[still running]");
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

#[test]
fn awk_gives_what_mawk_gives() {
    for (program, printed) in [
        ("echo 'a b c' | awk '{print $1,$3; print NF}'", "a c\n3\n"),
        ("printf '1 x\\n2 y\\n' | awk 'NR>1 {print $2}'", "y\n"),
        ("printf 'a node-1\\nb node-2\\n' | awk '{print $1,$2==\"node-2\"}'", "a 0\nb 1\n"),
        ("printf '3\\n4\\n' | awk '{s+=$1} END {print s, s/NR, 10%3, 2^10, -3}'", "7 3.5 1 1024 -3\n"),
        ("awk 'BEGIN {printf \"%5.1f|%-4s|%03d|%s\\n\", 3.14159, \"ab\", 7, 0.1+0.2}'", "  3.1|ab  |007|0.3\n"),
        ("printf 'a:b\\nc:d\\n' | awk -F: -v x=9 '{print x $2}'", "9b\n9d\n"),
        ("echo 'x1y22z' | awk '{gsub(/[0-9]+/, \"<&>\"); print; print length($0)}'", "x<1>y<22>z\n10\n"),
        ("printf 'a\\nb\\nc\\nd\\n' | awk '/b/,/c/'", "b\nc\n"),
        ("printf 'b\\na\\nb\\n' | awk '{n[$1]++} END {for (k in n) print k, n[k]}'", "a 1\nb 2\n"),
        (
            "awk 'BEGIN {n = split(\"a-b-c\", p, \"-\"); print n, p[3], substr(\"hello\", 2, 3), index(\"abc\", \"c\")}'",
            "3 c ell 3\n",
        ),
        ("awk 'BEGIN {while (i < 3) { if (i == 1) { i++; continue }; print i++ }; exit 4}'", "0\n2\n[exit 4]"),
        ("echo 'a  b' | awk '{$2 = \"x\"; print; $4 = \"y\"; print NF, $0}'", "a x\n4 a x  y\n"),
        ("echo 10 9 | awk '{print ($1 > $2), (\"10\" > \"9\"), ($1 \"\" > $2 \"\")}'", "1 0 0\n"),
        ("echo v1.37 | awk -F. '{print toupper($1) \"-\" $2 > \"f\"} END {print \"ok\"}'; cat f", "ok\nV1-37\n"),
        ("echo abcd | awk '{print match($0, /c./), RSTART, RLENGTH; print !/x/, $0 ~ \"^a\"}'", "3 3 2\n1 1\n"),
        (
            "awk 'BEGIN {print length(\"a\") (1 < 2 ? \"y\" : \"n\"), 1e6, 1234567.5, \"a\" \"b\" 1+1}'",
            "1y 1000000 1.23457e+06 ab2\n",
        ),
        ("awk 'BEGIN {print $}'", "awk: line 1: syntax error at or near }\n[exit 2]"),
        ("awk 'BEGIN {while (1) x++}'", "awk: the program does not end\n[exit 2]"),
        (
            "awk 'BEGIN {\"date\" | getline x}'",
            "awk: a pipe to or from a command is not supported by this awk\n[exit 2]",
        ),
    ] {
        assert_eq!(run_among(Rc::new(tools::Standard(Dialect::Bash)), program, None), printed, "{program}");
    }
}

#[test]
fn programs_run_programs() {
    for (program, printed) in [
        ("printf 'a b\\nc\\n' | xargs", "a b c\n"),
        ("printf 'a b\\nc\\n' | xargs -n1 echo -", "- a\n- b\n- c\n"),
        ("printf 'a b\\nc\\n' | xargs -I X echo '<X>'", "<a b>\n<c>\n"),
        ("printf '' | xargs echo none; printf '' | xargs -r echo none", "none\n"),
        ("echo x | xargs nope; echo $?", "xargs: nope: No such file or directory\n127\n"),
        ("timeout 2 sleep 5; echo $?; timeout 5 sleep 2; echo $?", "124\n0\n"),
        ("timeout 3 sh -c 'until false; do echo a; sleep 2; done'; echo $?", "a\na\n124\n"),
        (
            "timeout x true; echo $?",
            "timeout: invalid time interval 'x'\nTry 'timeout --help' for more information.\n125\n",
        ),
        ("env A=1 sh -c 'echo $A; nope'", "1\nbash: line 1: nope: command not found\n[exit 127]"),
        ("bash -c 'exit 3'; echo $?; sh -c 'echo $0 $1' name one", "3\nname one\n"),
    ] {
        assert_eq!(run_among(Rc::new(tools::Standard(Dialect::Bash)), program, None), printed, "{program}");
    }
}

#[test]
fn a_signal_without_a_trap_ends_the_shell() {
    for (program, printed) in [
        ("kill -9 $$; echo after", "[exit 137]"),
        ("kill $$; echo after", "[exit 143]"),
        ("kill -s INT $$", "[exit 130]"),
        ("kill -SEGV $$", "[exit 139]"),
        ("kill -USR1 $$; echo $?", "[exit 138]"),
        // Who is part of the shell's process goes on without it.
        ("(kill -9 $$; echo sub); echo after", "sub\n[exit 137]"),
        ("x=$(kill -9 $$); echo $?", "[exit 137]"),
        ("kill $$ | copy; echo $?", "[exit 143]"),
        ("kill -9 $$ & wait; echo x", "[exit 137]"),
        ("kill -9 $$ & nap; nap; echo x", "[exit 137]"),
        // No trap of EXIT runs then, and what is trapped or ignored does not end it.
        ("trap 'echo bye' EXIT; kill $$; echo after", "[exit 143]"),
        ("trap '' TERM; kill $$; echo after", "after\n"),
        ("trap 'echo caught' TERM; kill $$; echo after", "caught\nafter\n"),
        ("trap 'echo caught' TERM; trap - TERM; kill $$; echo after", "[exit 143]"),
        ("trap 'echo caught' KILL; kill -9 $$", "[exit 137]"),
        ("kill -CHLD $$; kill -CONT $$; kill -URG $$; echo $?", "0\n"),
        ("kill -0 $$; echo $?", "0\n"),
        ("kill -l 9 137 TERM", "KILL\nKILL\n15\n"),
        ("trap 'echo bye' EXIT; (echo in)", "in\nbye\n"),
    ] {
        assert_eq!(run(program), printed, "{program}");
    }
    assert_eq!(run_with("nap; nap; nap; echo after", Some(1)), "[exit 143]");
}

/// Lines typed one after the other, and what they print.
fn typed(dialect: Dialect, lines: &[&str]) -> String {
    let sim = sim::Sim::new(sim::Options::default());
    let host = sim.add_host("a", sim::Ip(1));
    let out = Rc::new(Buffer::default());
    let process = Process {
        args: vec!["bash".into()],
        env: crate::Environment::default(),
        cwd: "/work".into(),
        files: Rc::new(Memory::default()),
        stdin: Rc::new(Bytes::default()),
        stdout: out.clone(),
        stderr: out.clone(),
        family: Default::default(),
    };
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let shown = out.clone();
    sim.start(host, "sh", move |ctx| async move {
        let mut shell = Shell::new(&ctx, Rc::new(NoTools), dialect, &process, Signals::default());
        shell.set_interactive();
        let io = Io { stdin: Rc::new(Bytes::default()), stdout: shown.clone(), stderr: shown };
        for line in lines {
            shell.remember(&line);
            shell.run(&line, &io).await;
            shell.report_jobs(&io).await;
        }
    });
    assert!(sim.run_for(sim::Duration::from_secs(10)).is_ok());
    String::from_utf8_lossy(&out.take()).into_owned()
}

// As bash 5.2 answers at a terminal, and busybox 1.36's ash.
#[test]
fn aliases_stand_for_what_they_mean() {
    let unknown = |name: &str| format!("bash: {name}: command not found\n");
    for (lines, printed) in [
        (&["alias k='echo kubectl'", "k get pods; x=1 k -A | copy"][..], "kubectl get pods\nkubectl -A\n".into()),
        (&["alias e=echo", "'e' a; \\e b; e e"], format!("{0}{0}e\n", unknown("e"))),
        (&["alias echo='echo hello'", "echo you; alias echo"], "hello you\nalias echo='echo hello'\n".into()),
        (&["alias a='b x' b='echo y'", "a z"], "y x z\n".into()),
        (&["alias a='echo ' b=c", "a b b; a x b"], "c b\nx b\n".into()),
        (&["alias t='echo a; echo b |'", "t copy"], "a\nb\n".into()),
        (&["alias q=\"echo 'it is'\"", "alias"], "alias q='echo '\\''it is'\\'''\n".into()),
        (
            &["alias k=kubectl", "type k; command -v k; unalias k; type k"],
            "k is aliased to `kubectl'\nalias k='kubectl'\nbash: type: k: not found\n".into(),
        ),
        (
            &["alias none; unalias none; echo $?"],
            "bash: alias: none: not found\nbash: unalias: none: not found\n1\n".into(),
        ),
        (&["alias e=echo; e same line", "e next"], format!("{}next\n", unknown("e"))),
        (&["alias a=a b=c c=b", "a; b"], format!("{}{}", unknown("a"), unknown("b"))),
        (&["alias w='while'", "i=0; w [ $i -lt 2 ]; do i=$((i+1)); echo $i; done"], "1\n2\n".into()),
        (&["alias h='copy <<E'", "h\nin it\nE"], "in it\n".into()),
        (&["alias e=echo", "(e a; alias e=false); e b; echo $(e c) \"$(e d)\""], "a\nb\nc d\n".into()),
    ] {
        assert_eq!(typed(Dialect::Bash, lines), printed, "{lines:?}");
    }
    assert_eq!(run("alias e=echo\neval 'e x'"), "bash: line 1: e: command not found\n[exit 127]");
    let busybox = typed(Dialect::Busybox, &["alias k=echo", "alias; alias none", "k a; type k"]);
    assert_eq!(busybox, "k='echo'\nsh: alias: none not found\na\nk is an alias for echo\n");
    // Those that double each other come to an end.
    let doubling: Vec<String> = (0..60).map(|i| format!("alias a{i}='a{} ; a{} '", i + 1, i + 1)).collect();
    let mut lines: Vec<&str> = doubling.iter().map(String::as_str).collect();
    lines.push("a0");
    assert!(typed(Dialect::Bash, &lines).len() < 100_000);
}

// As bash 5.2 and busybox 1.35 answered at a terminal, but for the processes' numbers.
#[test]
fn jobs_are_known_by_number() {
    let lines = [
        "nap &",
        "nap | copy &",
        "jobs; kill %7; wait %9; fg %5; echo $?",
        "kill %2; wait %3; jobs -p",
        "false & nap",
        ":",
        "nap & fg; echo $?",
        "(exit 3) & wait $!; echo $?",
        "nap & disown %1; jobs",
    ];
    let bash = "[1] 101\n[2] 102\n[1]-  Running                 nap &\n\
                [2]+  Running                 nap | copy &\nbash: kill: %7: no such job\nbash: wait: %9: no such job\n\
                bash: fg: %5: no such job\n1\n";
    let printed = typed(Dialect::Bash, &lines);
    assert!(printed.starts_with(bash), "{printed}");
    assert!(printed.contains("[2]+  Exit 1                  false\n"), "{printed}");
    assert!(printed.contains("\nnap\n0\n"), "{printed}");
    assert!(printed.ends_with("3\n[1] 106\n"), "{printed}");
    let busybox = typed(Dialect::Busybox, &["nap &", "nap | copy &", "jobs; bg %9", "nap; nap", "false & nap", "fg"]);
    assert_eq!(
        busybox,
        "[2]+  Running                    nap | copy\n[1]-  Running                    nap\n\
         sh: bg: %9: no such job\n[1]-  Done                       nap\n[2]+  Done                       nap | copy\n\
         [1]+  Done(1)                    false\nsh: fg: No current job\n"
    );
}

// As bash 5.2 and busybox 1.35 answered at a terminal.
#[test]
fn what_was_typed_is_remembered() {
    let lines = ["echo a", "", "history", "history 1", "history x", "history -c; history"];
    let bash = "a\n    1  echo a\n    2  history\n    3  history 1\nbash: history: x: numeric argument required\n";
    assert_eq!(typed(Dialect::Bash, &lines), bash);
    assert_eq!(
        typed(Dialect::Busybox, &["echo a", "history", "history 1"]),
        "a\n   0 echo a\n   1 history\n   0 echo a\n   1 history\n   2 history 1\n"
    );
    assert_eq!(run("history"), "");
}

/// `curl` against a server on the same machine, which answers in pieces at `/pieces`.
fn curl(words: &'static str) -> String {
    use sim::http::{HttpChunk, HttpRequest, HttpResponse};
    let sim = sim::Sim::new(sim::Options::default());
    let host = sim.add_host("a", sim::Ip::new(10, 0, 0, 1));
    sim.start(host, "server", |ctx| async move {
        let Ok(listener) = ctx.listen_on(sim::Ip::LOCALHOST, 8080) else { return };
        while let Ok(conn) = listener.accept().await {
            let Ok(request) = conn.recv::<HttpRequest>().await else { continue };
            let body = format!("{} {} {}\n", request.method, request.path, String::from_utf8_lossy(&request.body));
            let mut answer = HttpResponse::new(if request.file() == "/none" { 404 } else { 200 }, "text/plain", &[]);
            match request.file() {
                "/silence" => continue,
                "/pieces" => {
                    answer.headers.push(("Transfer-Encoding".into(), "chunked".into()));
                    let _ = conn.send(answer);
                    for piece in ["one ", "two\n", ""] {
                        let _ = conn.send(HttpChunk(piece.as_bytes().into()));
                    }
                }
                "/moved" => {
                    answer.headers.push(("Location".into(), "/there".into()));
                    let _ = conn.send(HttpResponse { status: 302, ..answer });
                }
                _ => {
                    let _ = conn.send(HttpResponse { body: body.into_bytes().into(), ..answer });
                }
            }
            let _ = conn.recv::<HttpRequest>().await;
        }
    });
    let out = Rc::new(Buffer::default());
    let (shown, code) = (out.clone(), Rc::new(std::cell::Cell::new(None)));
    let ended = code.clone();
    sim.start(host, "curl", |ctx| async move {
        let process = Process {
            args: words.split(' ').map(String::from).collect(),
            env: crate::Environment::default(),
            cwd: "/work".into(),
            files: Rc::new(Memory::default()),
            stdin: Rc::new(Bytes::default()),
            stdout: shown.clone(),
            stderr: shown,
            family: Default::default(),
        };
        ended.set(Some(crate::tools::curl::run(ctx, process).await));
    });
    assert!(sim.run_for(sim::Duration::from_secs(100)).is_ok());
    answer(&out.take(), code.get())
}

// As curl 7.88.1 answered.
#[test]
fn curl_speaks_to_what_listens() {
    assert_eq!(curl("curl -s localhost:8080"), "GET / \n");
    assert_eq!(curl("curl -sd a=b -d c=d http://127.0.0.1:8080/x?y"), "POST /x?y a=b&c=d\n");
    assert_eq!(curl("curl -s -XDELETE localhost:8080/x -w %{http_code}\\n -o /dev/null"), "200\n");
    assert_eq!(curl("curl -sN localhost:8080/pieces"), "one two\n");
    assert_eq!(curl("curl -sL localhost:8080/moved"), "GET /there \n");
    assert_eq!(curl("curl -sI localhost:8080/none"), "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n");
    assert_eq!(curl("curl -fsS localhost:8080/none"), "curl: (22) The requested URL returned error: 404\n[exit 22]");
    assert_eq!(curl("curl -sS localhost:8080/silence"), "curl: (52) Empty reply from server\n[exit 52]");
    assert_eq!(
        curl("curl localhost:8081"),
        "curl: (7) Failed to connect to localhost port 8081 after 0 ms: Couldn't connect to server\n[exit 7]"
    );
    assert_eq!(curl("curl -sS nowhere"), "curl: (6) Could not resolve host: nowhere\n[exit 6]");
    assert_eq!(curl("curl -s nowhere"), "[exit 6]");
}

// Each of these once filled the memory, the stack or the time of everybody.
#[test]
fn a_shell_that_wants_too_much_ends_alone() {
    for (program, told) in [
        ("x=a; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do x=$x$x; done", "xrealloc: cannot"),
        ("set -- a; while true; do set -- \"$@\" \"$@\"; done", "xrealloc: cannot"),
        ("echo {1..9999}{1..9999}", "xrealloc: cannot"),
        ("x=aaaaaaaaaaaaaaaa; while true; do x=${x//a/aa}; done", "xrealloc: cannot"),
        ("x=aaaaaaaa; while true; do export x=$x$x; done", "xrealloc: cannot"),
        (
            "x=a; for i in {1..18}; do x=$x$x; done; for i in {1..99}; do eval y$i=\\$x; done; echo all",
            "xrealloc: cannot",
        ),
        ("f() { f; f; }; f", "nesting level exceeded"),
        ("echo 'sh a' > a; sh a", "nesting level exceeded"),
        ("echo 'env sh a' > a; sh a", "Resource temporarily unavailable"),
        ("f() { f | f & }; f; wait", ""),
        ("f() { x=$(f)$(f); }; f", "nesting level exceeded"),
        ("echo 'sh b & sh b & wait' > b; sh b", ""),
    ] {
        let printed = run_among(Rc::new(tools::Standard(Dialect::Bash)), program, None);
        assert!(printed.contains(told), "{program}: {}", printed.chars().take(400).collect::<String>());
    }
}
