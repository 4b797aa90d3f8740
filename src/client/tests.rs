//! The client against a server of a few lines that can be killed, and that can forget its history.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use api::core_v1::ConfigMap;
use api::rest::{
    Answer, ClientFrame, Credential, EventType, ListOptions, ObjectList, Query, Request, Response, ServerFrame, Target,
    Verb, WatchBody, WatchEvent,
};
use api::{AnyRev, Rev, Status};
use sim::{Addr, Conn, Ctx, HostId, Ip, ProcessId, Sim};

use crate::{Client, ClientConfig, Delta, Informer, InformerOptions};

const SERVER: Addr = Addr { ip: Ip::new(172, 18, 0, 1), port: 6443 };

/// What the server holds: every state of its config maps, in order.
#[derive(Default)]
struct Data {
    history: Vec<(EventType, AnyRev)>,
    /// Revisions up to this are forgotten.
    compacted: u64,
    requests: Vec<String>,
}

impl Data {
    fn revision(&self) -> u64 {
        self.history.last().map_or(1, |(_, o)| o.revision)
    }

    fn put(&mut self, type_: EventType, name: &str, value: &str) {
        let mut map = ConfigMap::default();
        map.metadata.name = name.into();
        map.metadata.namespace = "default".into();
        map.data.insert("v", value.into());
        self.history.push((type_, Rev::new(self.revision() + 1, map).any()));
    }

    fn list(&self) -> ObjectList {
        let mut items: Vec<AnyRev> = Vec::new();
        for (type_, object) in &self.history {
            let name = |o: &AnyRev| o.metadata().map(|m| m.name.clone());
            items.retain(|o| name(o) != name(object));
            if *type_ != EventType::Deleted {
                items.push(object.clone());
            }
        }
        ObjectList { items, revision: self.revision(), ..ObjectList::default() }
    }
}

type Shared = Rc<RefCell<Data>>;

fn serve(sim: &Sim, host: HostId, data: &Shared) -> ProcessId {
    let data = data.clone();
    sim.start(host, "server", move |ctx| async move {
        let Ok(listener) = ctx.listen(6443) else { return };
        while let Ok(conn) = listener.accept().await {
            let (inner, data) = (ctx.clone(), data.clone());
            ctx.spawn("connection", async move {
                while let Ok(ClientFrame::Request { stream, request }) = conn.recv().await {
                    inner.spawn("request", answer(inner.clone(), conn.clone(), stream, *request, data.clone()));
                }
            });
        }
    })
}

async fn answer(ctx: Ctx, conn: Conn, stream: u64, request: Request, data: Shared) {
    let Target::Resource { name, .. } = &request.target else { return };
    data.borrow_mut().requests.push(request.verb.name().to_string());
    let respond = |code, answer| {
        let response = Response { code, warnings: Vec::new(), retry_after: 0, answer };
        let _ = conn.send(ServerFrame::Response { stream, response });
    };
    let since = match &request.query {
        Query::List(o) => o.resource_version.parse::<u64>().unwrap_or(0),
        _ => 0,
    };
    match request.verb {
        Verb::Get => respond(404, Answer::Status(Rc::new(Status::not_found(("", "configmaps"), name)))),
        Verb::List => respond(200, Answer::List(data.borrow().list())),
        Verb::Watch if since < data.borrow().compacted => {
            let status = Status::expired(format!("too old resource version: {since} ({})", data.borrow().compacted));
            respond(410, Answer::Status(Rc::new(status)));
        }
        Verb::Watch => {
            respond(200, Answer::Stream);
            let mut sent = since;
            loop {
                let events: Vec<WatchEvent> = {
                    let data = data.borrow();
                    let new = data.history.iter().filter(|(_, o)| o.revision > sent);
                    new.map(|(t, o)| WatchEvent { type_: *t, body: WatchBody::Object(o.clone()) }).collect()
                };
                if !events.is_empty() {
                    sent = data.borrow().revision();
                    if conn.send(ServerFrame::Events { stream, events }).is_err() {
                        return;
                    }
                }
                ctx.sleep(Duration::from_millis(100)).await;
            }
        }
        _ => {}
    }
}

struct World {
    sim: Sim,
    server: HostId,
    data: Shared,
    seen: Rc<RefCell<Vec<String>>>,
}

fn config() -> ClientConfig {
    ClientConfig::new(SERVER, Credential::Anonymous, "test")
}

