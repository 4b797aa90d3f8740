//! Rows of kinds that no Rust struct describes: certificates, admission, flow control, devices, API services.

use api::json::Value;
use api::table::{Cell, Column, Row};
use api::{Object, SortSmall, Time};

use super::{Env, Printer};

/// What a row is made from.
struct Source<'a> {
    value: Value,
    metadata: Option<&'a api::meta_v1::ObjectMeta>,
    env: &'a Env,
}

impl Source<'_> {
    fn text(&self, path: &[&str]) -> &str {
        self.value.str_at(path)
    }

    fn name(&self) -> Cell {
        Cell::from(self.text(&["metadata", "name"]))
    }

    fn age(&self) -> Cell {
        let zero = Time::default();
        Cell::from(self.env.since(self.metadata.map_or(&zero, |metadata| &metadata.creation_timestamp)))
    }

    fn items(&self, path: &[&str]) -> impl Iterator<Item = &Value> {
        self.value.at(path).and_then(Value::as_array).into_iter().flat_map(|array| array.iter())
    }

    /// The text at the path, or this where it is empty.
    fn text_or(&self, path: &[&str], other: &str) -> Cell {
        match self.text(path) {
            "" => Cell::from(other),
            text => Cell::from(text),
        }
    }

    /// A number, or `<none>`.
    fn number(&self, path: &[&str]) -> Cell {
        match self.value.at(path).and_then(Value::as_i64) {
            Some(number) => Cell::from(number),
            None => Cell::from("<none>"),
        }
    }

    fn count(&self, path: &[&str]) -> Cell {
        Cell::from(self.items(path).count())
    }

    /// A condition's status; none where there is no such condition.
    fn condition(&self, kind: &str) -> Option<&Value> {
        self.items(&["status", "conditions"]).find(|condition| condition.str_at(&["type"]) == kind)
    }
}

type RowOf = fn(&Source) -> Vec<Cell>;

fn row(object: &dyn Object, env: &Env, of: RowOf) -> Vec<Cell> {
    of(&Source { value: api::json::to_value_bare(object), metadata: object.metadata(), env })
}

const AGE: Column = Column::new("Age", "string");

macro_rules! dynamic {
    ($group:literal, $kind:literal, $columns:expr, $row:path) => {
        Printer {
            group: $group,
            kind: $kind,
            columns: {
                static COLUMNS: &[Column] = &$columns;
                COLUMNS
            },
            row: |object, env| row(object, env, $row),
        }
    };
}

const ADMISSION: [&str; 2] = ["spec", "paramKind"];

pub static PRINTERS: &[Printer] = &[
    dynamic!(
        "certificates.k8s.io",
        "CertificateSigningRequest",
        [
            Column::name(),
            AGE,
            Column::new("SignerName", "string"),
            Column::new("Requestor", "string"),
            Column::new("RequestedDuration", "string"),
            Column::new("Condition", "string"),
        ],
        signing_request
    ),
    dynamic!(
        "certificates.k8s.io",
        "ClusterTrustBundle",
        [Column::name(), Column::new("SignerName", "string")],
        trust_bundle
    ),
    dynamic!(
        "certificates.k8s.io",
        "PodCertificateRequest",
        [
            Column::name(),
            Column::new("PodName", "string"),
            Column::new("ServiceAccountName", "string"),
            Column::new("NodeName", "string"),
            Column::new("SignerName", "string"),
            Column::new("State", "string"),
        ],
        pod_certificate
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        [Column::name(), Column::new("Webhooks", "integer"), AGE],
        webhooks
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        [Column::name(), Column::new("Webhooks", "integer"), AGE],
        webhooks
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        [Column::name(), Column::new("Validations", "integer"), Column::new("ParamKind", "string"), AGE],
        validating_policy
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        [Column::name(), Column::new("Mutations", "integer"), Column::new("ParamKind", "string"), AGE],
        mutating_policy
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        [Column::name(), Column::new("PolicyName", "string"), Column::new("ParamRef", "string"), AGE],
        policy_binding
    ),
    dynamic!(
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        [Column::name(), Column::new("PolicyName", "string"), Column::new("ParamRef", "string"), AGE],
        policy_binding
    ),
    dynamic!(
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        [
            Column::name(),
            Column::new("PriorityLevel", "string"),
            Column::new("MatchingPrecedence", "string"),
            Column::new("DistinguisherMethod", "string"),
            AGE,
            Column::new("MissingPL", "string"),
        ],
        flow_schema
    ),
    dynamic!(
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        [
            Column::name(),
            Column::new("Type", "string"),
            Column::new("NominalConcurrencyShares", "string"),
            Column::new("Queues", "string"),
            Column::new("HandSize", "string"),
            Column::new("QueueLengthLimit", "string"),
            AGE,
        ],
        priority_level
    ),
    dynamic!(
        "storage.k8s.io",
        "VolumeAttributesClass",
        [Column::name(), Column::new("DriverName", "string"), AGE],
        attributes_class
    ),
    dynamic!(
        "storage.k8s.io",
        "CSIStorageCapacity",
        [Column::name(), Column::new("StorageClassName", "string"), Column::new("Capacity", "string")],
        storage_capacity
    ),
    dynamic!("resource.k8s.io", "ResourceClaim", [Column::name(), Column::new("State", "string"), AGE], claim),
    dynamic!("resource.k8s.io", "ResourceClaimTemplate", [Column::name(), AGE], name_and_age),
    dynamic!("resource.k8s.io", "DeviceClass", [Column::name(), AGE], name_and_age),
    dynamic!(
        "resource.k8s.io",
        "ResourceSlice",
        [
            Column::name(),
            Column::new("Node", "string"),
            Column::new("Driver", "string"),
            Column::new("Pool", "string"),
            AGE,
        ],
        slice
    ),
    dynamic!(
        "resource.k8s.io",
        "DeviceTaintRule",
        [
            Column::name(),
            Column::new("Key", "string"),
            Column::new("Value", "string"),
            Column::new("Effect", "string"),
            Column::new("TimeAdded", "string"),
            AGE,
        ],
        taint_rule
    ),
    dynamic!(
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        [Column::new("Name", "string"), Column::new("Resource", "string"), Column::new("Status", "string")],
        migration
    ),
    dynamic!(
        "apiregistration.k8s.io",
        "APIService",
        [Column::name(), Column::new("Service", "string"), Column::new("Available", "string"), AGE],
        api_service
    ),
    Printer { group: "", kind: "ComponentStatus", columns: super::core::COMPONENT_STATUS, row: component_status },
];

