//! `portForward` of the kubelet's server: connections from clients to ports of a pod (containerd's streaming server,
//! `internal/cri/server/sandbox_portforward_linux.go`).

use super::kubelet::Kubelet;
use super::server::Said;
use crate::runtime::parse_ip;
use api::Str;
use api::rest::Forwarded;
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use shell::LocalFuture;
use sim::sync::mpsc;
use sim::{Addr, NetError};
use std::collections::BTreeMap;
use std::pin::pin;

/// Connections of one stream at most; further ones are refused.
const CONNECTIONS: usize = 1024;

/// Serves a stream's connections until its client is gone.
pub(super) async fn run(
    kubelet: &Kubelet,
    pod: &Str,
    mut said: mpsc::UnboundedReceiver<Said>,
    tell: impl Fn(u64, Forwarded),
) {
    // The sandbox stays the same, whatever becomes of the pod.
    let sandbox = &kubelet.pleg.record(pod).sandboxes.first().map_or_else(Str::default, |s| s.id.clone());
    let mut open: BTreeMap<u64, mpsc::UnboundedSender<Forwarded>> = BTreeMap::new();
    let mut running: FuturesUnordered<LocalFuture<'_, u64>> = FuturesUnordered::new();
    let tell = &tell;
    // Never empty, so that it never says that it is.
    running.push(Box::pin(std::future::pending()));
    loop {
        let next = {
            let (next, ended) = (pin!(said.next()), pin!(running.next()));
            match select(next, ended).await {
                Either::Left((next, _)) => Either::Left(next),
                Either::Right((ended, _)) => Either::Right(ended),
            }
        };
        match next {
            Either::Left(None) => return,
            Either::Left(Some(Said::Step(number, Forwarded::Open(port)))) if open.len() < CONNECTIONS => {
                let (sender, steps) = mpsc::unbounded();
                open.insert(number, sender);
                running.push(Box::pin(async move {
                    if let Err(why) = carry(kubelet, pod, sandbox, port, steps, |step| tell(number, step)).await {
                        tell(number, Forwarded::Failed(why.into()));
                    }
                    tell(number, Forwarded::End);
                    number
                }));
            }
            Either::Left(Some(Said::Step(number, step))) => {
                if let Some(sender) = open.get(&number) {
                    let _ = sender.unbounded_send(step);
                }
            }
            Either::Left(Some(Said::Bytes(_))) => {}
            Either::Right(ended) => {
                ended.and_then(|number| open.remove(&number));
            }
        }
    }
}

/// One connection: dialled in the pod's network, then carried both ways until one side is done.
async fn carry(
    kubelet: &Kubelet,
    pod: &Str,
    id: &Str,
    port: u16,
    mut steps: mpsc::UnboundedReceiver<Forwarded>,
    tell: impl Fn(Forwarded),
) -> Result<(), String> {
    let failed = |why: String| format!("error forwarding port {port} to pod {id}, uid : {why}");
    let closed = || failed(format!("network namespace for sandbox \"{id}\" is closed"));
    let record = kubelet.pleg.record(pod);
    let ready = record.sandboxes.iter().find(|s| s.id == *id && s.ready).ok_or_else(closed)?;
    let ip = parse_ip(&ready.ip).unwrap_or_else(|| kubelet.ctx.host_ip());
    let conn = kubelet.ctx.connect_from(ip, Addr { ip, port }).await.map_err(|error| match error {
        NetError::Unreachable => closed(),
        _ => failed(format!(
            "failed to execute portforward in network namespace \"{}\": failed to connect to localhost:{port} inside namespace \"{id}\", IPv4: dial tcp4 127.0.0.1:{port}: {error} IPv6 dial tcp6: address localhost: no suitable address found ",
            namespace(id)
        )),
    })?;
    let up = async {
        while let Some(step) = steps.next().await {
            let Forwarded::Message(message) = step else { break };
            if conn.send_boxed("forwarded", message).is_err() {
                break;
            }
        }
    };
    let down = async {
        loop {
            match conn.recv_boxed().await {
                Ok(message) => tell(Forwarded::Message(message)),
                Err(NetError::Closed) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    };
    match select(pin!(down), pin!(up)).await {
        Either::Left((Err(why), _)) => {
            Err(failed(format!("failed to execute portforward in network namespace \"{}\": {why}", namespace(id))))
        }
        _ => Ok(()),
    }
}

/// Where the network namespace of a sandbox is; its name is drawn once a sandbox, as its identity is.
fn namespace(id: &str) -> String {
    let digits = |from: usize, to: usize| id.get(from..to).unwrap_or_default();
    let parts = [digits(0, 8), digits(8, 12), digits(12, 16), digits(16, 20), digits(20, 32)];
    format!("/var/run/netns/cni-{}", parts.join("-"))
}
