//! The scheduler in a small world: etcd, an API server, a controller manager, and nodes without kubelets. What a real
//! v1.37.2 cluster answered.

use crate::tests::decode;
use crate::{Config, Scheduler};
use api::core_v1::{Node, Pod};
use api::resource_v1::{DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice};
use api::rest::Credential;
use api::{Resource, Rev};
use apiserver::etcd_storage::Stored;
use client::{Client, ClientConfig};
use sim::{Addr, Ctx, Duration, Ip, Sim};
use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

const CP: Ip = Ip::new(172, 18, 0, 1);
const API: Addr = Addr { ip: CP, port: 6443 };

fn with_cluster<F: Future<Output = ()> + 'static>(test: impl FnOnce(Ctx, Client) -> F + 'static) {
    let sim = Sim::new(sim::Options { epoch_unix_nanos: 1_795_975_200_000_000_000, ..Default::default() });
    let host = sim.add_host("cp-1", CP);
    sim.start(host, "etcd", |ctx| async move {
        let _member = etcd::Member::<Stored>::start(&ctx, etcd::MemberConfig::single("cp-1", CP));
        std::future::pending::<()>().await;
    });
    sim.start(host, "kube-apiserver", move |ctx| {
        apiserver::Server::new(&ctx, apiserver::Config::new(CP, vec![Addr { ip: CP, port: 2379 }])).run()
    });
    sim.start(host, "kube-controller-manager", move |ctx| {
        controllers::ControllerManager::default().run(ctx, controllers::ManagerConfig::new(API))
    });
    sim.start(host, "kube-scheduler", move |ctx| {
        let user = Credential::Certificate { user: "system:kube-scheduler".into(), groups: Vec::new() };
        let client = ClientConfig::new(API, user, "kube-scheduler/v1.37.2").limited(50.0, 100);
        Scheduler::new(&ctx, Config { client, identity: "cp-1_x".into() }).run()
    });
    let done = Rc::new(Cell::new(false));
    let finished = done.clone();
    sim.start(host, "test", move |ctx| async move {
        let admin = Credential::Certificate { user: "kubernetes-admin".into(), groups: vec!["system:masters".into()] };
        let client = Client::new(&ctx, ClientConfig::new(API, admin, "kubectl/v1.37.2"));
        while client.get::<api::core_v1::ServiceAccount>("default", "default").await.is_err() {
            ctx.sleep(Duration::from_millis(100)).await;
        }
        // Until the scheduler leads and all informers have their first list.
        ctx.sleep(Duration::from_secs(20)).await;
        test(ctx, client).await;
        finished.set(true);
    });
    let limit = sim.now() + Duration::from_secs(3600);
    sim.run_while(limit, || !done.get()).unwrap();
    assert!(done.get(), "the test did not end");
}

async fn create<T: Resource>(client: &Client, yaml: &str) -> Rev<T> {
    let object: T = decode(yaml);
    let namespace = object.metadata().namespace.clone();
    client.create(&namespace, object).await.unwrap_or_else(|status| panic!("{status}"))
}

async fn node(client: &Client, name: &str) {
    let text = format!(
        "metadata: {{name: {name}}}\nstatus: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '110'}}, conditions: \
         [{{type: Ready, status: 'True'}}]}}"
    );
    create::<Node>(client, &text).await;
    // Controllers write into it, too.
    loop {
        let node: Rev<Node> = client.get("", name).await.unwrap();
        let mut ready = (*node).clone();
        ready.spec.make().taints = api::List::default();
        if client.update(ready, node.revision).await.is_ok() {
            break;
        }
    }
}

async fn pod(client: &Client, name: &str, claim: &str) {
    let text = format!(
        "metadata: {{name: {name}, namespace: default}}\nspec: {{resourceClaims: [{{name: d, {claim}}}], containers: \
         [{{name: c, image: x, resources: {{claims: [{{name: d}}]}}}}]}}"
    );
    create::<Pod>(client, &text).await;
}

async fn says(client: &Client, name: &str) -> (String, String) {
    let pod: Rev<Pod> = client.get("default", name).await.unwrap();
    let message = pod.status.conditions.iter().find(|c| c.type_ == *"PodScheduled").map(|c| c.message.to_string());
    (pod.spec.node_name.to_string(), message.unwrap_or_default())
}

