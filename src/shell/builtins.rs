//! What the shell does itself: commands that change its own state.

use crate::interpreter::{Dialect, Flow, Io, Shell};
use crate::jobs::{bg, disown, fg, jobs, kill, wait};
use crate::process::{LocalFuture, clean};
use crate::signals;
use crate::tools::{echo, printf, test};

/// A built-in: sets the shell's status and says what comes next.
pub(crate) type Builtin = for<'a> fn(&'a mut Shell, &'a [String], &'a Io) -> LocalFuture<'a, Flow>;

macro_rules! builtins {
    ($($name:literal => $function:ident),* $(,)?) => {
        /// The built-in of that name.
        pub(crate) fn find(name: &str) -> Option<Builtin> {
            match name {
                $($name => Some(|shell, arguments, io| Box::pin($function(shell, arguments, io))),)*
                _ => None,
            }
        }
        /// Their names, for completion.
        pub const NAMES: &[&str] = &[$($name),*];
    };
}

builtins! {
    ":" => nothing, "true" => nothing, "false" => failure, "cd" => cd, "pwd" => pwd, "echo" => run_echo,
    "printf" => run_printf, "test" => run_test, "[" => run_test, "export" => export, "local" => local, "unset" => unset,
    "set" => set, "shift" => shift, "read" => read, "exit" => exit, "return" => return_, "break" => break_,
    "continue" => continue_, "eval" => eval, "." => source, "source" => source, "exec" => exec, "trap" => trap,
    "wait" => wait, "kill" => kill, "jobs" => jobs, "fg" => fg, "bg" => bg, "disown" => disown, "type" => type_, "command" => command, "umask" => nothing,
    "help" => help, "history" => history, "alias" => alias, "unalias" => unalias,
}

/// Columns of a line of `help`.
const COLUMNS: usize = 76;

/// What there is to type: programs, and what the shell does itself.
async fn help(shell: &mut Shell, _: &[String], io: &Io) -> Flow {
    let words =
        NAMES.iter().filter(|name| name.chars().all(|c| c.is_ascii_alphabetic())).map(|name| (*name).to_string());
    let mut text = String::new();
    for (title, names) in [("Programs", shell.tools.names()), ("In the shell", words.collect())] {
        text.push_str(&format!("{title}:\n"));
        let mut line = String::from(" ");
        for name in names {
            if line.len() + name.len() >= COLUMNS {
                text.push_str(&format!("{line}\n"));
                line = String::from(" ");
            }
            line.push_str(&format!(" {name}"));
        }
        text.push_str(&format!("{line}\n"));
    }
    print(shell, io, text.as_bytes()).await
}

/// `history [N]`, `history -c`: the lines that were typed.
async fn history(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let word = argument(arguments, 1);
    if word == "-c" {
        shell.history = (1, Default::default());
        shell.status = 0;
        return Flow::Next;
    }
    // busybox shows all, whatever it is asked.
    let all = word.is_empty() || shell.dialect == Dialect::Busybox;
    let wanted = if all { Ok(usize::MAX) } else { word.parse::<usize>() };
    let Ok(wanted) = wanted else {
        io.complain(&shell.complaint(&format!("history: {word}: numeric argument required"))).await;
        shell.status = 1;
        return Flow::Next;
    };
    let (first, lines) = &shell.history;
    let skip = lines.len().saturating_sub(wanted);
    let (width, gap) = if shell.dialect == Dialect::Bash { (5, "  ") } else { (4, " ") };
    let shown = lines.iter().enumerate().skip(skip);
    // busybox counts from nothing.
    let base = if shell.dialect == Dialect::Bash { *first } else { first.saturating_sub(1) };
    let text: String = shown.map(|(at, line)| format!("{:width$}{gap}{line}\n", base + at)).collect();
    print(shell, io, text.as_bytes()).await
}

/// A value in single quotes, as an alias is printed.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}

