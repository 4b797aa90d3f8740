//! kube-proxy's rules at work: requests of containers to Services.

use super::*;
use api::core_v1::{Service, ServicePort};
use api::discovery_v1::{Endpoint, EndpointPort, EndpointSlice};

impl World {
    async fn service(&self, name: &str) -> String {
        let mut service = Service::default();
        service.metadata.name = name.into();
        let spec = service.spec.make();
        spec.ports = [ServicePort { port: 80, protocol: "TCP".into(), node_port: 0, ..ServicePort::default() }].into();
        self.client.create("default", service).await.unwrap().spec.cluster_ip.to_string()
    }
    /// What the EndpointSlice controller would have made.
    async fn endpoints(&self, service: &str, ip: &str, ready: bool) {
        let mut slice = EndpointSlice { address_type: "IPv4".into(), ..EndpointSlice::default() };
        slice.metadata.name = format!("{service}-{ready}").into();
        slice.metadata.labels.insert("kubernetes.io/service-name", Str::from(service));
        slice.ports =
            [EndpointPort { name: "".into(), port: Some(80), protocol: "TCP".into(), ..EndpointPort::default() }]
                .into();
        let mut endpoint = Endpoint { addresses: [ip.into()].into(), ..Endpoint::default() };
        endpoint.conditions.ready = Some(ready);
        endpoint.conditions.serving = Some(ready);
        slice.endpoints = [endpoint].into();
        self.client.create("default", slice).await.unwrap();
    }
}

#[test]
fn requests_to_a_service_reach_its_endpoints_or_are_refused() {
    with_node(|world| async move {
        world.run("web", |_| {}).await;
        world.run("client", |pod| pod.spec.make().containers = [shell("sleep 1000")].into()).await;
        let web = world.until_ready("web").await;
        world.until_ready("client").await;
        let (shy, open) = (world.service("shy").await, world.service("open").await);
        world.endpoints("shy", &web.status.pod_ip, false).await;
        world.endpoints("open", &web.status.pod_ip, true).await;
        world.sleep(2.0).await;
        let ask = |ip: &str| {
            let (world, url) = (world.clone(), format!("http://{ip}"));
            async move { world.exec("client", &["wget", "-q", "-O-", "-T", "2", &url]).await }
        };
        let page = ask(&open).await;
        assert!(page.0.contains("Welcome to nginx"), "{page:?}");
        let refused = ask(&shy).await;
        assert_eq!(refused.1, format!("wget: can't connect to remote host ({shy}): Connection refused\n"));
        // Another port of the same address is refused, an address that nobody has is not answered.
        assert!(ask(&format!("{open}:81")).await.1.contains("Connection refused"));
        assert_eq!(ask("10.96.255.254").await.1, "wget: download timed out\n");
        // The rules stay when kube-proxy goes, and are not kept any more.
        let proxy = world.node.kube_proxy().unwrap();
        world.node.sim().kill(proxy);
        world.endpoints("shy", &web.status.pod_ip, true).await;
        world.sleep(2.0).await;
        assert!(ask(&open).await.0.contains("Welcome to nginx"));
        assert!(ask(&shy).await.1.contains("Connection refused"));
        world.node.start_kube_proxy();
        world.sleep(2.0).await;
        assert!(ask(&shy).await.0.contains("Welcome to nginx"));
    });
}

#[test]
fn kube_proxy_says_that_it_is_well() {
    with_node(|world| async move {
        use crate::runtime::http::HttpRequest;
        world.sleep(3.0).await;
        let addr = Addr { ip: Ip::new(172, 18, 0, 11), port: 10_256 };
        let ask = HttpRequest::get("/healthz", "node-1", "test");
        let patience = Duration::from_secs(1);
        let answer = crate::runtime::program::fetch(&world.ctx, CONTROL_PLANE, addr, ask, patience).await.unwrap();
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, 200, "{text}");
        assert!(text.starts_with("{\"lastUpdated\":\"2026-11-29T18:00:"), "{text}");
        assert!(text.contains("\"nodeEligible\":true,\"healthy\":true,\"status\":{\"IPv4\":{"), "{text}");
    });
}
