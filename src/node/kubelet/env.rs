//! A container's environment (pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables; pkg/kubelet/envvars).

use super::expansion::expand;
use super::fields;
use super::kubelet::Kubelet;
use api::core_v1::{ConfigMap, Container, Pod, Secret, Service};
use api::{Rev, Str};
use shell::Environment;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The variables of services that a pod sees.
pub fn of_services(services: &[Rev<Service>], namespace: &str, links: bool) -> BTreeMap<String, String> {
    let mut chosen: BTreeMap<Str, Rev<Service>> = BTreeMap::new();
    for service in services {
        let meta = &service.metadata;
        if service.spec.cluster_ip.is_empty() || service.spec.cluster_ip == "None" {
            continue;
        }
        if meta.namespace == "default" && meta.name == "kubernetes" {
            chosen.entry(meta.name.clone()).or_insert_with(|| service.clone());
        } else if meta.namespace == *namespace && links {
            chosen.insert(meta.name.clone(), service.clone());
        }
    }
    let mut env = BTreeMap::new();
    for (name, service) in chosen {
        let name = name.to_uppercase().replace('-', "_");
        let ip = &service.spec.cluster_ip;
        env.insert(format!("{name}_SERVICE_HOST"), ip.to_string());
        for (at, port) in service.spec.ports.iter().enumerate() {
            if at == 0 {
                env.insert(format!("{name}_SERVICE_PORT"), port.port.to_string());
                let lower = if port.protocol.is_empty() { "tcp".to_string() } else { port.protocol.to_lowercase() };
                env.insert(format!("{name}_PORT"), format!("{lower}://{ip}:{}", port.port));
            }
            if !port.name.is_empty() {
                let port_name = port.name.to_uppercase().replace('-', "_");
                env.insert(format!("{name}_SERVICE_PORT_{port_name}"), port.port.to_string());
            }
            let protocol = if port.protocol.is_empty() { "TCP" } else { &port.protocol };
            let (lower, prefix) =
                (protocol.to_lowercase(), format!("{name}_PORT_{}_{}", port.port, protocol.to_uppercase()));
            env.insert(prefix.clone(), format!("{lower}://{ip}:{}", port.port));
            env.insert(format!("{prefix}_PROTO"), lower);
            env.insert(format!("{prefix}_PORT"), port.port.to_string());
            env.insert(format!("{prefix}_ADDR"), ip.to_string());
        }
    }
    env
}

/// Objects read for one container, each once.
#[derive(Default)]
struct Read {
    maps: BTreeMap<Str, Rev<ConfigMap>>,
    secrets: BTreeMap<Str, Rev<Secret>>,
}

impl Read {
    /// `None`: it does not exist and need not.
    async fn map(
        &mut self,
        kubelet: &Kubelet,
        namespace: &Str,
        name: &Str,
        optional: bool,
    ) -> Result<Option<Rev<ConfigMap>>, String> {
        if let Some(known) = self.maps.get(name) {
            return Ok(Some(known.clone()));
        }
        match kubelet.objects.config_map(namespace, name).await {
            Ok(map) => {
                self.maps.insert(name.clone(), map.clone());
                Ok(Some(map))
            }
            Err((_, true)) if optional => Ok(None),
            Err((why, _)) => Err(why),
        }
    }
    async fn secret(
        &mut self,
        kubelet: &Kubelet,
        namespace: &Str,
        name: &Str,
        optional: bool,
    ) -> Result<Option<Rev<Secret>>, String> {
        if let Some(known) = self.secrets.get(name) {
            return Ok(Some(known.clone()));
        }
        match kubelet.objects.secret(namespace, name).await {
            Ok(secret) => {
                self.secrets.insert(name.clone(), secret.clone());
                Ok(Some(secret))
            }
            Err((_, true)) if optional => Ok(None),
            Err((why, _)) => Err(why),
        }
    }
}

/// All variables of a container, in the order in which its fields have them; services come last. The error is what `CreateContainerConfigError` says.
pub async fn environment(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    container: &Container,
    ip: &Str,
) -> Result<Vec<(String, String)>, String> {
    if !kubelet.services.has_synced() {
        return Err("services have not yet been read at least once, cannot construct envvars".to_string());
    }
    let namespace = &pod.metadata.namespace;
    let services =
        of_services(&kubelet.services.lister().list(), namespace, pod.spec.enable_service_links != Some(false));
    let mut read = Read::default();
    let mut env = Environment::default();
    for from in container.env_from.iter() {
        if let Some(source) = from.config_map_ref.get() {
            let optional = source.optional == Some(true);
            if let Some(map) = read.map(kubelet, namespace, &source.name, optional).await? {
                env.extend(map.data.iter().map(|(k, v)| (format!("{}{k}", from.prefix), v.to_string())));
            }
        } else if let Some(source) = from.secret_ref.get() {
            let optional = source.optional == Some(true);
            if let Some(secret) = read.secret(kubelet, namespace, &source.name, optional).await? {
                env.extend(
                    secret
                        .data
                        .iter()
                        .map(|(k, v)| (format!("{}{k}", from.prefix), String::from_utf8_lossy(v).into_owned())),
                );
            }
        }
    }
    for var in container.env.iter() {
        let mut value = var.value.to_string();
        if !value.is_empty() {
            value = expand(&value, &|name| env.get(name).or_else(|| services.get(name)).cloned());
        } else if let Some(source) = var.value_from.get() {
            if let Some(field) = source.field_ref.get() {
                value = fields::pod_field(pod, &field.field_path, ip, &kubelet.host_ip)?;
            } else if let Some(field) = source.resource_field_ref.get() {
                value = fields::resource(pod, Some(container), field, &kubelet.config)?;
            } else if let Some(key) = source.config_map_key_ref.get() {
                let optional = key.optional == Some(true);
                let Some(map) = read.map(kubelet, namespace, &key.name, optional).await? else { continue };
                match map.data.get(&key.key) {
                    Some(text) => value = text.to_string(),
                    None if optional => continue,
                    None => return Err(format!("couldn't find key {} in ConfigMap {namespace}/{}", key.key, key.name)),
                }
            } else if let Some(key) = source.secret_key_ref.get() {
                let optional = key.optional == Some(true);
                let Some(secret) = read.secret(kubelet, namespace, &key.name, optional).await? else { continue };
                match secret.data.get(&key.key) {
                    Some(bytes) => value = String::from_utf8_lossy(bytes).into_owned(),
                    None if optional => continue,
                    None => return Err(format!("couldn't find key {} in Secret {namespace}/{}", key.key, key.name)),
                }
            }
        }
        env.insert(var.name.to_string(), value);
    }
    for (name, value) in services {
        if env.get(&name).is_none() {
            env.insert(name, value);
        }
    }
    Ok(env.iter().cloned().collect())
}
