//! URLs, addresses and networks (library/urls.go, ip.go, cidr.go).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::eval::{Activation, Eval};
use super::value::{Other, Val};
use crate::go::quote;

/// A parsed URL, as far as expressions can see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

impl Url {
    /// Reads an absolute URL or an absolute path (`url.ParseRequestURI`).
    ///
    /// # Errors
    /// Go's.
    pub fn parse(text: &str) -> Result<Url, String> {
        let fail = |why: &str| Err(format!("parse {}: {why}", quote(text)));
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return fail("net/url: invalid control character in URL");
        }
        if text.is_empty() {
            return fail("empty url");
        }
        let first_colon = text.find([':', '/', '?']).filter(|i| text.as_bytes().get(*i) == Some(&b':'));
        let (scheme, rest) = match first_colon {
            Some(0) => return fail("missing protocol scheme"),
            Some(i) if text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let (scheme, rest) = text.split_at(i);
                (scheme.to_ascii_lowercase(), rest.get(1..).unwrap_or_default())
            }
            _ => (String::new(), text),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                return Ok(Url { scheme, host: String::new(), path: String::new(), query: query.to_string() });
            }
            return fail("invalid URI for request");
        }
        let (host, path) = match rest.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            _ => ("", rest),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        if let Some(bad) =
            host.chars().find(|c| matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
        {
            return fail(&format!("invalid character {} in host name", quote(&bad.to_string())));
        }
        let port = host.rsplit_once(']').map_or(host, |(_, after)| after).rsplit_once(':').map(|(_, port)| port);
        if let Some(port) = port.filter(|port| !port.bytes().all(|b| b.is_ascii_digit())) {
            return fail(&format!("invalid port {} after host", quote(&format!(":{port}"))));
        }
        for (i, _) in path.match_indices('%') {
            let escape = path.get(i..(i + 3).min(path.len())).unwrap_or("%");
            if escape.len() < 3 || !escape.bytes().skip(1).all(|b| b.is_ascii_hexdigit()) {
                return fail(&format!("invalid URL escape {}", quote(escape)));
            }
        }
        Ok(Url { scheme, host: host.to_string(), path: path.to_string(), query: query.to_string() })
    }

    fn hostname(&self) -> &str {
        if let Some(inner) = self.host.strip_prefix('[') {
            return inner.split(']').next().unwrap_or_default();
        }
        self.host.split(':').next().unwrap_or_default()
    }

    fn port(&self) -> &str {
        let after = self.host.rsplit_once(']').map_or(&*self.host, |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// The path, with what must be escaped.
    fn escaped_path(&self) -> String {
        let mut out = String::new();
        for b in self.path.bytes() {
            let kept = b.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@%!'()*[]".contains(&b);
            if kept { out.push(char::from(b)) } else { out.push_str(&format!("%{b:02X}")) }
        }
        out
    }
}

fn unescaped(text: &str) -> String {
    let mut out: Vec<u8> = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        let code = text.get(i + 1..i + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (b, code) {
            (b'%', Some(code)) => {
                out.push(code);
                i += 3;
                continue;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(b),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Go's `netip.ParseAddr`, and what Kubernetes forbids besides.
fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let quoted = quote(text);
    let parsed = text.parse::<IpAddr>().map_err(|_| {
        let why = if !text.contains(['.', ':']) { "unable to parse IP" } else { unparsed(text) };
        format!("IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {why}")
    })?;
    match parsed {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
        }
        ip => Ok(ip),
    }
}

/// Go's words for the commonest faults of dotted addresses.
fn unparsed(text: &str) -> &'static str {
    if text.contains(':') {
        return "unable to parse IP";
    }
    let parts: Vec<&str> = text.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return "IPv4 field must have at least one digit";
    }
    if parts.iter().any(|part| !part.bytes().all(|b| b.is_ascii_digit())) {
        return "unexpected character";
    }
    if parts.iter().any(|part| part.len() > 1 && part.starts_with('0')) {
        return "IPv4 field has octet with leading zero";
    }
    if parts.iter().any(|part| part.parse::<u8>().is_err()) {
        return "IPv4 field has value >255";
    }
    if parts.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    const WHY: &str = "network address parse error during conversion from string";
    let quoted = quote(text);
    let fail = |why: String| Err(format!("{WHY}: netip.ParsePrefix({quoted}): {why}"));
    let Some((ip, bits)) = text.rsplit_once('/') else { return fail("no '/'".to_string()) };
    let Ok(ip) = ip.parse::<IpAddr>() else {
        return fail(format!("ParseAddr({}): unable to parse IP", quote(ip)));
    };
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let well = bits.bytes().all(|b| b.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    match bits.parse::<u8>() {
        Ok(n) if well && n <= most => {}
        Ok(_) if well => return fail("prefix length out of range".to_string()),
        _ => return fail(format!("bad bits after slash: {}", quote(bits))),
    }
    if matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some()) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok((ip, bits.parse().unwrap_or_default()))
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    let keep = |width: u32| u128::MAX.checked_shl(width.saturating_sub(u32::from(bits))).unwrap_or(0);
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from(u32::from(ip) & (keep(32) as u32))),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from(u128::from(ip) & keep(128))),
    }
}

