//! Connections to pods, services and nodes through the server (apiserver's endpoints/handlers `ConnectResource`): their
//! admission, `proxy` and `portforward`. `exec` and `attach` are in `proxy`.

use std::rc::Rc;

use api::core_v1::{Endpoints, Pod, Service};
use api::json::Value;
use api::rest::{Answer, ClientFrame, ExecOptions, Query, ServerFrame, Verb};
use api::{Object, Resource, Status, Str};
use sim::http::{HttpRequest, HttpResponse};
use sim::sync::mpsc;
use sim::{Addr, Conn, Ip, NetError};

use crate::admission::{Attributes, Operation, policies};
use crate::alloc::parse_ip;
use crate::audit::Stage;
use crate::proxy;
use crate::registry::{Call, read};

/// Lets the policies and webhooks refuse a connection, or change its options, which are answered. No other plugin of
/// admission is asked about one.
pub(crate) async fn admit(call: &Call) -> Result<Box<dyn Object>, Status> {
    let subresource = call.kind.subresource(&call.subresource);
    let kind = subresource.and_then(|sub| api::scheme::by_kind(sub.group, sub.version, sub.kind));
    let Some(kind) = kind else { return Err(Status::not_found_path()) };
    let mut object = kind.new_object();
    api::json::from_value(&options(call), &mut *object, false)
        .map_err(|error| Status::bad_request(error.to_string()))?;
    let mut attributes = Attributes::new(call, Operation::Connect);
    policies::mutating::mutate(&mut attributes, &mut *object, None)?;
    policies::judge(&mut attributes, &*object).await?;
    call.reach(Stage::Admitted);
    Ok(object)
}

/// The options of a connection, as its query has them. `kubectl` always wants what is written.
fn options(call: &Call) -> Value {
    let mut options = Value::object();
    match &call.request.query {
        Query::Exec(asked) => {
            for (field, given) in [("stdin", asked.stdin), ("stdout", true), ("stderr", !asked.tty), ("tty", asked.tty)]
            {
                options.set(field, given.into());
            }
            options.set("container", (&asked.container).into());
            if &*call.subresource == "exec" {
                options.set("command", Value::from(asked.command.iter().map(Value::from).collect::<Vec<_>>()));
            }
        }
        Query::Proxy(path) => {
            options.set("path", path.split('?').next().unwrap_or_default().into());
        }
        _ => {}
    }
    options
}

/// The options of `exec` or `attach` once they are admitted.
pub(crate) fn admitted(options: &dyn Object) -> ExecOptions {
    let options = api::json::to_value_bare(options);
    let command = options.get("command").and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    let is = |field: &str| options.get(field).and_then(Value::as_bool).unwrap_or(false);
    ExecOptions {
        container: options.str_at(&["container"]).into(),
        command: command.filter_map(Value::as_str).map(Str::from).collect(),
        stdin: is("stdin"),
        tty: is("tty"),
    }
}

/// Serves `portforward`: what connections to the client's ports say passes to the kubelet and back.
pub(crate) async fn port_forward(
    call: &Rc<Call>,
    conn: &Conn,
    stream: u64,
    frames: mpsc::Receiver<ClientFrame>,
) -> Result<Option<Answer>, Status> {
    admit(call).await?;
    let pod = proxy::pod(call).await?;
    if pod.spec.node_name.is_empty() {
        return Err(Status::bad_request(format!("pod {} does not have a host assigned", call.name)));
    }
    let path = format!("/portForward/{}/{}", call.namespace, call.name);
    let request = proxy::forwarded(call, Verb::Create, path, Query::None);
    proxy::relay(call, &pod, request, conn, stream, frames).await
}

/// Serves `proxy`: what the program behind the object answers.
pub(crate) async fn proxy(call: &Rc<Call>) -> Result<Str, Status> {
    admit(call).await?;
    let none = Str::from("/");
    let path = match &call.request.query {
        Query::Proxy(path) => path,
        _ => &none,
    };
    let id = call.name.clone();
    let parts: Vec<&str> = id.split(':').collect();
    let (scheme, name, port) = match parts[..] {
        [name] => ("", name, ""),
        [name, port] => ("", name, port),
        [scheme @ ("" | "http" | "https"), name, port] => (scheme, name, port),
        _ => ("", "", ""),
    };
    if name.is_empty() {
        let of = call.kind.singular;
        return Err(Status::bad_request(format!("invalid {of} request {}", api::go::quote(&id))));
    }
    let address = match call.kind.plural {
        "pods" => of_pod(call, name, port).await?,
        "services" => of_service(call, name, port)?,
        _ => {
            let kubelet = proxy::kubelet(call, name)?;
            match port.parse() {
                Ok(port) if port != kubelet.port => Addr { port, ..kubelet },
                _ => return of_kubelet(call, kubelet, path).await,
            }
        }
    };
    let unreachable = |why: String| Status::service_unavailable(format!("error trying to reach service: {why}"));
    let answer = match http(call, address, path).await {
        Ok(_) if scheme == "https" => {
            return Err(unreachable("tls: first record does not look like a TLS handshake".into()));
        }
        Ok(answer) => answer,
        Err(NetError::Closed | NetError::Reset | NetError::Type) => return Err(unreachable("EOF".into())),
        Err(error) => return Err(unreachable(format!("dial tcp {address}: {error}"))),
    };
    let body = String::from_utf8_lossy(&answer.body);
    refused(call, answer.status, &body).map_or(Ok(Str::from(&*body)), Err)
}

