//! `kubectl describe`.

use crate::builder::{Builder, Info};
use crate::describe::writer::selector_text;
use crate::describe::{Describer, Need, Related, describe as write, describer};
use crate::error::Error;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::Value;

/// The command.
pub async fn describe(k: &Kubectl<'_>) -> Result<(), Error> {
    let f = &k.flags;
    if k.args().is_empty() && f.list("filename").is_empty() {
        return Err(Error::text(
            "You must specify the type of resource to describe. Use \"kubectl api-resources\" for a complete list of supported resources.\n",
        ));
    }
    let all = f.bool("all-namespaces");
    let build = || {
        let mut b = Builder::new(k).all_namespaces(all).labels(f.str("selector")).arguments(k, true, k.args());
        b.chunk = f.int("chunk-size");
        b
    };
    let visit = build().run(k).await?;
    let (infos, failed) = visit.infos();
    let mut errors = Vec::new();
    match failed {
        Err(e) if e.is_not_found() && k.args().len() == 2 => return by_prefix(k, e).await,
        Err(Error::Aggregate(list)) => errors.extend(list),
        Err(e) => errors.push(e),
        Ok(()) => {}
    }
    let mut first = true;
    let show_events = shows_events(k, infos.len() == 1 && errors.is_empty());
    for info in &infos {
        match one(k, info, show_events).await {
            Ok(text) => {
                if std::mem::take(&mut first) {
                    k.out(&text);
                } else {
                    k.out(&format!("\n\n{text}"));
                }
            }
            Err(e) => errors.push(e),
        }
    }
    if infos.is_empty() && errors.is_empty() {
        if all {
            k.err("No resources found\n");
        } else {
            k.err(&format!("No resources found in {} namespace.\n", k.namespace()));
        }
    }
    let mut seen = Vec::new();
    errors.retain(|e| {
        let text = e.in_list();
        let fresh = !seen.contains(&text);
        seen.push(text);
        fresh
    });
    Error::aggregate(errors)
}

/// A name that no object has is a prefix of names.
async fn by_prefix(k: &Kubectl<'_>, original: Error) -> Result<(), Error> {
    let [kind, prefix] = k.args() else { return Err(original) };
    let b = Builder::new(k).arguments(k, true, std::slice::from_ref(kind));
    let (infos, failed) = b.run(k).await?.infos();
    failed?;
    let mut found = false;
    for info in infos.iter().filter(|i| i.name.starts_with(prefix.as_str())) {
        found = true;
        let text = one(k, info, shows_events(k, false)).await?;
        k.out(&format!("{text}\n"));
    }
    if found { Ok(()) } else { Err(original) }
}

/// Whether events are shown: as the flag says, else of an object that was named alone.
fn shows_events(k: &Kubectl<'_>, alone: bool) -> bool {
    if k.flags.changed("show-events") { k.flags.bool("show-events") } else { alone }
}

async fn one(k: &Kubectl<'_>, info: &Info, show_events: bool) -> Result<String, Error> {
    let d = describer(&info.mapping.group, &info.mapping.kind);
    // As real describers do, the object is read anew.
    let object = k.get(&info.mapping, &info.namespace, &info.name, "").await?;
    let related = related(k, d, &object, show_events).await?;
    Ok(write(d, &object, &related))
}

async fn related(k: &Kubectl<'_>, d: &Describer, object: &Value, show_events: bool) -> Result<Related, Error> {
    let mut r = Related { now: k.now(), ..Related::default() };
    let namespace = object.str("metadata/namespace").to_string();
    let name = object.str("metadata/name");
    let selector = selector_text(object.at("spec/selector"));
    let pods = k.known("", "pods")?;
    for need in d.needs {
        match need {
            Need::Events | Need::EventsAnyKind | Need::EventsOfNode if !show_events => {}
            Need::Events | Need::EventsAnyKind | Need::EventsOfNode => {
                let kind = if *need == Need::EventsAnyKind { "" } else { object.str("kind") };
                let uid = object.str("metadata/uid");
                let mut found = events(k, &namespace, name, kind, uid).await;
                if *need == Need::EventsOfNode {
                    let more = events(k, &namespace, name, kind, name).await;
                    if let (Some(f), Some(m)) = (&mut found, more) {
                        f.extend(m);
                    }
                }
                r.events = found;
            }
            Need::PodsBySelector => match k.list(&pods, &namespace, &selector, "").await {
                Ok(list) => r.pods = list,
                Err(e) if d.kind == "ReplicaSet" => r.pods_error = Some(e.message()),
                Err(e) => return Err(e),
            },
            Need::PodsOfNamespace => r.pods = k.list(&pods, &namespace, "", "").await?,
            Need::PodsOnNode => {
                let fields = format!("spec.nodeName={name},status.phase!=Failed,status.phase!=Succeeded");
                match k.list(&pods, "", "", &fields).await {
                    Ok(list) => r.pods = list,
                    Err(e) if e.reason() == "Forbidden" => r.pods_error = Some(e.message()),
                    Err(e) => return Err(e),
                }
            }
            Need::Slices => {
                let slices = k.known("discovery.k8s.io", "endpointslices")?;
                let labels = format!("kubernetes.io/service-name={name}");
                r.slices = k.list(&slices, &namespace, &labels, "").await.unwrap_or_default();
            }
            Need::Backends => {
                let slices = k.known("discovery.k8s.io", "endpointslices")?;
                let services = k.known("", "services")?;
                r.slices = k.list(&slices, &namespace, "", "").await.unwrap_or_default();
                r.services = k.list(&services, &namespace, "", "").await.unwrap_or_default();
            }
            Need::NodeLease => {
                let leases = k.known("coordination.k8s.io", "leases")?;
                let got = k.get(&leases, "kube-node-lease", name, "").await;
                r.lease = Some(got.map_err(|e| e.message()));
            }
            Need::Quotas => {
                let (quotas, limits) = (k.known("", "resourcequotas")?, k.known("", "limitranges")?);
                r.quotas = k.list(&quotas, name, "", "").await?;
                r.limits = k.list(&limits, name, "", "").await?;
            }
            Need::ReplicaSets => {
                let sets = k.known("apps", "replicasets")?;
                r.replica_sets = k.list(&sets, &namespace, &selector, "").await.unwrap_or_default();
            }
        }
    }
    Ok(r)
}

/// `searchEvents`; None when they can't be had.
pub async fn events(k: &Kubectl<'_>, namespace: &str, name: &str, kind: &str, uid: &str) -> Option<Vec<Value>> {
    let events = k.known("", "events").ok()?;
    let mut fields = Vec::new();
    if !kind.is_empty() {
        fields.push(format!("involvedObject.kind={kind}"));
    }
    fields.push(format!("involvedObject.name={name}"));
    if !namespace.is_empty() {
        fields.push(format!("involvedObject.namespace={namespace}"));
    }
    if !uid.is_empty() {
        fields.push(format!("involvedObject.uid={uid}"));
    }
    let _ = quote;
    k.list(&events, namespace, "", &fields.join(",")).await.ok()
}
