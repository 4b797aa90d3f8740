//! How much of a device's capacity a request takes, and whether that is left
//! (`structured/internal/incubating/consumable_capacity.go`).

use api::resource_v1::{CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements, DeviceCapacity};
use api::{Map, Quantity, Str};
use std::collections::BTreeMap;

/// Amounts of a device's capacity, by name.
pub type Amounts = BTreeMap<Str, Quantity>;

/// Adds amounts to others.
pub(super) fn add(to: &mut Amounts, amounts: &Map<Quantity>) {
    for (name, amount) in amounts.iter() {
        to.entry(name.clone()).or_default().add(amount);
    }
}

/// What a request takes of a device, rounded as the device's policy wants; none if it cannot be had from this device
/// even if that is free.
///
/// # Errors
/// No device will do.
pub(super) fn consumed(
    requests: Option<&CapacityRequirements>,
    capacity: &Map<DeviceCapacity>,
) -> Result<Option<Map<Quantity>>, String> {
    let requests = requests.map(|r| &r.requests);
    if requests.is_some_and(|r| r.iter().any(|(name, _)| !capacity.contains_key(name))) {
        return Ok(None);
    }
    let mut all = Map::new();
    for (name, has) in capacity.iter() {
        let about = |why: String| format!("capacity {}: {why}", api::go::quote(name));
        let amount = match requests.and_then(|r| r.get(name)) {
            Some(wanted) => rounded(wanted, has.request_policy.get()).map_err(about)?,
            None => has.request_policy.get().and_then(|p| p.default.clone()).unwrap_or_else(|| has.value.clone()),
        };
        if amount.sign() < 0 {
            return Err(about("capacity value is negative".into()));
        }
        all.insert(name.clone(), amount);
    }
    let allowed = |(name, amount): (&Str, &Quantity)| {
        let policy = capacity.get(name).and_then(|has| has.request_policy.get());
        !policy.is_some_and(|policy| violates(amount, policy))
    };
    Ok(all.iter().map(|(name, amount)| (name, amount)).all(allowed).then_some(all))
}

/// Whether a device has that much left.
pub(super) fn is_left(consumed: &Map<Quantity>, used: &Amounts, capacity: &Map<DeviceCapacity>) -> bool {
    consumed.iter().all(|(name, amount)| {
        let mut sum = amount.clone();
        if let Some(used) = used.get(name) {
            sum.add(used);
        }
        capacity.get(name).is_some_and(|has| sum <= has.value)
    })
}

fn rounded(wanted: &Quantity, policy: Option<&CapacityRequestPolicy>) -> Result<Quantity, String> {
    let Some(policy) = policy else { return Ok(wanted.clone()) };
    if let Some((range, min)) = policy.valid_range.get().and_then(|range| Some((range, range.min.as_ref()?))) {
        return rounded_in(wanted, range, min);
    }
    let larger = policy.valid_values.iter().find(|value| wanted <= *value);
    Ok(larger.unwrap_or(wanted).clone())
}

/// The next step from the least amount on.
fn rounded_in(wanted: &Quantity, range: &CapacityRequestPolicyRange, min: &Quantity) -> Result<Quantity, String> {
    let not_representable =
        |why: String| format!("capacity request cannot be represented in the device's range arithmetic: {why}");
    if wanted < min {
        return Ok(min.clone());
    }
    let Some(step) = &range.step else { return Ok(wanted.clone()) };
    let format = step.format();
    let (too_far, wanted_units, min_units, step_units) = if counts_in_milli(range) {
        let milli = exact_milli(wanted)
            .ok_or_else(|| not_representable(format!("request {wanted} is not a representable milli value")))?;
        ("the milli-value range", milli, min.milli_value(), step.milli_value())
    } else {
        if *wanted > Quantity::new(i64::MAX, format) {
            return Err(not_representable(format!("request {wanted} exceeds MaxInt64")));
        }
        ("MaxInt64", wanted.value(), min.value(), step.value())
    };
    let (wanted_units, min_units, step_units) =
        (i128::from(wanted_units), i128::from(min_units), i128::from(step_units));
    let steps = (wanted_units - min_units).checked_add(step_units - 1).and_then(|n| n.checked_div(step_units));
    let units = min_units + step_units * steps.unwrap_or(0);
    let units = i64::try_from(units)
        .map_err(|_| not_representable(format!("rounding request {wanted} up to the next step passes {too_far}")))?;
    Ok(match (counts_in_milli(range), units % 1000) {
        (false, _) => Quantity::new(units, format),
        (true, 0) => Quantity::new(units / 1000, format),
        (true, _) => Quantity::milli(units, format),
    })
}

