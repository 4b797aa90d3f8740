//! The allocator, by table. The cases are those that Kubernetes' own tests document, and what a real v1.37.2 cluster
//! answered.

use super::*;
use crate::devices::allocator::allocate;
use crate::plugins;
use crate::tests::{decode, node, pod, refusals, schedule, snapshot, three};
use api::Object;

fn object<T: Object + Default>(yaml: &str) -> T {
    let value = api::yaml::parse(yaml).expect("YAML");
    let mut object = T::default();
    api::json::decode(value.to_json().as_bytes(), &mut object, true).expect("an object");
    object
}

fn listed<T: api::Resource>(all: &[&str]) -> Vec<Rev<T>> {
    all.iter().map(|text| Rev::new(1, object::<T>(text))).collect()
}

/// A claim with this spec of devices.
fn claim(name: &str, devices: &str, status: &str) -> ResourceClaim {
    object(&format!(
        "metadata: {{name: {name}, namespace: default, uid: uid-{name}}}\nspec: {{devices: {devices}}}\nstatus: {status}"
    ))
}

fn exactly(rest: &str) -> String {
    format!("{{requests: [{{name: r, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, {rest}}}}}]}}")
}

const ONE: &str = "count: 1";
const CLASS: &str = "metadata: {name: gpu}\nspec: {}";

fn slice(name: &str, rest: &str) -> String {
    format!("metadata: {{name: {name}}}\nspec: {{driver: d, {rest}}}")
}

/// A slice that is all of its pool, with these devices, for `node-a`.
fn on_a(devices: &str) -> String {
    slice(
        "s",
        &format!("nodeName: node-a, pool: {{name: a, generation: 1, resourceSliceCount: 1}}, devices: {devices}"),
    )
}

/// What the claims of these specs get on `node-a`: `device device ...` for each, or why not.
fn got(slices: &[String], classes: &[&str], claims: &[String], taken: &[&str]) -> String {
    let slices: Vec<&str> = slices.iter().map(String::as_str).collect();
    let claims: Vec<_> = (0..).zip(claims).map(|(i, spec)| Rev::new(1, claim(&format!("c{i}"), spec, "{}"))).collect();
    let mut taken_ = InUse::default();
    for device in taken {
        let (device, share) = device.split_once(':').map_or((*device, None), |(device, gb)| (device, Some(gb)));
        let id: DeviceId = ("d".into(), "a".into(), device.into());
        match share {
            None => drop(taken_.dedicated.insert(id)),
            Some(gb) => {
                drop(taken_.shared.insert(id, [("gb".into(), api::Quantity::parse(gb).unwrap())].into_iter().collect()))
            }
        }
    }
    let node = node("node-a", "za", "{}");
    match allocate(&claims, &node, &listed(&slices), &Lister::of(listed(classes)), &taken_) {
        Ok(results) => {
            let share = |d: &api::resource_v1::DeviceRequestAllocationResult| match d.share_id.get() {
                None => String::new(),
                Some(_) => d.consumed_capacity.iter().map(|(_, amount)| format!(":{amount}")).collect(),
            };
            let devices = |r: &AllocationResult| -> Vec<String> {
                r.devices.results.iter().map(|d| format!("{}={}{}", d.request, d.device, share(d))).collect()
            };
            results.iter().map(|r| devices(r).join(" ")).collect::<Vec<_>>().join("; ")
        }
        Err(Failure::Unschedulable(why)) => why,
        Err(Failure::Error(why)) => format!("error: {why}"),
    }
}

const NONE: &str = "cannot allocate all claims";