fn component_status(object: &dyn Object, env: &Env) -> Vec<Cell> {
    row(object, env, |from| {
        let healthy = from.items(&["conditions"]).find(|condition| condition.str_at(&["type"]) == "Healthy");
        let of = |field: &str| healthy.map_or("", |condition| condition.str_at(&[field]));
        let status = match of("status") {
            "" => "Unknown",
            "True" => "Healthy",
            _ => "Unhealthy",
        };
        vec![from.name(), Cell::from(status), Cell::from(of("message")), Cell::from(of("error"))]
    })
}

fn name_and_age(from: &Source) -> Vec<Cell> {
    vec![from.name(), from.age()]
}

fn signing_request(from: &Source) -> Vec<Cell> {
    let duration = match from.value.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64) {
        Some(seconds) => api::duration::human(seconds.saturating_mul(1_000_000_000)),
        None => "<none>".to_string(),
    };
    let has = |kind: &str| from.condition(kind).is_some();
    let mut status = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_string();
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !from.text(&["status", "certificate"]).is_empty() {
        status.push_str(",Issued");
    }
    vec![
        from.name(),
        from.age(),
        from.text_or(&["spec", "signerName"], "<none>"),
        Cell::from(from.text(&["spec", "username"])),
        Cell::from(duration),
        Cell::from(status),
    ]
}

fn trust_bundle(from: &Source) -> Vec<Cell> {
    vec![from.name(), from.text_or(&["spec", "signerName"], "<none>")]
}

fn pod_certificate(from: &Source) -> Vec<Cell> {
    let states = from.items(&["status", "conditions"]).map(|condition| condition.str_at(&["type"]));
    let state = states.filter(|kind| matches!(*kind, "Issued" | "Denied" | "Failed")).last().unwrap_or("Pending");
    let mut cells = vec![from.name()];
    for field in ["podName", "serviceAccountName", "nodeName", "signerName"] {
        cells.push(Cell::from(from.text(&["spec", field])));
    }
    cells.push(Cell::from(state));
    cells
}

fn webhooks(from: &Source) -> Vec<Cell> {
    vec![from.name(), from.count(&["webhooks"]), from.age()]
}

fn parameter_kind(from: &Source) -> Cell {
    match from.value.at(&ADMISSION) {
        Some(kind) => Cell::from(format!("{}/{}", kind.str_at(&["apiVersion"]), kind.str_at(&["kind"]))),
        None => Cell::from("<unset>"),
    }
}

fn validating_policy(from: &Source) -> Vec<Cell> {
    vec![from.name(), from.count(&["spec", "validations"]), parameter_kind(from), from.age()]
}

fn mutating_policy(from: &Source) -> Vec<Cell> {
    vec![from.name(), from.count(&["spec", "mutations"]), parameter_kind(from), from.age()]
}

