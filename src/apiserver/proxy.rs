//! What the server passes on to a kubelet: logs, commands in containers, connections to their ports.

use std::rc::Rc;

use api::core_v1::{Node, Pod};
use api::rest::{
    Answer, Body, Channel, ClientFrame, Credential, LogOptions, Query, Request, Response, ServerFrame, Target, Verb,
};
use api::{Status, Str, meta_v1};
use futures_util::{FutureExt, StreamExt};
use sim::sync::mpsc;
use sim::{Addr, Conn};

use crate::alloc::parse_ip;
use crate::connect;
use crate::registry::{Call, read};

/// The port of every kubelet's server.
const KUBELET_PORT: u16 = 10250;

/// Serves `log`: an answer, or none once the stream has been served.
pub(crate) async fn log(call: &Rc<Call>, conn: &Conn, stream: u64) -> Result<Option<Answer>, Status> {
    let mut options = match &call.request.query {
        Query::Log(options) => options.clone(),
        _ => LogOptions::default(),
    };
    let pod = pod(call).await?;
    options.container = container(&pod, &options.container)?;
    if pod.spec.node_name.is_empty() {
        // Nothing was written yet.
        return Ok(Some(Answer::Text(Str::default())));
    }
    let path = format!("/containerLogs/{}/{}/{}", call.namespace, call.name, options.container);
    let request = forwarded(call, Verb::Get, path, Query::Log(options));
    let (_, none) = mpsc::channel(0);
    relay(call, &pod, request, conn, stream, none).await
}

/// Serves `exec` and `attach`.
pub(crate) async fn exec(
    call: &Rc<Call>,
    conn: &Conn,
    stream: u64,
    frames: mpsc::Receiver<ClientFrame>,
) -> Result<Option<Answer>, Status> {
    let mut options = connect::admitted(&*connect::admit(call).await?);
    let pod = pod(call).await?;
    options.container = container(&pod, &options.container)?;
    if pod.spec.node_name.is_empty() {
        return Err(Status::bad_request(format!("pod {} does not have a host assigned", call.name)));
    }
    let path = format!("/{}/{}/{}/{}", call.subresource, call.namespace, call.name, options.container);
    let request = forwarded(call, Verb::Create, path, Query::Exec(options));
    relay(call, &pod, request, conn, stream, frames).await
}

pub(crate) fn forwarded(call: &Call, verb: Verb, path: String, query: Query) -> Request {
    Request {
        verb,
        target: Target::Path(Str::from(path)),
        query,
        delete: None,
        body: Body::Empty,
        accept: Default::default(),
        credential: Credential::Certificate {
            user: "kube-apiserver-kubelet-client".into(),
            groups: vec!["kubeadm:cluster-admins".into()],
        },
        impersonate: None,
        user_agent: "kube-apiserver".into(),
        causes: call.request.causes.clone(),
    }
}

pub(crate) async fn pod(call: &Call) -> Result<Pod, Status> {
    let found = read(&call.server, &call.key()).await?;
    let found = found.ok_or_else(|| Status::not_found(call.resource().kind, &call.name))?;
    found.body.downcast_ref::<Pod>().cloned().ok_or_else(|| Status::internal("not a Pod"))
}

/// The container that is meant (podLogOptions' and podExecOptions' rules).
fn container(pod: &Pod, asked: &Str) -> Result<Str, Status> {
    let spec = &*pod.spec;
    let all = || {
        let ephemeral = spec.ephemeral_containers.iter().map(|c| &c.name);
        spec.init_containers.iter().chain(spec.containers.iter()).map(|c| &c.name).chain(ephemeral)
    };
    if !asked.is_empty() {
        if all().any(|name| name == asked) {
            return Ok(asked.clone());
        }
        return Err(Status::bad_request(format!("container {asked} is not valid for pod {}", pod.metadata.name)));
    }
    if let Some(name) = pod.metadata.annotations.get("kubectl.kubernetes.io/default-container")
        && all().any(|other| other == name)
    {
        return Ok(name.clone());
    }
    if let [only] = &spec.containers[..] {
        return Ok(only.name.clone());
    }
    let join = |names: Vec<&str>| names.join(" ");
    let mut text = format!(
        "a container name must be specified for pod {}, choose one of: [{}]",
        pod.metadata.name,
        join(spec.containers.iter().map(|c| &*c.name).collect())
    );
    if !spec.init_containers.is_empty() {
        let init = join(spec.init_containers.iter().map(|c| &*c.name).collect());
        text.push_str(&format!(" or one of the init containers: [{init}]"));
    }
    Err(Status::bad_request(text))
}

/// Where the kubelet of a node listens. A node that isn't there is said to be none of what the client asked for: the
/// store takes the resource from the request (`qualifiedResourceFromContext`).
pub(crate) fn kubelet(call: &Call, node: &str) -> Result<Addr, Status> {
    let server = &call.server;
    let found = server.cache.resource(server.nodes).get(node);
    let found = found.ok_or_else(|| Status::not_found((call.kind.group, call.kind.plural), node))?;
    let Some(object) = found.body.downcast_ref::<Node>() else { return Err(Status::internal("not a Node")) };
    let address = object.status.addresses.iter().find(|a| &*a.type_ == "InternalIP");
    let ip = address.and_then(|address| parse_ip(&address.address));
    let ip = ip.ok_or_else(|| {
        Status::internal(format!("no preferred addresses found; known addresses: [] for node {node}"))
    })?;
    Ok(Addr { ip, port: KUBELET_PORT })
}

