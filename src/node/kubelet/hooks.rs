//! postStart and preStop (pkg/kubelet/lifecycle/handlers.go).

use super::kubelet::Kubelet;
use crate::runtime::cri::{Call, Reply};
use crate::runtime::http::HttpRequest;
use crate::runtime::program::fetch;
use api::core_v1::{Container, HTTPGetAction, LifecycleHandler, Pod};
use api::{IntOrString, Rev, Str};
use sim::{Addr, Duration, Ip, NetError};
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
    let Some(get) = hook.http_get.get() else {
        return Err("Cannot run handler: invalid handler: &LifecycleHandler{}".to_string());
    };
    request(kubelet, pod, container, get, ip).await.map_err(|why| {
        format!(
            "HTTP lifecycle hook ({}) for Container {} in Pod {} failed - error: {why}",
            get.path,
            api::go::quote(&container.name),
            api::go::quote(&whole()),
        )
    })
}

/// Any answer will do; a server that has no TLS is asked again without it.
async fn request(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
    get: &HTTPGetAction,
    ip: &Str,
) -> Result<(), String> {
    let host = if get.host.is_empty() { ip } else { &get.host };
    let port = port_of(container, &get.port).ok_or_else(|| format!("invalid port number: {}", get.port))?;
    let path = if get.path.starts_with('/') { get.path.to_string() } else { format!("/{}", get.path) };
    let scheme = if get.scheme.is_empty() { "http".to_string() } else { get.scheme.to_lowercase() };
    let url = api::go::quote(&format!("{scheme}://{host}:{port}{path}"));
    let target = parse(host).ok_or_else(|| format!("Get {url}: dial tcp: lookup {host}: no such host"))?;
    let addr = Addr { ip: target, port };
    let mut request = HttpRequest::get(&path, &format!("{host}:{port}"), "kube-lifecycle/1.37");
    request.headers.extend(get.http_headers.iter().map(|h| (h.name.to_string(), h.value.to_string())));
    match fetch(&kubelet.ctx, kubelet.ctx.host_ip(), addr, request, Duration::from_secs(30)).await {
        Ok(_) if scheme == "https" => {
            // No program of the world speaks TLS.
            let message =
                format!("request to HTTPS lifecycle hook {host}:{port} got HTTP response, retry with HTTP succeeded");
            kubelet.event(pod, None, "Warning", "LifecycleHTTPFallback", &message);
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(why @ (NetError::Closed | NetError::Reset)) => Err(format!("Get {url}: {why}")),
        Err(why) => Err(format!("Get {url}: dial tcp {addr}: {why}")),
    }
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
