//! The kubelet's server on port 10250: logs, exec, attach and port-forward, called by the API server (pkg/kubelet/server).

use super::kubelet::Kubelet;
use super::port_forward;
use super::record::PodRecordExt;
use crate::runtime::cri::{Call, LogQuery, Reply, Stdin};
use crate::runtime::log::{Line, Stream};
use api::core_v1::{ContainerStatus, PodStatus};
use api::meta_v1::{self, StatusCause, StatusDetails};
use api::rest::{
    Answer, Channel, ClientFrame, ExecOptions, Forwarded, LogOptions, Query, Request, Response, ServerFrame, Target,
};
use api::{Ptr, Status, Str};
use client::klog;
use sim::sync::mpsc;
use sim::{Conn, Duration, JoinHandle};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where it listens.
pub const PORT: u16 = 10_250;
/// Frames on their way to a reader that doesn't read; a log waits then.
const UNREAD: usize = 256;

/// Serves until the process ends.
pub async fn run(kubelet: Rc<Kubelet>) {
    let listener = match kubelet.ctx.listen(PORT) {
        Ok(listener) => listener,
        Err(why) => {
            klog::error("Failed to listen and serve")
                .err(format!("listen tcp 0.0.0.0:{PORT}: {why}"))
                .log(&kubelet.ctx, "server.go:246");
            return;
        }
    };
    klog::info("Starting to listen").str("address", "0.0.0.0").raw("port", PORT).log(&kubelet.ctx, "server.go:220");
    while let Ok(conn) = listener.accept().await {
        kubelet.ctx.spawn("http", serve(kubelet.clone(), conn));
    }
}

/// A stream that is open on a connection.
struct Open {
    task: JoinHandle<()>,
    /// What the client says on it.
    input: mpsc::UnboundedSender<Said>,
}

/// What a client says on a stream.
pub(super) enum Said {
    /// Bytes for a program; none end its input.
    Bytes(Rc<[u8]>),
    /// A step of a forwarded connection of that number.
    Step(u64, Forwarded),
}

async fn serve(kubelet: Rc<Kubelet>, conn: Conn) {
    let open: Rc<RefCell<BTreeMap<u64, Open>>> = Rc::default();
    while let Ok(frame) = conn.recv::<ClientFrame>().await {
        match frame {
            ClientFrame::Request { stream, request } => {
                let (tx, input) = mpsc::unbounded();
                let call = Call10250 { kubelet: kubelet.clone(), conn: conn.clone(), stream };
                let of = open.clone();
                let task = kubelet.ctx.spawn("request", async move {
                    call.answer(*request, input).await;
                    of.borrow_mut().remove(&stream);
                });
                open.borrow_mut().insert(stream, Open { task, input: tx });
            }
            ClientFrame::Data { stream, data } => {
                if let Some(open) = open.borrow().get(&stream) {
                    let _ = open.input.unbounded_send(Said::Bytes(data));
                }
            }
            ClientFrame::Forward { stream, connection, step } => {
                if let Some(open) = open.borrow().get(&stream) {
                    let _ = open.input.unbounded_send(Said::Step(connection, step));
                }
            }
            ClientFrame::Cancel { stream } => {
                if let Some(gone) = open.borrow_mut().remove(&stream) {
                    gone.task.abort();
                }
            }
        }
    }
    for (_, gone) in std::mem::take(&mut *open.borrow_mut()) {
        gone.task.abort();
    }
}

/// One request.
struct Call10250 {
    kubelet: Rc<Kubelet>,
    conn: Conn,
    stream: u64,
}

impl Call10250 {
    fn respond(&self, code: u16, answer: Answer) {
        let response = Response { code, warnings: Vec::new(), retry_after: 0, answer };
        let _ = self.conn.send_as("kubelet", ServerFrame::Response { stream: self.stream, response });
    }
    fn refuse(&self, status: Status) {
        let code = u16::try_from(status.clone().into_object().code).unwrap_or(500);
        self.respond(code, Answer::Status(Rc::new(status)));
    }
    fn data(&self, channel: Channel, data: Rc<[u8]>) {
        let _ = self.conn.send_as("kubelet", ServerFrame::Data { stream: self.stream, channel, data });
    }
    fn end(&self, status: Option<Status>) {
        let _ = self.conn.send_as("kubelet", ServerFrame::End { stream: self.stream, status: status.map(Rc::new) });
    }

    async fn answer(self, request: Request, input: mpsc::UnboundedReceiver<Said>) {
        let Target::Path(path) = &request.target else {
            return self.refuse(Status::not_found_path());
        };
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (parts.as_slice(), &request.query) {
            (["healthz"], _) => self.respond(200, Answer::Text("ok".into())),
            (["containerLogs", namespace, pod, container], query) => {
                let options = if let Query::Log(options) = query { options.clone() } else { LogOptions::default() };
                self.logs(namespace, pod, container, &options).await;
            }
            (["exec", namespace, pod, container], Query::Exec(options)) => {
                self.exec(namespace, pod, container, options, input).await
            }
            (["attach", namespace, pod, container], query) => {
                let stdin = matches!(query, Query::Exec(options) if options.stdin);
                self.attach(namespace, pod, container, stdin, input).await
            }
            (["portForward", namespace, pod], _) => match self.kubelet.pod_named(namespace, pod) {
                Some(pod) => {
                    self.respond(101, Answer::Stream);
                    let kubelet = self.kubelet.clone();
                    port_forward::run(&kubelet, &pod.metadata.uid, input, |connection, step| {
                        let frame = ServerFrame::Forward { stream: self.stream, connection, step };
                        let _ = self.conn.send_as("kubelet", frame);
                    })
                    .await;
                    self.end(None);
                }
                None => self.respond(404, Answer::Text("pod does not exist".into())),
            },
            _ => self.refuse(Status::not_found_path()),
        }
    }

