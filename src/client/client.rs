//! Calls to an API server (client-go `rest` and the typed clients).

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use api::meta_v1::DeleteOptions;
use api::rest::{
    Accept, Answer, Body, Credential, Impersonation, ListOptions, ObjectList, PatchType, Query, Request, Response,
    Target, TypedList, Verb, WriteOptions,
};
use api::{AnyRev, KindInfo, Object, Resource, Rev, Status, Str};
use sim::sync::Notify;
use sim::{Addr, Ctx, NetError};

use crate::causes::Causes;
use crate::flowcontrol::TokenBucket;
use crate::klog;
use crate::streams::{ByteStream, Watch};
use crate::transport::{Incoming, Stream, Transport};
use crate::url::{method, url};

/// How often a request is tried again that the server asked to repeat, or that a broken connection lost
/// (`maxRetries`).
const MAX_RETRIES: u32 = 10;
/// Waits longer than this for the client's own limit are logged (`longThrottleLatency`).
const LONG_THROTTLE: Duration = Duration::from_millis(50);

/// Where and as whom a client calls.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The server's address.
    pub server: Addr,
    /// The server's address as error messages show it: `https://172.18.0.1:6443`.
    pub url: Str,
    /// Who the client is.
    pub credential: Credential,
    /// Its `User-Agent`: `kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/...`; the part before the slash is
    /// the field manager of its writes.
    pub user_agent: Str,
    /// Requests a second in the long run; 0 for no limit.
    pub qps: f64,
    /// Requests at once.
    pub burst: u32,
    /// When to give a request up; watches and streams never are.
    pub timeout: Option<Duration>,
}

impl ClientConfig {
    /// A client without limits of its own.
    pub fn new(server: Addr, credential: Credential, user_agent: impl Into<Str>) -> ClientConfig {
        ClientConfig {
            server,
            url: format!("https://{server}").into(),
            credential,
            user_agent: user_agent.into(),
            qps: 0.0,
            burst: 0,
            timeout: None,
        }
    }

    /// The same with a limit of requests.
    pub fn limited(mut self, qps: f64, burst: u32) -> ClientConfig {
        self.qps = qps;
        self.burst = burst;
        self
    }
}

/// Calls an API server. Clones share the connection and the limit of requests.
#[derive(Clone)]
pub struct Client {
    inner: Rc<Inner>,
    causes: Rc<[u64]>,
    timeout: Option<Duration>,
    impersonate: Option<Rc<Impersonation>>,
}

struct Inner {
    ctx: Ctx,
    config: ClientConfig,
    limiter: Option<RefCell<TokenBucket>>,
    transport: RefCell<Option<Rc<Transport>>>,
    /// Someone dials; others wait for the outcome.
    dialing: Cell<bool>,
    dialed: Notify,
}

impl Client {
    /// A client that dials with its first request.
    pub fn new(ctx: &Ctx, config: ClientConfig) -> Client {
        let limiter = (config.qps > 0.0).then(|| RefCell::new(TokenBucket::new(config.qps, config.burst)));
        Client {
            timeout: config.timeout,
            inner: Rc::new(Inner {
                ctx: ctx.clone(),
                config,
                limiter,
                transport: RefCell::default(),
                dialing: Cell::new(false),
                dialed: Notify::new(),
            }),
            causes: Rc::from([]),
            impersonate: None,
        }
    }

    /// The process it belongs to.
    pub fn ctx(&self) -> &Ctx {
        &self.inner.ctx
    }

    /// How it was made.
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// The same client, whose writes say what led to them.
    pub fn caused_by(&self, causes: &Causes) -> Client {
        Client { causes: causes.as_slice().into(), ..self.clone() }
    }

    /// The same client, whose requests are given up after a while.
    pub fn with_timeout(&self, timeout: Duration) -> Client {
        Client { timeout: Some(timeout), ..self.clone() }
    }

    /// The same client in another's place (`Impersonate-User`).
    pub fn impersonating(&self, whom: Impersonation) -> Client {
        Client { impersonate: Some(Rc::new(whom)), ..self.clone() }
    }

    // ---------------------------------------------------------------- requests

    /// A request of this client about a resource, to be completed by the caller.
    pub fn prepare(&self, verb: Verb, kind: &KindInfo, namespace: &str, name: &str, subresource: &str) -> Request {
        let target = Target::Resource {
            group: kind.group.into(),
            version: kind.version.into(),
            resource: kind.plural.into(),
            subresource: subresource.into(),
            namespace: if kind.namespaced { namespace.into() } else { Str::default() },
            name: name.into(),
        };
        self.prepare_target(verb, target)
    }