/// `alias [NAME[=VALUE]...]`: sets them, or prints them as they would be typed.
async fn alias(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let words = arguments.get(1..).unwrap_or_default();
    let words = words.strip_prefix(&["-p".to_string()]).unwrap_or(words);
    let printed = |name: &str, value: &str| match shell.dialect {
        Dialect::Bash => format!("alias {name}={}\n", quoted(value)),
        Dialect::Busybox => format!("{name}={}\n", quoted(value)),
    };
    let (mut text, mut unknown) = (String::new(), Vec::new());
    {
        let mut aliases = shell.aliases.borrow_mut();
        if words.is_empty() {
            text = aliases.iter().map(|(name, value)| printed(name, value)).collect();
        }
        for word in words {
            match (word.split_once('='), aliases.get(word)) {
                (Some((name, value)), _) if !name.is_empty() && aliases.len() < ALIASES => {
                    aliases.insert(name.into(), value.into());
                }
                (None, Some(value)) => text.push_str(&printed(word, value)),
                _ => unknown.push(word.clone()),
            }
        }
    }
    let flow = print(shell, io, text.as_bytes()).await;
    absent(shell, "alias", &unknown, io).await;
    flow
}

/// Aliases of a shell at most.
const ALIASES: usize = 1000;

async fn unalias(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let words = arguments.get(1..).unwrap_or_default();
    let mut unknown = Vec::new();
    if words.first().is_some_and(|w| w == "-a") {
        shell.aliases.borrow_mut().clear();
    } else {
        unknown.extend(words.iter().filter(|name| shell.aliases.borrow_mut().remove(*name).is_none()).cloned());
    }
    shell.status = 0;
    absent(shell, "unalias", &unknown, io).await;
    Flow::Next
}

/// Complains of aliases that are not there.
async fn absent(shell: &mut Shell, builtin: &str, names: &[String], io: &Io) {
    for name in names {
        let colon = if shell.dialect == Dialect::Bash { ":" } else { "" };
        io.complain(&shell.complaint(&format!("{builtin}: {name}{colon} not found"))).await;
        shell.status = 1;
    }
}

pub(crate) fn argument(arguments: &[String], n: usize) -> &str {
    arguments.get(n).map_or("", String::as_str)
}

async fn nothing(shell: &mut Shell, _: &[String], _: &Io) -> Flow {
    shell.status = 0;
    Flow::Next
}

async fn failure(shell: &mut Shell, _: &[String], _: &Io) -> Flow {
    shell.status = 1;
    Flow::Next
}

async fn cd(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let home = shell.variables.get("HOME").cloned().unwrap_or_else(|| "/root".into());
    let to = match argument(arguments, 1) {
        "" => home,
        "-" => shell.variables.get("OLDPWD").cloned().unwrap_or_else(|| shell.cwd.clone()),
        path => path.to_string(),
    };
    let path = clean(&shell.cwd, &to);
    let problem = match shell.files.metadata(&path) {
        Ok(found) if found.directory => None,
        Ok(_) => Some("Not a directory".to_string()),
        Err(error) => Some(error.to_string()),
    };
    shell.status = i32::from(problem.is_some());
    match problem {
        None => {
            let old = std::mem::replace(&mut shell.cwd, path.clone());
            shell.variables.insert("OLDPWD".into(), old);
            shell.variables.insert("PWD".into(), path);
        }
        Some(problem) => io.complain(&shell.complaint(&format!("cd: {to}: {problem}"))).await,
    }
    Flow::Next
}

async fn pwd(shell: &mut Shell, _: &[String], io: &Io) -> Flow {
    let line = format!("{}\n", shell.cwd);
    print(shell, io, line.as_bytes()).await
}

/// Writes to standard output; a broken pipe ends the shell as SIGPIPE would.
pub(crate) async fn print(shell: &mut Shell, io: &Io, bytes: &[u8]) -> Flow {
    if io.stdout.write(bytes).await.is_err() {
        shell.status = 141;
        return Flow::Exit;
    }
    shell.status = 0;
    Flow::Next
}

async fn run_echo(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let bytes = echo::text(arguments.get(1..).unwrap_or_default());
    print(shell, io, &bytes).await
}

async fn run_printf(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    match printf::format(arguments.get(1..).unwrap_or_default()) {
        Ok((bytes, complaint)) => {
            // What is printed is held back until the end; complaints are not.
            if let Some(complaint) = &complaint {
                io.complain(&shell.complaint(&format!("printf: {complaint}"))).await;
            }
            let flow = print(shell, io, &bytes).await;
            if complaint.is_some() {
                shell.status = 1;
            }
            flow
        }
        Err(complaint) => {
            io.complain(&shell.complaint(&format!("printf: {complaint}"))).await;
            shell.status = 2;
            Flow::Next
        }
    }
}