    /// Which run of a container a log is of (validateContainerLogStatus).
    fn log_source(&self, status: &PodStatus, pod: &str, name: &str, previous: bool) -> Result<Str, Status> {
        let quote = api::go::quote;
        let all = status.container_statuses.iter().chain(status.init_container_statuses.iter());
        let found: Option<&ContainerStatus> =
            all.chain(status.ephemeral_container_statuses.iter()).find(|s| s.name == *name);
        let Some(one) = found else {
            return Err(Status::bad_request(format!(
                "container {} in pod {} is not available",
                quote(name),
                quote(pod)
            )));
        };
        let last = one.last_state.terminated.get();
        if previous {
            return match last.filter(|t| !t.container_id.is_empty()) {
                Some(ended) => Ok(ended.container_id.clone()),
                None => Err(Status::bad_request(format!(
                    "previous terminated container {} in pod {} not found",
                    quote(name),
                    quote(pod)
                ))),
            };
        }
        if one.state.running.is_some() {
            return Ok(one.container_id.clone());
        }
        if let Some(ended) = one.state.terminated.get() {
            if !ended.container_id.is_empty() {
                return Ok(ended.container_id.clone());
            }
            if let Some(before) = last.filter(|t| !t.container_id.is_empty()) {
                return Ok(before.container_id.clone());
            }
            return Err(Status::bad_request(format!("container {} in pod {} is terminated", quote(name), quote(pod))));
        }
        if let Some(before) = last.filter(|t| !t.container_id.is_empty()) {
            return Ok(before.container_id.clone());
        }
        Err(Status::bad_request(match one.state.waiting.get().map(|w| &*w.reason) {
            Some("ErrImagePull") => {
                format!("container {} in pod {} is waiting to start: image can't be pulled", quote(name), quote(pod))
            }
            Some("ImagePullBackOff") => {
                format!(
                    "container {} in pod {} is waiting to start: trying and failing to pull image",
                    quote(name),
                    quote(pod)
                )
            }
            Some(reason) if !reason.is_empty() => {
                format!("container {} in pod {} is waiting to start: {reason}", quote(name), quote(pod))
            }
            _ => format!("container {} in pod {} is waiting to start - no logs yet", quote(name), quote(pod)),
        }))
    }

    async fn logs(&self, namespace: &str, pod_name: &str, container: &str, options: &LogOptions) {
        let kubelet = &self.kubelet;
        let Some(pod) = kubelet.pod_named(namespace, pod_name) else {
            return self.refuse(Status::not_found(("", "pods"), pod_name));
        };
        let status = kubelet.status_of(&pod);
        let id = match self.log_source(&status, pod_name, container, options.previous) {
            Ok(id) => id,
            Err(why) => return self.refuse(why),
        };
        let plain = Str::from(id.strip_prefix("containerd://").unwrap_or(&id));
        let since = match (options.since_seconds, options.since_time.is_empty()) {
            (Some(seconds), _) => Some(kubelet.ctx.unix_nanos().saturating_sub(seconds.saturating_mul(1_000_000_000))),
            (None, false) => api::value::time::parse_rfc3339(&options.since_time)
                .ok()
                .map(|(s, nanos)| s.saturating_mul(1_000_000_000).saturating_add(nanos)),
            (None, true) => None,
        };
        let query = LogQuery {
            tail: options.tail_lines.and_then(|n| u64::try_from(n).ok()),
            since,
            follow: options.follow,
            stream: None,
        };
        let mut room = options.limit_bytes.and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        self.respond(200, Answer::Stream);
        let mut lines = kubelet.runtime.start(Call::ReadLog(plain, query));
        while let Some(answer) = lines.next().await {
            match answer {
                Ok(Reply::Log(batch)) => {
                    let mut text = Vec::new();
                    for line in &batch {
                        write_line(&mut text, line, options.timestamps);
                    }
                    text.truncate(room);
                    room -= text.len();
                    if !text.is_empty() {
                        self.data(Channel::Stdout, text.into());
                    }
                    while self.conn.unread() > UNREAD {
                        kubelet.ctx.sleep(Duration::from_millis(5)).await;
                    }
                    if room == 0 {
                        break;
                    }
                }
                Ok(_) => {}
                Err(why) if why.code == "NotFound" => {
                    self.data(
                        Channel::Stdout,
                        Rc::from(format!("unable to retrieve container logs for {id}").as_bytes()),
                    );
                }
                Err(why) => self.data(Channel::Stdout, Rc::from(why.to_string().as_bytes())),
            }
        }
        self.end(None);
    }

