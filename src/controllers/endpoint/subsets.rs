//! Subsets in their canonical form (`pkg/api/v1/endpoints`): every address in as few subsets as its ports allow.

use api::SortSmall;
use std::collections::BTreeMap;

use api::core_v1::{EndpointAddress, EndpointPort, EndpointSubset, Endpoints};
use api::{List, Str};

type AddressKey = (Str, Str);
type PortKey = (Str, Str, i32, Option<Str>);

fn address_key(a: &EndpointAddress) -> AddressKey {
    (a.ip.clone(), a.target_ref.get().map(|r| r.uid.clone()).unwrap_or_default())
}

/// Puts addresses that share all their ports into one subset (`RepackSubsets`).
pub fn repack(subsets: Vec<EndpointSubset>) -> Vec<EndpointSubset> {
    let mut addresses: BTreeMap<AddressKey, EndpointAddress> = BTreeMap::new();
    // For each port the addresses that serve it, and whether they are ready. No port at all is a port too.
    let mut by_port: BTreeMap<Option<PortKey>, (Option<EndpointPort>, BTreeMap<AddressKey, bool>)> = BTreeMap::new();
    for subset in &subsets {
        let ports: Vec<Option<&EndpointPort>> =
            if subset.ports.is_empty() { vec![None] } else { subset.ports.iter().map(Some).collect() };
        for port in ports {
            let key = port.map(|p| (p.name.clone(), p.protocol.clone(), p.port, p.app_protocol.get_str().cloned()));
            let entry = by_port.entry(key).or_insert_with(|| (port.cloned(), BTreeMap::new()));
            let all = subset.addresses.iter().map(|a| (a, true));
            for (address, ready) in all.chain(subset.not_ready_addresses.iter().map(|a| (a, false))) {
                let key = address_key(address);
                addresses.entry(key.clone()).or_insert_with(|| address.clone());
                // An address that is unready once is unready.
                entry.1.entry(key).and_modify(|r| *r &= ready).or_insert(ready);
            }
        }
    }
    let mut by_addresses: BTreeMap<Vec<(AddressKey, bool)>, Vec<EndpointPort>> = BTreeMap::new();
    for (port, set) in by_port.into_values() {
        by_addresses.entry(set.into_iter().collect()).or_default().extend(port);
    }
    let mut packed: Vec<EndpointSubset> = by_addresses
        .into_iter()
        .map(|(set, mut ports)| {
            let pick = |want: bool| -> List<EndpointAddress> {
                let chosen = set.iter().filter(|(_, ready)| *ready == want);
                let list: Vec<_> = chosen.filter_map(|(key, _)| addresses.get(key).cloned()).collect();
                if list.is_empty() { List::default() } else { List::from(list) }
            };
            ports.sort_small_by(|a, b| (&a.name, a.port, &a.protocol).cmp(&(&b.name, b.port, &b.protocol)));
            EndpointSubset {
                addresses: pick(true),
                not_ready_addresses: pick(false),
                ports: if ports.is_empty() { List::default() } else { List::from(ports) },
            }
        })
        .collect();
    packed.sort_small_by(|a, b| {
        let key = |s: &EndpointSubset| s.ports.first().map(|p| (p.name.clone(), p.port));
        key(a).cmp(&key(b))
    });
    packed
}

/// Whether two lists of subsets are the same.
pub fn equal(a: &[EndpointSubset], b: &[EndpointSubset]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| crate::controller_utils::equal(a, b))
}

/// Cuts addresses beyond `max`, unready ones first; says whether it did.
pub fn truncate(endpoints: &mut Endpoints, max: usize) -> bool {
    let ready: usize = endpoints.subsets.iter().map(|s| s.addresses.len()).sum();
    let unready: usize = endpoints.subsets.iter().map(|s| s.not_ready_addresses.len()).sum();
    if ready + unready <= max {
        return false;
    }
    let cut_ready = ready > max;
    let (room, total) = if cut_ready { (max, ready) } else { (max - ready, unready) };
    let mut left = room;
    for subset in endpoints.subsets.make() {
        let own = if cut_ready { subset.addresses.len() } else { subset.not_ready_addresses.len() };
        let share = (own * room).div_ceil(total.max(1)).min(left).min(own);
        if cut_ready {
            subset.addresses.make().truncate(share);
            subset.not_ready_addresses = List::default();
        } else {
            subset.not_ready_addresses.make().truncate(share);
        }
        left -= share;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(ip: &str) -> EndpointAddress {
        EndpointAddress { ip: ip.into(), ..Default::default() }
    }

    fn subset(ready: &[&str], unready: &[&str], port: i32) -> EndpointSubset {
        EndpointSubset {
            addresses: ready.iter().map(|ip| address(ip)).collect(),
            not_ready_addresses: unready.iter().map(|ip| address(ip)).collect(),
            ports: [EndpointPort { port, protocol: "TCP".into(), ..Default::default() }].into_iter().collect(),
        }
    }

    fn show(subsets: &[EndpointSubset]) -> Vec<String> {
        let ips = |l: &[EndpointAddress]| l.iter().map(|a| a.ip.to_string()).collect::<Vec<_>>().join(",");
        let ports = |l: &[EndpointPort]| l.iter().map(|p| p.port.to_string()).collect::<Vec<_>>().join(",");
        let one =
            |s: &EndpointSubset| format!("{}|{}|{}", ips(&s.addresses), ips(&s.not_ready_addresses), ports(&s.ports));
        subsets.iter().map(one).collect()
    }

    #[test]
    fn one_subset_a_set_of_ports() {
        let packed = repack(vec![
            subset(&["10.0.0.2"], &[], 80),
            subset(&["10.0.0.1"], &[], 80),
            subset(&["10.0.0.1"], &[], 443),
            subset(&["10.0.0.2"], &[], 443),
        ]);
        assert_eq!(show(&packed), ["10.0.0.1,10.0.0.2||80,443"]);
    }

    #[test]
    fn an_address_unready_once_is_unready() {
        let packed = repack(vec![subset(&["10.0.0.1"], &[], 80), subset(&[], &["10.0.0.1"], 80)]);
        assert_eq!(show(&packed), ["|10.0.0.1|80"]);
    }
}