async fn run_test(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let mut words = arguments.get(1..).unwrap_or_default();
    if argument(arguments, 0) == "[" {
        match words.split_last() {
            Some((last, rest)) if last == "]" => words = rest,
            _ => {
                io.complain(&shell.complaint("[: missing `]'")).await;
                shell.status = 2;
                return Flow::Next;
            }
        }
    }
    shell.status = match test::evaluate(words, &*shell.files, &shell.cwd) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(complaint) => {
            io.complain(&shell.complaint(&format!("{}: {complaint}", argument(arguments, 0)))).await;
            2
        }
    };
    Flow::Next
}

async fn export(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    for word in arguments.iter().skip(1).filter(|w| !w.starts_with('-')) {
        let name = match word.split_once('=') {
            Some((name, value)) => {
                if let Err(complaint) = shell.assign(name, value.into()) {
                    return shell.fail(&complaint, io).await;
                }
                name
            }
            None => word,
        };
        shell.exported.insert(name.into());
    }
    shell.status = 0;
    Flow::Next
}

async fn local(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    for (name, value) in arguments.iter().skip(1).filter_map(|w| w.split_once('=')) {
        if let Err(complaint) = shell.assign(name, value.into()) {
            return shell.fail(&complaint, io).await;
        }
    }
    shell.status = 0;
    Flow::Next
}

async fn unset(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    for name in arguments.iter().skip(1).filter(|w| !w.starts_with('-')) {
        shell.variables.remove(name);
        shell.exported.remove(name);
        shell.functions.remove(name);
    }
    shell.status = 0;
    Flow::Next
}

async fn set(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let mut words = arguments.iter().skip(1);
    shell.status = 0;
    while let Some(word) = words.next() {
        let on = word.starts_with('-');
        match word.as_str() {
            "--" => {
                shell.positional = words.cloned().collect();
                return Flow::Next;
            }
            "-o" | "+o" => match words.next().map(String::as_str) {
                Some("pipefail") => shell.pipefail = on,
                Some("errexit") => shell.errexit = on,
                Some("nounset") => shell.nounset = on,
                Some("xtrace") => shell.trace = on,
                _ => {}
            },
            flags if flags.len() > 1 && (on || flags.starts_with('+')) => {
                for flag in flags.chars().skip(1) {
                    match flag {
                        'e' => shell.errexit = on,
                        'u' => shell.nounset = on,
                        'x' => shell.trace = on,
                        'o' => {
                            if words.next().is_some_and(|w| w == "pipefail") {
                                shell.pipefail = on;
                            }
                        }
                        other => {
                            io.complain(&shell.complaint(&format!("set: -{other}: invalid option"))).await;
                            shell.status = 2;
                        }
                    }
                }
            }
            word => {
                let rest = words.cloned();
                shell.positional = std::iter::once(word.to_string()).chain(rest).collect();
                return Flow::Next;
            }
        }
    }
    Flow::Next
}

async fn shift(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    let n = argument(arguments, 1).parse().unwrap_or(1);
    shell.status = i32::from(n > shell.positional.len());
    if shell.status == 0 {
        shell.positional.drain(..n);
    }
    Flow::Next
}

/// Reads a byte at a time from what the input gives, so that what follows the line stays for others only in pipes of
/// this shell: the rest of a chunk is handed back through the shell's own buffer.
async fn read(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let names: Vec<&String> = arguments.iter().skip(1).filter(|w| !w.starts_with('-')).collect();
    let raw = arguments.iter().any(|w| w == "-r");
    let Some(line) = io.stdin.read_line().await else {
        names.iter().for_each(|n| {
            shell.variables.insert((*n).clone(), String::new());
        });
        shell.status = 1;
        return Flow::Next;
    };
    let ended = line.ends_with('\n');
    let line = line.trim_end_matches('\n');
    let line = if raw { line.to_string() } else { line.replace('\\', "") };
    let ifs = shell.variables.get("IFS").cloned().unwrap_or_default();
    let white = |c: char| ifs.contains(c) && c.is_whitespace();
    let mut rest = line.trim_start_matches(white);
    for (i, name) in names.iter().enumerate() {
        let value = if i + 1 == names.len() {
            std::mem::take(&mut rest).trim_end_matches(white)
        } else {
            let end = rest.find(|c| ifs.contains(c)).unwrap_or(rest.len());
            let (value, after) = rest.split_at(end);
            rest = after.trim_start_matches(white);
            if rest.len() == after.len() {
                rest = after.strip_prefix(|c| ifs.contains(c)).unwrap_or(after).trim_start_matches(white);
            }
            value
        };
        shell.variables.insert((*name).clone(), value.to_string());
    }
    if names.is_empty() {
        shell.variables.insert("REPLY".into(), rest.into());
    }
    shell.status = i32::from(!ended);
    Flow::Next
}

