//! IP addresses and ranges (apimachinery's util/validation/ip.go).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::at::{At, Errors};

/// An address that may have leading zeros, as Go once read them (`ParseIPSloppy`).
pub(super) fn sloppy(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then_some(IpAddr::V4(Ipv4Addr::from(octets)))
}

fn parse(text: &str, at: &At, errors: &mut Errors) -> Option<IpAddr> {
    let Some(ip) = sloppy(text) else {
        errors.invalid(at, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        return None;
    };
    if text.parse::<IpAddr>().is_err() {
        errors.invalid(at, text, "must not have leading 0s");
        return None;
    }
    if is_mapped(ip) {
        errors.invalid(at, text, "must not be an IPv4-mapped IPv6 address");
        return None;
    }
    Some(ip)
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// `IsValidIPForLegacyField`, which is strict by default.
pub(super) fn legacy_ip(text: &str, at: &At, errors: &mut Errors) {
    parse(text, at, errors);
}

/// `IsValidIP`: the canonical form only.
pub(super) fn ip(text: &str, at: &At, errors: &mut Errors) {
    if let Some(ip) = parse(text, at, errors)
        && ip.to_string() != text
    {
        errors.invalid(at, text, format!("must be in canonical form ({})", crate::go::quote(&ip.to_string())));
    }
}

/// A range read with leading zeros allowed.
pub(crate) fn sloppy_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ip = sloppy(ip)?;
    let bits: u8 = bits.parse().ok()?;
    (bits <= if ip.is_ipv4() { 32 } else { 128 }).then_some((ip, bits))
}

/// The first address of a range.
pub(crate) fn network(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}

fn parse_cidr(text: &str, at: &At, errors: &mut Errors) -> Option<(IpAddr, u8)> {
    let Some((ip, bits)) = sloppy_cidr(text) else {
        errors.invalid(at, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        return None;
    };
    let strict = text
        .split_once('/')
        .is_some_and(|(ip, bits)| ip.parse::<IpAddr>().is_ok() && (bits == "0" || !bits.starts_with('0')));
    if !strict {
        errors.invalid(at, text, "must not have leading 0s in IP or prefix length");
        return None;
    }
    if is_mapped(ip) {
        errors.invalid(at, text, "must not have an IPv4-mapped IPv6 address");
        return None;
    }
    if network(ip, bits) != ip {
        errors.invalid(at, text, "must not have bits set beyond the prefix length");
        return None;
    }
    Some((ip, bits))
}

/// `IsValidCIDRForLegacyField`, which is strict by default.
pub(super) fn legacy_cidr(text: &str, at: &At, errors: &mut Errors) -> Option<(IpAddr, u8)> {
    parse_cidr(text, at, errors)
}

/// `IsValidCIDR`: the canonical form only.
pub(super) fn cidr(text: &str, at: &At, errors: &mut Errors) -> Option<(IpAddr, u8)> {
    let (ip, bits) = parse_cidr(text, at, errors)?;
    let canonical = format!("{ip}/{bits}");
    if canonical != text {
        errors.invalid(at, text, format!("must be in canonical form ({})", crate::go::quote(&canonical)));
        return None;
    }
    Some((ip, bits))
}

/// An address that traffic can be sent to (`ValidateEndpointIP`).
pub(super) fn endpoint(text: &str, at: &At, errors: &mut Errors) {
    let Some(ip) = sloppy(text) else { return errors.invalid(at, text, "must be a valid IP address") };
    if ip.is_unspecified() {
        errors.invalid(at, text, format!("may not be unspecified ({text})"));
    }
    if ip.is_loopback() {
        errors.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (local, multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), matches!(ip.octets(), [224, 0, 0, _])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), matches!(ip.octets(), [0xff, scope, ..] if scope & 0x0f == 2)),
    };
    if local {
        errors.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        errors.invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let found = |check: &dyn Fn(&str, &At, &mut Errors), text: &str| {
            let mut errors = Errors::default();
            check(text, &At::new("x"), &mut errors);
            errors.finish().to_string()
        };
        assert_eq!(found(&legacy_ip, "10.0.0.1"), "");
        assert_eq!(found(&legacy_ip, "2001:DB8::1"), "");
        assert_eq!(
            found(&ip, "2001:DB8::1"),
            "x: Invalid value: \"2001:DB8::1\": must be in canonical form (\"2001:db8::1\")"
        );
        assert_eq!(found(&legacy_ip, "10.0.0.01"), "x: Invalid value: \"10.0.0.01\": must not have leading 0s");
        assert_eq!(
            found(&legacy_ip, "::ffff:1.2.3.4"),
            "x: Invalid value: \"::ffff:1.2.3.4\": must not be an IPv4-mapped IPv6 address"
        );
        assert_eq!(
            found(&legacy_ip, "10.0.0"),
            "x: Invalid value: \"10.0.0\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        );
        let range = |text: &str, at: &At, errors: &mut Errors| {
            legacy_cidr(text, at, errors);
        };
        assert_eq!(found(&range, "10.0.0.0/8"), "");
        assert_eq!(
            found(&range, "10.0.0.1/8"),
            "x: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix length"
        );
        assert_eq!(
            found(&range, "10.0.0.0/33"),
            "x: Invalid value: \"10.0.0.0/33\": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        );
    }
}
