//! Requests to the API server and their answers as dynamic values.

use crate::error::Error;
use crate::mapping::Mapping;
use crate::print::table::{Column, Row, Table};
use crate::session::Kubectl;
use crate::value::{Object, Value, object};
use api::rest::{
    Accept, Answer, Body, Channel, ClientFrame, EventType, ExecOptions, FieldValidation, Forwarded, ListOptions,
    LogOptions, PatchType, Query, Request, Response, ServerFrame, Target, Verb, WatchBody, WriteOptions,
};
use api::{AnyRev, Str};
use sim::{Ctx, Instant, NetError};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

/// Objects a page of a list holds (`cmdutil.DefaultChunkSize`).
pub const CHUNK_SIZE: i64 = 500;

/// Subresources whose connections are upgraded.
const UPGRADED: [&str; 3] = ["attach", "exec", "portforward"];

/// A connection to the API server; streams are used one at a time.
pub struct Connection {
    conn: sim::Conn,
    next: Cell<u64>,
}

/// How a request writes.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// `--dry-run=server`
    pub dry_run: bool,
    /// `fieldManager`
    pub manager: String,
    /// `fieldValidation`
    pub validation: FieldValidation,
    /// `force`
    pub force: bool,
}

/// How a delete goes about it.
#[derive(Clone, Debug, Default)]
pub struct Delete {
    /// Seconds; None for the object's own.
    pub grace_period: Option<i64>,
    /// `Background`, `Foreground`, `Orphan`.
    pub propagation: Option<&'static str>,
    /// `--dry-run=server`
    pub dry_run: bool,
}

/// What a watch event is about.
pub enum Watched {
    /// An object.
    Object(Value),
    /// Its row.
    Table(Table),
}

/// A stream of answers.
pub struct Stream {
    connection: Rc<Connection>,
    stream: u64,
    queue: std::collections::VecDeque<(EventType, WatchBody)>,
    done: bool,
    /// When `--request-timeout` ends it.
    limit: Option<(Ctx, Instant)>,
    /// Whether that ended it.
    pub timed_out: bool,
}

/// A piece of a byte stream.
pub enum Piece {
    /// Bytes of standard output or a log.
    Out(Rc<[u8]>),
    /// Bytes of standard error.
    Err(Rc<[u8]>),
    /// The end, with the Status that a program ended with.
    End(Option<Value>),
}

impl Stream {
    fn new(connection: Rc<Connection>, stream: u64, done: bool, limit: Option<(Ctx, Instant)>) -> Stream {
        Stream { connection, stream, queue: Default::default(), done, limit, timed_out: false }
    }

    /// The next event of a watch; None when the server ended it.
    pub async fn event(&mut self) -> Result<Option<(EventType, Watched)>, Error> {
        while let Some((type_, body)) = self.event_as_sent().await {
            let watched = match body {
                WatchBody::Object(o) => Watched::Object(value_of(&o)),
                WatchBody::Table(t) => Watched::Table(table_of(&t)),
                WatchBody::Bookmark(..) => continue,
                WatchBody::Status(s) => return Err(status_error(&s)),
            };
            return Ok(Some((type_, watched)));
        }
        Ok(None)
    }

