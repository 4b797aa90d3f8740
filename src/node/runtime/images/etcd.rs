//! etcd: a server on port 2379 that answers gRPC's health protocol (Kubernetes' documentation shows gRPC probes on it).

use super::{BASE, Repository, tag};
use crate::runtime::grpc::{Health, HealthCheck};
use crate::runtime::program::Guest;
use crate::runtime::signal::Signal;
use crate::runtime::stamp::Stamp;
use shell::process::LocalFuture;

pub const ETCD: Repository = Repository {
    host: "registry.k8s.io",
    path: "etcd",
    tags: &[
        tag("3.5.1-0", "3.5.1", 98_888_614),
        tag("3.5.21-0", "3.5.21", 58_938_593),
        tag("3.6.4-0", "3.6.4", 74_311_308),
        tag("3.6.5-0", "3.6.5", 74_311_308),
    ],
    entrypoint: &[],
    cmd: &["/usr/local/bin/etcd"],
    ports: &[2379, 2380],
    programs: &[("/usr/local/bin/etcd", start), ("etcd", start)],
    ..BASE
};

fn start(guest: Guest) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let say = |level: &str, place: &str, message: &str, rest: &str| {
            let at = Stamp::of(guest.ctx.unix_nanos()).iso();
            guest.warn(format!(
                "{{\"level\":\"{level}\",\"ts\":\"{at}\",\"caller\":\"{place}\",\"msg\":\"{message}\"{rest}}}"
            ));
        };
        say("info", "etcdmain/etcd.go:73", "Running: ", "");
        let listener = match guest.ctx.listen_on(guest.machine.ip, 2379) {
            Ok(listener) => listener,
            Err(why) => {
                say("fatal", "etcdmain/etcd.go:204", "discovery failed", &format!(",\"error\":\"listen tcp: {why}\""));
                return 1;
            }
        };
        say("info", "embed/serve.go:98", "ready to serve client requests", "");
        let answer = async {
            while let Ok(conn) = listener.accept().await {
                if let Ok(HealthCheck { service }) = conn.recv::<HealthCheck>().await {
                    let known = service.is_empty();
                    let _ = conn.send(if known { Health::Serving } else { Health::UnknownService });
                }
            }
        };
        let stop = guest.signals.wait_for(&[Signal::Term, Signal::Int]);
        futures_util::pin_mut!(answer, stop);
        match futures_util::future::select(stop, answer).await {
            futures_util::future::Either::Left((signal, _)) => {
                let name = if signal == Signal::Term { "terminated" } else { "interrupt" };
                let rest = format!(",\"signal\":\"{name}\"");
                say("info", "osutil/interrupt_unix.go:64", "received signal; shutting down", &rest);
                0
            }
            futures_util::future::Either::Right(_) => 1,
        }
    })
}