    /// A request of this client about anything.
    pub fn prepare_target(&self, verb: Verb, target: Target) -> Request {
        Request {
            verb,
            target,
            query: Query::None,
            delete: None,
            body: Body::Empty,
            accept: Accept::Object,
            credential: self.inner.config.credential.clone(),
            impersonate: self.impersonate.as_deref().cloned(),
            user_agent: self.inner.config.user_agent.clone(),
            causes: self.causes.clone(),
        }
    }

    /// Sends a request and waits for its answer. A failure that the server reports is an error, as is a server that
    /// cannot be reached ([`Status::is_transport`]).
    pub async fn request(&self, request: Request) -> Result<Response, Status> {
        let (response, stream) = self.call(request).await?;
        stream.set_ended();
        Ok(response)
    }

    /// Opens a watch. It ends with the connection, by its timeout, or when it is dropped.
    pub async fn watch_request(&self, request: Request) -> Result<Watch, Status> {
        let kept = request.clone();
        let (_, stream) = self.call(request).await?;
        Ok(Watch::new(stream, url(&self.inner.config.url, &kept, None)))
    }

    /// Opens a stream of bytes: a log that is followed, or a program.
    pub async fn stream_request(&self, request: Request) -> Result<(Response, ByteStream), Status> {
        let (response, stream) = self.call(request).await?;
        if !matches!(response.answer, Answer::Stream) {
            stream.set_ended();
        }
        Ok((response, ByteStream::new(stream)))
    }