#[test]
fn pods_get_the_devices_of_their_claims() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        node(&client, "node-2").await;
        create::<DeviceClass>(&client, "metadata: {name: gpu.example.com}\nspec: {}").await;
        create::<ResourceSlice>(
            &client,
            "metadata: {name: node-1-gpus}\nspec: {driver: gpu.example.com, nodeName: node-1, pool: {name: node-1, \
             generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}]}",
        )
        .await;
        let request = "devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}";
        let text = format!("metadata: {{name: one, namespace: default}}\nspec: {{spec: {{{request}}}}}");
        create::<ResourceClaimTemplate>(&client, &text).await;
        for (name, rest) in [("shared", request.to_string()), ("five", request.replace("}}]", ", count: 5}}]"))] {
            let text = format!("metadata: {{name: {name}, namespace: default}}\nspec: {{{rest}}}");
            create::<ResourceClaim>(&client, &text).await;
        }
        pod(&client, "tpl", "resourceClaimTemplateName: one").await;
        pod(&client, "five", "resourceClaimName: five").await;
        pod(&client, "missing", "resourceClaimName: nothere").await;
        pod(&client, "sh1", "resourceClaimName: shared").await;
        pod(&client, "sh2", "resourceClaimName: shared").await;
        ctx.sleep(Duration::from_secs(8)).await;
        for name in ["tpl", "sh1", "sh2"] {
            assert_eq!(says(&client, name).await.0, "node-1", "{name}: {}", says(&client, name).await.1);
        }
        let text = "0/2 nodes are available: 2 cannot allocate all claims. preemption: 0/2 nodes are available: 2 \
                    Preemption is not helpful for scheduling.";
        assert_eq!(says(&client, "five").await.1, text);
        // It is not tried, so nothing is said of it.
        assert_eq!(says(&client, "missing").await, (String::new(), String::new()));
        let shared: Rev<ResourceClaim> = client.get("default", "shared").await.unwrap();
        let users: Vec<&str> = shared.status.reserved_for.iter().map(|r| &*r.name).collect();
        assert_eq!(users, ["sh1", "sh2"]);
        assert_eq!(shared.metadata.finalizers.to_vec(), ["resource.kubernetes.io/delete-protection"]);
        let allocation = shared.status.allocation.get().expect("an allocation");
        assert!(!allocation.allocation_timestamp.is_zero());
        let terms = allocation.node_selector.get().map(|s| s.node_selector_terms.len());
        assert_eq!((allocation.devices.results.len(), terms), (1, Some(1)));
        // The claim comes, and what it wanted is free once others have gone.
        for name in ["tpl", "sh1", "sh2"] {
            let now = api::meta_v1::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
            client.delete::<Pod>("default", name, &now).await.unwrap();
        }
        let text = format!("metadata: {{name: nothere, namespace: default}}\nspec: {{{request}}}");
        create::<ResourceClaim>(&client, &text).await;
        ctx.sleep(Duration::from_secs(8)).await;
        assert_eq!(says(&client, "missing").await.0, "node-1");
        let shared: Rev<ResourceClaim> = client.get("default", "shared").await.unwrap();
        assert!(shared.status.allocation.is_none() && shared.metadata.finalizers.is_empty());
    });
}

