//! The Apache HTTP server.

use super::{BASE, PATH, Repository, tag};
use crate::runtime::http::{HttpRequest, HttpResponse};
use crate::runtime::program::{Guest, write_line};
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::{Files, LocalFuture};

const PAGE: &str = "<html><body><h1>It works!</h1></body></html>\n";

pub const HTTPD: Repository = Repository {
    path: "library/httpd",
    tags: &[
        tag("2.4", "2.4.65", 45_180_114),
        tag("2.4-alpine", "2.4.65", 20_932_551),
        tag("alpine", "2.4.65", 20_932_551),
        tag("latest", "2.4.65", 45_180_114),
    ],
    cmd: &["httpd-foreground"],
    env: &[PATH, ("HTTPD_VERSION", "{version}"), ("HTTPD_PREFIX", "/usr/local/apache2")],
    workdir: "/usr/local/apache2",
    ports: &[80],
    stop_signal: Signal::Winch,
    files: &[("/usr/local/apache2/htdocs/index.html", PAGE)],
    programs: &[("httpd-foreground", start), ("httpd", start)],
    ..BASE
};

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let machine = guest.machine.clone();
        for _ in 0..2 {
            guest.warn(format!("AH00558: httpd: Could not determine the server's fully qualified domain name, using {}. Set the 'ServerName' directive globally to suppress this message", machine.ip));
        }
        let notice = |module: &str, text: &str| {
            guest.warn(format!(
                "[{}] [{module}:notice] [pid 1:tid 1] {text}",
                Stamp::of(guest.ctx.unix_nanos()).apache()
            ));
        };
        notice(
            "mpm_event",
            &format!("AH00489: Apache/{} (Unix) configured -- resuming normal operations", machine.version),
        );
        notice("core", "AH00094: Command line: 'httpd -D FOREGROUND'");
        let (ctx, out) = (guest.ctx.clone(), guest.process.stdout.clone());
        let files = machine.clone();
        let answer = move |request: &HttpRequest| {
            let path = crate::files::clean(
                "/usr/local/apache2/htdocs",
                &format!("./{}", request.file().trim_start_matches('/')),
            );
            let path = if request.file().ends_with('/') { format!("{path}/index.html") } else { path };
            let response = match files.files.read(&path) {
                Ok(body) => HttpResponse::new(200, "text/html", &body),
                Err(_) => HttpResponse::new(
                    404,
                    "text/html; charset=iso-8859-1",
                    b"<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n<p>The requested URL was not found on this server.</p>\n</body></html>\n",
                ),
            };
            write_line(
                &*out,
                &format!(
                    "{} - - [{}] \"{} {} HTTP/1.1\" {} {}",
                    request.source,
                    Stamp::of(ctx.unix_nanos()).access(),
                    request.method,
                    request.path,
                    response.status,
                    response.body.len()
                ),
            );
            response
        };
        match guest.serve(80, &[Signal::Term, Signal::Winch, Signal::Int], answer).await {
            Ok(Signal::Winch) => {
                notice("mpm_event", "AH00492: caught SIGWINCH, shutting down gracefully");
                0
            }
            Ok(_) => {
                notice("mpm_event", "AH00491: caught SIGTERM, shutting down");
                0
            }
            Err(_) => {
                guest.warn("(98)Address already in use: AH00072: make_sock: could not bind to address 0.0.0.0:80");
                guest.warn("no listening sockets available, shutting down");
                1
            }
        }
    })
}
