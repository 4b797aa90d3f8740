//! `kubectl proxy`: passes HTTP requests to the API server as the kubeconfig's user (kubectl's pkg/proxy).

use crate::error::Error;
use crate::print::time::klog;
use crate::raw::{self, Part};
use crate::session::Kubectl;
use ::api::SortSmall;
use ::api::cel::regex::Regex;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use sim::http::{HttpChunk, HttpRequest, HttpResponse};
use sim::{Conn, Ip};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;

/// What is let through (`FilterServer`).
struct Filter {
    accepted_paths: Vec<Regex>,
    rejected_paths: Vec<Regex>,
    accepted_hosts: Vec<Regex>,
    rejected_methods: Vec<Regex>,
}

/// The command.
pub async fn proxy(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    let warn = |line: u32, text: &str| k.err(&klog(k.now(), 'W', &format!("proxy.go:{line}"), text));
    let filter = if f.bool("disable-filter") {
        warn(177, "Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious");
        None
    } else {
        if f.str("reject-paths").is_empty() || f.str("reject-methods").is_empty() {
            warn(182, "Request filter has been relaxed, your proxy may be vulnerable to attacks, please be cautious");
        }
        Some(Filter {
            accepted_paths: expressions(k, "accept-paths")?,
            rejected_paths: expressions(k, "reject-paths")?,
            accepted_hosts: expressions(k, "accept-hosts")?,
            rejected_methods: expressions(k, "reject-methods")?,
        })
    };
    let (address, port) = (f.str("address"), f.int("port"));
    if port != 8001 && !f.str("unix-socket").is_empty() {
        return Err(Error::text("cannot set --unix-socket and --port at the same time"));
    }
    if !f.str("unix-socket").is_empty() {
        return Err(Error::text("listen unix: this machine has no sockets in files"));
    }
    let Ok(number) = u16::try_from(port) else {
        return Err(Error::text(format!("listen tcp: address {port}: invalid port")));
    };
    let ip = match address.parse::<std::net::Ipv4Addr>() {
        Ok(ip) => Ip(ip.to_bits()),
        Err(_) if address == "localhost" => Ip::LOCALHOST,
        Err(_) => return Err(Error::text(format!("listen tcp: lookup {address}: no such host"))),
    };
    let listening = k.ctx.listen_on(ip, number);
    let listener = listening.map_err(|error| Error::text(format!("listen tcp {address}:{port}: {error}")))?;
    k.out(&format!("Starting to serve on {}\n", listener.addr()));
    let mut prefix = f.str("api-prefix").to_string();
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    let (filter, prefix) = (filter.as_ref(), &*prefix);
    let mut open: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + '_>>> = FuturesUnordered::new();
    // Never empty, so that it never says that it is.
    open.push(Box::pin(std::future::pending()));
    loop {
        let accepted = {
            let (accepted, over) = (pin!(listener.accept()), pin!(open.next()));
            match select(accepted, over).await {
                Either::Left((accepted, _)) => Some(accepted),
                Either::Right(_) => None,
            }
        };
        match accepted {
            Some(Ok(conn)) => open.push(Box::pin(converse(k, conn, filter, prefix))),
            Some(Err(error)) => return Err(Error::text(format!("accept tcp {}: {error}", listener.addr()))),
            None => {}
        }
    }
}

/// The expressions of a flag (`MakeRegexpArrayOrDie`).
fn expressions(k: &Kubectl<'_>, flag: &str) -> Result<Vec<Regex>, Error> {
    let texts = k.flags.str(flag).split(',').filter(|_| !k.flags.str(flag).is_empty());
    texts.map(Regex::new).collect::<Result<_, _>>().map_err(|why| {
        Error::Exit(255, klog(k.now(), 'F', "proxy_server.go:83", &format!("Error compiling re: {why}")))
    })
}

impl Filter {
    fn accepts(&self, request: &HttpRequest) -> bool {
        let any = |all: &[Regex], text: &str| all.iter().any(|expression| expression.matches(text));
        let host = request.header("host").unwrap_or_default();
        let bare = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let host = bare.map_or(host, |(host, _)| host);
        // An address in brackets is shown without them, but for one without a port.
        let host = if bare.is_some() { host.trim_matches(['[', ']']) } else { host };
        let path = request.file();
        !any(&self.rejected_paths, path)
            && !any(&self.rejected_methods, &request.method)
            && any(&self.accepted_paths, path)
            && any(&self.accepted_hosts, host)
    }
}