fn status_argument(shell: &Shell, arguments: &[String]) -> i32 {
    argument(arguments, 1).parse::<i32>().map_or(shell.status, |n| n & 0xff)
}

async fn exit(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    shell.status = status_argument(shell, arguments);
    Flow::Exit
}

async fn return_(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    shell.status = status_argument(shell, arguments);
    Flow::Return
}

async fn break_(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    shell.status = 0;
    Flow::Break(argument(arguments, 1).parse().unwrap_or(1).max(1))
}

async fn continue_(shell: &mut Shell, arguments: &[String], _: &Io) -> Flow {
    shell.status = 0;
    Flow::Continue(argument(arguments, 1).parse().unwrap_or(1).max(1))
}

async fn eval(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let text = arguments.get(1..).unwrap_or_default().join(" ");
    shell.status = 0;
    Box::pin(shell.run(&text, io)).await
}

async fn source(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let name = argument(arguments, 1);
    match shell.files.read(&clean(&shell.cwd, name)) {
        Ok(content) => {
            let flow = Box::pin(shell.run(&String::from_utf8_lossy(&content), io)).await;
            if flow == Flow::Return { Flow::Next } else { flow }
        }
        Err(error) => {
            io.complain(&shell.complaint(&format!("{name}: {error}"))).await;
            shell.status = 1;
            Flow::Next
        }
    }
}

async fn exec(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let rest = arguments.get(1..).unwrap_or_default();
    if rest.is_empty() {
        shell.status = 0;
        return Flow::Next;
    }
    shell.status = shell.execute(rest.to_vec(), shell.environment(), io).await;
    shell.traps.clear();
    Flow::Exit
}

async fn trap(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    shell.status = 0;
    let Some((action, names)) = arguments.get(1..).and_then(<[_]>::split_first) else { return Flow::Next };
    for word in names {
        let name = if word == "0" || word == "EXIT" { Some("EXIT") } else { signals::named(word).map(|s| s.1) };
        match (name, action.as_str()) {
            (Some(name), "-") => {
                shell.traps.remove(name);
                shell.trapped(name, false);
            }
            (Some(name), action) => {
                shell.traps.insert(name.into(), action.into());
                shell.trapped(name, true);
            }
            (None, _) => {
                io.complain(&shell.complaint(&format!("trap: {word}: invalid signal specification"))).await;
                shell.status = 1;
            }
        }
    }
    Flow::Next
}

async fn type_(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    let name = argument(arguments, 1);
    let alias = shell.aliases.borrow().get(name).cloned();
    let found = if let Some(value) = alias {
        Some(match shell.dialect {
            Dialect::Bash => format!("{name} is aliased to `{value}'\n"),
            Dialect::Busybox => format!("{name} is an alias for {value}\n"),
        })
    } else if shell.functions.contains_key(name) {
        Some(format!("{name} is a function\n"))
    } else if find(name).is_some() {
        Some(format!("{name} is a shell builtin\n"))
    } else if shell.tools.find(name).is_some() {
        Some(format!("{name} is /usr/bin/{name}\n"))
    } else {
        None
    };
    match found {
        Some(line) => print(shell, io, line.as_bytes()).await,
        None => {
            io.complain(&shell.complaint(&format!("type: {name}: not found"))).await;
            shell.status = 1;
            Flow::Next
        }
    }
}

async fn command(shell: &mut Shell, arguments: &[String], io: &Io) -> Flow {
    if argument(arguments, 1) == "-v" {
        let name = argument(arguments, 2);
        let alias = shell.aliases.borrow().get(name).cloned();
        let line = if let Some(value) = alias {
            format!("alias {name}={}\n", quoted(&value))
        } else if find(name).is_some() || shell.functions.contains_key(name) {
            format!("{name}\n")
        } else if shell.tools.find(name).is_some() {
            format!("/usr/bin/{name}\n")
        } else {
            shell.status = 1;
            return Flow::Next;
        };
        return print(shell, io, line.as_bytes()).await;
    }
    let rest = arguments.get(1..).unwrap_or_default().to_vec();
    match rest.first().and_then(|name| find(name)) {
        Some(builtin) => builtin(shell, &rest, io).await,
        None => {
            shell.status = shell.execute(rest, shell.environment(), io).await;
            Flow::Next
        }
    }
}
