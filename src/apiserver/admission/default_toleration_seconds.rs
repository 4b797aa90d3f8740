//! DefaultTolerationSeconds: pods stay for five minutes on a node that is not ready or unreachable.

use api::core_v1::{Pod, Toleration};
use api::{Object, Status};

use super::{Attributes, Operation};

/// `--default-not-ready-toleration-seconds` and `--default-unreachable-toleration-seconds`.
const SECONDS: i64 = 300;
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if !attributes.is("", "pods", "") || attributes.operation == Operation::Delete {
        return Ok(());
    }
    let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
    for key in TAINTS {
        let tolerated = pod.spec.tolerations.iter().any(|toleration| {
            (&*toleration.key == key || toleration.key.is_empty())
                && (&*toleration.effect == "NoExecute" || toleration.effect.is_empty())
        });
        if !tolerated {
            pod.spec.make().tolerations.make().push(Toleration {
                key: key.into(),
                operator: "Exists".into(),
                effect: "NoExecute".into(),
                toleration_seconds: Some(SECONDS),
                ..Default::default()
            });
        }
    }
    Ok(())
}