    /// The next event as the server sent it.
    pub(crate) async fn event_as_sent(&mut self) -> Option<(EventType, WatchBody)> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.done {
                return None;
            }
            match self.frame().await {
                Some(Ok(ServerFrame::Events { stream, events })) if stream == self.stream => {
                    self.queue.extend(events.into_iter().map(|e| (e.type_, e.body)));
                }
                Some(Ok(ServerFrame::End { stream, .. })) if stream == self.stream => self.done = true,
                Some(Ok(_)) => {}
                // A watch that ran out of time ends as one that the server ended.
                Some(Err(_)) | None => self.done = true,
            }
        }
    }

    /// The next bytes.
    pub async fn piece(&mut self) -> Piece {
        loop {
            if self.done {
                return Piece::End(None);
            }
            match self.frame().await {
                Some(Ok(ServerFrame::Data { stream, channel, data })) if stream == self.stream => {
                    return match channel {
                        Channel::Stderr => Piece::Err(data),
                        _ => Piece::Out(data),
                    };
                }
                Some(Ok(ServerFrame::End { stream, status })) if stream == self.stream => {
                    self.done = true;
                    return Piece::End(status.map(|s| status_value(&s)));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) => self.done = true,
                None => {
                    self.timed_out = true;
                    return Piece::End(None);
                }
            }
        }
    }

    /// The next step of a connection that the stream forwards, and the connection's number; None when the server is
    /// gone.
    pub async fn forwarded(&mut self) -> Option<(u64, Forwarded)> {
        while !self.done {
            match self.frame().await {
                Some(Ok(ServerFrame::Forward { stream, connection, step })) if stream == self.stream => {
                    return Some((connection, step));
                }
                Some(Ok(ServerFrame::End { stream, .. })) if stream == self.stream => self.done = true,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => self.done = true,
            }
        }
        None
    }

    /// The next frame of the connection; None when the time is over.
    async fn frame(&self) -> Option<Result<ServerFrame, NetError>> {
        let next = self.connection.conn.recv::<ServerFrame>();
        match &self.limit {
            Some((ctx, end)) => ctx.timeout(end.since(ctx.now()), next).await.ok(),
            None => Some(next.await),
        }
    }

    /// Where the program's input goes.
    pub fn sender(&self) -> Sender {
        Sender { connection: self.connection.clone(), stream: self.stream }
    }
}

/// The input of a stream's program.
pub struct Sender {
    connection: Rc<Connection>,
    stream: u64,
}

impl Sender {
    /// Sends bytes to the program; empty ones end its input.
    pub fn send(&self, bytes: &[u8]) {
        let frame = ClientFrame::Data { stream: self.stream, data: bytes.into() };
        // A connection that is gone shows at the next read.
        let _ = self.connection.conn.send(frame);
    }

    /// Takes a step of a forwarded connection.
    pub fn forward(&self, connection: u64, step: Forwarded) {
        let _ = self.connection.conn.send(ClientFrame::Forward { stream: self.stream, connection, step });
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.connection.conn.send(ClientFrame::Cancel { stream: self.stream });
        }
    }
}

/// An object as a dynamic value, its resourceVersion filled in.
pub fn value_of(o: &AnyRev) -> Value {
    Value::from(&api::json::to_value(&*o.body, (o.revision > 0).then_some(o.revision)))
}

/// A typed list as the API server makes it.
pub fn value_list(api_version: &str, kind: &str, items: Vec<Value>) -> Value {
    object([
        ("apiVersion", api_version.into()),
        ("items", Value::Array(items)),
        ("kind", kind.into()),
        ("metadata", object([("resourceVersion", "".into())])),
    ])
}

/// A Status as a dynamic value.
pub fn status_value(s: &api::Status) -> Value {
    Value::from(&api::json::to_value(&**s, None))
}

/// What the server says of a path that it doesn't have.
pub fn no_path() -> Error {
    status_error(&api::Status::generic(404, "", ("", ""), "", "", 0))
}

/// A request about one object says which.
fn named(name: &str) -> Result<(), Error> {
    if name.is_empty() { Err(Error::text("resource name may not be empty")) } else { Ok(()) }
}

fn status_error(s: &api::Status) -> Error {
    Error::Status(Box::new(status_value(s)))
}

fn table_of(t: &api::table::Table) -> Table {
    Table {
        columns: t
            .columns
            .iter()
            .map(|c| Column {
                name: c.name.to_string(),
                kind: c.type_.to_string(),
                format: c.format.to_string(),
                priority: c.priority as i64,
            })
            .collect(),
        rows: t
            .rows
            .iter()
            .map(|r| Row {
                cells: r
                    .cells
                    .iter()
                    .map(|c| match c {
                        api::table::Cell::Str(s) => Value::String(s.to_string()),
                        api::table::Cell::Int(i) => Value::Int(*i),
                        api::table::Cell::Bool(b) => Value::Bool(*b),
                        api::table::Cell::Null => Value::Null,
                    })
                    .collect(),
                object: Some(r.object.clone()),
            })
            .collect(),
    }
}

fn str(s: &str) -> Str {
    Str::from(s)
}

impl<'a> Kubectl<'a> {
    /// The connection, made at first use.
    pub async fn connect(&self, url: &str) -> Result<Rc<Connection>, Error> {
        self.within("Get", url, self.open(url)).await
    }