/// Passes the kubelet's answer on, frame by frame, and what the client says to it.
pub(crate) async fn relay(
    call: &Rc<Call>,
    pod: &Pod,
    request: Request,
    client: &Conn,
    stream: u64,
    frames: mpsc::Receiver<ClientFrame>,
) -> Result<Option<Answer>, Status> {
    let server = &call.server;
    let address = kubelet(call, &pod.spec.node_name)?;
    let Target::Path(path) = request.target.clone() else { return Err(Status::internal("no path")) };
    // Errors of Go that are no Status pass without a reason (`responsewriters.ErrorToAPIStatus`).
    let unreachable = |error: sim::NetError| {
        let dial = format!("dial tcp {address}: {error}");
        let message = match request.verb {
            Verb::Get => format!("Get \"https://{address}{path}\": {dial}"),
            _ => format!("error dialing backend: {dial}"),
        };
        Status::from_object(meta_v1::Status {
            status: "Failure".into(),
            code: 500,
            message: message.into(),
            ..meta_v1::Status::default()
        })
    };
    let kubelet = server.ctx.connect(address).await.map_err(unreachable)?;
    let broken = |error: sim::NetError| Status::internal(format!("error reading from the kubelet: {error}"));
    kubelet.send(ClientFrame::Request { stream: 1, request: Box::new(request.clone()) }).map_err(broken)?;
    let mut frames = frames.fuse();
    let mut started = false;
    loop {
        let mut frame = Box::pin(kubelet.recv::<ServerFrame>().fuse());
        let frame = loop {
            futures_util::select! {
                frame = frame => break frame,
                said = frames.next() => {
                    let said = said.and_then(|said| match said {
                        ClientFrame::Data { data, .. } => Some(ClientFrame::Data { stream: 1, data }),
                        ClientFrame::Forward { connection, step, .. } => {
                            Some(ClientFrame::Forward { stream: 1, connection, step })
                        }
                        _ => None,
                    });
                    said.map(|said| kubelet.send(said));
                },
            }
        };
        match frame {
            Ok(ServerFrame::Response { response, .. }) if matches!(response.answer, Answer::Stream) => {
                started = true;
                call.entry.code.set(response.code);
                let response = Response { warnings: call.warnings.take(), ..response };
                if client.send_as("response", ServerFrame::Response { stream, response }).is_err() {
                    return Ok(None);
                }
            }
            Ok(ServerFrame::Response { response, .. })
                if response.code >= 400 && matches!(response.answer, Answer::Text(_)) =>
            {
                // The kubelet's own words pass as they are.
                call.entry.code.set(response.code);
                let _ = client.send_as("response", ServerFrame::Response { stream, response });
                return Ok(None);
            }
            Ok(ServerFrame::Response { response, .. }) => {
                return match response.answer {
                    // A command that could not be started: the connection has been upgraded by then.
                    Answer::Status(status) if response.code >= 400 && request.verb == Verb::Create => {
                        call.entry.code.set(response.code);
                        let response =
                            Response { code: 200, warnings: Vec::new(), retry_after: 0, answer: Answer::Stream };
                        if client.send_as("response", ServerFrame::Response { stream, response }).is_ok() {
                            crate::server::end(client, stream, Some(status));
                        }
                        Ok(None)
                    }
                    Answer::Status(status) if response.code >= 400 => Err((*status).clone()),
                    other => Ok(Some(other)),
                };
            }
            Ok(ServerFrame::Data { channel, data, .. }) => {
                if send(client, stream, channel, data).is_err() {
                    return Ok(None);
                }
            }
            Ok(ServerFrame::Forward { connection, step, .. }) => {
                if client.send_as("data", ServerFrame::Forward { stream, connection, step }).is_err() {
                    return Ok(None);
                }
            }
            Ok(ServerFrame::End { status, .. }) => {
                crate::server::end(client, stream, status.map(translated));
                return Ok(None);
            }
            Ok(ServerFrame::Events { .. }) => {}
            Err(_) if started => {
                crate::server::end(client, stream, None);
                return Ok(None);
            }
            Err(error) => return Err(broken(error)),
        }
    }
}

/// How the server passes on the end of a stream: what is neither success nor a program's exit code becomes an error of its
/// own (StreamTranslatorHandler).
fn translated(status: Rc<Status>) -> Rc<Status> {
    let body = (*status).clone().into_object();
    if body.status == "Success" || body.reason == "NonZeroExitCode" {
        return status;
    }
    Rc::new(Status::internal(&body.message))
}

fn send(client: &Conn, stream: u64, channel: Channel, data: Rc<[u8]>) -> Result<(), sim::NetError> {
    client.send_as("data", ServerFrame::Data { stream, channel, data })
}
