//! The chain a request passes: authentication, impersonation, audit, authorization, then the verb.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use api::rest::{
    Accept, Answer, ClientFrame, EventType, ListOptions, Query, Request, Response, ServerFrame, Target, Verb,
    WatchBody, WatchEvent, WriteOptions,
};
use api::{AnyRev, KindInfo, Status, Str};
use sim::sync::mpsc;
use sim::{Conn, Duration};

use crate::audit::{Entry, Stage};
use crate::authz::{Attributes, Decision, authorize, refusal};
use crate::registry::Call;
use crate::user::User;
use crate::{Inner, authn, components, connect, discovery, proxy, reviews, table};

/// What every request costs the server, in virtual time, besides its reads and writes of the store.
const COST: Duration = Duration::from_micros(300);

/// Answers one request on its stream.
pub(crate) async fn answer(
    server: Rc<Inner>,
    conn: Conn,
    stream: u64,
    request: Rc<Request>,
    frames: mpsc::Receiver<ClientFrame>,
) {
    server.ctx.sleep(COST).await;
    let entry = Rc::new(entry(&server, &request));
    server.audit.add(entry.clone());
    let warnings = RefCell::new(Vec::new());
    let (code, retry_after, answer) = match respond(&server, &conn, stream, request, &entry, &warnings, frames).await {
        Ok(Some((code, answer))) => (code, 0, answer),
        // The stream has been served to its end.
        Ok(None) => return,
        Err(status) => {
            *entry.message.borrow_mut() = Str::from(status.to_string());
            let code = u16::try_from(status.code).unwrap_or(500);
            let retry_after = status.retry_after_seconds().and_then(|s| u32::try_from(s).ok()).unwrap_or(0);
            (code, retry_after, Answer::Status(Rc::new(status)))
        }
    };
    entry.code.set(code);
    entry.reach(Stage::Answered, server.ctx.now());
    let response = Response { code, warnings: warnings.take(), retry_after, answer };
    // A client that has gone away doesn't want it.
    let _ = conn.send_as("response", ServerFrame::Response { stream, response });
}

fn entry(server: &Inner, request: &Request) -> Entry {
    let (group, resource, subresource, namespace, name) = match &request.target {
        Target::Resource { group, resource, subresource, namespace, name, .. } => {
            (group.clone(), resource.clone(), subresource.clone(), namespace.clone(), name.clone())
        }
        Target::Path(path) => (Str::default(), path.clone(), Str::default(), Str::default(), Str::default()),
    };
    let now = server.ctx.now();
    Entry {
        id: server.audit.next_id(),
        user: RefCell::default(),
        verb: request.verb.name(),
        group,
        resource,
        subresource,
        namespace,
        name: RefCell::new(name),
        user_agent: request.user_agent.clone(),
        received: now,
        stages: RefCell::new(vec![(Stage::Received, now)]),
        code: Cell::new(0),
        message: RefCell::default(),
        revision: Cell::new(0),
    }
}

type Outcome = Result<Option<(u16, Answer)>, Status>;

async fn respond(
    server: &Rc<Inner>,
    conn: &Conn,
    stream: u64,
    request: Rc<Request>,
    entry: &Rc<Entry>,
    warnings: &RefCell<Vec<Str>>,
    frames: mpsc::Receiver<ClientFrame>,
) -> Outcome {
    let mut user = authn::authenticate(server, &request.credential)?;
    if let Some(wanted) = &request.impersonate {
        user = authn::impersonate(server, &user, wanted)?;
    }
    *entry.user.borrow_mut() = user.name.clone();
    entry.reach(Stage::Authenticated, server.ctx.now());
    allow(server, &user, &request)?;
    entry.reach(Stage::Authorized, server.ctx.now());
    let Target::Resource { group, version, resource, subresource, namespace, name } = &request.target else {
        return Box::pin(discovery::path(server, &request)).await.map(|answer| Some((200, answer)));
    };
    if let Some(answer) = reviews::answer(server, &user, &request)? {
        return Ok(Some((201, answer)));
    }
    if let Some(answer) = Box::pin(components::answer(server, &request)).await? {
        let kind = components::kind()?;
        warnings.borrow_mut().extend(deprecated(kind).map(Str::from));
        return Ok(Some((200, shape(server, kind, request.accept, answer))));
    }
    let (kind, index) = server.served(group, version, resource).ok_or_else(Status::not_found_path)?;
    if !subresource.is_empty() && kind.subresource(subresource).is_none() {
        return Err(Status::not_found_path());
    }
    if kind.namespaced && namespace.is_empty() && !name.is_empty() {
        return Err(Status::not_found_path());
    }
    let write = match &request.query {
        Query::Write(options) => options.clone(),
        _ => WriteOptions::default(),
    };
    let write = with_delete_options(write, &request);
    check_manager(&write.field_manager, request.verb)?;
    let call = Rc::new(Call {
        server: server.clone(),
        user,
        kind,
        resource: index,
        subresource: subresource.clone(),
        namespace: if kind.namespaced { namespace.clone() } else { Str::default() },
        name: name.clone(),
        write,
        warnings: RefCell::default(),
        entry: entry.clone(),
        request,
    });
    if let Some(text) = deprecated(kind) {
        call.warn(text);
    }
    let outcome = dispatch(&call, conn, stream, frames).await;
    *warnings.borrow_mut() = call.warnings.take();
    outcome
}