/// An informer of config maps that writes down what it sees.
fn world() -> World {
    let sim = Sim::new(sim::Options::default());
    let server = sim.add_host("cp-1", SERVER.ip);
    let own = sim.add_host("node-1", Ip::new(172, 18, 0, 11));
    let (data, seen): (Shared, Rc<RefCell<Vec<String>>>) = Default::default();
    let out = seen.clone();
    sim.start(own, "informer", move |ctx| async move {
        let informer = Informer::<ConfigMap>::new(Client::new(&ctx, config()), InformerOptions::default());
        informer.on(move |delta| {
            let what = match delta {
                Delta::Added(_) => "+",
                Delta::Updated { .. } => "~",
                Delta::Deleted(_) => "-",
            };
            let map = delta.object();
            let value = map.data.get("v").cloned().unwrap_or_default();
            out.borrow_mut().push(format!("{what}{}={value}", map.metadata.name));
        });
        informer.run();
        informer.synced().await;
        std::future::pending::<()>().await;
    });
    World { sim, server, data, seen }
}

impl World {
    fn run(&self, seconds: u64) {
        self.sim.run_for(Duration::from_secs(seconds)).unwrap();
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.borrow_mut())
    }
}

#[test]
fn an_informer_survives_its_server() {
    let w = world();
    w.data.borrow_mut().put(EventType::Added, "a", "1");
    let server = serve(&w.sim, w.server, &w.data);
    w.run(10);
    assert_eq!(w.seen(), ["+a=1"]);
    w.data.borrow_mut().put(EventType::Modified, "a", "2");
    w.run(1);
    assert_eq!(w.seen(), ["~a=2"]);
    w.sim.kill(server);
    w.data.borrow_mut().put(EventType::Added, "b", "3");
    w.run(5);
    serve(&w.sim, w.server, &w.data);
    w.run(120);
    assert_eq!(w.seen(), ["+b=3"]);
    // It went on from where it was, without listing again.
    assert_eq!(w.data.borrow().requests.iter().filter(|r| *r == "list").count(), 1);
}

#[test]
fn a_forgotten_revision_is_listed_anew() {
    let w = world();
    w.data.borrow_mut().put(EventType::Added, "a", "1");
    w.data.borrow_mut().put(EventType::Added, "b", "1");
    let server = serve(&w.sim, w.server, &w.data);
    w.run(10);
    assert_eq!(w.seen(), ["+a=1", "+b=1"]);
    w.sim.kill(server);
    w.data.borrow_mut().put(EventType::Deleted, "a", "1");
    w.data.borrow_mut().put(EventType::Modified, "b", "2");
    let newest = w.data.borrow().revision();
    w.data.borrow_mut().compacted = newest;
    serve(&w.sim, w.server, &w.data);
    w.run(120);
    assert_eq!(w.seen(), ["~b=2", "-a=1"]);
}

#[test]
fn errors_are_in_the_words_of_go() {
    let sim = Sim::new(sim::Options::default());
    let server = sim.add_host("cp-1", SERVER.ip);
    let own = sim.add_host("node-1", Ip::new(172, 18, 0, 11));
    let said: Rc<RefCell<Vec<String>>> = Rc::default();
    let out = said.clone();
    sim.start(own, "client", move |ctx| async move {
        let client = Client::new(&ctx, config()).with_timeout(Duration::from_secs(5));
        for _ in 0..2 {
            let err = client.get::<ConfigMap>("default", "x").await.err().unwrap();
            out.borrow_mut().push(format!("{} {err}", err.is_transport()));
            ctx.sleep(Duration::from_secs(10)).await;
        }
    });
    sim.run_for(Duration::from_secs(5)).unwrap();
    serve(&sim, server, &Rc::default());
    sim.run_for(Duration::from_secs(20)).unwrap();
    assert_eq!(
        *said.borrow(),
        [
            "true Get \"https://172.18.0.1:6443/api/v1/namespaces/default/configmaps/x?timeout=5s\": dial tcp \
             172.18.0.1:6443: connect: connection refused",
            "false configmaps \"x\" not found",
        ]
    );
}

#[test]
fn a_client_keeps_to_its_rate() {
    let sim = Sim::new(sim::Options::default());
    let server = sim.add_host("cp-1", SERVER.ip);
    let own = sim.add_host("node-1", Ip::new(172, 18, 0, 11));
    serve(&sim, server, &Rc::default());
    let took = Rc::new(RefCell::new(Duration::ZERO));
    let out = took.clone();
    sim.start(own, "client", move |ctx| async move {
        let client = Client::new(&ctx, config().limited(20.0, 30));
        let began = ctx.now();
        for _ in 0..70 {
            let _ = client.list::<ConfigMap>("default", &ListOptions::default()).await;
        }
        *out.borrow_mut() = ctx.now().since(began);
    });
    sim.run_for(Duration::from_secs(60)).unwrap();
    // Thirty at once, forty more at twenty a second.
    assert!((1900..2100).contains(&took.borrow().as_millis()), "{took:?}");
}