#[test]
fn devices_for_claims() {
    let two = "[{name: x}, {name: w}]";
    let all = "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]}".to_string();
    let first = |a: &str, b: &str| {
        let alternative = |name: &str, count: &str| {
            format!("{{name: {name}, deviceClassName: gpu, allocationMode: ExactCount, count: {count}}}")
        };
        format!("{{requests: [{{name: r, firstAvailable: [{}, {}]}}]}}", alternative("big", a), alternative("small", b))
    };
    let admin = exactly("count: 1, adminAccess: true");
    for (what, devices, claims, taken, wanted) in [
        ("the first that is free", two, vec![exactly(ONE)], vec![], "r=x"),
        ("what others have is not", two, vec![exactly(ONE)], vec!["x"], "r=w"),
        ("two claims", two, vec![exactly(ONE), exactly(ONE)], vec![], "r=x; r=w"),
        ("two of one claim", two, vec![exactly("count: 2")], vec![], "r=x r=w"),
        ("too many", two, vec![exactly("count: 3")], vec![], NONE),
        ("all", two, vec![all.clone()], vec![], "r=x r=w"),
        ("all, but one is taken", two, vec![all.clone()], vec!["w"], NONE),
        ("all of nothing", "[]", vec![all], vec![], NONE),
        ("the first alternative", two, vec![first("2", "1")], vec![], "r/big=x r/big=w"),
        ("the second alternative", two, vec![first("3", "1")], vec![], "r/small=x"),
        ("an administrator may look into all", two, vec![admin.clone(), admin], vec!["x"], "r=x; r=x"),
        (
            "a taint",
            "[{name: x, taints: [{key: k, effect: NoSchedule}]}, {name: w, taints: [{key: k, effect: None}]}]",
            vec![exactly(ONE)],
            vec![],
            "r=w",
        ),
        (
            "a tolerated taint",
            "[{name: x, taints: [{key: k, effect: NoExecute}]}]",
            vec![exactly("count: 1, tolerations: [{key: k, operator: Exists}]")],
            vec![],
            "r=x",
        ),
        (
            "more than a claim may have",
            two,
            vec![exactly("count: 33")],
            vec![],
            "error: claim default/c0, request r: adding 33 devices exceeds the claim limit of 32, with 0 already \
             accounted for",
        ),
    ] {
        assert_eq!(got(&[on_a(devices)], &[CLASS], &claims, &taken), wanted, "{what}");
    }
    let text = "error: claim default/c0, request r: could not retrieve device class gpu: deviceclass.resource.k8s.io \
                \"gpu\" not found";
    assert_eq!(got(&[on_a(two)], &[], &[exactly(ONE)], &[]), text);
}

#[test]
fn constraints_on_attributes() {
    let devices = "[{name: x, attributes: {numa: {int: 0}}}, {name: w, attributes: {d/numa: {int: 1}}}, \
                   {name: z, attributes: {numa: {int: 1}}}, {name: bare}]";
    let with = |constraint: &str, count: u32| {
        let request = format!("{{deviceClassName: gpu, allocationMode: ExactCount, count: {count}}}");
        format!("{{requests: [{{name: r, exactly: {request}}}], constraints: [{constraint}]}}")
    };
    for (constraint, count, wanted) in [
        ("{matchAttribute: d/numa}", 2, "r=w r=z"),
        ("{matchAttribute: d/numa}", 3, NONE),
        ("{distinctAttribute: d/numa}", 2, "r=x r=w"),
        ("{distinctAttribute: d/numa}", 3, NONE),
        // One that is about another request.
        ("{matchAttribute: d/numa, requests: [other]}", 2, "r=x r=w"),
        ("{matchAttribute: d/absent}", 1, NONE),
    ] {
        assert_eq!(got(&[on_a(devices)], &[CLASS], &[with(constraint, count)], &[]), wanted, "{constraint} {count}");
    }
}

