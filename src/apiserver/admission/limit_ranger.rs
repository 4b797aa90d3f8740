//! LimitRanger: a namespace's defaults for requests and limits, and its bounds.

use api::core_v1::{Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod};
use api::{Map, Object, Quantity, Status, Str};

use super::{Attributes, Operation};

/// What the plugin set, on the pod.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// Above this thousandths don't fit.
const MAX_MILLI_VALUE: i64 = i64::MAX / 1000;

fn ranges(attributes: &Attributes) -> Vec<api::Rev<LimitRange>> {
    let server = &attributes.call.server;
    let mut found = Vec::new();
    server.cache.resource(server.limit_ranges).each(&attributes.call.namespace, |object| {
        found.extend(object.downcast::<LimitRange>());
    });
    found
}

fn concerned(attributes: &Attributes) -> bool {
    match attributes.operation {
        Operation::Create => attributes.is("", "pods", "") || attributes.is("", "persistentvolumeclaims", ""),
        Operation::Update => attributes.is("", "persistentvolumeclaims", ""),
        _ => false,
    }
}

pub fn mutate(attributes: &mut Attributes, object: &mut dyn Object, _: Option<&dyn Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create || !attributes.is("", "pods", "") {
        return Ok(());
    }
    let ranges = ranges(attributes);
    let Some(pod) = object.downcast_mut::<Pod>().filter(|_| !ranges.is_empty()) else { return Ok(()) };
    for range in ranges {
        let mut requests: Map<Quantity> = Map::default();
        let mut limits: Map<Quantity> = Map::default();
        for item in range.spec.limits.iter().filter(|item| &*item.type_ == "Container") {
            for (name, quantity) in item.default_request.iter() {
                requests.insert(name.clone(), quantity.clone());
            }
            for (name, quantity) in item.default.iter() {
                limits.insert(name.clone(), quantity.clone());
            }
        }
        if requests.is_empty() && limits.is_empty() {
            continue;
        }
        let mut notes = Vec::new();
        let spec = pod.spec.make();
        for container in spec.containers.make() {
            merge(container, &requests, &limits, "container", &mut notes);
        }
        if !spec.init_containers.is_empty() {
            for container in spec.init_containers.make() {
                merge(container, &requests, &limits, "init container", &mut notes);
            }
        }
        if !notes.is_empty() {
            let text = format!("LimitRanger plugin set: {}", notes.join("; "));
            pod.metadata.annotations.insert(Str::from(ANNOTATION), Str::from(text));
        }
    }
    Ok(())
}

