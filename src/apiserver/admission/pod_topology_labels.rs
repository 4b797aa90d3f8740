//! PodTopologyLabels: a bound pod carries the zone and region of its node.

use api::core_v1::{Binding, Node, Pod};
use api::{Map, Object, Status, Str};

use super::{Attributes, Need, Operation};

const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

fn node_of(attributes: &Attributes, object: &dyn Object) -> Option<Str> {
    if attributes.operation == Operation::Delete {
        return None;
    }
    if let Some(binding) = object.downcast_ref::<Binding>() {
        return (&*binding.target.kind == "Node").then(|| binding.target.name.clone());
    }
    if !attributes.is("", "pods", "") {
        return None;
    }
    let pod = object.downcast_ref::<Pod>()?;
    (!pod.spec.node_name.is_empty()).then(|| pod.spec.node_name.clone())
}

pub fn needs(attributes: &Attributes, object: &dyn Object) -> Vec<Need> {
    node_of(attributes, object).map(|node| (attributes.call.server.nodes, node.to_string())).into_iter().collect()
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    let Some(name) = node_of(attributes, object) else { return Ok(()) };
    let Some(node) = attributes.find(attributes.call.server.nodes, &name) else { return Ok(()) };
    let Some(node) = node.body.downcast_ref::<Node>() else { return Ok(()) };
    let Some(metadata) = object.metadata_mut() else { return Ok(()) };
    copy(&node.metadata.labels, &mut metadata.labels);
    Ok(())
}

fn copy(from: &Map<Str>, to: &mut Map<Str>) {
    for key in LABELS {
        if let Some(value) = from.get(key)
            && to.get(key) != Some(value)
        {
            to.insert(Str::from(key), value.clone());
        }
    }
}