#[test]
fn pools() {
    let pool = |generation: u32, count: u32| {
        format!("pool: {{name: a, generation: {generation}, resourceSliceCount: {count}}}")
    };
    let of = |name: &str, generation: u32, count: u32, rest: &str| {
        slice(name, &format!("{}, {rest}", pool(generation, count)))
    };
    let x = "nodeName: node-a, devices: [{name: x}]";
    let all = "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]}".to_string();
    for (what, slices, claim, wanted) in [
        ("a slice is missing", vec![of("s", 1, 2, x)], exactly(ONE), NONE),
        (
            "all, and a slice is missing",
            vec![of("s", 1, 2, x)],
            all,
            "error: claim default/c0, request r: asks for all devices, but resource pool d/a is currently being updated",
        ),
        (
            "the rest is elsewhere",
            vec![of("s", 1, 2, x), of("t", 1, 2, "nodeName: node-b, devices: [{name: w}]")],
            exactly(ONE),
            "r=x",
        ),
        (
            "an older generation",
            vec![of("s", 2, 1, x), of("t", 1, 1, "nodeName: node-a, devices: [{name: w}]")],
            exactly(ONE),
            "r=x",
        ),
        (
            "replaced by one elsewhere",
            vec![of("s", 1, 2, x), of("t", 2, 1, "nodeName: node-b, devices: [{name: w}]")],
            exactly(ONE),
            NONE,
        ),
        (
            "a name twice",
            vec![of("s", 1, 2, x), of("t", 1, 2, x)],
            exactly(ONE),
            "invalid resource pools were encountered",
        ),
        ("all nodes", vec![of("s", 1, 1, "allNodes: true, devices: [{name: x}]")], exactly(ONE), "r=x"),
        ("another node", vec![of("s", 1, 1, "nodeName: node-b, devices: [{name: x}]")], exactly(ONE), NONE),
        (
            "each device for itself",
            vec![of(
                "s",
                1,
                1,
                "perDeviceNodeSelection: true, devices: [{name: x, nodeName: node-b}, {name: w, allNodes: true}]",
            )],
            exactly(ONE),
            "r=w",
        ),
        // By name of the slice, not in the order of writing.
        (
            "in order",
            vec![of("t", 1, 2, x), of("s", 1, 2, "nodeName: node-a, devices: [{name: w}]")],
            exactly(ONE),
            "r=w",
        ),
    ] {
        assert_eq!(got(&slices, &[CLASS], &[claim], &[]), wanted, "{what}");
    }
}

#[test]
fn devices_that_share_counters() {
    let part = |name: &str, amount: u32| {
        format!("{{name: {name}, consumesCounters: [{{counterSet: mem, counters: {{gb: {{value: '{amount}'}}}}}}]}}")
    };
    let pool = "pool: {name: a, generation: 1, resourceSliceCount: 2}";
    let sets = slice(
        "sets",
        &format!("nodeName: node-a, {pool}, sharedCounters: [{{name: mem, counters: {{gb: {{value: '8'}}}}}}]"),
    );
    let parts = format!("[{}, {}, {}]", part("whole", 8), part("half-0", 4), part("half-1", 4));
    let slices = [sets, slice("parts", &format!("nodeName: node-a, {pool}, devices: {parts}"))];
    for (what, claims, taken, wanted) in [
        ("the whole", vec![exactly(ONE)], vec![], "r=whole"),
        ("both halves", vec![exactly("count: 2")], vec![], "r=half-0 r=half-1"),
        ("half is gone", vec![exactly(ONE)], vec!["half-1"], "r=half-0"),
        ("all is gone", vec![exactly(ONE)], vec!["whole"], NONE),
        ("two claims", vec![exactly(ONE), exactly(ONE)], vec![], "r=half-0; r=half-1"),
    ] {
        assert_eq!(got(&slices, &[CLASS], &claims, &taken), wanted, "{what}");
    }
    // A counter that is not there makes the pool invalid.
    let wrong = "nodeName: node-a, pool: {name: a, generation: 1, resourceSliceCount: 1}, devices: [";
    let wrong = [slice("s", &format!("{wrong}{}]", part("x", 1)))];
    assert_eq!(got(&wrong, &[CLASS], &[exactly(ONE)], &[]), "invalid resource pools were encountered");
}