#[test]
fn whoever_is_less_important_loses_what_it_was_promised() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        for (name, value) in [("low", 10), ("mid", 100), ("top", 1000)] {
            let text = format!("metadata: {{name: {name}}}\nvalue: {value}");
            create::<api::scheduling_v1::PriorityClass>(&client, &text).await;
        }
        for (name, class, cpu) in [("low1", "low", 2), ("low2", "low", 2), ("mid", "mid", 2), ("top", "top", 4)] {
            let text = format!(
                "metadata: {{name: {name}, namespace: default}}\nspec: {{priorityClassName: {class}, containers: \
                 [{{name: c, image: x, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}"
            );
            create::<Pod>(&client, &text).await;
            ctx.sleep(Duration::from_secs(3)).await;
            if name == "mid" {
                let mid: Rev<Pod> = client.get("default", "mid").await.unwrap();
                assert_eq!(mid.status.nominated_node_name, "node-1");
            }
        }
        let (mid, top): (Rev<Pod>, Rev<Pod>) =
            (client.get("default", "mid").await.unwrap(), client.get("default", "top").await.unwrap());
        assert_eq!((&*mid.status.nominated_node_name, &*top.status.nominated_node_name), ("", "node-1"));
        let refused = "0/1 nodes are available: 1 Insufficient cpu. preemption:";
        assert_eq!(says(&client, "mid").await.1, format!("{refused} 0/1 nodes are available: 1 Insufficient cpu."));
        let found = "found a potential placement for pod on node node-1, preempting 2 victims";
        assert_eq!(says(&client, "top").await.1, format!("{refused} {found}"));
        for name in ["low1", "low2"] {
            let low: Rev<Pod> = client.get("default", name).await.unwrap();
            assert!(!low.metadata.deletion_timestamp.is_zero(), "{name}");
        }
    });
}

#[test]
fn devices_are_tainted_by_rules_and_shared_by_capacity() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        create::<DeviceClass>(&client, "metadata: {name: gpu.example.com}\nspec: {}").await;
        create::<ResourceSlice>(
            &client,
            "metadata: {name: gpus}\nspec: {driver: gpu.example.com, nodeName: node-1, pool: {name: node-1, generation: 1, \
             resourceSliceCount: 1}, devices: [{name: gpu-0, allowMultipleAllocations: true, capacity: {memory: {value: \
             10Gi, requestPolicy: {default: 1Gi, validRange: {min: 1Gi, step: 1Gi}}}}}]}",
        )
        .await;
        let rule =
            "metadata: {name: broken}\nspec: {deviceSelector: {device: gpu-0}, taint: {key: k, effect: NoSchedule}}";
        create::<DeviceTaintRule>(&client, rule).await;
        for (name, memory) in [("one", "5500Mi"), ("two", "2Gi"), ("three", "3Gi")] {
            let text = format!(
                "metadata: {{name: {name}, namespace: default}}\nspec: {{devices: {{requests: [{{name: r, exactly: \
                 {{deviceClassName: gpu.example.com, capacity: {{requests: {{memory: {memory}}}}}}}}}]}}}}"
            );
            create::<ResourceClaim>(&client, &text).await;
        }
        pod(&client, "one", "resourceClaimName: one").await;
        ctx.sleep(Duration::from_secs(3)).await;
        let text = "0/1 nodes are available: 1 cannot allocate all claims. preemption: 0/1 nodes are available: 1 \
                    Preemption is not helpful for scheduling.";
        assert_eq!(says(&client, "one").await, (String::new(), text.into()));
        // Without the taint it is tried again.
        client.delete::<DeviceTaintRule>("", "broken", &Default::default()).await.unwrap();
        ctx.sleep(Duration::from_secs(3)).await;
        assert_eq!(says(&client, "one").await.0, "node-1");
        pod(&client, "two", "resourceClaimName: two").await;
        pod(&client, "three", "resourceClaimName: three").await;
        ctx.sleep(Duration::from_secs(3)).await;
        assert_eq!(says(&client, "two").await.0, "node-1", "{}", says(&client, "two").await.1);
        assert_eq!(says(&client, "three").await, (String::new(), text.into()));
        let mut shares = Vec::new();
        for (name, memory) in [("one", "6Gi"), ("two", "2Gi")] {
            let claim: Rev<ResourceClaim> = client.get("default", name).await.unwrap();
            let result = claim.status.allocation.get().and_then(|a| a.devices.results.first()).expect("a result");
            let consumed = result.consumed_capacity.get("memory").map(ToString::to_string);
            assert_eq!(consumed.as_deref(), Some(memory));
            shares.push(result.share_id.get().expect("a share").to_string());
        }
        assert!(shares[0].len() == 36 && shares[0] != shares[1]);
    });
}

