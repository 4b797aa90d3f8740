//! Admission: plugins that change or refuse writes, in the order of the real server's table
//! (pkg/kubeapiserver/options/plugins.go). One file a plugin, one row of `PLUGINS`; ResourceQuota, the last, waits for
//! the store and is called by itself.

mod certificates;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod limit_ranger;
mod namespace_lifecycle;
mod node_declared_features;
mod node_restriction;
mod persistent_volume_claim_resize;
mod pod_resize;
mod pod_security;
mod pod_topology_labels;
pub mod policies;
mod priority;
pub mod resource_quota;
mod runtime_class;
mod service_account;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;

use api::core_v1::{Node, Pod};
use api::{AnyRev, KindInfo, Object, Rev, Status, Str};

use crate::registry::{Call, read};

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object, or the action of a subresource.
    Create,
    /// A change.
    Update,
    /// The end of an object.
    Delete,
    /// `exec`, `attach`, `portforward`, `proxy`.
    Connect,
}

/// What a plugin knows of a write.
pub struct Attributes<'a> {
    /// The request.
    pub call: &'a Call,
    /// What it does.
    pub operation: Operation,
    /// The object's name; empty where it is still to be generated.
    pub name: Str,
    /// Objects that the cache didn't have yet, read from the store for this request: resource, key, object.
    live: Vec<(usize, String, Option<AnyRev>)>,
    /// A webhook that is to be called before the plugins have their turn again.
    wanted: Option<policies::webhooks::Wanted>,
    /// Webhooks that were called for this request, with why that failed.
    called: Vec<(Str, Str)>,
    /// Whether a policy changed the object, so that the plugins have a second turn.
    changed_by_policy: bool,
    /// Whether it is the second turn.
    reinvoked: bool,
}

impl<'a> Attributes<'a> {
    /// The write of a request.
    pub fn new(call: &'a Call, operation: Operation) -> Attributes<'a> {
        Attributes {
            call,
            operation,
            name: call.name.clone(),
            live: Vec::new(),
            wanted: None,
            called: Vec::new(),
            changed_by_policy: false,
            reinvoked: false,
        }
    }

    /// Whether it is about objects of this resource, or of this subresource of it.
    pub fn is(&self, group: &str, resource: &str, subresource: &str) -> bool {
        let kind = self.call.resource().kind;
        kind.plural == resource && kind.group == group && &*self.call.subresource == subresource
    }

    /// The resource's kind.
    pub fn kind(&self) -> &'static KindInfo {
        self.call.resource().kind
    }

    /// Another object: as the cache has it, or as it was read for this request.
    pub fn find(&self, resource: usize, key: &str) -> Option<AnyRev> {
        self.call.server.cache.resource(resource).get(key).or_else(|| {
            let read = self.live.iter().find(|(r, k, _)| *r == resource && k == key);
            read.and_then(|(_, _, object)| object.clone())
        })
    }

    /// The node of a pod; a refusal if there is none.
    fn node_of(&self, pod: &Pod) -> Result<Rev<Node>, Status> {
        let (server, name) = (&self.call.server, &pod.spec.node_name);
        let found = server.cache.resource(server.nodes).get(name).and_then(|node| node.downcast::<Node>());
        found.ok_or_else(|| self.forbidden(Some(pod), &format!("node {} not found", api::go::quote(name))))
    }

    /// A refusal: `pods "web" is forbidden: ...`.
    pub fn forbidden(&self, object: Option<&dyn Object>, reason: &str) -> Status {
        let kind = self.kind();
        let mut name = self.name.clone();
        if name.is_empty()
            && let Some(metadata) = object.and_then(|object| object.metadata())
        {
            name = if metadata.name.is_empty() { metadata.generate_name.clone() } else { metadata.name.clone() };
        }
        if name.is_empty() {
            name = "Unknown".into();
        }
        Status::forbidden((kind.group, kind.plural), &name, reason)
    }
}

/// A pod after and before a change of its spec, if it is on a node.
fn changed_on_node<'a>(new: Option<&'a dyn Object>, old: Option<&'a dyn Object>) -> Option<(&'a Pod, &'a Pod)> {
    let (pod, was) = (new?.downcast_ref::<Pod>()?, old?.downcast_ref::<Pod>()?);
    let changed = was.metadata.generation != pod.metadata.generation;
    (changed && !pod.spec.node_name.is_empty()).then_some((pod, was))
}

/// Another object that a plugin will ask for: resource and key.
type Need = (usize, String);

struct Plugin {
    /// The plugin's name, as `--enable-admission-plugins` has it.
    #[allow(dead_code, reason = "names the row; read by observers of the table")]
    name: &'static str,
    needs: Option<fn(&Attributes, &dyn Object) -> Vec<Need>>,
    mutate: Option<fn(&mut Attributes, &mut dyn Object, Option<&dyn Object>) -> Result<(), Status>>,
    /// (new, old): a deletion has only the old.
    validate: Option<fn(&mut Attributes, Option<&dyn Object>, Option<&dyn Object>) -> Result<(), Status>>,
}

