//! What services are given, and what they give back.

use super::*;
use api::core_v1::{Service, ServicePort};
use api::networking_v1::IPAddress;

fn service(name: &str, type_: &str) -> Service {
    let mut service = Service::default();
    service.metadata.name = name.into();
    let spec = service.spec.make();
    spec.type_ = type_.into();
    spec.selector.insert(Str::from("app"), Str::from(name));
    spec.ports.make().push(ServicePort { port: 80, protocol: "TCP".into(), ..Default::default() });
    service
}

#[test]
fn a_cluster_ip_is_an_address_object_and_goes_with_the_service() {
    with_server(|_, client, _| async move {
        let created = client.create("default", service("web", "ClusterIP")).await.unwrap();
        let ip = created.spec.cluster_ip.clone();
        assert_eq!(&created.spec.cluster_ips[..], std::slice::from_ref(&ip));
        assert_eq!(created.spec.ip_family_policy.get(), Some("SingleStack"));
        let address = client.get::<IPAddress>("", &ip).await.unwrap();
        assert_eq!(address.spec.parent_ref.get().map(|parent| &*parent.name), Some("web"));
        assert!(address.revision < created.revision);
        // The same address again is refused, and leaves nothing behind.
        let mut taken = service("other", "ClusterIP");
        taken.spec.make().cluster_ip = ip.clone();
        let status = client.create("default", taken).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            format!(
                "Service \"other\" is invalid: spec.clusterIPs: Invalid value: [\"{ip}\"]: failed to allocate IP {ip}: provided IP is already allocated"
            )
        );
        let mut outside = service("other", "ClusterIP");
        outside.spec.make().cluster_ip = "192.0.2.1".into();
        let status = client.create("default", outside).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "Service \"other\" is invalid: spec.clusterIPs: Invalid value: [\"192.0.2.1\"]: failed to allocate IP 192.0.2.1: the provided network does not match the current range"
        );
        client.delete::<Service>("default", "web").await.unwrap();
        assert!(client.get::<IPAddress>("", &ip).await.unwrap_err().is_not_found());
        let mut headless = service("headless", "ClusterIP");
        headless.spec.make().cluster_ip = "None".into();
        let created = client.create("default", headless).await.unwrap();
        assert_eq!(created.spec.cluster_ips[..], [Str::from("None")]);
    });
}

#[test]
fn a_node_port_has_one_holder() {
    with_server(|_, client, _| async move {
        let mut alpha = service("alpha", "NodePort");
        alpha.spec.make().ports.make()[0].node_port = 30090;
        let alpha = client.create("default", alpha).await.unwrap();
        let mut beta = service("beta", "NodePort");
        beta.spec.make().ports.make()[0].node_port = 30090;
        let status = client.create("default", beta.clone()).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "Service \"beta\" is invalid: spec.ports[0].nodePort: Invalid value: 30090: provided port is already allocated"
        );
        beta.spec.make().ports.make()[0].node_port = 80;
        let status = client.create("default", beta.clone()).await.unwrap_err();
        assert_eq!(
            status.to_string(),
            "Service \"beta\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
        );
        // An update that leaves the port and the address out keeps both.
        let mut changed = alpha.clone();
        let spec = Rc::make_mut(&mut changed.body).spec.make();
        spec.ports.make()[0].node_port = 0;
        spec.cluster_ip = Str::default();
        spec.cluster_ips = Default::default();
        let updated = client.update("", &changed).await.unwrap();
        assert_eq!((updated.spec.ports[0].node_port, &updated.spec.cluster_ip), (30090, &alpha.spec.cluster_ip));
        client.delete::<Service>("default", "alpha").await.unwrap();
        beta.spec.make().ports.make()[0].node_port = 30090;
        client.create("default", beta).await.unwrap();
        let drawn = client.create("default", service("gamma", "NodePort")).await.unwrap();
        assert!((30000..=32767).contains(&drawn.spec.ports[0].node_port));
    });
}

#[test]
fn the_service_of_the_api_comes_back() {
    with_server(|ctx, client, _| async move {
        let get = || client.get::<Service>("default", "kubernetes");
        let first = loop {
            match get().await {
                Ok(found) => break found,
                Err(_) => ctx.sleep(sim::Duration::from_secs(1)).await,
            }
        };
        client.delete::<Service>("default", "kubernetes").await.unwrap();
        assert!(get().await.unwrap_err().is_not_found());
        ctx.sleep(sim::Duration::from_secs(11)).await;
        let again = get().await.unwrap();
        assert_ne!(again.metadata.uid, first.metadata.uid);
        assert_eq!((&*again.spec.cluster_ip, &again.spec.ports), ("10.96.0.1", &first.spec.ports));
    });
}

/// The store takes the resource of a node that is not there from the request.
#[test]
fn a_pod_whose_node_is_not_there_is_not_found() {
    with_server(|_, client, _| async move {
        let mut account = api::core_v1::ServiceAccount::default();
        account.metadata.name = "default".into();
        client.create("default", account).await.unwrap();
        let mut lost = pod("lost");
        lost.spec.make().node_name = "node-x".into();
        client.create("default", lost).await.unwrap();
        for (kind, subresource, namespace, name, wanted) in [
            (api::core_v1::Pod::KIND, "log", "default", "lost", "pods \"node-x\" not found"),
            (api::core_v1::Node::KIND, "proxy", "", "node-x", "nodes \"node-x\" not found"),
        ] {
            let target = Client::target(kind, subresource, namespace, name);
            let query = match subresource {
                "log" => Query::Log(Default::default()),
                _ => Query::Proxy("/pods".into()),
            };
            let refused = client.send(client.request(Verb::Get, target, Body::Empty, query)).await.err();
            assert_eq!(refused.map(|status| status.to_string()).as_deref(), Some(wanted));
        }
    });
}