    async fn open(&self, url: &str) -> Result<Rc<Connection>, Error> {
        let open = self.connection.borrow().clone();
        if let Some(c) = open.filter(|c| c.conn.ended().is_none()) {
            return Ok(c);
        }
        let conn = self.ctx.connect(self.config.server).await.map_err(|e| self.net_error("Get", url, e))?;
        let c = Rc::new(Connection { conn, next: Cell::new(1) });
        *self.connection.borrow_mut() = Some(c.clone());
        Ok(c)
    }

    fn net_error(&self, method: &str, url: &str, e: NetError) -> Error {
        let host = self.config.host();
        let cause = match e {
            NetError::Refused | NetError::Unreachable | NetError::TimedOut => format!("dial tcp {host}: {e}"),
            other => other.to_string(),
        };
        let shown = match e {
            NetError::Refused => {
                format!("The connection to the server {host} was refused - did you specify the right host or port?")
            }
            _ => format!("Unable to connect to the server: {cause}"),
        };
        Error::Connection { shown, text: format!("{method} \"https://{host}{url}\": {cause}") }
    }

    fn request(&self, verb: Verb, target: Target, query: Query, body: Body, accept: Accept) -> Request {
        Request {
            verb,
            target,
            query,
            delete: None,
            body,
            accept,
            credential: self.credential(),
            impersonate: self.impersonation(),
            user_agent: str("kubectl/v1.37.2 (linux/amd64) kubernetes/0000000"),
            causes: Rc::from([]),
        }
    }

    fn target(m: &Mapping, namespace: &str, name: &str, subresource: &str) -> Target {
        Target::Resource {
            group: str(&m.group),
            version: str(&m.version),
            resource: str(&m.plural),
            subresource: str(subresource),
            namespace: str(if m.namespaced || m.plural == "namespaces" { namespace } else { "" }),
            name: str(name),
        }
    }

    /// How long a request may take (`--request-timeout`).
    fn limit(&self) -> Option<Duration> {
        let nanoseconds = super::cmd::timeout(self.flags.str("request-timeout")).ok()?;
        u64::try_from(nanoseconds).ok().filter(|n| *n > 0).map(Duration::from_nanos)
    }

    /// Waits for an answer as long as a request may take.
    async fn within<T>(
        &self,
        method: &str,
        url: &str,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(limit) = self.limit() else { return answer.await };
        self.ctx.timeout(limit, answer).await.unwrap_or_else(|_| {
            const CAUSE: &str = "context deadline exceeded";
            Err(Error::Connection {
                shown: format!("Unable to connect to the server: {CAUSE}"),
                text: format!("{method} \"https://{}{url}\": {CAUSE}", self.config.host()),
            })
        })
    }

    /// Sends a request and waits for its answer; warnings are printed, failures are errors.
    async fn answer(&self, request: Request) -> Result<(Rc<Connection>, u64, Response), Error> {
        let method = match request.verb {
            Verb::Create => "Post",
            Verb::Update => "Put",
            Verb::Patch(_) => "Patch",
            Verb::Delete | Verb::DeleteCollection => "Delete",
            _ => "Get",
        };
        let url = url_of(&request.target);
        self.within(method, &url, self.exchange(method, &url, request)).await
    }

    async fn exchange(
        &self,
        method: &str,
        url: &str,
        request: Request,
    ) -> Result<(Rc<Connection>, u64, Response), Error> {
        let c = self.open(url).await?;
        // A connection that is to be upgraded has no place for warnings.
        let upgrade =
            matches!(&request.target, Target::Resource { subresource, .. } if UPGRADED.contains(&&**subresource));
        let stream = c.next.get();
        c.next.set(stream + 1);
        c.conn
            .send(ClientFrame::Request { stream, request: Box::new(request) })
            .map_err(|e| self.net_error(method, url, e))?;
        loop {
            match c.conn.recv::<ServerFrame>().await {
                Ok(ServerFrame::Response { stream: s, response }) if s == stream => {
                    if !upgrade {
                        response.warnings.iter().for_each(|w| self.warn(w));
                    }
                    if let Answer::Status(s) = &response.answer
                        && response.code >= 400
                    {
                        let error = status_error(s);
                        let refused = || Error::text(format!("unable to upgrade connection: {}", error.message()));
                        return Err(if upgrade { refused() } else { error });
                    }
                    return Ok((c, stream, response));
                }
                Ok(_) => {}
                Err(e) => return Err(self.net_error(method, url, e)),
            }
        }
    }

