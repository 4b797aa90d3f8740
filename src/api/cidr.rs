//! Networks of addresses, as ServiceCIDRs have them (Go's `netip.Prefix`, pkg/api/servicecidr).

use std::net::IpAddr;

use crate::validation::addresses;

/// A network: its first address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The network's own address.
    pub network: IpAddr,
    /// Bits of the prefix, at most those of the address.
    pub bits: u8,
}

impl Cidr {
    /// Reads `10.96.0.0/12`; nothing if it is none.
    pub fn parse(text: &str) -> Option<Cidr> {
        let (ip, bits) = addresses::sloppy_cidr(text)?;
        Some(Cidr { network: addresses::network(ip, bits), bits })
    }

    /// Whether the two have addresses in common. Of two that do, the one with fewer bits has all of the other's.
    pub fn overlaps(&self, other: &Cidr) -> bool {
        let bits = self.bits.min(other.bits);
        self.network.is_ipv4() == other.network.is_ipv4()
            && addresses::network(self.network, bits) == addresses::network(other.network, bits)
    }

    /// Whether a Service may have an address of it: its own one, and in IPv4 the last one, are nobody's
    /// (`PrefixContainsIP`).
    pub fn serves(&self, ip: IpAddr) -> bool {
        let one = Cidr { network: ip, bits: if ip.is_ipv4() { 32 } else { 128 } };
        let last = match (self.network, ip) {
            (IpAddr::V4(network), IpAddr::V4(ip)) => {
                u32::from(ip) == u32::from(network) | u32::MAX.checked_shr(u32::from(self.bits)).unwrap_or(0)
            }
            _ => false,
        };
        self.bits <= one.bits && self.overlaps(&one) && ip != self.network && !last
    }
}

#[cfg(test)]
mod tests {
    use super::Cidr;

    #[test]
    fn the_ends_of_a_network_are_nobodys() {
        let serves = |cidr: &str, ip: &str| Cidr::parse(cidr).unwrap().serves(ip.parse().unwrap());
        assert!(serves("10.96.0.0/12", "10.111.255.254") && serves("fd00::/112", "fd00::ffff"));
        for (cidr, ip) in [
            ("10.96.0.0/12", "10.96.0.0"),
            ("10.96.0.0/12", "10.111.255.255"),
            ("10.96.0.0/12", "10.112.0.1"),
            ("10.0.0.1/32", "10.0.0.1"),
            ("fd00::/112", "fd00::"),
            ("fd00::/112", "10.0.0.1"),
        ] {
            assert!(!serves(cidr, ip), "{cidr} {ip}");
        }
    }

    #[test]
    fn networks_overlap_where_one_is_in_the_other() {
        let overlap = |a: &str, b: &str| Cidr::parse(a).unwrap().overlaps(&Cidr::parse(b).unwrap());
        assert!(overlap("10.96.0.0/12", "10.96.0.0/11") && overlap("10.96.0.0/11", "10.100.0.0/24"));
        assert!(!overlap("10.96.0.0/12", "10.112.0.0/12") && !overlap("::/0", "0.0.0.0/0"));
        assert_eq!(Cidr::parse("10.96.0.0/33"), None);
    }
}
