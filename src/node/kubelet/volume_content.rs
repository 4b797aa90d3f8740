//! What stands in volumes that are made from the API: ConfigMaps, Secrets, tokens, fields of the pod.

use super::fields;
use super::kubelet::Kubelet;
use api::authentication_v1::{BoundObjectReference, TokenRequest};
use api::core_v1::{
    ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, Secret, ServiceAccount, ServiceAccountTokenProjection, Volume,
};
use api::{Ptr, Resource, Rev, Str};
use sim::{Duration, Instant};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A file of a volume.
#[derive(Clone, Debug)]
pub struct VolumeFile {
    /// Its path in the volume.
    pub path: String,
    /// What is in it.
    pub bytes: Rc<[u8]>,
    /// Permission bits.
    pub mode: u32,
}

/// A volume's files, and the tokens among them.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// All files.
    pub files: Vec<VolumeFile>,
    /// Tokens by path, and when to ask for new ones.
    tokens: BTreeMap<String, (Rc<[u8]>, Instant)>,
}

/// Works out what a volume holds now. `before` is what it held: tokens are kept while they are good.
pub async fn content(
    kubelet: &Rc<Kubelet>,
    pod: &Rev<Pod>,
    volume: &Volume,
    before: Option<&Content>,
) -> Result<Content, String> {
    let mut content = Content::default();
    let namespace = &pod.metadata.namespace;
    if let Some(source) = volume.config_map.get() {
        let optional = source.optional == Some(true);
        let mode = mode(source.default_mode);
        add_map(
            &mut content,
            find_map(kubelet, namespace, &source.name, optional).await?,
            &source.items,
            mode,
            optional,
        )?;
    } else if let Some(source) = volume.secret.get() {
        let optional = source.optional == Some(true);
        let mode = mode(source.default_mode);
        add_secret(
            &mut content,
            find_secret(kubelet, namespace, &source.secret_name, optional).await?,
            &source.items,
            mode,
            optional,
        )?;
    } else if let Some(source) = volume.downward_api.get() {
        add_fields(&mut content, kubelet, pod, &source.items, mode(source.default_mode))?;
    } else if let Some(source) = volume.projected.get() {
        let mode = mode(source.default_mode);
        for part in source.sources.iter() {
            if let Some(map) = part.config_map.get() {
                let optional = map.optional == Some(true);
                add_map(
                    &mut content,
                    find_map(kubelet, namespace, &map.name, optional).await?,
                    &map.items,
                    mode,
                    optional,
                )?;
            } else if let Some(secret) = part.secret.get() {
                let optional = secret.optional == Some(true);
                add_secret(
                    &mut content,
                    find_secret(kubelet, namespace, &secret.name, optional).await?,
                    &secret.items,
                    mode,
                    optional,
                )?;
            } else if let Some(fields) = part.downward_api.get() {
                add_fields(&mut content, kubelet, pod, &fields.items, mode)?;
            } else if let Some(token) = part.service_account_token.get() {
                let kept = before
                    .and_then(|b| b.tokens.get(&*token.path))
                    .filter(|(_, until)| kubelet.ctx.now() < *until)
                    .cloned();
                let (bytes, until) = match kept {
                    Some(kept) => kept,
                    None => request_token(kubelet, pod, token).await?,
                };
                content.tokens.insert(token.path.to_string(), (bytes.clone(), until));
                content.files.push(VolumeFile { path: token.path.to_string(), bytes, mode });
            }
        }
    }
    Ok(content)
}

fn mode(given: Option<i32>) -> u32 {
    given.and_then(|m| u32::try_from(m).ok()).unwrap_or(0o644)
}

async fn find_map(
    kubelet: &Kubelet,
    namespace: &Str,
    name: &Str,
    optional: bool,
) -> Result<Option<Rev<ConfigMap>>, String> {
    match kubelet.objects.config_map(namespace, name).await {
        Ok(map) => Ok(Some(map)),
        Err((_, true)) if optional => Ok(None),
        Err((why, _)) => Err(why),
    }
}

async fn find_secret(
    kubelet: &Kubelet,
    namespace: &Str,
    name: &Str,
    optional: bool,
) -> Result<Option<Rev<Secret>>, String> {
    match kubelet.objects.secret(namespace, name).await {
        Ok(secret) => Ok(Some(secret)),
        Err((_, true)) if optional => Ok(None),
        Err((why, _)) => Err(why),
    }
}