    /// The `apiVersion` and `kind` of a target's collection; empty where it has none.
    pub(crate) fn list_kind(&self, target: &Target) -> (String, String) {
        let Target::Resource { group, version, resource, .. } = target else { return Default::default() };
        let mapper = self.mapper();
        let kind =
            mapper.resources.iter().find(|m| m.group == **group && m.version == **version && m.plural == **resource);
        kind.map(|m| (m.api_version(), format!("{}List", m.kind))).unwrap_or_default()
    }

    async fn object(&self, request: Request) -> Result<Value, Error> {
        let list = self.list_kind(&request.target);
        let (_, _, response) = self.answer(request).await?;
        Ok(match response.answer {
            Answer::Object(o) => value_of(&o),
            Answer::List(l) => {
                let mut metadata = object([("resourceVersion", l.revision.to_string().into())]);
                if !l.continue_.is_empty() {
                    metadata.set("continue", l.continue_.to_string());
                }
                object([
                    ("apiVersion", list.0.into()),
                    ("kind", list.1.into()),
                    ("metadata", metadata),
                    ("items", Value::Array(l.items.iter().map(value_of).collect())),
                ])
            }
            Answer::Status(s) => status_value(&s),
            Answer::Text(t) => Value::String(t.to_string()),
            Answer::Json(bytes) => Value::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default(),
            Answer::Table(_) | Answer::Stream => Value::Null,
        })
    }

    /// One object.
    pub async fn get(&self, m: &Mapping, ns: &str, name: &str, sub: &str) -> Result<Value, Error> {
        named(name)?;
        let target = Self::target(m, ns, name, sub);
        self.object(self.request(Verb::Get, target, Query::None, Body::Empty, Accept::Object)).await
    }

    /// One object as a row.
    pub async fn get_table(&self, m: &Mapping, ns: &str, name: &str, sub: &str) -> Result<Result<Table, Value>, Error> {
        let target = Self::target(m, ns, name, sub);
        let (_, _, r) = self.answer(self.request(Verb::Get, target, Query::None, Body::Empty, Accept::Table)).await?;
        Ok(match r.answer {
            Answer::Table(t) => Ok(table_of(&t)),
            Answer::Object(o) => Err(value_of(&o)),
            _ => Err(Value::Null),
        })
    }

    /// One page of a collection as a List object.
    pub async fn list_page(&self, m: &Mapping, ns: &str, options: &ListOptions) -> Result<Value, Error> {
        let target = Self::target(m, ns, "", "");
        let query = Query::List(options.clone());
        self.object(self.request(Verb::List, target, query, Body::Empty, Accept::Object)).await
    }

    /// A whole collection's objects.
    pub async fn list(&self, m: &Mapping, ns: &str, labels: &str, fields: &str) -> Result<Vec<Value>, Error> {
        let mut options = ListOptions {
            label_selector: str(labels),
            field_selector: str(fields),
            limit: CHUNK_SIZE,
            ..ListOptions::default()
        };
        let mut items = Vec::new();
        loop {
            let mut page = self.list_page(m, ns, &options).await?;
            items.append(page.list_mut("items"));
            match page.str("metadata/continue") {
                "" => return Ok(items),
                token => options.continue_ = str(token),
            }
        }
    }

    /// One page of a collection as rows, with the token of the next page and the revision.
    pub async fn list_table(
        &self,
        m: &Mapping,
        ns: &str,
        options: &ListOptions,
    ) -> Result<(Table, String, u64), Error> {
        let target = Self::target(m, ns, "", "");
        let query = Query::List(options.clone());
        let (_, _, r) = self.answer(self.request(Verb::List, target, query, Body::Empty, Accept::Table)).await?;
        Ok(match r.answer {
            Answer::Table(t) => (table_of(&t), t.continue_.to_string(), t.revision),
            _ => (Table::default(), String::new(), 0),
        })
    }

    /// A new object.
    pub async fn create(&self, m: &Mapping, ns: &str, body: &Value, w: &Write) -> Result<Value, Error> {
        self.create_sub(m, ns, "", "", body, w).await
    }