/// Whether an amount is none that the device gives out.
fn violates(amount: &Quantity, policy: &CapacityRequestPolicy) -> bool {
    if policy.default.as_ref() == Some(amount) {
        return false;
    }
    let Some(range) = policy.valid_range.get() else {
        return !policy.valid_values.is_empty() && !policy.valid_values.contains(amount);
    };
    if range.max.as_ref().is_some_and(|max| amount > max) {
        return true;
    }
    let Some(step) = &range.step else { return false };
    let in_milli = counts_in_milli(range);
    let units = |q: &Quantity| i128::from(if in_milli { q.milli_value() } else { q.value() });
    if in_milli && exact_milli(amount).is_none() {
        return true;
    }
    let min = range.min.as_ref().map_or(0, units);
    (units(amount) - min).checked_rem(units(step)).is_none_or(|rest| rest != 0)
}

/// Whether a range can be counted in thousandths (`DRAFractionalCapacityRange`).
fn counts_in_milli(range: &CapacityRequestPolicyRange) -> bool {
    let all = [&range.min, &range.max, &range.step];
    all.iter().copied().flatten().all(|q| exact_milli(q).is_some())
        && range.step.as_ref().is_none_or(|step| step.milli_value() >= 1)
}

fn exact_milli(q: &Quantity) -> Option<i64> {
    let milli = q.milli_value();
    (Quantity::milli(milli, q.format()) == *q).then_some(milli)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decode;

    /// What a request of `wanted` (nothing if empty) takes of a device with 10 and this policy.
    fn taken(policy: &str, wanted: &str) -> String {
        let policy = if policy.is_empty() { String::new() } else { format!(", requestPolicy: {policy}") };
        let device = format!("capacity: {{gb: {{value: '10'{policy}}}}}\nname: x");
        let device: api::resource_v1::Device = decode(&device);
        let requests = match wanted {
            "" => None,
            wanted => Some(decode::<CapacityRequirements>(&format!("requests: {wanted}"))),
        };
        match consumed(requests.as_ref(), &device.capacity) {
            Ok(Some(all)) => all.iter().map(|(name, amount)| format!("{name}={amount}")).collect(),
            Ok(None) => "no".into(),
            Err(why) => why,
        }
    }

    #[test]
    fn requests_are_rounded_as_the_device_wants() {
        let steps = "{default: '1', validRange: {min: '1', step: '2', max: '9'}}";
        let values = "{default: '1', validValues: ['1', '4', '8']}";
        let parts = "{default: '1', validRange: {min: 500m, step: 250m}}";
        let huge = "9223372036854775807";
        for (policy, wanted, taken_) in [
            ("", "", "gb=10"),
            ("", "{gb: '3'}", "gb=3"),
            ("", "{gb: '3', other: '1'}", "no"),
            ("", "{gb: '-3'}", "capacity \"gb\": capacity value is negative"),
            (steps, "", "gb=1"),
            (steps, "{gb: 500m}", "gb=1"),
            (steps, "{gb: '3'}", "gb=3"),
            (steps, "{gb: '4'}", "gb=5"),
            (steps, "{gb: '10'}", "no"),
            ("{default: '2', validRange: {min: '1', step: '2'}}", "", "gb=2"),
            ("{default: '2', validRange: {min: '1', max: '3'}}", "{gb: 2500m}", "gb=2500m"),
            (values, "{gb: '2'}", "gb=4"),
            (values, "{gb: '9'}", "no"),
            (parts, "{gb: 600m}", "gb=750m"),
            (parts, "{gb: 1800m}", "gb=2"),
            (
                parts,
                "{gb: '1e17'}",
                "capacity \"gb\": capacity request cannot be represented in the device's range arithmetic: request 100e15 \
                 is not a representable milli value",
            ),
            ("{default: '1', validRange: {min: '1', step: 1n}}", "{gb: '2'}", "gb=2"),
            (
                "{default: '1', validRange: {min: '1', step: '10000000000000000000'}}",
                &format!("{{gb: '{huge}0'}}"),
                "capacity \"gb\": capacity request cannot be represented in the device's range arithmetic: request \
                 92233720368547758070 exceeds MaxInt64",
            ),
        ] {
            assert_eq!(taken(policy, wanted), taken_, "{policy} {wanted}");
        }
    }
}
