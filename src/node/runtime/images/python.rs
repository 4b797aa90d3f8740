//! Python: an interpreter with nobody to type ends; `-m http.server` serves files. It runs no other code.

use super::{BASE, PATH, Repository, tag};
use crate::files::Entry;
use crate::runtime::http::{HttpRequest, HttpResponse};
use crate::runtime::program::{Guest, write_line};
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::{Files, LocalFuture};

pub const PYTHON: Repository = Repository {
    path: "library/python",
    tags: &[
        tag("3", "3.13.9", 398_512_004),
        tag("3.12", "3.12.12", 397_100_530),
        tag("3.13", "3.13.9", 398_512_004),
        tag("3.13-slim", "3.13.9", 43_981_220),
        tag("latest", "3.13.9", 398_512_004),
    ],
    cmd: &["python3"],
    env: &[PATH, ("PYTHON_VERSION", "{version}")],
    stop_signal: Signal::Term,
    programs: &[("python3", start), ("python", start)],
    ..BASE
};

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let args: Vec<&str> = guest.process.args.iter().skip(1).map(String::as_str).collect();
        let args: Vec<&str> = args.iter().copied().filter(|a| *a != "-u").collect();
        match args.as_slice() {
            [] => 0,
            ["--version" | "-V", ..] => {
                guest.say(format!("Python {}", guest.machine.version));
                0
            }
            ["-m", "http.server", rest @ ..] => {
                let port = rest.iter().find(|a| !a.starts_with('-')).copied().unwrap_or("8000");
                match port.parse() {
                    Ok(port) => serve(&guest, port).await,
                    Err(_) => {
                        guest.warn(format!("usage: server.py [-h] [--cgi] [-b ADDRESS] [-d DIRECTORY] [-p VERSION] [port]\nserver.py: error: argument port: invalid int value: '{port}'"));
                        2
                    }
                }
            }
            ["-m", module, ..] => {
                guest.warn(format!("/usr/local/bin/python3: No module named {module}"));
                1
            }
            ["-c", ..] => {
                guest.warn("python3: this container's interpreter is simulated and runs no code");
                1
            }
            [file, ..] => {
                let path = crate::files::clean(&guest.process.cwd, file);
                match guest.machine.files.read(&path) {
                    Err(why) => {
                        guest.warn(format!("/usr/local/bin/python3: can't open file '{path}': [Errno 2] {why}"));
                        2
                    }
                    Ok(_) => {
                        guest.warn("python3: this container's interpreter is simulated and runs no code");
                        1
                    }
                }
            }
        }
    })
}

async fn serve(guest: &Guest, port: u16) -> i32 {
    guest.say(format!("Serving HTTP on 0.0.0.0 port {port} (http://0.0.0.0:{port}/) ..."));
    let (ctx, err, machine, cwd) =
        (guest.ctx.clone(), guest.process.stderr.clone(), guest.machine.clone(), guest.process.cwd.clone());
    let answer = move |request: &HttpRequest| {
        let path = crate::files::clean(&cwd, &format!("./{}", request.file().trim_start_matches('/')));
        let response = match machine.files.stat(&path) {
            Ok(Entry::File(body, _)) => HttpResponse::new(200, "application/octet-stream", &body),
            Ok(Entry::Dir(_)) => {
                let names = machine.files.list(&path).unwrap_or_default();
                let items: String = names.iter().map(|n| format!("<li><a href=\"{n}\">{n}</a></li>\n")).collect();
                let title = format!("Directory listing for {}", request.file());
                let body = format!("<!DOCTYPE HTML>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n<hr>\n<ul>\n{items}</ul>\n<hr>\n</body>\n</html>\n");
                HttpResponse::new(200, "text/html; charset=utf-8", body.as_bytes())
            }
            Err(_) => HttpResponse::new(404, "text/html;charset=utf-8", b"<!DOCTYPE HTML>\n<html lang=\"en\">\n    <body>\n        <h1>Error response</h1>\n        <p>Error code: 404</p>\n        <p>Message: File not found.</p>\n    </body>\n</html>\n"),
        };
        let now = Stamp::of(ctx.unix_nanos()).python();
        if response.status == 404 {
            write_line(&*err, &format!("{} - - [{now}] code 404, message File not found", request.source));
        }
        write_line(
            &*err,
            &format!(
                "{} - - [{now}] \"{} {} HTTP/1.1\" {} -",
                request.source, request.method, request.path, response.status
            ),
        );
        response
    };
    // The interpreter has no handler for SIGTERM: as the first process of its container it lives until SIGKILL.
    match guest.serve(port, &[Signal::Int], answer).await {
        Ok(_) => {
            guest.say("\nKeyboard interrupt received, exiting.");
            0
        }
        Err(_) => {
            guest.warn("OSError: [Errno 98] Address already in use");
            1
        }
    }
}