static PLUGINS: &[Plugin] = &[
    Plugin {
        name: "NamespaceLifecycle",
        needs: Some(namespace_lifecycle::needs),
        mutate: Some(namespace_lifecycle::admit),
        validate: Some(namespace_lifecycle::validate),
    },
    Plugin {
        name: "LimitRanger",
        needs: None,
        mutate: Some(limit_ranger::mutate),
        validate: Some(limit_ranger::validate),
    },
    Plugin {
        name: "ServiceAccount",
        needs: Some(service_account::needs),
        mutate: Some(service_account::mutate),
        validate: None,
    },
    Plugin { name: "NodeRestriction", needs: None, mutate: Some(node_restriction::admit), validate: None },
    Plugin {
        name: "TaintNodesByCondition",
        needs: None,
        mutate: Some(taint_nodes_by_condition::mutate),
        validate: None,
    },
    Plugin { name: "PodSecurity", needs: None, mutate: None, validate: Some(pod_security::validate) },
    Plugin {
        name: "Priority",
        needs: Some(priority::needs),
        mutate: Some(priority::mutate),
        validate: Some(priority::validate),
    },
    Plugin {
        name: "DefaultTolerationSeconds",
        needs: None,
        mutate: Some(default_toleration_seconds::mutate),
        validate: None,
    },
    Plugin { name: "DefaultStorageClass", needs: None, mutate: Some(default_storage_class::mutate), validate: None },
    Plugin {
        name: "StorageObjectInUseProtection",
        needs: None,
        mutate: Some(storage_object_in_use_protection::mutate),
        validate: None,
    },
    Plugin {
        name: "PersistentVolumeClaimResize",
        needs: None,
        mutate: None,
        validate: Some(persistent_volume_claim_resize::validate),
    },
    Plugin {
        name: "RuntimeClass",
        needs: Some(runtime_class::needs),
        mutate: Some(runtime_class::mutate),
        validate: Some(runtime_class::validate),
    },
    Plugin { name: "CertificateApproval", needs: None, mutate: None, validate: Some(certificates::approve) },
    Plugin { name: "CertificateSigning", needs: None, mutate: None, validate: Some(certificates::sign) },
    Plugin { name: "ClusterTrustBundleAttest", needs: None, mutate: None, validate: Some(certificates::attest) },
    Plugin { name: "CertificateSubjectRestriction", needs: None, mutate: None, validate: Some(certificates::restrict) },
    Plugin { name: "DefaultIngressClass", needs: None, mutate: Some(default_ingress_class::mutate), validate: None },
    Plugin {
        name: "PodTopologyLabels",
        needs: Some(pod_topology_labels::needs),
        mutate: Some(pod_topology_labels::mutate),
        validate: None,
    },
    Plugin {
        name: "NodeDeclaredFeatureValidator",
        needs: None,
        mutate: None,
        validate: Some(node_declared_features::validate),
    },
    Plugin { name: "PodResizeValidator", needs: None, mutate: None, validate: Some(pod_resize::validate) },
    Plugin { name: "MutatingAdmissionPolicy", needs: None, mutate: Some(policies::mutating::mutate), validate: None },
    Plugin {
        name: "MutatingAdmissionWebhook",
        needs: None,
        mutate: Some(policies::webhooks::mutate),
        validate: Some(policies::webhooks::mutate_deletion),
    },
    Plugin {
        name: "ValidatingAdmissionPolicy",
        needs: None,
        mutate: None,
        validate: Some(policies::validating::validate),
    },
    Plugin {
        name: "ValidatingAdmissionWebhook",
        needs: None,
        mutate: None,
        validate: Some(policies::webhooks::validate),
    },
];

/// Reads from the store what the plugins will ask for and the cache doesn't have (their live look-ups).
pub async fn look_up(attributes: &mut Attributes<'_>, object: &dyn Object) -> Result<(), Status> {
    let mut needs = Vec::new();
    for plugin in PLUGINS {
        if let Some(of) = plugin.needs {
            needs.extend(of(attributes, object));
        }
    }
    let server = &attributes.call.server;
    for (resource, key) in needs {
        if server.cache.resource(resource).get(&key).is_some() {
            continue;
        }
        let full = server.resources.get(resource).map(|r| format!("{}{key}", r.prefix)).unwrap_or_default();
        let found = read(server, &full).await?;
        attributes.live.push((resource, key, found));
    }
    Ok(())
}

/// Lets the plugins change the object. What a policy changed they see once more.
pub fn mutate(
    attributes: &mut Attributes<'_>,
    object: &mut dyn Object,
    old: Option<&dyn Object>,
) -> Result<(), Status> {
    (attributes.changed_by_policy, attributes.reinvoked) = (false, false);
    loop {
        for plugin in PLUGINS {
            if let Some(mutate) = plugin.mutate {
                mutate(attributes, object, old)?;
            }
        }
        if attributes.reinvoked || !attributes.changed_by_policy {
            return Ok(());
        }
        attributes.reinvoked = true;
    }
}

/// As `mutate`, calling the webhooks that plugins wait for.
pub async fn mutate_calling(attributes: &mut Attributes<'_>, object: &mut Box<dyn Object>) -> Result<(), Status> {
    loop {
        let before = if policies::has_webhooks(&attributes.call.server) { Some(object.boxed()) } else { None };
        let result = mutate(attributes, &mut **object, None);
        if !policies::webhooks::call_wanted(attributes).await {
            return result;
        }
        if let Some(before) = before {
            *object = before;
        }
    }
}

/// As `validate`, calling the webhooks that plugins wait for.
pub async fn validate_calling(
    attributes: &mut Attributes<'_>,
    new: Option<&dyn Object>,
    old: Option<&dyn Object>,
) -> Result<(), Status> {
    loop {
        let result = validate(attributes, new, old);
        if !policies::webhooks::call_wanted(attributes).await {
            return result;
        }
    }
}

/// Lets the plugins refuse the write.
pub fn validate(
    attributes: &mut Attributes<'_>,
    new: Option<&dyn Object>,
    old: Option<&dyn Object>,
) -> Result<(), Status> {
    for plugin in PLUGINS {
        if let Some(validate) = plugin.validate {
            validate(attributes, new, old)?;
        }
    }
    Ok(())
}
