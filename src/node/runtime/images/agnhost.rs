//! agnhost: the program that Kubernetes' documentation and tests run to show probes.

use super::{BASE, Repository, tag};
use crate::runtime::grpc::{Health, HealthCheck};
use crate::runtime::http::{HttpRequest, HttpResponse};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use shell::process::LocalFuture;
use std::cell::Cell;

pub const AGNHOST: Repository = Repository {
    host: "registry.k8s.io",
    path: "e2e-test-images/agnhost",
    tags: &[
        tag("2.40", "2.40", 51_155_161),
        tag("2.45", "2.45", 51_105_200),
        tag("2.47", "2.47", 51_105_200),
        tag("2.53", "2.53", 51_105_200),
        tag("2.57", "2.57", 51_105_200),
    ],
    entrypoint: &["/agnhost"],
    cmd: &["pause"],
    programs: &[("/agnhost", start), ("agnhost", start)],
    base: super::Base::Busybox,
    ..BASE
};

const STOPS: &[Signal] = &[Signal::Term, Signal::Int];

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let words = guest.process.args.clone();
        let flag = |name: &str| -> Option<String> {
            let mut rest = words.iter().skip(2);
            while let Some(word) = rest.next() {
                let bare = word.trim_start_matches('-');
                match bare.split_once('=') {
                    Some((n, value)) if n == name => return Some(value.to_string()),
                    None if bare == name => return rest.next().cloned(),
                    _ => {}
                }
            }
            None
        };
        let port = |name: &str, usual: u16| flag(name).and_then(|v| v.parse().ok()).unwrap_or(usual);
        match words.get(1).map(String::as_str) {
            None | Some("pause") => {
                guest.say("Paused");
                guest.signals.wait_for(STOPS).await;
                0
            }
            Some("liveness") => liveness(&guest).await,
            Some("netexec") => netexec(&guest, port("http-port", 8080)).await,
            Some("serve-hostname") => {
                let port = port("port", 9376);
                let name = guest.machine.hostname.clone();
                serve(&guest, port, move |_| text(200, &name)).await
            }
            Some("grpc-health-checking") => {
                let delay = flag("delay-unhealthy-sec").and_then(|v| v.parse::<i64>().ok()).unwrap_or(-1);
                let service = flag("service").unwrap_or_default();
                grpc(&guest, port("port", 5000), port("http-port", 8080), delay, &service).await
            }
            Some("--version") => {
                guest.say(format!("agnhost version {}", guest.machine.version));
                0
            }
            Some(other) => {
                guest.warn(format!("Error: unknown command \"{other}\" for \"app\""));
                guest.warn("Run 'app --help' for usage.");
                1
            }
        }
    })
}

fn text(status: u16, body: &str) -> HttpResponse {
    HttpResponse::new(status, "text/plain; charset=utf-8", body.as_bytes())
}

/// Serves until it is told to end, as Go programs end that handle no signal.
async fn serve(guest: &Guest, port: u16, answer: impl Fn(&HttpRequest) -> HttpResponse) -> i32 {
    match guest.serve(port, STOPS, answer).await {
        Ok(_) => 2,
        Err(why) => {
            guest.warn(format!("listen tcp :{port}: {why}"));
            1
        }
    }
}

/// Well for ten seconds, then ill.
async fn liveness(guest: &Guest) -> i32 {
    let started = guest.ctx.now();
    serve(guest, 8080, |request| match request.file() {
        "/healthz" => {
            let up = guest.ctx.now().since(started).as_secs_f64();
            if up > 10.0 { text(500, &format!("error: {up}")) } else { text(200, "ok") }
        }
        "/started" => text(200, &format!("{}", guest.ctx.now().since(started).as_secs_f64())),
        _ => text(404, "404 page not found\n"),
    })
    .await
}

async fn netexec(guest: &Guest, port: u16) -> i32 {
    serve(guest, port, |request| {
        let query = request.path.split_once('?').map_or("", |(_, q)| q);
        let value = |name: &str| query.split('&').find_map(|p| p.strip_prefix(name)?.strip_prefix('='));
        match request.file() {
            "/" => text(200, &format!("NOW: {}", guest.ctx.unix_nanos())),
            "/hostname" | "/hostName" => text(200, &guest.machine.hostname),
            "/clientip" => text(200, &format!("{}:40000", request.source)),
            "/echo" => {
                let code = value("code").and_then(|c| c.parse().ok()).unwrap_or(200);
                text(code, value("msg").unwrap_or_default())
            }
            "/healthz" => text(200, ""),
            _ => text(404, "404 page not found\n"),
        }
    })
    .await
}

/// gRPC's health protocol on one port; on another HTTP that switches it.
async fn grpc(guest: &Guest, port: u16, http: u16, delay: i64, service: &str) -> i32 {
    let serving = Cell::new(true);
    guest.say(format!("Http server starting to listen on :{http}"));
    guest.say(format!("gRPC server starting to listen on :{port}"));
    let listener = match guest.ctx.listen_on(guest.machine.ip, port) {
        Ok(listener) => listener,
        Err(why) => {
            guest.warn(format!("failed to listen: listen tcp :{port}: {why}"));
            return 1;
        }
    };
    let spoil = async {
        if let Ok(seconds) = u64::try_from(delay) {
            guest.ctx.sleep(sim::Duration::from_secs(seconds)).await;
            serving.set(false);
        }
        std::future::pending::<()>().await;
    };
    let check = async {
        while let Ok(conn) = listener.accept().await {
            if let Ok(HealthCheck { service: asked }) = conn.recv::<HealthCheck>().await {
                let _ = conn.send(match (asked == service, serving.get()) {
                    (false, _) => Health::UnknownService,
                    (true, true) => Health::Serving,
                    (true, false) => Health::NotServing,
                });
            }
        }
        std::future::pending::<()>().await;
    };
    let switch = serve(guest, http, |request| match request.file() {
        "/make-not-serving" => {
            serving.set(false);
            text(200, "")
        }
        "/make-serving" => {
            serving.set(true);
            text(200, "")
        }
        _ => text(404, "404 page not found\n"),
    });
    futures_util::pin_mut!(spoil, check, switch);
    match futures_util::future::select(switch, futures_util::future::select(spoil, check)).await {
        futures_util::future::Either::Left((code, _)) => code,
        futures_util::future::Either::Right(_) => 1,
    }
}
