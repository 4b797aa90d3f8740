//! postStart and preStop (pkg/kubelet/lifecycle/handlers.go).

use super::kubelet::Kubelet;
use crate::runtime::cri::{Call, Reply};
use crate::runtime::http::HttpRequest;
use crate::runtime::program::fetch;
use api::core_v1::{Container, LifecycleHandler, Pod};
use api::{IntOrString, Rev, Str};
use sim::{Addr, Duration, Ip};
use std::rc::Rc;

/// Runs a hook to its end. The error is what the kubelet logs.
pub async fn run(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
    hook: &LifecycleHandler,
    id: &Str,
    ip: &Str,
) -> Result<(), String> {
    let whole = || format!("{}_{}({})", pod.metadata.name, pod.metadata.namespace, pod.metadata.uid);
    if let Some(exec) = hook.exec.get() {
        let argv: Vec<String> = exec.command.iter().map(ToString::to_string).collect();
        let said = |code: i32, output: &[u8]| {
            format!(
                "Exec lifecycle hook ([{}]) for Container {} in Pod {} failed - error: command '{}' exited with {code}: {}, message: {}",
                argv.join(" "),
                api::go::quote(&container.name),
                api::go::quote(&whole()),
                argv.join(" "),
                String::from_utf8_lossy(output),
                api::go::quote(&String::from_utf8_lossy(output)),
            )
        };
        return match kubelet.runtime.call(Call::ExecSync(id.clone(), argv.clone(), Duration::ZERO)).await {
            Ok(Reply::Ran(0, _)) => Ok(()),
            Ok(Reply::Ran(code, output)) => Err(said(code, &output)),
            Ok(_) => Ok(()),
            Err(why) => Err(why.to_string()),
        };
    }
    if let Some(sleep) = hook.sleep.get() {
        kubelet.ctx.sleep(Duration::from_secs(u64::try_from(sleep.seconds).unwrap_or(0))).await;
        return Ok(());
    }
    if let Some(get) = hook.http_get.get() {
        let host = if get.host.is_empty() { ip.clone() } else { get.host.clone() };
        let port = port_of(container, &get.port).ok_or_else(|| "couldn't find port".to_string())?;
        let target = parse(&host).ok_or_else(|| format!("dial tcp: lookup {host}: no such host"))?;
        let addr = Addr { ip: target, port };
        let path = if get.path.is_empty() { "/" } else { &get.path };
        let request = HttpRequest::get(path, &format!("{host}:{port}"), "kube-lifecycle/1.37");
        return match fetch(&kubelet.ctx, kubelet.ctx.host_ip(), addr, request, Duration::from_secs(30)).await {
            Ok(answer) if (200..400).contains(&answer.status) => Ok(()),
            Ok(answer) => Err(format!("HTTP lifecycle hook ({path}) failed with statuscode: {}", answer.status)),
            Err(why) => Err(format!("Get \"http://{addr}{path}\": dial tcp {addr}: {why}")),
        };
    }
    Ok(())
}

/// A port by number, or by its name among the container's ports.
pub fn port_of(container: &Container, port: &IntOrString) -> Option<u16> {
    match port {
        IntOrString::Int(number) => u16::try_from(*number).ok(),
        IntOrString::Str(name) => {
            let named = container.ports.iter().find(|p| p.name == *name).map(|p| p.container_port);
            u16::try_from(named.or_else(|| name.parse().ok())?).ok()
        }
    }
}

/// An IPv4 address.
pub fn parse(text: &str) -> Option<Ip> {
    crate::runtime::parse_ip(text)
}