#[test]
fn what_a_claim_says_it_got() {
    let class = "metadata: {name: gpu}\nspec: {config: [{opaque: {driver: d, parameters: {a: 1}}}]}";
    let spec = "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}, \
                {name: q, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1}}], \
                config: [{requests: [q], opaque: {driver: d, parameters: {b: 2}}}]}";
    let claims = vec![Rev::new(1, claim("c", spec, "{}"))];
    let node = node("node-a", "za", "{}");
    let slices = [on_a("[{name: x}, {name: w}]")];
    let slices: Vec<Rev<ResourceSlice>> = listed(&[&slices[0]]);
    let got = allocate(&claims, &node, &slices, &Lister::of(listed(&[class])), &InUse::default()).unwrap();
    let text = api::json::to_value_bare(&got[0]).to_json();
    assert_eq!(
        text,
        "{\"devices\":{\"config\":[{\"opaque\":{\"driver\":\"d\",\"parameters\":{\"a\":1}},\"source\":\"FromClass\"},\
         {\"opaque\":{\"driver\":\"d\",\"parameters\":{\"b\":2}},\"requests\":[\"q\"],\"source\":\"FromClaim\"}],\
         \"results\":[{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"a\",\"request\":\"r\"},\
         {\"device\":\"w\",\"driver\":\"d\",\"pool\":\"a\",\"request\":\"q\"}]},\"nodeSelector\":{\"nodeSelectorTerms\":\
         [{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"node-a\"]}]}]}}"
    );
}

/// A cluster of three nodes, the first with two devices, and these claims.
fn cluster(claims: &[ResourceClaim]) -> crate::cache::Snapshot {
    let mut all = snapshot(three());
    let slices = [on_a("[{name: x}, {name: w}]")];
    all.devices = Devices::new(
        Lister::of(claims.iter().map(|c| Rev::new(1, c.clone()))),
        Lister::of(listed(&[&slices[0]])),
        Lister::of([]),
        Lister::of(listed(&[CLASS])),
    );
    all
}

fn using(claim: &str) -> std::rc::Rc<crate::node_info::PodInfo> {
    pod(
        "p",
        &format!("{{resourceClaims: [{{name: d, resourceClaimName: {claim}}}], containers: [{{name: c, image: x}}]}}"),
    )
}

#[test]
fn the_plugin_refuses_in_kubernetes_words() {
    let elsewhere = "{allocation: {devices: {results: [{request: r, driver: d, pool: a, device: x}]}, nodeSelector: \
                     {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-b]}]}]}}}";
    let no_class = exactly(ONE).replace("gpu", "absent");
    let all = cluster(&[
        claim("one", &exactly(ONE), "{}"),
        claim("five", &exactly("count: 5"), "{}"),
        claim("odd", &no_class, "{}"),
        claim("there", &exactly(ONE), elsewhere),
    ]);
    let none = "DynamicResources cannot allocate all claims []";
    let says = |name: &str| refusals(&schedule(&using(name), &all));
    assert_eq!(says("one"), [format!("node-b: {none}"), format!("node-c: {none}")]);
    assert_eq!(says("five"), [format!("node-a: {none}"), format!("node-b: {none}"), format!("node-c: {none}")]);
    assert_eq!(says("odd")[0], "node-a: DynamicResources request r: device class absent does not exist []");
    let not_here = "DynamicResources resourceclaim not available on the node [claim there]";
    assert_eq!(says("there"), [format!("node-a: {not_here}"), format!("node-c: {not_here}")]);
    // What another claim has is not there for the next, nor what is being written.
    let taken = cluster(&[claim("one", &exactly("count: 2"), "{}"), claim("there", &exactly(ONE), elsewhere)]);
    assert_eq!(refusals(&schedule(&using("one"), &taken)).len(), 3);
    let claims = all.devices.claims_of(&using("one").pod).unwrap();
    let found = all.devices.plan(&claims, None, &all.nodes[0], &all.devices.stock()).unwrap();
    all.devices.reserve(Chosen { claims, found, special: None }, &mut sim::Rng::split(1, "shares"));
    let text = "node-a: DynamicResources resource claim default/one is in the process of being allocated []";
    assert_eq!(says("one")[0], text);
}

