//! `curl`: HTTP requests from this machine, in curl's words.

use super::complain;
use crate::process::{LocalFuture, Process};
use sim::http::{HttpChunk, HttpRequest, HttpResponse, reason};
use sim::{Addr, Conn, Ctx, Duration, Ip, NetError};
use std::net::Ipv4Addr;

/// What it calls itself.
const AGENT: &str = "curl/7.88.1";
/// Redirections that `-L` follows at most.
const REDIRECTIONS: u32 = 50;

/// What its arguments say.
#[derive(Default)]
struct Options {
    urls: Vec<String>,
    method: Option<String>,
    data: Option<Vec<u8>>,
    headers: Vec<(String, String)>,
    silent: bool,
    show_error: bool,
    include: bool,
    head: bool,
    fail: bool,
    follow: bool,
    verbose: bool,
    /// `-O`
    named_as_there: bool,
    output: Option<String>,
    write_out: String,
    connect_patience: Option<Duration>,
    patience: Option<Duration>,
}

/// Where it can connect to and from.
pub trait Network {
    /// The addresses of a host's name; none if it is unknown.
    fn resolve(&self, name: &str) -> Vec<Ip>;
    /// A connection.
    fn connect(&self, to: Addr) -> LocalFuture<'_, Result<Conn, NetError>>;
}

/// The machine that a program's process runs on.
pub struct Machine(pub Ctx);

impl Network for Machine {
    fn resolve(&self, name: &str) -> Vec<Ip> {
        match name {
            "localhost" => vec![Ip::LOCALHOST6, Ip::LOCALHOST],
            "[::1]" => vec![Ip::LOCALHOST6],
            name if name == &*self.0.host_name() => vec![self.0.host_ip()],
            name => name.parse::<Ipv4Addr>().into_iter().map(|ip| Ip(ip.to_bits())).collect(),
        }
    }
    fn connect(&self, to: Addr) -> LocalFuture<'_, Result<Conn, NetError>> {
        Box::pin(self.0.connect(to))
    }
}

/// The program, on the machine of its process.
pub fn run(ctx: Ctx, process: Process) -> LocalFuture<'static, i32> {
    Box::pin(async move { over(&ctx, &process, &Machine(ctx.clone())).await })
}

/// The program, in a network.
pub async fn over(ctx: &Ctx, process: &Process, network: &dyn Network) -> i32 {
    let options = match read(process) {
        Ok(options) => options,
        Err((code, why)) => {
            complain(process, &why).await;
            return code;
        }
    };
    if options.urls.is_empty() {
        complain(process, "curl: try 'curl --help' or 'curl --manual' for more information").await;
        return 2;
    }
    let mut code = 0;
    for url in &options.urls {
        let transfer = transfer(ctx, process, network, &options, url);
        let done = match options.patience {
            None => transfer.await,
            Some(patience) => ctx.timeout(patience, transfer).await.unwrap_or_else(|_| {
                let waited = patience.as_millis();
                Err((28, format!("Operation timed out after {waited} milliseconds with 0 bytes received")))
            }),
        };
        code = 0;
        if let Err((number, why)) = done {
            code = number;
            if !why.is_empty() && (!options.silent || options.show_error) {
                complain(process, &format!("curl: ({number}) {why}")).await;
            }
        }
    }
    code
}

/// How a transfer failed: curl's exit code and its words.
type Failure = (i32, String);

