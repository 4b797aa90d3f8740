//! TaintNodesByCondition: a new node takes no pods until it is known to be ready.

use api::core_v1::{Node, Taint};
use api::{Object, Status};

use super::{Attributes, Operation};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const NO_SCHEDULE: &str = "NoSchedule";

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("", "nodes", "") {
        return Ok(());
    }
    let Some(node) = object.downcast_mut::<Node>() else { return Ok(()) };
    let tainted = node.spec.taints.iter().any(|t| &*t.key == NOT_READY && &*t.effect == NO_SCHEDULE);
    if !tainted {
        let taint = Taint { key: NOT_READY.into(), effect: NO_SCHEDULE.into(), ..Default::default() };
        node.spec.make().taints.make().push(taint);
    }
    Ok(())
}