fn contains(network: (IpAddr, u8), ip: IpAddr) -> bool {
    network.0.is_ipv4() == ip.is_ipv4() && masked(ip, network.1) == masked(network.0, network.1)
}

fn made<T>(found: Result<T, String>, make: fn(T) -> Val) -> Eval {
    found.map(make).map_err(Into::into)
}

pub(super) fn of_networks(_: &mut Activation, name: &str, args: &[Val]) -> Option<Eval> {
    const NO_URL: &str = "URL parse error during conversion from string";
    if let [Val::Str(text)] = args {
        return Some(match name {
            "url" => made(Url::parse(text).map_err(|why| format!("{NO_URL}: {why}")), |u| Val::other(Other::Url(u))),
            "isURL" => Ok(Val::Bool(Url::parse(text).is_ok())),
            "ip" => made(parse_ip(text), |ip| Val::other(Other::Ip(ip))),
            "isIP" => Ok(Val::Bool(parse_ip(text).is_ok())),
            "ip.isCanonical" => parse_ip(text).map(|ip| Val::Bool(ip.to_string() == **text)).map_err(Into::into),
            "cidr" => {
                let found = parse_cidr(text)
                    .map_err(|why| format!("network address parse error during conversion from string: {why}"));
                made(found, |(ip, bits)| Val::other(Other::Cidr(ip, bits)))
            }
            "isCIDR" => Ok(Val::Bool(parse_cidr(text).is_ok())),
            _ => return None,
        });
    }
    let (Val::Other(of), rest) = args.split_first()? else { return None };
    match (&**of, rest) {
        (Other::Url(url), []) => Some(Ok(match name {
            "getScheme" => Val::from(&*url.scheme),
            "getHost" => Val::from(&*url.host),
            "getHostname" => Val::from(url.hostname()),
            "getPort" => Val::from(url.port()),
            "getEscapedPath" => Val::from(url.escaped_path()),
            "getQuery" => {
                let mut query: Vec<(Val, Vec<Val>)> = Vec::new();
                for part in url.query.split('&').filter(|part| !part.is_empty()) {
                    let (key, value) = part.split_once('=').unwrap_or((part, ""));
                    let (key, value) = (Val::from(unescaped(key)), Val::from(unescaped(value)));
                    match query.iter_mut().find(|(k, _)| k.equals(&key)) {
                        Some((_, values)) => values.push(value),
                        None => query.push((key, vec![value])),
                    }
                }
                Val::map(query.into_iter().map(|(k, v)| (k, Val::list(v))).collect())
            }
            _ => return None,
        })),
        (Other::Ip(ip), []) => {
            let v6 = |test: fn(&Ipv6Addr) -> bool, v4: bool| match ip {
                IpAddr::V6(ip) => test(ip),
                IpAddr::V4(_) => v4,
            };
            let v4 = |test: fn(&Ipv4Addr) -> bool| matches!(ip, IpAddr::V4(ip) if test(ip));
            Some(Ok(match name {
                "family" => Val::Int(if ip.is_ipv4() { 4 } else { 6 }),
                "isUnspecified" => Val::Bool(ip.is_unspecified()),
                "isLoopback" => Val::Bool(ip.is_loopback()),
                "isLinkLocalMulticast" => {
                    let local = |ip: &Ipv4Addr| ip.octets().starts_with(&[224, 0, 0]);
                    Val::Bool(v6(|ip| ip.segments().first().is_some_and(|s| s & 0xff0f == 0xff02), v4(local)))
                }
                "isLinkLocalUnicast" => {
                    let local = v4(Ipv4Addr::is_link_local);
                    Val::Bool(v6(|ip| ip.segments().first().is_some_and(|s| s & 0xffc0 == 0xfe80), local))
                }
                "isGlobalUnicast" => {
                    let other = v4(|ip| ip.is_link_local() || ip.is_broadcast());
                    let local = v6(|ip| ip.segments().first().is_some_and(|s| s & 0xffc0 == 0xfe80), other);
                    Val::Bool(!local && !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast())
                }
                _ => return None,
            }))
        }
        (Other::Cidr(ip, bits), []) => Some(Ok(match name {
            "ip" => Val::other(Other::Ip(*ip)),
            "prefixLength" => Val::Int(i64::from(*bits)),
            "masked" => Val::other(Other::Cidr(masked(*ip, *bits), *bits)),
            _ => return None,
        })),
        (Other::Cidr(ip, bits), [other]) => {
            let network = (*ip, *bits);
            let found = match (name, other) {
                ("containsIP", Val::Str(text)) => parse_ip(text).map(|ip| contains(network, ip)),
                ("containsCIDR", Val::Str(text)) => parse_cidr(text)
                    .map(|(ip, n)| n >= *bits && contains(network, ip))
                    .map_err(|why| format!("network address parse error during conversion from string: {why}")),
                (_, Val::Other(other)) => match (name, &**other) {
                    ("containsIP", Other::Ip(ip)) => Ok(contains(network, *ip)),
                    ("containsCIDR", Other::Cidr(ip, n)) => Ok(n >= bits && contains(network, *ip)),
                    _ => return None,
                },
                _ => return None,
            };
            Some(made(found, Val::Bool))
        }
        _ => None,
    }
}
