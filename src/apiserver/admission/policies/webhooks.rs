//! MutatingAdmissionWebhook and ValidatingAdmissionWebhook: ask others (admission/plugin/webhook).
//!
//! A plugin can't wait, so one that must call says so in `Attributes::wanted` and fails; the caller dials and lets the
//! plugins have their turn again. Nothing in this world speaks TLS, so a call never gets further than its handshake.

use api::core_v1::{Endpoints, Service};
use api::{Object, Resource, Status, Str};
use sim::{Addr, Duration, NetError};

use super::{Activation, Attributes, Judge, Kind, Seen, Val, definitions};
use crate::Inner;
use crate::alloc::parse_ip;

/// A webhook to be called.
#[derive(Clone)]
pub struct Wanted {
    key: Str,
    url: Str,
    timeout: u64,
    service: Option<(Str, Str, i64)>,
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, old: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.reinvoked {
        return Ok(());
    }
    call(attributes, Kind::MutatingWebhook, Some(object), old)
}

/// Deletions and connections have nothing to change, and are shown to the mutating webhooks all the same.
pub fn mutate_deletion(
    attributes: &mut Attributes,
    new: Option<&dyn Object>,
    old: Option<&dyn Object>,
) -> Result<(), Status> {
    if matches!(attributes.operation, super::Operation::Delete | super::Operation::Connect) {
        return call(attributes, Kind::MutatingWebhook, new, old);
    }
    Ok(())
}

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, old: Option<&dyn Object>) -> Result<(), Status> {
    call(attributes, Kind::ValidatingWebhook, new, old)
}

fn call(
    attributes: &mut Attributes,
    kind: Kind,
    new: Option<&dyn Object>,
    old: Option<&dyn Object>,
) -> Result<(), Status> {
    let mut wanted = None;
    for configuration in definitions(attributes, kind) {
        for (i, hook) in configuration.hooks.iter().enumerate() {
            let seen = Seen { attributes, new, old };
            let Some(matched) = hook.matching.matches(&seen).map_err(Status::internal)? else { continue };
            if !hook.conditions.is_empty() {
                let ask = |check: &api::cel::Check| seen.authorize(check);
                let activation = Activation::new(seen.values(&matched, &Val::Null), &[]);
                let mut judge = Judge::new(activation.with_authorizer(&ask, seen.resource_check()));
                judge.left = api::cel::MATCH_CONDITIONS_BUDGET;
                let resource = (attributes.call.kind.group, attributes.call.kind.plural);
                let holds = judge.matches(&hook.conditions, hook.fails);
                if !holds.map_err(|error| Status::forbidden(resource, &seen.name(), error))? {
                    continue;
                }
            }
            let name = api::go::quote(&hook.name);
            if attributes.call.write.dry_run && !hook.dry {
                return Err(Status::bad_request(format!("admission webhook {name} does not support dry run")));
            }
            let key = Str::from(format!("{}/{}/{i}", kind as usize, configuration.name));
            match attributes.called.iter().find(|(known, _)| *known == key) {
                Some((_, _)) if !hook.fails => {}
                Some((_, why)) => {
                    return Err(Status::internal(format!(
                        "failed calling webhook {name}: failed to call webhook: {why}"
                    )));
                }
                None => {
                    let (url, timeout, service) = (hook.url.clone(), hook.timeout, hook.service.clone());
                    wanted = Some(Wanted { key, url, timeout, service });
                    break;
                }
            }
        }
        if wanted.is_some() {
            break;
        }
    }
    match wanted {
        None => Ok(()),
        wanted => {
            attributes.wanted = wanted;
            Err(Status::internal("a webhook is to be called"))
        }
    }
}

/// Calls the webhook that the plugins wait for, if they do.
pub async fn call_wanted(attributes: &mut Attributes<'_>) -> bool {
    let Some(wanted) = attributes.wanted.take() else { return false };
    let server = attributes.call.server.clone();
    let patience = Duration::from_secs(wanted.timeout);
    let why = match server.ctx.timeout(patience, Box::pin(dial(&server, &wanted))).await {
        Ok(why) => why,
        Err(_) => "context deadline exceeded".to_string(),
    };
    let url = api::go::quote(&format!("{}?timeout={}s", wanted.url, wanted.timeout));
    attributes.called.push((wanted.key, format!("Post {url}: {why}").into()));
    true
}

/// Why a call fails. What answers at the address does not speak TLS.
async fn dial(server: &Inner, wanted: &Wanted) -> String {
    let (shown, addresses) = match &wanted.service {
        Some((namespace, name, port)) => match of_service(server, namespace, name, *port) {
            Ok(found) => found,
            Err(why) => return why,
        },
        None => match of_url(&wanted.url) {
            Ok(address) => (address.to_string(), vec![address]),
            Err(why) => return why,
        },
    };
    let Some(address) = addresses.first() else {
        return format!("dial tcp {shown}: connect: connection refused");
    };
    // A loopback address is this machine.
    let loopback = address.ip.0 >> 24 == 127;
    let reached = if loopback { Addr { ip: server.config.advertise, ..*address } } else { *address };
    match server.ctx.connect(reached).await {
        Ok(_) => "tls: first record does not look like a TLS handshake".to_string(),
        Err(NetError::TimedOut) => "context deadline exceeded".to_string(),
        Err(error) => format!("dial tcp {shown}: {error}"),
    }
}

fn of_url(url: &str) -> Result<Addr, String> {
    let rest = url.strip_prefix("https://").unwrap_or(url);
    let authority = rest.split('/').next().unwrap_or(rest);
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "443"));
    match (parse_ip(host), port.parse()) {
        (Some(ip), Ok(port)) => Ok(Addr { ip, port }),
        _ => Err(format!("dial tcp: lookup {host}: no such host")),
    }
}

/// The address of a Service (`ResolveCluster`), and those behind it.
fn of_service(server: &Inner, namespace: &str, name: &str, port: i64) -> Result<(String, Vec<Addr>), String> {
    let key = format!("{namespace}/{name}");
    let found = server.cache.resource(server.services).get(&key).and_then(|found| found.downcast::<Service>());
    let service = found.ok_or_else(|| format!("service {} not found", api::go::quote(name)))?;
    let quoted = api::go::quote(name);
    let ports = service.spec.ports.iter().find(|p| i64::from(p.port) == port);
    let chosen = ports.ok_or_else(|| format!("no service port {port} found for service {quoted}"))?;
    let resource = server.resource_of(Endpoints::KIND);
    let endpoints = resource.and_then(|resource| server.cache.resource(resource).get(&key));
    let endpoints = endpoints.and_then(|found| found.downcast::<Endpoints>());
    let mut addresses = Vec::new();
    for subset in endpoints.iter().flat_map(|endpoints| endpoints.subsets.iter()) {
        let Some(target) = subset.ports.iter().find(|p| p.name == chosen.name) else { continue };
        let ips = subset.addresses.iter().filter_map(|address| parse_ip(&address.ip));
        addresses.extend(ips.filter_map(|ip| Some(Addr { ip, port: u16::try_from(target.port).ok()? })));
    }
    if &*service.spec.cluster_ip == "None" {
        if addresses.is_empty() {
            return Err(format!("no endpoints available for service {quoted}"));
        }
        return Ok((addresses.first().map(Addr::to_string).unwrap_or_default(), addresses));
    }
    Ok((format!("{}:{port}", service.spec.cluster_ip), addresses))
}