/// How a client words an answer that is an error and no Status.
fn refused(call: &Call, code: u16, body: &str) -> Option<Status> {
    let (resource, code) = ((call.kind.group, call.kind.plural), i32::from(code));
    (code >= 400).then(|| match code {
        404 => Status::not_found_path(),
        _ => Status::generic(code, call.request.verb.name(), resource, &call.name, body.trim(), 0),
    })
}

async fn http(call: &Call, address: Addr, path: &str) -> Result<HttpResponse, NetError> {
    let server = &call.server;
    let conn = server.ctx.connect(address).await?;
    let mut request = HttpRequest::get(path, &address.to_string(), &call.request.user_agent);
    request.source = server.config.advertise;
    request.method = match call.request.verb {
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch(_) => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
        _ => "GET",
    }
    .into();
    conn.send(request)?;
    conn.recv::<HttpResponse>().await
}

/// Where a pod listens: at the port that is asked for, or at its first one.
async fn of_pod(call: &Call, name: &str, port: &str) -> Result<Addr, Status> {
    let resource = call.resource();
    let found = read(&call.server, &resource.key(&call.namespace, name)).await?;
    let found = found.ok_or_else(|| Status::not_found(resource.kind, name))?;
    let pod = found.body.downcast_ref::<Pod>().ok_or_else(|| Status::internal("not a Pod"))?;
    let first = pod.spec.containers.iter().flat_map(|c| c.ports.iter()).next().map(|p| p.container_port);
    let port = if port.is_empty() { u16::try_from(first.unwrap_or(80)).ok() } else { port.parse().ok() };
    let ip = pod.status.pod_ips.first().and_then(|ip| parse_ip(&ip.ip));
    let ip: Ip = ip.ok_or_else(|| Status::bad_request("address not allowed"))?;
    let unknown = || Status::service_unavailable("error trying to reach service: dial tcp: unknown port");
    Ok(Addr { ip, port: port.ok_or_else(unknown)? })
}

/// One of the pods behind a service, by the name or the number of its port.
fn of_service(call: &Call, name: &str, port: &str) -> Result<Addr, Status> {
    let (server, quoted) = (&call.server, api::go::quote(name));
    let key = format!("{}/{name}", call.namespace);
    let mut port = Str::from(port);
    if let Ok(number) = port.parse::<i32>() {
        let found = server.cache.resource(server.services).get(&key).and_then(|found| found.downcast::<Service>());
        let service = found.ok_or_else(|| Status::not_found(Service::KIND, name))?;
        let declared = service.spec.ports.iter().find(|p| p.port == number);
        let missing = || Status::service_unavailable(format!("no service port {number} found for service {quoted}"));
        port = declared.ok_or_else(missing)?.name.clone();
    }
    let resource = server.resource_of(Endpoints::KIND);
    let endpoints = resource.and_then(|resource| server.cache.resource(resource).get(&key));
    let endpoints = endpoints.and_then(|found| found.downcast::<Endpoints>());
    let mut addresses = Vec::new();
    for subset in endpoints.iter().flat_map(|endpoints| endpoints.subsets.iter()) {
        let Some(target) = subset.ports.iter().find(|p| p.name == port) else { continue };
        let ips = subset.addresses.iter().filter_map(|address| parse_ip(&address.ip));
        addresses.extend(ips.filter_map(|ip| Some(Addr { ip, port: u16::try_from(target.port).ok()? })));
    }
    let count = u32::try_from(addresses.len()).unwrap_or_default();
    let drawn = if count > 1 { server.draw.borrow_mut().below(count) as usize } else { 0 };
    let none = || Status::service_unavailable(format!("no endpoints available for service {quoted}"));
    addresses.get(drawn).copied().ok_or_else(none)
}

/// What a kubelet answers at one of its own paths.
async fn of_kubelet(call: &Call, address: Addr, path: &Str) -> Result<Str, Status> {
    let unreachable = |error: NetError| {
        Status::service_unavailable(format!("error trying to reach service: dial tcp {address}: {error}"))
    };
    let kubelet = call.server.ctx.connect(address).await.map_err(unreachable)?;
    let request = proxy::forwarded(call, Verb::Get, path.to_string(), Query::None);
    kubelet.send(ClientFrame::Request { stream: 1, request: Box::new(request) }).map_err(unreachable)?;
    loop {
        match kubelet.recv::<ServerFrame>().await.map_err(unreachable)? {
            ServerFrame::Response { response, .. } => match response.answer {
                Answer::Text(text) => return refused(call, response.code, &text).map_or(Ok(text), Err),
                _ => return Err(Status::not_found_path()),
            },
            ServerFrame::End { .. } => return Err(unreachable(NetError::Closed)),
            _ => {}
        }
    }
}
