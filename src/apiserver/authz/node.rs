//! The Node authorizer (plugin/pkg/auth/authorizer/node): a kubelet reaches what its pods need, and no more.

use api::core_v1::Pod;

use super::Attributes;
use crate::Inner;
use crate::user::User;

/// An answer: the node authorizer never refuses, it leaves the matter to the next.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// Nothing to say, or why not.
    NoOpinion(Option<String>),
}

/// Rules of every node besides those that depend on its pods (bootstrappolicy.NodeRules): group, resource, verbs.
const RULES: &[(&str, &str, &[&str])] = &[
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "localsubjectaccessreviews", &["create"]),
    ("", "services", &["get", "list", "watch"]),
    ("", "nodes", &["create", "get", "list", "watch", "update", "patch"]),
    ("", "nodes/status", &["update", "patch"]),
    ("", "events", &["create", "update", "patch"]),
    ("", "pods", &["get", "list", "watch", "create", "delete"]),
    ("", "pods/status", &["update", "patch"]),
    ("", "pods/eviction", &["create"]),
    ("", "secrets", &[]),
    ("", "configmaps", &[]),
    ("", "persistentvolumeclaims", &["get", "update", "patch"]),
    ("", "persistentvolumeclaims/status", &["get", "update", "patch"]),
    ("", "persistentvolumes", &["get"]),
    ("", "endpoints", &["get"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["create", "get", "list", "watch"]),
    ("coordination.k8s.io", "leases", &["create", "delete", "get", "patch", "update"]),
    ("storage.k8s.io", "volumeattachments", &["get"]),
    ("storage.k8s.io", "csidrivers", &["get", "list", "watch"]),
    ("storage.k8s.io", "csinodes", &["create", "delete", "get", "patch", "update"]),
    ("node.k8s.io", "runtimeclasses", &["get", "list", "watch"]),
    ("resource.k8s.io", "resourceclaims", &["get"]),
    (
        "resource.k8s.io",
        "resourceslices",
        &["create", "delete", "get", "list", "patch", "update", "watch", "deletecollection"],
    ),
];

/// Decides about a kubelet's request.
pub fn authorize(server: &Inner, user: &User, attributes: &Attributes) -> Decision {
    let Some(node) = user.node() else { return Decision::NoOpinion(None) };
    let nothing = || {
        Decision::NoOpinion(Some(
            "no relationship found between node ".to_string() + &format!("'{node}' and this object"),
        ))
    };
    match (attributes.group, attributes.resource) {
        ("", "secrets" | "configmaps" | "persistentvolumeclaims") if attributes.subresource.is_empty() => {
            return related_object(server, node, attributes);
        }
        ("", "serviceaccounts") => {
            if attributes.subresource != "token" || attributes.verb != "create" {
                return Decision::NoOpinion(None);
            }
            let used = any_pod(server, node, |pod| {
                &*pod.metadata.namespace == attributes.namespace && &*pod.spec.service_account_name == attributes.name
            });
            return if used { Decision::Allow } else { nothing() };
        }
        ("coordination.k8s.io", "leases") => {
            if attributes.namespace != "kube-node-lease" {
                return Decision::NoOpinion(Some(format!(
                    "can only access leases in the {:?} system namespace",
                    "kube-node-lease"
                )));
            }
            if attributes.verb != "create" && attributes.name != node {
                return Decision::NoOpinion(Some(
                    "can only access node lease with the same name as the requesting node".into(),
                ));
            }
            return Decision::Allow;
        }
        ("storage.k8s.io", "csinodes") => {
            if attributes.verb != "create" && attributes.name != node {
                return Decision::NoOpinion(Some(
                    "can only access CSINode with the same name as the requesting node".into(),
                ));
            }
            return Decision::Allow;
        }
        // AuthorizeNodeWithSelectors: a node reads and writes itself.
        ("", "nodes") if !matches!(attributes.verb, "create" | "list" | "watch") && attributes.name != node => {
            return Decision::NoOpinion(Some(format!(
                "node {node:?} cannot read {:?}, only its own Node object",
                attributes.name
            )));
        }
        ("", "pods") if attributes.subresource.is_empty() => match attributes.verb {
            "get" | "delete" => {
                if attributes.verb == "get" && !on_node(server, node, attributes) {
                    return nothing();
                }
                return Decision::Allow;
            }
            "list" | "watch" => {
                let wanted = format!("spec.nodeName={node}");
                if !attributes.field_selector.split(',').any(|part| part == wanted) {
                    return Decision::NoOpinion(Some(
                        "can only list/watch pods with spec.nodeName field selector".to_string(),
                    ));
                }
                return Decision::Allow;
            }
            _ => {}
        },
        _ => {}
    }
    let resource = if attributes.subresource.is_empty() {
        attributes.resource.to_string()
    } else {
        format!("{}/{}", attributes.resource, attributes.subresource)
    };
    let allowed = RULES.iter().any(|(group, name, verbs)| {
        *group == attributes.group && *name == resource && verbs.contains(&attributes.verb)
    });
    if allowed { Decision::Allow } else { Decision::NoOpinion(None) }
}

