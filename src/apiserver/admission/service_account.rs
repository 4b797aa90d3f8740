//! ServiceAccount: pods get an account that exists, its image pull secrets, and a volume with its token.

use api::core_v1::{
    ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile, KeyToPath, ObjectFieldSelector, Pod,
    ProjectedVolumeSource, ServiceAccount, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use api::{List, Object, Status, Str};

use super::{Attributes, Need, Operation};

const DEFAULT: &str = "default";
/// Where the token is mounted.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The volume's name, and five letters.
const VOLUME: &str = "kube-api-access-";
/// An hour, and some seconds by which such tokens are known.
const TOKEN_SECONDS: i64 = 3607;
/// Marks a pod that a kubelet mirrors from a file.
const MIRROR: &str = "kubernetes.io/config.mirror";

fn concerned(attributes: &Attributes) -> bool {
    attributes.operation == Operation::Create && attributes.is("", "pods", "")
}

fn account_of(pod: &Pod) -> Str {
    if pod.spec.service_account_name.is_empty() { DEFAULT.into() } else { pod.spec.service_account_name.clone() }
}

pub fn needs(attributes: &Attributes, object: &dyn Object) -> Vec<Need> {
    match object.downcast_ref::<Pod>() {
        Some(pod) if concerned(attributes) => {
            let key = format!("{}/{}", attributes.call.namespace, account_of(pod));
            vec![(attributes.call.server.service_accounts, key)]
        }
        _ => Vec::new(),
    }
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if !concerned(attributes) {
        return Ok(());
    }
    let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
    if pod.metadata.annotations.contains_key(MIRROR) {
        return mirror(attributes, pod);
    }
    let name = account_of(pod);
    let namespace = attributes.call.namespace.clone();
    let server = attributes.call.server.clone();
    let Some(found) = attributes.find(server.service_accounts, &format!("{namespace}/{name}")) else {
        let reason =
            format!("error looking up service account {namespace}/{name}: serviceaccount {:?} not found", &*name);
        return Err(attributes.forbidden(Some(pod), &reason));
    };
    let Some(account) = found.body.downcast_ref::<ServiceAccount>() else { return Ok(()) };
    let mounts = pod.spec.automount_service_account_token.or(account.automount_service_account_token).unwrap_or(true);
    let spec = pod.spec.make();
    spec.service_account_name = name.clone();
    // The old name of the field, which is kept the same.
    spec.service_account = name;
    if spec.image_pull_secrets.is_empty() && !account.image_pull_secrets.is_empty() {
        spec.image_pull_secrets = account.image_pull_secrets.clone();
    }
    if mounts {
        mount_token(pod, &mut server.draw.borrow_mut());
    }
    Ok(())
}

/// A mirror pod may not use what is the API's to give.
fn mirror(attributes: &Attributes, pod: &Pod) -> Result<(), Status> {
    if !pod.spec.service_account_name.is_empty() {
        return Err(attributes.forbidden(Some(pod), "a mirror pod may not reference service accounts"));
    }
    let has = |found: fn(&Volume) -> bool| pod.spec.volumes.iter().any(found);
    if has(|v| v.secret.is_some()) {
        return Err(attributes.forbidden(Some(pod), "a mirror pod may not reference secrets"));
    }
    if has(|v| v.projected.get().is_some_and(|p| p.sources.iter().any(|s| s.service_account_token.is_some()))) {
        let reason = "a mirror pod may not use ServiceAccountToken volume projections";
        return Err(attributes.forbidden(Some(pod), reason));
    }
    Ok(())
}

fn mount_token(pod: &mut Pod, draw: &mut sim::Rng) {
    let existing = pod.spec.volumes.iter().find(|volume| volume.name.starts_with(VOLUME));
    let made = existing.is_none();
    let name = match existing {
        Some(volume) => volume.name.clone(),
        None => loop {
            let name = crate::registry::generated(VOLUME, draw);
            if !pod.spec.volumes.iter().any(|volume| volume.name == name) {
                break name;
            }
        },
    };
    let lacks = |mounts: &[VolumeMount]| !mounts.iter().any(|mount| &*mount.mount_path == MOUNT_PATH);
    let mount =
        || VolumeMount { name: name.clone(), read_only: true, mount_path: MOUNT_PATH.into(), ..Default::default() };
    let mut needed = false;
    let spec = pod.spec.make();
    for containers in [&mut spec.init_containers, &mut spec.containers] {
        if containers.is_empty() {
            continue;
        }
        for container in containers.make() {
            if lacks(&container.volume_mounts) {
                container.volume_mounts.make().push(mount());
                needed = true;
            }
        }
    }
    if made && needed {
        spec.volumes.make().push(token_volume(name));
    }
}

/// The volume: a token, the cluster's certificate, the namespace.
fn token_volume(name: Str) -> Volume {
    let token = VolumeProjection {
        service_account_token: ServiceAccountTokenProjection {
            expiration_seconds: Some(TOKEN_SECONDS),
            path: "token".into(),
            ..Default::default()
        }
        .into(),
        ..Default::default()
    };
    let certificate = VolumeProjection {
        config_map: ConfigMapProjection {
            name: "kube-root-ca.crt".into(),
            items: List::from(vec![KeyToPath { key: "ca.crt".into(), path: "ca.crt".into(), ..Default::default() }]),
            ..Default::default()
        }
        .into(),
        ..Default::default()
    };
    let namespace = VolumeProjection {
        downward_api: DownwardAPIProjection {
            items: List::from(vec![DownwardAPIVolumeFile {
                path: "namespace".into(),
                field_ref: ObjectFieldSelector { api_version: "v1".into(), field_path: "metadata.namespace".into() }
                    .into(),
                ..Default::default()
            }]),
        }
        .into(),
        ..Default::default()
    };
    Volume {
        name,
        projected: ProjectedVolumeSource {
            sources: List::from(vec![token, certificate, namespace]),
            default_mode: Some(0o644),
            ..Default::default()
        }
        .into(),
        ..Default::default()
    }
}