    /// A subresource's action.
    pub async fn create_sub(
        &self,
        m: &Mapping,
        ns: &str,
        name: &str,
        sub: &str,
        body: &Value,
        w: &Write,
    ) -> Result<Value, Error> {
        let target = Self::target(m, ns, name, sub);
        let body = Body::Bytes(body.to_json().into_bytes().into());
        self.object(self.request(Verb::Create, target, Query::Write(options(w)), body, Accept::Object)).await
    }

    /// A whole object in place of the stored one.
    pub async fn update(
        &self,
        m: &Mapping,
        ns: &str,
        name: &str,
        sub: &str,
        body: &Value,
        w: &Write,
    ) -> Result<Value, Error> {
        let target = Self::target(m, ns, name, sub);
        let body = Body::Bytes(body.to_json().into_bytes().into());
        self.object(self.request(Verb::Update, target, Query::Write(options(w)), body, Accept::Object)).await
    }

    /// A change of the stored object.
    #[allow(clippy::too_many_arguments)]
    pub async fn patch(
        &self,
        m: &Mapping,
        ns: &str,
        name: &str,
        sub: &str,
        kind: PatchType,
        body: &[u8],
        w: &Write,
    ) -> Result<Value, Error> {
        named(name)?;
        let target = Self::target(m, ns, name, sub);
        let body = Body::Bytes(body.into());
        let query = Query::Write(options(w));
        self.object(self.request(Verb::Patch(kind), target, query, body, Accept::Object)).await
    }

    /// Deletes one object; the answer is the object or a Status.
    pub async fn delete(&self, m: &Mapping, ns: &str, name: &str, d: &Delete) -> Result<Value, Error> {
        let target = Self::target(m, ns, name, "");
        let mut request = self.request(Verb::Delete, target, Query::None, Body::Empty, Accept::Object);
        let mut options = api::meta_v1::DeleteOptions { grace_period_seconds: d.grace_period, ..Default::default() };
        if let Some(p) = d.propagation {
            options.propagation_policy = p.into();
        }
        if d.dry_run {
            options.dry_run = vec![str("All")].into();
        }
        request.delete = Some(Rc::new(options));
        self.object(request).await
    }

    /// Watches a collection, or an object by a field selector.
    pub async fn watch(&self, m: &Mapping, ns: &str, options: ListOptions, table: bool) -> Result<Stream, Error> {
        let target = Self::target(m, ns, "", "");
        let accept = if table { Accept::Table } else { Accept::Object };
        self.stream(self.request(Verb::Watch, target, Query::List(options), Body::Empty, accept)).await
    }

    async fn stream(&self, request: Request) -> Result<Stream, Error> {
        let end = self.end();
        let (connection, stream, response) = self.answer(request).await?;
        let done = !matches!(response.answer, Answer::Stream);
        Ok(Stream::new(connection, stream, done, end))
    }

    /// When a request that is made now has had its time.
    fn end(&self) -> Option<(Ctx, Instant)> {
        self.limit().map(|limit| (self.ctx.clone(), self.ctx.now() + limit))
    }

    /// A pod's log: all at once, or as it comes.
    pub async fn logs(&self, ns: &str, pod: &str, options: LogOptions) -> Result<Result<String, Stream>, Error> {
        let pods = self.known("", "pods")?;
        let target = Self::target(&pods, ns, pod, "log");
        let request = self.request(Verb::Get, target, Query::Log(options), Body::Empty, Accept::Object);
        let end = self.end();
        let (connection, stream, response) = self.answer(request).await?;
        Ok(match response.answer {
            Answer::Text(t) => Ok(t.to_string()),
            Answer::Stream => Err(Stream::new(connection, stream, false, end)),
            _ => Ok(String::new()),
        })
    }

    /// Runs a command in a container.
    pub async fn exec(&self, ns: &str, pod: &str, options: ExecOptions) -> Result<Stream, Error> {
        let pods = self.known("", "pods")?;
        let target = Self::target(&pods, ns, pod, "exec");
        let request = self.request(Verb::Create, target, Query::Exec(options), Body::Empty, Accept::Object);
        let (connection, stream, response) = self.answer(request).await?;
        if let Answer::Text(text) = &response.answer
            && response.code >= 400
        {
            // A refusal in plain words is the kubelet's own.
            return Err(Error::text(format!("unable to upgrade connection: {text}")));
        }
        let done = !matches!(response.answer, Answer::Stream);
        Ok(Stream::new(connection, stream, done, None))
    }