/// Whether the pod's claim for extended resources is there, with what it asks for and has.
async fn special(client: &Client, pod: &str) -> Option<(Rev<ResourceClaim>, String)> {
    let pod: Rev<Pod> = client.get("default", pod).await.unwrap();
    let status = pod.status.extended_resource_claim_status.get()?;
    let mapping = |m: &api::core_v1::ContainerExtendedResourceRequest| {
        format!("{} {} {}", m.container_name, m.resource_name, m.request_name)
    };
    let claim = client.get("default", &status.resource_claim_name).await.ok()?;
    Some((claim, status.request_mappings.iter().map(mapping).collect::<Vec<_>>().join(", ")))
}

#[test]
fn extended_resources_are_had_as_devices() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        let asks = |name: &str, resource: &str, amount: u32| {
            format!(
                "metadata: {{name: {name}, namespace: default}}\nspec: {{containers: [{{name: c, image: x, resources: \
                 {{requests: {{cpu: 10m, {resource}: '{amount}'}}, limits: {{{resource}: '{amount}'}}}}}}]}}"
            )
        };
        create::<Pod>(&client, &asks("early", "example.com/gpu", 1)).await;
        ctx.sleep(Duration::from_secs(2)).await;
        let refused = |why: &str| {
            let text = format!(
                "0/1 nodes are available: 1 {why}. preemption: 0/1 nodes are available: 1 Preemption is not helpful for \
                 scheduling."
            );
            (String::new(), text)
        };
        assert_eq!(says(&client, "early").await, refused("Insufficient example.com/gpu"));
        create::<ResourceSlice>(
            &client,
            "metadata: {name: gpus}\nspec: {driver: gpu.example.com, allNodes: true, pool: {name: all, generation: 1, \
             resourceSliceCount: 1}, devices: [{name: gpu-0}, {name: gpu-1}]}",
        )
        .await;
        create::<DeviceClass>(&client, "metadata: {name: gpu}\nspec: {extendedResourceName: example.com/gpu}").await;
        create::<Pod>(&client, &asks("named", "deviceclass.resource.kubernetes.io/gpu", 1)).await;
        create::<Pod>(&client, &asks("none", "deviceclass.resource.kubernetes.io/other", 1)).await;
        ctx.sleep(Duration::from_secs(4)).await;
        create::<Pod>(&client, &asks("late", "example.com/gpu", 1)).await;
        ctx.sleep(Duration::from_secs(1)).await;
        // The class came for the one that waited.
        assert_eq!(says(&client, "early").await.0, "node-1", "{}", says(&client, "early").await.1);
        assert_eq!(says(&client, "named").await.0, "node-1", "{}", says(&client, "named").await.1);
        let why = "Insufficient deviceclass.resource.kubernetes.io/other";
        assert_eq!(says(&client, "none").await, refused(why));
        assert_eq!(says(&client, "late").await, refused("cannot allocate all claims"));
        let (claim, mappings) = special(&client, "early").await.expect("a claim");
        assert_eq!(mappings, "c example.com/gpu container-0-request-1");
        assert!(claim.metadata.name.starts_with("early-extended-resources-"), "{}", claim.metadata.name);
        assert_eq!(claim.metadata.generate_name, "early-extended-resources-");
        let annotation = claim.metadata.annotations.get("resource.kubernetes.io/extended-resource-claim");
        assert_eq!(annotation.map(|v| &**v), Some("true"));
        assert_eq!(claim.metadata.finalizers.to_vec(), ["resource.kubernetes.io/delete-protection"]);
        assert_eq!(claim.status.reserved_for.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["early"]);
        let results = claim.status.allocation.get().map(|a| &a.devices.results).expect("an allocation");
        let results: Vec<_> = results.iter().map(|r| (&*r.request, &*r.driver)).collect();
        assert_eq!(results, [("container-0-request-1", "gpu.example.com")]);
        // The claim goes with its pod, and another gets the device.
        let now = api::meta_v1::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
        client.delete::<Pod>("default", "early", &now).await.unwrap();
        ctx.sleep(Duration::from_secs(4)).await;
        assert!(client.get::<ResourceClaim>("default", &claim.metadata.name).await.is_err());
        assert_eq!(says(&client, "late").await.0, "node-1", "{}", says(&client, "late").await.1);
    });
}