    /// Waits for the client's own limit, sends, and reads the first answer, repeating what may be repeated. Boxed, as
    /// every task of a control loop holds room for its largest request as long as it lives.
    fn call(&self, request: Request) -> Pin<Box<dyn Future<Output = Result<(Response, Stream), Status>> + '_>> {
        Box::pin(self.send(request))
    }

    async fn send(&self, request: Request) -> Result<(Response, Stream), Status> {
        let long = matches!(request.verb, Verb::Watch) || matches!(request.query, Query::Exec(_));
        let timeout = self.timeout.filter(|_| !long);
        self.throttle(&request, timeout).await;
        let Some(limit) = timeout else { return self.attempt(request, None).await };
        let kept = request.clone();
        match self.inner.ctx.timeout(limit, self.attempt(request, timeout)).await {
            Ok(result) => result,
            Err(_) => {
                let address = url(&self.inner.config.url, &kept, timeout);
                Err(Status::transport(format!(
                    "{} \"{address}\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
                    method(kept.verb)
                )))
            }
        }
    }

    async fn throttle(&self, request: &Request, timeout: Option<Duration>) {
        let inner = &self.inner;
        let Some(limiter) = &inner.limiter else { return };
        let delay = limiter.borrow_mut().reserve(inner.ctx.now().as_nanos());
        if delay.is_zero() {
            return;
        }
        inner.ctx.sleep(delay).await;
        if delay > LONG_THROTTLE {
            klog::info("Waited before sending request")
                .duration("delay", delay)
                .str("reason", "client-side throttling, not priority and fairness")
                .str("verb", &method(request.verb).to_uppercase())
                .str("URL", &url(&inner.config.url, request, timeout))
                .log(&inner.ctx, "request.go:685");
        }
    }

    async fn attempt(&self, request: Request, timeout: Option<Duration>) -> Result<(Response, Stream), Status> {
        let inner = &self.inner;
        let mut tries = 0;
        loop {
            tries += 1;
            let stream = match self.open(request.clone()).await {
                Ok(stream) => stream,
                Err(err) => return Err(self.net_error(&request, timeout, err)),
            };
            let response = match stream.next().await {
                Incoming::Response(response) => response,
                Incoming::Failed(err) => {
                    stream.set_ended();
                    // Reading twice does no harm; whether a write was done nobody knows.
                    if matches!(request.verb, Verb::Get | Verb::List | Verb::Watch) && tries <= MAX_RETRIES {
                        inner.ctx.sleep(Duration::from_secs(1)).await;
                        continue;
                    }
                    return Err(self.net_error(&request, timeout, Failure::Broken(err)));
                }
                _ => return Err(Status::transport("malformed message")),
            };
            if !matches!(response.answer, Answer::Stream) {
                stream.set_ended();
            }
            let asked_to_wait = response.retry_after > 0 && (response.code == 429 || response.code >= 500);
            if asked_to_wait && tries <= MAX_RETRIES {
                inner.ctx.sleep(Duration::from_secs(u64::from(response.retry_after))).await;
                continue;
            }
            if response.code >= 400 {
                return Err(match &response.answer {
                    Answer::Status(status) => (**status).clone(),
                    Answer::Text(text) => {
                        Status::generic(i32::from(response.code), method(request.verb), ("", ""), "", text, 0)
                    }
                    _ => Status::generic(i32::from(response.code), method(request.verb), ("", ""), "", "unknown", 0),
                });
            }
            return Ok((response, stream));
        }
    }

    /// A stream on the connection, which is dialed if there is none.
    async fn open(&self, request: Request) -> Result<Stream, Failure> {
        let inner = &self.inner;
        let label = request.verb.name();
        loop {
            let transport = inner.transport.borrow().clone().filter(|t| t.usable());
            if let Some(transport) = transport {
                match transport.open(label, request.clone()) {
                    Ok(stream) => return Ok(stream),
                    // It broke unnoticed: the request was not sent, so dial again.
                    Err(_) => {
                        inner.transport.borrow_mut().take();
                        continue;
                    }
                }
            }
            let dialed = inner.dialed.notified();
            if inner.dialing.replace(true) {
                dialed.await;
                continue;
            }
            let guard = Dialing(inner);
            let result = Transport::dial(&inner.ctx, inner.config.server).await;
            drop(guard);
            match result {
                Ok(transport) => *inner.transport.borrow_mut() = Some(transport),
                Err(err) => return Err(Failure::Dial(err)),
            }
        }
    }

    fn net_error(&self, request: &Request, timeout: Option<Duration>, failure: Failure) -> Status {
        let config = &self.inner.config;
        let address = url(&config.url, request, timeout);
        let cause = match failure {
            Failure::Dial(err) => format!("dial tcp {}: {err}", config.server),
            Failure::Broken(err) => err.to_string(),
        };
        Status::transport(format!("{} \"{address}\": {cause}", method(request.verb)))
    }

    // ---------------------------------------------------------------- any kind

    /// An object.
    pub async fn get_kind(&self, kind: &KindInfo, namespace: &str, name: &str) -> Result<AnyRev, Status> {
        object(self.request(self.prepare(Verb::Get, kind, namespace, name, "")).await?)
    }

    /// A collection; the namespace is empty for all.
    pub async fn list_kind(
        &self,
        kind: &KindInfo,
        namespace: &str,
        options: &ListOptions,
    ) -> Result<ObjectList, Status> {
        let mut request = self.prepare(Verb::List, kind, namespace, "", "");
        request.query = Query::List(options.clone());
        match self.request(request).await?.answer {
            Answer::List(list) => Ok(list),
            _ => Err(unexpected()),
        }
    }

    /// Watches a collection; the namespace is empty for all.
    pub async fn watch_kind(&self, kind: &KindInfo, namespace: &str, options: ListOptions) -> Result<Watch, Status> {
        let mut request = self.prepare(Verb::Watch, kind, namespace, "", "");
        request.query = Query::List(options);
        self.watch_request(request).await
    }

    /// Creates an object, or calls a subresource (`token`, `eviction`).
    pub async fn create_kind(
        &self,
        kind: &KindInfo,
        namespace: &str,
        name: &str,
        subresource: &str,
        body: Rc<dyn Object>,
    ) -> Result<AnyRev, Status> {
        let mut request = self.prepare(Verb::Create, kind, namespace, name, subresource);
        request.query = Query::Write(WriteOptions::default());
        request.body = Body::Object(body);
        object(self.request(request).await?)
    }

    /// Replaces an object, or the part of it that a subresource is. The server refuses with a conflict unless the
    /// object still is at `revision`; 0 replaces whatever is there.
    pub async fn update_kind(
        &self,
        kind: &KindInfo,
        subresource: &str,
        mut body: Box<dyn Object>,
        revision: u64,
    ) -> Result<AnyRev, Status> {
        let Some(meta) = body.metadata_mut() else { return Err(unexpected()) };
        meta.resource_version = if revision == 0 { Str::default() } else { revision.to_string().into() };
        let (namespace, name) = (meta.namespace.clone(), meta.name.clone());
        let mut request = self.prepare(Verb::Update, kind, &namespace, &name, subresource);
        request.query = Query::Write(WriteOptions::default());
        request.body = Body::Object(Rc::from(body));
        object(self.request(request).await?)
    }

    /// Changes an object; `body` is the patch in JSON.
    pub async fn patch_kind(
        &self,
        kind: &KindInfo,
        namespace: &str,
        name: &str,
        type_: PatchType,
        body: impl AsRef<str>,
        subresource: &str,
    ) -> Result<AnyRev, Status> {
        let mut request = self.prepare(Verb::Patch(type_), kind, namespace, name, subresource);
        request.query = Query::Write(WriteOptions::default());
        request.body = Body::Bytes(body.as_ref().as_bytes().into());
        object(self.request(request).await?)
    }

    /// Deletes an object.
    pub async fn delete_kind(
        &self,
        kind: &KindInfo,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let mut request = self.prepare(Verb::Delete, kind, namespace, name, "");
        request.delete = Some(Rc::new(options.clone()));
        self.request(request).await.map(drop)
    }

    /// Deletes all objects of a collection that the selectors match.
    pub async fn delete_collection(
        &self,
        kind: &KindInfo,
        namespace: &str,
        options: &DeleteOptions,
        which: &ListOptions,
    ) -> Result<(), Status> {
        let mut request = self.prepare(Verb::DeleteCollection, kind, namespace, "", "");
        request.query = Query::List(which.clone());
        request.delete = Some(Rc::new(options.clone()));
        self.request(request).await.map(drop)
    }

    // ---------------------------------------------------------------- typed

    /// An object.
    pub async fn get<T: Resource>(&self, namespace: &str, name: &str) -> Result<Rev<T>, Status> {
        typed(self.get_kind(T::KIND, namespace, name).await?)
    }

    /// A collection; the namespace is empty for all.
    pub async fn list<T: Resource>(&self, namespace: &str, options: &ListOptions) -> Result<TypedList<T>, Status> {
        let list = self.list_kind(T::KIND, namespace, options).await?;
        Ok(TypedList {
            items: list.items.into_iter().filter_map(|o| o.downcast()).collect(),
            revision: list.revision,
            continue_: list.continue_,
        })
    }

    /// Watches a collection; the namespace is empty for all.
    pub async fn watch<T: Resource>(&self, namespace: &str, options: ListOptions) -> Result<Watch, Status> {
        self.watch_kind(T::KIND, namespace, options).await
    }

    /// Creates an object.
    pub async fn create<T: Resource>(&self, namespace: &str, object: T) -> Result<Rev<T>, Status> {
        typed(self.create_kind(T::KIND, namespace, "", "", Rc::new(object)).await?)
    }

    /// Replaces an object that was read at `revision`.
    pub async fn update<T: Resource>(&self, object: T, revision: u64) -> Result<Rev<T>, Status> {
        self.update_subresource(object, revision, "").await
    }

    /// Replaces the status of an object that was read at `revision`.
    pub async fn update_status<T: Resource>(&self, object: T, revision: u64) -> Result<Rev<T>, Status> {
        self.update_subresource(object, revision, "status").await
    }

    /// Replaces what a subresource stands for.
    pub async fn update_subresource<T: Resource>(
        &self,
        object: T,
        revision: u64,
        subresource: &str,
    ) -> Result<Rev<T>, Status> {
        typed(self.update_kind(T::KIND, subresource, Box::new(object), revision).await?)
    }

    /// Changes an object; `body` is the patch in JSON, `subresource` empty for the object itself.
    pub async fn patch<T: Resource>(
        &self,
        namespace: &str,
        name: &str,
        type_: PatchType,
        body: impl AsRef<str>,
        subresource: &str,
    ) -> Result<Rev<T>, Status> {
        typed(self.patch_kind(T::KIND, namespace, name, type_, body, subresource).await?)
    }

    /// Deletes an object.
    pub async fn delete<T: Resource>(
        &self,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        self.delete_kind(T::KIND, namespace, name, options).await
    }

    /// Binds a pod to a node (`pods/binding`).
    pub async fn bind(&self, binding: api::core_v1::Binding) -> Result<(), Status> {
        let meta = &binding.metadata;
        let (namespace, name) = (meta.namespace.clone(), meta.name.clone());
        let mut request = self.prepare(Verb::Create, api::core_v1::Pod::KIND, &namespace, &name, "binding");
        request.query = Query::Write(WriteOptions::default());
        request.body = Body::Object(Rc::new(binding));
        self.request(request).await.map(drop)
    }

    /// A document that is no object (`/version`, `/readyz`), as text.
    pub async fn path(&self, path: &str) -> Result<String, Status> {
        match self.request(self.prepare_target(Verb::Get, Target::Path(path.into()))).await?.answer {
            Answer::Text(text) => Ok(text.to_string()),
            Answer::Json(json) => Ok(String::from_utf8_lossy(&json).into_owned()),
            _ => Err(unexpected()),
        }
    }
}

/// Why no stream could be opened or read.
enum Failure {
    Dial(NetError),
    Broken(NetError),
}

/// Says that nobody dials any more, also when the dialing task is given up.
struct Dialing<'a>(&'a Inner);

impl Drop for Dialing<'_> {
    fn drop(&mut self) {
        self.0.dialing.set(false);
        self.0.dialed.notify();
    }
}

fn unexpected() -> Status {
    Status::transport("unexpected object in the server's answer")
}

fn object(response: Response) -> Result<AnyRev, Status> {
    match response.answer {
        Answer::Object(object) => Ok(object),
        // Some calls answer with a Status alone.
        Answer::Status(status) => {
            let body: Rc<dyn Object> = Rc::new((*status).clone().into_object());
            Ok(Rev { revision: 0, body })
        }
        _ => Err(unexpected()),
    }
}

fn typed<T: Resource>(object: AnyRev) -> Result<Rev<T>, Status> {
    object.downcast().ok_or_else(unexpected)
}
