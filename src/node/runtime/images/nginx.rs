//! nginx: the entry point's script, then a server of its one page on port 80.

use super::{BASE, PATH, Repository, Tag};
use crate::files::Entry;
use crate::runtime::http::{HttpRequest, HttpResponse};
use crate::runtime::program::{Guest, write_line};
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::{Files, LocalFuture};

/// What the server is told, in the words of nginx's configuration.
const CONF: &str = "user nginx;\nworker_processes auto;\n\nerror_log /var/log/nginx/error.log notice;\npid /run/nginx.pid;\n\nevents {\n    worker_connections 1024;\n}\n\nhttp {\n    include /etc/nginx/conf.d/*.conf;\n}\n";
const SITE: &str = "server {\n    listen 80;\n    server_name localhost;\n\n    location / {\n        root /usr/share/nginx/html;\n        index index.html;\n    }\n}\n";
const PAGE: &str = "<!DOCTYPE html>\n<html>\n<head>\n<title>Welcome to nginx!</title>\n</head>\n<body>\n<h1>Welcome to nginx!</h1>\n</body>\n</html>\n";

pub const NGINX: Repository = Repository {
    path: "library/nginx",
    tags: &[
        Tag {
            name: "1.26",
            version: "1.26.0",
            size: 1_457_386,
            digest: "650c327b55480f44c6754b5bc7360b24d3231f22712ea7a96228c24e39dbc70d",
        },
        Tag {
            name: "1.27",
            version: "1.27.0",
            size: 1_457_387,
            digest: "196be35087f6304104d4d344d2ea85eb9353a78a2044489623ff9f8e1e63a41a",
        },
        Tag {
            name: "1.28",
            version: "1.28.0",
            size: 1_457_387,
            digest: "96f6d89e8b1bb76e44dc97d21edb918e0638df06e7692a0f8fac08222a6673c9",
        },
        Tag {
            name: "latest",
            version: "1.28.0",
            size: 1_457_387,
            digest: "96f6d89e8b1bb76e44dc97d21edb918e0638df06e7692a0f8fac08222a6673c9",
        },
    ],
    entrypoint: &["/docker-entrypoint.sh"],
    env: &[PATH, ("NGINX_VERSION", "{version}")],
    ports: &[80],
    stop_signal: Signal::Quit,
    files: &[
        ("/usr/share/nginx/html/index.html", PAGE),
        ("/etc/nginx/nginx.conf", CONF),
        ("/etc/nginx/conf.d/default.conf", SITE),
    ],
    programs: &[("/docker-entrypoint.sh", start), ("nginx", start), ("curl", crate::runtime::tools::CURL)],
    ..BASE
};

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        if let Some(option) =
            guest.process.args.get(1).filter(|_| guest.process.args.first().is_some_and(|a| a == "nginx"))
        {
            match option.as_str() {
                "-v" | "-V" => {
                    guest.warn(format!("nginx version: nginx/{}", guest.machine.version));
                    return 0;
                }
                "-t" => {
                    guest.warn("nginx: the configuration file /etc/nginx/nginx.conf syntax is ok");
                    guest.warn("nginx: configuration file /etc/nginx/nginx.conf test is successful");
                    return 0;
                }
                _ => {}
            }
        }
        guest.say("/docker-entrypoint.sh: Configuration complete; ready for start up");
        let (ctx, out, machine) = (guest.ctx.clone(), guest.process.stdout.clone(), guest.machine.clone());
        let answer = move |request: &HttpRequest| {
            let response = page(&machine, request);
            let (now, sent) = (Stamp::of(ctx.unix_nanos()), response.body.len());
            write_line(
                &*out,
                &format!(
                    "{} - - [{}] \"{} {} HTTP/1.1\" {} {sent} \"-\" \"{}\" \"-\"",
                    request.source,
                    now.access(),
                    request.method,
                    request.path,
                    response.status,
                    request.header("user-agent").unwrap_or("-")
                ),
            );
            response
        };
        match guest.serve(80, &[Signal::Term, Signal::Quit, Signal::Int], answer).await {
            Ok(_) => 0,
            Err(_) => {
                guest.warn("nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address in use)");
                1
            }
        }
    })
}

fn page(machine: &crate::runtime::program::Machine, request: &HttpRequest) -> HttpResponse {
    let path = crate::files::clean("/usr/share/nginx/html", &format!("./{}", request.file().trim_start_matches('/')));
    let path = match machine.files.stat(&path) {
        Ok(Entry::Dir(_)) => format!("{}/index.html", path.trim_end_matches('/')),
        _ => path,
    };
    match machine.files.read(&path) {
        Ok(body) => HttpResponse::new(200, "text/html", &body),
        Err(_) => {
            let body = format!(
                "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/{}</center>\r\n</body>\r\n</html>\r\n",
                machine.version
            );
            HttpResponse::new(404, "text/html", body.as_bytes())
        }
    }
}