#[test]
fn a_pod_waits_for_its_claims() {
    let gate = plugins::named("DynamicResources").and_then(|p| p.pre_enqueue).unwrap();
    let going = object::<ResourceClaim>(
        "metadata: {name: going, namespace: default, deletionTimestamp: '2026-01-01T00:00:00Z'}\nspec: {devices: {}}",
    );
    let all = cluster(&[claim("one", &exactly(ONE), "{}"), going]);
    let gates = crate::framework::Gates { devices: all.devices.clone(), ..Default::default() };
    let says = |pod: &crate::node_info::PodInfo| gate(pod, &gates).map(|r| r.reasons[0].text.to_string());
    assert_eq!(says(&using("one")), None);
    assert_eq!(says(&using("absent")).as_deref(), Some("could not find ResourceClaim \"default/absent\""));
    assert_eq!(says(&using("going")).as_deref(), Some("resourceclaim \"going\" is being deleted"));
    let made = "{resourceClaims: [{name: d, resourceClaimTemplateName: t}], containers: [{name: c, image: x}]}";
    assert_eq!(says(&pod("p", made)).as_deref(), Some("pod \"default/p\": ResourceClaim not created yet"));
    // One of that name that is somebody else's.
    let told = decode::<Pod>(&format!(
        "metadata: {{name: p, namespace: default, uid: u}}\nspec: {made}\n\
         status: {{resourceClaimStatuses: [{{name: d, resourceClaimName: one}}]}}"
    ));
    let text = "ResourceClaim default/one was not created for Pod default/p (Pod is not owner)";
    assert_eq!(says(&crate::node_info::PodInfo::new(Rev::new(1, told))).as_deref(), Some(text));
}

#[test]
fn selectors_of_claims_and_classes() {
    let devices =
        "[{name: x, attributes: {model: {string: a}}}, {name: w, attributes: {model: {string: b}}}, {name: v}]";
    let of = |model: &str| format!("[{{cel: {{expression: \"device.attributes['d'].model == '{model}'\"}}}}]");
    let class = format!("metadata: {{name: gpu}}\nspec: {{selectors: {}}}", of("b"));
    let wants = |model: &str| exactly(&format!("count: 1, selectors: {}", of(model)));
    assert_eq!(got(&[on_a(devices)], &[CLASS], &[wants("a")], &[]), "r=x");
    assert_eq!(got(&[on_a(devices)], &[&class], &[exactly(ONE)], &[]), "r=w");
    let both = devices.replace(", {name: v}", "");
    assert_eq!(got(&[on_a(&both)], &[&class], &[wants("a")], &[]), NONE);
    // The first device that does not have what is asked for ends the search.
    assert_eq!(
        got(&[on_a(devices)], &[CLASS], &[wants("c")], &[]),
        "error: claim default/c0: selector #0 on device d/a/v: CEL runtime error: no such key: model. consider using CEL \
         optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields"
    );
}

