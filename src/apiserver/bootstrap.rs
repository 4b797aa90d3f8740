//! What every cluster begins with, made by the post-start hooks: namespaces, roles and bindings, priority classes, flow
//! control, API services, the service range, the Service `kubernetes` and its endpoints.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use api::core_v1::{
    EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Namespace, Service, ServicePort, ServiceSpec,
};
use api::discovery_v1::{Endpoint, EndpointConditions, EndpointPort as SlicePort, EndpointSlice};
use api::json::Value;
use api::rest::{Body, Query, Request, Target, Verb, WriteOptions};
use api::{KindInfo, List, Object, Resource, Status, Str};
use sim::Duration;

use crate::Inner;
use crate::registry::Call;
use crate::user::User;

/// The objects, as a real v1.37 cluster has them, by kind.
static OBJECTS: &str = include_str!("../../data/bootstrap-1.37.json");

const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
const RETRY: Duration = Duration::from_secs(1);

/// Makes sure that all of it is there.
pub async fn run(server: &Rc<Inner>) {
    for name in NAMESPACES {
        let mut namespace = Namespace::default();
        namespace.metadata.name = name.into();
        ensure(server, Namespace::KIND, Rc::new(namespace)).await;
    }
    let mut objects = Vec::new();
    // The data is the program's own; what cannot be read is a defect that the tests find.
    if let Ok(Value::Object(groups)) = Value::parse(OBJECTS) {
        for name in GROUPS {
            let list = groups.get(name).and_then(Value::as_array);
            objects.extend(list.into_iter().flat_map(|list| list.iter().filter_map(|value| object(server, value))));
        }
    }
    aggregate(&mut objects);
    // The hooks run side by side, as the real server's do.
    let jobs = objects.into_iter().map(|(kind, object)| ensure(server, kind, Rc::from(object)));
    futures_util::future::join_all(jobs).await;
    crate::ranges::begin(server).await;
    kubernetes_service(server).await;
}

/// The data's groups, in the order in which they are made.
const GROUPS: [&str; 8] = [
    "priorityclasses",
    "clusterroles",
    "clusterrolebindings",
    "roles",
    "rolebindings",
    "flowschemas",
    "prioritylevelconfigurations",
    "apiservices",
];

fn object(server: &Inner, value: &Value) -> Option<(&'static KindInfo, Box<dyn Object>)> {
    let kind = api::scheme::by_api_version(value.str_at(&["apiVersion"]), value.str_at(&["kind"]))?;
    let mut object = kind.new_object();
    let mut value = value.clone();
    if let Some(condition) = condition(server, kind, &value) {
        value.set_at(&["status", "conditions"], Value::from(vec![condition]));
    }
    api::json::from_value(&value, &mut *object, false).ok()?;
    object.clear_type_meta();
    Some((kind, object))
}

/// What the server's own controllers say of the objects that they keep: API services are there, flow schemas lead
/// somewhere.
fn condition(server: &Inner, kind: &KindInfo, value: &Value) -> Option<Value> {
    let (type_, status, reason, message) = match kind.kind {
        "APIService" => ("Available", "True", "Local", "Local APIServices are always available".to_string()),
        "FlowSchema" => {
            let level = api::go::quote(value.str_at(&["spec", "priorityLevelConfiguration", "name"]));
            let text =
                format!("This FlowSchema references the PriorityLevelConfiguration object named {level} and it exists");
            ("Dangling", "False", "Found", text)
        }
        _ => return None,
    };
    let now = api::Time::from_unix_nanos(server.ctx.unix_nanos()).to_string();
    let mut condition = Value::object();
    condition.set("type", Value::from(type_));
    condition.set("status", Value::from(status));
    condition.set("reason", Value::from(reason));
    condition.set("message", Value::from(message));
    condition.set("lastTransitionTime", Value::from(now));
    Some(condition)
}

