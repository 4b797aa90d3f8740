//! Endpoints written by hand.

use api::List;
use api::core_v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints, Service, ServicePort};
use api::discovery_v1::EndpointSlice;
use api::meta_v1::DeleteOptions;

use super::{World, with_world};

#[test]
fn endpoints_without_a_selector_are_mirrored() {
    with_world(|w| async move {
        let mut service = Service::default();
        service.metadata.name = "outside".into();
        service.metadata.namespace = "default".into();
        let spec = service.spec.make();
        spec.type_ = "ClusterIP".into();
        spec.ports = List::from(vec![ServicePort { port: 80, protocol: "TCP".into(), ..Default::default() }]);
        w.client.create("default", service).await.unwrap();
        let mut endpoints = Endpoints::default();
        endpoints.metadata.name = "outside".into();
        endpoints.metadata.namespace = "default".into();
        let address = EndpointAddress { ip: "192.0.2.7".into(), ..Default::default() };
        endpoints.subsets = List::from(vec![EndpointSubset {
            addresses: List::from(vec![address]),
            ports: List::from(vec![EndpointPort { port: 9376, protocol: "TCP".into(), ..Default::default() }]),
            ..Default::default()
        }]);
        w.client.create("default", endpoints).await.unwrap();
        let mirrored = async |w: &World| {
            let slices = w.list::<EndpointSlice>().await;
            slices.into_iter().filter(|s| s.metadata.name.starts_with("outside-")).collect::<Vec<_>>()
        };
        w.eventually("a slice", async |w: &World| mirrored(w).await.len() == 1).await;
        let slice = mirrored(&w).await.remove(0);
        assert_eq!(slice.endpoints.first().unwrap().addresses.to_vec(), ["192.0.2.7"]);
        assert_eq!(slice.ports.first().unwrap().port, Some(9376));
        let by = slice.metadata.labels.get("endpointslice.kubernetes.io/managed-by").map(|v| v.to_string());
        assert_eq!(by.as_deref(), Some("endpointslicemirroring-controller.k8s.io"));
        w.client.delete::<Endpoints>("default", "outside", &DeleteOptions::default()).await.unwrap();
        w.eventually("no slice", async |w: &World| mirrored(w).await.is_empty()).await;
    });
}