    /// Opens the connection of `port-forward` to a pod.
    pub async fn port_forward(&self, ns: &str, pod: &str) -> Result<Stream, Error> {
        let pods = self.known("", "pods")?;
        let target = Self::target(&pods, ns, pod, "portforward");
        self.stream(self.request(Verb::Create, target, Query::None, Body::Empty, Accept::Object)).await
    }

    /// Attaches to a running container.
    pub async fn attach(&self, ns: &str, pod: &str, options: ExecOptions) -> Result<Stream, Error> {
        let pods = self.known("", "pods")?;
        let target = Self::target(&pods, ns, pod, "attach");
        self.stream(self.request(Verb::Create, target, Query::Exec(options), Body::Empty, Accept::Object)).await
    }

    /// Any request, with its answer as it came; where that is a stream, its frames follow.
    pub(crate) async fn respond(
        &self,
        verb: Verb,
        target: Target,
        query: Query,
        body: Body,
    ) -> Result<(Answer, Stream), Error> {
        let mut request = self.request(verb, target, query, Body::Empty, Accept::Object);
        match body {
            Body::Bytes(bytes) if verb == Verb::Delete => {
                let mut options = api::meta_v1::DeleteOptions::default();
                api::json::decode(&bytes, &mut options, false).map_err(|e| {
                    let why = format!("couldn't get version/kind; json parse error: {e}");
                    status_error(&api::Status::bad_request(why))
                })?;
                request.delete = Some(Rc::new(options));
            }
            body => request.body = body,
        }
        let end = self.end();
        let (connection, stream, response) = self.answer(request).await?;
        let done = !matches!(response.answer, Answer::Stream);
        Ok((response.answer, Stream::new(connection, stream, done, end)))
    }
}

fn options(w: &Write) -> WriteOptions {
    WriteOptions { dry_run: w.dry_run, field_manager: str(&w.manager), field_validation: w.validation, force: w.force }
}

/// A target's path, for errors of the connection.
fn url_of(target: &Target) -> String {
    match target {
        Target::Path(p) => p.to_string(),
        Target::Resource { group, version, resource, subresource, namespace, name } => {
            let mut url = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
            if !namespace.is_empty() && *resource != "namespaces" {
                url.push_str(&format!("/namespaces/{namespace}"));
            }
            for part in [resource, name, subresource] {
                if !part.is_empty() {
                    url.push_str(&format!("/{part}"));
                }
            }
            if name.is_empty() { format!("{url}?limit=500") } else { url }
        }
    }
}

impl From<&api::json::Value> for Value {
    fn from(v: &api::json::Value) -> Value {
        match v {
            api::json::Value::Null => Value::Null,
            api::json::Value::Bool(b) => Value::Bool(*b),
            api::json::Value::Int(i) => Value::Int(*i),
            api::json::Value::Float(f) => Value::Float(*f),
            api::json::Value::Str(s) => Value::String(s.to_string()),
            api::json::Value::Array(a) => Value::Array(a.iter().map(Value::from).collect()),
            api::json::Value::Object(m) => {
                Value::Object(m.iter().map(|(k, v)| (k.to_string(), Value::from(v))).collect::<Object>())
            }
        }
    }
}

impl Value {
    /// The same as the object model's dynamic value.
    pub fn to_api(&self) -> api::json::Value {
        match self {
            Value::Null => api::json::Value::Null,
            Value::Bool(b) => api::json::Value::Bool(*b),
            Value::Int(i) => api::json::Value::Int(*i),
            Value::Float(f) => api::json::Value::Float(*f),
            Value::String(s) => api::json::Value::Str(str(s)),
            Value::Array(a) => api::json::Value::Array(a.iter().map(Value::to_api).collect()),
            Value::Object(m) => api::json::Value::Object(m.iter().map(|(k, v)| (str(k), v.to_api())).collect()),
        }
    }

    /// Parses JSON; the error is Go's text.
    pub fn parse(text: &str) -> Result<Value, String> {
        api::json::Value::parse(text).map(|v| Value::from(&v)).map_err(|e| e.message)
    }
}
