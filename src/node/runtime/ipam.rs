//! Addresses of pods from the node's range, in turn (CNI's host-local).

use sim::Ip;
use std::collections::BTreeSet;

/// A range of addresses: `10.244.0.0/24`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PodRange {
    base: u32,
    bits: u32,
}

impl PodRange {
    /// Reads `a.b.c.d/n`.
    pub fn parse(text: &str) -> Option<Self> {
        let (ip, bits) = text.split_once('/')?;
        let mut octets = ip.split('.').map(|o| o.parse::<u8>().ok());
        let base = u32::from_be_bytes([octets.next()??, octets.next()??, octets.next()??, octets.next()??]);
        let bits: u32 = bits.parse().ok().filter(|b| (8..=30).contains(b))?;
        let size = 1u32.checked_shl(32 - bits)?;
        (octets.next().is_none() && base % size == 0).then_some(Self { base, bits })
    }
    /// First and last address that a pod may have: the first of the range is the gateway.
    fn bounds(self) -> (u32, u32) {
        let size = 1u32.checked_shl(32 - self.bits).unwrap_or(4);
        (self.base.saturating_add(2), self.base.saturating_add(size.saturating_sub(2)))
    }
    /// The gateway, from which the node talks to its pods.
    pub fn gateway(self) -> Ip {
        Ip(self.base.saturating_add(1))
    }
}

impl std::fmt::Display for PodRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", Ip(self.base), self.bits)
    }
}

/// Which addresses are in use.
#[derive(Default, Debug)]
pub struct Ipam {
    used: BTreeSet<Ip>,
    last: Option<Ip>,
}

impl Ipam {
    /// The next free address after the one given last, from the start again at the end.
    pub fn allocate(&mut self, range: PodRange) -> Option<Ip> {
        let (first, last) = range.bounds();
        let start = self.last.map_or(first, |l| l.0.saturating_add(1));
        let start = if (first..=last).contains(&start) { start } else { first };
        let ip = (start..=last).chain(first..start).map(Ip).find(|ip| !self.used.contains(ip))?;
        self.used.insert(ip);
        self.last = Some(ip);
        Some(ip)
    }
    /// Gives an address back.
    pub fn release(&mut self, ip: Ip) {
        self.used.remove(&ip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_given_in_turn() {
        let range = PodRange::parse("10.244.1.0/30").unwrap();
        assert_eq!(range.gateway().to_string(), "10.244.1.1");
        let mut ipam = Ipam::default();
        let a = ipam.allocate(range).unwrap();
        assert_eq!(a.to_string(), "10.244.1.2");
        assert_eq!(ipam.allocate(range), None);
        ipam.release(a);
        assert_eq!(ipam.allocate(range), Some(a));
        let range = PodRange::parse("10.244.1.0/29").unwrap();
        let given: Vec<_> = (0..4).filter_map(|_| ipam.allocate(range)).map(|ip| ip.0 & 7).collect();
        assert_eq!(given, [3, 4, 5, 6]);
        for bad in ["10.244.1.0", "10.244.1.1/24", "10.244.1.0/31", "10.244.1/24", "x/24", "1.2.3.4.0/24"] {
            assert_eq!(PodRange::parse(bad), None, "{bad}");
        }
    }
}
