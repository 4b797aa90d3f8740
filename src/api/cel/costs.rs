//! What calls cost while they run (cel-go's interpreter/runtimecost.go, ext/, and apiserver's library/cost.go).

use super::value::{Other, Val};

/// A tenth, and more where something is begun: what looking through `size` characters costs.
fn traversal(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

const TEXT: f64 = 0.1;
const PATTERN: f64 = 0.25;
/// What making a list and a struct costs.
pub(super) const LIST: u64 = 10;
const STRUCT: u64 = 40;
/// The lengths of the patterns of UUIDs and times.
const UUID: u64 = 70;
const DATE: u64 = 71;
/// The form of a call that costs nothing.
pub(super) const FREE: &str = "free";

/// The size of a value: of what has none 1.
fn size(value: &Val) -> u64 {
    let n = match value {
        Val::Str(text) => text.chars().count(),
        Val::Bytes(bytes) => bytes.len(),
        Val::List(list) => list.len(),
        Val::Map(map) => map.len(),
        Val::Optional(Some(inner)) => return size(inner),
        Val::Other(other) => match &**other {
            Other::Ip(ip) => {
                if ip.is_ipv4() {
                    4
                } else {
                    16
                }
            }
            Other::Cidr(_, bits) => usize::from(bits.div_ceil(8)),
            _ => 1,
        },
        _ => 1,
    };
    n as u64
}

/// What looking at all of a value costs.
fn whole(value: &Val) -> u64 {
    match value {
        Val::Str(text) => (text.len() as f64 * TEXT) as u64,
        Val::Bytes(bytes) => (bytes.len() as f64 * TEXT) as u64,
        Val::List(list) => list.to_vec().iter().map(whole).sum(),
        Val::Map(map) => map.to_vec().iter().map(|(key, value)| whole(key) + whole(value)).sum(),
        _ => 1,
    }
}

fn matching(text: u64, pattern: u64) -> u64 {
    traversal(text + 1, TEXT).saturating_mul(traversal(pattern, PATTERN))
}

/// The length that the pattern of a format counts as.
fn pattern_of(format: &str) -> u64 {
    match format {
        "dns1123Label" | "dns1035Label" | "dns1123LabelPrefix" | "dns1035LabelPrefix" => 30,
        "dns1123Subdomain" | "dns1123SubdomainPrefix" | "qualifiedName" => 60,
        "labelValue" => 40,
        "uri" => 1103,
        "uuid" => UUID,
        "byte" => 84,
        _ => DATE,
    }
}

/// What a call costs that was made with these arguments and gave this. `overload` is the form that the checker found, if
/// it is the only one.
pub(super) fn of_call(name: &str, overload: Option<&str>, args: &[Val], result: Option<&Val>) -> u64 {
    let arg = |i: usize| args.get(i).map_or(1, size);
    let form = overload.map_or("", |text| text.split("->").next().unwrap_or_default());
    let within = |factor: f64| traversal(arg(0), factor);
    // The lists' and sets' own trackers.
    let making = |size: u64, factor: f64| (size as f64 * factor) as u64 + 1 + LIST;
    let comparing = |list: Option<&Val>| {
        let Some(Val::List(list)) = list else { return making(0, 2.0) };
        let text = matches!(list.get(0), Some(Val::Str(_) | Val::Bytes(_)));
        let count = list.len() as u64;
        making(count.saturating_mul(count), if text { 2.0 + TEXT } else { 2.0 })
    };
    match name {
        _ if overload == Some(FREE) => 0,
        "slice" | "lists.range" | "reverse" => making(result.map_or(1, size), 1.0),
        "flatten" => making(arg(0), if let Some(Val::Int(depth)) = args.get(1) { *depth as f64 } else { 1.0 }),
        "distinct" => comparing(args.first()),
        "sort" if !form.is_empty() => comparing(args.first()),
        "@sortByAssociatedKeys" if !form.is_empty() => comparing(args.get(1)),
        "sets.contains" | "sets.intersects" => arg(0).saturating_mul(arg(1)) + 1,
        "sets.equivalent" => arg(0).saturating_mul(arg(1)).saturating_mul(2) + 1,
        "check" => 350_000,
        "fieldSelector" | "labelSelector" => {
            LIST + traversal(arg(1), TEXT) + traversal(arg(1), 0.5).saturating_mul(LIST + STRUCT)
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => args.first().map_or(0, whole),
        "url"
        | "lowerAscii"
        | "upperAscii"
        | "substring"
        | "trim"
        | "jsonpatch.escapeKey"
        | "cidr"
        | "isIP"
        | "isCIDR"
        | "quantity"
        | "isQuantity"
        | "semver"
        | "isSemver"
        | "strings.quote"
        | "format" => within(TEXT),
        "ip" if !matches!(args.first(), Some(Val::Other(_))) => within(TEXT),
        "replace" | "split" | "ip.isCanonical" => within(2.0 * TEXT),
        "join" => traversal(result.map_or(1, size), 2.0 * TEXT),
        "find" | "findAll" | "matches" => matching(arg(0), arg(1)),
        "containsIP" | "containsCIDR" => {
            let more = if name == "containsCIDR" { within(TEXT) + 1 } else { 0 };
            let read = if form.ends_with(",string") { traversal(arg(1), TEXT) } else { 0 };
            within(2.0 * TEXT) + more + read
        }
        "validate" => match args.first() {
            Some(Val::Other(of)) if matches!(&**of, Other::Format(_)) => {
                let Other::Format(format) = &**of else { return 1 };
                matching(arg(1), pattern_of(format))
            }
            _ => 1,
        },
        "_==_" if matches!(args.first(), Some(Val::Other(_))) => 1,
        "_==_" | "_!=_" => traversal(arg(0).min(arg(1)), TEXT),
        "startsWith" | "endsWith" => traversal(arg(1), TEXT),
        "contains" => within(TEXT).saturating_mul(traversal(arg(1), TEXT)),
        "bytes" if form == "string" => within(TEXT),
        "string" if form == "bytes" => within(TEXT),
        "@in" if form == "A,list(A)" => arg(1),
        "_<_" | "_<=_" | "_>_" | "_>=_" if matches!(form, "string,string" | "bytes,bytes") => {
            traversal(arg(0).min(arg(1)), TEXT)
        }
        "_+_" if matches!(form, "string,string" | "bytes,bytes") => traversal(arg(0) + arg(1), TEXT),
        _ => 1,
    }
}