    /// The running container that a command is for; the error is in plain words, as Go's handler writes it.
    fn running(&self, namespace: &str, pod_name: &str, container: &str) -> Result<Str, (u16, String)> {
        let Some(pod) = self.kubelet.pod_named(namespace, pod_name) else {
            return Err((404, "pod does not exist".to_string()));
        };
        let record = self.kubelet.pleg.record(&pod.metadata.uid);
        match record.container(container) {
            Some(run) => Ok(run.id.clone()),
            None => Err((500, format!("container not found ({})", api::go::quote(container)))),
        }
    }

    async fn exec(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        options: &ExecOptions,
        mut input: mpsc::UnboundedReceiver<Said>,
    ) {
        use futures_util::StreamExt;
        let id = match self.running(namespace, pod, container) {
            Ok(id) => id,
            Err((code, why)) => return self.respond(code, Answer::Text(why.into())),
        };
        let stdin = match (options.tty, options.stdin) {
            (true, _) => Stdin::Tty,
            (false, true) => Stdin::Pipe,
            (false, false) => Stdin::None,
        };
        let argv = options.command.iter().map(ToString::to_string).collect();
        self.respond(101, Answer::Stream);
        let runtime = self.kubelet.runtime.clone();
        let mut answers = runtime.start(Call::Exec(id, argv, stdin));
        let exec = answers.id();
        let feed = async {
            while let Some(Said::Bytes(data)) = input.next().await {
                let over = data.is_empty();
                runtime.input(exec, (!over).then_some(data));
                if over {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let read = async {
            while let Some(answer) = answers.next().await {
                match answer {
                    Ok(Reply::Exec(stream, bytes)) => {
                        self.data(channel(stream), bytes);
                    }
                    Ok(Reply::Exited(0)) => return Ok(()),
                    Ok(Reply::Exited(code)) => return Err(exit_status(code)),
                    Ok(_) => {}
                    Err(why) => {
                        return Err(Status::internal(format!("error executing command in container: {}", why.desc)));
                    }
                }
            }
            Ok(())
        };
        futures_util::pin_mut!(feed, read);
        match futures_util::future::select(read, feed).await {
            futures_util::future::Either::Left((Ok(()), _)) => self.end(Some(success())),
            futures_util::future::Either::Left((Err(why), _)) => self.end(Some(why)),
            futures_util::future::Either::Right(_) => self.end(None),
        }
    }

    /// Shows what a running container writes from now on, and hands it what is typed.
    async fn attach(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        stdin: bool,
        mut input: mpsc::UnboundedReceiver<Said>,
    ) {
        use futures_util::StreamExt;
        let id = match self.running(namespace, pod, container) {
            Ok(id) => id,
            Err((code, why)) => return self.respond(code, Answer::Text(why.into())),
        };
        self.respond(101, Answer::Stream);
        let runtime = self.kubelet.runtime.clone();
        let mut written = runtime.start(Call::Attach(id.clone()));
        let feed = async {
            while let Some(Said::Bytes(data)) = input.next().await {
                let over = data.is_empty();
                let _ = runtime.done(Call::Input(id.clone(), (!over).then_some(data))).await;
                if over {
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let read = async {
            while let Some(Ok(answer)) = written.next().await {
                if let Reply::Exec(stream, bytes) = answer {
                    self.data(channel(stream), bytes);
                }
            }
        };
        futures_util::pin_mut!(feed, read);
        futures_util::future::select(read, feed).await;
        if stdin {
            let _ = runtime.done(Call::Input(id.clone(), None)).await;
        }
        self.end(Some(success()));
    }
}

fn channel(stream: Stream) -> Channel {
    match stream {
        Stream::Stdout => Channel::Stdout,
        Stream::Stderr => Channel::Stderr,
    }
}

fn write_line(text: &mut Vec<u8>, line: &Line, timestamps: bool) {
    if timestamps {
        let nanos = line.at.rem_euclid(1_000_000_000);
        let seconds = api::Time::from_unix(line.at.div_euclid(1_000_000_000)).to_string();
        text.extend_from_slice(format!("{}.{nanos:09}Z ", seconds.trim_end_matches('Z')).as_bytes());
    }
    text.extend_from_slice(&line.text);
    if line.whole {
        text.push(b'\n');
    }
}

fn success() -> Status {
    Status::from_object(meta_v1::Status { status: "Success".into(), ..meta_v1::Status::default() })
}

/// How a program that failed is reported (staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand).
fn exit_status(code: i32) -> Status {
    let causes =
        [StatusCause { reason: "ExitCode".into(), message: code.to_string().into(), ..StatusCause::default() }];
    Status::from_object(meta_v1::Status {
        status: "Failure".into(),
        reason: "NonZeroExitCode".into(),
        message: format!("command terminated with non-zero exit code: exit status {code}").into(),
        details: Ptr::some(StatusDetails { causes: causes.into(), ..StatusDetails::default() }),
        ..meta_v1::Status::default()
    })
}