fn policy_binding(from: &Source) -> Vec<Cell> {
    let parameter = match (from.text(&["spec", "paramRef", "namespace"]), from.text(&["spec", "paramRef", "name"])) {
        (_, "") => "<unset>".to_string(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    vec![from.name(), Cell::from(from.text(&["spec", "policyName"])), Cell::from(parameter), from.age()]
}

fn flow_schema(from: &Source) -> Vec<Cell> {
    let dangling = from.condition("Dangling").map_or("?", |condition| condition.str_at(&["status"]));
    vec![
        from.name(),
        Cell::from(from.text(&["spec", "priorityLevelConfiguration", "name"])),
        Cell::from(from.value.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64).unwrap_or_default()),
        from.text_or(&["spec", "distinguisherMethod", "type"], "<none>"),
        from.age(),
        Cell::from(dangling),
    ]
}

/// Flow schemas stand in the order in which requests are matched.
pub fn sort_flow_schemas(rows: &mut [Row]) {
    let precedence = |row: &Row| {
        let value = api::json::to_value_bare(&*row.object.body);
        value.at(&["spec", "matchingPrecedence"]).and_then(Value::as_i64).unwrap_or_default()
    };
    rows.sort_small_by_key(precedence);
}

fn priority_level(from: &Source) -> Vec<Cell> {
    let queuing = |field: &str| from.number(&["spec", "limited", "limitResponse", "queuing", field]);
    vec![
        from.name(),
        Cell::from(from.text(&["spec", "type"])),
        from.number(&["spec", "limited", "nominalConcurrencyShares"]),
        queuing("queues"),
        queuing("handSize"),
        queuing("queueLengthLimit"),
        from.age(),
    ]
}

fn attributes_class(from: &Source) -> Vec<Cell> {
    vec![from.name(), Cell::from(from.text(&["driverName"])), from.age()]
}

fn storage_capacity(from: &Source) -> Vec<Cell> {
    vec![from.name(), Cell::from(from.text(&["storageClassName"])), from.text_or(&["capacity"], "<unset>")]
}

fn claim(from: &Source) -> Vec<Cell> {
    let deleted = from.metadata.is_some_and(|metadata| !metadata.deletion_timestamp.is_zero());
    let allocated = from.value.at(&["status", "allocation"]).is_some();
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    if allocated {
        states.push("allocated");
        if from.items(&["status", "reservedFor"]).next().is_some() {
            states.push("reserved");
        }
    } else if !deleted {
        states.push("pending");
    }
    vec![from.name(), Cell::from(states.join(",")), from.age()]
}

fn slice(from: &Source) -> Vec<Cell> {
    vec![
        from.name(),
        Cell::from(from.text(&["spec", "nodeName"])),
        Cell::from(from.text(&["spec", "driver"])),
        Cell::from(from.text(&["spec", "pool", "name"])),
        from.age(),
    ]
}

fn taint_rule(from: &Source) -> Vec<Cell> {
    let of = |field: &str| from.text(&["spec", "taint", field]);
    let added = api::value::time::parse_rfc3339(of("timeAdded"))
        .map(|(seconds, _)| from.env.since(&Time::from_unix(seconds)))
        .unwrap_or_default();
    vec![
        from.name(),
        Cell::from(of("key")),
        Cell::from(of("value")),
        Cell::from(of("effect")),
        Cell::from(added),
        from.age(),
    ]
}

fn migration(from: &Source) -> Vec<Cell> {
    let (group, resource) = (from.text(&["spec", "resource", "group"]), from.text(&["spec", "resource", "resource"]));
    let resource = if group.is_empty() { resource.to_string() } else { format!("{resource}.{group}") };
    let mut status = "Unknown";
    for condition in from.items(&["status", "conditions"]) {
        let kind = condition.str_at(&["type"]);
        if condition.str_at(&["status"]) == "True" && matches!(kind, "Running" | "Failed" | "Succeeded") {
            status = kind;
        }
    }
    vec![from.name(), Cell::from(resource), Cell::from(status)]
}

fn api_service(from: &Source) -> Vec<Cell> {
    let service = match from.value.at(&["spec", "service"]) {
        Some(service) => format!("{}/{}", service.str_at(&["namespace"]), service.str_at(&["name"])),
        None => "Local".to_string(),
    };
    let available = match from.condition("Available") {
        None => "Unknown".to_string(),
        Some(condition) => match (condition.str_at(&["status"]), condition.str_at(&["reason"])) {
            ("True", _) => "True".to_string(),
            (status, "") => status.to_string(),
            (status, reason) => format!("{status} ({reason})"),
        },
    };
    vec![from.name(), Cell::from(service), Cell::from(available), from.age()]
}