/// A deletion's dry run stands in its body.
fn with_delete_options(mut write: WriteOptions, request: &Request) -> WriteOptions {
    if let Some(options) = &request.delete {
        write.dry_run = write.dry_run || options.dry_run.iter().any(|mode| &**mode == "All");
    }
    write
}

/// Bound of a field manager's name (`FieldManagerMaxLength`).
const MAX_MANAGER: usize = 128;

/// `ValidateFieldManager`.
fn check_manager(manager: &str, verb: Verb) -> Result<(), Status> {
    let options = match verb {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        _ => "PatchOptions",
    };
    let path = api::field::Path::new("fieldManager");
    let mut failures = api::field::ErrorList::default();
    if manager.len() > MAX_MANAGER {
        failures.push(api::field::too_long(&path, MAX_MANAGER));
    }
    for (at, letter) in manager.char_indices().filter(|(_, letter)| letter.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        failures.push(api::field::invalid(&path, Str::from(manager), why));
    }
    if failures.is_empty() { Ok(()) } else { Err(Status::invalid(("meta.k8s.io", options), "", &failures)) }
}

/// What a client reads on every use of an old kind.
fn deprecated(kind: &KindInfo) -> Option<&'static str> {
    match (kind.group, kind.kind) {
        ("", "Endpoints") => Some(crate::strategy::service::ENDPOINTS_DEPRECATED),
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// Asks the authorizers.
fn allow(server: &Inner, user: &User, request: &Request) -> Result<(), Status> {
    let selector = match &request.query {
        Query::List(options) => options.field_selector.clone(),
        _ => Str::default(),
    };
    let attributes = match &request.target {
        Target::Path(path) => Attributes {
            verb: request.verb.name(),
            group: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            field_selector: "",
            path,
        },
        Target::Resource { group, resource, subresource, namespace, name, .. } => Attributes {
            verb: request.verb.name(),
            group,
            resource,
            subresource,
            // A namespace is in itself, as the real server's request info has it.
            namespace: if resource == "namespaces" && group.is_empty() { name } else { namespace },
            name,
            field_selector: &selector,
            path: "",
        },
    };
    match authorize(server, user, &attributes) {
        Decision::Allow => Ok(()),
        Decision::Deny(reason) => {
            let mut text = refusal(user, &attributes);
            if !reason.is_empty() {
                text = format!("{text}: {reason}");
            }
            let resource = (attributes.group, attributes.resource);
            Err(Status::forbidden(resource, attributes.name, text))
        }
    }
}

impl Inner {
    /// Whether the request's user may also do something else to its object.
    pub(crate) fn authorize_as(&self, call: &Call, verb: &str) -> Result<(), Status> {
        let attributes = Attributes {
            verb,
            group: call.kind.group,
            resource: call.kind.plural,
            subresource: &call.subresource,
            namespace: &call.namespace,
            name: &call.name,
            field_selector: "",
            path: "",
        };
        match authorize(self, &call.user, &attributes) {
            Decision::Allow => Ok(()),
            Decision::Deny(_) => {
                let resource = (call.kind.group, call.kind.plural);
                Err(Status::forbidden(resource, &call.name, refusal(&call.user, &attributes)))
            }
        }
    }
}

fn list_options(request: &Request) -> ListOptions {
    match &request.query {
        Query::List(options) => options.clone(),
        _ => ListOptions::default(),
    }
}

/// The verbs are boxed, so that the task of a request is small whatever it asks for.
async fn dispatch(call: &Rc<Call>, conn: &Conn, stream: u64, frames: mpsc::Receiver<ClientFrame>) -> Outcome {
    let request = &call.request;
    if !call.subresource.is_empty() {
        let stored =
            matches!(&*call.subresource, "status" | "finalize" | "ephemeralcontainers" | "resize" | "approval");
        let answered = match (&*call.subresource, request.verb) {
            ("log", Verb::Get) => {
                return Box::pin(proxy::log(call, conn, stream)).await.map(|answer| answer.map(|a| (200, a)));
            }
            ("exec" | "attach", Verb::Create | Verb::Get) => {
                return Box::pin(proxy::exec(call, conn, stream, frames)).await.map(|answer| answer.map(|a| (200, a)));
            }
            ("portforward", Verb::Create | Verb::Get) => {
                return Box::pin(connect::port_forward(call, conn, stream, frames))
                    .await
                    .map(|answer| answer.map(|a| (200, a)));
            }
            ("proxy", _) => return Box::pin(connect::proxy(call)).await.map(|text| Some((200, Answer::Text(text)))),
            ("binding", Verb::Create) => (201, Box::pin(call.bind()).await?),
            ("eviction", Verb::Create) => (201, Box::pin(call.evict()).await?),
            ("token", Verb::Create) => (201, Box::pin(call.issue_token()).await?),
            ("scale", Verb::Get) => (200, Box::pin(call.get_scale()).await?),
            ("scale", Verb::Update | Verb::Patch(_)) => (200, Box::pin(call.set_scale()).await?),
            (_, Verb::Get | Verb::Update | Verb::Patch(_)) if stored => return object_verb(call).await,
            _ => return Err(Status::method_not_supported((call.kind.group, call.kind.plural), request.verb.name())),
        };
        return Ok(Some((answered.0, shaped(call, answered.1))));
    }
    let collection = call.name.is_empty();
    if !call.kind.has_verb(request.verb.name()) {
        return Err(Status::method_not_supported((call.kind.group, call.kind.plural), request.verb.name()));
    }
    match request.verb {
        Verb::List => {
            let mut list = Box::pin(call.list(&list_options(request))).await?;
            for item in &mut list.items {
                *item = call.outgoing(call.shown(item.clone()));
            }
            Ok(Some((200, shaped(call, Answer::List(list)))))
        }
        Verb::Watch => Box::pin(watch(call, conn, stream)).await.map(|()| None),
        Verb::Create if collection => {
            let created = Box::pin(call.create()).await?;
            Ok(Some((201, shaped(call, Answer::Object(call.outgoing(created))))))
        }
        Verb::DeleteCollection => {
            let list = Box::pin(call.delete_collection(&list_options(request))).await?;
            Ok(Some((200, shaped(call, Answer::List(list)))))
        }
        _ if collection => Err(Status::method_not_supported((call.kind.group, call.kind.plural), request.verb.name())),
        Verb::Delete => {
            let answer = Box::pin(call.delete()).await?;
            Ok(Some((200, shaped(call, answer))))
        }
        _ => object_verb(call).await,
    }
}

/// get, update and patch of an object or of its status.
async fn object_verb(call: &Rc<Call>) -> Outcome {
    let (code, object) = match call.request.verb {
        Verb::Get => (200, Box::pin(call.get()).await?),
        Verb::Update => {
            let (object, created) = Box::pin(call.update()).await?;
            (if created { 201 } else { 200 }, object)
        }
        Verb::Patch(patch) => {
            let (object, created) = Box::pin(call.patch(patch)).await?;
            (if created { 201 } else { 200 }, object)
        }
        _ => return Err(Status::method_not_supported((call.kind.group, call.kind.plural), call.request.verb.name())),
    };
    Ok(Some((code, shaped(call, Answer::Object(call.outgoing(call.shown(object)))))))
}

fn rows(server: &Inner, kind: &KindInfo, objects: &[AnyRev], revision: u64) -> api::table::Table {
    table::print(kind.group, kind.kind, objects, revision, &table::Env { now: server.ctx.unix_nanos() })
}

/// Objects as the client wants them: rows of a table, or themselves.
fn shape(server: &Inner, kind: &KindInfo, accept: Accept, answer: Answer) -> Answer {
    if accept != Accept::Table {
        return answer;
    }
    match answer {
        Answer::Object(object) => {
            let revision = object.revision;
            Answer::Table(Rc::new(rows(server, kind, &[object], revision)))
        }
        Answer::List(list) => {
            let mut table = rows(server, kind, &list.items, list.revision);
            table.continue_ = list.continue_;
            table.remaining = list.remaining;
            Answer::Table(Rc::new(table))
        }
        other => other,
    }
}

fn shaped(call: &Call, answer: Answer) -> Answer {
    shape(&call.server, call.kind, call.request.accept, answer)
}

/// Serves a watch to its end.
async fn watch(call: &Rc<Call>, conn: &Conn, stream: u64) -> Result<(), Status> {
    let mut watch = call.clone().watch(&list_options(&call.request)).await?;
    let server = &call.server;
    call.entry.code.set(200);
    call.entry.reach(Stage::Answered, server.ctx.now());
    let response = Response { code: 200, warnings: call.warnings.take(), retry_after: 0, answer: Answer::Stream };
    if conn.send_as("response", ServerFrame::Response { stream, response }).is_err() {
        return Ok(());
    }
    while let Some(mut events) = watch.next().await {
        if call.request.accept == Accept::Table {
            events.iter_mut().for_each(|event| to_table(call, event));
        }
        if conn.send_as("events", ServerFrame::Events { stream, events }).is_err() {
            return Ok(());
        }
    }
    crate::server::end(conn, stream, None);
    Ok(())
}

fn to_table(call: &Call, event: &mut WatchEvent) {
    if event.type_ == EventType::Error {
        return;
    }
    if let WatchBody::Object(object) = &event.body {
        let table = rows(&call.server, call.kind, std::slice::from_ref(object), object.revision);
        event.body = WatchBody::Table(Rc::new(table));
    }
}
