//! What the API server and kube-controller-manager both know of ServiceCIDRs and the IPAddresses taken of them.

use crate::Resource;
use crate::json::Value;
use crate::networking_v1::{IPAddress, ServiceCIDR};

/// The label with an address' family.
pub const LABEL_FAMILY: &str = "ipaddress.kubernetes.io/ip-family";
/// The label with who keeps an address.
pub const LABEL_MANAGED_BY: &str = "ipaddress.kubernetes.io/managed-by";
/// What [`LABEL_MANAGED_BY`] says of addresses given to Services.
pub const MANAGED_BY: &str = "ipallocator.k8s.io";

/// Whether the API servers' allocator keeps an address.
pub fn is_managed(address: &IPAddress) -> bool {
    address.metadata.labels.get(LABEL_MANAGED_BY).is_some_and(|by| by == MANAGED_BY)
}

/// The body that applies a range's Ready condition to its status: the condition's fields but its type, in order.
pub fn ready_condition(name: &str, fields: &[(&str, &str)]) -> String {
    let fields = [("type", "Ready")].iter().chain(fields);
    let condition: Value = fields.map(|(field, text)| (*field, Value::from(*text))).collect();
    let mut body = Value::object();
    body.set("apiVersion", ServiceCIDR::KIND.api_version.into());
    body.set("kind", ServiceCIDR::KIND.kind.into());
    body.set_at(&["metadata", "name"], name.into());
    body.set_at(&["status", "conditions"], Value::from(vec![condition]));
    body.to_json()
}