fn merge(
    container: &mut Container,
    requests: &Map<Quantity>,
    limits: &Map<Quantity>,
    prefix: &str,
    notes: &mut Vec<String>,
) {
    let set = |into: &mut Map<Quantity>, from: &Map<Quantity>| -> Vec<String> {
        let missing: Vec<(Str, Quantity)> =
            from.iter().filter(|(k, _)| !into.contains_key(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
        let names = missing.iter().map(|(name, _)| name.to_string()).collect();
        for (name, quantity) in missing {
            into.insert(name, quantity);
        }
        names
    };
    let set_limits = set(&mut container.resources.limits, limits);
    let set_requests = set(&mut container.resources.requests, requests);
    for (names, what) in [(set_requests, "request"), (set_limits, "limit")] {
        if !names.is_empty() {
            notes.push(format!("{} {what} for {prefix} {}", names.join(", "), container.name));
        }
    }
}

pub fn validate(attributes: &mut Attributes, new: Option<&dyn Object>, _: Option<&dyn Object>) -> Result<(), Status> {
    let Some(object) = new.filter(|_| concerned(attributes)) else { return Ok(()) };
    for range in ranges(attributes) {
        let mut errors = Vec::new();
        for item in range.spec.limits.iter() {
            if let Some(pod) = object.downcast_ref::<Pod>() {
                check_pod(item, pod, &mut errors);
            } else if let Some(claim) = object.downcast_ref::<PersistentVolumeClaim>()
                && &*item.type_ == "PersistentVolumeClaim"
            {
                let requests = &claim.spec.resources.requests;
                item.min.iter().for_each(|(k, v)| errors.extend(min(item, k, v, requests, &Map::default())));
                item.max.iter().for_each(|(k, v)| errors.extend(max_request(item, k, v, requests)));
            }
        }
        if !errors.is_empty() {
            return Err(attributes.forbidden(new, &api::field::aggregate(errors)));
        }
    }
    Ok(())
}

fn check_pod(item: &LimitRangeItem, pod: &Pod, errors: &mut Vec<String>) {
    let mut check = |requests: &Map<Quantity>, limits: &Map<Quantity>| {
        item.min.iter().for_each(|(k, v)| errors.extend(min(item, k, v, requests, limits)));
        item.max.iter().for_each(|(k, v)| errors.extend(max(item, k, v, requests, limits)));
        let ratios = item.max_limit_request_ratio.iter();
        ratios.for_each(|(k, v)| errors.extend(ratio(item, k, v, requests, limits)));
    };
    match &*item.type_ {
        "Container" => {
            for container in pod.spec.containers.iter().chain(pod.spec.init_containers.iter()) {
                check(&container.resources.requests, &container.resources.limits);
            }
        }
        "Pod" => check(&sum(pod, |c| &c.resources.requests), &sum(pod, |c| &c.resources.limits)),
        _ => {}
    }
}

/// A pod's amounts: its containers' together, or the largest init container's.
fn sum(pod: &Pod, of: fn(&Container) -> &Map<Quantity>) -> Map<Quantity> {
    let mut total: Map<Quantity> = Map::default();
    for container in pod.spec.containers.iter() {
        for (name, quantity) in of(container).iter() {
            let mut amount = total.get(name).cloned().unwrap_or_default();
            amount.add(quantity);
            total.insert(name.clone(), amount);
        }
    }
    for container in pod.spec.init_containers.iter() {
        for (name, quantity) in of(container).iter() {
            if total.get(name).is_none_or(|sum| sum.cmp(quantity) == std::cmp::Ordering::Less) {
                total.insert(name.clone(), quantity.clone());
            }
        }
    }
    total
}

/// Three amounts on one scale: thousandths, if all fit.
fn values(a: &Quantity, b: &Quantity, c: &Quantity) -> (i64, i64, i64) {
    let whole = (a.value(), b.value(), c.value());
    if whole.0 <= MAX_MILLI_VALUE && whole.1 <= MAX_MILLI_VALUE && whole.2 <= MAX_MILLI_VALUE {
        (a.milli_value(), b.milli_value(), c.milli_value())
    } else {
        whole
    }
}

type Amounts<'a> = &'a Map<Quantity>;

fn min(item: &LimitRangeItem, name: &str, bound: &Quantity, requests: Amounts, limits: Amounts) -> Option<String> {
    let head = format!("minimum {name} usage per {} is {bound}", item.type_);
    let Some(request) = requests.get(name) else { return Some(format!("{head}.  No request is specified")) };
    let zero = Quantity::default();
    let limit = limits.get(name);
    let (asked, limited, least) = values(request, limit.unwrap_or(&zero), bound);
    match limit {
        _ if asked < least => Some(format!("{head}, but request is {request}")),
        Some(limit) if limited < least => Some(format!("{head}, but limit is {limit}")),
        _ => None,
    }
}

fn max(item: &LimitRangeItem, name: &str, bound: &Quantity, requests: Amounts, limits: Amounts) -> Option<String> {
    let head = format!("maximum {name} usage per {} is {bound}", item.type_);
    let Some(limit) = limits.get(name) else { return Some(format!("{head}.  No limit is specified")) };
    let zero = Quantity::default();
    let request = requests.get(name);
    let (asked, limited, most) = values(request.unwrap_or(&zero), limit, bound);
    match request {
        _ if limited > most => Some(format!("{head}, but limit is {limit}")),
        Some(request) if asked > most => Some(format!("{head}, but request is {request}")),
        _ => None,
    }
}

fn max_request(item: &LimitRangeItem, name: &str, bound: &Quantity, requests: Amounts) -> Option<String> {
    let head = format!("maximum {name} usage per {} is {bound}", item.type_);
    let Some(request) = requests.get(name) else { return Some(format!("{head}.  No request is specified")) };
    let (asked, _, most) = values(request, &Quantity::default(), bound);
    (asked > most).then(|| format!("{head}, but request is {request}"))
}

fn ratio(item: &LimitRangeItem, name: &str, bound: &Quantity, requests: Amounts, limits: Amounts) -> Option<String> {
    let head = format!("{name} max limit to request ratio per {} is {bound}", item.type_);
    let zero = Quantity::default();
    let (request, limit) = (requests.get(name).unwrap_or(&zero), limits.get(name).unwrap_or(&zero));
    let (asked, limited, _) = values(request, limit, bound);
    if asked == 0 {
        return Some(format!("{head}, but no request is specified or request is 0"));
    }
    if limited == 0 {
        return Some(format!("{head}, but no limit is specified or limit is 0"));
    }
    let provided = limited as f64 / asked as f64;
    let allowed = bound.milli_value() as f64 / 1000.0;
    (provided > allowed).then(|| format!("{head}, but provided ratio is {provided:.6}"))
}