#[test]
fn a_pod_waits_until_its_devices_are_ready() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        create::<DeviceClass>(&client, "metadata: {name: net}\nspec: {}").await;
        create::<ResourceSlice>(
            &client,
            "metadata: {name: nets}\nspec: {driver: net.example.com, allNodes: true, pool: {name: all, generation: 1, \
             resourceSliceCount: 1}, devices: [{name: nic-0, bindsToNode: true, bindingConditions: [e.com/attached], \
             bindingFailureConditions: [e.com/failed]}, {name: nic-1, bindsToNode: true, bindingConditions: \
             [e.com/attached], bindingFailureConditions: [e.com/failed]}]}",
        )
        .await;
        for name in ["good", "bad"] {
            let text = format!(
                "metadata: {{name: {name}, namespace: default}}\nspec: {{devices: {{requests: [{{name: r, exactly: \
                 {{deviceClassName: net}}}}]}}}}"
            );
            create::<ResourceClaim>(&client, &text).await;
            pod(&client, name, &format!("resourceClaimName: {name}")).await;
        }
        ctx.sleep(Duration::from_secs(2)).await;
        // Both wait, and say where they are to go.
        for (name, condition) in [("good", "e.com/attached"), ("bad", "e.com/failed")] {
            let waiting: Rev<Pod> = client.get("default", name).await.unwrap();
            let (at, to) = (&waiting.spec.node_name, &waiting.status.nominated_node_name);
            assert_eq!((&**at, &**to), ("", "node-1"), "{name}");
            let claim: Rev<ResourceClaim> = client.get("default", name).await.unwrap();
            let result = claim.status.allocation.get().and_then(|a| a.devices.results.first()).expect("a result");
            assert_eq!(result.binding_conditions.to_vec(), ["e.com/attached"]);
            let mut told = (*claim).clone();
            let device = format!(
                "driver: net.example.com\npool: all\ndevice: {}\nconditions: [{{type: {condition}, status: 'True', \
                 reason: CableCut, message: the cable was cut, lastTransitionTime: '2026-01-01T00:00:00Z'}}]",
                result.device
            );
            told.status.make().devices.push(decode(&device));
            client.update_status(told, claim.revision).await.unwrap_or_else(|status| panic!("{status}"));
        }
        // They are looked at every five seconds.
        ctx.sleep(Duration::from_millis(3_500)).await;
        assert_eq!(says(&client, "good").await.0, "node-1");
        // The other was freed from its device, and tries again.
        ctx.sleep(Duration::from_secs(3)).await;
        let text = "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of ResourceClaim \
                    completed, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
        assert_eq!(says(&client, "bad").await, (String::new(), text.into()));
        let events: Vec<Rev<api::core_v1::Event>> =
            client.list::<api::core_v1::Event>("default", &Default::default()).await.unwrap().items;
        let of_bad = events.iter().filter(|e| e.involved_object.name == "bad" && e.involved_object.kind == "Pod");
        let mut of_bad: Vec<_> = of_bad.map(|e| (e.event_time, &*e.reason, e.message.to_string())).collect();
        of_bad.sort_by_key(|(at, ..)| format!("{at:?}"));
        let of_bad: Vec<_> = of_bad.iter().map(|(_, reason, message)| format!("{reason}: {message}")).collect();
        let waits = "BindingConditionsPending: waiting for binding conditions for device on node node-1";
        let failed = "FailedScheduling: running PreBind plugin \"DynamicResources\": device binding failed: claim=bad, \
                      reason=CableCut, message=\"the cable was cut\"";
        assert_eq!(of_bad, [waits, failed, &format!("FailedScheduling: {text}"), waits]);
        // Whoever waits and is deleted leaves its room to others.
        let large = "metadata: {name: NAME, namespace: default}\nspec: {CLAIM containers: [{name: c, image: x, resources: \
                     {requests: {cpu: '3'}}}]}";
        let text = "metadata: {name: third, namespace: default}\nspec: {devices: {requests: [{name: r, exactly: \
                    {deviceClassName: more}}]}}";
        create::<ResourceClaim>(&client, text).await;
        create::<DeviceClass>(&client, "metadata: {name: more}\nspec: {}").await;
        create::<ResourceSlice>(
            &client,
            "metadata: {name: more}\nspec: {driver: more.example.com, allNodes: true, pool: {name: all, generation: 1, \
             resourceSliceCount: 1}, devices: [{name: nic-0, bindingConditions: [e.com/attached], \
             bindingFailureConditions: [e.com/failed]}]}",
        )
        .await;
        let claim = "resourceClaims: [{name: d, resourceClaimName: third}],";
        create::<Pod>(&client, &large.replace("NAME", "third").replace("CLAIM", claim)).await;
        ctx.sleep(Duration::from_secs(1)).await;
        create::<Pod>(&client, &large.replace("NAME", "fourth").replace("CLAIM", "")).await;
        ctx.sleep(Duration::from_secs(1)).await;
        assert_eq!(says(&client, "fourth").await.0, "");
        client.delete::<Pod>("default", "third", &Default::default()).await.unwrap();
        ctx.sleep(Duration::from_secs(2)).await;
        assert_eq!(says(&client, "fourth").await.0, "node-1", "{}", says(&client, "fourth").await.1);
        // Nobody says anything of the device: it is given up in the end.
        ctx.sleep(Duration::from_secs(604)).await;
        let late = "running PreBind plugin \"DynamicResources\": device binding timeout: context deadline exceeded";
        let events = client.list::<api::core_v1::Event>("default", &Default::default()).await.unwrap().items;
        assert!(events.iter().any(|e| e.message == *late));
    });
}