/// Serves the requests of one connection.
async fn converse(k: &Kubectl<'_>, conn: Conn, filter: Option<&Filter>, prefix: &str) {
    let own = k.for_others();
    while let Ok(mut request) = conn.recv::<HttpRequest>().await {
        let path = request.path.clone();
        let sent = match path.strip_prefix(prefix) {
            _ if prefix.strip_suffix('/').is_some_and(|bare| !bare.is_empty() && bare == request.file()) => {
                let body = format!("<a href=\"{prefix}\">Temporary Redirect</a>.\n\n");
                let mut answer = HttpResponse::new(307, "text/html; charset=utf-8", body.as_bytes());
                answer.headers.push(("Location".into(), prefix.into()));
                conn.send(finished(k, answer))
            }
            None => conn.send(finished(k, plain(404, "404 page not found\n"))),
            Some(rest) => {
                if !prefix.starts_with("/api") {
                    request.path = format!("/{rest}");
                }
                if filter.is_none_or(|filter| filter.accepts(&request)) {
                    answer(&own, &conn, &request).await;
                    Ok(())
                } else {
                    conn.send(finished(k, plain(403, "Forbidden\n")))
                }
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

/// `http.Error`
fn plain(code: u16, text: &str) -> HttpResponse {
    let mut answer = HttpResponse::new(code, "text/plain; charset=utf-8", text.as_bytes());
    answer.headers.push(("X-Content-Type-Options".into(), "nosniff".into()));
    answer
}

/// With the headers that Go's server adds.
fn finished(k: &Kubectl<'_>, mut answer: HttpResponse) -> HttpResponse {
    answer.headers.push(("Date".into(), date(k)));
    if !answer.chunked() {
        answer.headers.push(("Content-Length".into(), answer.body.len().to_string()));
    }
    answer
}

/// `Mon, 30 Nov 2026 15:42:02 GMT`
fn date(k: &Kubectl<'_>) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let stamp = crate::print::time::rfc3339(k.now());
    let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or("");
    let day = usize::try_from(k.now().div_euclid(86_400_000_000_000).rem_euclid(7)).unwrap_or_default();
    let month = part(5, 7).parse::<usize>().ok().and_then(|m| MONTHS.get(m.wrapping_sub(1))).unwrap_or(&"");
    let day = DAYS.get(day).unwrap_or(&"");
    format!("{day}, {} {month} {} {} GMT", part(8, 10), part(0, 4), part(11, 19))
}

/// Passes one request on.
async fn answer(k: &Kubectl<'_>, conn: &Conn, request: &HttpRequest) {
    // Who asks with a terminal gets JSON that can be read there (negotiation's `isPrettyPrint`).
    let agent = request.header("user-agent").unwrap_or_default();
    let pretty = ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| agent.starts_with(name));
    let (mut head, mut body) = ((200, true, true), Vec::new());
    raw::pass(k, request, &mut |part| match part {
        Part::Head(code, json, whole) => {
            head = (code, json, whole);
            if !whole {
                let mut answer = respond(k, head, &[]);
                answer.headers.push(("Transfer-Encoding".into(), "chunked".into()));
                let _ = conn.send(answer);
            }
        }
        Part::Bytes(bytes) if head.2 => body.extend_from_slice(&bytes),
        Part::Bytes(bytes) if bytes.is_empty() => {}
        Part::Bytes(bytes) => {
            let _ = conn.send(HttpChunk(bytes));
        }
    })
    .await;
    if !head.2 {
        let _ = conn.send(HttpChunk(Rc::from([])));
        return;
    }
    if head.1 && pretty {
        body = indented(&body);
    }
    let _ = conn.send(finished_once(respond(k, head, &body)));
}

/// JSON with two blanks a level, its fields in the order that they have (`json.MarshalIndent`).
pub(crate) fn indented(compact: &[u8]) -> Vec<u8> {
    let (mut out, mut level, mut quoted, mut escaped) = (Vec::with_capacity(compact.len() * 2), 0, false, false);
    let line = |out: &mut Vec<u8>, level: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    };
    let mut bytes = compact.trim_ascii().iter().copied().filter(|b| *b != b'\n').peekable();
    while let Some(byte) = bytes.next() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            out.push(byte);
            continue;
        }
        match byte {
            b' ' => {}
            b'{' | b'[' => {
                out.push(byte);
                while bytes.next_if_eq(&b' ').is_some() {}
                match bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    Some(end) => out.push(end),
                    None => {
                        level += 1;
                        line(&mut out, level);
                    }
                }
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                line(&mut out, level);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, level);
            }
            b':' => out.extend(b": "),
            _ => {
                quoted = byte == b'"';
                out.push(byte);
            }
        }
    }
    out
}

fn finished_once(mut answer: HttpResponse) -> HttpResponse {
    // The API server's headers come in alphabetical order.
    answer.headers.push(("Content-Length".into(), answer.body.len().to_string()));
    answer.headers.sort_small_by_key(|(name, _)| name.clone());
    answer
}

fn respond(k: &Kubectl<'_>, (code, json, _): (u16, bool, bool), body: &[u8]) -> HttpResponse {
    let mut answer = HttpResponse::new(code, if json { "application/json" } else { "text/plain; charset=utf-8" }, body);
    answer.headers.push(("Cache-Control".into(), "no-cache, private".into()));
    answer.headers.push(("Date".into(), date(k)));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_as_it_comes() {
        let text = indented(
            br#"{"kind":"Status","metadata":{},"details":{"name":"a: \"b,c\\","uids":[]},"code":[404,1]}
"#,
        );
        let shown = "{\n  \"kind\": \"Status\",\n  \"metadata\": {},\n  \"details\": {\n    \"name\": \"a: \\\"b,c\\\\\",\n    \"uids\": []\n  },\n  \"code\": [\n    404,\n    1\n  ]\n}";
        assert_eq!(String::from_utf8_lossy(&text), shown);
        // What is laid out already stays so.
        assert_eq!(indented(&text), text);
    }
}
