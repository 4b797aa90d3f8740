//! The server in a small world: one etcd member, one server, and clients that speak its wire.

mod admission;
mod applying;
mod asked;
mod kinds;
mod openapi;
mod options;
mod patching;
mod policies;
mod quotas;
mod services;
mod verbs;
mod watching;

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use api::apps_v1::Deployment;
use api::core_v1::Container;
use api::json::Value;
use api::rest::{
    Answer, Body, ClientFrame, Credential, ListOptions, ObjectList, PatchType, Query, Request, Response, ServerFrame,
    Target, Verb, WatchEvent, WriteOptions,
};
use api::{AnyRev, KindInfo, Object, Resource, Rev, Status, Str};
use sim::{Addr, Conn, Ctx, Ip, Sim};

use crate::etcd_storage::Stored;
use crate::{Config, Server};

const ETCD: Ip = Ip::new(172, 18, 0, 1);

/// A connection to the server, and who uses it.
pub struct Client {
    conn: Conn,
    stream: RefCell<u64>,
    pub credential: Credential,
    pub agent: Str,
    pub write: RefCell<WriteOptions>,
}

/// The whole answer of a request.
pub struct Answered {
    pub answer: Answer,
}

impl Client {
    pub async fn new(ctx: &Ctx) -> Client {
        let admin = Credential::Certificate { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] };
        Client::with(ctx, admin).await
    }

    pub async fn with(ctx: &Ctx, credential: Credential) -> Client {
        Client::of(ctx, ETCD, credential).await
    }

    /// A connection to the server at an address.
    pub async fn of(ctx: &Ctx, ip: Ip, credential: Credential) -> Client {
        let addr = Addr { ip, port: 6443 };
        loop {
            if let Ok(conn) = ctx.connect(addr).await {
                return Client {
                    conn,
                    stream: RefCell::new(0),
                    credential,
                    agent: "test/v1".into(),
                    write: RefCell::default(),
                };
            }
            ctx.sleep(sim::Duration::from_millis(50)).await;
        }
    }

    fn open(&self, request: Request) -> u64 {
        *self.stream.borrow_mut() += 1;
        let stream = *self.stream.borrow();
        self.conn.send(ClientFrame::Request { stream, request: Box::new(request) }).unwrap();
        stream
    }

    pub fn request(&self, verb: Verb, target: Target, body: Body, query: Query) -> Request {
        Request {
            verb,
            target,
            query,
            delete: None,
            body,
            accept: Default::default(),
            credential: self.credential.clone(),
            impersonate: None,
            user_agent: self.agent.clone(),
            causes: Rc::from([]),
        }
    }

    pub async fn send(&self, request: Request) -> Result<Answered, Status> {
        let Response { code, answer, .. } = self.response(request).await;
        match answer {
            Answer::Status(status) if code >= 400 => Err((*status).clone()),
            answer => Ok(Answered { answer }),
        }
    }

    /// The whole response.
    pub async fn response(&self, request: Request) -> Response {
        let stream = self.open(request);
        loop {
            if let ServerFrame::Response { stream: of, response } = self.conn.recv::<ServerFrame>().await.unwrap()
                && of == stream
            {
                return response;
            }
        }
    }

    pub fn target(kind: &KindInfo, subresource: &str, namespace: &str, name: &str) -> Target {
        Target::Resource {
            group: kind.group.into(),
            version: kind.version.into(),
            resource: kind.plural.into(),
            subresource: subresource.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    pub async fn object(&self, verb: Verb, kind: &KindInfo, path: [&str; 3], body: Body) -> Result<AnyRev, Status> {
        let [subresource, namespace, name] = path;
        let query = match verb {
            Verb::Get | Verb::Delete => Query::None,
            _ => Query::Write(self.write.borrow().clone()),
        };
        let request = self.request(verb, Client::target(kind, subresource, namespace, name), body, query);
        match self.send(request).await?.answer {
            Answer::Object(object) => Ok(object),
            Answer::Status(status) => Ok(AnyRev { revision: 0, body: Rc::new((*status).clone().into_object()) }),
            _ => panic!("no object"),
        }
    }

    pub async fn create<T: Resource>(&self, namespace: &str, object: T) -> Result<Rev<T>, Status> {
        let created = self.object(Verb::Create, T::KIND, ["", namespace, ""], Body::Object(Rc::new(object))).await?;
        Ok(created.downcast::<T>().unwrap())
    }

    pub async fn create_json(&self, namespace: &str, json: &str) -> Result<AnyRev, Status> {
        let value = Value::parse(json).unwrap();
        let kind = api::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"])).unwrap();
        let namespace = if kind.namespaced { namespace } else { "" };
        self.object(Verb::Create, kind, ["", namespace, ""], Body::Bytes(Rc::from(json.as_bytes()))).await
    }

    pub async fn get<T: Resource>(&self, namespace: &str, name: &str) -> Result<Rev<T>, Status> {
        let found = self.object(Verb::Get, T::KIND, ["", namespace, name], Body::Empty).await?;
        Ok(found.downcast::<T>().unwrap())
    }

    /// Writes an object back with the version it was read at.
    pub async fn update<T: Resource>(&self, subresource: &str, object: &Rev<T>) -> Result<Rev<T>, Status> {
        let mut body = (*object.body).clone();
        body.metadata_mut().resource_version = object.resource_version();
        let (namespace, name) = (body.metadata().namespace.clone(), body.metadata().name.clone());
        let path = [subresource, &*namespace, &*name];
        let updated = self.object(Verb::Update, T::KIND, path, Body::Object(Rc::new(body))).await?;
        Ok(updated.downcast::<T>().unwrap())
    }

    pub async fn patch<T: Resource>(
        &self,
        namespace: &str,
        name: &str,
        patch: PatchType,
        json: &str,
    ) -> Result<Rev<T>, Status> {
        let body = Body::Bytes(Rc::from(json.as_bytes()));
        let patched = self.object(Verb::Patch(patch), T::KIND, ["", namespace, name], body).await?;
        Ok(patched.downcast::<T>().unwrap())
    }

    pub async fn delete<T: Resource>(&self, namespace: &str, name: &str) -> Result<AnyRev, Status> {
        self.object(Verb::Delete, T::KIND, ["", namespace, name], Body::Empty).await
    }

    pub async fn list(&self, kind: &KindInfo, namespace: &str, options: ListOptions) -> Result<ObjectList, Status> {
        let target = Client::target(kind, "", namespace, "");
        match self.send(self.request(Verb::List, target, Body::Empty, Query::List(options))).await?.answer {
            Answer::List(list) => Ok(list),
            _ => panic!("no list"),
        }
    }

    pub async fn watch(&self, kind: &KindInfo, namespace: &str, options: ListOptions) -> Result<u64, Status> {
        let target = Client::target(kind, "", namespace, "");
        let stream = self.open(self.request(Verb::Watch, target, Body::Empty, Query::List(options)));
        match self.conn.recv::<ServerFrame>().await.unwrap() {
            ServerFrame::Response { response, .. } => match response.answer {
                Answer::Status(status) => Err((*status).clone()),
                _ => Ok(stream),
            },
            _ => panic!("no response"),
        }
    }

    /// The next events of the only open watch; none at its end.
    pub async fn events(&self) -> Vec<WatchEvent> {
        match self.conn.recv::<ServerFrame>().await.unwrap() {
            ServerFrame::Events { events, .. } => events,
            _ => Vec::new(),
        }
    }
}

/// Runs a test against a fresh server, once it has started.
pub fn with_server<F: Future<Output = ()> + 'static>(test: impl FnOnce(Ctx, Client, Server) -> F + 'static) -> Sim {
    with_second_server(Rc::default(), test)
}