fn any_pod(server: &Inner, node: &str, mut holds: impl FnMut(&Pod) -> bool) -> bool {
    let mut found = false;
    server.cache.resource(server.pods).each_on_node(node, |object| {
        found = found || object.body.downcast_ref::<Pod>().is_some_and(&mut holds);
    });
    found
}

fn on_node(server: &Inner, node: &str, attributes: &Attributes) -> bool {
    let key = format!("{}/{}", attributes.namespace, attributes.name);
    let pod = server.cache.resource(server.pods).get(&key);
    // A pod that is gone is answered with "not found", as by the real server's graph that lags behind.
    pod.is_none_or(|pod| pod.body.downcast_ref::<Pod>().is_some_and(|pod| &*pod.spec.node_name == node))
}

/// Secrets, config maps and claims that a pod of the node refers to.
fn related_object(server: &Inner, node: &str, attributes: &Attributes) -> Decision {
    if !matches!(attributes.verb, "get" | "list" | "watch") {
        return Decision::NoOpinion(Some("can only read resources of this type".into()));
    }
    // A list or watch names one object by a field selector.
    let named = attributes.field_selector.strip_prefix("metadata.name=").unwrap_or(attributes.name);
    if named.is_empty() || attributes.namespace.is_empty() {
        return Decision::NoOpinion(Some("can only read namespaced object of this type".into()));
    }
    let used = any_pod(server, node, |pod| {
        &*pod.metadata.namespace == attributes.namespace && refers(pod, attributes.resource, named)
    });
    if used {
        Decision::Allow
    } else {
        Decision::NoOpinion(Some(format!("no relationship found between node '{node}' and this object")))
    }
}

fn refers(pod: &Pod, resource: &str, name: &str) -> bool {
    let spec = &*pod.spec;
    let containers = || spec.containers.iter().chain(spec.init_containers.iter());
    match resource {
        "secrets" => {
            spec.image_pull_secrets.iter().any(|reference| &*reference.name == name)
                || containers().any(|c| {
                    c.env_from.iter().any(|f| f.secret_ref.get().is_some_and(|r| &*r.name == name))
                        || c.env.iter().any(|e| {
                            let from = e.value_from.get().and_then(|v| v.secret_key_ref.get());
                            from.is_some_and(|r| &*r.name == name)
                        })
                })
                || spec.volumes.iter().any(|v| {
                    v.secret.get().is_some_and(|s| &*s.secret_name == name)
                        || v.projected
                            .get()
                            .is_some_and(|p| p.sources.iter().any(|s| s.secret.get().is_some_and(|s| &*s.name == name)))
                })
        }
        "configmaps" => {
            containers().any(|c| {
                c.env_from.iter().any(|f| f.config_map_ref.get().is_some_and(|r| &*r.name == name))
                    || c.env.iter().any(|e| {
                        let from = e.value_from.get().and_then(|v| v.config_map_key_ref.get());
                        from.is_some_and(|r| &*r.name == name)
                    })
            }) || spec.volumes.iter().any(|v| {
                v.config_map.get().is_some_and(|s| &*s.name == name)
                    || v.projected
                        .get()
                        .is_some_and(|p| p.sources.iter().any(|s| s.config_map.get().is_some_and(|s| &*s.name == name)))
            })
        }
        _ => spec.volumes.iter().any(|v| {
            v.persistent_volume_claim.get().is_some_and(|c| &*c.claim_name == name)
                || (v.ephemeral.is_some() && format!("{}-{}", pod.metadata.name, v.name) == name)
        }),
    }
}
