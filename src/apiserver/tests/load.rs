//! How much of the machine's time a write takes, all in: run with `--release -- --ignored --nocapture load`.

use super::*;
use api::core_v1::{Container, Event, Pod};

const PODS: usize = 2000;
const NODES: usize = 100;

#[test]
#[ignore = "a measurement"]
fn load() {
    with_server(|ctx, client, server| async move {
        let mut account = api::core_v1::ServiceAccount::default();
        account.metadata.name = "default".into();
        client.create("default", account).await.unwrap();
        for i in 0..NODES {
            let watcher = Client::new(&ctx).await;
            let options =
                ListOptions { field_selector: format!("spec.nodeName=node-{i}").into(), ..Default::default() };
            watcher.watch(Pod::KIND, "", options).await.unwrap();
            ctx.spawn("kubelet", async move { while !watcher.events().await.is_empty() {} });
        }
        for _ in 0..3 {
            let watcher = Client::new(&ctx).await;
            watcher.watch(Pod::KIND, "", Default::default()).await.unwrap();
            ctx.spawn("informer", async move { while !watcher.events().await.is_empty() {} });
        }
        let clock = std::time::Instant::now();
        let mut writes = 0;
        let mut lap = |what: &str, count: usize| {
            writes += count;
            eprintln!("{what}: {:.1} us", clock.elapsed().as_secs_f64() * 1e6 / writes as f64);
        };
        for i in 0..PODS {
            let mut pod = Pod::default();
            pod.metadata.generate_name = "web-".into();
            pod.metadata.labels.insert(Str::from("app"), Str::from("web"));
            let container = Container { name: "nginx".into(), image: "nginx:1.27".into(), ..Default::default() };
            pod.spec.make().containers.make().push(container);
            let created = client.create("default", pod).await.unwrap();
            let name = created.metadata.name.clone();
            let mut binding = api::core_v1::Binding::default();
            binding.metadata.name = name.clone();
            binding.target.kind = "Node".into();
            binding.target.name = format!("node-{}", i % NODES).into();
            let path = ["binding", "default", &*name];
            client.object(Verb::Create, Pod::KIND, path, Body::Object(Rc::new(binding))).await.unwrap();
            let mut now = client.get::<Pod>("default", &name).await.unwrap();
            for phase in ["Pending", "Running", "Running"] {
                let body = Rc::make_mut(&mut now.body);
                body.status.make().phase = phase.into();
                body.status.make().message = format!("{i} {phase} {}", now.revision).into();
                now = client.update("status", &now).await.unwrap();
            }
            for reason in ["Pulled", "Created", "Started"] {
                let mut event = Event::default();
                event.metadata.name = format!("{name}.{reason}").into();
                event.metadata.namespace = "default".into();
                event.involved_object.kind = "Pod".into();
                event.involved_object.namespace = "default".into();
                event.involved_object.name = name.clone();
                event.reason = reason.into();
                client.create("default", event).await.unwrap();
            }
            if i % 500 == 499 {
                lap("a write", 500 * 8);
            }
        }
        let cache = server.inner().cache.resource(server.inner().pods);
        assert_eq!(cache.len(), PODS);
    });
}
