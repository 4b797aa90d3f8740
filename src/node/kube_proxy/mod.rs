//! kube-proxy: keeps a node's rules for Services the way the API server has them (pkg/proxy, nftables mode).

mod health;
mod rules;
mod tables;

use api::core_v1::{Node, Service};
use api::discovery_v1::EndpointSlice;
use api::networking_v1::ServiceCIDR;
use api::rest::Credential;
use api::{Resource, Str};
use client::{Causes, Client, ClientConfig, EventsV1Recorder, Informer, InformerOptions, klog};
use health::Health;
use rules::Place;
use sim::sync::Notify;
use sim::{Addr, Ctx, Duration};
use std::cell::Cell;
use std::rc::Rc;
use tables::Tables;

/// Time between two updates of the rules at least.
const MIN_SYNC_PERIOD: Duration = Duration::from_secs(1);

/// How a kube-proxy is set up.
#[derive(Clone, Debug)]
pub struct KubeProxyConfig {
    /// The node's name.
    pub node_name: Str,
    /// The API server.
    pub server: Addr,
    /// Version of Kubernetes, `v1.37.2`.
    pub version: Str,
}

impl KubeProxyConfig {
    /// A kube-proxy of this version.
    pub fn new(node_name: &str, server: Addr) -> Self {
        Self { node_name: node_name.into(), server, version: "v1.37.2".into() }
    }
}

/// Runs a kube-proxy until its process ends.
pub async fn run(ctx: Ctx, config: KubeProxyConfig) {
    let credential = Credential::Certificate {
        user: "system:kube-proxy".into(),
        groups: vec!["system:node-proxier".into(), "system:authenticated".into()],
    };
    let agent = format!("kube-proxy/{} (linux/amd64) kubernetes/0000000", config.version);
    let client = Client::new(&ctx, ClientConfig::new(config.server, credential, agent).limited(5.0, 10));
    let ip = ctx.host_ip();
    let tables = Tables::new(&ctx);
    let wanted = Notify::new();
    let pending = Rc::new(Cell::new(false));
    let health = Health::new(&ctx);

    fn informer<T: Resource>(client: &Client, labels: &str, fields: String) -> Informer<T> {
        let options = InformerOptions {
            label_selector: labels.into(),
            field_selector: fields.into(),
            name: "k8s.io/client-go/informers/factory.go:160",
            ..InformerOptions::default()
        };
        Informer::new(client.clone(), options)
    }
    let nodes = informer::<Node>(&client, "", format!("metadata.name={}", config.node_name));
    nodes.run();
    nodes.synced().await;
    klog::info("Successfully retrieved NodeIPs").raw("NodeIPs", format!("[\"{ip}\"]")).log(&ctx, "server.go:228");
    klog::info("kube-proxy running in dual-stack mode").str("primary ipFamily", "IPv4").log(&ctx, "server.go:265");
    klog::info("Using nftables Proxier").log(&ctx, "server_linux.go:231");
    klog::info("Version info").str("version", &config.version).log(&ctx, "server.go:530");
    klog::info("Golang settings")
        .str("GOGC", "")
        .str("GOMAXPROCS", "")
        .str("GOTRACEBACK", "")
        .log(&ctx, "server.go:532");
    starting(&EventsV1Recorder::new(&ctx, &client, "kube-proxy"), &config.node_name);

    let services = informer::<Service>(&client, "!service.kubernetes.io/service-proxy-name", String::new());
    let unproxied = "!service.kubernetes.io/headless,!service.kubernetes.io/service-proxy-name";
    let slices = informer::<EndpointSlice>(&client, unproxied, String::new());
    let ranges = informer::<ServiceCIDR>(&client, "", String::new());
    let sync_soon = {
        let (wanted, pending, health) = (wanted.clone(), pending.clone(), health.clone());
        move || {
            pending.set(true);
            health.queued();
            wanted.notify();
        }
    };
    let (of_services, of_slices, of_ranges) = (sync_soon.clone(), sync_soon.clone(), sync_soon);
    services.on(move |_| of_services());
    slices.on(move |_| of_slices());
    ranges.on(move |_| of_ranges());
    klog::info("Starting service config controller").log(&ctx, "config.go:200");
    klog::info("Starting endpoint slice config controller").log(&ctx, "config.go:106");
    klog::info("Starting serviceCIDR config controller").log(&ctx, "config.go:403");
    klog::info("Starting node config controller").log(&ctx, "config.go:309");
    klog::info("Caches are synced").str("controller", "node config").log(&ctx, "shared_informer.go:510");
    services.run();
    slices.run();
    ranges.run();
    ctx.spawn("healthz", health::serve(ctx.clone(), health.clone(), nodes.clone()));
    ranges.synced().await;
    klog::info("Caches are synced").str("controller", "serviceCIDR config").log(&ctx, "shared_informer.go:510");
    services.synced().await;
    klog::info("Caches are synced").str("controller", "service config").log(&ctx, "shared_informer.go:510");
    slices.synced().await;
    klog::info("Caches are synced").str("controller", "endpoint slice config").log(&ctx, "shared_informer.go:510");

    let installed = tables.clone();
    ctx.set_filter(Rc::new(move |source, addr| installed.decide(source, addr)));
    loop {
        pending.set(false);
        let node = nodes.lister().list();
        let zone = node.first().and_then(|n| n.metadata.labels.get("topology.kubernetes.io/zone").cloned());
        let place = Place { node: &config.node_name, zone: zone.as_deref().unwrap_or_default() };
        let cidrs: Vec<Str> = ranges.lister().list().iter().flat_map(|r| r.spec.cidrs.iter().cloned()).collect();
        let compiled = rules::compile(&services.lister().list(), &slices.lister().list(), &cidrs, &place);
        tables.replace(Rc::new(compiled));
        health.updated();
        ctx.sleep(MIN_SYNC_PERIOD).await;
        while !pending.get() {
            wanted.notified().await;
        }
    }
}

/// The event that a kube-proxy leaves at its node when it starts.
fn starting(recorder: &EventsV1Recorder, node: &Str) {
    let about = api::core_v1::ObjectReference {
        kind: "Node".into(),
        name: node.clone(),
        uid: node.clone(),
        ..api::core_v1::ObjectReference::default()
    };
    recorder.eventf(&about, None, "Normal", "Starting", "StartKubeProxy", "", Causes::default());
}
