//! Conditions of `meta/v1`, as most newer kinds have them (`k8s.io/apimachinery/pkg/api/meta/conditions.go`).

use api::meta_v1::Condition;
use api::{List, Time};

/// Sets a condition; the time of its last transition stays unless the status changes (`SetStatusCondition`).
pub fn set_status_condition(conditions: &mut List<Condition>, mut new: Condition, now: &Time) {
    let Some(at) = conditions.iter().position(|c| c.type_ == new.type_) else {
        if new.last_transition_time.is_zero() {
            new.last_transition_time = *now;
        }
        conditions.push(new);
        return;
    };
    let Some(old) = conditions.make().get_mut(at) else { return };
    if old.status == new.status {
        new.last_transition_time = old.last_transition_time;
    } else if new.last_transition_time.is_zero() {
        new.last_transition_time = *now;
    }
    *old = new;
}