/// Where the second server is.
const SECOND: Ip = Ip::new(172, 18, 0, 2);

/// As [`with_server`], with another one over the same store, which starts once `second` says so.
pub fn with_second_server<F: Future<Output = ()> + 'static>(
    second: Rc<std::cell::Cell<bool>>,
    test: impl FnOnce(Ctx, Client, Server) -> F + 'static,
) -> Sim {
    // 2026-11-29T18:00:00Z
    let sim = Sim::new(sim::Options { epoch_unix_nanos: 1_795_975_200_000_000_000, ..Default::default() });
    let host = sim.add_host("cp-1", ETCD);
    sim.start(host, "etcd", |ctx| async move {
        let _member = etcd::Member::<Stored>::start(&ctx, etcd::MemberConfig::single("cp-1", ETCD));
        std::future::pending::<()>().await;
    });
    let server: Rc<RefCell<Option<Server>>> = Rc::default();
    let made = server.clone();
    sim.start(host, "kube-apiserver", move |ctx| {
        let etcd = vec![Addr { ip: ETCD, port: 2379 }];
        let server = Server::new(&ctx, Config::new(ETCD, etcd));
        *made.borrow_mut() = Some(server.clone());
        server.run()
    });
    let other = sim.add_host("cp-2", SECOND);
    sim.start(other, "second", move |ctx| async move {
        while !second.get() {
            ctx.sleep(sim::Duration::from_millis(20)).await;
        }
        Server::new(&ctx, Config::new(SECOND, vec![Addr { ip: ETCD, port: 2379 }])).run().await;
    });
    let server = server.borrow().clone().unwrap();
    let done = Rc::new(RefCell::new(false));
    let finished = done.clone();
    let observed = server.clone();
    sim.start(host, "test", move |ctx| async move {
        while !observed.inner().ready.get() {
            ctx.sleep(sim::Duration::from_millis(20)).await;
        }
        let client = Client::new(&ctx).await;
        test(ctx, client, observed).await;
        *finished.borrow_mut() = true;
    });
    let limit = sim.now() + sim::Duration::from_secs(4 * 3600);
    sim.run_while(limit, || !*done.borrow()).unwrap();
    assert!(*done.borrow(), "the test did not end");
    sim
}

/// A pod with one container.
pub fn pod(name: &str) -> api::core_v1::Pod {
    let mut pod = api::core_v1::Pod::default();
    pod.metadata.name = name.into();
    let container = Container { name: "nginx".into(), image: "nginx:1.27".into(), ..Default::default() };
    pod.spec.make().containers.make().push(container);
    pod
}

/// A Deployment of such pods.
pub fn deployment(name: &str) -> Deployment {
    let mut deployment = Deployment::default();
    deployment.metadata.name = name.into();
    let labels: api::Map<Str> = [(Str::from("app"), Str::from(name))].into_iter().collect();
    let spec = deployment.spec.make();
    spec.replicas = Some(2);
    spec.selector.make().match_labels = labels.clone();
    let template = spec.template.make();
    template.metadata.labels = labels;
    template.spec = pod(name).spec;
    deployment
}

pub fn metadata(object: &AnyRev) -> &api::meta_v1::ObjectMeta {
    object.body.metadata().unwrap()
}

pub fn dynamic(object: &dyn Object, path: &[&str]) -> String {
    api::json::to_value_bare(object).str_at(path).to_string()
}