/// Fills in the rules of aggregated roles, which the clusterrole-aggregation controller keeps later.
fn aggregate(objects: &mut [(&'static KindInfo, Box<dyn Object>)]) {
    use api::rbac_v1::ClusterRole;
    let roles: Vec<ClusterRole> =
        objects.iter().filter_map(|(_, object)| object.downcast_ref::<ClusterRole>().cloned()).collect();
    for (_, object) in objects.iter_mut() {
        let Some(role) = object.downcast_mut::<ClusterRole>() else { continue };
        let Some(rule) = role.aggregation_rule.get() else { continue };
        if !role.rules.is_empty() {
            continue;
        }
        let mut rules: Vec<api::rbac_v1::PolicyRule> = Vec::new();
        for selector in rule.cluster_role_selectors.iter() {
            let Ok(selector) = api::selector::LabelSelector::from_api(Some(selector)) else { continue };
            for other in roles.iter().filter(|other| selector.matches(&other.metadata.labels)) {
                for rule in other.rules.iter() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
        }
        role.rules = List::from(rules);
    }
}

/// Creates an object that isn't there, with patience.
async fn ensure(server: &Rc<Inner>, kind: &'static KindInfo, object: Rc<dyn Object>) {
    let key = object
        .metadata()
        .map(|m| if kind.namespaced { format!("{}/{}", m.namespace, m.name) } else { m.name.to_string() });
    let Some(index) = server.resource_of(kind) else { return };
    if key.is_some_and(|key| server.cache.resource(index).get(&key).is_some()) {
        return;
    }
    loop {
        match create(server, kind, object.clone()).await {
            Ok(_) => return,
            Err(status) if status.is_already_exists() => return,
            Err(status) => {
                let text = format!("\"Unable to create\" kind={:?} err={:?}", kind.kind, status.to_string());
                server.ctx.log(sim::Severity::Error, "storage_rbac.go:180", text);
                server.ctx.sleep(RETRY).await;
            }
        }
    }
}

/// A request that the server makes of itself.
pub fn own_call(
    server: &Rc<Inner>,
    verb: Verb,
    kind: &'static KindInfo,
    namespace: &str,
    name: &str,
    body: Body,
) -> Option<Call> {
    let target = Target::Resource {
        group: kind.group.into(),
        version: kind.version.into(),
        resource: kind.plural.into(),
        subresource: Str::default(),
        namespace: namespace.into(),
        name: name.into(),
    };
    let request = Request {
        verb,
        target,
        query: Query::None,
        delete: None,
        body,
        accept: Default::default(),
        credential: Default::default(),
        impersonate: None,
        user_agent: "kube-apiserver/v1.37.2 (linux/amd64) kubernetes/$Format".into(),
        causes: Rc::from([]),
    };
    let now = server.ctx.now();
    let entry = crate::audit::Entry {
        id: server.audit.next_id(),
        user: RefCell::new("system:apiserver".into()),
        verb: verb.name(),
        group: kind.group.into(),
        resource: kind.plural.into(),
        subresource: Str::default(),
        namespace: namespace.into(),
        name: RefCell::new(name.into()),
        user_agent: request.user_agent.clone(),
        received: now,
        stages: RefCell::default(),
        code: Cell::new(0),
        message: RefCell::default(),
        revision: Cell::new(0),
    };
    Some(Call {
        server: server.clone(),
        request: Rc::new(request),
        user: User::loopback(),
        kind,
        resource: server.resource_of(kind)?,
        subresource: Str::default(),
        namespace: namespace.into(),
        name: name.into(),
        write: WriteOptions::default(),
        warnings: RefCell::default(),
        entry: Rc::new(entry),
    })
}

async fn create(server: &Rc<Inner>, kind: &'static KindInfo, object: Rc<dyn Object>) -> Result<(), Status> {
    let namespace = object.metadata().map_or(Str::default(), |m| m.namespace.clone());
    match own_call(server, Verb::Create, kind, &namespace, "", Body::Object(object)) {
        Some(call) => call.create().await.map(|_| ()),
        None => Err(Status::not_found_path()),
    }
}

/// How often the Service of the API is looked for (`DefaultEndpointReconcilerInterval`).
const SERVICE_INTERVAL: Duration = Duration::from_secs(10);

/// Creates the Service of the API again whenever it is gone, for as long as the process lives
/// (`controlplane/controller/kubernetesservice`).
pub(crate) async fn keep_service(server: Rc<Inner>) {
    loop {
        server.ctx.sleep(SERVICE_INTERVAL).await;
        kubernetes_service(&server).await;
    }
}

/// The Service by which pods find the API, and its endpoints: this server's address among those of its peers.
async fn kubernetes_service(server: &Rc<Inner>) {
    const NAME: &str = "kubernetes";
    const NAMESPACE: &str = "default";
    let labels = || [(Str::from("component"), Str::from("apiserver")), (Str::from("provider"), Str::from(NAME))];
    let ip = Str::from(server.config.cidr().nth(1).to_string());
    let mut service = Service::default();
    service.metadata.name = NAME.into();
    service.metadata.namespace = NAMESPACE.into();
    service.metadata.labels = labels().into_iter().collect();
    service.spec = ServiceSpec {
        type_: "ClusterIP".into(),
        cluster_ip: ip.clone(),
        cluster_ips: List::from(vec![ip]),
        session_affinity: "None".into(),
        ip_families: List::from(vec![Str::from("IPv4")]),
        ip_family_policy: "SingleStack".into(),
        internal_traffic_policy: "Cluster".into(),
        ports: List::from(vec![ServicePort {
            name: "https".into(),
            protocol: "TCP".into(),
            port: 443,
            target_port: api::IntOrString::Int(i32::from(server.config.port)),
            ..Default::default()
        }]),
        ..Default::default()
    }
    .into();
    ensure(server, Service::KIND, Rc::new(service)).await;

    let address = Str::from(server.config.advertise.to_string());
    let port = i32::from(server.config.port);
    let mut endpoints = Endpoints::default();
    endpoints.metadata.name = NAME.into();
    endpoints.metadata.namespace = NAMESPACE.into();
    endpoints.metadata.labels =
        [(Str::from("endpointslice.kubernetes.io/skip-mirror"), Str::from("true"))].into_iter().collect();
    endpoints.subsets = List::from(vec![EndpointSubset {
        addresses: List::from(vec![EndpointAddress { ip: address.clone(), ..Default::default() }]),
        ports: List::from(vec![EndpointPort {
            name: "https".into(),
            port,
            protocol: "TCP".into(),
            ..Default::default()
        }]),
        ..Default::default()
    }]);
    ensure(server, Endpoints::KIND, Rc::new(endpoints)).await;

    let mut slice = EndpointSlice::default();
    slice.metadata.name = NAME.into();
    slice.metadata.namespace = NAMESPACE.into();
    slice.metadata.labels = [(Str::from("kubernetes.io/service-name"), Str::from(NAME))].into_iter().collect();
    slice.address_type = "IPv4".into();
    slice.endpoints = List::from(vec![Endpoint {
        addresses: List::from(vec![address]),
        conditions: EndpointConditions { ready: Some(true), ..Default::default() },
        ..Default::default()
    }]);
    slice.ports = List::from(vec![SlicePort {
        name: "https".into(),
        port: Some(port),
        protocol: "TCP".into(),
        ..Default::default()
    }]);
    ensure(server, EndpointSlice::KIND, Rc::new(slice)).await;
}