/// Chooses entries: all of them, or those that `items` name, at their paths.
fn choose(
    content: &mut Content,
    entries: &BTreeMap<&str, Rc<[u8]>>,
    items: &[KeyToPath],
    mode: u32,
    missing: impl Fn(&str) -> Option<String>,
) -> Result<(), String> {
    if items.is_empty() {
        for (name, bytes) in entries {
            content.files.push(VolumeFile { path: name.to_string(), bytes: bytes.clone(), mode });
        }
        return Ok(());
    }
    for item in items {
        match entries.get(&*item.key) {
            Some(bytes) => {
                let mode = item.mode.and_then(|m| u32::try_from(m).ok()).unwrap_or(mode);
                content.files.push(VolumeFile { path: item.path.to_string(), bytes: bytes.clone(), mode });
            }
            None => {
                if let Some(why) = missing(&item.key) {
                    return Err(why);
                }
            }
        }
    }
    Ok(())
}

fn add_map(
    content: &mut Content,
    map: Option<Rev<ConfigMap>>,
    items: &[KeyToPath],
    mode: u32,
    optional: bool,
) -> Result<(), String> {
    let Some(map) = map else { return Ok(()) };
    let texts = map.data.iter().map(|(k, v)| (k.as_str(), Rc::from(v.as_bytes())));
    let entries = texts.chain(map.binary_data.iter().map(|(k, v)| (k.as_str(), Rc::from(&**v)))).collect();
    choose(content, &entries, items, mode, |key| {
        (!optional).then(|| format!("configmap references non-existent config key: {key}"))
    })
}

fn add_secret(
    content: &mut Content,
    secret: Option<Rev<Secret>>,
    items: &[KeyToPath],
    mode: u32,
    optional: bool,
) -> Result<(), String> {
    let Some(secret) = secret else { return Ok(()) };
    let entries = secret.data.iter().map(|(k, v)| (k.as_str(), Rc::from(&**v))).collect();
    choose(content, &entries, items, mode, |key| {
        (!optional).then(|| format!("references non-existent secret key: {key}"))
    })
}

fn add_fields(
    content: &mut Content,
    kubelet: &Kubelet,
    pod: &Pod,
    items: &[DownwardAPIVolumeFile],
    mode: u32,
) -> Result<(), String> {
    for item in items {
        let text = if let Some(field) = item.field_ref.get() {
            fields::pod_field(pod, &field.field_path, &pod.status.pod_ip, &kubelet.host_ip)?
        } else if let Some(field) = item.resource_field_ref.get() {
            fields::resource(pod, None, field, &kubelet.config)?
        } else {
            continue;
        };
        let mode = item.mode.and_then(|m| u32::try_from(m).ok()).unwrap_or(mode);
        content.files.push(VolumeFile { path: item.path.to_string(), bytes: Rc::from(text.as_bytes()), mode });
    }
    Ok(())
}

/// Asks for a token bound to the pod; it is asked for anew once four fifths of its time are over.
async fn request_token(
    kubelet: &Kubelet,
    pod: &Rev<Pod>,
    wanted: &ServiceAccountTokenProjection,
) -> Result<(Rc<[u8]>, Instant), String> {
    let meta = &pod.metadata;
    let mut request = TokenRequest::default();
    let spec = request.spec.make();
    if !wanted.audience.is_empty() {
        spec.audiences = [wanted.audience.clone()].into();
    }
    spec.expiration_seconds = wanted.expiration_seconds;
    spec.bound_object_ref = Ptr::some(BoundObjectReference {
        kind: "Pod".into(),
        api_version: "v1".into(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
    });
    let account = if pod.spec.service_account_name.is_empty() { "default" } else { &pod.spec.service_account_name };
    let answer = kubelet
        .client
        .create_kind(ServiceAccount::KIND, &meta.namespace, account, "token", Rc::new(request))
        .await
        .map_err(|why| format!("failed to fetch token: {why}"))?;
    let token =
        answer.downcast::<TokenRequest>().ok_or_else(|| "failed to fetch token: unexpected answer".to_string())?;
    let seconds = u64::try_from(wanted.expiration_seconds.unwrap_or(3_600)).unwrap_or(3_600);
    Ok((Rc::from(token.status.token.as_bytes()), kubelet.ctx.now() + Duration::from_secs(seconds / 5 * 4)))
}