fn read(process: &Process) -> Result<Options, Failure> {
    let mut o = Options::default();
    let mut words = process.args.iter().skip(1);
    let again = "curl: try 'curl --help' or 'curl --manual' for more information";
    while let Some(word) = words.next() {
        let long = word.strip_prefix("--");
        let Some(letters) = word.strip_prefix('-').filter(|l| !l.is_empty()) else {
            o.urls.push(word.clone());
            continue;
        };
        let names: Vec<String> = match long {
            Some(name) => vec![name.to_string()],
            None => letters.chars().map(String::from).collect(),
        };
        for (at, name) in names.into_iter().enumerate() {
            // The value is the rest of the word, or the next one.
            let mut taken = false;
            let mut value = || {
                taken = true;
                let attached = letters.get(at + 1..).filter(|rest| long.is_none() && !rest.is_empty());
                let value = attached.map(str::to_string).or_else(|| words.next().cloned());
                value.ok_or_else(|| (2, format!("curl: option {word}: requires parameter\n{again}")))
            };
            let time = |text: String| {
                let bad = || (2, format!("curl: option {word}: expected a proper numerical parameter\n{again}"));
                super::sleep::interval(&text).ok_or_else(bad)
            };
            match name.as_str() {
                "s" | "silent" => o.silent = true,
                "S" | "show-error" => o.show_error = true,
                "i" | "include" => o.include = true,
                "I" | "head" => (o.head, o.include) = (true, true),
                "f" | "fail" => o.fail = true,
                "L" | "location" => o.follow = true,
                "v" | "verbose" => o.verbose = true,
                "O" | "remote-name" => o.named_as_there = true,
                "k" | "insecure" | "N" | "no-buffer" | "g" | "globoff" | "4" | "ipv4" | "no-progress-meter"
                | "compressed" => {}
                "o" | "output" => o.output = Some(value()?),
                "X" | "request" => o.method = Some(value()?),
                "A" | "user-agent" => {
                    let agent = value()?;
                    o.headers.push(("User-Agent".into(), agent));
                }
                "H" | "header" => {
                    let line = value()?;
                    if let Some((name, text)) = line.split_once(':') {
                        o.headers.push((name.into(), text.trim().into()));
                    }
                }
                "d" | "data" | "data-raw" | "data-binary" => {
                    let text = value()?;
                    let file = text.strip_prefix('@').filter(|f| name != "data-raw" && *f != "-");
                    let bytes = match file {
                        None => text.into_bytes(),
                        Some(path) => process.files.read(&process.path(path)).map(|b| b.to_vec()).unwrap_or_default(),
                    };
                    let all = o.data.get_or_insert_default();
                    if !all.is_empty() {
                        all.push(b'&');
                    }
                    all.extend(bytes.into_iter().filter(|b| name == "data-binary" || !matches!(b, b'\n' | b'\r')));
                }
                "w" | "write-out" => o.write_out = value()?.replace("\\n", "\n").replace("\\t", "\t"),
                "m" | "max-time" => o.patience = Some(time(value()?)?),
                "connect-timeout" => o.connect_patience = Some(time(value()?)?),
                _ => return Err((2, format!("curl: option {word}: is unknown\n{again}"))),
            }
            if taken {
                break;
            }
        }
    }
    Ok(o)
}

/// Host, port and path of a URL.
fn parts(url: &str) -> Result<(String, u16, String), Failure> {
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", rest)) => {
            let authority = rest.split('/').next().unwrap_or(rest);
            let words = "TLS connect error: error:0A00010B:SSL routines::wrong version number";
            return Err((35, format!("{words} ({authority})")));
        }
        Some((scheme, _)) => return Err((1, format!("Protocol \"{scheme}\" not supported or disabled in libcurl"))),
        None => url,
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
        Some((host, port)) => match port.parse() {
            Ok(port) => (host, port),
            Err(_) => return Err((3, "URL using bad/illegal format or missing URL".into())),
        },
        None => (authority, 80),
    };
    Ok((host.to_string(), port, path.split('#').next().unwrap_or("/").to_string()))
}

async fn dial(ctx: &Ctx, network: &dyn Network, o: &Options, host: &str, port: u16) -> Result<Conn, Failure> {
    let begun = ctx.now();
    let known = network.resolve(host);
    if known.is_empty() {
        return Err((6, format!("Could not resolve host: {host}")));
    }
    let mut last = NetError::Refused;
    for ip in known {
        let connect = network.connect(Addr { ip, port });
        let connected = match o.connect_patience {
            None => connect.await,
            Some(patience) => ctx.timeout(patience, connect).await.unwrap_or(Err(NetError::TimedOut)),
        };
        match connected {
            Ok(conn) => return Ok(conn),
            Err(error) => last = error,
        }
    }
    let waited = ctx.now().since(begun).as_millis();
    Err(match last {
        NetError::TimedOut => {
            (28, format!("Failed to connect to {host} port {port} after {waited} ms: Timeout was reached"))
        }
        NetError::Unreachable => {
            (7, format!("Failed to connect to {host} port {port} after {waited} ms: No route to host"))
        }
        _ => (7, format!("Failed to connect to {host} port {port} after {waited} ms: Couldn't connect to server")),
    })
}

