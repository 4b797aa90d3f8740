//! ComponentStatuses: nobody stores them; each is asked for when somebody looks (pkg/registry/core/componentstatus).

use std::rc::Rc;

use api::json::Value;
use api::rest::{Answer, Body, ClientFrame, ObjectList, Query, Request, ServerFrame, Target, Verb};
use api::selector::{FieldSelector, LabelSelector};
use api::{AnyRev, KindInfo, Map, Status, Str};
use sim::{Addr, Duration};

use crate::Inner;

/// How long a component may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The components, with the port of each on this machine; the store has none.
const COMPONENTS: [(&str, Option<u16>); 3] =
    [("controller-manager", Some(10257)), ("etcd-0", None), ("scheduler", Some(10259))];

/// `ComponentStatus`
pub(crate) fn kind() -> Result<&'static KindInfo, Status> {
    api::scheme::by_kind("", "v1", "ComponentStatus").ok_or_else(Status::not_found_path)
}

/// Answers a request about component statuses; none if it is about something else.
pub(crate) async fn answer(server: &Rc<Inner>, request: &Request) -> Result<Option<Answer>, Status> {
    let Target::Resource { group, version, resource, subresource, name, .. } = &request.target else {
        return Ok(None);
    };
    if !group.is_empty() || &**version != "v1" || &**resource != "componentstatuses" || !subresource.is_empty() {
        return Ok(None);
    }
    match request.verb {
        Verb::Get if !name.is_empty() => match COMPONENTS.iter().find(|(component, _)| *component == &**name) {
            Some((_, port)) => Ok(Some(Answer::Object(status(server, name, *port).await?))),
            None => Err(Status::not_found(("", "componentstatus"), name)),
        },
        Verb::List if name.is_empty() => {
            let mut items = Vec::new();
            for (component, port) in COMPONENTS {
                if matches(request, component)? {
                    items.push(status(server, component, port).await?);
                }
            }
            Ok(Some(Answer::List(ObjectList { items, ..ObjectList::default() })))
        }
        Verb::List | Verb::Watch => Err(Status::method_not_supported(("", "componentstatuses"), request.verb.name())),
        _ => Err(Status::generic(405, "", ("", ""), "", "", 0)),
    }
}

/// Whether the request's selectors are for a component: it has a name and no labels.
fn matches(request: &Request, component: &str) -> Result<bool, Status> {
    let Query::List(options) = &request.query else { return Ok(true) };
    let labels = LabelSelector::parse(&options.label_selector).map_err(Status::bad_request)?;
    let fields = FieldSelector::parse(&options.field_selector).map_err(Status::bad_request)?;
    Ok(labels.matches(&Map::default()) && fields.matches(|field| if field == "metadata.name" { component } else { "" }))
}

async fn status(server: &Rc<Inner>, name: &str, port: Option<u16>) -> Result<AnyRev, Status> {
    let checked = match port {
        Some(port) => healthz(server, port).await,
        None => server
            .storage
            .revision()
            .await
            .map(|_| Str::from("ok"))
            .map_err(|error| (Str::default(), error.to_string())),
    };
    let mut condition = Value::object();
    condition.set("type", Value::from("Healthy"));
    condition.set("status", Value::from(if checked.is_ok() { "True" } else { "False" }));
    let (message, error) = match checked {
        Ok(message) => (message, String::new()),
        Err(failure) => failure,
    };
    condition.set("message", Value::from(message.as_str()));
    condition.set("error", Value::from(error.as_str()));
    let mut value = Value::object();
    value.set_at(&["metadata", "name"], Value::from(name));
    value.set("conditions", Value::Array([condition].into_iter().collect()));
    let mut object = kind()?.new_object();
    api::json::from_value(&value, &mut *object, false).map_err(|error| Status::internal(error.message))?;
    Ok(AnyRev { revision: 0, body: Rc::from(object) })
}

/// Asks a component on this machine; the error has the message of a probe.
async fn healthz(server: &Rc<Inner>, port: u16) -> Result<Str, (Str, String)> {
    let failed = |why: String| {
        let text = format!("Get \"https://127.0.0.1:{port}/healthz\": {why}");
        (Str::from(text), String::new())
    };
    let ask = async {
        let address = Addr { ip: server.ctx.host_ip(), port };
        let dial = |error: sim::NetError| format!("dial tcp 127.0.0.1:{port}: {error}");
        let conn = server.ctx.connect(address).await.map_err(dial)?;
        let request = Request {
            verb: Verb::Get,
            target: Target::Path("/healthz".into()),
            query: Query::None,
            delete: None,
            body: Body::Empty,
            accept: Default::default(),
            credential: Default::default(),
            impersonate: None,
            user_agent: "kube-probe/1.37".into(),
            causes: Rc::from([]),
        };
        let broken = |error: sim::NetError| error.to_string();
        conn.send(ClientFrame::Request { stream: 1, request: Box::new(request) }).map_err(broken)?;
        loop {
            if let ServerFrame::Response { response, .. } = conn.recv::<ServerFrame>().await.map_err(broken)? {
                return match response.answer {
                    Answer::Text(text) if response.code < 400 => Ok(text),
                    _ => Err(format!("HTTP probe failed with statuscode: {}", response.code)),
                };
            }
        }
    };
    match server.ctx.timeout(PATIENCE, ask).await {
        Ok(answer) => answer.map_err(failed),
        Err(_) => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            Err(failed(why.to_string()))
        }
    }
}
