//! Taints that rules put on devices (`resourceslice/tracker`).

use api::resource_v1::{DeviceTaintRule, ResourceSlice};
use api::{OStr, Rev, Str};

/// Which devices of a slice a rule is about; none without a selector.
fn tainted(rule: &DeviceTaintRule, slice: &ResourceSlice) -> Vec<usize> {
    let spec = &slice.spec;
    let is = |wanted: &OStr, has: &Str| wanted.get().is_none_or(|wanted| *wanted == **has);
    match rule.spec.device_selector.get() {
        Some(wanted) if is(&wanted.driver, &spec.driver) && is(&wanted.pool, &spec.pool.name) => {
            let devices = spec.devices.iter().enumerate();
            devices.filter(|(_, device)| is(&wanted.device, &device.name)).map(|(at, _)| at).collect()
        }
        _ => Vec::new(),
    }
}

/// The slices with the taints of rules after those that the drivers have set.
pub(super) fn with_rules(slices: Vec<Rev<ResourceSlice>>, rules: &[Rev<DeviceTaintRule>]) -> Vec<Rev<ResourceSlice>> {
    if rules.is_empty() {
        return slices;
    }
    let patched = |slice: Rev<ResourceSlice>| {
        let mut patched: Option<ResourceSlice> = None;
        for rule in rules {
            for at in tainted(rule, &slice) {
                let spec = patched.get_or_insert_with(|| (*slice).clone()).spec.make();
                if let Some(device) = spec.devices.make().get_mut(at) {
                    device.taints.push(rule.spec.taint.clone());
                }
            }
        }
        patched.map_or(slice.clone(), |patched| Rev::new(slice.revision, patched))
    };
    slices.into_iter().map(patched).collect()
}

/// Whether devices have other taints now that a rule has changed, come or gone.
pub(crate) fn changes(
    old: Option<&DeviceTaintRule>,
    new: Option<&DeviceTaintRule>,
    slices: &[Rev<ResourceSlice>],
) -> bool {
    let adds = |rule: Option<&DeviceTaintRule>, slice| rule.map_or(Vec::new(), |rule| tainted(rule, slice));
    let is_same = old.zip(new).is_some_and(|(old, new)| api::equality::semantic(&old.spec.taint, &new.spec.taint));
    slices.iter().any(|slice| {
        let (before, after) = (adds(old, slice), adds(new, slice));
        before != after || (!is_same && !after.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decode;

    fn rule(selector: &str, key: &str) -> Rev<DeviceTaintRule> {
        let text = format!("metadata: {{name: {key}}}\nspec: {{{selector}taint: {{key: {key}, effect: NoSchedule}}}}");
        Rev::new(1, decode(&text))
    }

    #[test]
    fn rules_add_their_taint_to_the_devices_that_they_select() {
        let slice = "metadata: {name: s}\nspec: {driver: d, nodeName: node-a, pool: {name: a, generation: 1, \
                     resourceSliceCount: 1}, devices: [{name: x, taints: [{key: own, effect: None}]}, {name: z}]}";
        let slices: Vec<Rev<ResourceSlice>> = vec![Rev::new(1, decode(slice))];
        let taints = |rules: &[Rev<DeviceTaintRule>]| -> Vec<String> {
            let patched = with_rules(slices.clone(), rules);
            let keys = |d: &api::resource_v1::Device| d.taints.iter().map(|t| t.key.to_string()).collect::<Vec<_>>();
            patched.iter().flat_map(|s| s.spec.devices.iter().map(|d| keys(d).join("+")).collect::<Vec<_>>()).collect()
        };
        for (selector, wanted) in [
            ("", ["own", ""]),
            ("deviceSelector: {}, ", ["own+k", "k"]),
            ("deviceSelector: {driver: d, pool: a}, ", ["own+k", "k"]),
            ("deviceSelector: {device: z}, ", ["own", "k"]),
            ("deviceSelector: {driver: other}, ", ["own", ""]),
            ("deviceSelector: {driver: d, pool: b}, ", ["own", ""]),
        ] {
            assert_eq!(taints(&[rule(selector, "k")]), wanted, "{selector}");
        }
        let (all, none) = (rule("deviceSelector: {}, ", "k"), rule("deviceSelector: {pool: b}, ", "k"));
        assert_eq!(taints(&[all.clone(), rule("deviceSelector: {device: x}, ", "l")]), ["own+k+l", "k"]);
        for (old, new, wanted) in [
            (None, Some(&*all), true),
            (Some(&*all), None, true),
            (Some(&*all), Some(&*all), false),
            (Some(&*none), Some(&*all), true),
            (Some(&*all), Some(&*rule("deviceSelector: {}, ", "l")), true),
            (None, Some(&*none), false),
        ] {
            assert_eq!(changes(old, new, &slices), wanted);
        }
    }
}