async fn transfer(ctx: &Ctx, process: &Process, network: &dyn Network, o: &Options, url: &str) -> Result<(), Failure> {
    let mut url = url.to_string();
    for _ in 0..REDIRECTIONS {
        let (host, port, path) = parts(&url)?;
        let conn = dial(ctx, network, o, &host, port).await?;
        let authority = if port == 80 { host.clone() } else { format!("{host}:{port}") };
        let request = request(o, &authority, &path, conn.source());
        if o.verbose {
            let Addr { ip, port } = conn.target();
            let shown: String = request.headers.iter().map(|(name, value)| format!("> {name}: {value}\n")).collect();
            let first = format!("{} {} HTTP/1.1", request.method, request.path);
            let text = format!(
                "*   Trying {ip}:{port}...\n* Connected to {host} ({ip}) port {port} (#0)\n> {first}\n{shown}> "
            );
            complain(process, &text).await;
        }
        let head_only = request.method == "HEAD";
        let lost = |error| match error {
            NetError::Closed => (52, "Empty reply from server".to_string()),
            NetError::Type => (1, "Received HTTP/0.9 when not allowed".to_string()),
            NetError::TimedOut => (28, "Operation timed out".to_string()),
            _ => (56, "Recv failure: Connection reset by peer".to_string()),
        };
        conn.send(request).map_err(lost)?;
        let answer = conn.recv::<HttpResponse>().await.map_err(lost)?;
        let head = head(&answer);
        if o.verbose {
            let shown: Vec<String> = head.lines().map(|line| format!("< {}", line.trim_end())).collect();
            complain(process, &shown.join("\n")).await;
        }
        let location = answer.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("location"));
        if let Some((_, to)) = location.filter(|_| o.follow && (300..400).contains(&answer.status)) {
            url = if to.contains("://") { to.clone() } else { format!("http://{authority}{to}") };
            continue;
        }
        if o.fail && answer.status >= 400 {
            write_out(process, o, answer.status, 0).await;
            return Err((22, format!("The requested URL returned error: {}", answer.status)));
        }
        let mut target = Target::new(process, o, &path)?;
        if o.include {
            target.write(head.as_bytes()).await?;
        }
        let mut size = answer.body.len();
        if !head_only {
            target.write(&answer.body).await?;
        }
        while answer.chunked() && !head_only {
            let HttpChunk(bytes) = conn
                .recv::<HttpChunk>()
                .await
                .map_err(|_| (18, "transfer closed with outstanding read data remaining".to_string()))?;
            if bytes.is_empty() {
                break;
            }
            size += bytes.len();
            target.write(&bytes).await?;
        }
        if !o.silent && (!process.stdout.is_terminal() || target.path.is_some()) {
            meter(process, size).await;
        }
        write_out(process, o, answer.status, size).await;
        return Ok(());
    }
    Err((47, format!("Maximum ({REDIRECTIONS}) redirects followed")))
}

/// The request as curl writes it.
fn request(o: &Options, authority: &str, path: &str, source: Ip) -> HttpRequest {
    let method = match &o.method {
        Some(method) => method.clone(),
        None if o.head => "HEAD".into(),
        None if o.data.is_some() => "POST".into(),
        None => "GET".into(),
    };
    let body = o.data.clone().unwrap_or_default();
    let mut headers: Vec<(String, String)> =
        vec![("Host".into(), authority.into()), ("User-Agent".into(), AGENT.into()), ("Accept".into(), "*/*".into())];
    if o.data.is_some() {
        headers.push(("Content-Length".into(), body.len().to_string()));
        headers.push(("Content-Type".into(), "application/x-www-form-urlencoded".into()));
    }
    for (name, value) in &o.headers {
        match headers.iter_mut().find(|(own, _)| own.eq_ignore_ascii_case(name)) {
            Some((_, old)) => old.clone_from(value),
            None => headers.push((name.clone(), value.clone())),
        }
    }
    HttpRequest { source, method, path: path.into(), headers, body: body.into() }
}

/// The lines before a body.
fn head(answer: &HttpResponse) -> String {
    let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text
}

/// Where a body goes.
struct Target<'a> {
    process: &'a Process,
    path: Option<String>,
}

impl<'a> Target<'a> {
    fn new(process: &'a Process, o: &Options, path: &str) -> Result<Self, Failure> {
        let there = path.split('?').next().and_then(|p| p.rsplit('/').next()).filter(|name| !name.is_empty());
        let name = match (&o.output, o.named_as_there) {
            (Some(name), _) if name != "-" => Some(name.clone()),
            (None, true) => match there {
                Some(name) => Some(name.to_string()),
                None => return Err((23, "Remote file name has no length!".into())),
            },
            _ => None,
        };
        let path = name.map(|name| process.path(&name));
        if let Some(path) = path.as_ref().filter(|path| *path != "/dev/null") {
            let failed = |_| (23, "Failure writing output to destination".to_string());
            process.files.write(path, b"").map_err(failed)?;
        }
        Ok(Self { process, path })
    }
    async fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let failed = || (23, "Failure writing output to destination".to_string());
        match &self.path {
            Some(path) if path == "/dev/null" => Ok(()),
            Some(path) => self.process.files.append(path, bytes).map_err(|_| failed()),
            None => self.process.stdout.write(bytes).await.map_err(|_| failed()),
        }
    }
}

async fn write_out(process: &Process, o: &Options, status: u16, size: usize) {
    if o.write_out.is_empty() {
        return;
    }
    let text = o
        .write_out
        .replace("%{http_code}", &format!("{status:03}"))
        .replace("%{response_code}", &format!("{status:03}"))
        .replace("%{size_download}", &size.to_string())
        .replace("%%", "%");
    let _ = process.stdout.write(text.as_bytes()).await;
}

/// The meter at its end, which is shown where the body does not go to the terminal.
async fn meter(process: &Process, size: usize) {
    let text = format!(
        "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n                                 Dload  Upload   Total   Spent    Left  Speed\n100 {size:>5}  100 {size:>5}    0     0  {size:>5}      0 --:--:-- --:--:-- --:--:-- {size:>5}"
    );
    complain(process, &text).await;
}