#[test]
fn devices_that_are_shared_by_capacity() {
    let of = |gb: &str, rest: &str| {
        let amount = if gb.is_empty() { String::new() } else { format!(", capacity: {{requests: {{gb: '{gb}'}}}}") };
        exactly(&format!("count: 1{amount}{rest}"))
    };
    let shared = "[{name: x, allowMultipleAllocations: true, capacity: {gb: {value: '10', requestPolicy: {default: '1', \
                  validRange: {min: '1', step: '1'}}}}}, {name: w, capacity: {gb: {value: '4'}}}]";
    let two = "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 2, capacity: \
               {requests: {gb: '3'}}}}]}"
        .to_string();
    let all = "{requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All, capacity: {requests: {gb: \
               '5'}}}}]}"
        .to_string();
    let twice = |rest: &str| {
        let one = |name: &str| {
            format!(
                "{{name: {name}, exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: 1, capacity: {{requests: {{gb: '4'}}}}}}}}"
            )
        };
        format!("{{requests: [{}, {}]{rest}}}", one("r"), one("q"))
    };
    for (what, claims, taken, wanted) in [
        ("what it takes if nothing is said", vec![of("", "")], vec![], "r=x:1"),
        ("so much of it", vec![of("6", "")], vec![], "r=x:6"),
        ("two claims", vec![of("6", ""), of("4", "")], vec![], "r=x:6; r=x:4"),
        ("the other has it", vec![of("6", ""), of("5", "")], vec![], NONE),
        ("one that fits elsewhere", vec![of("6", ""), of("4500m", "")], vec![], NONE),
        ("one that is not shared gives all", vec![of("8", ""), of("3", "")], vec![], "r=x:8; r=w"),
        ("others have some", vec![of("6", "")], vec!["x:4"], "r=x:6"),
        ("others have too much", vec![of("6", "")], vec!["x:5"], NONE),
        ("one that is not shared", vec![of("3", "")], vec!["x:10"], "r=w"),
        ("a capacity that is not there", vec![of("3", "").replace("gb", "mb")], vec![], NONE),
        ("each device once a request", vec![two], vec![], "r=x:3 r=w"),
        ("all that are large enough", vec![all.clone()], vec![], "r=x:5"),
        ("all, but others have some", vec![all], vec!["x:6"], NONE),
        ("a device twice", vec![twice("")], vec![], "r=x:4 q=x:4"),
        ("somebody has it all", vec![of("1", "")], vec!["x", "w"], NONE),
        (
            "an amount that is none",
            vec![of("-1", "")],
            vec!["x"],
            "error: claim default/c0, request r: checking capacity for device d/a/w: capacity \"gb\": capacity value is \
             negative",
        ),
    ] {
        assert_eq!(got(&[on_a(shared)], &[CLASS], &claims, &taken), wanted, "{what}");
    }
    // Two shares of a device have one attribute.
    let named = shared.replace("true, cap", "true, attributes: {id: {string: x}}, cap");
    let named = named.replace("name: w, ", "name: w, attributes: {id: {string: w}}, ");
    let distinct = twice(", constraints: [{distinctAttribute: d/id}]");
    assert_eq!(got(&[on_a(&named)], &[CLASS], &[distinct], &[]), "r=x:4 q=w");
}

#[test]
fn those_that_share_a_device_use_its_counters_once() {
    let pool = "nodeName: node-a, pool: {name: a, generation: 1, resourceSliceCount: 2}";
    let sets = slice("sets", &format!("{pool}, sharedCounters: [{{name: mem, counters: {{gb: {{value: '8'}}}}}}]"));
    let part = |name: &str, rest: &str| {
        format!("{{name: {name}{rest}, consumesCounters: [{{counterSet: mem, counters: {{gb: {{value: '8'}}}}}}]}}")
    };
    let shared = part("x", ", allowMultipleAllocations: true, capacity: {gb: {value: '10'}}");
    let slices = [sets, slice("parts", &format!("{pool}, devices: [{shared}, {}]", part("w", "")))];
    let of = |gb: u32| exactly(&format!("count: 1, capacity: {{requests: {{gb: '{gb}'}}}}"));
    for (what, claims, taken, wanted) in [
        ("two claims", vec![of(4), of(4)], vec![], "r=x:4; r=x:4"),
        ("somebody shares it already", vec![of(4)], vec!["x:4"], "r=x:4"),
        ("nothing is left for the other", vec![exactly(ONE)], vec!["x:10"], NONE),
    ] {
        assert_eq!(got(&slices, &[CLASS], &claims, &taken), wanted, "{what}");
    }
}

#[test]
fn what_is_asked_of_a_device_before_what() {
    // A selector that fails counts, though the device is tainted; not if somebody has it.
    let devices = "[{name: x, taints: [{key: k, effect: NoSchedule}]}]";
    let fails = exactly("count: 1, selectors: [{cel: {expression: \"device.attributes['d'].model == 'a'\"}}]");
    assert!(
        got(&[on_a(devices)], &[CLASS], std::slice::from_ref(&fails), &[])
            .starts_with("error: claim default/c0: selector #0")
    );
    assert_eq!(got(&[on_a(devices)], &[CLASS], &[fails], &["x"]), NONE);
}