#[test]
fn a_pod_that_waits_for_devices_is_called_back_by_one_that_is_more_important() {
    with_cluster(|ctx, client| async move {
        node(&client, "node-1").await;
        create::<api::scheduling_v1::PriorityClass>(&client, "metadata: {name: top}\nvalue: 1000").await;
        create::<DeviceClass>(&client, "metadata: {name: net}\nspec: {}").await;
        create::<ResourceSlice>(
            &client,
            "metadata: {name: nets}\nspec: {driver: net.example.com, allNodes: true, pool: {name: all, generation: 1, \
             resourceSliceCount: 1}, devices: [{name: nic-0, bindingConditions: [e.com/attached], \
             bindingFailureConditions: [e.com/failed]}]}",
        )
        .await;
        let request = "devices: {requests: [{name: r, exactly: {deviceClassName: net}}]}";
        create::<ResourceClaim>(&client, &format!("metadata: {{name: nic, namespace: default}}\nspec: {{{request}}}"))
            .await;
        let asks = |name: &str, rest: &str| {
            format!(
                "metadata: {{name: {name}, namespace: default}}\nspec: {{{rest}, containers: [{{name: c, image: x, \
                 resources: {{requests: {{cpu: '3'}}}}}}]}}"
            )
        };
        create::<Pod>(&client, &asks("low", "resourceClaims: [{name: d, resourceClaimName: nic}]")).await;
        ctx.sleep(Duration::from_secs(2)).await;
        create::<Pod>(&client, &asks("top", "priorityClassName: top")).await;
        ctx.sleep(Duration::from_secs(4)).await;
        let events = client.list::<api::core_v1::Event>("default", &Default::default()).await.unwrap().items;
        let says = |name: &str, reason: &str| {
            let found = events.iter().find(|e| e.involved_object.name == *name && e.reason == *reason);
            found.map(|e| e.message.to_string()).unwrap_or_default()
        };
        let top: Rev<Pod> = client.get("default", "top").await.unwrap();
        let by = format!("Preempted by pod {} on node node-1 (in kube-scheduler memory).", top.metadata.uid);
        assert_eq!(says("low", "Preempted"), by);
        let why = "running PreBind plugin \"DynamicResources\": preempted by DefaultPreemption";
        assert_eq!(says("low", "FailedScheduling"), why);
        // It is tried again at once, when the other still holds the node, and deletes it. That it has gone then tells the
        // queue nothing, as it never had a node: v1.37.2 leaves the pod waiting, too.
        let series = events.iter().find(|e| e.reason == "Preempted").and_then(|e| e.series.get().map(|s| s.count));
        assert_eq!((&*top.spec.node_name, series), ("", Some(2)));
        assert!(client.get::<Pod>("default", "low").await.is_err());
    });
}
